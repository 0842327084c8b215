/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_agent_coverage - measures how often the intervals of real profiles hold the truth.
 *
 * A program runs with many seeds under the agent and the twin, whose journal has every call.  The
 * groups are all allocations of a site, of a thread, of both, and of the program.  Each group
 * counts as allocated and as live at the end, and each of these in bytes and in allocations.
 *
 *   Lower bound   At least 94.5 % of the intervals hold the truth, for every kind of group.
 *   Upper bound   At most 98.5 % do, for groups with 10 expected samples or more.  It does not
 *                 apply if fewer than 10 missed allocations are expected: then the law takes steps,
 *                 and P(at most k missed) has no value between 95 and 98.5 % (docs/ESTIMATION.md,
 *                 "Measured coverage").
 *   Tolerance     Groups of one kind share no allocation, and samples are drawn independently.  So
 *                 the hits of a kind are a sum of independent coins, and the binomial law at the
 *                 bound is the worst case.  The tolerance is 4 sigma: these seeds give the same
 *                 samples each time.  Learned intervals depend on which thread is first, so they
 *                 differ.  A bound on them may fail once in 10^8 times; there are some hundred.
 *   Counts        The truth, like the estimate, counts only allocations that are at least as large
 *                 as the smallest sample.
 *
 *   GG_TEST_SEEDS   how many seeds; 30 by default
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/place.h"
#include "agent/replay.h"
#include "child.h"
#include "region/ring.h"
#include "stat.h"
#include "stats/estimate/interval.h"
#include "stats/sampling/optimal.h"
#include "stats/sampling/weight.h"
#include "test.h"

enum kind { TOTAL, THREAD, SITE, SITE_IN_THREAD, KIND_COUNT };
enum state { ALLOCATED, LIVE, STATE_COUNT };

enum { GROUPS_MAX = 256, EVENTS_MAX = 1 << 16 };

static const char steps[] = "6000";

/* Settings of the agent, and the longest interval with which any allocation may be sampled. */
struct way {
	const char *interval, *scheme;
	double interval_bytes, longest_bytes;
	/* True: the upper bound holds.  Groups with longer intervals hold the truth more often. */
	bool has_one_interval;
	double by_chance; /* how often each bound may fail */
};

static const struct way by_poisson = {
	"GEIGER_INTERVAL=4k", "GEIGER_SCHEME=poisson", 4096, 4096, true, 3.2e-5
};
static const struct way by_optimal = {
	"GEIGER_INTERVAL=1k", "GEIGER_SCHEME=optimal", 1024, 1024 * GG_OPTIMAL_COARSER, false, 1e-8
};
static const struct way *way;
static uint64_t other_intervals; /* samples drawn with another interval than the settings' */

static const char *const kind_names[] = { "all", "a thread", "a site", "a site in a thread" };
static const char *const state_names[] = { "allocated", "live" };
static const char *const quantity_names[] = { "bytes", "allocations" };

struct group {
	enum kind kind;
	enum state state;
	uint64_t pc;
	uint32_t tid;
	struct gg_tally tally;
	uint64_t smallest;       /* sample: its length; 0: no sample */
	double bytes, count;     /* the truth; count: of those not below the smallest sample */
	double expected, missed; /* expected numbers of samples, and of unsampled allocations */
};

struct coverage {
	int held, asked;
};

/* Counts over all groups of a kind, and over those for which the upper bound also holds. */
static struct coverage all[KIND_COUNT][STATE_COUNT][GG_QUANTITY_COUNT];
static struct coverage enough[KIND_COUNT][STATE_COUNT][GG_QUANTITY_COUNT];

static struct group groups[GROUPS_MAX];
static int group_count;

static struct group *group_of(enum kind kind, enum state state, uint64_t pc, uint32_t tid)
{
	if (kind == TOTAL || kind == THREAD)
		pc = 0;
	if (kind == TOTAL || kind == SITE)
		tid = 0;
	for (int i = 0; i < group_count; i++)
		if (groups[i].kind == kind && groups[i].state == state && groups[i].pc == pc &&
		    groups[i].tid == tid)
			return &groups[i];
	if (group_count == GROUPS_MAX)
		abort(); /* the program has fewer */
	groups[group_count] = (struct group){ .kind = kind, .state = state, .pc = pc, .tid = tid };
	gg_tally_expose(&groups[group_count].tally, way->longest_bytes);
	return &groups[group_count++];
}

static void add_sample(enum state state, const struct gg_region_sample *sample, uint64_t pc,
                       uint32_t tid)
{
	struct gg_draw draw = gg_region_sample_draw(sample);
	uint64_t size_bytes = sample->size_bytes, length = gg_length_bytes(size_bytes);

	other_intervals += draw.sampling_interval != way->interval_bytes;
	for (enum kind kind = TOTAL; kind < KIND_COUNT; kind++) {
		struct group *group = group_of(kind, state, pc, tid);

		gg_tally_add(&group->tally, &draw, size_bytes);
		if (group->smallest == 0 || length < group->smallest)
			group->smallest = length;
	}
}

static void add_truth(enum state state, const struct journal_call *call, uint32_t tid)
{
	uint64_t length = gg_length_bytes(call->bytes);
	double p = -expm1(-(double)length / way->interval_bytes);

	for (enum kind kind = TOTAL; kind < KIND_COUNT; kind++) {
		struct group *group = group_of(kind, state, call->pc, tid);

		group->bytes += (double)call->bytes;
		group->count += length >= group->smallest;
		group->expected += p;
		group->missed += 1 - p;
	}
}

static void add_journal(const struct journal *journal)
{
	static bool freed[JOURNAL_THREADS_MAX][JOURNAL_CALLS_MAX];

	memset(freed, 0, sizeof(freed));
	for (uint32_t t = 0; t < replay_thread_count(journal); t++)
		for (uint64_t i = 0; i < journal->threads[t].completed_count; i++) {
			struct journal_place place = journal->threads[t].calls[i].freed;

			if (place.thread != JOURNAL_NOBODY)
				freed[place.thread][place.call] = true;
		}
	for (uint32_t t = 0; t < replay_thread_count(journal); t++)
		for (uint64_t i = 0; i < journal->threads[t].completed_count; i++) {
			const struct journal_call *call = &journal->threads[t].calls[i];

			if (call->pc == 0)
				continue;
			add_truth(ALLOCATED, call, journal->threads[t].tid);
			if (!freed[t][i])
				add_truth(LIVE, call, journal->threads[t].tid);
		}
}

/* All allocations, freed or not, are in the ring, which is large enough for them. */
static bool add_events(const char *path, const struct journal *journal,
                       const struct gg_region_view *view)
{
	static struct gg_region_event events[EVENTS_MAX];
	struct gg_ring_reader reader;
	int fd = open(path, O_RDWR), count = 0, got = 0;
	uint64_t samples = 0;

	if (fd < 0 || gg_ring_open(&reader, fd) < 0)
		return false;
	while (count < EVENTS_MAX &&
	       (got = gg_ring_read(&reader, events + count, EVENTS_MAX - count, true)) > 0)
		count += got;
	close(fd);
	for (int i = 0; i < count; i++) {
		const struct gg_region_sample *sample = &events[i].sample;

		if (events[i].kind != GG_EVENT_ALLOC)
			continue;
		samples++;
		add_sample(ALLOCATED, sample, replay_site_of(journal, view, sample->stack),
		           view->threads[sample->thread].tid);
	}
	return got == 0 && samples == view->header.counters[GG_COUNT_SAMPLES];
}

static void ask(const struct group *group, enum gg_quantity quantity)
{
	struct gg_interval interval = gg_interval_of(&group->tally, quantity, 0.95, false);
	double truth = quantity == GG_BYTES ? group->bytes : group->count;
	bool held = interval.low <= truth && truth <= interval.high;
	struct coverage *coverage = &all[group->kind][group->state][quantity];

	coverage->asked++;
	coverage->held += held;
	coverage = &enough[group->kind][group->state][quantity];
	if (group->expected < 10 || group->missed < 10)
		return;
	coverage->asked++;
	coverage->held += held;
}

static bool read_run(const char *directory)
{
	char path[PLACE_PATH_MAX];
	const struct journal *journal;
	struct gg_region_view view;
	bool good;

	snprintf(path, sizeof(path), "%s/journal", directory);
	journal = replay_map_journal(path);
	if (!CHECK(journal != NULL) || !CHECK(place_find_region(directory, path)) ||
	    !CHECK(place_open_region(directory, &view)))
		return false;
	group_count = 0;
	good = CHECK_EQ_U64(journal->overflowed, 0) && CHECK(add_events(path, journal, &view));
	for (uint32_t i = 0; i < view.live_count; i++)
		add_sample(LIVE, &view.live[i], replay_site_of(journal, &view, view.live[i].stack),
		           view.threads[view.live[i].thread].tid);
	add_journal(journal);
	for (int i = 0; i < group_count; i++) {
		ask(&groups[i], GG_BYTES);
		ask(&groups[i], GG_ALLOCATIONS);
	}
	gg_region_view_done(&view);
	replay_unmap_journal(journal);
	return good;
}

static bool run(const char *directory, int seed)
{
	const char *const argv[] = { getenv("TWIN_PROGRAM"), steps, NULL };
	char preload[8192], dir[100], journal[100], seed_setting[60];
	struct place_command command;
	const char *const with[] = { command.preload,     dir,         journal,
		                     way->interval,       way->scheme, seed_setting,
		                     "GEIGER_RING=65536", NULL };
	struct child child;
	bool good;

	snprintf(preload, sizeof(preload), "%s %s", getenv("TWIN"), getenv("GEIGER_AGENT"));
	snprintf(dir, sizeof(dir), "GEIGER_DIR=%s", directory);
	snprintf(journal, sizeof(journal), "GEIGER_JOURNAL=%s/journal", directory);
	snprintf(seed_setting, sizeof(seed_setting), "GEIGER_SEED=%d", seed);
	place_command(&command, argv, preload);
	good = CHECK(child_run(&child, command.argv, with, 60)) &&
	       CHECK_EQ_I64(child.exit_status, 0) && read_run(directory);
	child_done(&child);
	place_empty(directory);
	return good;
}

static double share_of(const struct coverage *coverage)
{
	return (double)coverage->held / coverage->asked;
}

static bool is_enough(const struct coverage *coverage)
{
	return (uint64_t)coverage->held >=
	       stat_binomial_least((uint64_t)coverage->asked, 0.945, way->by_chance);
}

static bool is_too_much(const struct coverage *coverage)
{
	return (uint64_t)(coverage->asked - coverage->held) <
	       stat_binomial_least((uint64_t)coverage->asked, 0.015, way->by_chance);
}

static void check_kind(enum kind kind, enum state state, enum gg_quantity quantity)
{
	const struct coverage *every = &all[kind][state][quantity];
	const struct coverage *some = &enough[kind][state][quantity];
	const char *what[] = { kind_names[kind], state_names[state], quantity_names[quantity] };

	if (!CHECK_MSG(every->asked > 0 && some->asked > 0, "no %s, %s", what[0], what[1]))
		return;
	printf("%-18s %-9s %-11s %6d intervals hold %.2f %%, %6d with 10 samples %.2f %%\n",
	       what[0], what[1], what[2], every->asked, 100 * share_of(every), some->asked,
	       100 * share_of(some));
	CHECK_MSG(is_enough(every), "too few of %s, %s, %s", what[0], what[1], what[2]);
	CHECK_MSG(is_enough(some), "too few of %s, %s, %s", what[0], what[1], what[2]);
	CHECK_MSG(!way->has_one_interval || !is_too_much(some), "too many of %s, %s, %s", what[0],
	          what[1], what[2]);
}

static bool run_all(const struct way *asked, int seeds)
{
	static const char *directory;

	if (directory == NULL)
		directory = place_make();
	way = asked;
	other_intervals = 0;
	memset(all, 0, sizeof(all));
	memset(enough, 0, sizeof(enough));
	for (int seed = 1; seed <= seeds; seed++)
		if (!run(directory, seed))
			return false;
	for (enum kind kind = TOTAL; kind < KIND_COUNT; kind++)
		for (enum state state = ALLOCATED; state < STATE_COUNT; state++) {
			check_kind(kind, state, GG_BYTES);
			check_kind(kind, state, GG_ALLOCATIONS);
		}
	return true;
}

static int seed_count(void)
{
	return getenv("GG_TEST_SEEDS") != NULL ? atoi(getenv("GG_TEST_SEEDS")) : 30;
}

TEST(intervals_hold_the_truth_as_often_as_they_say)
{
	CHECK(run_all(&by_poisson, seed_count()));
	CHECK_EQ_U64(other_intervals, 0);
}

TEST(they_do_so_too_where_sizes_have_intervals_that_were_learned)
{
	CHECK(run_all(&by_optimal, seed_count() / 3));
	CHECK(other_intervals > 0);
}
