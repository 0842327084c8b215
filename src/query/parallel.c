/* SPDX-License-Identifier: Apache-2.0 */
/* parallel - runs one function on several ranges of items, or on two things, each in a thread. */
#include "query/parallel.h"

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/assert.h"

/* Below this number of items, starting a thread costs more than it saves. */
enum { LEAST_ITEMS_TO_SHARE = 4096 };

struct parallel_range {
	gg_range_visit *visit;
	void *context;
	size_t from, to;
	pthread_t thread;
	bool is_beside; /* the thread runs */
};

static void *run_range(void *context)
{
	const struct parallel_range *range = context;

	range->visit(range->from, range->to, range->context);
	return NULL;
}

size_t gg_parallel_width(void)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	if (processors < 1)
		return 1;
	return processors < GG_PARALLEL_MAX ? (size_t)processors : GG_PARALLEL_MAX;
}

void gg_parallel_ranges(size_t count, gg_range_visit *visit, void *context)
{
	struct parallel_range ranges[GG_PARALLEL_MAX];
	size_t width = count < LEAST_ITEMS_TO_SHARE ? 1 : gg_parallel_width();

	gg_assert(width >= 1 && width <= GG_PARALLEL_MAX);
	for (size_t i = 0; i < width; i++) {
		struct parallel_range *range = &ranges[i];

		*range = (struct parallel_range){ .visit = visit, .context = context };
		range->from = count / width * i;
		range->to = i + 1 < width ? count / width * (i + 1) : count;
		range->is_beside = i + 1 < width &&
		                   pthread_create(&range->thread, NULL, run_range, range) == 0;
		if (!range->is_beside)
			run_range(range);
	}
	for (size_t i = 0; i < width; i++)
		if (ranges[i].is_beside)
			pthread_join(ranges[i].thread, NULL);
}

struct paired_step {
	gg_pair_step *step;
	void *thing;
};

static void *run_step(void *context)
{
	const struct paired_step *paired = context;

	paired->step(paired->thing);
	return NULL;
}

void gg_parallel_pair(gg_pair_step *step, void *first, void *second)
{
	struct paired_step beside = { step, first };
	pthread_t thread;
	bool is_beside;

	gg_assert(first != second);
	is_beside = pthread_create(&thread, NULL, run_step, &beside) == 0;
	if (!is_beside)
		step(first);
	step(second);
	if (is_beside)
		pthread_join(thread, NULL);
}
