/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_program - fills its heap in a shape (keeper.h), and obeys its standard input.
 *
 *   keeper_program SHAPE SEED
 *
 * It prints "ready", then what each line asks for, and "done":
 *
 *   truth        "role FUNCTION COUNT BYTES USABLE PINNED" of each role, "total KEY BYTES"
 *   trim         malloc_trim(0), or the same with jemalloc
 *   serve        goes on with blocks of 1 MiB, which it frees, until the next line
 *   free NUMBER  frees the blocks of a role
 *
 * It ends when its input does.
 */
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "keeper.h"

static void print_truth(struct keeper *keeper)
{
	const struct keeper_truth *truth = &keeper->truth;

	(keeper_has_slabs() ? keeper_walk_slabs : keeper_walk)(keeper);
	for (int role = 0; role < KEEPER_ROLE_COUNT; role++) {
		size_t count = 0, bytes = 0, usable = 0;
		double pinned = 0;

		for (size_t i = 0; i < keeper->count; i++) {
			const struct keeper_block *block = &keeper->blocks[i];

			if ((int)block->role != role || block->address == NULL)
				continue;
			count++;
			bytes += block->size_bytes;
			usable += block->usable_bytes;
			pinned += block->pinned_bytes;
		}
		dprintf(STDOUT_FILENO, "role %s %zu %zu %zu %.3f\n", keeper_role_names[role], count,
		        bytes, usable, pinned);
	}
	dprintf(STDOUT_FILENO,
	        "total walked %zu\ntotal in-use %zu\ntotal free %zu\ntotal returnable %zu\n"
	        "total top %zu\ntotal pinned %zu\ntotal other-pinned %.3f\n",
	        truth->walked_bytes, truth->used_bytes, truth->free_bytes, truth->returnable_bytes,
	        truth->top_bytes, truth->pinned_bytes, truth->other_pinned_bytes);
}

/* Reads a line without a buffer on the heap; returns its length, or 0 at the end. */
static size_t read_line(char *line, size_t size)
{
	size_t length = 0;

	while (length + 1 < size && read(STDIN_FILENO, line + length, 1) == 1)
		if (line[length++] == '\n')
			break;
	line[length] = '\0';
	return length;
}

/* Samples that fill whole pages, so that an agent can serve requests and no slab changes. */
static void serve(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	while (poll(&input, 1, 0) == 0) {
		void *volatile block = malloc(1 << 20);

		free(block);
		nanosleep(&pause, NULL);
	}
}

int main(int argc, char **argv)
{
	struct keeper *keeper = keeper_new();
	char line[64];

	if (argc < 3 || !keeper_fill(keeper, argv[1], strtoull(argv[2], NULL, 10))) {
		for (size_t i = 0; keeper_shapes[i] != NULL; i++)
			dprintf(STDOUT_FILENO, "%s\n", keeper_shapes[i]);
		return argc < 3 ? 0 : 2;
	}
	dprintf(STDOUT_FILENO, "ready\n");
	while (read_line(line, sizeof(line)) > 0) {
		if (strcmp(line, "truth\n") == 0)
			print_truth(keeper);
		else if (strcmp(line, "trim\n") == 0 && keeper_has_slabs())
			keeper_trim_slabs();
		else if (strcmp(line, "trim\n") == 0)
			malloc_trim(0);
		else if (strncmp(line, "free ", 5) == 0)
			keeper_free_role(keeper, (enum keeper_role)atoi(line + 5));
		dprintf(STDOUT_FILENO, "done\n");
		if (strcmp(line, "serve\n") == 0)
			serve();
	}
	return 0;
}
