/* SPDX-License-Identifier: Apache-2.0 */
/* row_sums - estimates, variances and skews of rows. */
#include "format/import/row_sums.h"

#include <math.h>

#include "stats/estimate/tally.h"

/* The y at which h(y) = y^2 / (e^y - 1) has its maximum, and the maximum. */
#define H_MOST_AT 1.5936242600400401
#define H_MOST    0.6476102378919149
/* The maximum of y e^-y.  At most N R times this value is unseen of N objects. */
#define UNSEEN_MOST 0.36787944117144233

enum { BOTH_UNKNOWN = 1u << GG_BYTES | 1u << GG_ALLOCATIONS };

/*
 * Adds the error for allocations of one size, or with that mean size. samples: the number of
 * samples, not rounded.
 */
static void add_error(struct gg_row_sums *weighed, double samples, double size, double interval,
                      bool is_mixed)
{
	double x = fmax(size, 1) / interval, p = -expm1(-x);
	double variance = samples * (1 - p) / (p * p); /* variance of the number of allocations */
	double skew = variance * (2 - p) / p;

	weighed->count_variance = variance;
	weighed->bytes_variance = variance * size * size;
	if (!is_mixed || weighed->samples == 1) {
		weighed->count_skew = skew;
		weighed->bytes_skew = skew * size * size * size;
		return;
	}
	if (x > H_MOST_AT)
		weighed->bytes_variance = weighed->count * interval * interval * H_MOST;
	if (x > 1)
		weighed->size = fmax(weighed->bytes - weighed->count * interval * UNSEEN_MOST, 0);
}

static struct gg_row_sums weigh_drawn(const struct gg_row_weighing *how, double count, double bytes)
{
	double size = bytes / count, p = -expm1(-fmax(size, 1) / how->interval_bytes);
	bool is_raw = how->kind == GG_ROW_WEIGHING_SAMPLED;
	double samples = is_raw ? count : count * p;
	struct gg_row_sums weighed = { .samples = fmax(round(samples), 1),
		                       .size = fmin(samples * size, bytes),
		                       .count = is_raw ? count / p : count,
		                       .bytes = is_raw ? bytes / p : bytes };

	add_error(&weighed, samples, size, how->interval_bytes, how->is_mixed);
	return weighed;
}

/* Each sample point represents R bytes, and the number of points has a Poisson distribution. */
static struct gg_row_sums weigh_sample_points(double interval, double count, double bytes)
{
	return (struct gg_row_sums){ .samples = fmax(round(bytes / interval), 1),
		                     .size = 0,
		                     .count = count,
		                     .bytes = bytes,
		                     .bytes_variance = bytes * interval,
		                     .bytes_skew = bytes * interval * interval,
		                     .unknown_errors = 1u << GG_ALLOCATIONS };
}

struct gg_row_sums gg_row_weighing(const struct gg_row_weighing *how, double count, double bytes)
{
	struct gg_row_sums weighed = { 0 };

	if (count == 0 && bytes == 0)
		return weighed;
	if (how->kind == GG_ROW_WEIGHING_SAMPLE_POINTS && how->interval_bytes > 1)
		return weigh_sample_points(how->interval_bytes, count, bytes);
	if (count > 0 &&
	    (how->kind == GG_ROW_WEIGHING_SAMPLED || how->kind == GG_ROW_WEIGHING_SCALED) &&
	    how->interval_bytes > 1)
		return weigh_drawn(how, count, bytes);
	weighed.count = count;
	weighed.bytes = bytes;
	if (how->kind != GG_ROW_WEIGHING_UNKNOWN &&
	    count > 0) { /* an interval of 1 samples every allocation */
		weighed.samples = count;
		weighed.size = bytes;
		return weighed;
	}
	weighed.samples = 1;
	weighed.unknown_errors = BOTH_UNKNOWN;
	return weighed;
}

void gg_row_sums_add(struct gg_row_sums *sum, const struct gg_row_sums *more)
{
	bool has_count = (sum->count_skew > 0 || sum->count_variance == 0) &&
	                 (more->count_skew > 0 || more->count_variance == 0);
	bool has_bytes = (sum->bytes_skew > 0 || sum->bytes_variance == 0) &&
	                 (more->bytes_skew > 0 || more->bytes_variance == 0);

	/* The skew of a sum is unknown if the skew of a part is unknown. */
	sum->count_skew = has_count ? sum->count_skew + more->count_skew : 0;
	sum->bytes_skew = has_bytes ? sum->bytes_skew + more->bytes_skew : 0;
	sum->samples += more->samples;
	sum->size += more->size;
	sum->count += more->count;
	sum->count_variance += more->count_variance;
	sum->bytes += more->bytes;
	sum->bytes_variance += more->bytes_variance;
	sum->unknown_errors |= more->unknown_errors;
}

struct gg_row_sums gg_row_sums_rest(const struct gg_row_sums *all, const struct gg_row_sums *part)
{
	struct gg_row_sums rest = {
		.samples = fmax(all->samples - part->samples, 0),
		.size = fmax(all->size - part->size, 0),
		.count = fmax(all->count - part->count, 0),
		.count_variance = fmax(all->count_variance - part->count_variance, 0),
		.bytes = fmax(all->bytes - part->bytes, 0),
		.bytes_variance = fmax(all->bytes_variance - part->bytes_variance, 0),
		.unknown_errors = all->unknown_errors | part->unknown_errors,
	};

	if (all->count_skew > 0)
		rest.count_skew = fmax(all->count_skew - part->count_skew, 0);
	if (all->bytes_skew > 0)
		rest.bytes_skew = fmax(all->bytes_skew - part->bytes_skew, 0);
	if (rest.count == 0 && rest.bytes == 0)
		return (struct gg_row_sums){ 0 };
	/* Rounding may leave fewer allocations or bytes than the samples have. */
	if (rest.unknown_errors == 0) {
		rest.samples = fmin(rest.samples, floor(rest.count));
		rest.size = fmin(rest.size, rest.bytes);
	}
	rest.samples = fmax(rest.samples, 1);
	return rest;
}

struct gg_sums gg_row_sums_sums(const struct gg_row_sums *weighed)
{
	return (struct gg_sums){
		.sample_count = (uint64_t)fmin(weighed->samples, 0x1p62),
		.size_bytes = (uint64_t)fmin(weighed->size, 0x1p62),
		.count = gg_fixed_from(weighed->count),
		.count_variance = gg_fixed_from(weighed->count_variance),
		.bytes = gg_fixed_from(weighed->bytes),
		.bytes_variance = gg_fixed_from(weighed->bytes_variance),
	};
}
