/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interval follows the error of live bytes.  The first one is that of a plan for 60 MB; 256
 * blocks of 125 KB in all never have the half of it, so the plan ends by what is allocated.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include "base/atomic.h"
#include "inside.h"
#include "region/control.h"
#include "test.h"

#define PLANNED_INTERVAL 32768
/* An error of 5 % needs this many samples. */
#define PLANNED_BYTES (PLANNED_INTERVAL * UINT64_C(1849))

INSIDE("GEIGER_ERROR=5%", "GEIGER_PLANNED_INTERVAL=32768", "GEIGER_SEED=3")

enum { SLOTS = 256, BATCH = 1000, THREADS = 4, CHANGES = 200, WAITS_MAX = 20000 };

static int control_fd(void)
{
	struct gg_error error = { 0 };

	return gg_region_control_open(inside_region(getpid()), &error);
}

static uint64_t interval(int fd)
{
	struct gg_region_control word = { 0 };

	return gg_region_control_read(fd, &word) ? word.interval_bytes : 0;
}

/* Allocates that many bytes in blocks of 16 to 1015, each of which replaces one of `slots`. */
static void work(void *slots[SLOTS], uint64_t bytes)
{
	for (uint64_t i = 0; bytes > 0; i++) {
		size_t size = 16 + i * 2654435761u % 1000;

		free(slots[i % SLOTS]);
		slots[i % SLOTS] = malloc(size);
		bytes -= size < bytes ? size : bytes;
	}
}

TEST(a_plan_holds_for_a_child_from_its_fork_on)
{
	static void *slots[SLOTS];
	int status = -1;
	pid_t pid;

	work(slots, PLANNED_BYTES * 3 / 2);
	CHECK_EQ_U64(interval(control_fd()), PLANNED_INTERVAL);
	pid = fork();
	if (pid == 0) {
		/* The first block that is due gives it a region. */
		work(slots, PLANNED_BYTES);
		_exit(interval(control_fd()) == PLANNED_INTERVAL ? 0 : 1);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK_EQ_I64(status, 0);
	/* The parent has allocated more than twice the planned bytes now. */
	work(slots, PLANNED_BYTES);
	CHECK(interval(control_fd()) < PLANNED_INTERVAL / 2);
}

/* After a change, sampling begins anew with the finest interval of 1 KiB. */
TEST(the_walk_over_many_live_samples_takes_several_steps)
{
	enum { BLOCKS = 100000, BYTES = 1500, STEP_SAMPLES = 64 };
	const struct gg_region_change fine = { .error_ppm = 1000 }, coarse = { .error_ppm = 50000 };
	static void *blocks[BLOCKS];
	struct gg_error error = { 0 };
	int fd = control_fd();
	uint64_t before, coarsest = 0;
	double wanted = 1.0 * BLOCKS * BYTES / 1849;

	REQUIRE(fd >= 0);
	CHECK_EQ_I64(gg_region_control_write(fd, &fine, &error), 0);
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(BYTES);
	CHECK_EQ_U64(interval(fd), 1024);
	before = inside_counter(GG_COUNT_SAMPLES);
	CHECK_EQ_I64(gg_region_control_write(fd, &coarse, &error), 0);
	for (int i = 0; i < 10 * BLOCKS && coarsest <= 1024; i++) {
		free(malloc(BYTES));
		coarsest = interval(fd);
	}
	/* Some 77 000 samples are live, and a step adds up 16 384. */
	CHECK(inside_counter(GG_COUNT_SAMPLES) - before > 3 * STEP_SAMPLES);
	/* All slices count.  Intervals are 19 % apart. */
	CHECK((double)coarsest > wanted / 1.3 && (double)coarsest < wanted * 1.3);
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	close(fd);
}

static uint32_t is_over;

static int work_on(void *slots)
{
	while (gg_load_relaxed(&is_over) == 0)
		work(slots, BATCH);
	return 0;
}

/*
 * 2 % of 10 MB need an interval of some 900 bytes, which the finest one of 1 KiB is for; 50 % need
 * 450 KB, and never less than a sixteenth of that.
 */
TEST(each_change_counts_while_threads_take_steps)
{
	static void *slots[THREADS][SLOTS];
	static void *blocks[20000];
	thrd_t threads[THREADS];
	int fd = control_fd(), waits = 0;

	REQUIRE(fd >= 0);
	for (int i = 0; i < 20000; i++)
		blocks[i] = malloc(500);
	for (int i = 0; i < THREADS; i++)
		REQUIRE(thrd_create(&threads[i], work_on, slots[i]) == thrd_success);
	for (int i = 0; i < CHANGES && waits < WAITS_MAX; i++) {
		const struct gg_region_change change = {
			.error_ppm = i % 2 == 0 ? 500000 : 20000,
		};
		struct gg_error error = { 0 };

		CHECK_EQ_I64(gg_region_control_write(fd, &change, &error), 0);
		waits = 0;
		while ((interval(fd) > 16384) != (i % 2 == 0) && ++waits < WAITS_MAX)
			usleep(1000);
	}
	gg_store_relaxed(&is_over, 1);
	for (int i = 0; i < THREADS; i++)
		thrd_join(threads[i], NULL);
	CHECK(waits < WAITS_MAX);
	CHECK(inside_is_consistent());
	for (int i = 0; i < 20000; i++)
		free(blocks[i]);
	close(fd);
}
