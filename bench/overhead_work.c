/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overhead_work ALLOCATIONS BYTES WORK - allocates and frees blocks of some BYTES, with WORK
 * additions after each, and prints the processor seconds that this took (bench_overhead.py).
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

int main(int argc, char **argv)
{
	unsigned long count, work;
	double begin;
	size_t bytes;

	if (argc != 4)
		return 2;
	count = (unsigned long)strtod(argv[1], NULL);
	bytes = (size_t)strtoul(argv[2], NULL, 10);
	work = strtoul(argv[3], NULL, 10);
	begin = processor_seconds();
	for (unsigned long i = 0; i < count; i++) {
		replace_below(i, bytes + i % 7);
		for (unsigned long k = 0; k < work; k++)
			sum += k;
	}
	printf("%.6f\n", processor_seconds() - begin);
	return 0;
}
