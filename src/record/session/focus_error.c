/* SPDX-License-Identifier: Apache-2.0 */
/* focus_error - chooses the interval at which the live bytes of a function have a wanted error. */
#include "record/session/focus_error.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/percent.h"
#include "base/time_units.h"
#include "record/process/origins.h"
#include "record/process/reconcile.h"
#include "record/symbols/live_names.h"
#include "region/control.h"
#include "region/reader/view.h"
#include "stats/estimate/interval.h"
#include "stats/sampling/weight.h"

enum { FOCUS_FINEST_INTERVAL = 1 << 10, FOCUS_LOOK_PART = 50 };

#define FOCUS_COARSEST_INTERVAL (UINT64_C(1) << 36)
#define PAUSE_NS                (250 * GG_NS_PER_MS)
#define FOCUS_CONFIDENCE        0.95
#define NORMAL_QUANTILE         1.959963984540054 /* of FOCUS_CONFIDENCE, to both sides */

/* One look: which frames match, and what is live. */
struct focus_look {
	const struct gg_focus_error *focus;
	GG_ARRAY(uint8_t) is_match; /* by frame of the profile */
	struct gg_tally tally;
	/* A sample with a smaller id may be in several regions; the map has those added so far. */
	uint64_t shared_below_id;
	struct gg_map shared;
	double bytes, variance, all_bytes, allocated_bytes;
};

static bool has_set(const struct gg_focus_error *focus, uint64_t interval)
{
	for (size_t i = 0; i < focus->intervals.count; i++)
		if (focus->intervals.items[i] == interval)
			return true;
	return false;
}

/* False: there is no memory. */
static bool remember(struct gg_focus_error *focus, uint64_t interval)
{
	return has_set(focus, interval) || gg_array_push(&focus->intervals, interval);
}

int gg_focus_error_begin(struct gg_focus_error *focus, const char *function, double wanted,
                         uint64_t planned_interval, struct gg_error *error)
{
	const struct gg_error_options options = {
		.error = wanted,
		.first_interval = planned_interval != 0 ? planned_interval : FOCUS_FINEST_INTERVAL,
		.finest_interval = FOCUS_FINEST_INTERVAL,
		.coarsest_interval = FOCUS_COARSEST_INTERVAL,
	};

	*focus = (struct gg_focus_error){ .reached = NAN };
	if (regcomp(&focus->expression, function, REG_EXTENDED | REG_NOSUB) != 0)
		return gg_error_set(error, -EINVAL, "record: --focus",
		                    "Give a POSIX extended regular expression.", "'%s' is none",
		                    function);
	focus->function = function;
	gg_error_control_init(&focus->control, &options);
	if (!remember(focus,
	              planned_interval != 0 ? planned_interval : GG_FOCUS_ERROR_FIRST_INTERVAL))
		return gg_error_memory(error, "record: --focus");
	return gg_live_names_new(&focus->names, error);
}

void gg_focus_error_done(struct gg_focus_error *focus)
{
	if (focus->function == NULL)
		return;
	regfree(&focus->expression);
	gg_live_names_free(focus->names);
	gg_array_done(&focus->intervals);
	focus->function = NULL;
}

static int take_line(const struct gg_profile_line *line, void *context)
{
	struct focus_look *look = context;

	if (line->function == NULL ||
	    regexec(&look->focus->expression, line->function, 0, NULL, 0) != 0)
		return 0;
	if (!gg_array_extend(&look->is_match, (size_t)line->frame + 1))
		return -ENOMEM;
	look->is_match.items[line->frame] = 1;
	return 0;
}

static int find_frames(struct focus_look *look, struct gg_profile *profile)
{
	struct gg_error error = { 0 };
	int status = gg_live_names_learn(look->focus->names, profile, &error);

	if (status == 0)
		status = gg_live_names_tell(take_line, look, look->focus->names);
	/* Frames of language runtimes have names already. */
	return status == 0 ? gg_profile_each_line(profile, take_line, look, &error) : status;
}

static bool has_function(const struct focus_look *look, const struct gg_target *target,
                         const uint64_t *pcs, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t frame = gg_map_get(&target->stack_map.frames, pcs[i]);

		if (frame < look->is_match.count && look->is_match.items[frame])
			return true;
	}
	return false;
}

static void find_shared_below(struct focus_look *look, const struct gg_process_set *set)
{
	for (const struct gg_member *member = set->first; member != NULL; member = member->next)
		if (member->target->reader.header.inherited_below_id > look->shared_below_id)
			look->shared_below_id = member->target->reader.header.inherited_below_id;
}

/*
 * True if the look has already added the sample from the region of another process.  A block from
 * before a fork counts once, as in reports.
 */
static bool was_added(struct focus_look *look, const struct gg_region_sample *sample)
{
	uint64_t key;

	if (sample->id >= look->shared_below_id)
		return false;
	key = gg_origins_key(sample);
	if (gg_map_get(&look->shared, key) != GG_MAP_NONE)
		return true;
	/* Without memory, the sample may count twice. */
	(void)!gg_map_put(&look->shared, key, 0);
	return false;
}

/* Samples of one stack often follow each other, so the answer for the last stack is kept. */
static void add_target(struct focus_look *look, struct gg_target *target)
{
	uint64_t pcs[GG_STACK_MAP_DEPTH_MAX];
	struct gg_error error = { 0 };
	struct gg_region_view view;
	uint32_t last_stack = 0;
	bool is_last = false;

	if (target->reader.fd < 0 || gg_reconcile_read_view(target, &view, &error) < 0)
		return;
	gg_tally_expose(&look->tally, target->record.interval_bytes);
	for (uint32_t i = 0; i < view.live_count; i++) {
		const struct gg_region_sample *sample = &view.live[i];
		struct gg_draw draw = gg_region_sample_draw(sample);
		struct gg_weight weight;

		if (!gg_draw_is_valid(&draw) || (sample->flags & GG_REGION_SAMPLE_MAPPING) != 0 ||
		    was_added(look, sample))
			continue;
		weight = gg_weight_of(&draw, sample->size_bytes);
		look->all_bytes += weight.bytes;
		if (sample->stack != last_stack || i == 0)
			is_last = has_function(look, target, pcs,
			                       gg_region_view_stack(&view, sample->stack, pcs,
			                                            GG_STACK_MAP_DEPTH_MAX));
		last_stack = sample->stack;
		if (!is_last)
			continue;
		look->bytes += weight.bytes;
		look->variance += weight.bytes_variance;
		gg_tally_add(&look->tally, &draw, sample->size_bytes);
	}
	for (uint32_t i = 0; i < view.site_total_count; i++)
		look->allocated_bytes += gg_fixed_value(view.site_totals[i].allocated.bytes);
	gg_region_view_done(&view);
}

/* Half the width of the confidence interval of a function that was named, as a share. */
static double error_of(const struct focus_look *look)
{
	struct gg_interval interval = gg_interval_of(&look->tally, GG_BYTES, FOCUS_CONFIDENCE,
	                                             false);

	return look->bytes > 0 ? (interval.high - interval.low) / 2 / look->bytes : NAN;
}

/*
 * The variance that would give an interval of this width.  It allows for coarser intervals of
 * before and for few samples, up to half of the samples.
 */
static double effective_variance(const struct gg_focus_error *focus, const struct focus_look *look)
{
	double deviation = focus->reached * look->bytes / NORMAL_QUANTILE;
	double variance = deviation * deviation;

	return fmax(look->variance, fmin(variance, 2 * look->variance));
}

/*
 * True if a user, the environment or the program itself has chosen the settings.  A forked child
 * begins with an interval that its parent had.
 */
static bool is_of_others(const struct gg_focus_error *focus, const struct gg_target *target,
                         const struct gg_region_control *control)
{
	if (control->overhead_ppm != 0 || control->error_ppm != 0)
		return true;
	if (target->focus_interval != 0)
		return control->interval_bytes != target->focus_interval;
	return !has_set(focus, control->interval_bytes);
}

static void set_interval(struct gg_focus_error *focus, struct gg_target *target, uint64_t interval)
{
	const struct gg_region_change change = { .interval_bytes = interval };
	struct gg_region_control now;
	struct gg_error error = { 0 };

	/* target->control stays as it is, so that gg_target_watch_control() sees each change. */
	if (target->reader.fd < 0 || !gg_region_control_read(target->reader.fd, &now))
		return;
	if (is_of_others(focus, target, &now))
		focus->has_left_alone = true;
	else if (now.interval_bytes != interval &&
	         gg_region_control_write(target->reader.fd, &change, &error) == 0)
		target->focus_interval = interval;
}

static void set_intervals(struct gg_focus_error *focus, const struct gg_process_set *set,
                          uint64_t interval)
{
	if (!remember(focus, interval))
		return;
	for (const struct gg_member *member = set->first; member != NULL; member = member->next)
		set_interval(focus, member->target, interval);
}

static void look_at(struct gg_focus_error *focus, struct gg_process_set *set)
{
	struct focus_look look = { .focus = focus };
	double part;

	if (find_frames(&look, set->writer->profile) == 0) {
		find_shared_below(&look, set);
		for (struct gg_member *member = set->first; member != NULL; member = member->next)
			add_target(&look, member->target);
		focus->bytes = look.bytes;
		focus->reached = error_of(&look);
		focus->looked_ns = set->writer->now_ns;
		/* The function's part of what was allocated, if it lives as long as the rest. */
		part = look.all_bytes > 0 ? look.bytes / look.all_bytes : 0;
		if (look.bytes > 0)
			set_intervals(focus, set,
			              gg_error_control_step(&focus->control, look.bytes,
			                                    effective_variance(focus, &look),
			                                    look.allocated_bytes * part));
	}
	gg_map_done(&look.shared);
	gg_array_done(&look.is_match);
}

void gg_focus_error_watch(struct gg_focus_error *focus, struct gg_process_set *set)
{
	uint64_t now_ns = gg_clock_monotonic_ns(), took_ns;

	if (focus->function == NULL || now_ns < focus->next_ns || set->count == 0)
		return;
	look_at(focus, set);
	took_ns = (gg_clock_monotonic_ns() - now_ns) * FOCUS_LOOK_PART;
	focus->next_ns = now_ns + (took_ns > PAUSE_NS ? took_ns : PAUSE_NS);
}

static void put_counter(struct gg_profile_writer *writer, const char *name, double share)
{
	gg_profile_writer_keep(writer, gg_profile_put_counter(writer->profile, 0, name,
	                                                      (uint64_t)(share * GG_PPM + 0.5),
	                                                      writer->error));
}

void gg_focus_error_note(const struct gg_focus_error *focus, struct gg_profile_writer *writer)
{
	double wanted = focus->control.options.error;

	if (focus->function == NULL)
		return;
	put_counter(writer, GG_PROFILE_COUNTER_FOCUS_ASKED, wanted);
	if (isfinite(focus->reached))
		put_counter(writer, GG_PROFILE_COUNTER_FOCUS_REACHED, focus->reached);
	if (focus->has_left_alone)
		gg_profile_writer_note(writer, "Error: a process kept the interval, overhead or "
		                               "error that others had set for it.");
	if (isfinite(focus->reached))
		gg_profile_writer_note(writer,
		                       "Error: live bytes of function=%.80s were to be known to "
		                       "%.3g %%.  The recorder's last look, at %.1f s, found %.3g "
		                       "%%.",
		                       focus->function, 100 * wanted,
		                       (double)focus->looked_ns * 1e-9, 100 * focus->reached);
	else
		gg_profile_writer_note(writer,
		                       "Error: live bytes of function=%.80s were to be known to "
		                       "%.3g %%.  No look of the recorder found any of them.",
		                       focus->function, 100 * wanted);
}
