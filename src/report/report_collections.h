/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_collections - what garbage collectors did over time: a table below the chart of
 * `geiger timeline`, and members of its JSON.
 */
#pragma once

#include "query/timeline.h"
#include "report/report.h"

/* Appends nothing if no process has reported collections. */
void gg_report_collections_text(const struct gg_report *report, const struct gg_timeline *timeline,
                                struct gg_buf *out);
void gg_report_collections_json(const struct gg_report *report, struct gg_json *json);
