/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interval follows the overhead.  Its value depends on the machine, so the tests check what
 * holds on each machine: it moves, estimates stay right meanwhile, and a fixed interval ends it.
 */
#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inside.h"
#include "region/control.h"
#include "stats/sampling/weight.h"
#include "test.h"

/* A program that only allocates has many times this overhead at the finest interval. */
#define SHARE_PPM 50000

INSIDE("GEIGER_OVERHEAD=5%", "GEIGER_SEED=3")

enum { BATCH = 100000, BATCHES_MAX = 2000, SLOTS = 256 };

static void *slots[SLOTS];

/* Allocates and frees some blocks; returns their bytes. */
static uint64_t work(uint64_t count)
{
	uint64_t bytes = 0;

	for (uint64_t i = 0; i < count; i++) {
		size_t size = 16 + i * 2654435761u % 1000;

		free(slots[i % SLOTS]);
		slots[i % SLOTS] = malloc(size);
		bytes += size;
	}
	return bytes;
}

static struct gg_region_control control_word(void)
{
	struct gg_region_view view = inside_view();
	struct gg_region_control word = view.header.control;

	gg_region_view_done(&view);
	return word;
}

/* Works until the interval has changed at least so often; returns the bytes, 0: it never did. */
static uint64_t work_until_changes(uint64_t least)
{
	uint64_t bytes = 0;

	for (int i = 0; i < BATCHES_MAX; i++) {
		bytes += work(BATCH);
		if (inside_counter(GG_COUNT_INTERVAL_CHANGES) >= least)
			return bytes;
	}
	return 0;
}

static double allocated_bytes(void)
{
	struct gg_region_view view = inside_view();
	double sum = 0;

	for (uint32_t i = 0; i < view.site_total_count; i++)
		sum += gg_fixed_value(view.site_totals[i].allocated.bytes);
	gg_region_view_done(&view);
	return sum;
}

TEST(the_interval_follows_the_overhead_and_estimates_stay_right)
{
	double before = allocated_bytes(), estimate, truth, coarsest;
	uint64_t bytes = work_until_changes(2);

	REQUIRE(bytes > 0);
	truth = (double)(bytes + work(20 * BATCH));
	estimate = allocated_bytes() - before;
	coarsest = (double)inside_counter(GG_COUNT_COARSEST_INTERVAL);
	if (coarsest < 512 << 10)
		coarsest = 512 << 10;
	/* The variance is at most that of the coarsest interval; five standard deviations. */
	CHECK(fabs(estimate - truth) < 5 * sqrt(truth * coarsest));
	CHECK_EQ_U64(control_word().overhead_ppm, SHARE_PPM);
	CHECK(control_word().interval_bytes != 512 << 10);
	CHECK(inside_counter(GG_COUNT_PROGRAM_NS) > 0);
	CHECK(inside_counter(GG_COUNT_SAMPLING_NS) > 0);
	CHECK(inside_counter(GG_COUNT_HOOKS_NS) > 0);
	CHECK(inside_is_consistent());
}

TEST(a_child_goes_on_and_counts_its_own_costs)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		/* The first batch gives it a region. */
		for (int i = 0; i < BATCHES_MAX; i++) {
			work(BATCH);
			if (inside_counter(GG_COUNT_PROGRAM_NS) > 0)
				break;
		}
		_exit(control_word().overhead_ppm == SHARE_PPM &&
		                      inside_counter(GG_COUNT_PROGRAM_NS) > 0 &&
		                      inside_counter(GG_COUNT_COARSEST_INTERVAL) > 0
		              ? 0
		              : 1);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK_EQ_I64(status, 0);
}

/* Inherited blocks were exposed to that interval, and readers allow for it. */
static void check_coarsest_in_child(void)
{
	uint64_t coarsest = inside_counter(GG_COUNT_COARSEST_INTERVAL);
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		work(BATCH);
		_exit(inside_counter(GG_COUNT_COARSEST_INTERVAL) >= coarsest ? 0 : 1);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK(coarsest > 0);
	CHECK_EQ_I64(status, 0);
}

TEST(a_fixed_interval_ends_it_and_a_share_begins_it_again)
{
	const struct gg_region_change fixed = { .interval_bytes = 4096 };
	const struct gg_region_change share = { .overhead_ppm = 20000 };
	struct gg_error error = { 0 };
	uint64_t changes;
	int fd = gg_region_control_open(inside_region(getpid()), &error);

	REQUIRE(fd >= 0);
	CHECK_EQ_I64(gg_region_control_write(fd, &fixed, &error), 0);
	work(BATCH);
	changes = inside_counter(GG_COUNT_INTERVAL_CHANGES);
	work(20 * BATCH);
	CHECK_EQ_U64(inside_counter(GG_COUNT_INTERVAL_CHANGES), changes);
	CHECK_EQ_U64(control_word().interval_bytes, 4096);
	CHECK_EQ_U64(control_word().overhead_ppm, 0);
	check_coarsest_in_child();
	CHECK_EQ_I64(gg_region_control_write(fd, &share, &error), 0);
	CHECK(work_until_changes(changes + 1) > 0);
	CHECK_EQ_U64(control_word().overhead_ppm, 20000);
	close(fd);
}
