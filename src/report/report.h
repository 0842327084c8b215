/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report - who holds the memory: a head that says how much there is, and rows with confidence
 * intervals; as text for people (docs/REPORTS.md) and as JSON (docs/reference/JSON.md).
 *
 *   struct gg_report report = { .model = model, .result = result, .summary = &summary,
 *                               .confidence = 0.95, .width = 80 };
 *   gg_report_text(&report, &out);
 *
 * Threads   any; they append to the buffer alone, whose `failed` tells if memory ran out.
 */
#pragma once

#include "base/buf.h"
#include "base/json.h"
#include "query/query.h"
#include "query/tree.h"
#include "report/figure.h"
#include "report/report_summary.h"
#include "report/style.h"

struct gg_report {
	const struct gg_model *model;
	const struct gg_query_result *result;
	const struct gg_report_summary *summary;
	double confidence;
	size_t limit;      /* rows that are shown; 0: all */
	size_t width;      /* characters of a line */
	size_t name_width; /* of one that ends with a name, where it is another; 0: width */
	struct gg_figure_style figures;
	struct gg_style style; /* colours */
};

void gg_report_text(const struct gg_report *report, struct gg_buf *out);
void gg_report_json(const struct gg_report *report, struct gg_buf *out);

/* The title and the largest rows by self, at most `count` and GG_REPORT_LARGEST_MAX, a line each. */
enum { GG_REPORT_LARGEST_MAX = 16 };
void gg_report_largest(const struct gg_report *report, size_t count, struct gg_buf *out);

/* The same of a tree; `result` is not looked at. */
void gg_tree_text(const struct gg_report *report, const struct gg_tree *tree, struct gg_buf *out);
void gg_tree_json(const struct gg_report *report, const struct gg_tree *tree,
                  const struct gg_tree_options *options, struct gg_buf *out);

/* "live at the end: 271.4 MiB ± 9 %" and what follows, with its line feed. */
void gg_report_append_title(const struct gg_report *report, const struct gg_query *query,
                            int64_t moment_ns, const struct gg_tally *total, const char *what,
                            struct gg_buf *out);
/* Two notes: what was never sampled may hold so much; so much has no exact time. */
void gg_report_append_unseen(const struct gg_report *report, const struct gg_tally *total,
                             struct gg_buf *out);
void gg_report_append_inexact(const struct gg_report *report, const struct gg_tally *unplaced,
                              struct gg_buf *out);
/* "query" and the totals of it; into an open object. */
void gg_report_json_query(const struct gg_report *report, const struct gg_query *query,
                          int64_t moment_ns, const struct gg_tally *total,
                          const struct gg_tally *unplaced, struct gg_json *json);

/* The head of a report; of all reports, so that they look alike.  result is not looked at. */
void gg_report_append_head(const struct gg_report *report, struct gg_buf *out);
/* Notes of the recording, frames without names, what was dropped: a line each. */
void gg_report_append_notes(const struct gg_report *report, struct gg_buf *out);

/* Members that every JSON report has, from "version" to "totals"; into an open object. */
void gg_report_json_head(const struct gg_report *report, struct gg_json *json);
/* {"estimate":..,"low":..,"high":..} under that name. */
void gg_report_json_figure(struct gg_json *json, const char *name, const struct gg_figure *figure);

/* Members "notes", "unresolved" and "highest" of an object, as docs/reference/JSON.md has them. */
void gg_report_json_notes(struct gg_json *json, const struct gg_model *model);
void gg_report_json_unresolved(struct gg_json *json, const struct gg_model *model,
                               const struct gg_model_unresolved *unresolved);
void gg_report_json_highest(struct gg_json *json, const struct gg_highest_rss *highest);

/* "function", "file", "line" and "module" of the innermost place, and "stack": all places. */
void gg_report_json_stack(const struct gg_report *report, struct gg_json *json, uint32_t stack);

/* "9.31 s", "12.3 ms", "2 min 3 s". */
void gg_report_append_time(int64_t time_ns, struct gg_buf *out);

/* What is left for a name behind `column` characters. */
size_t gg_report_room(const struct gg_report *report, size_t column, size_t least);

/* The function, and where the call is, in at most `width` characters, and a newline. */
void gg_report_append_place(const struct gg_report *report, const struct gg_code_location *place,
                            size_t width, struct gg_buf *out);

/* Is an interval of this row that of a discovered one (gg_interval_of)? */
bool gg_report_is_discovered(const struct gg_query_result *result, const struct gg_query_row *row);

/* The names that options and JSON have for these. */
const char *gg_metric_name(enum gg_metric metric);
const char *gg_grouping_name(enum gg_grouping by);

/* Rows also have the bytes by failed trials: heaps and types, which runtimes draw. */
bool gg_report_has_failed_trials(const struct gg_query_result *result);

/*
 * What the rows from `first` on hold at most, each for itself: the largest high end.  Few of them are
 * computed: those whose estimate and deviation are the largest.
 */
double gg_report_most_hidden(const struct gg_report *report, size_t first);
