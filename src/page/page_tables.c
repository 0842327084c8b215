/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_tables - the rows that the page shows until the user chooses a window.
 *
 * Each grouping takes one query for each metric.  A table has the heaviest rows of any of them.
 */
#include "page/page_tables.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/map.h"
#include "model/model.h"
#include "page/page_columns.h"
#include "page/page_names.h"
#include "page/page_owners.h"
#include "page/page_run.h"
#include "query/query.h"
#include "report/figure.h"
#include "report/report.h"

static const enum gg_metric metrics[] = { GG_METRIC_LIVE, GG_METRIC_ALLOCATED, GG_METRIC_PEAK };

enum { TABLE_METRIC_COUNT = GG_COUNT(metrics), TABLE_DIGITS = 7 };

/* One table: the results of the metrics, and the chosen rows. */
struct table {
	struct gg_page_run *run;
	enum gg_grouping by;
	struct gg_query_result *results[TABLE_METRIC_COUNT]; /* NULL: the profile has no peak */
	struct gg_map at[TABLE_METRIC_COUNT];                /* maps a key to its row */
	uint32_t *keys;
	size_t count, all_count;
};

static bool is_by_frame(enum gg_grouping by)
{
	return by == GG_BY_FUNCTION || by == GG_BY_LINE || by == GG_BY_MODULE;
}

struct candidate {
	uint32_t key;
	double share;
};

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *left = a, *right = b;

	if (left->share != right->share)
		return left->share < right->share ? 1 : -1;
	return (left->key > right->key) - (left->key < right->key);
}

static double share_in(const struct gg_query_result *result, const struct gg_query_row *row)
{
	double most = 0;

	for (int unit = 0; unit < GG_QUANTITY_COUNT; unit++) {
		double whole = gg_tally_estimate(&result->total, (enum gg_quantity)unit).value;

		if (whole > 0)
			most = fmax(most,
			            gg_tally_estimate(row->total, (enum gg_quantity)unit).value /
			                    whole);
	}
	return most;
}

/* Chooses the keys of all results, the heaviest first. */
static int choose(struct table *table)
{
	struct gg_map known = { 0 };
	struct candidate *candidates;
	size_t most = 1;
	int status = 0;

	for (int m = 0; m < TABLE_METRIC_COUNT; m++)
		most += table->results[m] != NULL ? table->results[m]->row_count : 0;
	candidates = calloc(most, sizeof(*candidates));
	table->keys = calloc(most, sizeof(*table->keys));
	if (candidates == NULL || table->keys == NULL)
		status = -ENOMEM;
	for (int m = 0; m < TABLE_METRIC_COUNT && status == 0; m++)
		for (size_t i = 0;
		     table->results[m] != NULL && status == 0 && i < table->results[m]->row_count;
		     i++) {
			const struct gg_query_row *row = &table->results[m]->rows[i];
			uint64_t found = gg_map_get(&known, row->key);

			status = gg_map_put(&table->at[m], row->key, i);
			if (status == 0 && found == GG_MAP_NONE) {
				found = table->all_count++;
				status = gg_map_put(&known, row->key, found);
				candidates[found].key = row->key;
			}
			if (status == 0)
				candidates[found].share = fmax(candidates[found].share,
				                               share_in(table->results[m], row));
		}
	if (status == 0) {
		qsort(candidates, table->all_count, sizeof(*candidates), compare_candidates);
		table->count = table->all_count < table->run->rows ? table->all_count
		                                                   : table->run->rows;
		for (size_t i = 0; i < table->count; i++)
			table->keys[i] = candidates[i].key;
	}
	gg_map_done(&known);
	free(candidates);
	return status;
}

static const struct gg_query_row *row_at(const struct table *table, int m, size_t i)
{
	uint64_t found = gg_map_get(&table->at[m], table->keys[i]);

	return found == GG_MAP_NONE ? NULL : &table->results[m]->rows[found];
}

/* Writes estimates and both ends of their intervals for all rows in one unit: three columns. */
static int write_unit(const struct table *table, int m, bool total, enum gg_quantity unit,
                      struct gg_json *json)
{
	static const char *const names[GG_QUANTITY_COUNT][3] = {
		{ "bytes", "bytes_low", "bytes_high" },
		{ "count", "count_low", "count_high" },
	};
	double(*columns)[3] = calloc(table->count + 1, sizeof(*columns));
	struct gg_tally nothing = { 0 };

	if (columns == NULL)
		return -ENOMEM;
	gg_tally_expose_like(&nothing, &table->results[m]->total);
	for (size_t i = 0; i < table->count; i++) {
		const struct gg_query_row *row = row_at(table, m, i);
		const struct gg_tally *tally = row == NULL ? &nothing
		                               : total     ? row->total
		                                           : row->self;
		struct gg_figure figure = gg_figure_of(
			tally, unit, table->run->options->confidence,
			row != NULL && gg_report_is_discovered(table->results[m], row));

		columns[i][0] = figure.is_unknown && figure.estimate == 0 ? NAN : figure.estimate;
		columns[i][1] = figure.is_unknown ? NAN : figure.low;
		columns[i][2] = figure.high;
	}
	for (int k = 0; k < 3; k++)
		gg_page_doubles(json, names[unit][k], &columns[0][k], table->count,
		                sizeof(*columns), TABLE_DIGITS);
	free(columns);
	return 0;
}

static int write_part(const struct table *table, int m, const char *name, bool total,
                      struct gg_json *json)
{
	int status;

	gg_json_open(json, name, '{');
	status = write_unit(table, m, total, GG_BYTES, json);
	if (status == 0)
		status = write_unit(table, m, total, GG_ALLOCATIONS, json);
	gg_json_close(json);
	return status;
}

static int write_metric(const struct table *table, int m, struct gg_json *json)
{
	int status;

	if (table->results[m] == NULL) {
		gg_json_text(json, gg_metric_name(metrics[m]), NULL);
		return 0;
	}
	gg_json_open(json, gg_metric_name(metrics[m]), '{');
	gg_json_open(json, "samples", '[');
	for (size_t i = 0; i < table->count; i++) {
		const struct gg_query_row *row = row_at(table, m, i);

		gg_json_integer(json, NULL, row == NULL ? 0 : row->total->sample_count);
	}
	gg_json_close(json);
	status = write_part(table, m, "self", false, json);
	if (status == 0 && is_by_frame(table->by))
		status = write_part(table, m, "total", true, json);
	gg_json_close(json);
	return status;
}

/* --- columns that identify a row ------------------------------------------------------------ */

static uint32_t frame_of(const struct table *table, uint32_t key)
{
	const struct gg_model *model = table->run->model;

	return gg_page_frame_of(&table->run->names,
	                        table->by == GG_BY_LINE ? model->lines[key].function : key);
}

static uint32_t file_of(const struct table *table, uint32_t key)
{
	return gg_page_string(&table->run->names, table->run->model->lines[key].file);
}

static uint32_t line_of(const struct table *table, uint32_t key)
{
	return table->run->model->lines[key].line;
}

static uint32_t key_itself(const struct table *table, uint32_t key)
{
	(void)table;
	return key;
}

static uint32_t process_of(const struct table *table, uint32_t key)
{
	return table->by == GG_BY_THREAD ? table->run->model->threads[key].process : key;
}

static uint32_t pid_of(const struct table *table, uint32_t key)
{
	return table->run->model->processes[process_of(table, key)].pid;
}

static uint32_t tid_of(const struct table *table, uint32_t key)
{
	return table->run->model->threads[key].tid;
}

static uint32_t name_of(const struct table *table, uint32_t key)
{
	const struct gg_model *model = table->run->model;

	return gg_page_string(&table->run->names,
	                      table->by == GG_BY_THREAD
	                              ? model->threads[key].name
	                              : gg_page_process_name(&model->processes[key]));
}

static uint32_t number_of(const struct table *table, uint32_t key)
{
	return table->run->owners.process_of[key];
}

struct table_column {
	const char *name; /* NULL ends the list */
	uint32_t (*value)(const struct table *table, uint32_t key);
};

struct grouping {
	enum gg_grouping by;
	const char *name;
	struct table_column columns[4];
};

static const struct grouping groupings[] = {
	{ GG_BY_FUNCTION, "function", { { "frame", frame_of } } },
	{ GG_BY_LINE, "line", { { "frame", frame_of }, { "file", file_of }, { "line", line_of } } },
	{ GG_BY_MODULE, "module", { { "module", key_itself } } },
	{ GG_BY_SIZE, "size", { { NULL, NULL } } },
	{ GG_BY_KIND, "kind", { { "kind", key_itself } } },
	{ GG_BY_HEAP, "heap", { { "heap", key_itself } } },
	{ GG_BY_TYPE, "type", { { "type", key_itself } } },
	{ GG_BY_THREAD, "thread", { { "pid", pid_of }, { "tid", tid_of }, { "name", name_of } } },
	{ GG_BY_PROCESS, "process", { { "pid", pid_of }, { "name", name_of } } },
};

static void write_columns(const struct table *table, const struct table_column *columns,
                          struct gg_json *json)
{
	for (; columns->name != NULL; columns++) {
		gg_json_open(json, columns->name, '[');
		for (size_t i = 0; i < table->count; i++)
			gg_json_integer(json, NULL, columns->value(table, table->keys[i]));
		gg_json_close(json);
	}
	if (table->by != GG_BY_SIZE)
		return;
	gg_json_open(json, "upper", '[');
	for (size_t i = 0; i < table->count; i++) {
		uint32_t key = table->keys[i];

		gg_json_number(json, NULL, key < 64 ? exp2(key) : NAN);
	}
	gg_json_close(json);
}

static int write_table(struct gg_page_run *run, const struct grouping *grouping, const char *label,
                       struct gg_json *json)
{
	struct table table = { .run = run, .by = grouping->by };
	struct gg_query query;
	int status = 0;

	gg_query_init(&query);
	query.by = table.by;
	query.label = label;
	for (int m = 0; m < TABLE_METRIC_COUNT && status == 0; m++) {
		query.metric = metrics[m];
		if (query.metric != GG_METRIC_PEAK || run->peak_ns >= 0)
			status = gg_query_rows(run->model, &query, &table.results[m], run->error);
	}
	if (status == 0 && choose(&table) < 0)
		status = gg_page_out_of_memory(run);
	if (status == 0) {
		gg_json_open(json, grouping->name, '{');
		gg_json_integer(json, "row_count", table.all_count);
		write_columns(&table, grouping->columns, json);
		for (int m = 0; m < TABLE_METRIC_COUNT && status == 0; m++)
			status = write_metric(&table, m, json);
		gg_json_close(json);
		if (status < 0)
			status = gg_page_out_of_memory(run);
	}
	for (int m = 0; m < TABLE_METRIC_COUNT; m++) {
		gg_query_result_free(table.results[m]);
		gg_map_done(&table.at[m]);
	}
	free(table.keys);
	return status;
}

/* Writes a table of the values of each label, named like "label:host". */
static int write_labels(struct gg_page_run *run, struct gg_json *json)
{
	const char *keys[GG_PAGE_LABELS_MAX];
	size_t count = gg_page_label_keys(run->model, keys);
	GG_CLEANUP(gg_buf_done) struct gg_buf name = { 0 };
	int status = 0;

	for (size_t i = 0; i < count && status == 0; i++) {
		struct grouping grouping = { .by = GG_BY_LABEL,
			                     .columns = { { "process", number_of } } };

		gg_buf_clear(&name);
		gg_buf_printf(&name, "label:%s", keys[i]);
		grouping.name = gg_buf_text(&name);
		status = write_table(run, &grouping, keys[i], json);
	}
	return status;
}

int gg_page_tables_write(struct gg_page_run *run, struct gg_json *json)
{
	int status = 0;

	gg_json_open(json, "tables", '{');
	for (size_t i = 0; i < GG_COUNT(groupings) && status == 0; i++) {
		gg_page_report_progress(run, 20 + 35 * i / GG_COUNT(groupings));
		status = write_table(run, &groupings[i], NULL, json);
	}
	if (status == 0)
		status = write_labels(run, json);
	gg_json_close(json);
	return status;
}
