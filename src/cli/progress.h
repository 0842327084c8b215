/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress - shows a bar on standard error, if that is a terminal, for work of more than a second.
 *
 *   struct gg_progress progress = gg_progress_begin("reading", quiet);
 *   gg_progress_show(&progress, done, all);               any number of times
 *   gg_progress_end(&progress);                           removes the bar
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct gg_progress {
	const char *what;
	uint64_t begin_ns, next_ns;
	bool is_wanted, is_shown;
};

struct gg_progress gg_progress_begin(const char *what, bool quiet);
/* all: the total, or 0 if it is unknown. */
void gg_progress_show(struct gg_progress *progress, uint64_t done, uint64_t all);
void gg_progress_end(struct gg_progress *progress);
