/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_stats - measures what sampling costs: an allocation that is not a sample beside a bare
 * countdown, a draw beside libm's logarithm, and what reports pay for a row: its confidence
 * interval and its difference.
 */
#include <math.h>

#include "bench.h"
#include "stats/estimate/compare.h"
#include "stats/estimate/interval.h"
#include "stats/sampling/elementary.h"
#include "stats/sampling/rng.h"
#include "stats/sampling/sampler.h"

enum { SIZES = 1024 };

/* Sizes of a program's kind: powers of two and odd ones, 1 to 1024 bytes. */
static uint16_t sizes[SIZES];

static void fill_sizes(void)
{
	struct gg_rng rng = { { 0 } };

	gg_rng_seed(&rng, 1, 0);
	for (int i = 0; i < SIZES; i++)
		sizes[i] = (uint16_t)(1 + gg_rng_below(&rng, 1024));
}

/* The least that any byte sampler can do: subtract, branch; never due here. */
static void count_down(void *context, uint64_t count)
{
	int64_t *left = context;

	*left = INT64_MAX;
	for (uint64_t i = 0; i < count; i++) {
		*left -= sizes[i % SIZES];
		if (gg_unlikely(*left < 0))
			*left = INT64_MAX;
		bench_keep(*left);
	}
}

static void decide(void *context, uint64_t count)
{
	struct gg_sampler *s = context;
	struct gg_draw draw;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t bytes = sizes[i % SIZES];

		if (gg_sampler_due(s, bytes) && gg_sampler_take(s, bytes, &draw))
			bench_keep(draw.sampling_interval);
		bench_keep(s->left_bytes);
	}
}

static void bench_decisions(void)
{
	int64_t left;
	struct gg_sampler rare = { 0 }, usual = { 0 }, coin = { 0 }, optimal = { 0 }, all = { 0 };
	static double intervals[GG_SIZE_CLASS_COUNT];
	static struct gg_optimal_rates rates;
	struct bench_case cases[] = {
		{ .name = "bare subtraction and branch", .run = count_down, .context = &left },
		{ .name = "poisson, never due", .run = decide, .context = &rare },
		{ .name = "poisson, 512 KiB", .run = decide, .context = &usual },
		{ .name = "per-allocation, 1 in 1000", .run = decide, .context = &coin },
		{ .name = "optimal, 16 KiB to 8 MiB", .run = decide, .context = &optimal },
		{ .name = "poisson, every allocation", .run = decide, .context = &all },
	};

	for (int i = 0; i < GG_SIZE_CLASS_COUNT; i++)
		intervals[i] = 16384 << i % 10;
	gg_optimal_rates_set(&rates, intervals);
	gg_sampler_init(&rare,
	                &(struct gg_sampler_options){ .sampling_interval = 0x1p60, .seed = 1 });
	gg_sampler_init(&usual, &(struct gg_sampler_options){ .seed = 1 });
	gg_sampler_init(&coin, &(struct gg_sampler_options){ .scheme = GG_SCHEME_PER_ALLOCATION,
	                                                     .sampling_interval = 1000,
	                                                     .seed = 1 });
	gg_sampler_init(&optimal, &(struct gg_sampler_options){ .scheme = GG_SCHEME_OPTIMAL,
	                                                        .rates = &rates,
	                                                        .seed = 1 });
	gg_sampler_init(&all, &(struct gg_sampler_options){ .sampling_interval = 1, .seed = 1 });
	bench_run("One allocation's decision (the loop and the size included)", "decision", cases,
	          GG_COUNT(cases));
}

static void draw_bits(void *rng, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		bench_keep(gg_rng_next(rng));
}

static void draw_exponential(void *rng, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		bench_keep(gg_rng_exponential(rng));
}

static void draw_exponential_libm(void *rng, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		bench_keep(-log(1 - gg_rng_uniform(rng)));
}

/* By inversion as textbooks write it: both logarithms, each time. */
static void draw_geometric_libm(void *rng, uint64_t count)
{
	volatile double q = 1. / 32000; /* so that the second one stays in the loop */

	for (uint64_t i = 0; i < count; i++)
		bench_keep(floor(log(1 - gg_rng_uniform(rng)) / log1p(-q)));
}

static void draw_geometric(void *rng, uint64_t count)
{
	double scale = gg_rng_geometric_scale(32000);

	for (uint64_t i = 0; i < count; i++)
		bench_keep(gg_rng_geometric(rng, scale));
}

static void bench_draws(void)
{
	struct gg_rng rng;
	struct bench_case cases[] = {
		{ .name = "exponential, libm's log",
		  .run = draw_exponential_libm,
		  .context = &rng },
		{ .name = "64 random bits", .run = draw_bits, .context = &rng },
		{ .name = "exponential", .run = draw_exponential, .context = &rng },
		{ .name = "geometric", .run = draw_geometric, .context = &rng },
		{ .name = "geometric, libm's log and log1p",
		  .run = draw_geometric_libm,
		  .context = &rng },
	};

	gg_rng_seed(&rng, 1, 0);
	bench_run("One random number, interval 32 000", "draw", cases, GG_COUNT(cases));
}

#define LOOP(name, function)                                    \
	static void name(void *unused, uint64_t count)          \
	{                                                       \
		double x = 1e-3;                                \
                                                                \
		(void)unused;                                   \
		for (uint64_t i = 0; i < count; i++) {          \
			bench_keep(function(x));                \
			x = x < 500 ? x * 1.0001 + 1e-3 : 1e-3; \
		}                                               \
	}

LOOP(libm_log, log)
LOOP(our_log, gg_log)
LOOP(libm_log1p, log1p)
LOOP(our_log1p, gg_log1p)
LOOP(libm_expm1, expm1)
LOOP(our_expm1, gg_expm1)

static void bench_functions(void)
{
	struct bench_case cases[] = {
		{ .name = "log, libm", .run = libm_log },
		{ .name = "gg_log", .run = our_log },
		{ .name = "log1p, libm", .run = libm_log1p },
		{ .name = "gg_log1p", .run = our_log1p },
		{ .name = "expm1, libm", .run = libm_expm1 },
		{ .name = "gg_expm1", .run = our_expm1 },
	};

	bench_run("Elementary functions, ours beside libm's", "call", cases, GG_COUNT(cases));
}

/*
 * Rows of two reports: pairs of groups that hold `least` to 3 `least` samples, of sizes up to
 * `largest`.
 */
enum { ROWS = 256 };
struct rows {
	struct gg_tally before[ROWS], after[ROWS];
};

static void fill_tally(struct gg_tally *tally, struct gg_rng *rng, uint64_t samples,
                       uint64_t largest)
{
	const struct gg_draw draw = { .sampling_interval = 0x1p19,
		                      .sample_point_count = 1,
		                      .scheme = GG_SCHEME_POISSON };

	gg_tally_expose(tally, draw.sampling_interval);
	for (uint64_t i = 0; i < samples; i++)
		gg_tally_add(tally, &draw, 1 + gg_rng_below(rng, largest));
}

static void fill_rows(struct rows *rows, uint64_t least, uint64_t largest)
{
	struct gg_rng rng = { { 0 } };

	gg_rng_seed(&rng, 2, least);
	for (int i = 0; i < ROWS; i++) {
		fill_tally(&rows->before[i], &rng, least + gg_rng_below(&rng, 2 * least + 1),
		           largest);
		fill_tally(&rows->after[i], &rng, least + gg_rng_below(&rng, 2 * least + 1),
		           largest);
	}
}

static void interval_of_rows(void *context, uint64_t count)
{
	const struct rows *rows = context;

	for (uint64_t i = 0; i < count; i++)
		bench_keep(gg_interval_of(&rows->after[i % ROWS], GG_BYTES, 0.95, true).low);
}

static void difference_of_rows(void *context, uint64_t count)
{
	const struct rows *rows = context;

	for (uint64_t i = 0; i < count; i++)
		bench_keep(gg_difference_of(&rows->before[i % ROWS], &rows->after[i % ROWS],
		                            GG_BYTES, 1, 0.95)
		                   .p_value);
}

static void bench_rows(void)
{
	static struct rows few, usual, many, large;
	struct bench_case cases[] = {
		{ .name = "difference, 2 to 6 samples",
		  .run = difference_of_rows,
		  .context = &few },
		{ .name = "difference, 30 to 90", .run = difference_of_rows, .context = &usual },
		{ .name = "difference, 1000 to 3000", .run = difference_of_rows, .context = &many },
		{ .name = "difference, 30 to 90, up to 4 MiB",
		  .run = difference_of_rows,
		  .context = &large },
		{ .name = "interval, 2 to 6 samples", .run = interval_of_rows, .context = &few },
		{ .name = "interval, 30 to 90", .run = interval_of_rows, .context = &usual },
		{ .name = "interval, 1000 to 3000", .run = interval_of_rows, .context = &many },
	};

	fill_rows(&few, 2, 4096);
	fill_rows(&usual, 30, 4096);
	fill_rows(&many, 1000, 4096);
	fill_rows(&large, 30, 1 << 22);
	bench_run("A row of a report", "row", cases, GG_COUNT(cases));
}

int main(void)
{
	fill_sizes();
	bench_decisions();
	bench_draws();
	bench_functions();
	bench_rows();
	return 0;
}
