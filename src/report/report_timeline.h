/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_timeline - live memory and RSS over time, as a chart and as JSON (docs/reference/JSON.md).
 *
 * Threads   any; they append to the buffer alone, whose `failed` tells if memory ran out.
 */
#pragma once

#include "query/timeline.h"
#include "report/report.h"

/* What is beside and below the plotted area. */
enum { GG_TIMELINE_MARGIN = 11, GG_TIMELINE_LEAST_WIDTH = 20, GG_TIMELINE_LEAST_HEIGHT = 3 };

/*
 * How many points a chart of that many characters has; width and height are those of the plotted
 * area.
 */
size_t gg_report_timeline_points(size_t width, bool ascii);

void gg_report_timeline_text(const struct gg_report *report, const struct gg_timeline *timeline,
                             size_t width, size_t height, struct gg_buf *out);
void gg_report_timeline_json(const struct gg_report *report, const struct gg_timeline *timeline,
                             struct gg_buf *out);
