/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_collections - what garbage collectors did over time: a table below the chart of
 * `geiger timeline`, and members of its JSON.
 */
#pragma once

#include "query/timeline.h"
#include "report/report.h"

/* True if a process of which the report is has reported collections. */
bool gg_report_has_collections(const struct gg_report *report);

/*
 * Appends nothing if no process has reported collections.  timeline NULL: collections are all that
 * has times in the profile, as in a merged one, so each table has the span of its own collector.
 */
void gg_report_collections_text(const struct gg_report *report, const struct gg_timeline *timeline,
                                struct gg_buf *out);
void gg_report_collections_json(const struct gg_report *report, struct gg_json *json);
