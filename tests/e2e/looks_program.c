/* SPDX-License-Identifier: Apache-2.0 */
/*
 * looks_program FOLDER THREADS BLOCKS [kill] - makes arenas, stacks and shared memory large.
 *
 * Each thread touches 3 MiB of its stack and keeps BLOCKS blocks of 1000 bytes in its own arena.
 * The program touches 24 MiB of shared memory.  Then it makes the file "ready" in the folder, and
 * waits for the file "seen".  It ends with all its threads, or kills itself.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "await_look.h"

enum { MIB = 1 << 20 };

static void *(*volatile call_malloc)(size_t) = malloc;
static pthread_barrier_t barrier;
static long block_count;

static void touch_stack(void)
{
	volatile char bytes[3 * MIB];

	for (size_t i = 0; i < sizeof(bytes); i += 4096)
		bytes[i] = 1;
}

static void *run(void *context)
{
	touch_stack();
	for (long i = 0; i < block_count; i++)
		memset(call_malloc(1000), 1, 1000);
	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
	return context;
}

int main(int argc, char **argv)
{
	unsigned int thread_count = argc > 2 ? (unsigned int)atoi(argv[2]) : 0;
	char *shared = mmap(NULL, 24 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	                    0);
	pthread_t thread;

	block_count = argc > 3 ? atol(argv[3]) : 0;
	if (shared == MAP_FAILED)
		return 1;
	memset(shared, 1, 24 * MIB);
	pthread_barrier_init(&barrier, NULL, thread_count + 1);
	for (unsigned int i = 0; i < thread_count; i++)
		if (pthread_create(&thread, NULL, run, NULL) != 0)
			return 1;
	pthread_barrier_wait(&barrier);
	await_look_begin(argv[1]);
	while (!await_look_is_over(argv[1]))
		await_look_pause();
	if (argc > 4)
		kill(getpid(), SIGKILL);
	return 0;
}
