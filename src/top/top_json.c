/* SPDX-License-Identifier: Apache-2.0 */
/* top_json - one object for each snapshot. */
#include "top/top_json.h"

#include <math.h>
#include <stdlib.h>

#include "base/json.h"
#include "report/report.h"
#include "report/report_why.h"
#include "top/top_list_frame.h"

static void add_time(struct gg_json *json, const char *name, int64_t time_ns)
{
	gg_json_number(json, name, time_ns == GG_TIME_NONE ? NAN : (double)time_ns);
}

static void add_change(struct gg_json *json, const struct gg_top_row *row)
{
	if (!row->has_change) {
		gg_json_text(json, "change", NULL);
		return;
	}
	gg_json_open(json, "change", '{');
	gg_json_number(json, "estimate", row->change.estimate);
	gg_json_number(json, "low", row->change.low);
	gg_json_number(json, "high", row->change.high);
	gg_json_number(json, "p_value", row->p_value);
	gg_json_number(json, "q_value", row->q_value);
	gg_json_bool(json, "significant", row->is_significant);
	gg_json_close(json);
}

static void add_row(struct gg_json *json, const struct gg_top_row *row)
{
	gg_report_json_figure(json, "self", &row->self);
	gg_report_json_figure(json, "count", &row->blocks);
	add_change(json, row);
	gg_json_number(json, "allocated_bytes_per_second", row->allocated_per_second);
	gg_json_number(json, "median_age_ns", row->age_ns);
}

/* A process without anything to hold has no such member. */
static void add_held(struct gg_json *json, const char *name, double asked, double reached)
{
	if (!(asked > 0))
		return;
	gg_json_open(json, name, '{');
	gg_json_number(json, "asked", asked);
	gg_json_number(json, "reached", reached); /* or null */
	gg_json_close(json);
}

static void add_process(struct gg_json *json, const struct gg_top_snapshot *snapshot)
{
	const struct gg_top_process *process = &snapshot->process;

	if (process->pid != 0)
		gg_json_integer(json, "pid", process->pid);
	else
		gg_json_text(json, "pid", NULL);
	gg_json_text(json, "command", snapshot->command);
	gg_json_bool(json, "alive", process->is_process && process->is_alive);
	gg_json_text(json, "end", process->end[0] != '\0' ? process->end : NULL);
	gg_json_bool(json, "sampling", process->is_active);
	gg_json_integer(json, "interval_bytes", process->interval_bytes);
	if (process->is_exact)
		gg_json_bool(json, "is_exact", true);
	gg_json_number(json, "rss_bytes", process->rss_bytes >= 0 ? process->rss_bytes : NAN);
	gg_json_number(json, "highest_seen_bytes",
	               process->peak_bytes >= 0 ? process->peak_bytes : NAN);
	add_held(json, "overhead", snapshot->held.asked_overhead,
	         snapshot->held.samples + snapshot->held.hooks + snapshot->held.recorder);
	add_held(json, "error", snapshot->held.asked_error, snapshot->held.error);
	gg_json_number(json, "older_bytes",
	               snapshot->is_attached && snapshot->older_bytes >= 0
	                       ? (double)snapshot->older_bytes
	                       : NAN);
}

static void add_rows(struct gg_json *json, const struct gg_top_snapshot *snapshot,
                     const size_t *order, size_t count)
{
	gg_json_open(json, "rows", '[');
	for (size_t i = 0; i < count; i++) {
		const struct gg_top_row *row = &snapshot->rows[order[i]];

		gg_json_open(json, NULL, '{');
		gg_json_text(json, "name", row->label);
		add_row(json, row);
		gg_json_close(json);
	}
	gg_json_close(json);
}

/* A table for each process, as `geiger why --json` has them. */
static void add_why(struct gg_json *json, const struct gg_why_list *why)
{
	gg_json_open(json, "why", '[');
	for (size_t i = 0; i < why->table_count; i++) {
		gg_json_open(json, NULL, '{');
		gg_report_why_json_table(json, &why->tables[i]);
		gg_json_close(json);
	}
	gg_json_close(json);
}

/* Appends the look at one process, with the `count` rows of these indices. */
static void append_look(const struct gg_top_snapshot *snapshot, const size_t *order, size_t count,
                        struct gg_buf *out)
{
	struct gg_json json = { .out = out };

	gg_json_open(&json, NULL, '{');
	gg_json_integer(&json, "version", 1);
	gg_json_integer(&json, "look", snapshot->look_count);
	add_time(&json, "time_ns", snapshot->process.now_ns);
	add_process(&json, snapshot);
	gg_json_integer(&json, "samples", snapshot->sample_count);
	gg_json_integer(&json, "dropped", snapshot->dropped_count);
	gg_json_number(&json, "confidence", snapshot->confidence);
	gg_report_json_figure(&json, "live_bytes", &snapshot->live);
	gg_json_text(&json, "metric", gg_top_metric_name(snapshot->metric));
	gg_json_text(&json, "by", gg_grouping_name(snapshot->by));
	add_time(&json, "mark_ns", snapshot->mark_ns);
	gg_json_number(&json, "level", snapshot->level);
	add_time(&json, "rate_period_ns", snapshot->rate_ns);
	gg_json_open(&json, "total", '{');
	add_row(&json, &snapshot->total);
	gg_json_close(&json);
	gg_json_text(&json, "news", snapshot->process.news);
	gg_json_text(&json, "note", snapshot->note_count > 0 ? snapshot->notes[0] : NULL);
	gg_json_open(&json, "notes", '[');
	for (size_t i = 0; i < snapshot->note_count; i++)
		gg_json_text(&json, NULL, snapshot->notes[i]);
	gg_json_close(&json);
	add_rows(&json, snapshot, order, count);
	if (snapshot->has_why)
		add_why(&json, &snapshot->why);
	gg_json_close(&json);
	gg_buf_append_text(out, "\n");
}

void gg_top_json(const struct gg_top_snapshot *snapshot, const struct gg_top_state *state,
                 size_t rows_max, struct gg_buf *out)
{
	size_t *order = calloc(snapshot->row_count + 1, sizeof(*order)), count;

	if (order == NULL) {
		out->failed = true;
		return;
	}
	count = gg_top_state_order(state, snapshot, order);
	if (rows_max != 0 && count > rows_max)
		count = rows_max;
	if (snapshot->entries != NULL)
		gg_top_list_json(snapshot, order, count, out);
	else
		append_look(snapshot, order, count, out);
	free(order);
}
