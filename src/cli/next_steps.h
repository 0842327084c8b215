/* SPDX-License-Identifier: Apache-2.0 */
/*
 * next_steps - suggests what to do after a recording, chosen by what it has seen.
 *
 * The steps are ranked by how much they change what the user can learn.  A program that is missing
 * in the profile comes first, then memory that grows, names that are missing in the largest rows,
 * wide confidence intervals, and last the report.  A recording prints the first two.
 *
 * Cost  The test for growth reads all samples, so it is left out above GG_NEXT_STEPS_SAMPLES_MAX.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "report/report.h"

enum { GG_NEXT_STEPS_MAX = 2, GG_NEXT_STEPS_SAMPLES_MAX = 200000 };

/* The number of largest rows that a recording prints, and whose names and errors count here. */
enum { GG_NEXT_STEPS_ROWS = 5 };

struct gg_next_steps {
	struct gg_buf lines[GG_NEXT_STEPS_MAX]; /* without "geiger: " and newline */
	size_t count;
};

/*
 * Adds the steps for a profile at `path`.  `report` has its model, the rows that were printed, and
 * the room for names.  Steps that do not fit are left out.
 */
void gg_next_steps_add(struct gg_next_steps *steps, const struct gg_report *report,
                       const char *path);

void gg_next_steps_done(struct gg_next_steps *steps);
