/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_settings - the settings that change while the process records, and each thread's sampler.
 *
 * Control    Another process may change the interval and the activity in the region's control word.
 *            A thread reads the word when its sampler is due, so at least once in
 *            GG_ENVIRONMENT_VISIT_BYTES bytes of allocations.
 * Samplers   Each thread compares gg_process.change_count with the count that its sampler has seen,
 *            and brings the sampler up to date by itself; no thread touches another one's sampler.
 * Seeds      A child's seed follows from its parent's seed and the number of the fork.  Its sample
 *            points therefore repeat from run to run, and do not depend on its parent's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "runtime/process.h"
#include "runtime/thread.h"

/* Copies new requests of another process from the control word. */
void gg_process_settings_apply(void);

/* Does that if the count of requests has changed, and compares it inline. */
static inline void gg_process_settings_refresh(void)
{
	/* Relaxed: gg_process_settings_apply() reads the count again before the request. */
	if (gg_unlikely(gg_load_relaxed(&gg_process.region.header->control.change_count) !=
	                gg_load_relaxed(&gg_process.applied_request_count)))
		gg_process_settings_apply();
}

/* Brings the thread's sampler up to the settings. */
GG_COLD void gg_process_settings_update(struct gg_thread *t);

/* Makes the seed that of the child with this number. */
void gg_process_settings_seed_child(uint64_t number);

/*
 * In a child, on the thread that forked and after gg_process_settings_seed_child(): draws the
 * thread's next sample point anew.
 */
void gg_process_settings_reseed(struct gg_thread *t);

/* True while samples are drawn with the startup interval. */
static inline bool gg_process_settings_is_startup(void)
{
	return gg_load_relaxed(&gg_process.startup_used_bytes) < gg_process.options.startup_bytes;
}

/* Counts a sample that was drawn with the startup interval. */
void gg_process_settings_count_startup(const struct gg_draw *draw, uint64_t size_bytes);

/* Adds a sample, which stands for `count` allocations, to the statistics of rate_plan.h. */
void gg_process_settings_learn(double count, uint64_t size_bytes);
