/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_work - what the programs do that bench_agent measures the agent with.
 *
 * Each works on a heap that is given by its functions, so that the hooked and the direct ones of an
 * allocator can take turns on the same blocks.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct work_heap {
	void *(*malloc)(size_t bytes);
	void (*free)(void *p);
};

/* Frames that the unwinder finds in the deep workloads, and paths of those with distinct stacks. */
enum { WORK_FRAMES = 47, WORK_STACKS = 65536 };

struct work {
	const char *name, *what;
	uint64_t warm_count;  /* operations before it is timed: then all stacks are known */
	uint64_t count;       /* ... to time, some 50 ms of them */
	uint64_t slice_count; /* ... in some 5 ms */
	/* Runs once; afterwards run() does `count` operations. */
	void *(*begin)(const struct work_heap *heap);
	void (*run)(void *state, const struct work_heap *heap, uint64_t count);
};

extern const struct work works[];

/* By its name; NULL: none. */
const struct work *work_find(const char *name);
