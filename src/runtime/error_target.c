/* SPDX-License-Identifier: Apache-2.0 */
/* error_target - chooses the sampling interval at which live bytes have a wanted error. */
#include "runtime/error_target.h"

#include "base/atomic.h"
#include "base/clock.h"
#include "base/percent.h"
#include "region/writer/private_live_table.h"
#include "runtime/process.h"
#include "stats/sampling/error_control.h"
#include "stats/sampling/weight.h"

/*
 * The next walk over the table begins after a quarter as many new samples as the last one passed,
 * or after this many times its duration.
 */
enum { NEW_SAMPLES_PART = 4, NEW_SAMPLES_LEAST = 64, TABLE_WALK_PART = 50 };

static struct gg_error_control control;
static uint64_t next_walk_ns; /* CLOCK_MONOTONIC */
static uint64_t allocated_bytes;
static uint32_t new_samples, next_walk_samples;

void gg_error_target_begin(uint32_t ppm, uint64_t first_interval, uint64_t finest_interval,
                           uint64_t coarsest_interval)
{
	const struct gg_error_options options = {
		.error = (double)ppm / GG_PPM,
		.first_interval = first_interval,
		.finest_interval = finest_interval,
		.coarsest_interval = coarsest_interval,
	};

	gg_error_control_init(&control, &options);
	gg_store_relaxed(&allocated_bytes, 0);
	next_walk_ns = 0;
	next_walk_samples = 0;
}

void gg_error_target_forked(void)
{
	gg_store_relaxed(&allocated_bytes, 0);
	gg_store_relaxed(&new_samples, 0);
	next_walk_ns = 0;
	next_walk_samples = 0;
}

void gg_error_target_allocated(double bytes)
{
	gg_add_relaxed(&allocated_bytes, (uint64_t)bytes);
	gg_add_relaxed(&new_samples, 1);
}

/*
 * A copy may mix two samples if its record is reused meanwhile; one wrong sample does not matter.
 * Returns the number of records.
 */
static uint32_t add_up(double *ret_bytes, double *ret_variance)
{
	const struct gg_region *region = &gg_process.region;
	uint32_t count = gg_load_acquire(&region->tables[GG_TABLE_LIVE].used_count);
	struct gg_region_sample sample;
	struct gg_weight weight;
	struct gg_draw draw;

	*ret_bytes = *ret_variance = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (!gg_region_live_copy(region, i, &sample) ||
		    (sample.flags & GG_REGION_SAMPLE_MAPPING) != 0)
			continue;
		draw = gg_region_sample_draw(&sample);
		if (!gg_draw_is_valid(&draw))
			continue;
		weight = gg_weight_of(&draw, sample.size_bytes);
		*ret_bytes += weight.bytes;
		*ret_variance += weight.bytes_variance;
	}
	return count;
}

uint64_t gg_error_target_step(uint64_t now_ns, uint64_t *ret_took_ns)
{
	double bytes, variance;

	*ret_took_ns = 0;
	if (now_ns < next_walk_ns && gg_load_relaxed(&new_samples) < next_walk_samples)
		return control.interval;
	gg_exchange_acq_rel(&new_samples, 0);
	next_walk_samples = add_up(&bytes, &variance) / NEW_SAMPLES_PART;
	if (next_walk_samples < NEW_SAMPLES_LEAST)
		next_walk_samples = NEW_SAMPLES_LEAST;
	*ret_took_ns = gg_clock_monotonic_ns() - now_ns;
	next_walk_ns = now_ns + *ret_took_ns * TABLE_WALK_PART;
	return gg_error_control_step(&control, bytes, variance,
	                             (double)gg_load_relaxed(&allocated_bytes));
}
