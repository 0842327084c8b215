/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late_frees_program [now] - frees blocks while it ends: in a handler of atexit(), in a destructor,
 * and in a thread that the end interrupts.  With `now` it calls _exit(), so only the thread frees.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PART_COUNT = 3, BLOCK_COUNT = 4000, BLOCK_BYTES = 2000, PAUSE_EVERY = 10, PAUSE_US = 10 };

static void *kept[PART_COUNT][BLOCK_COUNT];

static void drop(int part)
{
	for (int i = 0; i < BLOCK_COUNT; i++)
		free(kept[part][i]);
}

static void drop_at_exit(void)
{
	drop(0);
}

__attribute__((destructor)) static void drop_at_end(void)
{
	drop(1);
}

static void *drop_slowly(void *context)
{
	for (int i = 0; i < BLOCK_COUNT; i++) {
		free(kept[2][i]);
		if (i % PAUSE_EVERY == 0)
			usleep(PAUSE_US);
	}
	return context;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	(void)argv;
	for (int part = 0; part < PART_COUNT; part++)
		for (int i = 0; i < BLOCK_COUNT; i++)
			kept[part][i] = memset(malloc(BLOCK_BYTES), 1, BLOCK_BYTES);
	atexit(drop_at_exit);
	pthread_create(&thread, NULL, drop_slowly, NULL);
	usleep(200 * PAUSE_US);
	if (argc > 1)
		_exit(0);
	return 0;
}
