/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held_program BLOCKS ROUNDS [UNTIL [CHILDREN]] - replaces BLOCKS blocks, ROUNDS times each on
 * average: one in 20 by make_small(), all others by make_large().  Goes on until the file UNTIL
 * exists.  Prints the bytes that are live at its end, and those of make_small().  With CHILDREN, it
 * forks that many children after ROUNDS.  They keep the blocks, and all wait for the file.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static void *make_small(size_t bytes)
{
	void *p = malloc(bytes);

	/* Prevents a tail call.  The text differs, because compilers fold equal functions. */
	__asm__ volatile("# small" : : "r"(p) : "memory");
	return p;
}

__attribute__((noinline)) static void *make_large(size_t bytes)
{
	void *p = malloc(bytes);

	__asm__ volatile("# large" : : "r"(p) : "memory");
	return p;
}

static void await(const char *until)
{
	while (access(until, F_OK) != 0)
		usleep(10000);
}

/* Children allocate, so that they get regions of their own. */
static void fork_children(unsigned long count, const char *until)
{
	for (unsigned long i = 0; i < count; i++) {
		if (fork() != 0)
			continue;
		for (int j = 0; j < 10000; j++)
			free(make_large(500));
		await(until);
		_exit(0);
	}
	await(until);
	while (wait(NULL) > 0)
		;
}

int main(int argc, char **argv)
{
	size_t count = argc > 2 ? strtoul(argv[1], NULL, 10) : 0, live = 0, small = 0;
	unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	void **blocks = calloc(count + 1, sizeof(*blocks));
	uint32_t *bytes = calloc(count + 1, sizeof(*bytes)), random = 1;

	if (count == 0 || blocks == NULL || bytes == NULL)
		return 2;
	for (unsigned long r = 0; r < rounds || (argc == 4 && access(argv[3], F_OK) != 0); r++)
		for (size_t i = 0; i < count; i++) {
			size_t at;

			random = random * 1664525 + 1013904223;
			at = random % count;
			free(blocks[at]);
			bytes[at] = 100 + (random >> 8) % 400;
			blocks[at] = at % 20 == 0 ? make_small(bytes[at]) : make_large(bytes[at]);
		}
	if (argc > 4)
		fork_children(strtoul(argv[4], NULL, 10), argv[3]);
	for (size_t i = 0; i < count; i++) {
		live += bytes[i];
		small += i % 20 == 0 ? bytes[i] : 0;
	}
	printf("%zu %zu\n", live, small);
	return 0;
}
