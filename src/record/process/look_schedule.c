/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look_schedule - decides on looks at a member by what changed and by what looks cost
 * (process/look_schedule.h).
 */
#include "record/process/look_schedule.h"

#include "base/clock.h"
#include "base/time_units.h"
#include "record/look/target_look.h"
#include "record/process/ingest.h"

enum {
	LOOK_PART = 100,      /* after a look of t the next one waits 100 t, ... */
	EARLY_LOOK_PART = 25, /* ... but 25 t in a young process */
	LOOK_MS_MAX = 50,     /* processor time of a look */
	CHEAP_PART = 3,       /* a look at twice the samples fits if one took a third of that */
	LOOK_CHOSEN_LEAST = 500,
	LIFE_PART = 4,
};

#define LOOK_PAUSE_MOST_NS (10 * GG_NS_PER_S)
#define LOOK_CHANGE        0.05
#define QUIET_CHANGE       0.005
#define UNSETTLED_MOST     4 /* then the process frees much all the time */
#define LOOK_CHANGE_BYTES  (1 << 20)

/* True if the bytes differ by this share and by more than a MiB. */
static bool has_changed(double before, double now, double share)
{
	double change = now > before ? now - before : before - now;

	return change > LOOK_CHANGE_BYTES && change > before * share;
}

static int64_t age_of(const struct gg_member *member)
{
	return member->reading.time_ns - member->target->record.start_ns;
}

static bool differs_from_last(const struct gg_member *member)
{
	const struct gg_look_schedule *looks = &member->looks;

	if (looks->unsettled_count > 0 && looks->unsettled_count < UNSETTLED_MOST)
		return true;
	return has_changed((double)looks->rss_bytes, (double)member->reading.rss_bytes,
	                   LOOK_CHANGE) ||
	       has_changed(looks->live_bytes, member->target->live_bytes, LOOK_CHANGE);
}

/*
 * True if the process is hardly different from what the last look saw.  One that frees much all the
 * time never settles, but a walk through its heap still tells more than samples do.
 */
static bool is_quiet(const struct gg_member *member)
{
	const struct gg_look_schedule *looks = &member->looks;
	bool is_settled = looks->unsettled_count == 0 || looks->unsettled_count >= UNSETTLED_MOST;

	return looks->reading_rss_bytes > 0 && is_settled &&
	       !has_changed((double)looks->reading_rss_bytes, (double)member->reading.rss_bytes,
	                    QUIET_CHANGE) &&
	       !has_changed(looks->live_bytes, member->target->live_bytes, QUIET_CHANGE);
}

/* Returns the budget of a walk through the heap now; 0: none beside that of the look. */
static uint64_t heap_walk_budget(const struct gg_member *member)
{
	return is_quiet(member) ? gg_heap_walks_budget(&member->looks.heap_walks) : 0;
}

void gg_look_schedule_pass(struct gg_member *member)
{
	gg_heap_walks_pass(&member->looks.heap_walks, age_of(member),
	                   1 + member->target->writer->extra_pause);
}

bool gg_look_schedule_is_due(const struct gg_member *member, uint64_t now_ns)
{
	const struct gg_look_schedule *looks = &member->looks;
	int64_t pause_ns = age_of(member) / LIFE_PART;

	if (member->reading.rss_bytes < 0 || now_ns < looks->next_ns)
		return false;
	if (pause_ns > LOOK_PAUSE_MOST_NS)
		pause_ns = LOOK_PAUSE_MOST_NS;
	if (differs_from_last(member))
		return true;
	if (heap_walk_budget(member) > 0)
		return true;
	/* A look without totals must not replace one that has them and is still true. */
	if (gg_heap_walks_has_costly_totals(&looks->heap_walks) && is_quiet(member))
		return false;
	return (int64_t)(now_ns - looks->last_ns) >= pause_ns;
}

void gg_look_schedule_limit_choice(struct gg_look_schedule *looks, uint64_t cost_ns)
{
	if (looks->leaves_out_blocks)
		return;
	if (looks->chosen_max == 0)
		looks->chosen_max = GG_LOOK_CHOSEN_MAX;
	if (cost_ns > LOOK_MS_MAX * GG_NS_PER_MS)
		looks->chosen_max /= 2;
	else if (cost_ns < LOOK_MS_MAX * GG_NS_PER_MS / CHEAP_PART &&
	         looks->chosen_max < GG_LOOK_CHOSEN_MAX)
		looks->chosen_max *= 2;
	looks->leaves_out_blocks = looks->chosen_max < LOOK_CHOSEN_LEAST;
}

/* Adapts the next look to the processor time of this one. */
static void adapt(struct gg_look_schedule *looks, uint64_t fixed_ns, uint64_t look_ns,
                  bool is_young, double extra_pause)
{
	looks->last_ns = gg_clock_monotonic_ns();
	looks->next_ns = looks->last_ns +
	                 (uint64_t)((1 + extra_pause) *
	                            (double)(look_ns * (is_young ? EARLY_LOOK_PART : LOOK_PART)));
	/* Work that takes as long with fewer samples is no reason to choose fewer. */
	gg_look_schedule_limit_choice(looks, look_ns - fixed_ns);
}

uint64_t gg_look_schedule_take(struct gg_member *member)
{
	struct gg_look_schedule *looks = &member->looks;
	struct gg_target *target = member->target;
	uint64_t start_ns;
	const struct gg_target_look_options options = {
		.seed = gg_clock_monotonic_ns(),
		.budget_ns = LOOK_MS_MAX * GG_NS_PER_MS,
		.heap_walk_budget_ns = heap_walk_budget(member),
		.heap_walk_ns_per_byte = looks->heap_walks.ns_per_byte,
		.chosen_max = looks->chosen_max,
		.ended_bytes = (int64_t)((double)looks->rss_bytes * (1 + LOOK_CHANGE)),
		.reason = looks->leaves_out_blocks
		                  ? "a look at the live blocks would take the recorder too long"
		                  : NULL,
	};
	struct gg_target_look_result result = { 0 };
	struct gg_error error = { 0 };

	gg_ingest_drain(target, false);
	/* Draining is no part of a look: the events wait, with or without it. */
	start_ns = gg_clock_thread_ns();
	if (gg_target_look_take(target, &options, &result, &error) < 0) {
		looks->next_ns = gg_clock_monotonic_ns() + GG_NS_PER_S;
		return 0;
	}
	member->parts = result.sums;
	looks->rss_bytes = result.sums.rss_bytes;
	looks->live_bytes = target->live_bytes;
	looks->reading_rss_bytes = member->reading.rss_bytes;
	gg_heap_walks_note(&looks->heap_walks, &result.heap_walk, options.heap_walk_budget_ns);
	looks->unsettled_count = result.is_settled ? 0 : looks->unsettled_count + 1;
	adapt(looks, result.walk_ns + result.search_ns,
	      gg_clock_thread_ns() - start_ns - looks->heap_walks.extra_ns,
	      age_of(member) < GG_LOOK_YOUNG_NS, target->writer->extra_pause);
	return result.walk_ns > 0 ? result.walk_ns : 1;
}
