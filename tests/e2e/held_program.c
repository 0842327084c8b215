/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held_program BLOCKS ROUNDS [UNTIL] - replaces BLOCKS blocks, ROUNDS times each on average: one in
 * 20 by make_small(), all others by make_large().  Goes on until the file UNTIL exists.  Prints the
 * bytes that are live at its end, and those of make_small().
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) static void *make_small(size_t bytes)
{
	void *p = malloc(bytes);

	__asm__ volatile("" : : "r"(p) : "memory"); /* no tail call */
	return p;
}

__attribute__((noinline)) static void *make_large(size_t bytes)
{
	void *p = malloc(bytes);

	__asm__ volatile("" : : "r"(p) : "memory");
	return p;
}

int main(int argc, char **argv)
{
	size_t count = argc > 2 ? strtoul(argv[1], NULL, 10) : 0, live = 0, small = 0;
	unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	void **blocks = calloc(count + 1, sizeof(*blocks));
	uint32_t *bytes = calloc(count + 1, sizeof(*bytes)), random = 1;

	if (count == 0 || blocks == NULL || bytes == NULL)
		return 2;
	for (unsigned long r = 0; r < rounds || (argc > 3 && access(argv[3], F_OK) != 0); r++)
		for (size_t i = 0; i < count; i++) {
			size_t at;

			random = random * 1664525 + 1013904223;
			at = random % count;
			free(blocks[at]);
			bytes[at] = 100 + (random >> 8) % 400;
			blocks[at] = at % 20 == 0 ? make_small(bytes[at]) : make_large(bytes[at]);
		}
	for (size_t i = 0; i < count; i++) {
		live += bytes[i];
		small += i % 20 == 0 ? bytes[i] : 0;
	}
	printf("%zu %zu\n", live, small);
	return 0;
}
