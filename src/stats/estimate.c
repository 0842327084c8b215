/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/estimate.h"

#include <math.h>
#include <stddef.h>

#include "base/compiler.h"
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
	tally->interval_max = fmax(tally->interval_max, interval_bytes);
}

/* Without samples no sum has a value: drops what rounding may have left. */
static void clear_if_empty(struct gg_tally *tally)
{
	if (tally->sample_count == 0)
		*tally = (struct gg_tally){ .interval_max = tally->interval_max,
					    .count_reserve_max = tally->count_reserve_max };
}

/* What one more mark could have stood for at a sample like this one. */
static void add_reserve(struct gg_tally *tally, const struct gg_draw *draw, uint64_t size_bytes)
{
	double length = (double)gg_length_bytes(size_bytes);
	bool of_allocations = draw->scheme == GG_SCHEME_PER_ALLOCATION;
	double bytes = of_allocations ? draw->interval * length : draw->interval;

	/* An interval of 1 samples everything: nothing hides. */
	if (draw->interval <= 1 && draw->scheme != GG_SCHEME_OPTIMAL)
		return;
	tally->interval_max = fmax(tally->interval_max, bytes);
	tally->count_reserve_max = fmax(tally->count_reserve_max, bytes / length);
}

static void change(struct gg_tally *tally, double sign, const struct gg_draw *draw,
		   uint64_t size_bytes)
{
	struct gg_weight weight = gg_weight_of(draw, size_bytes);
	double interval = draw->interval, marks = draw->mark_count;

	tally->sample_count += sign > 0 ? 1 : UINT64_MAX;
	tally->mark_count += sign > 0 ? draw->mark_count : -(uint64_t)draw->mark_count;
	add_integer(&tally->seen_bytes, sign, size_bytes);
	add(&tally->bytes, sign, weight.bytes);
	add(&tally->bytes_variance, sign, weight.bytes_variance);
	add(&tally->count, sign, weight.count);
	add(&tally->count_variance, sign, weight.count_variance);
	add(&tally->mark_bytes, sign, marks * interval);
	add(&tally->mark_bytes_variance, sign, marks * interval * interval);
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

static void combine(struct gg_tally *tally, double sign, const struct gg_tally *other)
{
	static const size_t sums[] = {
		offsetof(struct gg_tally, seen_bytes),
		offsetof(struct gg_tally, bytes),
		offsetof(struct gg_tally, bytes_variance),
		offsetof(struct gg_tally, count),
		offsetof(struct gg_tally, count_variance),
		offsetof(struct gg_tally, mark_bytes),
		offsetof(struct gg_tally, mark_bytes_variance),
		offsetof(struct gg_tally, failed_bytes),
		offsetof(struct gg_tally, failed_variance),
		offsetof(struct gg_tally, rest_bytes),
	};

	for (size_t i = 0; i < GG_COUNT(sums); i++)
		add_sum((struct gg_sum *)((char *)tally + sums[i]), sign,
			*(const struct gg_sum *)((const char *)other + sums[i]));
	tally->interval_max = fmax(tally->interval_max, other->interval_max);
	tally->count_reserve_max = fmax(tally->count_reserve_max, other->count_reserve_max);
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
static struct gg_estimate estimate(const struct gg_sum *value, const struct gg_sum *variance)
{
	return (struct gg_estimate){ gg_sum_value(value), fmax(gg_sum_value(variance), 0) };
}

struct gg_estimate gg_tally_bytes(const struct gg_tally *tally)
{
	return estimate(&tally->bytes, &tally->bytes_variance);
}

struct gg_estimate gg_tally_count(const struct gg_tally *tally)
{
	return estimate(&tally->count, &tally->count_variance);
}

struct gg_estimate gg_tally_failed_trials(const struct gg_tally *tally)
{
	struct gg_estimate failed = estimate(&tally->failed_bytes, &tally->failed_variance);

	failed.value += gg_sum_value(&tally->rest_bytes);
	return failed;
}

struct gg_estimate gg_tally_marks(const struct gg_tally *tally)
{
	return estimate(&tally->mark_bytes, &tally->mark_bytes_variance);
}
