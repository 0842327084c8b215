/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_child - a forked process that fills glibc's heaps and tells which of its blocks live.
 *
 *   struct heap_child child;
 *
 *   heap_child_start(&child, fill_every_64th);
 *   ... child.list->places[0..child.list->count) ...
 *   heap_child_command(&child, 't');
 *   heap_child_stop(&child);
 *
 * The list lies in memory that both processes share, so keeping it allocates nothing.
 */
#pragma once

#include <malloc.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "record/look/block_looks.h"
#include "test.h"

enum { HEAP_CHILD_PLACES_MAX = 1 << 20 };

struct heap_list {
	size_t count, fast_count, cached_bytes;
	uint64_t fast[HEAP_CHILD_PLACES_MAX]; /* blocks that were freed to fast bins */
	struct gg_block_place places[HEAP_CHILD_PLACES_MAX];
};

struct heap_child {
	pid_t pid;
	int commands, answers;
	struct heap_list *list;
};

/* Adds a live block to the list; in the child. */
static inline void heap_list_add(struct heap_list *list, void *block, size_t bytes)
{
	size_t at = __atomic_fetch_add(&list->count, 1, __ATOMIC_RELAXED);

	if (block == NULL || at >= HEAP_CHILD_PLACES_MAX)
		_exit(9);
	list->places[at] = (struct gg_block_place){ .sample = at + 1,
		                                    .address = (uintptr_t)block,
		                                    .size_bytes = bytes,
		                                    .usable_bytes = malloc_usable_size(block) };
}

/* Adds a block that is being freed to a fast bin; in the child. */
static inline void heap_list_add_fast(struct heap_list *list, void *block)
{
	size_t at = __atomic_fetch_add(&list->fast_count, 1, __ATOMIC_RELAXED);

	if (at >= HEAP_CHILD_PLACES_MAX)
		_exit(9);
	list->fast[at] = (uintptr_t)block;
}

/* The child: fills its heap, then obeys: 't' trims.  It ends with its commands. */
static inline void heap_child_run(struct heap_child *child, void (*fill)(struct heap_list *list),
                                  int commands, int answers)
{
	char command = 0;

	fill(child->list);
	while (write(answers, &command, 1) == 1 && read(commands, &command, 1) == 1)
		if (command == 't')
			malloc_trim(0);
	_exit(0);
}

/* Sends a command, and waits until it is done; 0 only waits. */
static inline void heap_child_command(struct heap_child *child, char command)
{
	REQUIRE(command == 0 || write(child->commands, &command, 1) == 1);
	REQUIRE(read(child->answers, &command, 1) == 1);
}

static inline void heap_child_start(struct heap_child *child, void (*fill)(struct heap_list *list))
{
	int commands[2], answers[2];

	child->list = mmap(NULL, sizeof(*child->list), PROT_READ | PROT_WRITE,
	                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(child->list != MAP_FAILED && pipe(commands) == 0 && pipe(answers) == 0);
	fflush(NULL);
	child->pid = fork();
	REQUIRE(child->pid >= 0);
	if (child->pid == 0) {
		close(commands[1]);
		heap_child_run(child, fill, commands[0], answers[1]);
	}
	close(commands[0]);
	close(answers[1]);
	child->commands = commands[1];
	child->answers = answers[0];
	heap_child_command(child, 0);
}

static inline void heap_child_stop(struct heap_child *child)
{
	int status;

	if (child->pid <= 0)
		return;
	close(child->commands);
	close(child->answers);
	CHECK(waitpid(child->pid, &status, 0) == child->pid && status == 0);
	munmap(child->list, sizeof(*child->list));
}

/* Reads /proc/PID/smaps. */
static inline void read_smaps(pid_t pid, struct gg_buf *text)
{
	char path[64], part[4096];
	size_t got;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/smaps", (int)pid);
	file = fopen(path, "r");
	REQUIRE(file != NULL);
	while ((got = fread(part, 1, sizeof(part), file)) > 0)
		gg_buf_append(text, part, got);
	fclose(file);
	REQUIRE(!text->failed);
}

/* Looks at places of a process. */
static inline void take_looks_with(struct gg_block_looks *looks, pid_t pid,
                                   const struct gg_block_place *places, size_t count,
                                   struct gg_block_looks_options options)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_memory_map map = { 0 };
	struct gg_error error;

	read_smaps(pid, &text);
	REQUIRE(gg_memory_map_parse(&map, gg_buf_text(&text)) == 0);
	options.map = &map;
	REQUIRE(gg_block_looks_take(looks, pid, places, count, &options, &error) == 0);
	gg_memory_map_done(&map);
}

/* Looks at places of a process, without a budget. */
static inline void take_looks(struct gg_block_looks *looks, pid_t pid,
                              const struct gg_block_place *places, size_t count)
{
	take_looks_with(looks, pid, places, count, (struct gg_block_looks_options){ 0 });
}

/* A total by its name; -1: the looks lack it. */
static inline int64_t total_of(const struct gg_block_looks *looks, const char *name)
{
	for (size_t i = 0; i < looks->totals.count; i++)
		if (strcmp(looks->totals.items[i].name, name) == 0)
			return looks->totals.items[i].bytes;
	return -1;
}
