/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slabs_program - fills slabs with small blocks and frees all but each 64th, then goes on slowly.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCK_COUNT = 400000, BLOCK_BYTES = 64, KEPT_EVERY = 64, ROUNDS = 300 };

int main(void)
{
	static void *blocks[BLOCK_COUNT];
	const struct timespec pause = { .tv_nsec = 10000000 };

	for (size_t i = 0; i < BLOCK_COUNT; i++) {
		blocks[i] = malloc(BLOCK_BYTES);
		if (blocks[i] == NULL)
			return 1;
		memset(blocks[i], 1, BLOCK_BYTES);
	}
	for (size_t i = 0; i < BLOCK_COUNT; i++)
		if (i % KEPT_EVERY != 0)
			free(blocks[i]);
	for (int i = 0; i < ROUNDS; i++) {
		free(malloc(1 << 20));
		nanosleep(&pause, NULL);
	}
	return 0;
}
