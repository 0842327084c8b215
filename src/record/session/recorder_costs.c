/* SPDX-License-Identifier: Apache-2.0 */
/* recorder_costs - divides the recorder's processor time among the processes of a session. */
#include "record/session/recorder_costs.h"

#include <math.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/percent.h"
#include "base/time_units.h"
#include "region/control.h"

#define CHARGE_NS            (200 * GG_NS_PER_MS)
#define CHARGE_PAUSE_MOST_NS (5 * GG_NS_PER_S)
#define COMMIT_MOST_SECONDS  5.0

/*
 * The time of a recording's end: a last look, names of frames, indexes of the profile.  Seven
 * recordings of small programs took 7 to 11 ms, on a busy machine with two processors.
 */
#define END_NS        10e6
#define END_FRAME_NS  10e3
#define END_SAMPLE_NS 500.0

/* ... the part of it that comes after everything is counted. */
#define FINISH_NS        2e6
#define FINISH_SAMPLE_NS 250.0

/* Until enough samples were stored, a sample counts as this much. */
#define FIRST_SAMPLE_NS 1500.0
#define FIRST_SAMPLES   256.0

/* Fewer samples in one round tell more of the round than of samples. */
#define ROUND_SAMPLES 32

/* The mean is that of the last samples, so that it follows the program. */
#define SAMPLES_MOST 65536.0

/* From this share on, the recorder works as if nobody had asked for an overhead. */
#define USUAL_SHARE_PPM      40000.0
#define FIRST_FRUGALITY_MOST 40.0
#define MORE_FRUGALITY_MOST  10.0
#define FRUGALITY_STEP       1.5

/* The part of the share that the recorder may use for work that does not follow samples. */
#define BASE_PART 0.25

void gg_recorder_costs_add_samples(struct gg_recorder_costs *costs, uint64_t took_ns,
                                   uint64_t count)
{
	if (count < ROUND_SAMPLES)
		return;
	if (costs->sample_count > SAMPLES_MOST) {
		costs->samples_ns /= 2;
		costs->sample_count /= 2;
	}
	costs->samples_ns += (double)took_ns;
	costs->sample_count += (double)count;
}

void gg_recorder_costs_add_commit(struct gg_recorder_costs *costs, uint64_t took_ns,
                                  uint64_t sample_count)
{
	/* These samples are in sample_count already, with the time to read them from the ring. */
	if (sample_count >= costs->committed_count + ROUND_SAMPLES)
		costs->samples_ns += (double)took_ns;
	costs->committed_count = sample_count;
}

static double sample_ns(const struct gg_recorder_costs *costs)
{
	return (costs->samples_ns + FIRST_SAMPLES * FIRST_SAMPLE_NS) /
	       (costs->sample_count + FIRST_SAMPLES);
}

/* The counters of a living process; false: they cannot be read. */
static bool read_counters(const struct gg_target *target, uint64_t counters[GG_COUNTER_COUNT])
{
	ssize_t bytes = GG_COUNTER_COUNT * sizeof(*counters);

	return target->reader.fd >= 0 &&
	       pread(target->reader.fd, counters, (size_t)bytes,
	             offsetof(struct gg_region_header, counters)) == bytes;
}

/* A damaged region may state any time: a step of more than a day counts as none. */
static double step_of(uint64_t *seen_ns, uint64_t now_ns)
{
	double step_ns = now_ns > *seen_ns ? (double)(now_ns - *seen_ns) : 0;

	*seen_ns = now_ns;
	return step_ns < 86400e9 ? step_ns : 0;
}

/*
 * Adds to the pot what the recorder has used and will use, and what ended processes owe.  Returns
 * what it has used.
 */
static double fill(struct gg_recorder_costs *costs, struct gg_process_set *set)
{
	struct gg_session_counts *counts = &set->writer->counts;
	double reserve_ns = END_NS + END_SAMPLE_NS * (double)counts->sample_count, used_ns;

	for (struct gg_member *member = set->first; member != NULL; member = member->next)
		reserve_ns += END_FRAME_NS * (double)member->target->stack_map.frames.used_count;
	/* The frames of ended processes stay. */
	if (reserve_ns < costs->reserved_ns)
		reserve_ns = costs->reserved_ns;
	costs->pot_ns += reserve_ns - costs->reserved_ns;
	costs->reserved_ns = reserve_ns;
	used_ns = step_of(&costs->used_ns, gg_clock_process_ns());
	costs->pot_ns += used_ns;
	costs->pot_ns += counts->unpaid_ns;
	counts->unpaid_ns = 0;
	return used_ns;
}

/* Reads what the programs have used since the last time; takes what their agents counted. */
static double read_programs(struct gg_recorder_costs *costs, struct gg_process_set *set)
{
	uint64_t counters[GG_COUNTER_COUNT];
	double program_ns = 0;

	for (struct gg_member *member = set->first; member != NULL; member = member->next) {
		struct gg_target_charges *charges = &member->target->charges;

		charges->step_ns = 0;
		if (member->target->control.overhead_ppm == 0 ||
		    !read_counters(member->target, counters))
			continue;
		charges->step_ns = step_of(&charges->program_ns, counters[GG_COUNT_PROGRAM_NS]);
		costs->pot_ns -= step_of(&charges->recorder_ns, counters[GG_COUNT_RECORDER_NS]);
		program_ns += charges->step_ns;
	}
	return program_ns;
}

static void find_least_share(struct gg_recorder_costs *costs, const struct gg_process_set *set)
{
	uint32_t least = 0, share;

	for (const struct gg_member *member = set->first; member != NULL; member = member->next) {
		share = member->target->control.overhead_ppm;
		if (share != 0 && (least == 0 || share < least))
			least = share;
	}
	costs->least_share_ppm = set->count > 0 ? least : costs->default_share_ppm;
}

/* Shares from USUAL_SHARE_PPM on need no frugality, and smaller ones the more. */
static double first_frugality(uint32_t share_ppm)
{
	double frugality = share_ppm != 0 ? USUAL_SHARE_PPM / share_ppm : 1;

	return fmin(fmax(frugality, 1), FIRST_FRUGALITY_MOST);
}

/*
 * Programs that wait, or that share their processor with others, use less time between two rounds
 * than expected.  So pauses grow while the recorder's own work is more than BASE_PART of the share.
 */
static void adapt_frugality(struct gg_recorder_costs *costs, double base_ns, double program_ns)
{
	double allowed_ns = BASE_PART * costs->least_share_ppm / GG_PPM * program_ns;

	if (base_ns > allowed_ns)
		costs->more_frugality *= FRUGALITY_STEP;
	else if (base_ns < allowed_ns / 2)
		costs->more_frugality /= FRUGALITY_STEP;
	costs->more_frugality = fmin(fmax(costs->more_frugality, 1), MORE_FRUGALITY_MOST);
}

double gg_recorder_costs_frugality(const struct gg_recorder_costs *costs)
{
	return first_frugality(costs->least_share_ppm) * fmax(costs->more_frugality, 1);
}

int64_t gg_recorder_costs_commit_pause_ns(const struct gg_recorder_costs *costs)
{
	double seconds = fmin(gg_recorder_costs_frugality(costs), COMMIT_MOST_SECONDS);

	return (int64_t)(seconds * GG_NS_PER_S);
}

/*
 * Nobody waits for the first charge: it has the start and the end of a recording, and an agent that
 * does not know of them spends the share of a short run on samples.
 */
static uint64_t pause_ns(const struct gg_recorder_costs *costs)
{
	if (!costs->has_charged)
		return CHARGE_NS;
	return (uint64_t)fmin(CHARGE_NS * gg_recorder_costs_frugality(costs), CHARGE_PAUSE_MOST_NS);
}

void gg_recorder_costs_charge(struct gg_recorder_costs *costs, struct gg_process_set *set)
{
	uint64_t now_ns = gg_clock_monotonic_ns();
	struct gg_region_recorder told = { 0 };
	double program_ns, pot_ns, used_ns, counted_ns;

	if (now_ns < costs->next_ns)
		return;
	costs->next_ns = now_ns + pause_ns(costs);
	find_least_share(costs, set);
	if (costs->least_share_ppm == 0)
		return;
	used_ns = fill(costs, set);
	counted_ns = costs->pot_ns;
	program_ns = read_programs(costs, set);
	counted_ns -= costs->pot_ns;
	/* The first time has the start of the recorder in it. */
	if (costs->has_charged)
		adapt_frugality(costs, used_ns - counted_ns, program_ns);
	if (!(program_ns > 0))
		return;
	costs->has_charged = true;
	pot_ns = costs->pot_ns;
	costs->pot_ns = 0;
	told.sample_ns = (uint32_t)sample_ns(costs);
	for (struct gg_member *member = set->first; member != NULL; member = member->next) {
		struct gg_target_charges *charges = &member->target->charges;

		if (!(charges->step_ns > 0))
			continue;
		charges->charged_ns += (int64_t)(pot_ns * charges->step_ns / program_ns);
		told.charged_ns = charges->charged_ns;
		gg_region_control_charge(member->target->reader.fd, &told);
	}
}

static double read_children_ns(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_CHILDREN, &usage) < 0)
		return 0;
	return 1e9 * (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       1e3 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

void gg_recorder_costs_begin_children(struct gg_recorder_costs *costs)
{
	costs->children_ns -= read_children_ns();
}

void gg_recorder_costs_end_children(struct gg_recorder_costs *costs)
{
	costs->children_ns += read_children_ns();
}

double gg_recorder_costs_at_end(const struct gg_recorder_costs *costs,
                                const struct gg_session_counts *counts)
{
	return (double)gg_clock_process_ns() + costs->children_ns + FINISH_NS +
	       FINISH_SAMPLE_NS * (double)counts->sample_count;
}
