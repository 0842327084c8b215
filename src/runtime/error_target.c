/* SPDX-License-Identifier: Apache-2.0 */
/* error_target - chooses the sampling interval at which live bytes have a wanted error. */
#include "runtime/error_target.h"

#include <string.h>

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

/* A walk runs inside the program's malloc, so one step takes a slice of it, some 0.5 ms. */
enum { SLICE_RECORDS = 1 << 14 };

static struct gg_error_control control;
static uint64_t next_walk_ns; /* CLOCK_MONOTONIC */
static uint64_t allocated_bytes;
static uint32_t new_samples, next_walk_samples;

/* The current walk. */
static struct {
	bool is_begun;
	uint32_t next_record;
	double bytes, variance;
	uint64_t took_ns;
} walk;

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
	walk.is_begun = false;
}

void gg_error_target_forked(void)
{
	gg_store_relaxed(&allocated_bytes, 0);
	gg_store_relaxed(&new_samples, 0);
	next_walk_ns = 0;
	next_walk_samples = 0;
	walk.is_begun = false;
}

void gg_error_target_allocated(double bytes)
{
	gg_add_relaxed(&allocated_bytes, (uint64_t)bytes);
	gg_add_relaxed(&new_samples, 1);
}

/*
 * Adds up the next slice of the table.  A copy may mix two samples if its record is reused
 * meanwhile, and samples come and go behind the walk.  A few wrong samples do not matter.
 * Returns the number of records when the walk is complete, and otherwise 0.
 */
static uint32_t add_up(void)
{
	const struct gg_region *region = &gg_process.region;
	uint32_t count = gg_load_acquire(&region->tables[GG_TABLE_LIVE].used_count);
	uint32_t end = walk.next_record + SLICE_RECORDS;
	struct gg_region_sample sample;
	struct gg_weight weight;
	struct gg_draw draw;

	if (end > count)
		end = count;
	for (uint32_t i = walk.next_record; i < end; i++) {
		if (!gg_region_live_copy(region, i, &sample) ||
		    (sample.flags & GG_REGION_SAMPLE_MAPPING) != 0)
			continue;
		draw = gg_region_sample_draw(&sample);
		if (!gg_draw_is_valid(&draw))
			continue;
		weight = gg_weight_of(&draw, sample.size_bytes);
		walk.bytes += weight.bytes;
		walk.variance += weight.bytes_variance;
	}
	walk.next_record = end;
	return end == count ? count : 0;
}

uint64_t gg_error_target_step(uint64_t now_ns, uint64_t *ret_took_ns)
{
	uint32_t record_count;

	*ret_took_ns = 0;
	if (!walk.is_begun) {
		if (now_ns < next_walk_ns && gg_load_relaxed(&new_samples) < next_walk_samples)
			return control.interval;
		gg_exchange_acq_rel(&new_samples, 0);
		memset(&walk, 0, sizeof(walk));
		walk.is_begun = true;
	}
	record_count = add_up();
	*ret_took_ns = gg_clock_monotonic_ns() - now_ns;
	walk.took_ns += *ret_took_ns;
	if (record_count == 0)
		return control.interval;
	walk.is_begun = false;
	next_walk_samples = record_count / NEW_SAMPLES_PART;
	if (next_walk_samples < NEW_SAMPLES_LEAST)
		next_walk_samples = NEW_SAMPLES_LEAST;
	next_walk_ns = now_ns + walk.took_ns * TABLE_WALK_PART;
	return gg_error_control_step(&control, walk.bytes, walk.variance,
	                             (double)gg_load_relaxed(&allocated_bytes));
}
