/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_lab_error - `geiger lab error`: the chance of being sampled, and the error, by allocation
 * size.
 *
 * All numbers come from closed formulas (theory.h); nothing is simulated.  Three numbers describe a
 * size: the probability that the allocation is sampled, the mean absolute error of its estimate as
 * a share of the size, and the same error for the allocations that were sampled.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "base/size.h"
#include "cli/lab/lab.h"
#include "report/plot.h"
#include "report/text_table.h"
#include "stats/estimate/theory.h"
#include "stats/sampling/scheme.h"

struct error_options {
	uint64_t interval_bytes;
	uint64_t size_bytes;
	bool json;
	const char *svg;
};

/* The ways to estimate an allocation.  Each is a block of the tables and an object of the JSON. */
enum variant {
	WEIGHTED,      /* size / probability for each sampled allocation: geiger's default */
	SAMPLE_POINTS, /* the interval for each sample point, also for several blocks of that sum */
	CUTOFF_99,     /* as SAMPLE_POINTS, but exact from the size on that is sampled with 99 % */
	CUTOFF_R,      /* as SAMPLE_POINTS, but exact from the interval on */
	VARIANTS
};

static const struct {
	const char *head, *json;
	enum gg_cutoff cutoff;
} variants[VARIANTS] = {
	[WEIGHTED] = { "weighted", "weighted", GG_CUTOFF_NONE },
	[SAMPLE_POINTS] = { "marks", "marks", GG_CUTOFF_NONE },
	[CUTOFF_99] = { "cutoff 99 %", "cutoff_99", GG_CUTOFF_99 },
	[CUTOFF_R] = { "cutoff R", "cutoff_interval", GG_CUTOFF_INTERVAL },
};

static struct gg_theory_error error_of(enum variant variant, double size_bytes, double count,
                                       double interval)
{
	if (variant == WEIGHTED)
		return gg_theory_weighted_error(size_bytes, count, interval);
	return gg_theory_error(size_bytes, count, interval, variants[variant].cutoff);
}

/* The sizes of the table, in sampling intervals. */
static const double grid[] = { 1.0 / 64, 1.0 / 16, 0.25, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 8 };

static void percent_cell(struct gg_text_table *table, double share)
{
	gg_text_table_cell(table, "%.1f %%", 100 * share);
}

/* Prints the requested size: a row for each number, a column for each variant. */
static int print_size(double size_bytes, double interval, const struct gg_style *style)
{
	GG_CLEANUP(gg_text_table_done) struct gg_text_table table = { 0 };
	char size[GG_SIZE_TEXT_MAX], every[GG_SIZE_TEXT_MAX];
	struct gg_theory_error errors[VARIANTS];

	printf("One allocation of %s, sampled every %s on average (%.6g marks expected)\n\n",
	       gg_size_format_short(size_bytes, size), gg_size_format_short(interval, every),
	       size_bytes / interval);
	gg_text_table_column(&table, GG_ALIGN_LEFT, "");
	for (enum variant v = 0; v < VARIANTS; v++) {
		gg_text_table_column(&table, GG_ALIGN_RIGHT, variants[v].head);
		errors[v] = error_of(v, size_bytes, 1, interval);
	}
	gg_text_table_cell(&table, "probability of being sampled");
	for (enum variant v = 0; v < VARIANTS; v++)
		percent_cell(&table, errors[v].coverage);
	gg_text_table_cell(&table, "expected error");
	for (enum variant v = 0; v < VARIANTS; v++)
		percent_cell(&table, errors[v].expected);
	gg_text_table_cell(&table, "expected error if sampled");
	for (enum variant v = 0; v < VARIANTS; v++)
		percent_cell(&table, errors[v].conditional);
	return gg_text_table_print(&table, style, stdout);
}

/*
 * Prints the table by size: a row for each size of the grid, and three columns for each variant but
 * WEIGHTED, whose probability is that of SAMPLE_POINTS.
 */
static int print_grid(double interval, const struct gg_style *style)
{
	GG_CLEANUP(gg_text_table_done) struct gg_text_table table = { 0 };
	char text[GG_SIZE_TEXT_MAX];

	printf("By size, in %%: p, sampled with this probability; err, expected error; cond,\n"
	       "the same if sampled.  By marks alone, with the 99 %% cutoff, with a cutoff at R.\n\n");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "size");
	for (enum variant v = SAMPLE_POINTS; v < VARIANTS; v++) {
		static const char *const heads[][3] = { [SAMPLE_POINTS] = { "p", "err", "cond" },
			                                [CUTOFF_99] = { "p99", "err99", "cond99" },
			                                [CUTOFF_R] = { "pR", "errR", "condR" } };

		for (int i = 0; i < 3; i++)
			gg_text_table_column(&table, GG_ALIGN_RIGHT, heads[v][i]);
	}
	for (size_t i = 0; i < GG_COUNT(grid); i++) {
		gg_text_table_cell(&table, "%s", gg_size_format(grid[i] * interval, text));
		for (enum variant v = SAMPLE_POINTS; v < VARIANTS; v++) {
			struct gg_theory_error e = error_of(v, grid[i] * interval, 1, interval);

			gg_text_table_cell(&table, "%.1f", 100 * e.coverage);
			gg_text_table_cell(&table, "%.1f", 100 * e.expected);
			gg_text_table_cell(&table, "%.1f", 100 * e.conditional);
		}
	}
	return gg_text_table_print(&table, style, stdout);
}

/* The same bytes in one piece and in two.  With a cutoff, the two cases are not sampled alike. */
static const double split_interval = 10000, split_size = 10000;

/*
 * Prints the same bytes as one block and as two.  An estimate without a cutoff treats both alike:
 * the chance that any byte is sampled depends only on the number of bytes.
 */
static int print_split(const struct gg_style *style)
{
	GG_CLEANUP(gg_text_table_done) struct gg_text_table table = { 0 };

	printf("One allocation of 10 kB against two of 5 kB, at an interval of 10 kB\n\n");
	gg_text_table_column(&table, GG_ALIGN_LEFT, "");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "one: p");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "error");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "two: p");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "error");
	for (enum variant v = 0; v < VARIANTS; v++) {
		gg_text_table_cell(&table, "%s", variants[v].head);
		for (double count = 1; count <= 2; count++) {
			struct gg_theory_error e = error_of(v, split_size / count, count,
			                                    split_interval);

			percent_cell(&table, e.coverage);
			percent_cell(&table, e.expected);
		}
	}
	return gg_text_table_print(&table, style, stdout);
}

static int print_text(const struct error_options *o, const struct gg_style *style)
{
	double interval = (double)o->interval_bytes;
	int status = 0;

	if (o->size_bytes > 0) {
		status = print_size((double)o->size_bytes, interval, style);
		putchar('\n');
	}
	if (status == 0)
		status = print_grid(interval, style);
	putchar('\n');
	if (status == 0)
		status = print_split(style);
	printf("\nweighted: size / probability for each allocation that is sampled (the default).\n"
	       "marks: the interval for each mark.  cutoff: from there on the size itself.\n");
	return status;
}

static void json_error(struct gg_json *json, const char *name, struct gg_theory_error e)
{
	if (name != NULL)
		gg_json_open(json, name, '{');
	gg_json_number(json, "probability", e.coverage);
	gg_json_number(json, "expected_error", e.expected);
	gg_json_number(json, "conditional_error", e.conditional);
	if (name != NULL)
		gg_json_close(json);
}

static void json_variants(struct gg_json *json, double size_bytes, double count, double interval)
{
	for (enum variant v = 0; v < VARIANTS; v++)
		json_error(json, variants[v].json, error_of(v, size_bytes, count, interval));
}

static int print_json(const struct error_options *o, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_json json = { .out = &text };
	double interval = (double)o->interval_bytes;

	gg_lab_json_open(&json);
	gg_json_integer(&json, "interval_bytes", o->interval_bytes);
	if (o->size_bytes > 0) {
		gg_json_integer(&json, "size_bytes", o->size_bytes);
		/*
		 * The variant SAMPLE_POINTS also stands at the top level, without an object of its
		 * own.
		 */
		json_error(&json, NULL,
		           error_of(SAMPLE_POINTS, (double)o->size_bytes, 1, interval));
		json_variants(&json, (double)o->size_bytes, 1, interval);
	}
	gg_json_open(&json, "rows", '[');
	for (size_t i = 0; i < GG_COUNT(grid); i++) {
		gg_json_open(&json, NULL, '{');
		gg_json_number(&json, "size_bytes", grid[i] * interval);
		json_variants(&json, grid[i] * interval, 1, interval);
		gg_json_close(&json);
	}
	gg_json_close(&json);
	gg_json_open(&json, "split", '[');
	for (double count = 1; count <= 2; count++) {
		gg_json_open(&json, NULL, '{');
		gg_json_number(&json, "interval_bytes", split_interval);
		gg_json_number(&json, "count", count);
		gg_json_number(&json, "size_bytes", split_size / count);
		json_variants(&json, split_size / count, count, split_interval);
		gg_json_close(&json);
	}
	gg_json_close(&json);
	return gg_lab_json_print(&json, error);
}

/* The lines of the pictures: each has a multiple of the requested interval, and a variant. */
static const struct {
	double factor;
	enum variant variant;
} lines[] = {
	{ 1.0 / 16, SAMPLE_POINTS },
	{ 1, SAMPLE_POINTS },
	{ 4, SAMPLE_POINTS },
	{ 1, CUTOFF_99 },
	{ 1, CUTOFF_R },
};

enum { POINTS = 800, PANELS = 3 };

static const double highest_error = 2.5; /* drawn; the error of sampled blocks has no bound */

static int save_svg(const struct error_options *o, struct gg_error *error)
{
	static double x[POINTS], y[PANELS][GG_COUNT(lines)][POINTS];
	struct gg_plot_series series[PANELS][GG_COUNT(lines)];
	static char names[GG_COUNT(lines)][64];
	struct gg_plot plots[PANELS] = { { .title = "Probability of being sampled" },
		                         { .title = "Expected error" },
		                         { .title = "Expected error if sampled" } };
	GG_CLEANUP(gg_buf_done) struct gg_buf picture = { 0 };
	double interval = (double)o->interval_bytes;
	/* The charts reach to 8 intervals, or beyond the requested size if that is larger. */
	double high_bytes = fmax(8 * interval, 1.25 * (double)o->size_bytes);

	for (size_t i = 0; i < POINTS; i++)
		x[i] = high_bytes * (double)(i + 1) / POINTS;
	for (size_t line = 0; line < GG_COUNT(lines); line++) {
		char every[GG_SIZE_TEXT_MAX];

		for (size_t i = 0; i < POINTS; i++) {
			struct gg_theory_error e = error_of(lines[line].variant, x[i], 1,
			                                    lines[line].factor * interval);

			y[0][line][i] = e.coverage;
			y[1][line][i] = e.expected;
			y[2][line][i] = e.conditional <= highest_error ? e.conditional : NAN;
		}
		snprintf(names[line], sizeof(names[line]), "%s%s",
		         gg_size_format_short(lines[line].factor * interval, every),
		         lines[line].variant == CUTOFF_99  ? ", cutoff 99 %"
		         : lines[line].variant == CUTOFF_R ? ", cutoff R"
		                                           : "");
		for (int panel = 0; panel < PANELS; panel++)
			series[panel][line] = (struct gg_plot_series){ names[line], x,
				                                       y[panel][line], POINTS };
	}
	for (int panel = 0; panel < PANELS; panel++) {
		plots[panel].x = (struct gg_plot_axis){ "allocation size", GG_PLOT_SIZE, false };
		plots[panel].y = (struct gg_plot_axis){ panel == 0 ? "probability"
			                                           : "mean error / size",
			                                GG_PLOT_PERCENT, false };
		plots[panel].series = series[panel];
		plots[panel].series_count = GG_COUNT(lines);
	}
	gg_plot_svg(plots, PANELS, &picture);
	return gg_lab_save(&picture, o->svg, error);
}

static int run(struct gg_invocation *invocation)
{
	struct error_options *o = invocation->options;
	int status = gg_lab_check_interval(o->interval_bytes, "lab error", invocation->error);

	if (status < 0)
		return status;
	status = o->json ? print_json(o, invocation->error) : print_text(o, &invocation->style);
	if (status == 0 && o->svg != NULL)
		status = save_svg(o, invocation->error);
	return status;
}

static const struct gg_option options[] = {
	{ "interval", 'i', GG_OPTION_SIZE, offsetof(struct error_options, interval_bytes), "SIZE",
	  "mean sampling interval (512KiB)" },
	{ "size", 's', GG_OPTION_SIZE, offsetof(struct error_options, size_bytes), "SIZE",
	  "an allocation to look at closely" },
	{ "json", 0, GG_OPTION_FLAG, offsetof(struct error_options, json), NULL, "print JSON" },
	{ "svg", 0, GG_OPTION_TEXT, offsetof(struct error_options, svg), "FILE",
	  "also draw the three charts" },
	GG_OPTIONS_END,
};

const struct gg_command gg_command_lab_error = {
	.name = "lab error",
	.summary = "chance of being sampled, and error of the estimate, by size",
	.usage = "[OPTION]...",
	.details =
		"For an allocation of a given size (or several that add up to it): how likely it\n"
		"is sampled at all, by how much the estimate is wrong on average (mean absolute\n"
		"error, as a share of the size), and by how much if it was sampled.\n\n"
		"  geiger lab error --interval 512KiB --size 1.5MiB\n",
	.options = options,
	.options_size = sizeof(struct error_options),
	.option_defaults = &(
		const struct error_options){ .interval_bytes = GG_DEFAULT_INTERVAL_BYTES },
	.run = run,
};
