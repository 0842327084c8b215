/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress - a bar on standard error, where that is a terminal, for work that takes more than a second.
 *
 *   struct gg_progress progress = gg_progress_begin("reading", quiet);
 *   gg_progress_show(&progress, done, all);               as often as you like
 *   gg_progress_end(&progress);                           takes it away
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
/* all 0: not known. */
void gg_progress_show(struct gg_progress *progress, uint64_t done, uint64_t all);
void gg_progress_end(struct gg_progress *progress);
