/* SPDX-License-Identifier: Apache-2.0 */
/* rate_learning - learns the rates of size classes from the samples so far. */
#include "stats/sampling/rate_learning.h"

#include "base/atomic.h"
#include "stats/sampling/elementary.h"

/*
 * Converts a count to units of 1/256 of an allocation, so that sums are integers and can be added
 * atomically.  The limit of 2^62 keeps the conversion defined.
 */
static uint64_t units_of(double count)
{
	double units = count * GG_RATE_LEARNING_UNITS + 0.5;

	return units < 0x1p62 ? (uint64_t)units : UINT64_C(1) << 62;
}

void gg_rate_learning_allocated(struct gg_rate_learning *learned, double count, uint64_t size_bytes)
{
	unsigned class = gg_size_class(size_bytes);

	gg_add_relaxed(&learned->allocated[class], units_of(count));
	gg_add_relaxed(&learned->samples[class], 1);
	gg_add_relaxed(&learned->sample_count, 1);
}

void gg_rate_learning_freed(struct gg_rate_learning *learned, double count, uint64_t size_bytes)
{
	gg_add_relaxed(&learned->freed[gg_size_class(size_bytes)], units_of(count));
}

void gg_rate_learning_classes(const struct gg_rate_learning *learned, enum gg_focus focus,
                              struct gg_optimal_class ret_classes[static GG_SIZE_CLASS_COUNT])
{
	for (unsigned i = 0; i < GG_SIZE_CLASS_COUNT; i++) {
		double samples = (double)gg_load_relaxed(&learned->samples[i]);
		double allocated = (double)gg_load_relaxed(&learned->allocated[i]) /
		                   GG_RATE_LEARNING_UNITS;
		double freed = (double)gg_load_relaxed(&learned->freed[i]) / GG_RATE_LEARNING_UNITS;
		double least = (double)gg_size_class_bytes(i), one, survival;
		/* Sizes from 8 bytes on share a class, so its middle is taken. */
		struct gg_optimal_class class = { .size_bytes = i < 8 ? least : least * 1.125 };

		/*
		 * `one` is the weight of one sample.  More may be freed than was allocated, for
		 * example because the two sums are not read at one moment; then only half a sample
		 * counts as live.
		 */
		if (samples > 0 && allocated > 0) {
			one = allocated / samples;
			survival = freed < allocated
			                   ? (allocated - freed + one / 2) / (allocated + one)
			                   : one / 2 / (allocated + one);
			class.allocated = allocated;
			class.live = focus == GG_FOCUS_ALLOCATED ? allocated : allocated * survival;
		}
		ret_classes[i] = class;
	}
}

static void set_all(double interval, struct gg_optimal_rates *ret_rates)
{
	double intervals[GG_SIZE_CLASS_COUNT];

	for (unsigned i = 0; i < GG_SIZE_CLASS_COUNT; i++)
		intervals[i] = interval > 1 ? interval : 1;
	gg_optimal_rates_set(ret_rates, intervals);
}

void gg_rate_learning_plan_for(const struct gg_optimal_class classes[static GG_SIZE_CLASS_COUNT],
                               double interval, struct gg_optimal_rates *ret_rates)
{
	struct gg_optimal_bounds bounds = gg_optimal_bounds_of(interval);
	double budget = 0;

	/* Every allocation is wanted, so no class may have a longer interval. */
	if (!(interval > 1)) {
		set_all(1, ret_rates);
		return;
	}
	bounds.unseen = interval > GG_RATE_LEARNING_CLOSER ? interval / GG_RATE_LEARNING_CLOSER : 1;
	/* The budget is the number of samples that `poisson` takes of the same allocations. */
	for (unsigned i = 0; i < GG_SIZE_CLASS_COUNT; i++) {
		double length = classes[i].size_bytes > 0 ? classes[i].size_bytes : 1;

		if (classes[i].allocated > 0)
			budget += classes[i].allocated * -gg_expm1(-length / interval);
	}
	/* The plan fails only for invalid bounds or classes.  Then all classes get the interval. */
	if (gg_optimal_rates_plan(classes, budget, &bounds, ret_rates) < 0)
		set_all(interval, ret_rates);
}

void gg_rate_learning_plan_for_error(
	const struct gg_optimal_class classes[static GG_SIZE_CLASS_COUNT], double interval,
	double coarser, struct gg_optimal_rates *ret_rates)
{
	struct gg_optimal_bounds bounds = gg_optimal_bounds_of(interval);

	bounds.longest = interval * coarser;
	bounds.unseen = interval;
	if (!(interval > 1) ||
	    gg_optimal_rates_for_variance(classes, interval, &bounds, ret_rates) < 0)
		set_all(interval, ret_rates);
}

void gg_rate_learning_plan(const struct gg_rate_learning *learned, enum gg_focus focus,
                           double interval, struct gg_optimal_rates *ret_rates)
{
	struct gg_optimal_class classes[GG_SIZE_CLASS_COUNT];

	gg_rate_learning_classes(learned, focus, classes);
	gg_rate_learning_plan_for(classes, interval, ret_rates);
}
