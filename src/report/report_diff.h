/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_diff - prints the comparison of two profiles, as text and as JSON
 * (docs/reference/JSON.md).
 *
 * Threads   Any; the functions only append to the buffer, whose `failed` says if memory ran out.
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
	/* "time", "allocated", or the factor as the user gave it; NULL: not normalized. */
	const char *normalized_by;
	bool show_all;         /* also show rows without a significant difference */
	bool fails_on_growth;  /* the user asked to fail if a row grew */
	struct gg_report look; /* only confidence, limit, width, figures, and style are used */
};

void gg_report_diff_text(const struct gg_diff_report *report, struct gg_buf *out);
void gg_report_diff_json(const struct gg_diff_report *report, struct gg_buf *out);
