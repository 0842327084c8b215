/* SPDX-License-Identifier: Apache-2.0 */
/* compare - tests which differences of two profiles are significant. */
#include "stats/estimate/compare.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "stats/estimate/interval.h"
#include "stats/estimate/interval_bounds.h"

/* One profile's part in a difference: its value and the ends of its interval, unscaled. */
struct compare_side {
	double scale;
	double value; /* scaled */
	double limit; /* scaled; INFINITY: none (gg_tally_limit) */
	/*
	 * The lower end is the smaller of two.  The gamma law of all samples may be below the bytes
	 * of the samples themselves.  That second bound is certain, not one of a/2; using the
	 * distance to it as a deviation would make a difference look more certain than it is.
	 */
	struct gg_low_end low;
	struct gg_end_law low_of_all;
	bool one_low; /* no sample is sure: low_of_all is the whole law, and `low` is not set */
	struct gg_high_end high;
};

/*
 * [0, reserve ln(2/a)] has the tail of an exponential law.  With an unknown reserve there is no
 * bound.
 */
static struct gg_high_end unseen_end(double reserve)
{
	struct gg_end_law law = { .offset = INFINITY };

	if (reserve > 0)
		law = (struct gg_end_law){ 0, reserve, gg_gamma_law_of(1) };
	return (struct gg_high_end){ .law = law };
}

/*
 * Returns the tally of one side with what the other side knows: allocations as small as its
 * smallest sample may be unseen here as well.  Its laws are those of the samples, without a limit.
 */
static struct gg_tally known_tally(const struct gg_tally *tally, const struct gg_tally *other)
{
	double smallest = fmax(tally->allocations_per_byte_max, other->allocations_per_byte_max);
	struct gg_tally known = *tally;

	known.allocations_per_byte_max = smallest;
	known.reserve_max[GG_ALLOCATIONS] = fmax(tally->reserve_max[GG_ALLOCATIONS],
	                                         smallest * tally->reserve_max[GG_BYTES]);
	known.is_limited = false;
	return known;
}

static struct gg_high_end high_end_of_side(const struct gg_tally *known, enum gg_quantity quantity)
{
	if (quantity == GG_BYTES && known->unbounded_bytes > 0)
		return unseen_end(0);
	if (known->sample_count == 0 && !gg_tally_hides_nothing(known))
		return unseen_end(known->reserve_max[quantity]);
	if (known->reserve_max[GG_BYTES] == 0) /* nothing hides */
		return (struct gg_high_end){ .law.offset = gg_tally_seen(known, quantity) };
	return gg_high_end_of(known, quantity);
}

/* Prepares the tally of one side for its intervals. */
static struct compare_side make_side(const struct gg_tally *tally, const struct gg_tally *other,
                                     enum gg_quantity quantity, double scale)
{
	struct gg_estimate estimate = gg_tally_estimate(tally, quantity);
	struct gg_tally known = known_tally(tally, other);
	struct compare_side side = { .scale = scale,
		                     .value = scale * estimate.value,
		                     .limit = scale * gg_tally_limit(tally, quantity) };

	side.low_of_all = gg_end_law_of(estimate.value, estimate.variance);
	side.one_low = gg_sum_value(&known.sure[GG_ALLOCATIONS].seen) == 0;
	if (!side.one_low)
		side.low = gg_low_end_of(&known, quantity);
	side.high = high_end_of_side(&known, quantity);
	return side;
}

static double low_at(const struct compare_side *side, double tail)
{
	double low = gg_end_law_at(&side->low_of_all, tail, false);

	low = side->scale * (side->one_low ? low : fmin(low, gg_low_end_at(&side->low, tail)));
	return fmin(low, side->limit);
}

static double high_at(const struct compare_side *side, double tail)
{
	double high = side->scale * gg_high_end_at(&side->high, tail);

	return fmin(high, fmax(side->limit, side->value));
}

/* A tail as a function of its end; `slope` is that of its logarithm. */
struct compare_tail {
	double value, slope;
};

static struct compare_tail low_tail(const struct compare_side *side, double end)
{
	double x = end / side->scale;
	struct compare_tail all, parts;

	all.value = gg_end_law_tail(&side->low_of_all, x, false, &all.slope);
	if (!side->one_low) {
		parts.value = gg_low_end_tail(&side->low, x, &parts.slope);
		if (parts.value > all.value)
			all = parts;
	}
	all.slope /= side->scale;
	return all;
}

static struct compare_tail high_tail(const struct compare_side *side, double end)
{
	struct compare_tail tail;

	tail.value = gg_high_end_tail(&side->high, end / side->scale, &tail.slope);
	tail.slope /= side->scale;
	return tail;
}

/*
 * Returns the tail at which both tails are equal, on the lines through their logarithms at an
 * angle.  The angle moves by -*ret_step; NaN if there is no line.
 */
static double meet(struct compare_tail l, struct compare_tail h, double *ret_step)
{
	double apart = log(l.value / h.value);

	*ret_step = apart / (l.slope - h.slope);
	return l.value * exp(-*ret_step * l.slope);
}

/*
 * Finds the tail a/2 for which the interval of a difference > 0 ends at 0:
 *
 *   (more - low(a/2))^2 + (high(a/2) - less)^2 = difference^2
 *
 * Inverting both ends for each trial of a would cost two searches a step.  Instead the search walks
 * along the circle.  At any angle, low = more - difference cos(angle) and high = less + difference
 * sin(angle) solve the equation, and the search finds the angle at which both have the same tail.
 * One tail grows with the angle, and the other falls.  Newton's method on the difference of their
 * logarithms, inside a bracket, takes two or three steps.  If a tail has a step (a whole allocation
 * missed), the bracket is halved.  A difference that is less than that of both values asks for an
 * interval that ends as far above 0.
 */
static double meeting_tail(const struct compare_side *less, const struct compare_side *more,
                           double difference)
{
	/* Its square is below the relative error of 1e-6 that p must keep. */
	const double close = 1e-4;
	double low = 0, high = M_PI_2, tail = 0, angle;

	if (more->low_of_all.scale == 0) /* this side is certain, so only the other one counts */
		return high_tail(less, less->value + difference).value;
	if (less->high.law.scale == 0 && !(less->high.missed_count > 0))
		return isinf(less->high.law.offset)
		               ? 1
		               : low_tail(more, more->value - difference).value;
	angle = atan2(less->high.law.scale * sqrt(less->high.law.gamma.shape) * less->scale,
	              more->low_of_all.scale * sqrt(more->low_of_all.gamma.shape) * more->scale);
	while (high - low > 1e-13) {
		double x = difference * cos(angle), y = difference * sin(angle), step, met;
		struct compare_tail l = low_tail(more, more->value - x);
		struct compare_tail h = high_tail(less, less->value + y);

		if (l.value < h.value) {
			low = angle;
			tail = fmax(tail, l.value);
		} else {
			high = angle;
			tail = fmax(tail, h.value);
		}
		l.slope *= y;
		h.slope *= x;
		met = meet(l, h, &step);
		if (fabs(step) * (l.slope - h.slope) < close)
			return met;
		angle -= step;
		if (!(angle > low && angle < high))
			angle = 0.5 * (low + high);
	}
	/* At either end of the circle, one side is practically certain. */
	if (high == M_PI_2)
		tail = fmax(tail, high_tail(less, less->value + difference).value);
	if (low == 0)
		tail = fmax(tail, low_tail(more, more->value - difference).value);
	return tail;
}

static double p_value_of(const struct compare_side *less, const struct compare_side *more,
                         double difference)
{
	double p = 2 * meeting_tail(less, more, difference);

	return p < GG_P_VALUE_LEAST ? 0 : fmin(p, 1);
}

/* Returns what a change that samples do not show may add to one side, or take from it. */
static double change_of(const struct gg_tally *tally, const struct compare_side *side,
                        enum gg_quantity quantity, double tail)
{
	double high;

	if (quantity != GG_BYTES || !(tally->changed_bytes > 0))
		return 0;
	high = high_at(side, tail);
	return side->scale * tally->changed_bytes +
	       high * tally->changed_share / (1 - tally->changed_share);
}

static struct gg_difference difference_of(const struct gg_tally *before,
                                          const struct gg_tally *after, enum gg_quantity quantity,
                                          double scale, double confidence)
{
	const struct compare_side b = make_side(before, after, quantity, scale);
	const struct compare_side a = make_side(after, before, quantity, 1);
	double tail = (1 - confidence) / 2, value = a.value - b.value;
	const struct compare_side *less = value >= 0 ? &b : &a, *more = value >= 0 ? &a : &b;
	double change = change_of(before, &b, quantity, tail) +
	                change_of(after, &a, quantity, tail);

	return (struct gg_difference){
		.value = value,
		.low = value - hypot(a.value - low_at(&a, tail), high_at(&b, tail) - b.value) -
		       change,
		.high = value + hypot(high_at(&a, tail) - a.value, b.value - low_at(&b, tail)) +
		        change,
		.p_value = fabs(value) <= change ? 1 : p_value_of(less, more, fabs(value) - change),
	};
}

/*
 * Computes the difference if samples may or may not belong to either side.  The two extremes are:
 * all of them before and none of them after, and the other way round.
 */
static struct gg_difference uncertain_difference(const struct gg_tally *before,
                                                 const struct gg_tally *after,
                                                 enum gg_quantity quantity, double scale,
                                                 double confidence)
{
	struct gg_tally least_before = gg_tally_least(before), most_before = gg_tally_most(before);
	struct gg_tally least_after = gg_tally_least(after), most_after = gg_tally_most(after);
	struct gg_difference low = difference_of(&most_before, &least_after, quantity, scale,
	                                         confidence);
	struct gg_difference high = difference_of(&least_before, &most_after, quantity, scale,
	                                          confidence);
	struct gg_estimate was = gg_tally_estimate(before, quantity);
	struct gg_estimate is = gg_tally_estimate(after, quantity);

	return (struct gg_difference){
		.value = is.value - scale * was.value,
		.low = low.low,
		.high = high.high,
		.p_value = low.value * high.value > 0 ? fmax(low.p_value, high.p_value) : 1,
	};
}

struct gg_difference gg_difference_of(const struct gg_tally *before, const struct gg_tally *after,
                                      enum gg_quantity quantity, double scale, double confidence)
{
	struct gg_estimate was = gg_tally_estimate(before, quantity);
	struct gg_estimate is = gg_tally_estimate(after, quantity);

	if (!gg_tally_has_error(before, quantity) || !gg_tally_has_error(after, quantity) ||
	    before->incomplete > 0 || after->incomplete > 0)
		return (struct gg_difference){ is.value - scale * was.value, -INFINITY, INFINITY,
			                       NAN };
	if (gg_tally_is_uncertain(before) || gg_tally_is_uncertain(after))
		return uncertain_difference(before, after, quantity, scale, confidence);
	return difference_of(before, after, quantity, scale, confidence);
}

/*
 * The p-value is twice the tail at which meeting_tail() finds both sides.  On the way along the
 * circle the tail of the larger side grows and that of the smaller side falls, so the tail where
 * they meet is at least the smaller side's at the end of the way: where the larger side is taken as
 * certain, P(the smaller side is really as large as the larger one's estimate).  One law and one
 * tail give this bound.  It does not hold if the smaller side is certain, because then the other
 * side alone decides.
 */
bool gg_difference_p_exceeds(const struct gg_tally *before, const struct gg_tally *after,
                             enum gg_quantity quantity, double scale, double limit,
                             double *ret_value)
{
	const double safely = 1.001; /* far more than the rounding errors of both tails */
	double was = scale * gg_tally_estimate(before, quantity).value;
	double is = gg_tally_estimate(after, quantity).value, slope;
	bool has_grown = is - was >= 0;
	const struct gg_tally *less = has_grown ? before : after,
			      *more = has_grown ? after : before;
	struct gg_tally known;
	struct gg_high_end high;

	if (!gg_tally_has_error(before, quantity) || !gg_tally_has_error(after, quantity) ||
	    before->incomplete > 0 || after->incomplete > 0 || gg_tally_is_uncertain(before) ||
	    gg_tally_is_uncertain(after))
		return false;
	known = known_tally(less, more);
	high = high_end_of_side(&known, quantity);
	if (!(high.law.scale > 0))
		return false;
	*ret_value = is - was;
	return 2 * gg_high_end_tail(&high, has_grown ? is / scale : was, &slope) > safely * limit;
}

/*
 * Orders rows by ascending p-value, and equal ones by their index, so that the order is always the
 * same.
 */
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
	/*
	 * q of the k-th smallest p-value is the least p_j n / j over j >= k, so the loop goes down
	 * from the largest.
	 */
	for (size_t k = tested_count; k > 0; k--) {
		double *p = &p_values[order[k - 1]];

		least = fmin(least, *p * (double)tested_count / (double)k);
		*p = least;
	}
	return tested_count;
}
