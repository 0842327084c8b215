/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/fleet_services.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "fleet/fleet_question.h"
#include "fleet/fleet_schema.h"
#include "fleet/fleet_statements.h"

struct services_run {
	struct gg_fleet_services *services;
	struct gg_map row_of_series; /* series -> index of its row */
};

void gg_fleet_services_done(struct gg_fleet_services *services)
{
	for (size_t i = 0; i < services->rows.count; i++) {
		free(services->rows.items[i].service);
		free(services->rows.items[i].version);
	}
	gg_array_done(&services->rows);
}

/* The index of the row with these names, which is made if it is missing; -1: out of memory. */
static int64_t find_row(struct gg_fleet_services *services, const char *service, size_t length,
                        const char *version, size_t version_length)
{
	struct gg_fleet_service_row *row;

	for (size_t i = 0; i < services->rows.count; i++) {
		row = &services->rows.items[i];
		if (strlen(row->service) == length && strlen(row->version) == version_length &&
		    memcmp(row->service, service, length) == 0 &&
		    memcmp(row->version, version, version_length) == 0)
			return (int64_t)i;
	}
	row = gg_array_add(&services->rows);
	if (row == NULL)
		return -1;
	row->service = strndup(service, length);
	row->version = strndup(version, version_length);
	return row->service != NULL && row->version != NULL ? (int64_t)services->rows.count - 1
	                                                    : -1;
}

static int read_names(struct services_run *run, struct gg_clickhouse_rows *rows,
                      struct gg_error *error)
{
	while (gg_clickhouse_rows_more(rows)) {
		size_t length, version_length, ignored;
		const char *service, *version;
		uint64_t series;
		int64_t row;

		gg_clickhouse_read_u64(rows);
		series = gg_clickhouse_read_u64(rows);
		service = gg_clickhouse_read_text(rows, &length);
		version = gg_clickhouse_read_text(rows, &version_length);
		for (int i = 0; i < 3; i++)
			gg_clickhouse_read_text(rows, &ignored);
		for (int i = 0; i < 2; i++)
			for (uint64_t left = gg_clickhouse_read_varint(rows);
			     left > 0 && !rows->failed; left--)
				gg_clickhouse_read_text(rows, &ignored);
		if (rows->failed)
			break;
		row = find_row(run->services, service, length, version, version_length);
		if (row < 0 || gg_map_put(&run->row_of_series, series, (uint64_t)row) < 0)
			return gg_error_memory(error, "fleet services");
	}
	return gg_fleet_check_rows(rows, error);
}

static int compare_rows(const void *a, const void *b)
{
	const struct gg_fleet_service_row *left = a, *right = b;
	int order = strcmp(left->service, right->service);

	if (order != 0)
		return order;
	if (left->last_slot_s != right->last_slot_s)
		return left->last_slot_s > right->last_slot_s ? -1 : 1;
	return strcmp(left->version, right->version);
}

/* A host with several series of a version, such as two labels, is one host of it. */
struct counted {
	uint64_t row, host;
	bool is_selected;
};

struct counted_array {
	GG_ARRAY(struct counted);
};

static int compare_counted(const void *a, const void *b)
{
	const struct counted *left = a, *right = b;

	if (left->row != right->row)
		return left->row < right->row ? -1 : 1;
	if (left->host != right->host)
		return left->host < right->host ? -1 : 1;
	return right->is_selected - left->is_selected;
}

static void count_hosts(struct gg_fleet_services *services, struct counted_array *counted)
{
	if (counted->count > 0)
		qsort(counted->items, counted->count, sizeof(*counted->items), compare_counted);
	for (size_t i = 0; i < counted->count; i++) {
		const struct counted *at = &counted->items[i];

		if (i > 0 && at[-1].row == at->row && at[-1].host == at->host)
			continue;
		services->rows.items[at->row].host_count++;
		services->rows.items[at->row].selected_count += at->is_selected;
	}
}

static int read_processes(struct services_run *run, struct gg_clickhouse_rows *rows,
                          struct counted_array *counted, struct gg_error *error)
{
	while (gg_clickhouse_rows_more(rows)) {
		struct counted host = { 0 };
		struct gg_fleet_service_row *row;
		uint32_t last_slot_s, process_count;
		double rss, live;

		gg_clickhouse_read_u64(rows);
		host.row = gg_map_get(&run->row_of_series, gg_clickhouse_read_u64(rows));
		host.host = gg_clickhouse_read_u64(rows);
		last_slot_s = gg_clickhouse_read_u32(rows);
		gg_clickhouse_read_u32(rows);
		process_count = gg_clickhouse_read_u32(rows);
		host.is_selected = gg_clickhouse_read_u32(rows) > 0;
		gg_clickhouse_read_double(rows);
		gg_clickhouse_read_u8(rows);
		rss = gg_clickhouse_read_double(rows);
		live = gg_clickhouse_read_double(rows);
		gg_clickhouse_read_double(rows);
		gg_clickhouse_read_double(rows);
		if (rows->failed || host.row == GG_MAP_NONE)
			continue;
		row = &run->services->rows.items[host.row];
		row->process_count += process_count;
		row->rss_bytes += rss;
		row->live_bytes += live;
		if (last_slot_s > row->last_slot_s)
			row->last_slot_s = last_slot_s;
		if (!gg_array_push(counted, host))
			return gg_error_memory(error, "fleet services");
	}
	return gg_fleet_check_rows(rows, error);
}

/* Versions that nobody ran in the window have a name but no host. */
static void drop_empty(struct gg_fleet_services *services)
{
	size_t kept = 0;

	for (size_t i = 0; i < services->rows.count; i++) {
		if (services->rows.items[i].host_count > 0) {
			services->rows.items[kept++] = services->rows.items[i];
			continue;
		}
		free(services->rows.items[i].service);
		free(services->rows.items[i].version);
	}
	services->rows.count = kept;
}

int gg_fleet_services_of(struct gg_fleet_services *services, struct gg_clickhouse *store,
                         const char *tenant, uint32_t since_s, uint32_t until_s,
                         struct gg_error *error)
{
	const struct gg_fleet_question question = { .tenant = tenant };
	struct gg_fleet_scope scope = { .question = &question, .from_s = since_s, .to_s = until_s };
	GG_CLEANUP(gg_buf_done) struct gg_buf names = { 0 }, processes = { 0 };
	struct services_run run = { .services = services };
	struct counted_array counted = { 0 };
	struct gg_clickhouse_rows rows;
	int status = gg_fleet_schema_check(store, tenant, error);

	if (status == 0)
		status = gg_fleet_scope_ask(&scope, store, GG_FLEET_SERVICES, 0, &names, error);
	if (status == 0)
		status = gg_fleet_scope_ask(&scope, store, GG_FLEET_PROCESSES, 0, &processes,
		                            error);
	rows = gg_clickhouse_rows_of(&names);
	if (status == 0)
		status = read_names(&run, &rows, error);
	rows = gg_clickhouse_rows_of(&processes);
	if (status == 0)
		status = read_processes(&run, &rows, &counted, error);
	if (status == 0) {
		count_hosts(services, &counted);
		drop_empty(services);
		if (services->rows.count > 0)
			qsort(services->rows.items, services->rows.count,
			      sizeof(*services->rows.items), compare_rows);
	}
	gg_map_done(&run.row_of_series);
	gg_array_done(&counted);
	return status;
}
