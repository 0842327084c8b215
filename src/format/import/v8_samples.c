/* SPDX-License-Identifier: Apache-2.0 */
#include "format/import/v8_samples.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/binary_search.h"
#include "stats/estimate/tally.h"

enum {
	OBJECT_ALIGNMENT = 4, /* of V8 with compressed pointers; without, 8 */
	SAMPLES_MIN = 8,      /* fewer do not show an interval */
	NEAR_SHARE = 16,      /* the smallest size is within this part of the interval above it */
	MOST_SHARE = 4,       /* and most are within this part */

	/* For all sizes together, a second's work.  Only files that are made for it need more. */
	DIVISIONS_MAX = 1 << 26
};

/* No interval is larger: at 1 GiB, a sample would be a rare accident. */
static const double interval_most = 1 << 30;

bool gg_v8_samples_add(struct gg_v8_samples *samples, uint64_t node_id, uint64_t size)
{
	return gg_array_push(&samples->items, (struct gg_v8_sample){ node_id, size });
}

void gg_v8_samples_done(struct gg_v8_samples *samples)
{
	gg_array_done(&samples->items);
	gg_array_done(&samples->sizes);
}

static double probability_of(double bytes, double interval_bytes)
{
	return -expm1(-bytes / interval_bytes);
}

/* The number that V8 multiplies the bytes of `count` samples of one size with. */
static double factor_of(double count, double bytes, double interval_bytes)
{
	return floor(count / probability_of(bytes, interval_bytes) + 0.5);
}

static void try_bytes(struct gg_v8_size *size, uint64_t bytes, double interval_bytes)
{
	if (bytes % OBJECT_ALIGNMENT != 0 ||
	    factor_of(1, (double)bytes, interval_bytes) != (double)(size->size / bytes))
		return;
	size->is_unique = size->smallest_bytes == 0;
	if (size->smallest_bytes == 0 || bytes < size->smallest_bytes)
		size->smallest_bytes = bytes;
}

/*
 * Tries each divisor of the size, of which one is the object's size.  Returns how many divisions
 * that took.
 *
 *   1. 1/p <= R/Z + 1/2 + Z/12R, and Z < 1.1 R, so the size S = Z round(1/p) is below R + 1.1 Z.
 *   2. So Z > (S - R) / 1.1, and the factor S/Z is below 1.1 S / (S - R).
 *   3. If the root of S is not below that limit, no Z is: divisors beyond the limit are left out.
 */
static uint64_t decode_size(struct gg_v8_size *size, double interval_bytes)
{
	/* Beyond this size the factor is 1: a factor of 2 needs p <= 2/3, and so Z < 1.1 R. */
	bool has_factor = (double)size->size <= 3 * interval_bytes;
	double rest = (double)size->size - interval_bytes;
	uint64_t divisor, limit = UINT64_MAX;

	size->smallest_bytes = 0;
	size->is_unique = false;
	if (size->size % OBJECT_ALIGNMENT != 0)
		return 0;
	if (!has_factor) {
		try_bytes(size, size->size, interval_bytes);
		return 1;
	}
	if (rest > 1)
		limit = (uint64_t)(1.25 * (double)size->size / rest) + 1;
	for (divisor = 1; divisor * divisor <= size->size && divisor <= limit; divisor++) {
		if (size->size % divisor != 0)
			continue;
		try_bytes(size, divisor, interval_bytes);
		if (divisor != size->size / divisor)
			try_bytes(size, size->size / divisor, interval_bytes);
	}
	return divisor;
}

static int compare_samples(const void *x, const void *y)
{
	const struct gg_v8_sample *a = x, *b = y;

	if (a->node_id != b->node_id)
		return a->node_id < b->node_id ? -1 : 1;
	return a->size < b->size ? -1 : a->size > b->size;
}

static int compare_sizes(const void *x, const void *y)
{
	const struct gg_v8_size *a = x, *b = y;

	return a->size < b->size ? -1 : a->size > b->size;
}

/* Makes the list of sizes.  -ENOMEM. */
static int collect_sizes(struct gg_v8_samples *samples)
{
	size_t kept = 0;

	samples->sizes.count = 0;
	if (!gg_array_reserve(&samples->sizes, samples->items.count))
		return -ENOMEM;
	for (size_t i = 0; i < samples->items.count; i++)
		samples->sizes.items[i] = (struct gg_v8_size){
			.size = samples->items.items[i].size
		};
	qsort(samples->sizes.items, samples->items.count, sizeof(*samples->sizes.items),
	      compare_sizes);
	for (size_t i = 0; i < samples->items.count; i++)
		if (kept == 0 ||
		    samples->sizes.items[kept - 1].size != samples->sizes.items[i].size)
			samples->sizes.items[kept++] = samples->sizes.items[i];
	samples->sizes.count = kept;
	return 0;
}

/* Returns the power of two just below all sizes if most are near it, and otherwise 0. */
static double find_interval(const struct gg_v8_samples *samples)
{
	uint64_t least = samples->sizes.items[0].size, interval = 1;
	size_t near_count = 0;

	if (samples->items.count < SAMPLES_MIN || (double)least > 2 * interval_most)
		return 0;
	while (2 * interval < least) /* ends, because least is not above 2 interval_most */
		interval *= 2;
	if (least > interval + interval / NEAR_SHARE)
		return 0;
	for (size_t i = 0; i < samples->items.count; i++)
		near_count += samples->items.items[i].size <= interval + interval / MOST_SHARE;
	return 2 * near_count >= samples->items.count ? (double)interval : 0;
}

/* False: some size fits no object, or finding out takes too long. */
static bool decode_sizes(struct gg_v8_samples *samples, double interval_bytes)
{
	uint64_t divisions = 0;

	for (size_t i = 0; i < samples->sizes.count; i++) {
		divisions += decode_size(&samples->sizes.items[i], interval_bytes);
		if (samples->sizes.items[i].smallest_bytes == 0 || divisions > DIVISIONS_MAX)
			return false;
	}
	return true;
}

int gg_v8_samples_decode(struct gg_v8_samples *samples, double interval_bytes)
{
	double found;

	samples->interval_bytes = 0;
	if (samples->items.count == 0)
		return -ENODATA;
	if (collect_sizes(samples) < 0)
		return -ENOMEM;
	found = find_interval(samples);
	if (interval_bytes == 0)
		interval_bytes = found;
	/* Any size well above an interval may be a large object: a small one always fits. */
	if (found > 0 && fabs(found / interval_bytes - 1) > 1.0 / NEAR_SHARE &&
	    decode_sizes(samples, found))
		return -ENODATA;
	if (interval_bytes < 2 || interval_bytes > interval_most)
		return -ENODATA;
	if (!decode_sizes(samples, interval_bytes))
		return -ENODATA;
	qsort(samples->items.items, samples->items.count, sizeof(*samples->items.items),
	      compare_samples);
	samples->interval_bytes = interval_bytes;
	return 0;
}

/* The first sample of a node, or of one with a larger number. */
static size_t first_of(const struct gg_v8_samples *samples, uint64_t node_id)
{
	return gg_lower_bound(0, samples->items.count, i,
	                      samples->items.items[i].node_id < node_id);
}

static const struct gg_v8_size *size_of(const struct gg_v8_samples *samples, uint64_t size)
{
	const struct gg_v8_size key = { .size = size };

	return bsearch(&key, samples->sizes.items, samples->sizes.count, sizeof(key),
	               compare_sizes);
}

/* Adds `count` samples of one size to the sum of their node, whose bytes are the tree's. */
static void add_group(const struct gg_v8_samples *samples, const struct gg_v8_size *size,
                      double count, struct gg_row_sums *sum)
{
	const struct gg_row_weighing how = { GG_ROW_WEIGHING_SAMPLED, samples->interval_bytes,
		                             false };
	double bytes = (double)size->smallest_bytes, of_tree = sum->bytes;
	struct gg_row_sums more = gg_row_weighing(&how, count, count * bytes);

	if (size->is_unique) /* the tree has rounded it */
		of_tree += more.bytes - bytes * factor_of(count, bytes, samples->interval_bytes);
	else
		more.unknown_errors |= 1u << GG_ALLOCATIONS;
	gg_row_sums_add(sum, &more);
	sum->bytes = of_tree;
}

struct gg_row_sums gg_v8_samples_weigh(const struct gg_v8_samples *samples, uint64_t node_id,
                                       double self_bytes)
{
	const struct gg_row_weighing unknown = { GG_ROW_WEIGHING_UNKNOWN, 0, true };
	const struct gg_v8_sample *items = samples->items.items;
	struct gg_row_sums sum = { .bytes = self_bytes };
	size_t from, to, end = samples->items.count;

	if (samples->interval_bytes == 0)
		return gg_row_weighing(&unknown, 0, self_bytes);
	for (from = first_of(samples, node_id); from < end && items[from].node_id == node_id;
	     from = to) {
		for (to = from + 1; to < end && compare_samples(&items[from], &items[to]) == 0;
		     to++)
			;
		add_group(samples, size_of(samples, items[from].size), (double)(to - from), &sum);
	}
	if (sum.samples == 0)
		return gg_row_weighing(&unknown, 0, self_bytes);
	if ((sum.unknown_errors & 1u << GG_ALLOCATIONS) != 0)
		sum.count = sum.count_variance = sum.count_skew = 0;
	sum.size = fmin(sum.size, self_bytes);
	sum.bytes = fmax(sum.bytes, sum.size);
	return sum;
}
