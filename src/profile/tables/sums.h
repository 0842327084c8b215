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

struct gg_stack_sum_row {
	uint32_t stack; /* 0: samples without a stack */
	struct gg_metric_sums sums;
};

struct gg_function_sum_row {
	const char *function, *full_name, *file;
	uint32_t module;
	struct gg_metric_sums self, total;
};
