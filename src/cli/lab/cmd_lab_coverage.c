/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_lab_coverage - `geiger lab coverage`: how often each confidence interval contains the truth.
 *
 * The simulated programs are built in, and --seed makes a run repeatable. docs/ESTIMATION.md shows
 * the tables of such a run.  There is a table for each pair of a quantity (bytes, allocations) and
 * a population (all groups, or only groups that have a sample and are shown).
 */
#include <errno.h>
#include <stdio.h>

#include "base/json.h"
#include "cli/lab/lab.h"
#include "report/text_table.h"
#include "stats/lab/simulate.h"

struct coverage_options {
	uint64_t run_count;
	uint64_t seed;
	double confidence;
	bool markdown;
	bool json;
};

static const char *const quantity_names[] = {
	[GG_BYTES] = "bytes", [GG_ALLOCATIONS] = "allocations"
};
/* The results for one simulated program. */
struct result {
	const struct gg_program *program;
	struct gg_coverage coverage;
};

/*
 * Adds the coverage in % and, behind it, the mean width: an interval from 0 to infinity would
 * always contain the truth.  "-" stands for a cell without any run.
 */
static void add_cell(struct gg_text_table *table, const struct gg_cell *cell)
{
	if (cell->run_count == 0)
		gg_text_table_cell(table, "-");
	else if (cell->width > 0)
		gg_text_table_cell(table, "%.1f %.*f", 100 * cell->covered,
		                   cell->width < 10 ? 2 : 0, cell->width);
	else
		gg_text_table_cell(table, "%.1f", 100 * cell->covered);
}

static int print_table(const struct result *results, size_t count, enum gg_quantity quantity,
                       enum gg_population population, const struct coverage_options *o,
                       const struct gg_style *style)
{
	GG_CLEANUP(gg_text_table_done) struct gg_text_table table = { 0 };

	printf("%s, %s: coverage in %%, mean width over the truth\n\n", quantity_names[quantity],
	       gg_lab_population_names[population]);
	gg_text_table_column(&table, GG_ALIGN_LEFT, "program");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "samples");
	for (size_t k = 0; k < GG_COUNT(gg_lab_methods); k++)
		gg_text_table_column(&table, GG_ALIGN_RIGHT, gg_lab_methods[k].head);
	for (size_t i = 0; i < count; i++) {
		gg_text_table_cell(&table, "%s", results[i].program->name);
		gg_text_table_cell(&table, "%.3g", results[i].coverage.mean_samples);
		for (size_t k = 0; k < GG_COUNT(gg_lab_methods); k++) {
			enum gg_interval_method kind = gg_lab_methods[k].kind;

			add_cell(&table, &results[i].coverage.cells[kind][quantity][population]);
		}
	}
	return o->markdown ? gg_text_table_print_markdown(&table, stdout)
	                   : gg_text_table_print(&table, style, stdout);
}

/* Prints one table for each pair of quantity and population. */
static int print_text(const struct result *results, size_t count, const struct coverage_options *o,
                      const struct gg_style *style)
{
	int status = 0;

	for (int q = 0; q < GG_QUANTITY_COUNT && status == 0; q++) {
		for (int p = 0; p < GG_POPULATION_COUNT && status == 0; p++) {
			if (q > 0 || p > 0)
				putchar('\n');
			status = print_table(results, count, (enum gg_quantity)q,
			                     (enum gg_population)p, o, style);
		}
	}
	return status;
}

static void json_cell(struct gg_json *json, const struct gg_cell *cell)
{
	gg_json_open(json, NULL, '{');
	gg_json_integer(json, "runs", cell->run_count);
	gg_json_number(json, "covered", cell->covered);
	gg_json_number(json, "covered_all_sizes", cell->covered_all_sizes);
	gg_json_number(json, "too_high", cell->too_high);
	gg_json_number(json, "too_low", cell->too_low);
	gg_json_number(json, "width", cell->width);
	gg_json_close(json);
}

static void json_result(struct gg_json *json, const struct result *result)
{
	gg_json_open(json, NULL, '{');
	gg_json_text(json, "program", result->program->name);
	gg_json_number(json, "expected_samples", gg_simulate_expected_samples(result->program));
	gg_json_open(json, "intervals", '[');
	for (enum gg_interval_method k = 0; k < GG_INTERVAL_METHOD_COUNT; k++) {
		for (int q = 0; q < GG_QUANTITY_COUNT; q++) {
			gg_json_open(json, NULL, '{');
			gg_json_text(json, "kind", gg_interval_method_name(k));
			gg_json_text(json, "quantity", quantity_names[q]);
			gg_json_open(json, "populations", '[');
			for (enum gg_population p = 0; p < GG_POPULATION_COUNT; p++)
				json_cell(json, &result->coverage.cells[k][q][p]);
			gg_json_close(json);
			gg_json_close(json);
		}
	}
	gg_json_close(json);
	gg_json_close(json);
}

static int print_json(const struct result *results, size_t count, const struct coverage_options *o,
                      struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_json json = { .out = &text };

	gg_lab_json_open(&json);
	gg_json_number(&json, "confidence", o->confidence);
	gg_json_integer(&json, "runs", o->run_count);
	gg_json_open(&json, "programs", '[');
	for (size_t i = 0; i < count; i++)
		json_result(&json, &results[i]);
	gg_json_close(&json);
	return gg_lab_json_print(&json, error);
}

enum { MAX_PROGRAMS = 64 };

static int run(struct gg_invocation *invocation)
{
	const struct coverage_options *o = invocation->options;
	static struct result results[MAX_PROGRAMS];
	size_t count = gg_simulate_program_count();
	int status = gg_lab_check_confidence(o->confidence, "lab coverage", invocation->error);

	if (status < 0)
		return status;
	if (o->run_count == 0)
		return gg_error_set(invocation->error, -EINVAL, "lab coverage: --runs",
		                    "Give 1000 or more for two digits.", "0 is no number of runs");
	/* The array of results has a fixed size; programs beyond it would be left out. */
	if (count > MAX_PROGRAMS)
		count = MAX_PROGRAMS;
	for (size_t i = 0; i < count; i++) {
		results[i].program = gg_simulate_program(i);
		gg_simulate(results[i].program, o->run_count, o->confidence, o->seed,
		            &results[i].coverage);
	}
	return o->json ? print_json(results, count, o, invocation->error)
	               : print_text(results, count, o, &invocation->style);
}

static const struct gg_option options[] = {
	{ "runs", 'n', GG_OPTION_COUNT, offsetof(struct coverage_options, run_count), "N",
	  "runs of each program (10000)" },
	{ "confidence", 'c', GG_OPTION_NUMBER, offsetof(struct coverage_options, confidence), "P",
	  "nominal coverage (0.95)" },
	{ "seed", 0, GG_OPTION_COUNT, offsetof(struct coverage_options, seed), "N",
	  "of the random numbers (1)" },
	{ "markdown", 0, GG_OPTION_FLAG, offsetof(struct coverage_options, markdown), NULL,
	  "tables for a document" },
	{ "json", 0, GG_OPTION_FLAG, offsetof(struct coverage_options, json), NULL, "print JSON" },
	GG_OPTIONS_END,
};

const struct gg_command gg_command_lab_coverage = {
	.name = "lab coverage",
	.summary = "simulate how often confidence intervals hold the truth",
	.usage = "[OPTION]...",
	.details =
		"Simulates programs whose truth is known, samples each many times, and counts\n"
		"how often each kind of confidence interval holds it: over all groups, and over\n"
		"those only that are shown because they have a sample.  'rule' is what reports\n"
		"print.  docs/ESTIMATION.md explains the kinds and the programs.\n",
	.options = options,
	.options_size = sizeof(struct coverage_options),
	.option_defaults = &(
		const struct coverage_options){ .run_count = 10000, .seed = 1, .confidence = 0.95 },
	.run = run,
};
