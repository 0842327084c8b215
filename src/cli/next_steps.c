/* SPDX-License-Identifier: Apache-2.0 */
/* next_steps - finds growth, missing names and wide intervals in a complete profile. */
#include "cli/next_steps.h"

#include <math.h>
#include <string.h>

#include "base/printable.h"
#include "query/leaks.h"
#include "report/screen_text.h"
#include "stats/estimate/wanted_error.h"

/* A recording suggests another one if it is worse than TOO_WIDE, and would make it this good. */
static const double too_wide = 0.3, wanted_error = 0.1;
/* A row that holds less of the whole is too small to record again for its sake. */
static const double small_share = 0.05;
/* Growth counts if the stacks that grow have at least this share of what was left. */
static const double growing_share = 0.1;
/* A suggested recording has about this many samples at most, and no smaller sampling interval. */
static const double samples_max = 1e6, least_interval_bytes = 1024;

/* Returns the buffer for one more step; NULL: there are enough. */
static struct gg_buf *next_line(struct gg_next_steps *steps)
{
	return steps->count < GG_NEXT_STEPS_MAX ? &steps->lines[steps->count++] : NULL;
}

/* Appends the name of a stack's top function, in the room that the rest of the line leaves. */
static void append_function(const struct gg_report *report, uint32_t stack, size_t used,
                            struct gg_buf *out)
{
	size_t count;
	const struct gg_code_location *locations = gg_model_stack_locations(report->model, stack,
	                                                                    &count);

	gg_screen_text_append(out, report->model->functions[locations[0].function].name,
	                      gg_report_room(report, used, 20), report->figures.ascii);
}

static void add_growth(struct gg_next_steps *steps, const struct gg_report *report,
                       const char *path)
{
	const struct gg_leaks_query query = { .confidence = report->confidence, .limit = 1 };
	struct gg_leaks *leaks = NULL;
	struct gg_buf *line;

	if (report->model->sample_count > GG_NEXT_STEPS_SAMPLES_MAX ||
	    report->result->query.metric == GG_METRIC_PEAK ||
	    gg_leaks_run(report->model, &query, &leaks, NULL) < 0)
		return;
	if (leaks->class_row_count[GG_LEAK_GROWING] > 0 &&
	    leaks->class_bytes[GG_LEAK_GROWING] >= growing_share * leaks->live_bytes.estimate &&
	    (line = next_line(steps)) != NULL) {
		gg_buf_append_text(line, "memory of ");
		append_function(report, leaks->rows[0].stack, 48, line);
		gg_buf_printf(line, " grew until the end: geiger leaks %s", GG_PRINTABLE(path));
	}
	gg_leaks_free(leaks);
}

/* True if one of the printed rows is an address instead of a name. */
static bool has_unnamed_row(const struct gg_report *report)
{
	const struct gg_query_result *result = report->result;

	for (size_t i = 0; i < GG_NEXT_STEPS_ROWS && i < result->row_count; i++)
		if (result->rows[i].self->sample_count > 0 &&
		    !report->model->functions[result->rows[i].key].is_named)
			return true;
	return false;
}

static void add_names(struct gg_next_steps *steps, const struct gg_report *report, const char *path)
{
	struct gg_model_unresolved unresolved = gg_model_unresolved(report->model);
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_buf *line;

	if (unresolved.frame_count == 0 || (line = next_line(steps)) == NULL)
		return;
	gg_report_append_unresolved(report->model, &unresolved, &text);
	gg_buf_printf(line, "%s", GG_PRINTABLE(gg_buf_text(&text)));
	if (strstr(gg_buf_text(&text), "install") != NULL)
		gg_buf_printf(line, " Then: geiger symbolize %s", GG_PRINTABLE(path));
}

/* Half the width of the row's confidence interval, as a share of its estimate. */
static double width_of(const struct gg_report *report, const struct gg_query_row *row)
{
	struct gg_figure figure = gg_figure_of(row->self, GG_BYTES, report->confidence,
	                                       gg_report_is_discovered(report->result, row));

	return fmax(figure.high - figure.estimate, figure.estimate - figure.low) / figure.estimate;
}

/* Finds the least precise of the rows that were printed; NULL: each is good enough. */
static const struct gg_query_row *find_widest(const struct gg_report *report)
{
	const struct gg_query_result *result = report->result;
	double whole = gg_tally_estimate(&result->total, GG_BYTES).value, most = too_wide;
	const struct gg_query_row *widest = NULL;

	for (size_t i = 0; i < GG_NEXT_STEPS_ROWS && i < result->row_count; i++) {
		const struct gg_query_row *row = &result->rows[i];
		double value = gg_tally_estimate(row->self, GG_BYTES).value;

		/* An interval without an upper bound is wide because samples were lost. */
		if (value <= 0 || value < small_share * whole || isinf(width_of(report, row)) ||
		    width_of(report, row) <= most)
			continue;
		most = width_of(report, row);
		widest = row;
	}
	return widest;
}

/* Appends a sampling interval as the option takes it: "32k". */
static void append_interval(double interval_bytes, struct gg_buf *out)
{
	static const struct {
		double bytes;
		const char *name;
	} units[] = { { 0x1p30, "G" }, { 0x1p20, "M" }, { 0x1p10, "k" }, { 1, "" } };
	size_t i = 0;

	while (fmod(interval_bytes, units[i].bytes) != 0)
		i++;
	gg_buf_printf(out, "%.0f%s", interval_bytes / units[i].bytes, units[i].name);
}

static void add_width(struct gg_next_steps *steps, const struct gg_report *report)
{
	const struct gg_profile_session *session = &report->model->sessions[0];
	const struct gg_query_row *widest = find_widest(report);
	double now_bytes = session->interval_bytes, least_bytes, then_bytes, error = wanted_error;
	struct gg_estimate estimate;
	struct gg_buf *line;

	if (widest == NULL || session->scheme == GG_SCHEME_PER_ALLOCATION ||
	    now_bytes <= least_interval_bytes)
		return;
	estimate = gg_tally_estimate(widest->self, GG_BYTES);
	then_bytes = gg_wanted_error_interval(&estimate, now_bytes, error, report->confidence);
	/* The number of samples is inverse to the interval, and the error goes with its root. */
	least_bytes = fmax(now_bytes * (double)report->model->sample_count / samples_max,
	                   least_interval_bytes);
	if (then_bytes < least_bytes) {
		error *= sqrt(least_bytes / then_bytes);
		then_bytes = least_bytes;
	}
	if (error > too_wide || (line = next_line(steps)) == NULL)
		return;
	gg_buf_printf(line, "confidence intervals are wide; for %s %.0f %%: geiger record -i ",
	              report->figures.ascii ? "+-" : "\xc2\xb1", ceil(100 * error - 1e-9));
	append_interval(gg_wanted_error_round(then_bytes), line);
	gg_buf_append_text(line, " ...");
}

void gg_next_steps_add(struct gg_next_steps *steps, const struct gg_report *report,
                       const char *path)
{
	bool is_unnamed = has_unnamed_row(report);
	struct gg_buf *line;

	add_growth(steps, report, path);
	if (is_unnamed)
		add_names(steps, report, path);
	add_width(steps, report);
	if (!is_unnamed && steps->count == 0)
		add_names(steps, report, path);
	if ((line = next_line(steps)) != NULL)
		gg_buf_printf(line, "to see more: geiger report %s", GG_PRINTABLE(path));
}

void gg_next_steps_done(struct gg_next_steps *steps)
{
	for (size_t i = 0; i < GG_NEXT_STEPS_MAX; i++)
		gg_buf_done(&steps->lines[i]);
}
