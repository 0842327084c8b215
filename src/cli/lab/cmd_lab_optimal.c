/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_lab_optimal - `geiger lab optimal`: the gain of optimal sampling for a recorded program.
 *
 * It shows which sizes the program allocates and keeps, how `poisson` and the optimal plan would
 * sample them, and how the error of live (or allocated) bytes changes.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "base/size.h"
#include "cli/lab/lab.h"
#include "cli/lab/lab_trace.h"
#include "report/screen_text.h"
#include "report/text_table.h"
#include "stats/lab/trial.h"

struct optimal_options {
	uint64_t interval_bytes, limit;
	int focus; /* enum gg_focus */
	int moment;
	bool json;
};

/* The data of a program, and the plans for it. */
struct study {
	struct gg_trace trace;
	char **names; /* names of the trace's groups */
	struct gg_optimal_class classes[GG_SIZE_CLASS_COUNT];
	struct gg_optimal_rates rates;
	double interval_bytes, samples;
	enum gg_focus focus;
};

/*
 * Sums over a set of allocations: variances under the two plans, and the samples that the plans
 * take.
 */
struct sums {
	double allocated_bytes, live_bytes;
	double poisson_variance, optimal_variance;
	double poisson_samples, optimal_samples;
};

/* The probability that a block of this size is sampled at this interval. */
static double p_at(double size, double interval)
{
	/* 1 - exp(-size / interval), without cancellation for small sizes. */
	return -expm1(-fmax(size, 1) / interval);
}

static void add(struct sums *sums, const struct study *study, const struct gg_trace_part *part)
{
	double size = (double)part->size_bytes, count = (double)part->count;
	double p = p_at(size, study->interval_bytes);
	double q = p_at(size, study->rates.intervals[gg_size_class(part->size_bytes)]);
	bool counts = part->is_live || study->focus == GG_FOCUS_ALLOCATED;

	sums->allocated_bytes += count * size;
	sums->live_bytes += part->is_live ? count * size : 0;
	sums->poisson_samples += count * p;
	sums->optimal_samples += count * q;
	/*
	 * The Horvitz-Thompson estimate of a block is size / p with probability p and 0 otherwise.
	 * Its variance is size^2 (1 - p) / p.  Blocks that the focus leaves out cost samples but
	 * add no error.
	 */
	sums->poisson_variance += counts ? count * size * size * (1 - p) / p : 0;
	sums->optimal_variance += counts ? count * size * size * (1 - q) / q : 0;
}

/*
 * Returns (sum Z l)(sum Z a) / (sum Z sqrt(l a))^2, the ratio of the variances while every p is
 * small.  Z is a size, l the number of live and a that of allocated blocks.
 */
static double ratio_of_theory(const struct study *study)
{
	double live = 0, allocated = 0, both = 0;

	for (int i = 0; i < GG_SIZE_CLASS_COUNT; i++) {
		const struct gg_optimal_class *class = &study->classes[i];

		live += class->size_bytes * class->live;
		allocated += class->size_bytes * class->allocated;
		both += class->size_bytes * sqrt(class->live * class->allocated);
	}
	return both > 0 ? live * allocated / (both * both) : 1;
}

static struct sums sum_all(const struct study *study)
{
	struct sums sums = { 0 };

	for (size_t i = 0; i < study->trace.parts.count; i++)
		add(&sums, study, &study->trace.parts.items[i]);
	return sums;
}

/* Returns the sums for each group of the trace, or NULL if memory is out. */
static struct sums *sum_groups(const struct study *study)
{
	struct sums *sums = calloc(study->trace.group_count + 1, sizeof(*sums));

	for (size_t i = 0; sums != NULL && i < study->trace.parts.count; i++)
		add(&sums[study->trace.parts.items[i].group], study, &study->trace.parts.items[i]);
	return sums;
}

static double wanted_bytes(const struct study *study, const struct sums *sums)
{
	return study->focus == GG_FOCUS_LIVE ? sums->live_bytes : sums->allocated_bytes;
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

/* --- text ------------------------------------------------------------------------------------ */

/*
 * Prints a row for each size class with a noticeable share of the samples: its memory, and its
 * probabilities and shares under both plans.  The optimal plan moves samples to sizes with a large
 * l/a, which stay alive.
 */
static int print_classes(const struct study *study, const struct gg_style *style)
{
	GG_CLEANUP(gg_text_table_done) struct gg_text_table table = { 0 };
	struct sums all = sum_all(study);

	printf("By size: bytes allocated (a) and alive (l), and each size's share of the samples\n\n");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "size");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "allocated");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "alive");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "l/a");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "p poisson");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "share");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "p optimal");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "share");
	for (unsigned i = 0; i < GG_SIZE_CLASS_COUNT; i++) {
		const struct gg_optimal_class *class = &study->classes[i];
		double p = p_at(class->size_bytes, study->interval_bytes);
		double q = p_at(class->size_bytes, study->rates.intervals[i]);
		char size[GG_SIZE_TEXT_MAX], bytes[GG_SIZE_TEXT_MAX], live[GG_SIZE_TEXT_MAX];

		/* Leaves out sizes with less than 0.1 % of the samples under both plans. */
		if (percent(class->allocated * p, all.poisson_samples) < 0.1 &&
		    percent(class->allocated * q, all.optimal_samples) < 0.1)
			continue;
		gg_text_table_cell(&table, "%s", gg_size_format_short(class->size_bytes, size));
		gg_text_table_cell(
			&table, "%s",
			gg_size_format_short(class->allocated * class->size_bytes, bytes));
		gg_text_table_cell(&table, "%s",
		                   gg_size_format_short(class->live * class->size_bytes, live));
		gg_text_table_cell(&table, "%.2g", class->live / class->allocated);
		gg_text_table_cell(&table, "%.2g", p);
		gg_text_table_cell(&table, "%.1f %%",
		                   percent(class->allocated * p, all.poisson_samples));
		gg_text_table_cell(&table, "%.2g", q);
		gg_text_table_cell(&table, "%.1f %%",
		                   percent(class->allocated * q, all.optimal_samples));
	}
	return gg_text_table_print(&table, style, stdout);
}

static const struct study *sorted_by; /* for compare_groups(): qsort() has no context */
static const struct sums *sorted;

static int compare_groups(const void *a, const void *b)
{
	double x = wanted_bytes(sorted_by, &sorted[*(const uint32_t *)a]);
	double y = wanted_bytes(sorted_by, &sorted[*(const uint32_t *)b]);

	return (x < y) - (x > y);
}

/*
 * Prints the call sites with the most wanted bytes, and the standard deviation of their estimates
 * under both plans.
 */
static int print_sites(const struct study *study, const struct sums *groups, uint64_t limit,
                       const struct gg_style *style)
{
	enum { NUMBERS = 44 }; /* cells that the other columns may take */
	GG_CLEANUP(gg_text_table_done) struct gg_text_table table = { 0 };
	size_t room = gg_screen_text_name_width(STDOUT_FILENO);
	size_t width = room > NUMBERS + 36 ? room - NUMBERS : 36;
	uint32_t count = study->trace.group_count;
	uint32_t *order = calloc(count, sizeof(*order));

	if (order == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	sorted_by = study;
	sorted = groups;
	qsort(order, count, sizeof(*order), compare_groups);
	printf("\nBy call site: standard deviation of its %s bytes, in %% of them\n\n",
	       study->focus == GG_FOCUS_LIVE ? "live" : "allocated");
	gg_text_table_column(&table, GG_ALIGN_RIGHT,
	                     study->focus == GG_FOCUS_LIVE ? "alive" : "allocated");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "poisson");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "optimal");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "variance");
	gg_text_table_column(&table, GG_ALIGN_LEFT, "function");
	for (uint32_t i = 0; i < count && i < limit; i++) {
		const struct sums *sums = &groups[order[i]];
		double bytes = wanted_bytes(study, sums);
		char text[GG_SIZE_TEXT_MAX];
		GG_CLEANUP(gg_buf_done) struct gg_buf name = { 0 };

		if (bytes == 0)
			break;
		gg_text_table_cell(&table, "%s", gg_size_format_short(bytes, text));
		gg_text_table_cell(&table, "%.3g %%", percent(sqrt(sums->poisson_variance), bytes));
		gg_text_table_cell(&table, "%.3g %%", percent(sqrt(sums->optimal_variance), bytes));
		if (sums->optimal_variance > 0)
			gg_text_table_cell(&table, "1/%.3g",
			                   sums->poisson_variance / sums->optimal_variance);
		else
			gg_text_table_cell(&table, "-");
		gg_screen_text_append(&name, study->names[order[i]], width,
		                      !gg_screen_text_is_utf8());
		gg_text_table_cell(&table, "%s", gg_buf_text(&name));
	}
	free(order);
	return gg_text_table_print(&table, style, stdout);
}

static int print_text(const struct study *study, const struct sums *groups, uint64_t limit,
                      const struct gg_style *style)
{
	struct sums all = sum_all(study);
	char interval[GG_SIZE_TEXT_MAX], number[GG_LAB_NUMBER_MAX];
	double bytes = wanted_bytes(study, &all);
	const char *what = study->focus == GG_FOCUS_LIVE ? "live" : "allocated";
	int status;

	printf("At a sampling interval of %s (%s samples), for %s bytes\n\n",
	       gg_size_format_short(study->interval_bytes, interval),
	       gg_lab_number(all.poisson_samples, number), what);
	status = print_classes(study, style);
	if (status == 0)
		status = print_sites(study, groups, limit, style);
	printf("\nAll %s bytes: standard deviation %.3g %% by poisson, %.3g %% by the optimal plan\n"
	       "with %s samples; the variance falls to 1/%.3g (to 1/%.3g if every p were small).\n",
	       what, percent(sqrt(all.poisson_variance), bytes),
	       percent(sqrt(all.optimal_variance), bytes),
	       gg_lab_number(all.optimal_samples, number),
	       all.optimal_variance > 0 ? all.poisson_variance / all.optimal_variance : 1,
	       ratio_of_theory(study));
	return status;
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void json_sums(struct gg_json *json, const struct sums *sums)
{
	gg_json_number(json, "allocated_bytes", sums->allocated_bytes);
	gg_json_number(json, "live_bytes", sums->live_bytes);
	gg_json_number(json, "poisson_variance", sums->poisson_variance);
	gg_json_number(json, "optimal_variance", sums->optimal_variance);
	gg_json_number(json, "poisson_samples", sums->poisson_samples);
	gg_json_number(json, "optimal_samples", sums->optimal_samples);
}

static int print_json(const struct study *study, const struct sums *groups, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_json json = { .out = &text };
	struct sums all = sum_all(study);

	gg_lab_json_open(&json);
	gg_json_number(&json, "interval_bytes", study->interval_bytes);
	gg_json_text(&json, "focus", study->focus == GG_FOCUS_LIVE ? "live" : "allocated");
	json_sums(&json, &all);
	gg_json_number(&json, "variance_ratio_small_p", ratio_of_theory(study));
	gg_json_open(&json, "classes", '[');
	for (unsigned i = 0; i < GG_SIZE_CLASS_COUNT; i++) {
		const struct gg_optimal_class *class = &study->classes[i];

		if (class->allocated == 0)
			continue;
		gg_json_open(&json, NULL, '{');
		gg_json_integer(&json, "from_bytes", gg_size_class_bytes(i));
		gg_json_number(&json, "mean_bytes", class->size_bytes);
		gg_json_number(&json, "allocated", class->allocated);
		gg_json_number(&json, "live", class->live);
		gg_json_number(&json, "p_poisson", p_at(class->size_bytes, study->interval_bytes));
		gg_json_number(&json, "p_optimal",
		               p_at(class->size_bytes, study->rates.intervals[i]));
		gg_json_close(&json);
	}
	gg_json_close(&json);
	gg_json_open(&json, "sites", '[');
	for (uint32_t i = 0; i < study->trace.group_count; i++) {
		gg_json_open(&json, NULL, '{');
		gg_json_text(&json, "function", study->names[i]);
		json_sums(&json, &groups[i]);
		gg_json_close(&json);
	}
	gg_json_close(&json);
	return gg_lab_json_print(&json, error);
}

/* --- the command ----------------------------------------------------------------------------- */

/*
 * Plans with the same number of samples as poisson takes.  For the focus on allocated bytes every
 * block counts, so the plan treats all blocks as live.
 */
static int plan(struct study *study, struct gg_error *error)
{
	struct gg_optimal_bounds bounds = gg_optimal_bounds_of(study->interval_bytes);
	struct gg_optimal_class wanted[GG_SIZE_CLASS_COUNT];

	gg_trial_classes(&study->trace, study->classes);
	study->samples = gg_trace_expected_samples(&study->trace, study->interval_bytes);
	for (int i = 0; i < GG_SIZE_CLASS_COUNT; i++) {
		wanted[i] = study->classes[i];
		if (study->focus == GG_FOCUS_ALLOCATED)
			wanted[i].live = wanted[i].allocated;
	}
	if (gg_optimal_rates_plan(wanted, study->samples, &bounds, &study->rates) < 0)
		return gg_error_set(error, -EINVAL, "lab optimal: --interval", "Give 1 or more.",
		                    "no plan for it");
	return 0;
}

static int run(struct gg_invocation *invocation)
{
	const struct optimal_options *o = invocation->options;
	struct gg_error *error = invocation->error;
	struct study study = { .focus = (enum gg_focus)o->focus };
	struct sums *groups = NULL;
	int status;

	if (invocation->operand_count != 1)
		return gg_error_set(error, -EINVAL, "lab optimal",
		                    "Record one: geiger record -o run.geiger -- COMMAND.",
		                    "give one profile");
	status = gg_lab_trace_profile(&study.trace, invocation->operands[0], o->moment == 0,
	                              &study.names, &study.interval_bytes, error);
	if (status < 0)
		return status;
	if (o->interval_bytes > 0)
		study.interval_bytes = (double)o->interval_bytes;
	status = plan(&study, error);
	if (status == 0) {
		groups = sum_groups(&study);
		if (groups == NULL)
			status = gg_error_memory(error, "lab optimal");
		else
			status = o->json ? print_json(&study, groups, error)
			                 : print_text(&study, groups, o->limit, &invocation->style);
	}
	free(groups);
	gg_lab_trace_names_free(study.names, study.trace.group_count);
	gg_trace_done(&study.trace);
	return status;
}

static const struct gg_option options[] = {
	{ "interval", 'i', GG_OPTION_SIZE, offsetof(struct optimal_options, interval_bytes), "SIZE",
	  "mean sampling interval (the profile's)" },
	{ "focus", 0, GG_OPTION_CHOICE, offsetof(struct optimal_options, focus), "live|allocated",
	  "whose error is to be small (live)" },
	{ "alive", 0, GG_OPTION_CHOICE, offsetof(struct optimal_options, moment), "peak|end",
	  "when (peak)" },
	{ "limit", 'n', GG_OPTION_COUNT, offsetof(struct optimal_options, limit), "N",
	  "call sites to show (15)" },
	{ "json", 0, GG_OPTION_FLAG, offsetof(struct optimal_options, json), NULL, "print JSON" },
	GG_OPTIONS_END,
};

const struct gg_command gg_command_lab_optimal = {
	.name = "lab optimal",
	.summary = "what optimal sampling would gain for a recorded program",
	.usage = "PROFILE [OPTION]...",
	.details =
		"Which sizes the program allocates and which of them stay, how likely each is\n"
		"sampled by poisson and by the plan of least variance with as many samples, and\n"
		"the errors that follow, in total and by call site.  docs/ESTIMATION.md has\n"
		"examples.\n",
	.options = options,
	.options_size = sizeof(struct optimal_options),
	.option_defaults = &(const struct optimal_options){ .limit = 15 },
	.max_operands = 1,
	.run = run,
	.variables = GG_READS_PROFILE,
};
