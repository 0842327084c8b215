/* SPDX-License-Identifier: Apache-2.0 */
/* test_record_heap_walks - shows that walks through heaps take their share of time at most. */
#include "record/process/heap_walks.h"

#include <inttypes.h>

#include "base/compiler.h"
#include "base/time_units.h"
#include "test.h"

enum { MIB = 1 << 20 };

static int64_t seconds(double count)
{
	return (int64_t)(count * (double)GG_NS_PER_S);
}

static uint64_t budget_at(struct gg_heap_walks *walks, int64_t age_ns)
{
	gg_heap_walks_pass(walks, age_ns, 1);
	return gg_heap_walks_budget(walks);
}

static void note_at(struct gg_heap_walks *walks, const struct gg_heap_walk *walk,
                    uint64_t budget_ns, int64_t age_ns)
{
	gg_heap_walks_pass(walks, age_ns, 1);
	gg_heap_walks_note(walks, walk, budget_ns);
}

/*
 * A process whose heap of `bytes` needs `ns_per_byte`, and which is quiet: returns the processor
 * time of all walks up to the age, with a chance of a look every 100 ms.
 */
static uint64_t run(struct gg_heap_walks *walks, uint64_t bytes, double ns_per_byte, int64_t age_ns)
{
	uint64_t sum_ns = 0;

	for (int64_t at_ns = 0; at_ns <= age_ns; at_ns += GG_NS_PER_S / 10) {
		uint64_t budget_ns;
		struct gg_heap_walk walk = { .heap_bytes = bytes };
		double reached;

		gg_heap_walks_pass(walks, at_ns, 1);
		budget_ns = gg_heap_walks_budget(walks);
		if (budget_ns == 0 && at_ns > 0)
			continue;
		if (budget_ns > 0) {
			reached = (double)budget_ns / ns_per_byte;
			walk.walked_bytes = reached < (double)bytes ? (uint64_t)reached : bytes;
			walk.cost_ns = (uint64_t)((double)walk.walked_bytes * ns_per_byte);
		}
		gg_heap_walks_note(walks, &walk, budget_ns);
		sum_ns += walk.cost_ns;
		if (walks->has_totals)
			CHECK(gg_heap_walks_has_costly_totals(walks));
	}
	return sum_ns;
}

TEST(a_quiet_process_gets_totals_of_a_large_heap)
{
	static const uint64_t sizes[] = { 150, 411, 1024, 1500 };

	for (size_t i = 0; i < GG_COUNT(sizes); i++) {
		struct gg_heap_walks walks = { 0 };
		uint64_t cost_ns = run(&walks, sizes[i] * MIB, 0.25, seconds(60));

		CHECK(walks.has_totals);
		CHECK_MSG(cost_ns < (uint64_t)seconds(0.9), "%" PRIu64 " ns", cost_ns);
	}
}

/* 411 MiB take 108 ms, and a second of a young process pays for 40 ms. */
TEST(a_walk_waits_until_the_process_is_old_enough)
{
	struct gg_heap_walks walks = { 0 };

	run(&walks, 411 * (uint64_t)MIB, 0.25, seconds(2.3));
	CHECK(!walks.has_totals);
	run(&walks, 411 * (uint64_t)MIB, 0.25, seconds(10));
	CHECK(walks.has_totals);
}

TEST(walks_take_their_share_at_most)
{
	for (int length = 1; length <= 10000; length *= 10)
		for (uint64_t bytes = MIB; bytes < UINT64_C(1) << 40; bytes *= 2) {
			struct gg_heap_walks walks = { 0 };
			uint64_t cost_ns = run(&walks, bytes, 0.3, seconds(length));
			double young = length < 10 ? length : 10;

			CHECK((double)cost_ns / (double)GG_NS_PER_S <=
			      young * 0.04 + (length - young) * 0.01);
		}
}

TEST(a_walk_that_ended_early_is_repeated_when_it_fits)
{
	struct gg_heap_walks walks = { 0 };
	struct gg_heap_walk walk = { .heap_bytes = 1000 * (uint64_t)MIB };
	int64_t from_ns = seconds(100), needed_ns;

	note_at(&walks, &walk, 0, from_ns - seconds(20));
	CHECK(budget_at(&walks, from_ns - seconds(19)) > 0);
	walk.walked_bytes = 400 * (uint64_t)MIB;
	walk.cost_ns = 100 * GG_NS_PER_MS; /* so the whole heap takes 250 ms, and a margin */
	note_at(&walks, &walk, 100 * GG_NS_PER_MS, from_ns);
	needed_ns = (int64_t)gg_heap_walk_guess_ns(walk.heap_bytes, walks.ns_per_byte);
	CHECK(needed_ns >= (int64_t)(250 * GG_NS_PER_MS));
	CHECK_EQ_U64(budget_at(&walks, from_ns + needed_ns * 100 - seconds(1)), 0);
	CHECK(budget_at(&walks, from_ns + needed_ns * 100 + seconds(1)) >= (uint64_t)needed_ns);
}

TEST(no_walk_takes_longer_than_the_rings_can_wait)
{
	struct gg_heap_walks walks = { 0 };
	struct gg_heap_walk walk = { .heap_bytes = 4000 * (uint64_t)MIB,
		                     .walked_bytes = 400 * (uint64_t)MIB,
		                     .cost_ns = 100 * GG_NS_PER_MS };

	note_at(&walks, &walk, 100 * GG_NS_PER_MS, seconds(10));
	CHECK_EQ_U64(budget_at(&walks, seconds(1e6)), 0);
	walks.heap_bytes = 1000 * (uint64_t)MIB;
	CHECK_EQ_U64(budget_at(&walks, seconds(1e6)), 500 * GG_NS_PER_MS);
}

TEST(what_a_look_pays_for_has_no_other_budget)
{
	struct gg_heap_walks walks = { 0 };
	struct gg_heap_walk walk = { 0 };

	CHECK_EQ_U64(budget_at(&walks, seconds(1000)), 0);
	note_at(&walks, &walk, 0, seconds(1000)); /* another allocator */
	CHECK_EQ_U64(budget_at(&walks, seconds(2000)), 0);
	walk = (struct gg_heap_walk){ 50 * MIB, 50 * MIB, 12 * GG_NS_PER_MS };
	note_at(&walks, &walk, 0, seconds(2000));
	CHECK(walks.has_totals);
	CHECK(!gg_heap_walks_has_costly_totals(&walks));
	CHECK_EQ_U64(budget_at(&walks, seconds(3000)), 0);
}

/* A recorder that attaches to an old process has no claim on the time before. */
TEST(the_time_before_the_recording_does_not_count)
{
	struct gg_heap_walks walks = { .from_ns = seconds(86400) };
	struct gg_heap_walk walk = { .heap_bytes = 411 * (uint64_t)MIB };

	note_at(&walks, &walk, 0, seconds(86401));
	CHECK_EQ_U64(budget_at(&walks, seconds(86405)), 0);
	CHECK(budget_at(&walks, seconds(86420)) > 0);
}

/* A walk of 110 ms is repeated after five times 11 s, which pauses make longer while they last. */
TEST(each_time_counts_with_the_frugality_that_it_had)
{
	const struct gg_heap_walks begin = { .heap_bytes = 411 * (uint64_t)MIB,
		                             .has_totals = true,
		                             .extra_ns = 110 * GG_NS_PER_MS,
		                             .from_ns = seconds(100),
		                             .ns_per_byte = 0.25 };
	struct gg_heap_walks walks = begin;

	/* Nothing that was saved at 1/20 of the time is worth more later. */
	gg_heap_walks_pass(&walks, seconds(900), 20);
	CHECK_EQ_U64(gg_heap_walks_budget(&walks), 0);
	gg_heap_walks_pass(&walks, seconds(901), 1);
	CHECK_EQ_U64(gg_heap_walks_budget(&walks), 0);
	gg_heap_walks_pass(&walks, seconds(930), 1);
	CHECK(gg_heap_walks_budget(&walks) > 0);
	/* Nor is it worth less. */
	walks = begin;
	gg_heap_walks_pass(&walks, seconds(170), 1);
	CHECK(gg_heap_walks_budget(&walks) > 0);
	gg_heap_walks_pass(&walks, seconds(171), 20);
	CHECK(gg_heap_walks_budget(&walks) > 0);
}

TEST(a_walk_that_took_too_long_is_paid_for_before_the_next_one)
{
	struct gg_heap_walks walks = { .heap_bytes = 411 * (uint64_t)MIB };
	const struct gg_heap_walk walk = { walks.heap_bytes, 400 * (uint64_t)MIB,
		                           300 * GG_NS_PER_MS };

	CHECK(budget_at(&walks, seconds(5)) > 0);
	note_at(&walks, &walk, 200 * GG_NS_PER_MS, seconds(5));
	CHECK_EQ_I64(walks.allowance_ns, -100 * (int64_t)GG_NS_PER_MS);
}
