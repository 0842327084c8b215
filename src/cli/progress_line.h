/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress_line - one line on the terminal that shows how far a command is.
 *
 *   geiger: looking up names ... 40 %
 *
 *   struct gg_progress_line line;
 *
 *   gg_progress_line_init(&line);
 *   options.progress = &line.progress;
 *   status = gg_symbolize(profile, &options, &result, error);
 *   gg_progress_line_end(&line);          before anything is printed
 *
 * The line is drawn on standard error if that is a terminal, appears a second after the first
 * report, and changes at most ten times a second.  Ending it erases it, so that output begins in an
 * empty line; a later report begins a new one.  A command with --quiet calls
 * gg_progress_line_forbid() once.
 *
 * Threads   Any.  From the first report of one line to its end, other lines show nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/progress.h"

struct gg_progress_line {
	struct gg_progress progress; /* for the work; refers to this line, which must not move */
	FILE *out;                   /* NULL: nothing is shown */
	uint64_t (*now_ns)(void);
	uint64_t after_ns; /* from the first report until the line appears */
	uint64_t next_ns;  /* shows nothing before this time */
	bool has_begun, is_shown;
};

void gg_progress_line_init(struct gg_progress_line *line);
/* For tests: draws on `out`, after `after_ns`, with this clock. */
void gg_progress_line_init_on(struct gg_progress_line *line, FILE *out, uint64_t (*now_ns)(void),
                              uint64_t after_ns);
/* Erases the line.  A second end changes nothing. */
void gg_progress_line_end(struct gg_progress_line *line);

/* From now on this process draws no lines. */
void gg_progress_line_forbid(void);
