/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder's own time among the processes of a session: regions are files that have a header
 * alone, and programs are numbers in it.
 */
#include "record/session/recorder_costs.h"

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/process/process_debt.h"
#include "region/control.h"
#include "test.h"

enum { PROCESSES = 3 };

struct session {
	struct gg_recorder_costs costs;
	struct gg_profile_writer writer;
	struct gg_process_set set;
	struct gg_member members[PROCESSES];
	struct gg_target targets[PROCESSES];
};

static void begin(struct session *s, uint32_t share_ppm)
{
	memset(s, 0, sizeof(*s));
	s->set.writer = &s->writer;
	for (int i = 0; i < PROCESSES; i++) {
		s->members[i].target = &s->targets[i];
		s->members[i].next = s->set.first;
		s->set.first = &s->members[i];
		s->set.count++;
		s->targets[i].reader.fd = memfd_create("region", MFD_CLOEXEC);
		s->targets[i].control.overhead_ppm = share_ppm;
		REQUIRE(ftruncate(s->targets[i].reader.fd, 4096) == 0);
	}
}

static void end(struct session *s)
{
	for (int i = 0; i < PROCESSES; i++)
		close(s->targets[i].reader.fd);
}

static void set_counter(struct session *s, int process, enum gg_region_counter counter,
                        uint64_t value)
{
	off_t at = (off_t)(offsetof(struct gg_region_header, counters) + counter * sizeof(value));

	REQUIRE(pwrite(s->targets[process].reader.fd, &value, sizeof(value), at) == sizeof(value));
}

static struct gg_region_recorder told(const struct session *s, int process)
{
	struct gg_region_recorder costs;

	REQUIRE(pread(s->targets[process].reader.fd, &costs, sizeof(costs),
	              offsetof(struct gg_region_header, recorder)) == sizeof(costs));
	return costs;
}

/* Charges at once, whenever the last time was; returns the recorder's time right after it. */
static double charge(struct session *s)
{
	s->costs.next_ns = 0;
	gg_recorder_costs_charge(&s->costs, &s->set);
	return (double)gg_clock_process_ns();
}

static double charged(const struct session *s)
{
	double sum = 0;

	for (int i = 0; i < PROCESSES; i++)
		sum += (double)told(s, i).charged_ns;
	return sum;
}

TEST(programs_that_run_pay_in_proportion_to_their_time)
{
	struct session s;
	double before_ns = (double)gg_clock_process_ns(), after_ns;

	begin(&s, 5000);
	set_counter(&s, 0, GG_COUNT_PROGRAM_NS, 3000000000);
	set_counter(&s, 1, GG_COUNT_PROGRAM_NS, 1000000000);
	after_ns = charge(&s);
	CHECK(fabs((double)told(&s, 0).charged_ns - 3 * (double)told(&s, 1).charged_ns) < 4);
	CHECK_EQ_I64(told(&s, 2).charged_ns, 0);
	/* The time of the recorder, and 10 ms for its end. */
	CHECK(charged(&s) >= before_ns + 10e6 - 4);
	CHECK(charged(&s) <= after_ns + 10e6);
	end(&s);
}

TEST(what_agents_count_for_samples_is_not_charged_again)
{
	struct session s;
	double before_ns, after_ns;

	begin(&s, 5000);
	set_counter(&s, 0, GG_COUNT_PROGRAM_NS, 1000000000);
	before_ns = (double)gg_clock_process_ns();
	set_counter(&s, 0, GG_COUNT_RECORDER_NS, 400000000);
	after_ns = charge(&s);
	CHECK(charged(&s) >= before_ns + 10e6 - 400e6 - 4);
	CHECK(charged(&s) <= after_ns + 10e6 - 400e6);
	/* Nothing new was counted, and another second has passed. */
	before_ns = charged(&s);
	set_counter(&s, 0, GG_COUNT_PROGRAM_NS, 2000000000);
	charge(&s);
	CHECK(charged(&s) >= before_ns - 4);
	CHECK(charged(&s) < before_ns + 200e6);
	end(&s);
}

TEST(nobody_runs_so_the_charge_waits)
{
	struct session s;
	double before_ns;

	begin(&s, 5000);
	before_ns = charge(&s);
	CHECK_EQ_DOUBLE(charged(&s), 0);
	set_counter(&s, 2, GG_COUNT_PROGRAM_NS, 1000000);
	charge(&s);
	CHECK((double)told(&s, 2).charged_ns >= before_ns * 0.5 + 10e6 - 4);
	end(&s);
}

TEST(processes_that_live_pay_the_debts_of_those_that_ended)
{
	struct gg_region_header header = { .control.overhead_ppm = 10000 };
	struct gg_session_counts counts = { 0 };
	struct session s;
	double without_ns;

	/* 1 % of 2 s are 20 ms; it took 15 + 5 + 30. */
	header.counters[GG_COUNT_PROGRAM_NS] = 2000000000;
	header.counters[GG_COUNT_SAMPLING_NS] = 15000000;
	header.counters[GG_COUNT_HOOKS_NS] = 5000000;
	gg_process_debt_take(&counts, &header, 30000000, 0);
	CHECK_EQ_DOUBLE(counts.unpaid_ns, 30e6);
	/* The rest of another one's share is no credit. */
	header.counters[GG_COUNT_SAMPLING_NS] = 0;
	gg_process_debt_take(&counts, &header, 0, 0);
	CHECK_EQ_DOUBLE(counts.unpaid_ns, 30e6);

	begin(&s, 10000);
	set_counter(&s, 0, GG_COUNT_PROGRAM_NS, 1000000);
	charge(&s);
	without_ns = charged(&s);
	s.writer.counts.unpaid_ns = 30e6;
	set_counter(&s, 0, GG_COUNT_PROGRAM_NS, 2000000);
	charge(&s);
	CHECK(charged(&s) >= without_ns + 30e6 - 4);
	CHECK_EQ_DOUBLE(s.writer.counts.unpaid_ns, 0);
	end(&s);
}

TEST(what_an_ended_process_counted_for_samples_is_not_charged_again)
{
	struct gg_region_header header = { .control.overhead_ppm = 10000 };
	struct gg_session_counts counts = { 0 };

	/* 1 % of 2 s are 20 ms; it took 50, of which the recorder has 30 and saw 10. */
	header.counters[GG_COUNT_PROGRAM_NS] = 2000000000;
	header.counters[GG_COUNT_SAMPLING_NS] = 50000000;
	header.counters[GG_COUNT_RECORDER_NS] = 30000000;
	gg_process_debt_take(&counts, &header, 0, 10000000);
	CHECK_EQ_DOUBLE(counts.unpaid_ns, 10e6);
	/* Within its share, it has paid for them. */
	header.counters[GG_COUNT_SAMPLING_NS] = 20000000;
	gg_process_debt_take(&counts, &header, 0, 25000000);
	CHECK_EQ_DOUBLE(counts.unpaid_ns, 5e6);
	/* A damaged region. */
	header.counters[GG_COUNT_RECORDER_NS] = UINT64_MAX;
	gg_process_debt_take(&counts, &header, 0, 0);
	CHECK_EQ_DOUBLE(counts.unpaid_ns, 5e6);
}

TEST(a_damaged_region_charges_nobody_for_centuries)
{
	struct session s;

	begin(&s, 5000);
	set_counter(&s, 0, GG_COUNT_PROGRAM_NS, UINT64_MAX);
	set_counter(&s, 1, GG_COUNT_PROGRAM_NS, 1000000);
	set_counter(&s, 1, GG_COUNT_RECORDER_NS, UINT64_MAX / 2);
	charge(&s);
	CHECK_EQ_I64(told(&s, 0).charged_ns, 0);
	CHECK(fabs((double)told(&s, 1).charged_ns) < 60e9);
	end(&s);
}

TEST(a_sample_costs_what_the_last_ones_took)
{
	struct session s;

	begin(&s, 5000);
	set_counter(&s, 0, GG_COUNT_PROGRAM_NS, 1);
	charge(&s);
	CHECK_EQ_U64(told(&s, 0).sample_ns, 1500);
	/* A round with few samples tells nothing. */
	gg_recorder_costs_add_samples(&s.costs, 1000000000, 3);
	for (int i = 0; i < 100; i++)
		gg_recorder_costs_add_samples(&s.costs, 800 * 2000, 2000);
	set_counter(&s, 0, GG_COUNT_PROGRAM_NS, 2);
	charge(&s);
	CHECK(told(&s, 0).sample_ns >= 800 && told(&s, 0).sample_ns < 820);
	end(&s);
}

TEST(what_a_commit_writes_of_samples_is_their_cost_too)
{
	struct session s;

	begin(&s, 5000);
	for (uint64_t round = 1; round <= 100; round++) {
		gg_recorder_costs_add_samples(&s.costs, 800 * 2000, 2000);
		gg_recorder_costs_add_commit(&s.costs, 1200 * 2000, round * 2000);
		/* A commit with hardly a new sample is no cost of samples. */
		gg_recorder_costs_add_commit(&s.costs, 1000000000, round * 2000 + 3);
	}
	set_counter(&s, 0, GG_COUNT_PROGRAM_NS, 1);
	charge(&s);
	CHECK(told(&s, 0).sample_ns >= 1980 && told(&s, 0).sample_ns <= 2000);
	end(&s);
}

TEST(the_first_charge_waits_for_no_frugal_pause)
{
	struct session s;

	/* A program that has not run yet pays at its first step, which the recorder awaits. */
	begin(&s, 1000);
	gg_recorder_costs_charge(&s.costs, &s.set);
	CHECK(s.costs.next_ns <= gg_clock_monotonic_ns() + 200000000);
	charge(&s);
	CHECK(s.costs.next_ns <= gg_clock_monotonic_ns() + 200000000);
	set_counter(&s, 0, GG_COUNT_PROGRAM_NS, 1);
	charge(&s);
	CHECK(told(&s, 0).charged_ns >= 10000000);
	charge(&s);
	CHECK(s.costs.next_ns > gg_clock_monotonic_ns() + 4000000000);
	end(&s);
}

TEST(a_small_share_makes_the_recorder_frugal)
{
	struct gg_recorder_costs costs = { 0 };

	CHECK_EQ_DOUBLE(gg_recorder_costs_frugality(&costs), 1);
	costs.least_share_ppm = 250000;
	CHECK_EQ_DOUBLE(gg_recorder_costs_frugality(&costs), 1);
	costs.least_share_ppm = 10000;
	CHECK_EQ_DOUBLE(gg_recorder_costs_frugality(&costs), 4);
	costs.least_share_ppm = 100;
	CHECK_EQ_DOUBLE(gg_recorder_costs_frugality(&costs), 40);
}

TEST(a_frugal_recorder_charges_and_commits_every_5_seconds_all_the_same)
{
	struct gg_recorder_costs costs = { 0 };
	struct session s;

	CHECK_EQ_I64(gg_recorder_costs_commit_pause_ns(&costs), 1000000000);
	costs.least_share_ppm = 20000;
	CHECK_EQ_I64(gg_recorder_costs_commit_pause_ns(&costs), 2000000000);
	costs.least_share_ppm = 100;
	costs.more_frugality = 10;
	CHECK_EQ_DOUBLE(gg_recorder_costs_frugality(&costs), 400);
	CHECK_EQ_I64(gg_recorder_costs_commit_pause_ns(&costs), 5000000000);
	begin(&s, 100);
	s.costs = costs;
	s.costs.has_charged = true;
	gg_recorder_costs_charge(&s.costs, &s.set);
	/* The call has read the clock before. */
	CHECK(s.costs.next_ns <= gg_clock_monotonic_ns() + 5000000000);
	CHECK(s.costs.next_ns > 0);
	end(&s);
}
