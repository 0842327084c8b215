/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_program SECONDS [CHILDREN] - allocates blocks of several sizes for some seconds, frees most
 * of them, and keeps some.  Children are forked after a second, and hold what they have until the
 * end.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { KEPT = 2000, ROUND_BLOCKS = 400 };
static void *volatile kept[KEPT];
static uint64_t state = 12345;

static uint32_t draw(uint32_t most)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(state >> 33) % most;
}

void keep_some(void);
void use_some(void);

__attribute__((noinline)) void keep_some(void)
{
	static const size_t sizes[] = { 24, 100, 4000, 30000, 250000, 0 };
	uint32_t at = draw(KEPT);

	free(kept[at]);
	kept[at] = malloc(sizes[draw(6)]);
}

__attribute__((noinline)) void use_some(void)
{
	void *volatile block = malloc(1 + draw(20000));

	free(block);
}

int main(int argc, char **argv)
{
	time_t start = time(NULL), end = start + (argc > 1 ? atoi(argv[1]) : 1);
	int children = argc > 2 ? atoi(argv[2]) : 0;

	while (time(NULL) < end) {
		for (int i = 0; i < ROUND_BLOCKS; i++) {
			keep_some();
			use_some();
		}
		for (; children > 0 && time(NULL) > start; children--) {
			if (fork() != 0)
				continue;
			for (int i = 0; i < 60; i++)
				keep_some(); /* so that the child has samples of its own */
			while (time(NULL) < end)
				usleep(20000);
			_exit(0);
		}
		usleep(20000);
	}
	return 0;
}
