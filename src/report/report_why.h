/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_why - prints the rows of RSS (query/why.h) as text and as JSON (docs/reference/JSON.md).
 *
 * Threads   Any; the functions only append to the buffer, whose `failed` says if memory ran out.
 */
#pragma once

#include "query/why_profile.h"
#include "report/report.h"

/*
 * Appends the tables of the first report->limit processes (0: of all), and a line for the others.
 * The functions use neither model nor rows of `report`.
 */
void gg_report_why_text(const struct gg_report *report, const struct gg_why_list *list,
                        struct gg_buf *out);
/* Appends the members of a table to an open object. */
void gg_report_why_json_table(struct gg_json *json, const struct gg_why_table *table);
void gg_report_why_json(const struct gg_report *report, const struct gg_why_list *list,
                        struct gg_buf *out);
