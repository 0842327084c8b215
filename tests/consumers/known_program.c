/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known_program - allocates what test_export.py expects: 2000 blocks of 64 bytes and 30 of 100 000
 * are kept, 1000 of 512 are freed; each by a function of its own, through one that asks for all of
 * them.
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
