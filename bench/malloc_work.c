/* SPDX-License-Identifier: Apache-2.0 */
/*
 * malloc_work - what bench_malloc.py runs under each allocator: malloc_work NAME COUNT
 *
 *   pair      malloc(64) and free() of it, nothing else live
 *   mix10k    10 000 live blocks of 16 to 512 bytes; a random one is freed and allocated again
 *   mix1M     the same with 1 000 000
 *   threads   mix10k in two threads at once, each with its own blocks
 *   sample    pair at the end of 47 frames
 *
 * Prints the nanoseconds of processor's time that an operation takes, of all threads.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void pair(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		void *p = malloc(64);

		__asm__ volatile("" : : "r"(p) : "memory");
		free(p);
	}
}

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void replace(void **place, uint64_t random)
{
	free(*place);
	*place = malloc(16 + (random >> 40) % 497);
	*(char *)*place = 1;
}

struct mix {
	void **blocks;
	uint64_t live, count, random;
};

static void *mix(void *user)
{
	struct mix *m = user;

	for (uint64_t i = 0; i < m->count; i++) {
		uint64_t random = next(&m->random);

		replace(&m->blocks[random % m->live], random);
	}
	return NULL;
}

static struct mix begin_mix(uint64_t live, uint64_t count)
{
	struct mix m = { calloc(live, sizeof(void *)), live, count, 88172645463325252 + live };

	for (uint64_t i = 0; i < live; i++)
		replace(&m.blocks[i], next(&m.random));
	return m;
}

static void run_threads(uint64_t count)
{
	struct mix a = begin_mix(10000, count / 2), b = begin_mix(10000, count / 2);
	pthread_t thread;

	b.random += 12345;
	if (pthread_create(&thread, NULL, mix, &b) != 0)
		exit(1);
	mix(&a);
	pthread_join(thread, NULL);
}

__attribute__((noinline)) static void deep(unsigned frames, uint64_t count)
{
	if (frames > 0)
		deep(frames - 1, count);
	else
		pair(count);
	__asm__ volatile("" : : : "memory");
}

int main(int argc, char **argv)
{
	const char *name = argc == 3 ? argv[1] : "";
	uint64_t count = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
	struct mix m;
	double begin;

	if (strcmp(name, "mix10k") == 0 || strcmp(name, "mix1M") == 0) {
		m = begin_mix(name[3] == '1' && name[4] == '0' ? 10000 : 1000000, count);
		begin = now_ns();
		mix(&m);
	} else {
		begin = now_ns();
		if (strcmp(name, "pair") == 0)
			pair(count);
		else if (strcmp(name, "threads") == 0)
			run_threads(count);
		else if (strcmp(name, "sample") == 0)
			deep(44, count);
		else
			return 2;
	}
	printf("%.4f\n", (now_ns() - begin) / (double)count);
	return 0;
}
