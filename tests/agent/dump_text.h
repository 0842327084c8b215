/* SPDX-License-Identifier: Apache-2.0 */
/* dump_text - reads dumps back for tests: whether a dump is whole, and its content. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct dump_text_amount {
	uint64_t live_count, live_bytes, count, bytes;
};

struct dump_text {
	uint64_t interval_bytes;         /* heap_v2/... ; 0: gperftools' */
	struct dump_text_amount total;   /* of the head */
	struct dump_text_amount stacks;  /* all of them together */
	struct dump_text_amount threads; /* those of the head together */
	unsigned stack_count, thread_count;
	char names[256]; /* of the threads, each with a ";" */
	bool is_whole;   /* the head, stacks, and mappings up to an end of a line */
};

/* False: it cannot be read. */
bool dump_text_read(const char *path, struct dump_text *ret_text);

/* The files of a directory whose names are *.KIND*.heap ("": all *.heap); the last one's path. */
unsigned dump_text_count(const char *directory, const char *kind, char ret_path[600]);

/* Files that are neither dumps nor regions. */
unsigned dump_text_strangers(const char *directory);
