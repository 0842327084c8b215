/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embed_program [start | dense | sparse] [snapshot FILE] [abort] - a runtime in small: two heaps,
 * objects that move, grow old and die, frames of its own. To be recorded with a sampling interval
 * of 1: what it leaves is known.
 *
 *   heap "young [cells]"  100 pairs of 16, of which 60 died, 40 moved and are old; 7 strings of 5
 *   heap "old"            10 vectors of 1000, by main > load
 *   malloc                one block of 12345
 */
#include <geiger/geiger.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const void *native;

static size_t provide(void *user, struct geiger_frame *frames, size_t capacity)
{
	(void)user;
	if (capacity < 2)
		return 0;
	memset(frames, 0, 2 * sizeof(*frames));
	frames[0].function = "load";
	frames[0].file = "/lib/json.scm";
	frames[0].line = 40;
	frames[0].native = native;
	frames[1].function = "main";
	frames[1].file = "/lib/main.scm";
	frames[1].line = 3;
	return 2;
}

__attribute__((noinline)) static void allocate(uint32_t heap, size_t object, size_t bytes,
                                               const char *type)
{
	if (geiger_due(bytes))
		geiger_allocated(heap, (const void *)object, bytes, type);
}

__attribute__((noinline)) static void interpret(uint32_t heap)
{
	size_t i;

	native = __builtin_frame_address(0);
	for (i = 1; i <= 10; i++)
		allocate(heap, i << 12, 1000, "vector");
	native = NULL;
}

static const void *where(void *user, const void *object, enum geiger_generation *generation)
{
	size_t number = (size_t)object;

	(void)user;
	if (number > 100)
		return object; /* strings stay */
	*generation = GEIGER_OLD;
	return number <= 60 ? NULL : (const void *)(number + 100000);
}

int main(int argc, char **argv)
{
	uint32_t young, old;
	size_t i;
	int is_sparse;
	void *volatile block;

	if (argc > 1 && strcmp(argv[1], "start") == 0) {
		struct geiger_options options = { 1, NULL, 0 };

		if (geiger_start(&options) != 0)
			return 3;
	}
	if (argc > 1 && strcmp(argv[1], "dense") == 0)
		geiger_thread_interval(1);
	is_sparse = argc > 1 && strcmp(argv[1], "sparse") == 0;
	if (is_sparse)
		geiger_thread_interval(65536);
	young = geiger_heap_register("young", "cells");
	old = geiger_heap_register("old", NULL);
	geiger_heap_set_frame_provider(old, provide, NULL);
	for (i = 1; i <= 100; i++)
		allocate(young, i, 16, "pair");
	for (i = 201; i <= 207; i++)
		allocate(young, i, 5, "string");
	block = malloc(12345);
	interpret(old);
	if (geiger_collected(young, GEIGER_YOUNG, where, NULL) != 47 && !is_sparse &&
	    geiger_recording_to() != GEIGER_TO_NOWHERE)
		return 4;
	if (argc > 2 && strcmp(argv[argc - 2], "snapshot") == 0 &&
	    geiger_snapshot(argv[argc - 1]) != 0)
		return 5;
	printf("%d\n", (int)geiger_recording_to());
	fflush(stdout);
	if (argc > 1 && strcmp(argv[argc - 1], "abort") == 0)
		abort();
	return block == NULL;
}
