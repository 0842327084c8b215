/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known_program - allocates the blocks that test_export.py expects.
 *
 * It keeps 2000 blocks of 64 bytes and 30 of 100 000, and frees 1000 of 512.  Each size has a
 * function of its own, and one function calls these three.
 */
#include <stdlib.h>
#include <string.h>

static void *volatile last;

__attribute__((noinline)) static void *leaf(size_t bytes)
{
	void *block = malloc(bytes);

	if (block != NULL)
		memset(block, 1, 1);
	return block;
}

__attribute__((noinline)) static void keep_small(void)
{
	for (int i = 0; i < 2000; i++)
		last = leaf(64);
}

__attribute__((noinline)) static void keep_big(void)
{
	for (int i = 0; i < 30; i++)
		last = leaf(100000);
}

__attribute__((noinline)) static void drop(void)
{
	for (int i = 0; i < 1000; i++)
		free(leaf(512));
}

int main(void)
{
	keep_small();
	keep_big();
	drop();
	return 0;
}
