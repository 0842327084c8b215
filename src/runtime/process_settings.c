/* SPDX-License-Identifier: Apache-2.0 */
/* process_settings - applies changed settings to the process and to each thread's sampler. */
#include "runtime/process_settings.h"

#include "base/assert.h"
#include "base/hash.h"
#include "region/control.h"
#include "runtime/exposure.h"
#include "runtime/overhead_budget.h"
#include "runtime/rate_plan.h"
#include "stats/sampling/weight.h"

void gg_process_settings_apply(void)
{
	struct gg_region_request request = gg_region_control(&gg_process.region);
	uint64_t seen = gg_load_relaxed(&gg_process.applied_request_count);

	/*
	 * The exchange lets one thread apply each change; the others keep the old settings.
	 */
	if (gg_likely(request.change_count == seen) ||
	    !gg_cas_acq_rel(&gg_process.applied_request_count, &seen, request.change_count))
		return;
	gg_overhead_budget_set(request.overhead_ppm, request.error_ppm, 0);
	if (request.overhead_ppm == 0 && request.error_ppm == 0 && request.interval_bytes != 0 &&
	    request.interval_bytes <= GG_REGION_INTERVAL_MAX) {
		gg_exposure_note(request.interval_bytes);
		gg_store_relaxed(&gg_process.interval_bytes, request.interval_bytes);
	}
	if (!request.active)
		gg_exposure_note_off();
	gg_store_relaxed(&gg_process.is_active, request.active);
	/* Release: a thread that sees the count sees the settings. */
	gg_add_release(&gg_process.change_count, 1);
}

static uint64_t next_stream(void)
{
	return gg_add_relaxed(&gg_process.next_stream, 1);
}

/*
 * The interval of this thread, by precedence: the startup interval, while it is in use; the
 * thread's own (geiger_thread_interval()); the interval of the process, to which a rate plan may
 * belong.
 */
static void choose_interval(const struct gg_thread *t, struct gg_sampler_options *options)
{
	uint64_t interval_bytes;

	if (gg_process_settings_is_startup()) {
		options->sampling_interval = (double)gg_process.options.startup_interval;
	} else if (t->interval_bytes != 0) {
		gg_exposure_note(t->interval_bytes);
		options->sampling_interval = (double)t->interval_bytes;
	} else {
		interval_bytes = gg_load_relaxed(&gg_process.interval_bytes);
		options->sampling_interval = (double)interval_bytes;
		options->rates = gg_rate_plan_rates(interval_bytes);
	}
}

void gg_process_settings_update(struct gg_thread *t)
{
	/* Acquire: pairs with the release of the thread that changed the settings. */
	uint32_t change_count = gg_load_acquire(&gg_process.change_count);
	uint32_t generation = gg_load_relaxed(&gg_process.generation);
	struct gg_sampler_options options = gg_process.options.sampler;

	gg_thread_count(t);
	if (gg_load_relaxed(&gg_process.counts_threads) != 0)
		gg_thread_take_block(t);
	choose_interval(t, &options);
	if (gg_overhead_budget_is_on())
		options.visit_bytes = GG_ENVIRONMENT_OVERHEAD_VISIT_BYTES;
	if (!gg_sampler_is_started(&t->sampler)) {
		options.stream = next_stream();
		gg_sampler_init(&t->sampler, &options);
	} else {
		/* A child whose fork ran no code of ours still has its parent's sample point.  That
		 * point made this allocation due; only the points after it are drawn anew. */
		if (t->generation != generation)
			gg_sampler_reseed(&t->sampler, options.seed, next_stream());
		gg_sampler_change(&t->sampler, &options);
	}
	gg_assert(options.sampling_interval >= 1 && options.seed != 0);
	t->counted_left_bytes = t->sampler.left_bytes;
	t->generation = generation;
	t->seen_change = change_count;
}

/* Differs for siblings, for descendants of different seeds, and for child and parent. */
static uint64_t seed_of_child(uint64_t seed, uint64_t number)
{
	return gg_hash_integer(number, gg_hash_integer(seed, UINT64_C(0x9e3779b97f4a7c15))) | 1;
}

void gg_process_settings_seed_child(uint64_t number)
{
	uint64_t *seed = &gg_process.options.sampler.seed;

	gg_assert(*seed != 0); /* start() has chosen one */
	*seed = seed_of_child(*seed, number);
}

/*
 * The gap to the next sample point is drawn here, where the fork alone is the reason, and not when
 * the parent's point makes an allocation due: that would condition the child's point on its
 * parent's.  A thread on the sample path is using its sampler right now.  It finishes drawing its
 * next point, and gg_process_settings_update() reseeds the points after that one.
 */
void gg_process_settings_reseed(struct gg_thread *t)
{
	if (gg_load_relaxed(&t->inside) != 0 || !gg_sampler_is_started(&t->sampler))
		return;
	if (!gg_thread_restart_if_wanted(t))
		gg_thread_count(t);
	gg_sampler_reseed(&t->sampler, gg_process.options.sampler.seed, next_stream());
	t->counted_left_bytes = t->sampler.left_bytes;
	/* The generation that this process will have once it is adopted. */
	t->generation = gg_load_relaxed(&gg_process.generation) + 1;
}

void gg_process_settings_count_startup(const struct gg_draw *draw, uint64_t size_bytes)
{
	struct gg_weight weight = gg_weight_of(draw, size_bytes);
	uint64_t bytes = (uint64_t)weight.bytes, end = gg_process.options.startup_bytes;
	uint64_t before = gg_add_relaxed(&gg_process.startup_used_bytes, bytes);

	/* The thread whose sample crosses the end announces the change, so exactly one does. */
	if (before < end && end - before <= bytes)
		gg_add_release(&gg_process.change_count, 1);
}

void gg_process_settings_learn(double count, uint64_t size_bytes)
{
	uint64_t interval_bytes = gg_load_relaxed(&gg_process.interval_bytes);

	/* Release: a thread that sees the count sees the plan. */
	if (gg_rate_plan_allocated(count, size_bytes, interval_bytes))
		gg_add_release(&gg_process.change_count, 1);
}
