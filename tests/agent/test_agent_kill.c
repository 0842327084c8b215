/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_agent_kill - kills a program of three threads, and compares its region with a journal.
 *
 * The journal has all calls.  Totals by thread and by site must agree to the last bit, and so must
 * every live sample, except for the one call of each thread that was in flight.  Half of the kills
 * are at an interval of 1, at which everything is a sample.  The other half are at 4 KiB, at which
 * the sampler draws the same samples again from the same seed.
 *
 *   GG_TEST_KILLS   how many kills; 60 by default
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/place.h"
#include "agent/replay.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "region/reader/view.h"
#include "runtime/environment.h"
#include "stats/sampling/rng.h"
#include "test.h"

static const char steps[] = "4000"; /* of each thread; a run takes some 20 ms */

static const char *directory;
static char journal_path[200];

__attribute__((constructor(101))) static void prepare(void)
{
	directory = place_make();
	snprintf(journal_path, sizeof(journal_path), "%s/journal", directory);
	setenv("GEIGER_DIR", directory, 1);
	setenv("GEIGER_JOURNAL", journal_path, 1);
}

/* Starts the program and kills it after that time.  Returns how it ended, or -1. */
static int kill_after(const char *interval, uint64_t seed, uint64_t ns)
{
	const char *const argv[] = { getenv("TWIN_PROGRAM"), steps, NULL };
	const struct timespec time = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
	char preload[8192], seed_text[40];
	struct place_command command;
	int status = -1;
	pid_t child;

	snprintf(preload, sizeof(preload), "%s %s", getenv("TWIN"), getenv("GEIGER_AGENT"));
	snprintf(seed_text, sizeof(seed_text), "%llu", (unsigned long long)seed);
	place_command(&command, argv, preload);
	child = fork();
	if (child == 0) {
		setenv("GEIGER_INTERVAL", interval, 1);
		setenv("GEIGER_SEED", seed_text, 1);
		putenv(command.preload);
		execvp(command.argv[0], (char *const *)command.argv);
		_exit(127);
	}
	if (ns > 0) {
		nanosleep(&time, NULL);
		kill(child, SIGKILL);
	}
	return waitpid(child, &status, 0) == child ? status : -1;
}

/* How long the program takes, start and all, when it is not killed. */
static uint64_t time_whole_run(void)
{
	uint64_t start_ns = gg_clock_monotonic_ns();

	CHECK_EQ_I64(kill_after("1", 1, 0), 0);
	place_empty(directory);
	return gg_clock_monotonic_ns() - start_ns;
}

struct outcome {
	uint64_t finished_count; /* operations that the reader finished */
	uint64_t sample_count;
	int stages[REPLAY_STAGE_COUNT]; /* of threads with a call in flight */
	int with_samples;
};

/* These counters must be 0, because the program never does what they count. */
static void check_counters(const struct gg_region_view *view)
{
	static const enum gg_region_counter none[] = {
		GG_COUNT_DROP_BUSY,        GG_COUNT_DROP_SLOTS_FULL, GG_COUNT_DROP_LIVE_FULL,
		GG_COUNT_DROP_ROW_HELD,    GG_COUNT_FREE_DEFERRED,   GG_COUNT_MISSED_FREES,
		GG_COUNT_ROWS_FOLDED,      GG_COUNT_DROP_THREADS,    GG_COUNT_DROP_SIZE,
		GG_COUNT_STACKS_OVERFLOWED
	};

	for (size_t i = 0; i < GG_COUNT(none); i++)
		CHECK_MSG(view->header.counters[none[i]] == 0, "%lu %s",
		          (unsigned long)view->header.counters[none[i]],
		          gg_region_counter_name(none[i]));
}

static void count_stages(const struct replay *replay, struct outcome *outcome)
{
	for (uint32_t i = 0; i < replay->journal->thread_count; i++) {
		const struct journal_thread *t = &replay->journal->threads[i];

		if (t->announced_count > t->completed_count)
			outcome->stages[replay->threads[i].stage]++;
	}
}

/* Which of the new threads drew first is not in the journal: one order or the other. */
static bool is_replayed(struct replay *replay, const struct gg_region_view *view, const char **why,
                        int *ret_thread)
{
	static const uint64_t orders[][JOURNAL_THREADS_MAX] = { { 0, 1, 2, 3 }, { 0, 2, 1, 3 } };

	for (size_t i = 0; i < GG_COUNT(orders); i++) {
		replay_run(replay, orders[i]);
		if (replay_is(replay, view, why, ret_thread))
			return true;
	}
	return false;
}

static void compare(const struct journal *journal, const struct gg_region_view *view,
                    uint64_t interval, uint64_t seed, struct outcome *outcome)
{
	const struct gg_sampler_options options = {
		.scheme = GG_SCHEME_POISSON,
		.sampling_interval = (double)interval,
		.visit_bytes = GG_ENVIRONMENT_VISIT_BYTES,
		.seed = seed,
	};
	struct replay replay;
	const char *why = "";
	int thread = 0;

	CHECK_EQ_U64(journal->overflowed, 0);
	if (CHECK(replay_begin(&replay, journal, &options))) {
		CHECK_MSG(is_replayed(&replay, view, &why, &thread), "thread %d: %s", thread, why);
		outcome->sample_count += replay_sample_count(&replay);
		outcome->with_samples += replay_sample_count(&replay) > 100;
		count_stages(&replay, outcome);
	}
	replay_done(&replay);
}

static void check_run(uint64_t interval, uint64_t seed, struct outcome *outcome)
{
	const struct journal *journal = replay_map_journal(journal_path);
	struct gg_region_view view;

	if (!place_open_region(directory, &view)) {
		/* Killed before there was one: the first allocation would have made it. */
		CHECK(journal == NULL || journal->threads[0].completed_count == 0);
	} else {
		uint32_t stack = 0;

		CHECK(!view.torn);
		CHECK_EQ_U64(view.damaged_count, 0);
		CHECK_MSG(gg_region_view_check(&view, &stack) == 0, "stack %u", stack);
		check_counters(&view);
		outcome->finished_count += view.finished_count;
		if (journal != NULL)
			compare(journal, &view, interval, seed, outcome);
		gg_region_view_done(&view);
	}
	replay_unmap_journal(journal);
	place_empty(directory);
}

static void kill_often(const char *interval, uint64_t bytes, int runs)
{
	uint64_t whole_ns = 0, before_ns = gg_clock_monotonic_ns();
	struct outcome outcome = { 0 };
	struct gg_rng rng;
	int i = 0;

	gg_rng_seed(&rng, 11, bytes);
	/*
	 * If the machine is busier now than at the timing run, kills come early.  Then the test
	 * needs more of them.
	 */
	for (; (i < runs || (outcome.with_samples <= runs / 4 && i < 20 * runs)) && !test_failed;
	     i++) {
		if (i % 16 == 0)
			whole_ns = time_whole_run();
		uint64_t ns = 1 + gg_rng_below(&rng, whole_ns), seed = (uint64_t)i + 1;
		int status = kill_after(interval, seed, ns);

		CHECK_MSG((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) || status == 0,
		          "status %x", (unsigned)status);
		check_run(bytes, seed, &outcome);
		if (test_failed)
			printf("... in kill %d, after %lu ns\n", i, (unsigned long)ns);
	}
	printf("interval %s: %d kills in %.1f s, %d with samples, %lu samples in all; %lu "
	       "operations were finished by the reader; calls in flight: %d not in, %d in part, %d "
	       "in\n",
	       interval, i, 1e-9 * (double)(gg_clock_monotonic_ns() - before_ns),
	       outcome.with_samples, (unsigned long)outcome.sample_count,
	       (unsigned long)outcome.finished_count, outcome.stages[REPLAY_BEFORE],
	       outcome.stages[REPLAY_CLOSED], outcome.stages[REPLAY_ALL]);
	/* Else nothing was tested. */
	CHECK(outcome.with_samples > runs / 4);
}

static int kill_count(void)
{
	return getenv("GG_TEST_KILLS") != NULL ? atoi(getenv("GG_TEST_KILLS")) : 60;
}

TEST(a_killed_program_leaves_the_totals_of_all_its_calls_at_an_interval_of_1)
{
	kill_often("1", 1, (kill_count() + 1) / 2);
}

TEST(a_killed_program_leaves_the_samples_that_its_seed_gives_at_4_kib)
{
	kill_often("4k", 4096, kill_count() / 2);
}
