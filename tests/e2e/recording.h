/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording - for tests that record programs: a directory of their own, the command, and SQL.
 *
 *   struct recording r;
 *
 *   if (recording_begin(&r)) {
 *           recording_run(&r, (const char *[]){ "-i", "4k", "--", "ls", NULL }, 60);
 *           CHECK(r.child.exit_status == 0);
 *           CHECK(recording_number(&r, "select count(*) from process") == 1);
 *   }
 *   recording_end(&r);
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "child.h"

struct recording {
	const char *directory; /* TMPDIR of what runs; its files are removed at the end */
	char path[96];         /* of the profile, given by -o */
	struct child child;    /* of the last run */
};

/* GEIGER_SEED is 1 from then on: a test samples the same each time. */
bool recording_begin(struct recording *r);
void recording_end(struct recording *r);

/* geiger record -o PATH OPTIONS...; `options` end in NULL and include the command. */
bool recording_run(struct recording *r, const char *const options[], double limit_seconds);
bool recording_run_with(struct recording *r, const char *const options[],
                        const char *const environment[], double limit_seconds);

/*
 * Records a program that makes the file "ready" in r->directory, and ends when it finds the file
 * "seen" there (await_look.h).  That comes when the profile has a last look that shows the process
 * after "ready" alone, and satisfies the condition, which is SQL on a row of the table look.  False
 * also if no such look came.
 */
bool recording_run_seen(struct recording *r, const char *const options[],
                        const char *const environment[], const char *condition,
                        double limit_seconds);

/* geiger ARGUMENTS... */
bool recording_geiger(struct recording *r, const char *const arguments[], double limit_seconds);

/* The first value of a query, by the sqlite3 program; -1: it failed.  Text: "" if it failed. */
double recording_number(struct recording *r, const char *query);
const char *recording_text(struct recording *r, const char *query);

/* Waits until a query gives a number of at least that. */
bool recording_wait_for(struct recording *r, const char *query, double least, double seconds);

/*
 * Is what totals say the sum of samples and aggregates, for each process and stack?  Totals alone
 * have inherited blocks that were freed before anybody looked.
 */
bool recording_adds_up(struct recording *r);
