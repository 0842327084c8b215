/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums - the rows of the summary: sums by stack and by function.
 *
 * The live sums count what was live at the end, `left` what its process never freed.
 */
#pragma once

#include <stdint.h>

/* Estimates with their variances.  NaN, in the file NULL: unknown. */
struct gg_metric_sum {
	uint64_t sample_count;
	double bytes, bytes_variance, count, count_variance;
};

struct gg_metric_sums {
	struct gg_metric_sum live, allocated, left; /* the metrics of query.h */
};

static inline void gg_metric_sum_add(struct gg_metric_sum *sum, const struct gg_metric_sum *more)
{
	sum->sample_count += more->sample_count;
	sum->bytes += more->bytes;
	sum->bytes_variance += more->bytes_variance;
	sum->count += more->count;
	sum->count_variance += more->count_variance;
}

static inline void gg_metric_sums_add(struct gg_metric_sums *sums,
                                      const struct gg_metric_sums *more)
{
	gg_metric_sum_add(&sums->live, &more->live);
	gg_metric_sum_add(&sums->allocated, &more->allocated);
	gg_metric_sum_add(&sums->left, &more->left);
}

struct gg_stack_sum_row {
	uint32_t stack; /* 0: samples without a stack */
	struct gg_metric_sums sums;
};

struct gg_function_sum_row {
	const char *function, *full_name, *file;
	uint32_t module;
	struct gg_metric_sums self, total;
};
