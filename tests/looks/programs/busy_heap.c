/* SPDX-License-Identifier: Apache-2.0 */
/*
 * busy_heap - four threads that allocate and free all the time, and a log of what is live.
 *
 *   busy_heap SHAPE LOG    prints "ready" when the threads are busy, and ends when its standard
 *                          input does
 *
 * LOG gets a line twice a millisecond: CLOCK_REALTIME in ns before and after the thread that writes
 * it added up, and the bytes that all threads asked for and have not freed.
 *
 * Shapes:
 *   steady    about the same memory is live all the time
 *   waves     live memory rises and falls five times a second
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	THREADS = 4,
	SLOTS = 40000,
	WAVE_MS = 200,
	PAGE_BYTES = 4096,
	KEEP = 64, /* one block of so many stays for good */
};

struct worker {
	pthread_t thread;
	uint64_t seed;
	_Atomic int64_t live_bytes;
	char *blocks[SLOTS];
	uint32_t sizes[SLOTS];
};

static struct worker workers[THREADS];
static atomic_bool is_over;
static atomic_int full_count; /* threads that have filled their slots */
static const char *shape;

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void empty(struct worker *worker, size_t slot)
{
	if (worker->blocks[slot] == NULL)
		return;
	atomic_fetch_sub(&worker->live_bytes, worker->sizes[slot]);
	free(worker->blocks[slot]);
	worker->blocks[slot] = NULL;
}

static void fill(struct worker *worker, size_t slot)
{
	uint64_t draw = random_next(&worker->seed);
	uint32_t bytes = 200 + (uint32_t)(draw >> 16) % (draw % 64 == 0 ? 20000 : 800);
	char *block;

	empty(worker, slot);
	block = malloc(bytes);
	if (block == NULL)
		abort();
	memset(block, 1, bytes);
	worker->blocks[slot] = block;
	worker->sizes[slot] = bytes;
	atomic_fetch_add(&worker->live_bytes, bytes);
}

/* The share of slots that shall be in use now, in percent. */
static unsigned int target_percent(void)
{
	int64_t phase_ms = clock_ns(CLOCK_MONOTONIC) / 1000000 % WAVE_MS;

	if (strcmp(shape, "waves") != 0)
		return 80;
	return (unsigned int)(phase_ms < WAVE_MS / 2 ? 20 + phase_ms * 140 / WAVE_MS
	                                             : 160 - phase_ms * 140 / WAVE_MS);
}

static void churn(struct worker *worker)
{
	unsigned int percent = 80;

	for (size_t i = 0; !atomic_load(&is_over); i++) {
		size_t slot = random_next(&worker->seed) % SLOTS;

		if (i % 256 == 0)
			percent = target_percent();
		if (random_next(&worker->seed) % 100 < percent)
			fill(worker, slot);
		else if (slot % KEEP != 0)
			empty(worker, slot);
	}
}

static void *work(void *context)
{
	struct worker *worker = context;

	for (size_t slot = 0; slot < SLOTS; slot++)
		fill(worker, slot);
	atomic_fetch_add(&full_count, 1);
	churn(worker);
	return NULL;
}

static void *write_log(void *path)
{
	const struct timespec pause = { .tv_nsec = 500000 };
	FILE *log = fopen(path, "w");

	if (log == NULL)
		abort();
	while (!atomic_load(&is_over)) {
		int64_t bytes = 0, begin_ns = clock_ns(CLOCK_REALTIME);

		for (int i = 0; i < THREADS; i++)
			bytes += atomic_load(&workers[i].live_bytes);
		fprintf(log, "%lld %lld %lld\n", (long long)begin_ns,
		        (long long)clock_ns(CLOCK_REALTIME), (long long)bytes);
		nanosleep(&pause, NULL);
	}
	fclose(log);
	return NULL;
}

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = 100000000 };
	pthread_t logger;

	if (argc != 3)
		return 2;
	shape = argv[1];
	if (pthread_create(&logger, NULL, write_log, argv[2]) != 0)
		return 1;
	for (int i = 0; i < THREADS; i++) {
		workers[i].seed = 88172645463325252 + (uint64_t)i * 1000003;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
			return 1;
	}
	do
		nanosleep(&pause, NULL);
	while (atomic_load(&full_count) < THREADS);
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		continue;
	atomic_store(&is_over, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	pthread_join(logger, NULL);
	return 0;
}
