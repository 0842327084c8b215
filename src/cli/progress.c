/* SPDX-License-Identifier: Apache-2.0 */
/* progress - draws the bar of a long piece of work. */
#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/time_units.h"

enum { BAR_WIDTH = 40 };

struct gg_progress gg_progress_begin(const char *what, bool quiet)
{
	uint64_t now_ns = gg_clock_monotonic_ns();

	return (struct gg_progress){ .what = what,
		                     .begin_ns = now_ns,
		                     .next_ns = now_ns + GG_NS_PER_S,
		                     .is_wanted = !quiet && isatty(STDERR_FILENO) };
}

void gg_progress_show(struct gg_progress *progress, uint64_t done, uint64_t all)
{
	char bar[BAR_WIDTH + 1];
	uint64_t now_ns;
	size_t filled;

	if (!progress->is_wanted)
		return;
	now_ns = gg_clock_monotonic_ns();
	if (now_ns < progress->next_ns)
		return;
	/* Ten times a second is often enough; more output would slow a remote terminal. */
	progress->next_ns = now_ns + 100000000;
	progress->is_shown = true;
	if (all == 0) {
		/*
		 * The total is unknown, for example for standard input, so a count replaces the
		 * bar.
		 */
		fprintf(stderr, "\r%s %" PRIu64 " ", progress->what, done);
		return;
	}
	filled = (size_t)((double)(done < all ? done : all) / (double)all * BAR_WIDTH);
	memset(bar, '#', filled);
	memset(bar + filled, '.', BAR_WIDTH - filled);
	bar[BAR_WIDTH] = '\0';
	fprintf(stderr, "\r%s [%s] %3.0f %%", progress->what, bar,
	        100 * (double)done / (double)all);
}

void gg_progress_end(struct gg_progress *progress)
{
	if (progress->is_shown)
		fprintf(stderr, "\r%*s\r", BAR_WIDTH + 40, "");
	progress->is_shown = false;
}
