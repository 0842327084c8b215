/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_diff - two profiles beside each other, as text and as JSON (docs/reference/JSON.md).
 *
 * Threads   any; they append to the buffer alone, whose `failed` tells if memory ran out.
 */
#pragma once

#include "query/diff.h"
#include "report/report.h"

/* One of the two profiles. */
struct gg_diff_side {
	const char *path;
	const struct gg_model *model;
	const struct gg_query_result *result;
};

struct gg_diff_report {
	struct gg_diff_side before, after;
	const struct gg_diff *diff;
	const char *
		normalized_by; /* "time", "allocated", the factor as it was given; NULL: as they are */
	bool show_all;         /* rows that do not differ significantly too */
	bool fails_on_growth;  /* asked for; it failed if a row grew */
	struct gg_report look; /* confidence, limit, width, figures, style alone */
};

void gg_report_diff_text(const struct gg_diff_report *report, struct gg_buf *out);
void gg_report_diff_json(const struct gg_diff_report *report, struct gg_buf *out);
