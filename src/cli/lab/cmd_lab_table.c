/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_lab_table - `geiger lab table`: the number of bytes that a number of samples may stand for.
 *
 * A sample point falls on each byte with probability 1 / interval.  So the number of bytes without
 * a sample point before the s-th sample point, the failed trials, has a negative binomial
 * distribution.  The table shows its exact confidence interval beside the approximation of Camp and
 * Paulson.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/size.h"
#include "cli/lab/lab.h"
#include "report/plot.h"
#include "report/text_table.h"
#include "stats/estimate/interval.h"
#include "stats/sampling/scheme.h"

struct table_options {
	uint64_t interval_bytes;
	const char *samples;
	double confidence;
	bool json;
	const char *svg;
};

/* The rows of the table in the .NET design for randomized allocation sampling. */
static const char default_samples[] =
	"1,2,3,4,5,6,7,8,9,10,20,30,40,50,100,200,300,400,500,1000,2000,3000,4000,5000,10000";

enum { MAX_ROWS = 256, MAX_SAMPLES = 1000000000 };

struct rows {
	size_t count;
	double samples[MAX_ROWS];
	struct gg_failures exact[MAX_ROWS], approximate[MAX_ROWS];
};

/* Reads a list such as "1,2,8" into the rows. */
static int parse_samples(const char *text, struct rows *rows, struct gg_error *error)
{
	const char *p = text;

	rows->count = 0;
	do {
		char *end = NULL;
		/* strtoull() would accept a sign and blanks, which are wrong here. */
		unsigned long long samples = isdigit((unsigned char)*p) ? strtoull(p, &end, 10) : 0;

		/*
		 * `end` is set whenever samples is not 0, so the test of *end is safe behind the
		 * first one.
		 */
		if (samples < 1 || samples > MAX_SAMPLES || (*end != ',' && *end != '\0'))
			return gg_error_set(
				error, -EINVAL, "lab table: --samples",
				"Give whole numbers from 1 to 1000000000, such as 1,2,8.",
				"'%s' is not a list of sample counts", text);
		if (rows->count == MAX_ROWS)
			return gg_error_set(error, -EINVAL, "lab table: --samples", NULL,
			                    "more than %d numbers", MAX_ROWS);
		rows->samples[rows->count++] = (double)samples;
		p = *end == ',' ? end + 1 : NULL;
	} while (p != NULL);
	return 0;
}

static int print_text(const struct rows *rows, const struct gg_style *style)
{
	GG_CLEANUP(gg_text_table_done) struct gg_text_table table = { 0 };

	gg_text_table_column(&table, GG_ALIGN_RIGHT, "samples");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "low");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "high");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "low (Camp-Paulson)");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "high (Camp-Paulson)");
	for (size_t i = 0; i < rows->count; i++) {
		gg_text_table_cell(&table, "%.0f", rows->samples[i]);
		gg_text_table_cell(&table, "%.0f", rows->exact[i].low);
		gg_text_table_cell(&table, "%.0f", rows->exact[i].high);
		gg_text_table_cell(&table, "%.0f", rows->approximate[i].low);
		gg_text_table_cell(&table, "%.0f", rows->approximate[i].high);
	}
	return gg_text_table_print(&table, style, stdout);
}

static void json_failures(struct gg_json *json, const char *name, struct gg_failures failures)
{
	gg_json_open(json, name, '{');
	gg_json_number(json, "low", failures.low);
	gg_json_number(json, "high", failures.high);
	gg_json_close(json);
}

static int print_json(const struct table_options *o, const struct rows *rows,
                      struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_json json = { .out = &text };

	gg_lab_json_open(&json);
	gg_json_integer(&json, "interval_bytes", o->interval_bytes);
	gg_json_number(&json, "confidence", o->confidence);
	gg_json_open(&json, "rows", '[');
	for (size_t i = 0; i < rows->count; i++) {
		gg_json_open(&json, NULL, '{');
		gg_json_number(&json, "samples", rows->samples[i]);
		json_failures(&json, "exact", rows->exact[i]);
		json_failures(&json, "camp_paulson", rows->approximate[i]);
		gg_json_close(&json);
	}
	gg_json_close(&json);
	return gg_lab_json_print(&json, error);
}

/*
 * Draws both ends of the interval as shares of the expected number of trials, samples times
 * interval.
 */
static int save_svg(const struct table_options *o, const struct rows *rows, struct gg_error *error)
{
	static double low[MAX_ROWS], high[MAX_ROWS], rough_low[MAX_ROWS], rough_high[MAX_ROWS];
	const struct gg_plot_series series[] = {
		{ "high", rows->samples, high, rows->count },
		{ "low", rows->samples, low, rows->count },
		{ "high, Camp-Paulson", rows->samples, rough_high, rows->count },
		{ "low, Camp-Paulson", rows->samples, rough_low, rows->count },
	};
	const struct gg_plot plot = {
		.title = "Confidence interval of the failed trials",
		.x = { "samples", GG_PLOT_NUMBER, true },
		.y = { "share of samples x interval", GG_PLOT_PERCENT, false },
		.series = series,
		.series_count = GG_COUNT(series),
	};
	GG_CLEANUP(gg_buf_done) struct gg_buf picture = { 0 };

	for (size_t i = 0; i < rows->count; i++) {
		/*
		 * s samples stand for s R bytes on average, so shares of that make all rows
		 * comparable.
		 */
		double expected = rows->samples[i] * (double)o->interval_bytes;

		low[i] = rows->exact[i].low / expected;
		high[i] = rows->exact[i].high / expected;
		rough_low[i] = rows->approximate[i].low / expected;
		rough_high[i] = rows->approximate[i].high / expected;
	}
	gg_plot_svg(&plot, 1, &picture);
	return gg_lab_save(&picture, o->svg, error);
}

static int run(struct gg_invocation *invocation)
{
	struct table_options *o = invocation->options;
	static struct rows rows;
	int status;

	status = gg_lab_check_interval(o->interval_bytes, "lab table", invocation->error);
	if (status == 0)
		status = gg_lab_check_confidence(o->confidence, "lab table", invocation->error);
	if (status == 0)
		status = parse_samples(o->samples, &rows, invocation->error);
	if (status < 0)
		return status;
	for (size_t i = 0; i < rows.count; i++) {
		double interval = (double)o->interval_bytes;

		rows.exact[i] = gg_interval_failures(interval, rows.samples[i], o->confidence);
		rows.approximate[i] = gg_interval_failures_camp_paulson(interval, rows.samples[i],
		                                                        o->confidence);
	}
	status = o->json ? print_json(o, &rows, invocation->error)
	                 : print_text(&rows, &invocation->style);
	if (status == 0 && o->svg != NULL)
		status = save_svg(o, &rows, invocation->error);
	return status;
}

static const struct gg_option options[] = {
	{ "interval", 'i', GG_OPTION_SIZE, offsetof(struct table_options, interval_bytes), "SIZE",
	  "mean sampling interval (512KiB)" },
	{ "samples", 's', GG_OPTION_TEXT, offsetof(struct table_options, samples), "N,N,...",
	  "rows of the table (25 from 1 to 10000)" },
	{ "confidence", 'c', GG_OPTION_NUMBER, offsetof(struct table_options, confidence), "P",
	  "coverage of the intervals (0.95)" },
	{ "json", 0, GG_OPTION_FLAG, offsetof(struct table_options, json), NULL, "print JSON" },
	{ "svg", 0, GG_OPTION_TEXT, offsetof(struct table_options, svg), "FILE",
	  "also draw the table" },
	GG_OPTIONS_END,
};

const struct gg_command gg_command_lab_table = {
	.name = "lab table",
	.summary = "how many bytes a number of samples may stand for",
	.usage = "[OPTION]...",
	.details =
		"For s samples: between which numbers of failed trials (bytes that no mark fell\n"
		"on) the truth lies, by the negative binomial distribution.  Add u, the bytes of\n"
		"each sample from its mark on, for the interval of the bytes allocated.  The\n"
		"columns: samples; low and high, exact; low and high by the approximation of\n"
		"Camp and Paulson.\n\n"
		"  geiger lab table --interval 102400 --samples 1,2,8\n",
	.options = options,
	.options_size = sizeof(struct table_options),
	.option_defaults = &(
		const struct table_options){ .interval_bytes = GG_DEFAULT_INTERVAL_BYTES,
	                                     .samples = default_samples,
	                                     .confidence = 0.95 },
	.run = run,
};
