/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_record_look_schedule - shows when a look is due, what it may not replace, and how many
 * samples it chooses.
 */
#include "record/process/look_schedule.h"

#include "base/time_units.h"
#include "record/look/look_samples.h"
#include "test.h"

enum { MIB = 1 << 20 };

#define HEAP_BYTES INT64_C(411) * MIB
#define NOW_NS     (UINT64_C(1000) * GG_NS_PER_S)

/* A process that is 100 s old; its last look was 50 s ago and saw what the process still is. */
struct process {
	struct gg_profile_writer writer;
	struct gg_target target;
	struct gg_member member;
};

static void begin(struct process *process)
{
	*process = (struct process){ .target = { .writer = &process->writer,
		                                 .live_bytes = 100 * MIB } };
	process->member = (struct gg_member){
		.target = &process->target,
		.reading = { .time_ns = 100 * GG_NS_PER_S, .rss_bytes = HEAP_BYTES },
		.looks = { .last_ns = NOW_NS - 50 * GG_NS_PER_S,
		           .next_ns = NOW_NS - 49 * GG_NS_PER_S,
		           .rss_bytes = HEAP_BYTES,
		           .reading_rss_bytes = HEAP_BYTES,
		           .live_bytes = 100 * MIB },
	};
}

/* The last look walked through the whole heap, on a budget of its own. */
static void begin_with_walk(struct process *process)
{
	begin(process);
	process->member.looks.heap_walks = (struct gg_heap_walks){ .heap_bytes = HEAP_BYTES,
		                                                   .has_totals = true,
		                                                   .extra_ns = 110 * GG_NS_PER_MS,
		                                                   .from_ns = 99 * GG_NS_PER_S,
		                                                   .ns_per_byte = 0.25 };
}

static bool is_due(struct process *process)
{
	gg_look_schedule_pass(&process->member);
	return gg_look_schedule_is_due(&process->member, NOW_NS);
}

TEST(a_look_is_due_after_a_while)
{
	struct process process;

	begin(&process);
	CHECK(is_due(&process));
	process.member.looks.last_ns = NOW_NS - 5 * GG_NS_PER_S;
	CHECK(!is_due(&process));
	process.target.live_bytes = 110 * MIB;
	CHECK(is_due(&process));
	process.member.looks.next_ns = NOW_NS + 1;
	CHECK(!is_due(&process));
}

TEST(a_look_without_totals_does_not_replace_one_that_has_them)
{
	struct process process;

	begin_with_walk(&process);
	CHECK(!is_due(&process));
	/* The last round of a recording lifts all pauses. */
	process.member.looks.last_ns = process.member.looks.next_ns = 0;
	CHECK(!is_due(&process));
}

TEST(totals_that_a_look_pays_for_are_replaced)
{
	struct process process;

	begin_with_walk(&process);
	process.member.looks.heap_walks.extra_ns = 0;
	CHECK(is_due(&process));
}

TEST(totals_of_another_time_are_replaced)
{
	struct process process;

	begin_with_walk(&process);
	process.member.reading.rss_bytes += HEAP_BYTES / 100;
	CHECK(is_due(&process));
	begin_with_walk(&process);
	process.target.live_bytes += 2 * MIB;
	CHECK(is_due(&process));
	/* The last look could not tell free memory apart. */
	begin_with_walk(&process);
	process.member.looks.unsettled_count = 1;
	CHECK(is_due(&process));
}

TEST(totals_are_replaced_by_totals)
{
	struct process process;

	begin_with_walk(&process);
	process.member.reading.time_ns = 1000 * GG_NS_PER_S;
	CHECK(is_due(&process));
}

TEST(a_session_that_holds_an_overhead_walks_less)
{
	struct process process;

	begin_with_walk(&process);
	process.member.reading.time_ns = 1000 * GG_NS_PER_S;
	CHECK(is_due(&process));
	/* Pauses are 20 times longer, so 900 s are as 45 s are without an overhead. */
	begin_with_walk(&process);
	process.writer.extra_pause = 19;
	process.member.reading.time_ns = 1000 * GG_NS_PER_S;
	CHECK(!is_due(&process));
	process.member.reading.time_ns = 1500 * GG_NS_PER_S;
	CHECK(is_due(&process));
}

/* The pauses of a session follow its costs, up and down. */
TEST(a_pause_that_ends_makes_no_walk_due_and_one_that_begins_takes_none_away)
{
	struct process process;

	begin_with_walk(&process);
	process.writer.extra_pause = 19;
	process.member.reading.time_ns = 1000 * GG_NS_PER_S;
	CHECK(!is_due(&process));
	process.writer.extra_pause = 0;
	process.member.reading.time_ns = 1001 * GG_NS_PER_S;
	CHECK(!is_due(&process));
	begin_with_walk(&process);
	process.member.reading.time_ns = 400 * GG_NS_PER_S;
	CHECK(is_due(&process));
	process.writer.extra_pause = 19;
	process.member.reading.time_ns = 401 * GG_NS_PER_S;
	CHECK(is_due(&process));
}

/* --- the choice --- */

#define BUDGET_NS (50 * GG_NS_PER_MS)

/* The choice of the next look after one that took so long. */
static uint32_t choice_after(struct gg_look_schedule *looks, uint64_t cost_ns)
{
	gg_look_schedule_limit_choice(looks, cost_ns);
	return looks->chosen_max;
}

TEST(a_look_within_its_time_leaves_the_choice_as_it_is)
{
	struct gg_look_schedule looks = { 0 };

	CHECK_EQ_U64(choice_after(&looks, 0), GG_LOOK_CHOSEN_MAX);
	CHECK_EQ_U64(choice_after(&looks, BUDGET_NS), GG_LOOK_CHOSEN_MAX);
	CHECK_EQ_U64(choice_after(&looks, BUDGET_NS + 1), GG_LOOK_CHOSEN_MAX / 2);
	CHECK_EQ_U64(choice_after(&looks, BUDGET_NS), GG_LOOK_CHOSEN_MAX / 2);
	CHECK_EQ_U64(choice_after(&looks, BUDGET_NS / 3), GG_LOOK_CHOSEN_MAX / 2);
	CHECK(!looks.leaves_out_blocks);
}

TEST(each_look_that_takes_too_long_halves_the_choice_until_blocks_are_left_out)
{
	static const uint32_t choices[] = { 5000, 2500, 1250, 625, 312 };
	struct gg_look_schedule looks = { 0 };

	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		CHECK(!looks.leaves_out_blocks);
		CHECK_EQ_U64(choice_after(&looks, 2 * BUDGET_NS), choices[i]);
	}
	CHECK(looks.leaves_out_blocks);
	/* Looks without blocks are cheap, which says nothing about those with blocks. */
	choice_after(&looks, 0);
	CHECK(looks.leaves_out_blocks);
}

TEST(cheap_looks_choose_all_samples_again)
{
	struct gg_look_schedule looks = { 0 };

	choice_after(&looks, 2 * BUDGET_NS);
	CHECK_EQ_U64(choice_after(&looks, 2 * BUDGET_NS), GG_LOOK_CHOSEN_MAX / 4);
	CHECK_EQ_U64(choice_after(&looks, BUDGET_NS / 3 - 1), GG_LOOK_CHOSEN_MAX / 2);
	CHECK_EQ_U64(choice_after(&looks, BUDGET_NS / 3 - 1), GG_LOOK_CHOSEN_MAX);
	CHECK_EQ_U64(choice_after(&looks, 0), GG_LOOK_CHOSEN_MAX);
}
