/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress_line - writes the line to stderr (session/progress_line.h).
 */
#include "record/session/progress_line.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/time_units.h"

#define SHOW_AFTER_NS GG_NS_PER_S
#define CHANGE_NS     UINT64_C(200000000)

void gg_progress_line_begin(struct gg_progress_line *line, bool is_wanted)
{
	line->from_ns = is_wanted ? gg_clock_monotonic_ns() : 0;
}

void gg_progress_line_update(struct gg_progress_line *line, uint64_t count, const char *what)
{
	uint64_t now_ns;

	if (line->from_ns == 0)
		return;
	now_ns = gg_clock_monotonic_ns();
	if (now_ns - line->from_ns < SHOW_AFTER_NS || now_ns - line->last_ns < CHANGE_NS)
		return;
	line->last_ns = now_ns;
	line->is_shown = true;
	fprintf(stderr, "\rgeiger: finishing, %llu %s ... %.0f s\033[K", (unsigned long long)count,
	        what, (double)(now_ns - line->from_ns) * 1e-9);
	fflush(stderr);
}

void gg_progress_line_end(struct gg_progress_line *line)
{
	if (line->is_shown)
		fputs("\r\033[K", stderr);
	*line = (struct gg_progress_line){ 0 };
}
