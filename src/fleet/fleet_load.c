/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_load - collects the rows of a profile, adds up equal ones, and inserts table after table.
 *
 * The rows of `process` come last: a host counts as covered only when its memory is in the store.
 */
#include "fleet/fleet_load.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "fleet/fleet_wire.h"
#include "query/query.h"
#include "send/fleet_slots.h"

enum { FLAG_MAPPING = 1 };

/* Rows of the tables `draw` and `live`: equal samples of a stack. */
struct load_row {
	struct gg_fleet_stack_id stack;
	uint64_t series, size;
	double gap;
	uint32_t allocated, freed, live;
	uint8_t flags;
};

struct series_sum {
	uint64_t id;
	uint32_t first_process; /* whose labels the series has */
	uint32_t process_count;
	double gap_max, live_bytes, allocated_bytes, rss;
	uint8_t scheme; /* as in struct gg_fleet_process_row */
	uint64_t dropped;
};

struct load {
	struct gg_clickhouse *store;
	const struct gg_model *model;
	const struct gg_fleet_load_plan *plan;
	struct gg_error *error;
	uint64_t service, host; /* `host`: the sender, a session of the plan's host */
	char instance[20];
	uint32_t month;
	int status;
	enum gg_metric metric; /* that is being collected */
	uint64_t *frame_ids;   /* by the model's frame; 0: not made yet */
	uint8_t *is_stack_used;
	struct gg_fleet_stack_id *stack_ids; /* by the model's stack */
	uint32_t *process_series;            /* by the model's process: index of its series */
	GG_ARRAY(struct load_row) rows;
	GG_ARRAY(struct series_sum) series;
	GG_ARRAY(uint64_t) stack_frames; /* of the stack that is being made */
	struct gg_buf frame_rows, symbol_rows, stack_rows;
};

/* --- stacks ---------------------------------------------------------------------------------- */

static const char *text_of(const char *text)
{
	return text != NULL ? text : "";
}

/*
 * True if the profile names the code of a frame, at least by the address where its function begins.
 * The model calls other frames by their own address, which is no name.
 */
static bool has_names(const struct load *load, const struct gg_model_frame *frame)
{
	const struct gg_model *model = load->model;
	const struct gg_code_location *location = &model->locations[frame->first_location];
	const struct gg_model_function *function = &model->functions[location->function];
	char own[512];

	if (function->is_named || frame->location_count > 1)
		return true;
	snprintf(own, sizeof(own), "%s+0x%llx", model->modules[frame->module].name,
	         (unsigned long long)frame->address);
	return frame->module != 0 && strcmp(function->short_name, own) != 0;
}

/*
 * A frame without a build-id is known by the names of its code, if it has any: two hosts may have
 * different programs under one path.
 */
static uint64_t make_frame_id(const struct load *load, const struct gg_model_frame *frame)
{
	const struct gg_model *model = load->model;
	const struct gg_model_module *module = &model->modules[frame->module];
	const struct gg_code_location *locations = &model->locations[frame->first_location];
	uint64_t id = 0;
	char above[24] = "";

	if (module->build_id[0] != '\0' || !has_names(load, frame))
		return gg_fleet_native_frame_id(module->build_id, module->path, frame->address);
	for (uint32_t i = 0; i < frame->location_count; i++) {
		const struct gg_model_function *function = &model->functions[locations[i].function];
		const struct gg_model_line *line = &model->lines[locations[i].line];
		char name[1024];

		snprintf(name, sizeof(name), "%s%s", above, function->short_name);
		id = gg_fleet_named_frame_id(name, line->file, line->line);
		snprintf(above, sizeof(above), "%016llx ", (unsigned long long)id);
	}
	return id;
}

/* The rows of a frame: where it is, and its functions, the innermost inlined call first. */
static void add_frame(struct load *load, uint64_t id, const struct gg_model_frame *frame)
{
	const struct gg_model *model = load->model;
	const struct gg_model_module *module = &model->modules[frame->module];
	const struct gg_code_location *locations = &model->locations[frame->first_location];
	struct gg_buf *rows = &load->frame_rows;

	gg_clickhouse_write_u32(rows, load->month);
	gg_clickhouse_write_u64(rows, id);
	gg_clickhouse_write_text(rows, module->build_id);
	gg_clickhouse_write_u64(rows, frame->address);
	gg_clickhouse_write_text(rows, frame->module != 0 ? module->path : "");
	if (!has_names(load, frame))
		return;
	rows = &load->symbol_rows;
	gg_clickhouse_write_u64(rows, id);
	gg_clickhouse_write_u32(rows, load->plan->slot_s);
	gg_clickhouse_write_varint(rows, frame->location_count);
	for (uint32_t i = 0; i < frame->location_count; i++)
		gg_clickhouse_write_text(rows, model->functions[locations[i].function].short_name);
	gg_clickhouse_write_varint(rows, frame->location_count);
	for (uint32_t i = 0; i < frame->location_count; i++)
		gg_clickhouse_write_text(rows, text_of(model->lines[locations[i].line].file));
	gg_clickhouse_write_varint(rows, frame->location_count);
	for (uint32_t i = 0; i < frame->location_count; i++)
		gg_clickhouse_write_u32(rows, model->lines[locations[i].line].line);
}

static uint64_t frame_id(struct load *load, uint32_t number)
{
	const struct gg_model_frame *frame = &load->model->frames[number];

	if (load->frame_ids[number] == 0) {
		load->frame_ids[number] = make_frame_id(load, frame);
		add_frame(load, load->frame_ids[number], frame);
	}
	return load->frame_ids[number];
}

static struct gg_fleet_stack_id stack_id(struct load *load, uint32_t stack)
{
	if (load->is_stack_used[stack])
		return load->stack_ids[stack];
	load->stack_frames.count = 0;
	for (uint32_t at = stack; at != 0; at = load->model->stacks[at].parent)
		if (!gg_array_push(&load->stack_frames,
		                   frame_id(load, load->model->stacks[at].frame)))
			load->status = gg_error_memory(load->error, "fleet load");
	load->is_stack_used[stack] = 1;
	load->stack_ids[stack] = gg_fleet_stack_id(load->stack_frames.items,
	                                           load->stack_frames.count);
	gg_clickhouse_write_u32(&load->stack_rows, load->month);
	gg_clickhouse_write_u64(&load->stack_rows, load->service);
	gg_buf_append(&load->stack_rows, load->stack_ids[stack].bytes,
	              sizeof(load->stack_ids[stack].bytes));
	gg_clickhouse_write_varint(&load->stack_rows, load->stack_frames.count);
	for (size_t i = 0; i < load->stack_frames.count; i++)
		gg_clickhouse_write_u64(&load->stack_rows, load->stack_frames.items[i]);
	return load->stack_ids[stack];
}

/* --- series ---------------------------------------------------------------------------------- */

/* The labels of a process: those of the plan, and its own with other keys. */
static size_t labels_of(const struct load *load, uint32_t process, struct gg_fleet_label *labels,
                        size_t max)
{
	const struct gg_model *model = load->model;
	size_t count = 0, given;

	for (; count < load->plan->label_count && count < max; count++)
		labels[count] = load->plan->labels[count];
	given = count;
	for (size_t i = 0; i < model->label_count && count < max; i++) {
		bool is_given = model->labels[i].process != process;

		for (size_t j = 0; j < given; j++)
			is_given = is_given || strcmp(labels[j].key, model->labels[i].key) == 0;
		if (!is_given)
			labels[count++] = (struct gg_fleet_label){ model->labels[i].key,
				                                   model->labels[i].value };
	}
	return count;
}

enum { LABELS_MAX = 64 };

static struct gg_fleet_series series_of(const struct load *load, uint32_t process,
                                        struct gg_fleet_label *labels)
{
	return (struct gg_fleet_series){ .service = load->plan->service,
		                         .version = load->plan->version,
		                         .kind = "native",
		                         .labels = labels,
		                         .label_count = labels_of(load, process, labels,
		                                                  LABELS_MAX) };
}

static int make_series(struct load *load)
{
	const struct gg_model *model = load->model;

	for (uint32_t process = 1; process < model->process_count; process++) {
		struct gg_fleet_label labels[LABELS_MAX];
		struct gg_fleet_series series = series_of(load, process, labels);
		uint64_t id = gg_fleet_series_id(&series);
		struct series_sum *sum;
		size_t index = 0;

		if (gg_model_is_collector(model, process))
			continue; /* the group that it belongs to counts */
		while (index < load->series.count && load->series.items[index].id != id)
			index++;
		if (index == load->series.count) {
			sum = gg_array_add(&load->series);
			if (sum == NULL)
				return gg_error_memory(load->error, "fleet load");
			sum->id = id;
			sum->first_process = process;
		}
		sum = &load->series.items[index];
		load->process_series[process] = (uint32_t)index;
		sum->process_count++;
		sum->gap_max = fmax(sum->gap_max, gg_model_exposure(model, process));
		sum->scheme = gg_slot_scheme(model, process, sum->scheme);
		sum->dropped += gg_model_dropped(model, process);
		sum->rss += (double)gg_slot_last_rss(model, process);
	}
	return 0;
}

/* --- samples --------------------------------------------------------------------------------- */

/* Finds the interval for which 1 - exp(-length / interval) is the sample's p; 0: no interval. */
static double gap_of(const struct gg_draw *draw)
{
	if (draw->sampling_interval <= 1)
		return draw->scheme != GG_SCHEME_OPTIMAL || draw->sampling_interval <= 0 ? 1 : 0;
	if (draw->scheme == GG_SCHEME_BERNOULLI)
		return -1 / log1p(-1 / draw->sampling_interval);
	return draw->scheme == GG_SCHEME_POISSON || draw->scheme == GG_SCHEME_OPTIMAL
	               ? draw->sampling_interval
	               : 0;
}

static void take_pick(const struct gg_model_sample *sample,
                      const struct gg_profile_aggregate *aggregate, void *context)
{
	struct load *load = context;
	struct gg_share share;
	struct series_sum *sum;
	struct load_row row;
	double gap;

	if (load->status < 0)
		return;
	if (aggregate != NULL) {
		load->status = gg_error_set(load->error, -ENOTSUP, "fleet load", NULL,
		                            "the profile has sums in place of samples: it was "
		                            "merged, imported or compacted");
		return;
	}
	gap = gap_of(&sample->draw);
	if (gap == 0) {
		load->status = gg_error_set(load->error, -ENOTSUP, "fleet load",
		                            "Record with the default scheme.",
		                            "a fleet cannot hold samples of this scheme");
		return;
	}
	sum = &load->series.items[load->process_series[sample->process]];
	row = (struct load_row){ .stack = stack_id(load, sample->stack),
		                 .series = sum->id,
		                 .size = sample->size_bytes,
		                 .gap = gap,
		                 .allocated = load->metric == GG_METRIC_ALLOCATED,
		                 .freed = load->metric == GG_METRIC_FREED,
		                 .live = load->metric == GG_METRIC_LIVE,
		                 .flags = (sample->flags & GG_PROFILE_SAMPLE_MAPPING) != 0
		                                  ? FLAG_MAPPING
		                                  : 0 };
	share = gg_share_of(&sample->draw, sample->size_bytes);
	if (load->metric == GG_METRIC_LIVE)
		sum->live_bytes += share.value[GG_BYTES];
	else if (load->metric == GG_METRIC_ALLOCATED)
		sum->allocated_bytes += share.value[GG_BYTES];
	if (!gg_array_push(&load->rows, row))
		load->status = gg_error_memory(load->error, "fleet load");
}

static int compare_rows(const void *a, const void *b)
{
	const struct load_row *left = a, *right = b;
	int order = memcmp(&left->stack, &right->stack, sizeof(left->stack));

	if (order != 0)
		return order;
	if (left->series != right->series)
		return left->series < right->series ? -1 : 1;
	if (left->size != right->size)
		return left->size < right->size ? -1 : 1;
	if (left->gap != right->gap)
		return left->gap < right->gap ? -1 : 1;
	return left->flags - right->flags;
}

static int collect(struct load *load)
{
	static const enum gg_metric metrics[] = { GG_METRIC_ALLOCATED, GG_METRIC_FREED,
		                                  GG_METRIC_LIVE };
	struct gg_query query;
	size_t kept = 0;
	int status = 0;

	for (size_t i = 0; i < GG_COUNT(metrics) && status == 0; i++) {
		gg_query_init(&query);
		query.metric = load->metric = metrics[i];
		status = gg_query_each(load->model, &query, take_pick, load, load->error);
		if (status == 0)
			status = load->status;
	}
	if (status < 0 || load->rows.count == 0)
		return status;
	qsort(load->rows.items, load->rows.count, sizeof(*load->rows.items), compare_rows);
	for (size_t i = 1; i < load->rows.count; i++) {
		struct load_row *last = &load->rows.items[kept], *row = &load->rows.items[i];

		if (compare_rows(last, row) == 0) {
			last->allocated += row->allocated;
			last->freed += row->freed;
			last->live += row->live;
		} else {
			load->rows.items[++kept] = *row;
		}
	}
	load->rows.count = kept + 1;
	return 0;
}

/* --- inserts --------------------------------------------------------------------------------- */

static int insert(struct load *load, const char *table, struct gg_buf *rows)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf statement = { 0 };
	const struct gg_clickhouse_value values[] = {
		gg_clickhouse_name("db", load->plan->tenant),
		gg_clickhouse_name("table", table),
	};
	int status = gg_clickhouse_bind(&statement, "INSERT INTO {db}.{table} FORMAT RowBinary",
	                                values, GG_COUNT(values), load->error);

	if (rows->failed)
		status = gg_error_memory(load->error, "fleet load");
	if (status == 0 && rows->length > 0)
		status = gg_clickhouse_insert(load->store, &statement, rows->data, rows->length,
		                              load->error);
	gg_buf_done(rows);
	return status;
}

static void write_row(struct gg_buf *rows, const struct load *load, const struct load_row *row)
{
	gg_clickhouse_write_u32(rows, load->plan->slot_s);
	gg_clickhouse_write_u64(rows, load->service);
	gg_buf_append(rows, row->stack.bytes, sizeof(row->stack.bytes));
	gg_clickhouse_write_u64(rows, row->series);
	gg_clickhouse_write_u64(rows, load->host);
	gg_clickhouse_write_u64(rows, row->size);
	gg_clickhouse_write_double(rows, row->gap);
}

static int insert_facts(struct load *load)
{
	struct gg_buf draws = { 0 }, lives = { 0 };
	int status;

	for (size_t i = 0; i < load->rows.count; i++) {
		const struct load_row *row = &load->rows.items[i];

		if (row->allocated > 0 || row->freed > 0) {
			write_row(&draws, load, row);
			gg_clickhouse_write_u32(&draws, row->allocated);
			gg_clickhouse_write_u32(&draws, row->freed);
			gg_clickhouse_write_u8(&draws, row->flags);
		}
		if (row->live > 0) {
			write_row(&lives, load, row);
			gg_clickhouse_write_u32(&lives, row->live);
			gg_clickhouse_write_u8(&lives, row->flags);
		}
	}
	status = insert(load, "draw", &draws);
	if (status == 0)
		status = insert(load, "live", &lives);
	gg_buf_done(&lives);
	return status;
}

static void write_labels(struct gg_buf *rows, const struct gg_fleet_label *labels, size_t count)
{
	gg_clickhouse_write_varint(rows, count);
	for (size_t i = 0; i < count; i++)
		gg_clickhouse_write_text(rows, labels[i].key);
	gg_clickhouse_write_varint(rows, count);
	for (size_t i = 0; i < count; i++)
		gg_clickhouse_write_text(rows, labels[i].value);
}

static int insert_series(struct load *load)
{
	const struct gg_fleet_label instance = { "instance", load->instance };
	struct gg_buf rows = { 0 }, hosts = { 0 };
	int status;

	for (size_t i = 0; i < load->series.count; i++) {
		struct gg_fleet_label labels[LABELS_MAX];
		struct gg_fleet_series series = series_of(load, load->series.items[i].first_process,
		                                          labels);

		gg_clickhouse_write_u32(&rows, load->month);
		gg_clickhouse_write_u64(&rows, load->service);
		gg_clickhouse_write_u64(&rows, load->series.items[i].id);
		gg_clickhouse_write_text(&rows, series.service);
		gg_clickhouse_write_text(&rows, text_of(series.version));
		gg_clickhouse_write_text(&rows, series.kind);
		gg_clickhouse_write_text(&rows, text_of(series.heap));
		gg_clickhouse_write_text(&rows, text_of(series.type));
		write_labels(&rows, labels, series.label_count);
	}
	gg_clickhouse_write_u32(&hosts, load->month);
	gg_clickhouse_write_u64(&hosts, load->host);
	gg_clickhouse_write_text(&hosts, load->plan->host);
	write_labels(&hosts, &instance, 1);
	status = insert(load, "series", &rows);
	if (status == 0)
		status = insert(load, "host", &hosts);
	gg_buf_done(&hosts);
	return status;
}

/* A row without processes says that the sender has ended. */
static void write_end(const struct load *load, const struct series_sum *sum, struct gg_buf *rows)
{
	gg_clickhouse_write_u32(rows, load->plan->slot_s + load->plan->slot_length_s);
	gg_clickhouse_write_u64(rows, load->service);
	gg_clickhouse_write_u64(rows, sum->id);
	gg_clickhouse_write_u64(rows, load->host);
	gg_clickhouse_write_u32(rows, 0);
	gg_clickhouse_write_u32(rows, load->plan->is_left_out ? 0 : load->plan->selected_ppm);
	gg_clickhouse_write_double(rows, sum->gap_max);
	gg_clickhouse_write_u8(rows, sum->scheme);
	gg_clickhouse_write_u64(rows, 0);
	gg_clickhouse_write_double(rows, 0);
	gg_clickhouse_write_double(rows, 0);
	gg_clickhouse_write_u32(rows, 0);
	gg_clickhouse_write_u64(rows, sum->dropped);
}

static int insert_processes(struct load *load)
{
	struct gg_buf rows = { 0 };

	for (size_t i = 0; i < load->series.count; i++) {
		const struct series_sum *sum = &load->series.items[i];

		gg_clickhouse_write_u32(&rows, load->plan->slot_s);
		gg_clickhouse_write_u64(&rows, load->service);
		gg_clickhouse_write_u64(&rows, sum->id);
		gg_clickhouse_write_u64(&rows, load->host);
		gg_clickhouse_write_u32(&rows, sum->process_count);
		gg_clickhouse_write_u32(&rows,
		                        load->plan->is_left_out ? 0 : load->plan->selected_ppm);
		gg_clickhouse_write_double(&rows, sum->gap_max);
		gg_clickhouse_write_u8(&rows, sum->scheme);
		gg_clickhouse_write_u64(&rows, (uint64_t)sum->rss);
		gg_clickhouse_write_double(&rows, sum->live_bytes);
		gg_clickhouse_write_double(&rows, sum->allocated_bytes);
		gg_clickhouse_write_u32(&rows, load->plan->slot_length_s);
		gg_clickhouse_write_u64(&rows, sum->dropped);
		if (load->plan->has_ended)
			write_end(load, sum, &rows);
	}
	return insert(load, "process", &rows);
}

static int insert_all(struct load *load)
{
	int status = insert_series(load);

	if (status == 0 && !load->plan->is_left_out) {
		status = insert(load, "frame", &load->frame_rows);
		if (status == 0)
			status = insert(load, "symbol", &load->symbol_rows);
		if (status == 0)
			status = insert(load, "stack", &load->stack_rows);
		if (status == 0)
			status = insert_facts(load);
	}
	return status == 0 ? insert_processes(load) : status;
}

static uint32_t month_of(uint32_t slot_s)
{
	time_t at = slot_s;
	struct tm parts;

	gmtime_r(&at, &parts);
	return (uint32_t)(parts.tm_year + 1900) * 100 + (uint32_t)parts.tm_mon + 1;
}

int gg_fleet_load(struct gg_clickhouse *store, const struct gg_model *model,
                  const struct gg_fleet_load_plan *plan, struct gg_error *error)
{
	struct load load = { .store = store,
		             .model = model,
		             .plan = plan,
		             .error = error,
		             .service = gg_fleet_service_id(plan->service),
		             .month = month_of(plan->slot_s) };
	int status = 0;

	snprintf(load.instance, sizeof(load.instance), "%016" PRIx64, gg_slot_instance(model));
	load.host = gg_fleet_sender_id(plan->host, load.instance);
	load.frame_ids = calloc(model->frame_count, sizeof(*load.frame_ids));
	load.stack_ids = calloc(model->stack_count, sizeof(*load.stack_ids));
	load.is_stack_used = calloc(model->stack_count, 1);
	load.process_series = calloc(model->process_count, sizeof(*load.process_series));
	if (load.frame_ids == NULL || load.stack_ids == NULL || load.is_stack_used == NULL ||
	    load.process_series == NULL)
		status = gg_error_memory(error, "fleet load");
	if (status == 0)
		status = make_series(&load);
	if (status == 0 && load.series.count == 0)
		status = gg_error_set(error, -ENODATA, "fleet load", NULL,
		                      "the profile has no process");
	if (status == 0)
		status = collect(&load);
	if (status == 0)
		status = insert_all(&load);
	free(load.frame_ids);
	free(load.stack_ids);
	free(load.is_stack_used);
	free(load.process_series);
	gg_array_done(&load.rows);
	gg_array_done(&load.series);
	gg_array_done(&load.stack_frames);
	gg_buf_done(&load.frame_rows);
	gg_buf_done(&load.symbol_rows);
	gg_buf_done(&load.stack_rows);
	return status;
}
