/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_timeline - prints live memory and RSS over time, as a chart and as JSON
 * (docs/reference/JSON.md).
 *
 * Threads   Any; the functions only append to the buffer, whose `failed` says if memory ran out.
 */
#pragma once

#include "query/timeline.h"
#include "report/report.h"

/* The margin beside the plotted area, and the smallest area, in characters. */
enum { GG_TIMELINE_MARGIN = 11, GG_TIMELINE_LEAST_WIDTH = 20, GG_TIMELINE_LEAST_HEIGHT = 3 };

/*
 * The number of points of a chart whose plotted area has `width` characters.  All widths and
 * heights below are those of the plotted area.
 */
size_t gg_report_timeline_points(size_t width, bool ascii);

/* timeline NULL: the profile has no times but those of collections (report_collections.h). */
void gg_report_timeline_text(const struct gg_report *report, const struct gg_timeline *timeline,
                             size_t width, size_t height, struct gg_buf *out);
void gg_report_timeline_json(const struct gg_report *report, const struct gg_timeline *timeline,
                             struct gg_buf *out);
