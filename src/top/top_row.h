/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_row - one line of the table of `geiger top`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/figure.h"

struct gg_top_row {
	char *label;           /* identifies the row from look to look (gg_query_row_label) */
	struct gg_figure self; /* of the metric, in bytes; in a tree with everything below */
	bool has_change;       /* the metric is live memory, and there is a mark */
	struct gg_figure change;
	double p_value, q_value; /* NAN: the change cannot be tested */
	bool is_significant;
	double allocated_per_second; /* bytes */
	struct gg_figure blocks;     /* live blocks, or allocations of the metric */
	double age_ns;               /* median age of live bytes; NAN: unknown */
	/* The rest is for rows of a tree. */
	uint64_t path;    /* identifies the row among those with its label; 0: it is of no tree */
	uint32_t parent;  /* the index of its caller's row and 1; 0: none */
	uint32_t depth;   /* 0: it has no caller */
	bool is_function; /* false: the caller's own memory, or several functions in one row */
	bool has_callees; /* rows below it */
	bool is_on_heaviest; /* of the paths from the outermost functions down */
};
