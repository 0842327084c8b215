/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_region_between - interleaves two writers and a reader of a region at every atomic operation.
 *
 * One thread stops before an atomic operation, another one completes an operation of its own, a
 * reader reads the region, and the first thread continues.  The test does this for every pair of
 * operations, and before every atomic operation.  This program defines its own gg_chaos(), which
 * the region calls there.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/chaos.h"
#include "region.h"
#include "test.h"

static struct gg_region region;
static struct gg_region_thread first, second, third;
static uint64_t first_id;   /* of the sample at OLD, before */
static bool second_did_all; /* it was not held up by the first */

#define OLD     ((void *)0x1000) /* is on record; the first thread has it, or had */
#define NEW     ((void *)0x2000)
#define ANOTHER ((void *)0x3000)

static uint64_t record(struct gg_region_thread *thread, void *p)
{
	uint64_t pcs[] = { (uintptr_t)p, 7 };
	struct gg_allocation sample = region_sample((uintptr_t)p, 100,
	                                            gg_region_intern(&region, thread, pcs, 2));

	return gg_region_record_alloc(&region, thread, &sample);
}

static bool release(struct gg_region_thread *thread, void *p, uint64_t id)
{
	return gg_live_maybe(&region, p) && gg_region_record_free(&region, thread, p, id, 99, 0);
}

static bool is_live(const void *p)
{
	struct gg_region_sample sample;

	return gg_region_find(&region, p, &sample);
}

/* --- what the first does --- */

static void frees_the_old_address(void)
{
	release(&first, OLD, 0);
}

static void closes_by_id(void)
{
	release(&first, OLD, first_id);
}

static void records_the_old_address_anew(void)
{
	record(&first, OLD);
}

static void records_another(void)
{
	record(&first, ANOTHER);
}

static void begins_a_thread(void)
{
	gg_region_thread_begin(&region, &third, 3, "third", 1);
}

static void ends(void)
{
	gg_region_thread_end(&region, &first, 5);
}

/* --- what the second does meanwhile --- */

/* Nothing: the reader alone looks. */
static void stands_by(void)
{
	second_did_all = true;
}

/* A block that moved: its old record goes, and its place is used at once. */
static void moves_the_old_block(void)
{
	bool closed = release(&second, OLD, first_id);

	second_did_all = record(&second, NEW) != 0 && closed;
}

static void begins_and_records(void)
{
	struct gg_region_thread fourth;

	gg_region_thread_begin(&region, &fourth, 4, "fourth", 1);
	second_did_all = record(&fourth, NEW) != 0;
}

/* --- in between --- */

static void (*do_meanwhile)(void);
static int before_number; /* of the operation; -1: never */
static int count;
static bool is_between;

void gg_chaos(void)
{
	if (is_between || before_number < 0 || count++ != before_number)
		return;
	is_between = true;
	do_meanwhile();
	CHECK(region_is_consistent(&region));
	is_between = false;
}

static bool begin(void)
{
	struct gg_region_options options;

	before_number = -1;
	region_small_options(&options);
	if (!CHECK(region_make(&region, &options)))
		return false;
	gg_region_thread_begin(&region, &first, 1, "first", 0);
	gg_region_thread_begin(&region, &second, 2, "second", 0);
	first_id = record(&first, OLD);
	return CHECK(first_id != 0);
}

/* False: the first one's work has fewer operations. */
static bool run(void (*work)(void), void (*meanwhile)(void), int number)
{
	bool reached;

	if (!begin())
		return false;
	do_meanwhile = meanwhile;
	before_number = number;
	count = 0;
	second_did_all = false;
	work();
	reached = count > number;
	before_number = -1;
	CHECK(region_is_valid(&region));
	if (reached && second_did_all && meanwhile != stands_by)
		CHECK_MSG(is_live(NEW), "the second one's sample is gone");
	if (test_failed)
		printf("before operation %d\n", number);
	gg_region_done(&region, true);
	return reached && !test_failed;
}

static void run_all(void (*work)(void))
{
	static void (*const meanwhile[])(void) = { stands_by, moves_the_old_block,
		                                   begins_and_records };
	int number;

	for (size_t i = 0; i < GG_COUNT(meanwhile); i++) {
		for (number = 0; run(work, meanwhile[i], number); number++)
			;
		CHECK_MSG(number > 1, "%d operations", number);
	}
}

TEST(a_thread_that_frees_may_be_interrupted_anywhere)
{
	run_all(frees_the_old_address);
}

TEST(a_thread_that_closes_by_id_may_be_interrupted_anywhere)
{
	run_all(closes_by_id);
}

TEST(a_thread_that_records_may_be_interrupted_anywhere)
{
	run_all(records_another);
}

TEST(a_thread_that_records_an_address_that_is_live_may_be_interrupted_anywhere)
{
	run_all(records_the_old_address_anew);
}

TEST(a_thread_that_begins_may_be_interrupted_anywhere)
{
	run_all(begins_a_thread);
}

TEST(a_thread_that_ends_may_be_interrupted_anywhere)
{
	run_all(ends);
}
