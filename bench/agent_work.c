/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_work.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { SMALL_SLOTS = 10000, LARGE_SLOTS = 1000000 };

struct mix {
	void **blocks;
	uint64_t slots, random;
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void *begin_nothing(const struct work_heap *heap)
{
	(void)heap;
	return NULL;
}

static void run_pair(void *state, const struct work_heap *heap, uint64_t count)
{
	(void)state;
	for (uint64_t i = 0; i < count; i++) {
		void *p = heap->malloc(64);

		bench_keep(p);
		heap->free(p);
	}
}

/* 7 of 8 up to 143 bytes, some up to 8 KiB: 580 on average. */
static size_t mixed_size(uint64_t r)
{
	return (r >> 32 & 7) != 0 ? 16 + (r >> 36 & 127) : 16 + (r >> 36 & 8191);
}

static void replace_one(struct mix *mix, const struct work_heap *heap)
{
	uint64_t r = next_random(&mix->random);
	void **block = &mix->blocks[r % mix->slots];

	heap->free(*block);
	*block = heap->malloc(mixed_size(r));
}

static struct mix *begin_mix(const struct work_heap *heap, uint64_t slots, uint64_t seed)
{
	struct mix *mix = malloc(sizeof(*mix));

	*mix = (struct mix){ .blocks = calloc(slots, sizeof(void *)),
		             .slots = slots,
		             .random = 88172645463325252u + seed };
	for (uint64_t i = 0; i < slots; i++)
		mix->blocks[i] = heap->malloc(mixed_size(next_random(&mix->random)));
	return mix;
}

static void *begin_mix_10k(const struct work_heap *heap)
{
	return begin_mix(heap, SMALL_SLOTS, 0);
}

static void *begin_mix_1m(const struct work_heap *heap)
{
	return begin_mix(heap, LARGE_SLOTS, 0);
}

static void run_mix(void *state, const struct work_heap *heap, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		replace_one(state, heap);
}

/*
 * Two threads, each with blocks of its own.  The second one lives on between runs, as its caches
 * do.
 */
struct pair_of_threads {
	struct mix *mixes[2];
	const struct work_heap *heap;
	uint64_t count;
	pthread_barrier_t begins, ends;
};

static void *second_thread(void *argument)
{
	struct pair_of_threads *threads = argument;

	for (;;) {
		pthread_barrier_wait(&threads->begins);
		run_mix(threads->mixes[1], threads->heap, threads->count);
		pthread_barrier_wait(&threads->ends);
	}
	return NULL;
}

static void *begin_threads(const struct work_heap *heap)
{
	struct pair_of_threads *threads = malloc(sizeof(*threads));
	pthread_t thread;

	for (uint64_t i = 0; i < 2; i++)
		threads->mixes[i] = begin_mix(heap, SMALL_SLOTS, i);
	pthread_barrier_init(&threads->begins, NULL, 2);
	pthread_barrier_init(&threads->ends, NULL, 2);
	pthread_create(&thread, NULL, second_thread, threads);
	pthread_detach(thread);
	return threads;
}

static void run_threads(void *state, const struct work_heap *heap, uint64_t count)
{
	struct pair_of_threads *threads = state;

	threads->heap = heap;
	threads->count = count;
	pthread_barrier_wait(&threads->begins);
	run_mix(threads->mixes[0], heap, count);
	pthread_barrier_wait(&threads->ends);
}

/* --- deep ones: built without frame pointers and without tail calls --- */

enum {
	OTHER_FRAMES = 7, /* run, three of its callers and three of libc's start */
	BRANCHES = 16,    /* inner calls that go one of two ways */
	/* Calls to make before the one that allocates. */
	DEEP = WORK_FRAMES - OTHER_FRAMES - 1,
	DEEP_PATHS = WORK_FRAMES - OTHER_FRAMES - 1 - BRANCHES - 1,
	DEEP_WHOLE = 40
};

__attribute__((noinline)) static void pairs_at_depth(int depth, const struct work_heap *heap,
                                                     size_t bytes, uint64_t count)
{
	if (depth == 0) {
		for (uint64_t i = 0; i < count; i++) {
			void *p = heap->malloc(bytes);

			bench_keep(p);
			heap->free(p);
		}
	} else {
		pairs_at_depth(depth - 1, heap, bytes, count);
	}
	bench_keep(depth);
}

static void run_deep(void *state, const struct work_heap *heap, uint64_t count)
{
	(void)state;
	pairs_at_depth(DEEP, heap, 1024, count);
}

static void run_deep_32k(void *state, const struct work_heap *heap, uint64_t count)
{
	(void)state;
	pairs_at_depth(DEEP, heap, 32 << 10, count);
}

/*
 * Goes down by one of two functions at each call, as the bits of a path say, so each path is a
 * stack of its own.  Called through pointers: compilers would copy functions into each other
 * otherwise.
 */
struct path {
	const struct work_heap *heap;
	uint64_t bits, depth;
};

typedef void go_down(struct path *path);

static void go_left(struct path *path);
static void go_right(struct path *path);

static void pair_at_end(struct path *path)
{
	void *p = path->heap->malloc(1024);

	bench_keep(p);
	path->heap->free(p);
}

static go_down *volatile ways_down[] = { go_left, go_right, pair_at_end };

static uint64_t next_way(struct path *path)
{
	uint64_t way = path->depth == 0 ? 2 : path->bits & 1;

	path->depth--;
	path->bits >>= 1;
	return way;
}

static void go_left(struct path *path)
{
	ways_down[next_way(path)](path);
	bench_keep(path);
}

static void go_right(struct path *path)
{
	bench_keep(path);
	ways_down[next_way(path)](path);
	bench_keep(path);
}

__attribute__((noinline)) static void paths_at_depth(int depth, const struct work_heap *heap,
                                                     uint64_t *random, uint64_t count)
{
	if (depth == 0) {
		for (uint64_t i = 0; i < count; i++) {
			struct path path = { heap, next_random(random) >> 20, BRANCHES };

			ways_down[next_way(&path)](&path);
		}
	} else {
		paths_at_depth(depth - 1, heap, random, count);
	}
	bench_keep(depth);
}

static void *begin_stacks(const struct work_heap *heap)
{
	uint64_t *random = malloc(sizeof(*random));

	(void)heap;
	*random = 88172645463325252u;
	return random;
}

static void run_stacks(void *state, const struct work_heap *heap, uint64_t count)
{
	paths_at_depth(DEEP_PATHS, heap, state, count);
}

/* A program whose operations each begin at the outside: 40 calls down, a block replaced, 40 up. */
__attribute__((noinline)) static void replace_at_depth(int depth, const struct work_heap *heap,
                                                       struct mix *mix)
{
	if (depth == 0)
		replace_one(mix, heap);
	else
		replace_at_depth(depth - 1, heap, mix);
	bench_keep(depth);
}

static void run_whole(void *state, const struct work_heap *heap, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		replace_at_depth(DEEP_WHOLE, heap, state);
}

const struct work works[] = {
	{ "pair", "malloc(64) and free", 1000000, 6000000, 600000, begin_nothing, run_pair },
	{ "mix10k", "mixed sizes, 10 000 live blocks", 300000, 1500000, 100000, begin_mix_10k,
	  run_mix },
	{ "mix1M", "mixed sizes, 1 M live blocks", 100000, 200000, 15000, begin_mix_1m, run_mix },
	{ "threads", "two threads, 10 000 live blocks each", 300000, 700000, 100000, begin_threads,
	  run_threads },
	{ "deep", "malloc(1024) and free in 47 frames", 100000, 500000, 50000, begin_nothing,
	  run_deep },
	{ "deep32k", "malloc(32 KiB) and free in 47 frames", 100000, 500000, 50000, begin_nothing,
	  run_deep_32k },
	{ "stacks", "malloc(1024) and free in 65 536 stacks of 47 frames", 3000000, 500000, 50000,
	  begin_stacks, run_stacks },
	{ "whole", "mixed sizes, each at depth 40", 200000, 500000, 30000, begin_mix_10k,
	  run_whole },
	{ NULL, NULL, 0, 0, 0, NULL, NULL },
};

const struct work *work_find(const char *name)
{
	const struct work *work = works;

	while (work->name != NULL && strcmp(work->name, name) != 0)
		work++;
	return work->name != NULL ? work : NULL;
}
