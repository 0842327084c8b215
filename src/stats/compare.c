/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/compare.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "stats/interval.h"
#include "stats/special.h"

/* One profile's part in a difference. */
struct side {
	struct gg_tally tally;
	struct gg_estimate estimate;
	double scale;
	double value; /* scale * estimate.value */
};

/*
 * The tally as far as it matters, with what is known of the other side: allocations as small as the
 * smallest sampled there may be unseen here too.
 */
static struct side make_side(const struct gg_tally *tally, const struct gg_tally *other,
                             enum gg_quantity quantity, double scale)
{
	struct side side = { .tally = *tally,
		             .estimate = gg_tally_estimate(tally, quantity),
		             .scale = scale };
	double smallest = fmax(tally->allocations_per_byte_max, other->allocations_per_byte_max);

	side.value = scale * side.estimate.value;
	side.tally.allocations_per_byte_max = smallest;
	side.tally.reserve_max[GG_ALLOCATIONS] = fmax(tally->reserve_max[GG_ALLOCATIONS],
	                                              smallest * tally->reserve_max[GG_BYTES]);
	return side;
}

/*
 * The interval of a side.  Its lower end may be below what was seen: that bound is certain, not one
 * of a/2, and to take the distance to it for a deviation would make a difference look surer than
 * it is.
 */
static struct gg_interval interval_of(const struct side *side, enum gg_quantity quantity,
                                      double confidence)
{
	struct gg_interval interval = gg_interval_of(&side->tally, quantity, confidence, false);
	double reserve = side->tally.reserve_max[quantity];

	interval.low = fmin(interval.low, gg_interval_gamma(side->estimate, 0, confidence).low);
	if (side->tally.sample_count == 0 && reserve > 0)
		interval.high = gg_interval_unseen_bytes(reserve, confidence);
	interval.low *= side->scale;
	interval.high *= side->scale;
	return interval;
}

/* How far the interval of the difference reaches from it, towards 0 and away from it. */
struct reach {
	double inwards, outwards;
};

/* `more` is the side with the larger value. */
static struct reach reach_of(const struct side *less, const struct side *more,
                             enum gg_quantity quantity, double confidence)
{
	struct gg_interval l = interval_of(less, quantity, confidence);
	struct gg_interval m = interval_of(more, quantity, confidence);

	return (struct reach){ hypot(more->value - m.low, l.high - less->value),
		               hypot(m.high - more->value, less->value - l.low) };
}

static double confidence_of(double sigmas)
{
	return 1 - 2 * gg_normal_upper(sigmas);
}

/*
 * The p-value of a difference > 0: the reach equals it at so many normal standard deviations.  On
 * that scale the reach is nearly a straight line through 0, so the line through the last two points
 * meets the difference in a few steps; a bracket keeps it from straying.  A relative error of
 * `accuracy` in the reach is one of at most 50 times that in p (sigmas^2, at 7 sigma).
 */
static double p_value_of(const struct side *less, const struct side *more,
                         enum gg_quantity quantity, double difference)
{
	const double accuracy = 1e-6;
	const double most = gg_normal_upper_inverse(GG_P_VALUE_LEAST / 2);
	double low = 0, low_reach = 0, high = INFINITY, high_reach = INFINITY, sigmas = 1;

	for (int i = 0; i < 60 && high - low > accuracy * low; i++) {
		double reach = reach_of(less, more, quantity, confidence_of(sigmas)).inwards;

		if (fabs(reach - difference) <= accuracy * difference)
			return 2 * gg_normal_upper(sigmas);
		if (reach < difference) {
			if (sigmas == most)
				return 0;
			low = sigmas;
			low_reach = reach;
		} else {
			high = sigmas;
			high_reach = reach;
		}
		if (low == 0)
			sigmas = high / 2;
		else if (isinf(high_reach)) /* a line through 0, and a bit beyond where it meets */
			sigmas = fmin(1.1 * low * difference / low_reach,
			              isinf(high) ? most : high);
		else
			sigmas = low +
			         (high - low) * (difference - low_reach) / (high_reach - low_reach);
		if (i % 4 == 3 && isfinite(high)) /* halves the bracket for certain */
			sigmas = (low + high) / 2;
	}
	return 2 * gg_normal_upper(low);
}

struct gg_difference gg_difference_of(const struct gg_tally *before, const struct gg_tally *after,
                                      enum gg_quantity quantity, double scale, double confidence)
{
	const struct side b = make_side(before, after, quantity, scale);
	const struct side a = make_side(after, before, quantity, 1);
	bool grew = a.value >= b.value;
	const struct side *less = grew ? &b : &a, *more = grew ? &a : &b;
	struct gg_difference d = { .value = a.value - b.value };
	struct reach reach = reach_of(less, more, quantity, confidence);

	d.low = d.value - (grew ? reach.inwards : reach.outwards);
	d.high = d.value + (grew ? reach.outwards : reach.inwards);
	d.p_value = d.value == 0 ? 1 : p_value_of(less, more, quantity, fabs(d.value));
	return d;
}

/* Ascending p-value; equal ones by their row, so that the order is always the same. */
static int compare_rows(const void *x, const void *y, void *p_values)
{
	size_t i = *(const size_t *)x, j = *(const size_t *)y;
	double p = ((const double *)p_values)[i], q = ((const double *)p_values)[j];

	return p < q ? -1 : p > q ? 1 : i < j ? -1 : i > j;
}

size_t gg_false_discovery(double *p_values, size_t count, size_t *order)
{
	size_t tested_count = 0;
	double least = 1;

	for (size_t i = 0; i < count; i++)
		if (!isnan(p_values[i]))
			order[tested_count++] = i;
	qsort_r(order, tested_count, sizeof(*order), compare_rows, p_values);
	/* q of the k-th smallest is the least p_j n / j over j >= k: from the largest down. */
	for (size_t k = tested_count; k > 0; k--) {
		double *p = &p_values[order[k - 1]];

		least = fmin(least, *p * (double)tested_count / (double)k);
		*p = least;
	}
	return tested_count;
}
