/* SPDX-License-Identifier: Apache-2.0 */
#include "reference/difference.h"

#include <math.h>

#include "stats/estimate/interval.h"

struct side {
	struct gg_tally tally;
	struct gg_estimate estimate;
	double scale, value;
};

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

/* With the lower end of the gamma law, where that is below what was seen. */
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

/* Does the interval of after - before with this confidence hold 0? */
static bool holds_zero(const struct side *b, const struct side *a, enum gg_quantity quantity,
                       double confidence)
{
	const struct side *less = a->value >= b->value ? b : a;
	const struct side *more = a->value >= b->value ? a : b;
	struct gg_interval l = interval_of(less, quantity, confidence);
	struct gg_interval m = interval_of(more, quantity, confidence);

	return hypot(more->value - m.low, l.high - less->value) >= more->value - less->value;
}

struct gg_difference reference_difference(const struct gg_tally *before,
                                          const struct gg_tally *after, enum gg_quantity quantity,
                                          double scale, double confidence)
{
	const struct side b = make_side(before, after, quantity, scale);
	const struct side a = make_side(after, before, quantity, 1);
	struct gg_interval of_b = interval_of(&b, quantity, confidence);
	struct gg_interval of_a = interval_of(&a, quantity, confidence);
	struct gg_difference d = { .value = a.value - b.value, .p_value = 1 };
	double low = log(GG_P_VALUE_LEAST), high = 0;

	d.low = d.value - hypot(a.value - of_a.low, of_b.high - b.value);
	d.high = d.value + hypot(of_a.high - a.value, b.value - of_b.low);
	if (d.value == 0 || holds_zero(&b, &a, quantity, 1e-12))
		return d;
	if (!holds_zero(&b, &a, quantity, 1 - exp(low))) {
		d.p_value = 0;
		return d;
	}
	while (high - low > 1e-9) {
		double middle = 0.5 * (low + high);

		if (holds_zero(&b, &a, quantity, 1 - exp(middle)))
			low = middle;
		else
			high = middle;
	}
	d.p_value = exp(low);
	return d;
}
