/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_leaks - prints what is live at the end or at a moment, and whether it grows, as text
 * (docs/LEAKS.md) and as JSON (docs/reference/JSON.md).
 *
 *   gg_report_leaks_text(&report, leaks, &gate, 0, &out);
 *
 * report->result is unused.
 *
 * Threads   Any; the functions only append to the buffer, whose `failed` says if memory ran out.
 */
#pragma once

#include "query/leaks.h"
#include "report/report.h"

/* The result of --fail-above. */
struct gg_leak_gate {
	bool is_asked;
	uint64_t limit_bytes;
	bool has_failed; /* the lower bound of old memory is above the limit */
};

/* given_back_ns: the moment of the peak if little of it is live at the end; 0: print no hint. */
void gg_report_leaks_text(const struct gg_report *report, const struct gg_leaks *leaks,
                          const struct gg_leak_gate *gate, int64_t given_back_ns,
                          struct gg_buf *out);
void gg_report_leaks_json(const struct gg_report *report, const struct gg_leaks *leaks,
                          const struct gg_leak_gate *gate, struct gg_buf *out);

/*
 * Appends to an empty buffer which objects of Java count, because only a collection finds the dead
 * ones; nothing if there is no Java heap.
 */
void gg_report_leaks_collections(const struct gg_figure_style *style, const struct gg_leaks *leaks,
                                 struct gg_buf *out);

/* Writes the member "classes": for each class, its number of stacks and its live bytes. */
void gg_report_leaks_json_classes(struct gg_json *json, const struct gg_leaks *leaks);

/* "+1.25 MiB (+0.80 to +1.71)". */
void gg_report_append_change(const struct gg_report *report, const struct gg_range *change,
                             enum gg_quantity quantity, struct gg_buf *out);
