/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_debug_cost - `geiger debug cost`: times malloc() and free() of one block in this process.
 *
 * The result depends on how the process was started: alone, or under an agent.  `geiger lab plan`
 * runs the command both ways and takes the difference as the cost of a sample.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/debug/debug.h"

struct cost_options {
	uint64_t depth;
};

enum {
	ROUNDS = 2000,
	BLOCK_BYTES = 200,
	COLD_BYTES = 256 << 10 /* touched between two rounds, as other work would */
};

static uint64_t times[ROUNDS];
static unsigned char *between;

static void measure(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t start;
		char *block;

		/*
		 * One access for each cache line.  Without it, the allocator and the agent would
		 * find all of their data in the first-level cache, and the times would be too good.
		 */
		for (size_t at = 0; at < COLD_BYTES; at += 64)
			between[at]++;
		start = gg_clock_monotonic_ns();
		block = malloc(BLOCK_BYTES);
		if (block != NULL)
			/* The compiler would remove a malloc() whose block nobody uses. */
			*(volatile char *)block = 1;
		free(block);
		times[i] = gg_clock_monotonic_ns() - start;
	}
}

/*
 * Recurses to the given depth.  Frames of different sizes would have the same kinds of unwind
 * rules, so only the number of frames matters.
 */
static __attribute__((noinline)) uint64_t descend(uint64_t depth)
{
	uint64_t below = 0;

	if (depth > 0)
		below = descend(depth - 1);
	else
		measure();
	return below + depth; /* the addition keeps the call from being a tail call */
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int run(struct gg_invocation *invocation)
{
	const struct cost_options *o = invocation->options;

	if (o->depth > 1000)
		return gg_error_set(invocation->error, -EINVAL, "debug cost: --depth",
		                    "Give at most 1000.", "out of range");
	between = calloc(1, COLD_BYTES);
	if (between == NULL)
		return gg_error_memory(invocation->error, "debug cost");
	descend(o->depth);
	qsort(times, ROUNDS, sizeof(times[0]), compare);
	free(between);
	printf("%d ns for a malloc and its free, the median of %d\n", (int)times[ROUNDS / 2],
	       ROUNDS);
	return 0;
}

static const struct gg_option options[] = {
	{ "depth", 0, GG_OPTION_COUNT, offsetof(struct cost_options, depth), "N",
	  "frames of recursion (20)" },
	GG_OPTIONS_END,
};

const struct gg_command gg_command_debug_cost = {
	.name = "debug cost",
	.summary = "time a malloc and its free in this process",
	.usage = "[OPTION]...",
	.details =
		"Times one block's malloc() and free(), with caches that other work has used in\n"
		"between. Run it under the agent to see what a sample costs on this machine:\n\n"
		"  geiger debug cost\n"
		"  env GEIGER_INTERVAL=1 LD_PRELOAD=libgeiger-agent.so geiger debug cost\n",
	.options = options,
	.options_size = sizeof(struct cost_options),
	.option_defaults = &(const struct cost_options){ .depth = 20 },
	.run = run,
};
