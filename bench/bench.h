/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench - times small pieces of code beside each other.
 *
 * The machines are shared and drift, so a set of cases is measured interleaved (A B C A B C ...)
 * and told as medians over the rounds with their spread, and as ratios within one round to the
 * first case, the baseline.
 *
 *   static void draw(void *context, uint64_t count) { ... count operations ... }
 *
 *   struct bench_case cases[] = {
 *           { .name = "libm", .run = draw_libm, .context = &rng },
 *           { .name = "ours", .run = draw, .context = &rng },
 *   };
 *   bench_run("one exponential draw", "ns", cases, GG_COUNT(cases));
 *   // cases[1].median_ns, cases[1].ratio
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct bench_case {
	const char *name;
	void (*run)(void *context, uint64_t count); /* does the operation count times */
	void *context;
	uint64_t per_run; /* how many units, such as frames, an operation has; 0: 1 */

	/* Filled in. */
	double median_ns, low_ns, high_ns; /* one operation; low and high: the quartiles */
	double ratio;                      /* median over rounds of this / first case */
};

/* Measures and prints a table under the title; `what` names the operation, e.g. "draw". */
void bench_run(const char *title, const char *what, struct bench_case *cases, size_t count);

/* Keeps the compiler from dropping a value that nobody else reads. */
#define bench_keep(value) __asm__ volatile("" : : "r,m"(value) : "memory")
