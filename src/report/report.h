/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report - prints a report: a head with the totals, and rows with confidence intervals, as text
 * (docs/REPORTS.md) and as JSON (docs/reference/JSON.md).
 *
 *   struct gg_report report = { .model = model, .result = result, .summary = &summary,
 *                               .confidence = 0.95, .width = 80 };
 *   gg_report_text(&report, &out);
 *
 * Threads   Any; the functions only append to the buffer, whose `failed` says if memory ran out.
 */
#pragma once

#include "base/buf.h"
#include "base/json.h"
#include "query/pinned_comparison.h"
#include "query/pinned_neighbors.h"
#include "query/query.h"
#include "query/tree.h"
#include "report/figure.h"
#include "report/report_summary.h"
#include "report/style.h"

/* How much a report prints beside its rows. */
enum gg_report_head {
	GG_HEAD_TITLE, /* a title line above the rows, and notes below them */
	GG_HEAD_FULL,  /* also the command, the totals and RSS */
	GG_HEAD_NONE,  /* rows and the titles of columns alone */
};

/* The part of a fleet that a report is about (docs/FLEET.md). */
struct gg_report_fleet {
	const char *service;
	const char *when; /* in the title: "at 2026-11-27 02:40 UTC", "averaged over 6 slots" */
	size_t host_count, selected_count, reported_count;
	size_t slot_count;
	bool is_between_hosts; /* intervals hold the error between hosts, beside that of sampling */
};

struct gg_report {
	const struct gg_model *model;
	const struct gg_query_result *result;
	const struct gg_report_summary *summary;
	/* pinned: a comparison for each row of `result`; NULL: none is shown. */
	const struct gg_pinned_comparison *comparisons;
	/* pinned: the neighbors of each row that the report shows; NULL: none is shown. */
	const struct gg_pinned_neighbors *neighbors;
	const struct gg_report_fleet *fleet; /* NULL: the report is about one recording */
	double confidence;
	size_t limit;      /* number of rows; 0: all */
	size_t width;      /* characters of a line */
	size_t name_width; /* width of a line that ends with a name; 0: `width`; SIZE_MAX: a pipe */
	struct gg_figure_style figures;
	struct gg_style style; /* colors */
	enum gg_report_head head;
	bool all_columns; /* also columns that only estimators need */
	bool all_frames;  /* a tree has a line for each library frame */
};

void gg_report_text(const struct gg_report *report, struct gg_buf *out);
void gg_report_json(const struct gg_report *report, struct gg_buf *out);

/* Appends the title and the rows with the largest self, a line each: `count` rows at most. */
enum { GG_REPORT_LARGEST_MAX = 16 };
void gg_report_largest(const struct gg_report *report, size_t count, struct gg_buf *out);

/* Append a tree instead of rows; `result` is unused. */
void gg_report_tree_text(const struct gg_report *report, const struct gg_tree *tree,
                         const struct gg_tree_options *options, struct gg_buf *out);
void gg_report_tree_json(const struct gg_report *report, const struct gg_tree *tree,
                         const struct gg_tree_options *options, struct gg_buf *out);

/* The functions that append a title or notes do nothing for GG_HEAD_NONE. */

/*
 * Appends the title line, such as "live at the end: 271.4 MiB ± 9 %", and for pinned memory the
 * exact total if it is known.
 */
void gg_report_append_title(const struct gg_report *report, const struct gg_query *query,
                            int64_t moment_ns, const struct gg_tally *total,
                            const struct gg_pinned_coverage *seen, const char *what,
                            struct gg_buf *out);
/* Append notes: how much functions without samples may hold; how much has no exact time. */
void gg_report_append_unseen(const struct gg_report *report, const struct gg_tally *total,
                             struct gg_buf *out);
/* Appends the same of pinned memory, in place of gg_report_append_unseen(). */
void gg_report_append_pinned(const struct gg_report *report, const struct gg_pinned_coverage *seen,
                             struct gg_buf *out);
void gg_report_append_inexact(const struct gg_report *report, const struct gg_tally *unplaced,
                              struct gg_buf *out);
/* Appends "query" and its totals to an open object. */
void gg_report_json_query(const struct gg_report *report, const struct gg_query *query,
                          int64_t moment_ns, const struct gg_tally *total,
                          const struct gg_tally *unplaced, struct gg_json *json);

/* Append "look_moment" if the metric is pinned, and "pinned": how much the looks saw. */
void gg_report_json_look_moment(struct gg_json *json, const struct gg_query *query);
void gg_report_json_pinned(struct gg_json *json, const struct gg_pinned_coverage *seen);

/*
 * Moves rows of start code, such as _start, behind all other rows, if they allocated nothing
 * themselves.  All memory is below them, so they would stand in front of the program's functions.
 * Rows by function that self sorts only; does nothing for others, or without memory for it.
 */
void gg_report_move_start_code(const struct gg_model *model, struct gg_query_result *result);

/* Appends the head if it is GG_HEAD_FULL.  `result` is unused. */
void gg_report_append_head(const struct gg_report *report, struct gg_buf *out);
/* Appends the notes of the recording, a line each. */
void gg_report_append_notes(const struct gg_report *report, struct gg_buf *out);
/* Appends a line about frames without names, if there are any. */
void gg_report_append_unnamed(const struct gg_report *report, struct gg_buf *out);

/*
 * Appends a sentence about frames without names: how many, in which module, and what would name
 * them.  of->frame_count > 0.
 */
void gg_report_append_unresolved(const struct gg_model *model, const struct gg_model_unresolved *of,
                                 struct gg_buf *text);

/* Appends the members of every JSON report, from "version" to "totals", to an open object. */
void gg_report_json_head(const struct gg_report *report, struct gg_json *json);
/* Appends {"estimate":..,"low":..,"high":..} under that name. */
void gg_report_json_figure(struct gg_json *json, const char *name, const struct gg_figure *figure);
/* Appends members of an open row: how it compares with blocks of its sizes; null: unknown. */
void gg_report_json_comparison(const struct gg_pinned_comparison *row, struct gg_json *json);

/*
 * Appends a sentence about the functions that gg_model_find_wrappers() found, except those that
 * only named wrappers call.  False: it found none, and there is no sentence.
 */
bool gg_report_name_found_wrappers(const struct gg_model *model, struct gg_buf *out);

/*
 * Append the members "notes", "found_wrappers", "unresolved", and "highest"
 * (docs/reference/JSON.md).
 */
void gg_report_json_notes(struct gg_json *json, const struct gg_model *model);
void gg_report_json_found_wrappers(struct gg_json *json, const struct gg_model *model);
void gg_report_json_unresolved(struct gg_json *json, const struct gg_model *model,
                               const struct gg_model_unresolved *unresolved);
void gg_report_json_highest(struct gg_json *json, const struct gg_highest_rss *highest);

/* Appends function, file, line, and module of the innermost location, and "stack" with all. */
void gg_report_json_stack(const struct gg_report *report, struct gg_json *json, uint32_t stack);

/* Appends "9.31 s", "12.3 ms", or "2 min 3 s". */
void gg_report_append_time(int64_t time_ns, struct gg_buf *out);

/* The width that a name has after `column` characters; at least `least`. */
size_t gg_report_room(const struct gg_report *report, size_t column, size_t least);

/*
 * Appends " via NAME" to a name of `used` cells, if the rest of `width` has room for it.  `via` may
 * be NULL.  gg_report_via_name() is the name of that function, or NULL for 0.
 */
const char *gg_report_via_name(const struct gg_model *model, uint32_t via);
void gg_report_append_via(const struct gg_report *report, const char *via, size_t used,
                          size_t width, struct gg_buf *out);
/* Appends function and location of a call in at most `width` characters, and a newline. */
void gg_report_append_place(const struct gg_report *report, const struct gg_code_location *place,
                            uint32_t via, size_t width, struct gg_buf *out);

/* True if the row was found by its size, which its interval must allow for (gg_interval_of). */
bool gg_report_is_discovered(const struct gg_query_result *result, const struct gg_query_row *row);

/* True if rows also show bytes by failed trials: rows of heaps and types, which runtimes sample. */
bool gg_report_has_failed_trials(const struct gg_query_result *result);

/*
 * The largest upper bound of the rows from `first` on.  It computes few intervals: those of the
 * rows with the largest estimate and deviation.
 */
double gg_report_most_hidden(const struct gg_report *report, size_t first);
