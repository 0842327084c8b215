/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report_held.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/percent.h"
#include "base/size.h"
#include "profile/records.h"
#include "region/reader/view.h"
#include "report/figure.h"
#include "stats/estimate/interval.h"

enum { CHANGES_SHOWN = 4 };

/* The sum, or the largest one, of a counter over all processes. */
static double counter_of(const struct gg_model *model, const char *name, bool is_sum)
{
	double sum = 0, most = 0;

	for (size_t i = 0; i < model->counter_count; i++) {
		const struct gg_model_counter *counter = &model->counters[i];

		if (counter->name == NULL || strcmp(counter->name, name) != 0)
			continue;
		sum += (double)counter->value;
		most = fmax(most, (double)counter->value);
	}
	return is_sum ? sum : most;
}

static double asked(const struct gg_model *model, const char *name)
{
	return counter_of(model, name, false) / GG_PPM;
}

/* Half the width of the confidence interval, as a share of the estimate. */
static double error_of(const struct gg_tally *tally, double confidence)
{
	double bytes = gg_tally_estimate(tally, GG_BYTES).value;
	struct gg_interval interval;

	if (gg_tally_is_empty(tally) || !(bytes > 0))
		return NAN;
	interval = gg_interval_of(tally, GG_BYTES, confidence, false);
	return isfinite(interval.high) ? (interval.high - interval.low) / 2 / bytes : NAN;
}

/* A program that has freed nearly everything is judged by its peak. */
static const struct gg_tally *judged(const struct gg_report_summary *summary)
{
	double live = gg_tally_estimate(&summary->live, GG_BYTES).value;

	return summary->has_peak && live < gg_tally_estimate(&summary->peak, GG_BYTES).value / 10
	               ? &summary->peak
	               : &summary->live;
}

struct gg_report_held gg_report_held_of(const struct gg_model *model,
                                        const struct gg_report_summary *summary, double confidence)
{
	double program = counter_of(model, gg_region_counter_name(GG_COUNT_PROGRAM_NS), true);
	double sampling = counter_of(model, gg_region_counter_name(GG_COUNT_SAMPLING_NS), true);
	double hooks = counter_of(model, gg_region_counter_name(GG_COUNT_HOOKS_NS), true);
	double counted = counter_of(model, gg_region_counter_name(GG_COUNT_RECORDER_NS), true);
	double recorder = counter_of(model, GG_PROFILE_COUNTER_RECORDER_NS, true);
	struct gg_report_held held = {
		.asked_overhead = asked(model, gg_region_counter_name(GG_COUNT_ASKED_OVERHEAD)),
		.samples = NAN,
		.hooks = NAN,
		.recorder = NAN,
		.asked_error = asked(model, gg_region_counter_name(GG_COUNT_ASKED_ERROR)),
		.error = NAN,
		.asked_focus_error = asked(model, GG_PROFILE_COUNTER_FOCUS_ASKED),
		.focus_error = asked(model, GG_PROFILE_COUNTER_FOCUS_REACHED),
	};

	if (held.asked_overhead > 0 && program > 0) {
		held.samples = (sampling - counted) / program;
		held.hooks = hooks / program;
		/* A recorder that was killed has stated nothing. */
		held.recorder = (recorder > 0 ? recorder : counted) / program;
	}
	if (held.asked_error > 0 && summary != NULL)
		held.error = error_of(judged(summary), confidence);
	if (!(held.focus_error > 0))
		held.focus_error = NAN;
	return held;
}

/* "0.48 %", with two significant digits. */
static void append_share(double share, struct gg_buf *out)
{
	if (share * 100 >= 10)
		gg_buf_printf(out, "%.0f %%", 100 * share);
	else
		gg_buf_printf(out, "%.2g %%", 100 * share);
}

static void append_overhead(const struct gg_report_held *held, struct gg_buf *out)
{
	if (!(held->asked_overhead > 0))
		return;
	gg_buf_append_text(out, "overhead ");
	if (isnan(held->samples)) {
		gg_buf_append_text(out, "not measured, ");
		append_share(held->asked_overhead, out);
		gg_buf_append_text(out, " asked for\n");
		return;
	}
	append_share(held->samples + held->hooks + held->recorder, out);
	gg_buf_append_text(out, ", ");
	append_share(held->asked_overhead, out);
	gg_buf_append_text(out, " asked for: samples ");
	append_share(held->samples, out);
	gg_buf_append_text(out, ", hooks ");
	append_share(held->hooks, out);
	gg_buf_append_text(out, ", recorder ");
	append_share(held->recorder, out);
	gg_buf_append_text(out, "\n");
}

static void append_error(const char *what, double share, double wanted, struct gg_buf *out)
{
	if (!(wanted > 0))
		return;
	gg_buf_append_text(out, what);
	if (isnan(share))
		gg_buf_append_text(out, "not known");
	else
		append_share(share, out);
	gg_buf_append_text(out, ", ");
	append_share(wanted, out);
	gg_buf_append_text(out, " asked for\n");
}

/* Appends "interval 512 KiB, from 12 ms 3.4 KiB, ..., from 1.2 s 19 KiB (27 changes)". */
static void append_intervals(const struct gg_report *report, struct gg_buf *out)
{
	const struct gg_model_interval_change *changes = report->model->interval_changes;
	size_t count = report->model->interval_change_count;
	char size[GG_SIZE_TEXT_MAX];

	if (count == 0)
		return;
	if (report->model->process_count > 2) {
		gg_buf_printf(out, "interval changed %zu times in %zu processes\n", count,
		              report->model->process_count - 1);
		return;
	}
	gg_buf_printf(out, "interval %s", gg_size_format_short(changes[0].from_bytes, size));
	for (size_t i = 0; i < count; i++) {
		if (i == CHANGES_SHOWN - 1 && count > CHANGES_SHOWN) {
			gg_buf_append_text(out, ", ...");
			i = count - 1;
		}
		gg_buf_append_text(out, ", from ");
		gg_report_append_time(changes[i].time_ns, out);
		gg_buf_printf(out, " %s", gg_size_format_short(changes[i].to_bytes, size));
	}
	gg_buf_printf(out, " (%zu change%s)\n", count, count == 1 ? "" : "s");
}

void gg_report_append_held(const struct gg_report *report, struct gg_buf *out)
{
	struct gg_report_held held = gg_report_held_of(report->model, report->summary,
	                                               report->confidence);

	append_overhead(&held, out);
	append_error("error of live bytes ", held.error, held.asked_error, out);
	append_error("error of the function's live bytes ", held.focus_error,
	             held.asked_focus_error, out);
	if (gg_report_held_is_any(&held))
		append_intervals(report, out);
}

static void append_short(const char *what, double share, double wanted, struct gg_buf *out)
{
	if (!(wanted > 0))
		return;
	gg_buf_printf(out, "%s%s ", out->length > 0 ? ", " : "", what);
	if (isnan(share))
		gg_buf_append_text(out, "?");
	else
		append_share(share, out);
	gg_buf_append_text(out, " of ");
	append_share(wanted, out);
}

void gg_report_append_held_short(const struct gg_report_held *held, struct gg_buf *out)
{
	append_short("overhead", held->samples + held->hooks + held->recorder, held->asked_overhead,
	             out);
	append_short("error", held->error, held->asked_error, out);
	append_short("error", held->focus_error, held->asked_focus_error, out);
}

static void add_intervals(struct gg_json *json, const struct gg_model *model)
{
	gg_json_open(json, "intervals", '[');
	for (size_t i = 0; i < model->interval_change_count; i++) {
		const struct gg_model_interval_change *change = &model->interval_changes[i];

		gg_json_open(json, NULL, '{');
		gg_json_integer(json, "pid", model->processes[change->process].pid);
		gg_json_number(json, "time_ns", (double)change->time_ns);
		gg_json_number(json, "from_bytes", change->from_bytes);
		gg_json_number(json, "to_bytes", change->to_bytes);
		gg_json_close(json);
	}
	gg_json_close(json);
}

static void add_error(struct gg_json *json, const char *name, double wanted, double share)
{
	if (!(wanted > 0)) {
		gg_json_text(json, name, NULL);
		return;
	}
	gg_json_open(json, name, '{');
	gg_json_number(json, "asked", wanted);
	gg_json_number(json, "reached", share); /* or null */
	gg_json_close(json);
}

void gg_report_json_held(struct gg_json *json, const struct gg_model *model,
                         const struct gg_report_summary *summary, double confidence)
{
	struct gg_report_held held = gg_report_held_of(model, summary, confidence);

	if (!gg_report_held_is_any(&held)) {
		gg_json_text(json, "held", NULL);
		return;
	}
	gg_json_open(json, "held", '{');
	if (held.asked_overhead > 0) {
		gg_json_open(json, "overhead", '{');
		gg_json_number(json, "asked", held.asked_overhead);
		gg_json_number(json, "measured", held.samples + held.hooks + held.recorder);
		gg_json_number(json, "samples", held.samples); /* or null */
		gg_json_number(json, "hooks", held.hooks);
		gg_json_number(json, "recorder", held.recorder);
		gg_json_close(json);
	} else {
		gg_json_text(json, "overhead", NULL);
	}
	add_error(json, "error", held.asked_error, held.error);
	add_error(json, "focus_error", held.asked_focus_error, held.focus_error);
	add_intervals(json, model);
	gg_json_close(json);
}
