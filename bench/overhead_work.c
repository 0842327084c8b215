/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overhead_work (ALLOCATIONS BYTES WORK)... - allocates and frees blocks of some BYTES, with WORK
 * additions after each, and prints the processor seconds that this took (bench_overhead.py).
 * Several triples are steps, one after the other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LIVE = 4096 };

static void *live[LIVE];
static volatile unsigned long sum; /* of the work, which nothing may leave out */

static double processor_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Two functions, so that stacks have some depth. */
__attribute__((noinline)) static void replace(unsigned long i, size_t bytes)
{
	free(live[i % LIVE]);
	live[i % LIVE] = malloc(bytes);
}

__attribute__((noinline)) static void replace_below(unsigned long i, size_t bytes)
{
	replace(i, bytes);
	__asm__ volatile(""); /* no tail call */
}

static void run(char **words)
{
	unsigned long count = (unsigned long)strtod(words[0], NULL);
	size_t bytes = (size_t)strtoul(words[1], NULL, 10);
	unsigned long work = (unsigned long)strtod(words[2], NULL);

	for (unsigned long i = 0; i < count; i++) {
		replace_below(i, bytes + i % 7);
		for (unsigned long k = 0; k < work; k++)
			sum += k;
	}
}

int main(int argc, char **argv)
{
	double begin = processor_seconds();

	if (argc < 4 || argc % 3 != 1)
		return 2;
	for (int i = 1; i < argc; i += 3)
		run(argv + i);
	printf("%.6f\n", processor_seconds() - begin);
	return 0;
}
