/* SPDX-License-Identifier: Apache-2.0 */
/* tally - adds, subtracts, and merges the sums of samples, and estimates from them. */
#include "stats/estimate/tally.h"

#include <math.h>

#include "base/assert.h"
#include "stats/sampling/weight.h"

/* Returns a + b exactly, as a rounded sum and its error (Knuth's TwoSum). */
static struct gg_sum two_sum(double a, double b)
{
	double sum = a + b, part = sum - a;

	return (struct gg_sum){ sum, (a - (sum - part)) + (b - part) };
}

static void add_sum(struct gg_sum *sum, double sign, struct gg_sum value)
{
	struct gg_sum high = two_sum(sum->high, sign * value.high);
	struct gg_sum low = two_sum(sum->low, sign * value.low);

	if (!isfinite(high.high)) { /* infinity has no error term */
		*sum = (struct gg_sum){ high.high, 0 };
		return;
	}
	high = two_sum(high.high, high.low + low.high);
	*sum = two_sum(high.high, high.low + low.low);
}

static void add(struct gg_sum *sum, double value)
{
	add_sum(sum, 1, (struct gg_sum){ value, 0 });
}

/* Adds all 64 bits of an integer, in two parts: a double holds only 53. */
static void add_integer(struct gg_sum *sum, uint64_t value)
{
	add_sum(sum, 1, two_sum((double)(value >> 32) * 0x1p32, (double)(uint32_t)value));
}

void gg_tally_expose(struct gg_tally *tally, double interval_bytes)
{
	double *reserve = &tally->reserve_max[GG_BYTES];

	if (interval_bytes > 1) /* an interval of 1 samples everything, so nothing hides */
		*reserve = fmax(*reserve, interval_bytes);
	tally->is_counted |= interval_bytes == 1;
}

void gg_tally_limit_bytes(struct gg_tally *tally, double bytes)
{
	tally->is_limited = true;
	tally->limit_bytes = bytes;
}

void gg_tally_change_bytes(struct gg_tally *tally, double bytes, double share)
{
	tally->changed_bytes = bytes;
	tally->changed_share = fmin(share, 0.5);
}

void gg_tally_bound_like(struct gg_tally *tally, const struct gg_tally *whole)
{
	if (whole->is_limited)
		gg_tally_limit_bytes(tally, whole->limit_bytes);
	gg_tally_change_bytes(tally, whole->changed_bytes, whole->changed_share);
}

double gg_tally_limit(const struct gg_tally *tally, enum gg_quantity quantity)
{
	if (!tally->is_limited || quantity != GG_BYTES)
		return INFINITY;
	return fmax(tally->limit_bytes, gg_tally_seen(tally, quantity));
}

void gg_tally_expose_like(struct gg_tally *tally, const struct gg_tally *other)
{
	gg_tally_expose(tally, other->reserve_max[GG_BYTES]);
	tally->is_counted |= other->is_counted;
}

bool gg_tally_hides_nothing(const struct gg_tally *tally)
{
	return tally->reserve_max[GG_BYTES] == 0 &&
	       (tally->is_counted || !gg_tally_is_empty(tally));
}

static void merge_maxima(struct gg_tally *tally, const struct gg_tally *other)
{
	for (int i = 0; i < GG_QUANTITY_COUNT; i++)
		tally->reserve_max[i] = fmax(tally->reserve_max[i], other->reserve_max[i]);
	tally->is_counted |= other->is_counted;
	tally->sampled_interval_max = fmax(tally->sampled_interval_max,
	                                   other->sampled_interval_max);
	tally->allocations_per_byte_max = fmax(tally->allocations_per_byte_max,
	                                       other->allocations_per_byte_max);
	tally->incomplete = fmax(tally->incomplete, other->incomplete);
	tally->unbounded_bytes = fmax(tally->unbounded_bytes, other->unbounded_bytes);
	tally->is_limited = false;
	tally->changed_bytes = tally->changed_share = 0;
}

/*
 * Clears the sums of a tally without samples: rounding may have left small values.  The maxima and
 * the uncertain samples stay.
 */
static void clear_if_empty(struct gg_tally *tally)
{
	struct gg_tally empty = { 0 };

	if (!gg_tally_is_empty(tally))
		return;
	merge_maxima(&empty, tally);
	if (gg_tally_is_uncertain(tally)) {
		for (int i = 0; i < GG_QUANTITY_COUNT; i++) {
			empty.uncertain[i] = tally->uncertain[i];
			empty.skew_slack[i] = tally->skew_slack[i];
		}
	}
	*tally = empty;
}

/*
 * Returns the third cumulant of a sample's contribution, divided by its variance: (2-p)/p
 * allocations for a sample that is in or out, and 2/x if a Poisson number of sample points with
 * mean x is counted.
 */
static double skew_factor(const struct gg_draw *draw, const struct gg_weight *weight, double length)
{
	if (draw->scheme == GG_SCHEME_POISSON_COUNT)
		return 2 * draw->sampling_interval / length;
	return (2 - weight->probability) / weight->probability;
}

struct gg_share gg_share_of(const struct gg_draw *draw, uint64_t size_bytes)
{
	struct gg_weight weight = gg_weight_of(draw, size_bytes);
	double length = (double)gg_length_bytes(size_bytes), bytes = draw->sampling_interval;
	double factor = skew_factor(draw, &weight, length);
	double interval = draw->sampling_interval;
	struct gg_share share = {
		.is_sure = weight.probability >= GG_SURE_PROBABILITY,
		.sample_point_count = draw->sample_point_count,
		.rest_bytes = size_bytes > draw->offset_bytes ? size_bytes - draw->offset_bytes : 0,
		.value = { weight.bytes, weight.count },
		.variance = { weight.bytes_variance, weight.count_variance },
		.skew = { weight.bytes_variance * factor * (double)size_bytes,
		          weight.count_variance * factor },
		.failed_bytes = interval - 1,
		.failed_variance = interval * (interval - 1),
		.allocations_per_byte = 1 / length,
		.unknown = draw->scheme == GG_SCHEME_BIASED,
	};

	if (draw->sampling_interval <= 1 && draw->scheme != GG_SCHEME_OPTIMAL)
		return share;                           /* an interval of 1 or less hides nothing */
	if (draw->scheme == GG_SCHEME_PER_ALLOCATION) { /* its interval counts allocations */
		bytes *= length;
		share.unbounded_bytes = 1;
	}
	/* The most that one more sample point could have stood for at a sample like this one. */
	share.reserve[GG_BYTES] = bytes;
	share.reserve[GG_ALLOCATIONS] = bytes / length;
	share.sampled_interval = bytes;
	return share;
}

void gg_tally_add(struct gg_tally *tally, const struct gg_draw *draw, uint64_t size_bytes)
{
	struct gg_share share = gg_share_of(draw, size_bytes);
	struct gg_moments *of = share.is_sure ? tally->sure : tally->usual;

	gg_assert(share.value[GG_BYTES] >= 0 && share.value[GG_ALLOCATIONS] > 0);
	gg_assert(share.variance[GG_BYTES] >= 0 && share.variance[GG_ALLOCATIONS] >= 0);
	tally->sample_count++;
	tally->sample_point_count += share.sample_point_count;
	add_integer(&of[GG_BYTES].seen, size_bytes);
	add_integer(&of[GG_ALLOCATIONS].seen, 1);
	for (int i = 0; i < GG_QUANTITY_COUNT; i++) {
		add(&of[i].value, share.value[i]);
		add(&of[i].variance, share.variance[i]);
		add(&of[i].skew, share.skew[i]);
	}
	add(&tally->failed_bytes, share.failed_bytes);
	add(&tally->failed_variance, share.failed_variance);
	add_integer(&tally->rest_bytes, share.rest_bytes);
	for (int i = 0; i < GG_QUANTITY_COUNT; i++) {
		tally->reserve_max[i] = fmax(tally->reserve_max[i], share.reserve[i]);
		add(&tally->unknown[i], share.unknown);
	}
	tally->sampled_interval_max = fmax(tally->sampled_interval_max, share.sampled_interval);
	tally->allocations_per_byte_max = fmax(tally->allocations_per_byte_max,
	                                       share.allocations_per_byte);
	tally->unbounded_bytes = fmax(tally->unbounded_bytes, share.unbounded_bytes);
}

/*
 * Returns the largest possible third cumulant of the bytes.  A sample's third cumulant is its
 * variance times Z (2-p)/p, where (2-p)/p = coth(x/2), and Z coth(Z/2R) grows with Z and with R.
 * If a sample is in or out by the bytes that it covers, this is also R^3 x^3 cosh(x/2) / (4
 * sinh(x/2)^3), which is below 2 R^3.
 */
static double bytes_skew_most(const struct gg_folded *folded, double size_most)
{
	double interval = folded->sampling_interval, by_points = 2 * interval * interval * interval;
	double by_size = fmax(size_most, 2 * interval);

	/* From 22 on, tanh() is 1 in all bits. */
	if (size_most > 0 && interval > 0)
		by_size = size_most < 44 * interval ? size_most / tanh(size_most / (2 * interval))
		                                    : size_most;

	if (folded->scheme == GG_SCHEME_PER_ALLOCATION)
		return folded->bytes_variance * (2 * interval - 1) * size_most;
	if (folded->scheme == GG_SCHEME_POISSON_COUNT || folded->scheme == GG_SCHEME_STRIDE)
		return folded->bytes_variance * by_size;
	return fmin(folded->bytes_variance * by_size, by_points * (double)folded->sample_count);
}

/*
 * Returns the largest possible weight 1/p, the smallest of three bounds: the rest of the sum if all
 * other samples have a weight of 1; the w whose w (w-1) is the whole variance; and the weight of
 * the smallest size.
 */
static double weight_most(const struct gg_folded *folded, double length_least)
{
	double rest = folded->count - (double)(folded->sample_count - 1);
	double by_sums = fmin(rest, 0.5 + sqrt(0.25 + folded->count_variance));
	double interval = folded->sampling_interval;

	if (folded->scheme == GG_SCHEME_PER_ALLOCATION)
		return fmax(1, fmin(by_sums, interval));
	/* The weight of a size is above 1 and above R/Z, which mostly tells the smallest bound. */
	if (by_sums <= 1 || by_sums * length_least <= interval)
		return fmax(1, by_sums);
	return fmax(1, fmin(by_sums, -1 / expm1(-length_least / interval)));
}

/*
 * Returns the largest possible third cumulant of the allocations: the variance times (2-p)/p, or
 * 2/x (skew_factor).
 */
static double count_skew_most(const struct gg_folded *folded, double length_least, double weight)
{
	double factor = 2 * folded->sampling_interval / length_least;

	if (folded->scheme != GG_SCHEME_POISSON_COUNT && folded->scheme != GG_SCHEME_STRIDE)
		factor = 2 * weight - 1;
	return folded->count_variance * fmax(factor, 1);
}

/* Narrows the range of sizes as far as the number of samples and their sum allow. */
static void narrow_sizes(const struct gg_folded *folded, double *ret_least, double *ret_most)
{
	double others = (double)folded->sample_count - 1, seen = (double)folded->seen_bytes;
	double least = (double)folded->least_bytes, most = (double)folded->most_bytes;

	gg_assert(folded->sample_count > 0);
	*ret_most = fmax(least, fmin(most, seen - others * least));
	*ret_least = fmin(most, fmax(least, seen - others * most));
}

/*
 * Fills the maxima, as for samples.  Even an allocation that is nearly always sampled can have been
 * missed.  R ln(1000 n) is a size for which the probability that any of n was missed is 0.1 %.
 */
static void fill_reserve(struct gg_folded_share *share, const struct gg_folded *folded,
                         double size_most, double length_least, double weight_most,
                         bool may_be_sure)
{
	double count = (double)folded->sample_count;
	double bytes = folded->sampling_interval, weight = folded->sampling_interval / length_least;

	/*
	 * With an interval below 1 the optimal scheme may miss small blocks; with 1 it misses
	 * nothing.
	 */
	if (folded->sampling_interval <= 1 &&
	    (folded->scheme != GG_SCHEME_OPTIMAL ||
	     !(folded->bytes_variance + folded->count_variance > 0)))
		return;
	if (folded->scheme == GG_SCHEME_PER_ALLOCATION) {
		bytes *= fmax(size_most, 1);
		weight = folded->sampling_interval;
		share->unbounded_bytes = 1;
	} else if (may_be_sure) {
		bytes = fmax(bytes, fmin(size_most, bytes * log(1000 * count)) / log(40));
	}
	share->reserve[GG_BYTES] = bytes;
	share->reserve[GG_ALLOCATIONS] = fmin(weight, weight_most);
	share->sampled_interval = bytes;
	share->allocations_per_byte = 1 / length_least;
}

static double probability_at(const struct gg_folded *folded, double size)
{
	struct gg_draw draw = { folded->sampling_interval, 0, 1, folded->scheme };

	return gg_weight_of(&draw, (uint64_t)fmin(size, 0x1p62)).probability;
}

/* True if a sample of that size was nearly certain to be taken. */
static bool is_sure_at(const struct gg_folded *folded, double size)
{
	double x = fmax(size, 1) / folded->sampling_interval;

	/* 1 - exp(-x): below 0.951 up to 3, and above 0.993 from 5 on. */
	if (folded->scheme == GG_SCHEME_POISSON && folded->sampling_interval > 1 &&
	    (x <= 3 || x >= 5))
		return x >= 5;
	return probability_at(folded, size) >= GG_SURE_PROBABILITY;
}

/* Sets the third cumulant of a quantity; if it is unknown, it is at most `most`. */
static void set_skew(struct gg_folded_share *share, enum gg_quantity quantity, double skew,
                     double most)
{
	if (skew > 0)
		share->skew[quantity] = skew;
	else
		share->skew_slack[quantity] = most;
}

bool gg_folded_is_bytes_alone(const struct gg_folded *folded)
{
	return folded->sample_count == 0 && folded->seen_bytes > 0 &&
	       folded->sampling_interval <= 1 && folded->unknown_errors == 0 &&
	       !(folded->bytes_variance > 0) && !(folded->count_variance > 0);
}

struct gg_folded_share gg_folded_share_of(const struct gg_folded *folded)
{
	struct gg_folded_share share = { 0 };
	double least, most, length_least, weight;

	if (gg_folded_is_bytes_alone(folded))
		return (struct gg_folded_share){ .is_sure = true };
	gg_assert(folded->sample_count > 0);
	narrow_sizes(folded, &least, &most);
	length_least = fmax(least, 1);
	weight = weight_most(folded, length_least);
	share.is_sure = is_sure_at(folded, least);
	if ((folded->unknown_errors & 1u << GG_BYTES) == 0)
		set_skew(&share, GG_BYTES, folded->bytes_skew, bytes_skew_most(folded, most));
	if ((folded->unknown_errors & 1u << GG_ALLOCATIONS) == 0)
		set_skew(&share, GG_ALLOCATIONS, folded->count_skew,
		         count_skew_most(folded, length_least, weight));
	fill_reserve(&share, folded, most, length_least, weight,
	             !share.is_sure && is_sure_at(folded, most));
	return share;
}

/*
 * Adds an estimate without an error.  Its samples give no lower bound, so they do not count as
 * seen.
 */
static void add_unknown(struct gg_tally *tally, const struct gg_folded *folded,
                        enum gg_quantity quantity)
{
	double value = quantity == GG_BYTES ? folded->bytes : folded->count;

	add(&tally->usual[quantity].value, value);
	add(&tally->unknown[quantity], 1);
}

/* Adds the sums of one quantity. */
static void add_known(struct gg_tally *tally, struct gg_moments *of, enum gg_quantity quantity,
                      const struct gg_folded *folded, const struct gg_folded_share *share)
{
	bool is_bytes = quantity == GG_BYTES;

	add_integer(&of[quantity].seen, is_bytes ? folded->seen_bytes : folded->sample_count);
	add(&of[quantity].value, is_bytes ? folded->bytes : folded->count);
	add(&of[quantity].variance, is_bytes ? folded->bytes_variance : folded->count_variance);
	add(&of[quantity].skew, share->skew[quantity]);
	add(&tally->skew_slack[quantity], share->skew_slack[quantity]);
}

void gg_tally_add_folded(struct gg_tally *tally, const struct gg_folded *folded)
{
	struct gg_folded_share share;

	if (folded->sample_count == 0 && !gg_folded_is_bytes_alone(folded))
		return;
	share = gg_folded_share_of(folded);
	tally->sample_count += folded->sample_count;
	for (int i = 0; i < GG_QUANTITY_COUNT; i++) {
		if ((folded->unknown_errors & 1u << i) == 0)
			add_known(tally, share.is_sure ? tally->sure : tally->usual,
			          (enum gg_quantity)i, folded, &share);
		else
			add_unknown(tally, folded, (enum gg_quantity)i);
		tally->reserve_max[i] = fmax(tally->reserve_max[i], share.reserve[i]);
	}
	tally->sampled_interval_max = fmax(tally->sampled_interval_max, share.sampled_interval);
	tally->allocations_per_byte_max = fmax(tally->allocations_per_byte_max,
	                                       share.allocations_per_byte);
	tally->unbounded_bytes = fmax(tally->unbounded_bytes, share.unbounded_bytes);
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
	add_sum(&tally->failed_bytes, sign, other->failed_bytes);
	add_sum(&tally->failed_variance, sign, other->failed_variance);
	add_sum(&tally->rest_bytes, sign, other->rest_bytes);
	for (int i = 0; i < GG_QUANTITY_COUNT; i++)
		add_sum(&tally->skew_slack[i], sign, other->skew_slack[i]);
	for (int i = 0; i < GG_QUANTITY_COUNT; i++) {
		add_sum(&tally->unknown[i], sign, other->unknown[i]);
		combine_moments(&tally->uncertain[i], sign, &other->uncertain[i]);
	}
}

void gg_tally_doubt(struct gg_tally *tally)
{
	struct gg_tally doubted = { 0 };

	merge_maxima(&doubted, tally);
	for (int i = 0; i < GG_QUANTITY_COUNT; i++) {
		combine_moments(&doubted.uncertain[i], 1, &tally->uncertain[i]);
		combine_moments(&doubted.uncertain[i], 1, &tally->usual[i]);
		combine_moments(&doubted.uncertain[i], 1, &tally->sure[i]);
		doubted.skew_slack[i] = tally->skew_slack[i];
		doubted.unknown[i] = tally->unknown[i];
	}
	*tally = doubted;
}

bool gg_tally_is_empty(const struct gg_tally *tally)
{
	/* Sums of what was seen are whole numbers, so a subtraction leaves exactly 0. */
	return tally->sample_count == 0 && gg_tally_seen(tally, GG_BYTES) < 0.5;
}

bool gg_tally_is_uncertain(const struct gg_tally *tally)
{
	/*
	 * Both are checked: a difference of such sums (for a peak) may have equally many samples
	 * but different bytes.
	 */
	return fabs(gg_sum_value(&tally->uncertain[GG_ALLOCATIONS].seen)) > 0.5 ||
	       fabs(gg_sum_value(&tally->uncertain[GG_BYTES].seen)) > 0.5;
}

struct gg_tally gg_tally_least(const struct gg_tally *tally)
{
	struct gg_tally least = *tally;

	for (int i = 0; i < GG_QUANTITY_COUNT; i++)
		least.uncertain[i] = (struct gg_moments){ 0 };
	return least;
}

struct gg_tally gg_tally_most(const struct gg_tally *tally)
{
	struct gg_tally most = gg_tally_least(tally);

	for (int i = 0; i < GG_QUANTITY_COUNT; i++)
		combine_moments(&most.usual[i], 1, &tally->uncertain[i]);
	most.sample_count += (uint64_t)llround(
		gg_sum_value(&tally->uncertain[GG_ALLOCATIONS].seen));
	return most;
}

void gg_tally_merge(struct gg_tally *tally, const struct gg_tally *other)
{
	combine(tally, 1, other);
	tally->sample_count += other->sample_count;
	tally->sample_point_count += other->sample_point_count;
}

void gg_tally_subtract(struct gg_tally *tally, const struct gg_tally *other)
{
	combine(tally, -1, other);
	tally->sample_count -= other->sample_count;
	tally->sample_point_count -= other->sample_point_count;
	clear_if_empty(tally);
}

/* A variance is a sum of squares, so a negative one is the rounding error of a subtraction. */
struct gg_estimate gg_tally_estimate(const struct gg_tally *tally, enum gg_quantity quantity)
{
	const struct gg_moments *usual = &tally->usual[quantity], *sure = &tally->sure[quantity];
	double variance = gg_sum_value(&usual->variance) + gg_sum_value(&sure->variance);

	return (struct gg_estimate){ gg_sum_value(&usual->value) + gg_sum_value(&sure->value),
		                     fmax(variance, 0) };
}

bool gg_tally_has_error(const struct gg_tally *tally, enum gg_quantity quantity)
{
	return gg_sum_value(&tally->unknown[quantity]) < 0.5; /* the sum is a whole number */
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
