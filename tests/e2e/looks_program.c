/* SPDX-License-Identifier: Apache-2.0 */
/*
 * looks_program THREADS BLOCKS [kill] - makes arenas, stacks and shared memory large, and waits.
 *
 * Each thread touches 3 MiB of its stack and keeps BLOCKS blocks of 1000 bytes in its own arena.
 * The program touches 24 MiB of shared memory.  It waits three times as long as that took, and 2 s
 * at least, so that the recorder looks at it; then it ends, or kills itself.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

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
	pthread_barrier_wait(&barrier);
	return context;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	double start = now(), seconds;
	unsigned int thread_count = argc > 1 ? (unsigned int)atoi(argv[1]) : 0;
	char *shared = mmap(NULL, 24 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	                    0);
	pthread_t thread;

	block_count = argc > 2 ? atol(argv[2]) : 0;
	if (shared == MAP_FAILED)
		return 1;
	memset(shared, 1, 24 * MIB);
	pthread_barrier_init(&barrier, NULL, thread_count + 1);
	for (unsigned int i = 0; i < thread_count; i++)
		if (pthread_create(&thread, NULL, run, NULL) != 0)
			return 1;
	pthread_barrier_wait(&barrier);
	seconds = 3 * (now() - start);
	usleep((useconds_t)(1e6 * (seconds > 2 ? seconds : 2)));
	if (argc > 3)
		kill(getpid(), SIGKILL);
	pthread_barrier_wait(&barrier);
	return 0;
}
