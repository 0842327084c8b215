/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

enum { ROUNDS = 21, MAX_CASES = 32 };
static const uint64_t round_ns = 10 * 1000 *
                                 1000; /* long against a clock read, short against drift */

static double time_one(const struct bench_case *c, uint64_t count)
{
	uint64_t start_ns = gg_clock_monotonic_ns();

	c->run(c->context, count);
	return (double)(gg_clock_monotonic_ns() - start_ns);
}

/* The count that takes about a round; warms up the caches on the way. */
static uint64_t calibrate(const struct bench_case *c)
{
	uint64_t count = 1;

	while (time_one(c, count) < (double)round_ns / 2 && count < UINT64_C(1) << 40)
		count *= 2;
	return count;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The value that a share of the sorted ones lies below. */
static double quantile(double *values, double share)
{
	qsort(values, ROUNDS, sizeof(*values), compare);
	return values[(int)(share * (ROUNDS - 1) + 0.5)];
}

void bench_run(const char *title, const char *what, struct bench_case *cases, size_t count)
{
	static double ns[MAX_CASES][ROUNDS], ratios[MAX_CASES][ROUNDS];
	uint64_t counts[MAX_CASES];

	if (count > MAX_CASES)
		abort();
	for (size_t i = 0; i < count; i++)
		counts[i] = calibrate(&cases[i]);
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < count; i++) {
			double per_run = cases[i].per_run > 0 ? (double)cases[i].per_run : 1;

			ns[i][round] = time_one(&cases[i], counts[i]) /
			               ((double)counts[i] * per_run);
			ratios[i][round] = ns[i][round] / ns[0][round];
		}
	}
	printf("%s\n  %-36s %12s %20s %8s\n", title, "", what, "quartiles", "ratio");
	for (size_t i = 0; i < count; i++) {
		cases[i].median_ns = quantile(ns[i], 0.5);
		cases[i].low_ns = quantile(ns[i], 0.25);
		cases[i].high_ns = quantile(ns[i], 0.75);
		cases[i].ratio = quantile(ratios[i], 0.5);
		printf("  %-36s %9.2f ns %9.2f %10.2f %8.2f\n", cases[i].name, cases[i].median_ns,
		       cases[i].low_ns, cases[i].high_ns, cases[i].ratio);
	}
	putchar('\n');
}
