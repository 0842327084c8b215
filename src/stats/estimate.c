/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/estimate.h"

#include <math.h>

#include "stats/weight.h"

/* a + b exactly, as a rounded sum and its error (Knuth's TwoSum). */
static struct gg_sum two_sum(double a, double b)
{
	double sum = a + b, part = sum - a;

	return (struct gg_sum){ sum, (a - (sum - part)) + (b - part) };
}

static void add_sum(struct gg_sum *sum, double sign, struct gg_sum value)
{
	struct gg_sum high = two_sum(sum->high, sign * value.high);
	struct gg_sum low = two_sum(sum->low, sign * value.low);

	if (!isfinite(high.high)) { /* no error term for infinity */
		*sum = (struct gg_sum){ high.high, 0 };
		return;
	}
	high = two_sum(high.high, high.low + low.high);
	*sum = two_sum(high.high, high.low + low.low);
}

static void add(struct gg_sum *sum, double sign, double value)
{
	add_sum(sum, sign, (struct gg_sum){ value, 0 });
}

/* All 64 bits of an integer, of which a double has 53. */
static void add_integer(struct gg_sum *sum, double sign, uint64_t value)
{
	add_sum(sum, sign, two_sum((double)(value >> 32) * 0x1p32, (double)(uint32_t)value));
}

void gg_tally_expose(struct gg_tally *tally, double interval_bytes)
{
	double *reserve = &tally->reserve_max[GG_BYTES];

	if (interval_bytes > 1) /* an interval of 1 samples everything: nothing hides */
		*reserve = fmax(*reserve, interval_bytes);
}

/* What one more mark could have stood for at a sample like this one. */
static void add_reserve(struct gg_tally *tally, const struct gg_draw *draw, uint64_t size_bytes)
{
	double length = (double)gg_length_bytes(size_bytes), *reserve = tally->reserve_max;
	double bytes = draw->interval;

	tally->allocations_per_byte_max = fmax(tally->allocations_per_byte_max, 1 / length);
	if (draw->interval <= 1 && draw->scheme != GG_SCHEME_OPTIMAL)
		return;
	if (draw->scheme == GG_SCHEME_PER_ALLOCATION) /* its interval is one of allocations */
		bytes *= length;
	reserve[GG_BYTES] = fmax(reserve[GG_BYTES], bytes);
	reserve[GG_ALLOCATIONS] = fmax(reserve[GG_ALLOCATIONS], bytes / length);
	tally->sampled_interval_max = fmax(tally->sampled_interval_max, bytes);
}

static void merge_maxima(struct gg_tally *tally, const struct gg_tally *other)
{
	for (int i = 0; i < GG_QUANTITY_COUNT; i++)
		tally->reserve_max[i] = fmax(tally->reserve_max[i], other->reserve_max[i]);
	tally->sampled_interval_max = fmax(tally->sampled_interval_max,
	                                   other->sampled_interval_max);
	tally->allocations_per_byte_max = fmax(tally->allocations_per_byte_max,
	                                       other->allocations_per_byte_max);
}

/* Without samples no sum has a value: drops what rounding may have left. */
static void clear_if_empty(struct gg_tally *tally)
{
	struct gg_tally empty = { 0 };

	if (tally->sample_count > 0)
		return;
	merge_maxima(&empty, tally);
	*tally = empty;
}

/*
 * The third cumulant of what a sample stands for, over its variance: (2-p)/p allocations for one
 * that is in or out, 2/x where a Poisson number of marks with mean x is counted.
 */
static double skew_factor(const struct gg_draw *draw, const struct gg_weight *weight,
                          uint64_t size_bytes)
{
	if (draw->scheme == GG_SCHEME_POISSON_COUNT)
		return 2 * draw->interval / (double)gg_length_bytes(size_bytes);
	return (2 - weight->probability) / weight->probability;
}

static void change(struct gg_tally *tally, double sign, const struct gg_draw *draw,
                   uint64_t size_bytes)
{
	struct gg_weight weight = gg_weight_of(draw, size_bytes);
	struct gg_moments *of = weight.probability < GG_SURE_PROBABILITY ? tally->usual
	                                                                 : tally->sure;
	double factor = skew_factor(draw, &weight, size_bytes), size = (double)size_bytes;
	double interval = draw->interval, marks = draw->mark_count;

	tally->sample_count += sign > 0 ? 1 : UINT64_MAX;
	tally->mark_count += sign > 0 ? draw->mark_count : -(uint64_t)draw->mark_count;
	add_integer(&of[GG_BYTES].seen, sign, size_bytes);
	add(&of[GG_BYTES].value, sign, weight.bytes);
	add(&of[GG_BYTES].variance, sign, weight.bytes_variance);
	add(&of[GG_BYTES].skew, sign, weight.bytes_variance * factor * size);
	add_integer(&of[GG_ALLOCATIONS].seen, sign, 1);
	add(&of[GG_ALLOCATIONS].value, sign, weight.count);
	add(&of[GG_ALLOCATIONS].variance, sign, weight.count_variance);
	add(&of[GG_ALLOCATIONS].skew, sign, weight.count_variance * factor);
	add(&tally->mark_bytes, sign, marks * interval);
	add(&tally->mark_variance, sign, marks * interval * interval);
	add(&tally->failed_bytes, sign, interval - 1);
	add(&tally->failed_variance, sign, interval * (interval - 1));
	add_integer(&tally->rest_bytes, sign,
	            size_bytes > draw->offset_bytes ? size_bytes - draw->offset_bytes : 0);
}

void gg_tally_add(struct gg_tally *tally, const struct gg_draw *draw, uint64_t size_bytes)
{
	change(tally, 1, draw, size_bytes);
	add_reserve(tally, draw, size_bytes);
}

void gg_tally_remove(struct gg_tally *tally, const struct gg_draw *draw, uint64_t size_bytes)
{
	change(tally, -1, draw, size_bytes);
	clear_if_empty(tally);
}

static void combine_moments(struct gg_moments *moments, double sign, const struct gg_moments *other)
{
	add_sum(&moments->seen, sign, other->seen);
	add_sum(&moments->value, sign, other->value);
	add_sum(&moments->variance, sign, other->variance);
	add_sum(&moments->skew, sign, other->skew);
}

static void combine(struct gg_tally *tally, double sign, const struct gg_tally *other)
{
	for (int i = 0; i < GG_QUANTITY_COUNT; i++) {
		combine_moments(&tally->usual[i], sign, &other->usual[i]);
		combine_moments(&tally->sure[i], sign, &other->sure[i]);
	}
	merge_maxima(tally, other);
	add_sum(&tally->mark_bytes, sign, other->mark_bytes);
	add_sum(&tally->mark_variance, sign, other->mark_variance);
	add_sum(&tally->failed_bytes, sign, other->failed_bytes);
	add_sum(&tally->failed_variance, sign, other->failed_variance);
	add_sum(&tally->rest_bytes, sign, other->rest_bytes);
}

void gg_tally_merge(struct gg_tally *tally, const struct gg_tally *other)
{
	combine(tally, 1, other);
	tally->sample_count += other->sample_count;
	tally->mark_count += other->mark_count;
}

void gg_tally_subtract(struct gg_tally *tally, const struct gg_tally *other)
{
	combine(tally, -1, other);
	tally->sample_count -= other->sample_count;
	tally->mark_count -= other->mark_count;
	clear_if_empty(tally);
}

/* A variance is a sum of squares: what a subtraction leaves below 0 is rounding. */
struct gg_estimate gg_tally_estimate(const struct gg_tally *tally, enum gg_quantity quantity)
{
	const struct gg_moments *usual = &tally->usual[quantity], *sure = &tally->sure[quantity];
	double variance = gg_sum_value(&usual->variance) + gg_sum_value(&sure->variance);

	return (struct gg_estimate){ gg_sum_value(&usual->value) + gg_sum_value(&sure->value),
		                     fmax(variance, 0) };
}

double gg_tally_seen(const struct gg_tally *tally, enum gg_quantity quantity)
{
	return gg_sum_value(&tally->usual[quantity].seen) +
	       gg_sum_value(&tally->sure[quantity].seen);
}

struct gg_estimate gg_tally_failed_trials(const struct gg_tally *tally)
{
	return (struct gg_estimate){
		gg_sum_value(&tally->failed_bytes) + gg_sum_value(&tally->rest_bytes),
		fmax(gg_sum_value(&tally->failed_variance), 0),
	};
}

struct gg_estimate gg_tally_marks(const struct gg_tally *tally)
{
	return (struct gg_estimate){ gg_sum_value(&tally->mark_bytes),
		                     fmax(gg_sum_value(&tally->mark_variance), 0) };
}
