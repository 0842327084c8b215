/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach_work FILE ALLOCATING OTHER - threads that note for how long they stood still.
 *
 * ALLOCATING threads allocate and free, OTHER threads do not.  All of them read the clock all the
 * time.  A gap between two readings is how long the thread stood still.  FILE has two words for
 * each thread, in this order: the longest gap in nanoseconds, and the longest gap less the time for
 * which the thread was ready to run and waited for a processor.  Zeros that are written there
 * begin a new measurement.
 *
 * Prints its pid when all threads run.  SIGTERM ends it.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 64, BLOCKS = 16 };
#define GAP_NS 20000u /* less is no gap, and costs no look at the scheduler's numbers */

struct gaps {
	uint64_t longest_ns, longest_ready_ns; /* the second one without waits for a processor */
};

struct worker {
	struct gaps *gaps;
	int allocates;
};

static pthread_barrier_t begun;

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* How long the thread has waited for a processor. */
static uint64_t read_wait_ns(int schedstat)
{
	char text[96] = "", *at = text;

	if (pread(schedstat, text, sizeof(text) - 1, 0) <= 0)
		return 0;
	strtoull(at, &at, 10);
	return strtoull(at, NULL, 10);
}

static void raise_to(uint64_t *longest, uint64_t value)
{
	if (value > __atomic_load_n(longest, __ATOMIC_RELAXED))
		__atomic_store_n(longest, value, __ATOMIC_RELAXED);
}

static void use_blocks(unsigned seed)
{
	void *volatile blocks[BLOCKS];

	for (unsigned i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(16 + (seed * 31 + i * 97) % 1000);
	for (unsigned i = 0; i < BLOCKS; i++)
		free(blocks[i]);
}

static void *run(void *argument)
{
	const struct worker *worker = argument;
	int schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	uint64_t wait_ns = read_wait_ns(schedstat), last_ns;

	pthread_barrier_wait(&begun);
	last_ns = clock_ns();
	for (unsigned seed = 0;; seed++) {
		uint64_t now_ns = clock_ns(), gap_ns = now_ns - last_ns;

		if (gap_ns > GAP_NS) {
			uint64_t after_ns = read_wait_ns(schedstat), waited_ns = after_ns - wait_ns;

			wait_ns = after_ns;
			raise_to(&worker->gaps->longest_ns, gap_ns);
			raise_to(&worker->gaps->longest_ready_ns,
			         waited_ns < gap_ns ? gap_ns - waited_ns : 0);
			now_ns = clock_ns();
		}
		last_ns = now_ns;
		if (worker->allocates)
			use_blocks(seed);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct worker workers[THREADS_MAX];
	int allocating = argc == 4 ? atoi(argv[2]) : 0, other = argc == 4 ? atoi(argv[3]) : 0, file;
	int count = allocating + other;
	struct gaps *gaps;
	pthread_t thread;

	if (allocating < 1 || other < 0 || count > THREADS_MAX)
		return 2;
	file = open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (file < 0 || ftruncate(file, (off_t)(sizeof(*gaps) * (size_t)count)) < 0)
		return 1;
	gaps = mmap(NULL, sizeof(*gaps) * (size_t)count, PROT_READ | PROT_WRITE, MAP_SHARED, file,
	            0);
	if (gaps == MAP_FAILED)
		return 1;
	pthread_barrier_init(&begun, NULL, (unsigned)count + 1);
	for (int i = 0; i < count; i++) {
		workers[i] = (struct worker){ &gaps[i], i < allocating };
		if (pthread_create(&thread, NULL, run, &workers[i]) != 0)
			return 1;
	}
	pthread_barrier_wait(&begun);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	pause();
	return 1;
}
