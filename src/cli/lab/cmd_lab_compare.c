/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_lab_compare - `geiger lab compare`: samples one trace by every scheme and compares the
 * estimates.
 *
 * Each scheme samples the trace run_count times.  The truth of a trace is known, so the command can
 * show three properties of the estimates: the bias, which must be about 0; the variance, also as a
 * ratio to the formula, which must be about 1; and the coverage of the confidence intervals, which
 * must reach the nominal one.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/size.h"
#include "cli/lab/lab.h"
#include "cli/lab/lab_trace.h"
#include "report/plot.h"
#include "report/text_table.h"
#include "stats/lab/trial.h"
#include "stats/sampling/scheme.h"

struct compare_options {
	const char *sizes, *svg;
	uint64_t interval_bytes, run_count, seed;
	double confidence;
	int focus; /* enum gg_focus */
	bool json;
};

enum { SCHEMES = 7, COMPARED_POINTS = 40 };

/*
 * "optimal, known" plans by the trace's own sizes and lifetimes; "optimal" learns them from the
 * samples of each run.
 */
static const char *const names[SCHEMES] = {
	"poisson", "bernoulli", "poisson-count", "stride", "coin", "optimal, known", "optimal",
};
static const enum gg_scheme schemes[SCHEMES] = {
	GG_SCHEME_POISSON,        GG_SCHEME_BERNOULLI, GG_SCHEME_POISSON_COUNT, GG_SCHEME_STRIDE,
	GG_SCHEME_PER_ALLOCATION, GG_SCHEME_OPTIMAL,   GG_SCHEME_OPTIMAL,
};
enum { KNOWN = 5, LEARNED = 6 };

/*
 * Plans every scheme so that it takes as many samples as poisson at that interval.  Only at equal
 * numbers of samples does a smaller variance mean a better scheme.  `rates` must outlive the plans.
 */
static void plan_schemes(const struct gg_trace *trace, double interval, enum gg_focus focus,
                         struct gg_optimal_rates *rates, struct gg_trial_plan plans[SCHEMES])
{
	double samples = gg_trace_expected_samples(trace, interval);
	double allocations = gg_trace_sum(trace, GG_ALLOCATIONS, false, GG_TRACE_ALL);
	struct gg_optimal_bounds bounds = gg_optimal_bounds_of(interval);
	struct gg_optimal_class classes[GG_SIZE_CLASS_COUNT];

	for (int i = 0; i < SCHEMES; i++)
		plans[i] = (struct gg_trial_plan){
			.name = names[i],
			.options = { .scheme = schemes[i], .sampling_interval = interval },
			.learns = i == LEARNED,
			.focus = focus,
		};
	/* The interval of the scheme per-allocation counts allocations: one in so many. */
	plans[4].options.sampling_interval = fmax(1, allocations / fmax(samples, 1e-9));
	gg_trial_classes(trace, classes);
	for (int i = 0; focus == GG_FOCUS_ALLOCATED && i < GG_SIZE_CLASS_COUNT; i++)
		/*
		 * For the focus on allocated bytes every block counts, so the plan treats all
		 * blocks as live.
		 */
		classes[i].live = classes[i].allocated;
	if (gg_optimal_rates_plan(classes, samples, &bounds, rates) == 0)
		plans[KNOWN].options.rates = rates;
}

/* A trace may have nothing live; its shares are 0 then and not NaN. */
static double share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

/*
 * Prints bias and deviation of the estimates as shares of the truth.  Behind the bias stands its
 * standard error: a bias within twice that error may be chance.
 */
static int print_errors(const struct gg_trial_result *results, enum gg_quantity unit,
                        const struct gg_style *style)
{
	GG_CLEANUP(gg_text_table_done) struct gg_text_table table = { 0 };
	const enum gg_trial_quantity first = unit == GG_BYTES ? GG_TRIAL_LIVE_BYTES
	                                                      : GG_TRIAL_LIVE_COUNT;
	char number[GG_LAB_NUMBER_MAX];

	printf("%s: bias (with its standard error) and standard deviation in %% of the\n"
	       "truth, and variance over the formula's\n\n",
	       unit == GG_BYTES ? "Bytes" : "Allocations");
	gg_text_table_column(&table, GG_ALIGN_LEFT, "scheme");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "samples");
	for (int q = 0; q < 2; q++) {
		gg_text_table_column(&table, GG_ALIGN_RIGHT, q == 0 ? "live: bias" : "all: bias");
		gg_text_table_column(&table, GG_ALIGN_RIGHT, "dev.");
		gg_text_table_column(&table, GG_ALIGN_RIGHT, "var.");
	}
	for (int i = 0; i < SCHEMES; i++) {
		gg_text_table_cell(&table, "%s", names[i]);
		gg_text_table_cell(&table, "%s", gg_lab_number(results[i].mean_samples, number));
		for (int q = 0; q < 2; q++) {
			const struct gg_trial_figure *f = &results[i].figures[(int)first + q];

			gg_text_table_cell(&table, "%+.2g (%.1g)",
			                   100 * share(f->mean - f->truth, f->truth),
			                   100 * share(f->mean_error, f->truth));
			gg_text_table_cell(&table, "%.3g",
			                   100 * share(sqrt(f->variance), f->truth));
			/* Some pairs of scheme and quantity have no formula. */
			if (isnan(f->formula) || f->formula == 0)
				gg_text_table_cell(&table, "-");
			else
				gg_text_table_cell(&table, "%.2f", f->variance / f->formula);
		}
	}
	return gg_text_table_print(&table, style, stdout);
}

/* A cell has the coverage in % and, behind it, the mean width of the interval over the truth. */
static int print_coverage(const struct gg_trial_result *results, enum gg_trial_quantity quantity,
                          enum gg_population population, const struct gg_style *style)
{
	GG_CLEANUP(gg_text_table_done) struct gg_text_table table = { 0 };

	printf("%s, %s: coverage in %%, mean width over the truth\n\n",
	       gg_trial_quantity_name(quantity), gg_lab_population_names[population]);
	gg_text_table_column(&table, GG_ALIGN_LEFT, "scheme");
	for (size_t k = 0; k < GG_COUNT(gg_lab_methods); k++)
		gg_text_table_column(&table, GG_ALIGN_RIGHT, gg_lab_methods[k].head);
	for (int i = 0; i < SCHEMES; i++) {
		gg_text_table_cell(&table, "%s", names[i]);
		for (size_t k = 0; k < GG_COUNT(gg_lab_methods); k++) {
			const struct gg_cell *cell =
				&results[i].cells[gg_lab_methods[k].kind][quantity][population];

			if (cell->run_count == 0)
				gg_text_table_cell(&table, "-");
			else
				gg_text_table_cell(&table, "%.1f %.*f", 100 * cell->covered,
				                   cell->width < 10 ? 2 : 0, cell->width);
		}
	}
	return gg_text_table_print(&table, style, stdout);
}

/* Prints the size of the trace and of the experiment, so that the tables have their scale. */
static void print_head(const struct gg_trace *trace, const struct compare_options *o)
{
	char all[GG_SIZE_TEXT_MAX], live[GG_SIZE_TEXT_MAX], every[GG_SIZE_TEXT_MAX];

	printf("%s in %.0f allocations, %s of them live at the end, in %u groups;\n"
	       "sampled every %s on average, %" PRIu64 " runs of each scheme\n\n",
	       gg_size_format_short(gg_trace_sum(trace, GG_BYTES, false, GG_TRACE_ALL), all),
	       gg_trace_sum(trace, GG_ALLOCATIONS, false, GG_TRACE_ALL),
	       gg_size_format_short(gg_trace_sum(trace, GG_BYTES, true, GG_TRACE_ALL), live),
	       trace->group_count, gg_size_format_short((double)o->interval_bytes, every),
	       o->run_count);
}

/* Prints by how much the best plan lowers the variance, by the formulas and as measured. */
static void print_gain(const struct gg_trial_result *results, enum gg_focus focus)
{
	int q = focus == GG_FOCUS_LIVE ? GG_TRIAL_LIVE_BYTES : GG_TRIAL_ALLOCATED_BYTES;
	const struct gg_trial_figure *poisson = &results[0].figures[q],
				     *known = &results[KNOWN].figures[q],
				     *learned = &results[LEARNED].figures[q];

	if (!(known->variance > 0 && learned->variance > 0 && known->formula > 0))
		return;
	printf("\nThe variance of %s falls, at equal samples, to one in\n"
	       "  %.3g by the formula, %.3g measured, where sizes and lives are known;\n"
	       "  %.3g measured, where they are learned.\n",
	       gg_trial_quantity_name((enum gg_trial_quantity)q), poisson->formula / known->formula,
	       poisson->variance / known->variance, poisson->variance / learned->variance);
}

/*
 * Prints the tables of errors for bytes and allocations, the gain of the optimal plan, and a table
 * of coverage for each quantity and population.
 */
static int print_text(const struct gg_trace *trace, const struct gg_trial_result *results,
                      const struct compare_options *o, const struct gg_style *style)
{
	int status;

	print_head(trace, o);
	status = print_errors(results, GG_BYTES, style);
	putchar('\n');
	if (status == 0)
		status = print_errors(results, GG_ALLOCATIONS, style);
	print_gain(results, (enum gg_focus)o->focus);
	for (int q = 0; status == 0 && q < GG_TRIAL_QUANTITY_COUNT; q++) {
		for (int p = 0; status == 0 && p < GG_POPULATION_COUNT; p++) {
			putchar('\n');
			status = print_coverage(results, (enum gg_trial_quantity)q,
			                        (enum gg_population)p, style);
		}
	}
	printf("\n'coin' samples each allocation by itself, one in as many; 'optimal, known' plans\n"
	       "by the trace itself, 'optimal' by what its samples told so far.\n");
	return status;
}

static void json_figure(struct gg_json *json, const struct gg_trial_figure *figure,
                        enum gg_trial_quantity quantity)
{
	gg_json_open(json, NULL, '{');
	gg_json_text(json, "quantity", gg_trial_quantity_name(quantity));
	gg_json_number(json, "truth", figure->truth);
	gg_json_number(json, "mean", figure->mean);
	gg_json_number(json, "mean_error", figure->mean_error);
	gg_json_number(json, "variance", figure->variance);
	gg_json_number(json, "variance_error", figure->variance_error);
	gg_json_number(json, "formula_variance", figure->formula); /* null: there is no formula */
	gg_json_close(json);
}

static void json_result(struct gg_json *json, const struct gg_trial_plan *plan,
                        const struct gg_trial_result *result)
{
	gg_json_open(json, NULL, '{');
	gg_json_text(json, "scheme", plan->name);
	gg_json_number(json, "interval", plan->options.sampling_interval);
	gg_json_number(json, "samples", result->mean_samples);
	gg_json_open(json, "figures", '[');
	for (int q = 0; q < GG_TRIAL_QUANTITY_COUNT; q++)
		json_figure(json, &result->figures[q], (enum gg_trial_quantity)q);
	gg_json_close(json);
	gg_json_open(json, "intervals", '[');
	for (int k = 0; k < GG_INTERVAL_METHOD_COUNT; k++) {
		for (int q = 0; q < GG_TRIAL_QUANTITY_COUNT; q++) {
			for (int p = 0; p < GG_POPULATION_COUNT; p++) {
				const struct gg_cell *cell = &result->cells[k][q][p];

				if (cell->run_count == 0)
					continue;
				gg_json_open(json, NULL, '{');
				gg_json_text(json, "kind",
				             gg_interval_method_name((enum gg_interval_method)k));
				gg_json_text(json, "quantity",
				             gg_trial_quantity_name((enum gg_trial_quantity)q));
				gg_json_text(json, "population", gg_lab_population_names[p]);
				gg_json_integer(json, "groups", cell->run_count);
				gg_json_number(json, "covered", cell->covered);
				gg_json_number(json, "covered_all_sizes", cell->covered_all_sizes);
				gg_json_number(json, "width", cell->width);
				gg_json_close(json);
			}
		}
	}
	gg_json_close(json);
	gg_json_close(json);
}

static int print_json(const struct gg_trace *trace, const struct gg_trial_plan *plans,
                      const struct gg_trial_result *results, const struct compare_options *o,
                      struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_json json = { .out = &text };

	gg_lab_json_open(&json);
	gg_json_text(&json, "sizes", o->sizes);
	gg_json_number(&json, "interval_bytes", (double)o->interval_bytes);
	gg_json_number(&json, "confidence", o->confidence);
	gg_json_integer(&json, "runs", o->run_count);
	gg_json_integer(&json, "groups", trace->group_count);
	gg_json_number(&json, "allocations",
	               gg_trace_sum(trace, GG_ALLOCATIONS, false, GG_TRACE_ALL));
	gg_json_open(&json, "schemes", '[');
	for (int i = 0; i < SCHEMES; i++)
		json_result(&json, &plans[i], &results[i]);
	gg_json_close(&json);
	return gg_lab_json_print(&json, error);
}

/*
 * Draws the error by the formulas over the number of samples, from a tenth to ten times as many as
 * now.  The series end before LEARNED, which has no formula.
 */
static int save_svg(const struct gg_trace *trace, const struct compare_options *o,
                    struct gg_error *error)
{
	static double x[COMPARED_POINTS], y[2][LEARNED][COMPARED_POINTS];
	struct gg_plot_series series[2][LEARNED];
	struct gg_plot plots[2] = { { .title = "Live bytes" }, { .title = "Allocated bytes" } };
	GG_CLEANUP(gg_buf_done) struct gg_buf picture = { 0 };
	struct gg_optimal_rates rates;

	for (int i = 0; i < COMPARED_POINTS; i++) {
		double interval = (double)o->interval_bytes *
		                  pow(10, 1 - 2 * (double)i / (COMPARED_POINTS - 1));
		struct gg_trial_plan plans[SCHEMES];

		plan_schemes(trace, fmax(interval, 1), (enum gg_focus)o->focus, &rates, plans);
		x[i] = gg_trace_expected_samples(trace, fmax(interval, 1));
		for (int scheme = 0; scheme < LEARNED; scheme++) {
			for (int q = 0; q < 2; q++) {
				enum gg_trial_quantity quantity = q == 0 ? GG_TRIAL_LIVE_BYTES
				                                         : GG_TRIAL_ALLOCATED_BYTES;

				y[q][scheme][i] = share(
					sqrt(gg_trial_formula(trace, &plans[scheme], quantity)),
					gg_trace_sum(trace, GG_BYTES, q == 0, GG_TRACE_ALL));
			}
		}
	}
	for (int q = 0; q < 2; q++) {
		for (int scheme = 0; scheme < LEARNED; scheme++)
			series[q][scheme] = (struct gg_plot_series){ names[scheme], x, y[q][scheme],
				                                     COMPARED_POINTS };
		plots[q].x = (struct gg_plot_axis){ "samples", GG_PLOT_NUMBER, true };
		plots[q].y = (struct gg_plot_axis){ "standard deviation / truth", GG_PLOT_PERCENT,
			                            true };
		plots[q].series = series[q];
		plots[q].series_count = LEARNED;
	}
	gg_plot_svg(plots, 2, &picture);
	return gg_lab_save(&picture, o->svg, error);
}

static int compare(const struct gg_trace *trace, const struct compare_options *o,
                   struct gg_trial_result *results, const struct gg_style *style,
                   struct gg_error *error)
{
	struct gg_trial_plan plans[SCHEMES];
	struct gg_optimal_rates rates;
	int status = 0;

	/*
	 * Each scheme draws from a seed of its own, so the results of two schemes are independent.
	 */
	plan_schemes(trace, (double)o->interval_bytes, (enum gg_focus)o->focus, &rates, plans);
	for (int i = 0; status == 0 && i < SCHEMES; i++)
		status = gg_trial_run(trace, &plans[i], o->run_count, o->confidence,
		                      o->seed + (uint64_t)i, &results[i]);
	if (status < 0)
		return gg_error_set_errno(error, -status, "lab compare", NULL);
	status = o->json ? print_json(trace, plans, results, o, error)
	                 : print_text(trace, results, o, style);
	if (status == 0 && o->svg != NULL)
		status = save_svg(trace, o, error);
	return status;
}

static int run(struct gg_invocation *invocation)
{
	const struct compare_options *o = invocation->options;
	struct gg_error *error = invocation->error;
	struct gg_trace trace = { 0 };
	struct gg_trial_result *results;
	int status = gg_lab_check_confidence(o->confidence, "lab compare", error);

	if (status == 0)
		status = gg_lab_check_interval(o->interval_bytes, "lab compare", error);
	if (status < 0)
		return status;
	if (o->sizes == NULL)
		return gg_error_set(error, -EINVAL, "lab compare", "Try --sizes lognormal.",
		                    "--sizes is not given");
	if (o->run_count < 2 || o->run_count > 1000000)
		return gg_error_set(error, -EINVAL, "lab compare: --runs",
		                    "Give 2 to 1000000; 200 for two digits.", "out of range");
	status = gg_lab_trace_load(&trace, o->sizes, o->seed, error);
	if (status < 0)
		return status;
	results = calloc(SCHEMES, sizeof(*results));
	status = results != NULL ? compare(&trace, o, results, &invocation->style, error)
	                         : gg_error_memory(error, "lab compare");
	free(results);
	gg_trace_done(&trace);
	return status;
}

static const struct gg_option options[] = {
	{ "sizes", 's', GG_OPTION_TEXT, offsetof(struct compare_options, sizes), "TRACE",
	  "what is allocated: a law, a file, a profile" },
	{ "interval", 'i', GG_OPTION_SIZE, offsetof(struct compare_options, interval_bytes), "SIZE",
	  "mean sampling interval (512KiB)" },
	{ "runs", 'n', GG_OPTION_COUNT, offsetof(struct compare_options, run_count), "N",
	  "runs of each scheme (200)" },
	{ "confidence", 'c', GG_OPTION_NUMBER, offsetof(struct compare_options, confidence), "P",
	  "nominal coverage (0.95)" },
	{ "focus", 0, GG_OPTION_CHOICE, offsetof(struct compare_options, focus), "live|allocated",
	  "what the optimal schemes are for (live)" },
	{ "seed", 0, GG_OPTION_COUNT, offsetof(struct compare_options, seed), "N",
	  "of the random numbers (1)" },
	{ "json", 0, GG_OPTION_FLAG, offsetof(struct compare_options, json), NULL, "print JSON" },
	{ "svg", 0, GG_OPTION_TEXT, offsetof(struct compare_options, svg), "FILE",
	  "also draw the errors over the samples spent" },
	GG_OPTIONS_END,
};

const struct gg_command gg_command_lab_compare = {
	.name = "lab compare",
	.summary = "every scheme on one trace: bias, variance, coverage",
	.usage = "--sizes TRACE [OPTION]...",
	.details = "Samples one trace many times by every scheme, each with as many samples as\n"
		   "poisson takes at the interval, and compares the estimates with the truth. The\n"
		   "trace is one of: " GG_LAB_TRACE_HELP "\n"
		   "  geiger lab compare --sizes lognormal:median=100 --interval 64KiB\n"
		   "  geiger lab compare --sizes sqlite3.geiger --svg compare.svg\n",
	.options = options,
	.options_size = sizeof(struct compare_options),
	.option_defaults = &(
		const struct compare_options){ .interval_bytes = GG_DEFAULT_INTERVAL_BYTES,
	                                       .run_count = 200,
	                                       .seed = 1,
	                                       .confidence = 0.95 },
	.run = run,
};
