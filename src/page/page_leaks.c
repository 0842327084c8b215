/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_leaks - the memory that was live at the end, and whether it grows, like `geiger leaks`.
 */
#include "page/page_leaks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/json.h"
#include "model/model.h"
#include "page/page_columns.h"
#include "page/page_names.h"
#include "page/page_run.h"
#include "query/leaks.h"
#include "report/figure.h"
#include "report/report_leaks.h"

/* Rows and stack traces are limited, because nobody reads long stacks of the last rows. */
enum { ROW_COUNT_MAX = 200, PATH_MAX_FRAMES = 256 };

static void write_range(struct gg_json *json, const char *name, const struct gg_range *range)
{
	struct gg_figure figure = gg_figure_between(range->estimate, range->low, range->high,
	                                            GG_BYTES);

	gg_report_json_figure(json, name, &figure);
}

static void write_stack(struct gg_page_run *run, uint32_t stack, struct gg_json *json)
{
	struct gg_code_location places[PATH_MAX_FRAMES];
	size_t count = gg_model_path(run->model, stack, places, PATH_MAX_FRAMES);

	gg_json_open(json, "stack", '[');
	for (size_t i = 0; i < count && i < PATH_MAX_FRAMES; i++) {
		uint32_t frame = gg_page_frame_of(&run->names, places[i].function);

		gg_json_open(json, NULL, '[');
		gg_json_integer(json, NULL, frame);
		gg_json_integer(json, NULL, run->model->lines[places[i].line].line);
		gg_json_close(json);
	}
	gg_json_close(json);
}

static void write_types(struct gg_page_run *run, const struct gg_leak_row *row,
                        struct gg_json *json)
{
	gg_json_open(json, "types", '[');
	for (size_t i = 0; i < row->type_count; i++) {
		const struct gg_leak_type *type = &row->types[i];

		gg_json_open(json, NULL, '{');
		gg_json_text(json, "type", run->model->types[type->type]);
		gg_json_integer(json, "samples", type->sample_count);
		write_range(
			json, "live_bytes",
			&(struct gg_range){ type->live_bytes, type->low_bytes, type->high_bytes });
		gg_json_close(json);
	}
	gg_json_close(json);
}

static void write_row(struct gg_page_run *run, const struct gg_leak_row *row, struct gg_json *json)
{
	gg_json_open(json, NULL, '{');
	gg_json_text(json, "class", gg_leak_class_name(row->class));
	gg_json_integer(json, "samples", row->sample_count);
	write_range(json, "live_bytes", &row->live_bytes);
	write_range(json, "live_count", &row->live_count);
	write_range(json, "old_bytes", &row->old_bytes);
	write_range(json, "growth_bytes", &row->growth_bytes);
	gg_json_number(json, "p_value", row->p_value);
	gg_json_number(json, "q_value", row->q_value);
	gg_json_number(json, "kept_share", row->kept_share);
	gg_json_number(json, "oldest_ns", (double)row->oldest_ns);
	gg_page_doubles(json, "tenths", row->cohorts, GG_LEAK_COHORTS, sizeof(double), 7);
	write_types(run, row, json);
	write_stack(run, row->stack, json);
	gg_json_close(json);
}

int gg_page_leaks_write(struct gg_page_run *run, struct gg_json *json)
{
	struct gg_leaks *leaks;
	size_t limit = run->rows < ROW_COUNT_MAX ? run->rows : ROW_COUNT_MAX;
	int status = gg_leaks_run(
		run->model,
		&(struct gg_leaks_query){ .confidence = run->options->confidence, .limit = limit },
		&leaks, run->error);
	GG_CLEANUP(gg_buf_done) struct gg_buf collections = { 0 };

	if (status == -ENOTSUP) { /* sums of live memory have no times, so growth is unknown */
		gg_json_text(json, "leaks", NULL);
		return 0;
	}
	if (status < 0)
		return status;
	gg_json_open(json, "leaks", '{');
	gg_json_integer(json, "row_count", leaks->row_count);
	gg_json_bool(json, "has_history", leaks->has_history);
	write_range(json, "live_bytes", &leaks->live_bytes);
	write_range(json, "old_bytes", &leaks->old_bytes);
	gg_json_number(json, "unseen_bytes", leaks->unseen_bytes);
	gg_json_number(json, "run_ns", (double)run->model->end_ns);
	gg_report_leaks_collections(&(struct gg_figure_style){ 0 }, leaks, &collections);
	if (collections.length > 0)
		gg_json_text(json, "collections", gg_buf_text(&collections));
	gg_report_leaks_json_classes(json, leaks);
	gg_json_open(json, "rows", '[');
	for (size_t i = 0; i < leaks->row_count && i < limit; i++)
		write_row(run, &leaks->rows[i], json);
	gg_json_close(json);
	gg_json_close(json);
	gg_leaks_free(leaks);
	return 0;
}
