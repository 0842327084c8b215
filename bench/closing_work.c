/* SPDX-License-Identifier: Apache-2.0 */
/*
 * closing_work [PACE] - allocates 2 501 101 blocks, prints the time of its end, and ends.
 *
 * With PACE, it sleeps a millisecond after so many allocations, so that a recorder that samples all
 * of them loses none.  The time is CLOCK_MONOTONIC in seconds (bench_closing.py).
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { KEPT_SMALL = 500000, KEPT_LARGE = 100, FREED = 2000000, DROPPED = 1001 };

static void *volatile kept[KEPT_SMALL + KEPT_LARGE];
static void *volatile dropped[DROPPED];
static long pace, allocated_count;

static void *allocate(size_t size)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	if (pace > 0 && ++allocated_count % pace == 0)
		nanosleep(&pause, NULL);
	return malloc(size);
}

int main(int argc, char **argv)
{
	struct timespec now;

	pace = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	for (int i = 0; i < KEPT_SMALL; i++)
		kept[i] = allocate(40);
	for (int i = 0; i < KEPT_LARGE; i++)
		kept[KEPT_SMALL + i] = allocate(100000);
	for (int i = 0; i < FREED; i++) {
		void *volatile block = allocate(100);

		free(block);
	}
	for (int i = 0; i < DROPPED; i++)
		dropped[i] = allocate(50000);
	for (int i = 0; i < DROPPED; i++)
		free(dropped[i]);
	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("%lld.%09ld\n", (long long)now.tv_sec, now.tv_nsec);
	return 0;
}
