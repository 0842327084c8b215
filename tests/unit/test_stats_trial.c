/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stats_trial - compares schemes on one trace.
 *
 * It checks their bias, their variance against the formula, and what the optimal plan gains, known
 * and learned.  Bounds are 5 sigma; for a variance, sigma comes from the fourth moment of the runs.
 */
#include "stats/lab/trial.h"

#include <math.h>

#include "stats/sampling/weight.h"
#include "test.h"

#define SIGMAS 5
#define KIB    1024.0

static void add(struct gg_trace *trace, uint64_t size, uint64_t count, uint64_t live,
                uint32_t group)
{
	CHECK_EQ_I64(gg_trace_add(trace, &(struct gg_trace_part){ size, live, group, true }), 0);
	CHECK_EQ_I64(
		gg_trace_add(trace, &(struct gg_trace_part){ size, count - live, group, false }),
		0);
}

/* 999 of 1000 bytes survive with 1e-5, the rest with one half; 1 GB. */
static void fill_server(struct gg_trace *trace)
{
	add(trace, 64, 7800 * 1000, 78, 0);
	add(trace, 512, 980 * 1000, 10, 1);
	add(trace, 96, 5200, 2600, 2);
	add(trace, 640, 780, 390, 3);
}

/* All sizes live equally long: nothing to be gained but by large ones. */
static void fill_even(struct gg_trace *trace)
{
	for (uint32_t i = 0; i < 10; i++)
		add(trace, UINT64_C(16) << i, UINT64_C(200000) >> i, UINT64_C(20000) >> i, i);
}

/* A cache: large blocks stay, small ones come and go. */
static void fill_cache(struct gg_trace *trace)
{
	add(trace, 48, 2000 * 1000, 2000, 0);
	add(trace, 200, 300 * 1000, 1000, 1);
	add(trace, 4096, 5000, 4000, 2);
	add(trace, 65536, 200, 10, 3);
}

typedef void fill(struct gg_trace *trace);
static fill *const fills[] = { fill_server, fill_even, fill_cache };
static const char *const fill_names[] = { "server", "even", "cache" };

struct prepared {
	struct gg_trace trace;
	struct gg_optimal_rates rates;
	double sampling_interval;
};

static void prepare(struct prepared *p, int which, double samples)
{
	struct gg_optimal_class classes[GG_SIZE_CLASS_COUNT];
	struct gg_optimal_bounds bounds;

	*p = (struct prepared){ 0 };
	fills[which](&p->trace);
	CHECK_EQ_I64(gg_trace_mix(&p->trace, 64, 7), 0);
	p->sampling_interval = gg_trace_sum(&p->trace, GG_BYTES, false, GG_TRACE_ALL) / samples;
	bounds = gg_optimal_bounds_of(p->sampling_interval);
	gg_trial_classes(&p->trace, classes);
	CHECK_EQ_I64(gg_optimal_rates_plan(
			     classes, gg_trace_expected_samples(&p->trace, p->sampling_interval),
			     &bounds, &p->rates),
	             0);
}

static struct gg_trial_plan plan_of(const struct prepared *p, enum gg_scheme scheme, bool learns)
{
	return (struct gg_trial_plan){
		.options = { .scheme = scheme,
		             .sampling_interval = p->sampling_interval,
		             .rates = scheme == GG_SCHEME_OPTIMAL && !learns ? &p->rates : NULL },
		.learns = learns,
	};
}

static void check_figures(const char *what, const struct gg_trial_result *result, bool has_formula)
{
	for (int q = 0; q < GG_TRIAL_QUANTITY_COUNT; q++) {
		const struct gg_trial_figure *f = &result->figures[q];

		CHECK_MSG(fabs(f->mean - f->truth) <= SIGMAS * f->mean_error,
		          "%s, %s: %g of %g, sigma %g", what,
		          gg_trial_quantity_name((enum gg_trial_quantity)q), f->mean, f->truth,
		          f->mean_error);
		if (has_formula)
			CHECK_MSG(fabs(f->variance - f->formula) <= SIGMAS * f->variance_error,
			          "%s, %s: variance %g, by formula %g, sigma %g", what,
			          gg_trial_quantity_name((enum gg_trial_quantity)q), f->variance,
			          f->formula, f->variance_error);
		else
			CHECK(isnan(f->formula));
	}
}

TEST(passing_over_what_is_not_due_changes_nothing)
{
	for (int scheme = 0; scheme < GG_SCHEME_COUNT; scheme++) {
		struct prepared p;
		struct gg_trial_plan plan;
		struct gg_trace single = { 0 };
		struct gg_trial_result whole, apart;

		prepare(&p, 2, 300);
		plan = plan_of(&p, (enum gg_scheme)scheme, false);
		/*
		 * The same allocations in the same order, each piece a part of its own, so that
		 * none is passed over together with others.
		 */
		for (size_t i = 0; i < p.trace.parts.count; i++) {
			struct gg_trace_part one = p.trace.parts.items[i];
			uint64_t pieces = one.count < 50 ? one.count : 50, left = one.count;

			for (; pieces > 0; pieces--) {
				one.count = left / pieces;
				left -= one.count;
				CHECK_EQ_I64(gg_trace_add(&single, &one), 0);
			}
		}
		CHECK_EQ_I64(gg_trial_run(&p.trace, &plan, 3, 0.95, 5, &whole), 0);
		CHECK_EQ_I64(gg_trial_run(&single, &plan, 3, 0.95, 5, &apart), 0);
		for (int q = 0; q < GG_TRIAL_QUANTITY_COUNT; q++)
			CHECK_EQ_DOUBLE(whole.figures[q].mean, apart.figures[q].mean);
		gg_trace_done(&single);
		gg_trace_done(&p.trace);
	}
}

TEST(every_scheme_is_unbiased_with_the_variance_of_its_formula)
{
	static const enum gg_scheme schemes[] = { GG_SCHEME_POISSON, GG_SCHEME_BERNOULLI,
		                                  GG_SCHEME_POISSON_COUNT, GG_SCHEME_OPTIMAL };

	for (size_t which = 0; which < GG_COUNT(fills); which++) {
		for (size_t i = 0; i < GG_COUNT(schemes); i++) {
			struct prepared p;
			struct gg_trial_plan plan;
			struct gg_trial_result result;
			char what[64];

			prepare(&p, (int)which, 1000);
			plan = plan_of(&p, schemes[i], false);
			CHECK_EQ_I64(gg_trial_run(&p.trace, &plan, 600, 0.95, 11, &result), 0);
			snprintf(what, sizeof(what), "%s, %s", fill_names[which],
			         gg_scheme_name(schemes[i]));
			check_figures(what, &result, true);
			gg_trace_done(&p.trace);
		}
	}
}

/* Ratio of two measured variances and its standard error. */
static double ratio_of(const struct gg_trial_figure *a, const struct gg_trial_figure *b,
                       double *ret_error)
{
	double ratio = a->variance / b->variance;

	*ret_error = ratio *
	             hypot(a->variance_error / a->variance, b->variance_error / b->variance);
	return ratio;
}

static void measure_gain(int which, bool learns, double samples, uint64_t runs, struct prepared *p,
                         double *ret_gain, double *ret_error, double *ret_formula)
{
	struct gg_trial_plan poisson, optimal;
	struct gg_trial_result by_bytes, best;

	prepare(p, which, samples);
	poisson = plan_of(p, GG_SCHEME_POISSON, false);
	optimal = plan_of(p, GG_SCHEME_OPTIMAL, learns);
	CHECK_EQ_I64(gg_trial_run(&p->trace, &poisson, runs, 0.95, 21, &by_bytes), 0);
	CHECK_EQ_I64(gg_trial_run(&p->trace, &optimal, runs, 0.95, 22, &best), 0);
	check_figures(fill_names[which], &best, !learns);
	/*
	 * Both schemes take nearly as many samples.  A plan that learns samples sizes densely that
	 * it has not seen before.
	 */
	CHECK_MSG(best.mean_samples < by_bytes.mean_samples * (learns ? 1.12 : 1.02), "%g of %g",
	          best.mean_samples, by_bytes.mean_samples);
	*ret_gain = ratio_of(&by_bytes.figures[GG_TRIAL_LIVE_BYTES],
	                     &best.figures[GG_TRIAL_LIVE_BYTES], ret_error);
	optimal = plan_of(p, GG_SCHEME_OPTIMAL, false);
	*ret_formula = gg_trial_formula(&p->trace, &poisson, GG_TRIAL_LIVE_BYTES) /
	               gg_trial_formula(&p->trace, &optimal, GG_TRIAL_LIVE_BYTES);
}

TEST(the_optimal_plan_gains_what_the_formula_says_on_three_traces)
{
	for (int which = 0; which < (int)GG_COUNT(fills); which++) {
		double gain, error, formula;
		struct prepared p;

		measure_gain(which, false, 4000, 600, &p, &gain, &error, &formula);
		CHECK_MSG(fabs(gain - formula) <= SIGMAS * error, "%s: %g, formula %g, sigma %g",
		          fill_names[which], gain, formula, error);
		CHECK_MSG(which != 0 || formula >= 10, "server: %g", formula);
		gg_trace_done(&p.trace);
	}
}

TEST(what_is_learned_gains_at_least_half_of_what_is_known)
{
	double gain, error, formula;
	struct prepared p;

	measure_gain(0, true, 20000, 400, &p, &gain, &error, &formula);
	CHECK_MSG(gain + SIGMAS * error >= formula / 2 && gain - SIGMAS * error >= 5,
	          "%g, known %g, sigma %g", gain, formula, error);
	gg_trace_done(&p.trace);
}

/* The survival that is learned of each class: the truth, within 5 sigma of the samples it has. */
TEST(survival_is_learned_from_samples_however_they_were_drawn)
{
	static struct gg_rate_learning learned;
	struct gg_optimal_class classes[GG_SIZE_CLASS_COUNT];
	struct gg_sampler s = { 0 };
	struct gg_sampler_options options = { .sampling_interval = 20000, .seed = 5 };

	gg_sampler_init(&s, &options);
	for (int i = 0; i < 3000 * 1000; i++) {
		uint64_t size = i % 3 == 0 ? 64 : 200;
		struct gg_draw draw;

		if (i % 100000 == 0) {
			options.sampling_interval = options.sampling_interval == 20000 ? 5000
			                                                               : 20000;
			gg_sampler_change(&s, &options);
		}
		if (!gg_sampler_due(&s, size) || !gg_sampler_take(&s, size, &draw))
			continue;
		gg_rate_learning_allocated(&learned, gg_weight_of(&draw, size).count, size);
		if (size == 200 || i % 10 != 0)
			gg_rate_learning_freed(&learned, gg_weight_of(&draw, size).count, size);
	}
	gg_rate_learning_classes(&learned, GG_FOCUS_LIVE, classes);
	for (int large = 0; large < 2; large++) {
		const struct gg_optimal_class *class = &classes[gg_size_class(large ? 200 : 64)];
		double n = (double)learned.samples[gg_size_class(large ? 200 : 64)];
		double truth = large ? 0 : 0.1, count = large ? 2e6 : 1e6;

		/*
		 * Weights differ by a factor of 4, so at least 0.64 of the samples are effective.
		 */
		CHECK_MSG(fabs(class->allocated / count - 1) < SIGMAS / sqrt(0.64 * n), "%g of %g",
		          class->allocated, count);
		CHECK_MSG(fabs(class->live / class->allocated - truth) <
		                  1 / n + SIGMAS * sqrt(truth * (1 - truth) / (0.64 * n)),
		          "%g of %g", class->live / class->allocated, truth);
	}
	gg_rate_learning_classes(&learned, GG_FOCUS_ALLOCATED, classes);
	CHECK_EQ_DOUBLE(classes[gg_size_class(200)].live, classes[gg_size_class(200)].allocated);
}

TEST(plans_come_a_quarter_later_each_time_and_are_bounded)
{
	uint64_t at = gg_rate_learning_next(0);
	int plans = 1;

	CHECK_EQ_U64(at, GG_RATE_LEARNING_FIRST);
	for (; at < UINT64_C(1) << 40; plans++)
		at = gg_rate_learning_next(at);
	CHECK(plans <= GG_RATE_LEARNING_PLANS_MAX);
}
