/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress_line - one line on the terminal that shows how far the recorder is with finishing.
 *
 * The line appears after a second, and changes five times a second.
 *
 *   struct gg_progress_line line = { 0 };
 *
 *   gg_progress_line_begin(&line, isatty(STDERR_FILENO));
 *   while (...)
 *           gg_progress_line_update(&line, sample_count, "samples");
 *   gg_progress_line_end(&line);
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct gg_progress_line {
	uint64_t from_ns, last_ns; /* CLOCK_MONOTONIC; from_ns is 0 while the line is off */
	bool is_shown;
};

void gg_progress_line_begin(struct gg_progress_line *line, bool is_wanted);

/* Shows a number of `what`, if the line is due. */
void gg_progress_line_update(struct gg_progress_line *line, uint64_t count, const char *what);

/* Clears the line. */
void gg_progress_line_end(struct gg_progress_line *line);
