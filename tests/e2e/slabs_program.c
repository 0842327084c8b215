/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slabs_program FOLDER - fills slabs with small blocks and frees all but each 64th.
 *
 * Then it makes the file "ready" in the folder, and takes samples until there is the file "seen".
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "await_look.h"

enum { BLOCK_COUNT = 400000, BLOCK_BYTES = 64, KEPT_EVERY = 64 };

int main(int argc, char **argv)
{
	static void *blocks[BLOCK_COUNT];

	if (argc < 2)
		return 2;
	for (size_t i = 0; i < BLOCK_COUNT; i++) {
		blocks[i] = malloc(BLOCK_BYTES);
		if (blocks[i] == NULL)
			return 1;
		memset(blocks[i], 1, BLOCK_BYTES);
	}
	for (size_t i = 0; i < BLOCK_COUNT; i++)
		if (i % KEPT_EVERY != 0)
			free(blocks[i]);
	await_look_begin(argv[1]);
	while (!await_look_is_over(argv[1])) {
		free(malloc(1 << 20));
		await_look_pause();
	}
	return 0;
}
