/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/fleet_services.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "fleet/fleet_model.h"
#include "fleet/fleet_question.h"
#include "fleet/fleet_schema.h"
#include "fleet/fleet_statements.h"
#include "stats/estimate/interval.h"

/* The memory of a row's hosts whose stacks are in the store. */
struct selected_live {
	struct gg_tally tally;
	double live_bytes; /* as the hosts report it */
	double gap_max;
};

/* The last slot and the longest one of all versions of a service. */
struct service_slots {
	uint32_t last_s, length_s;
};

struct services_run {
	struct gg_fleet_services *services;
	struct gg_map row_of_series; /* series -> index of its row */
	struct gg_map row_of_names;  /* hash of service and version -> index of its row */
	struct gg_map slots_of_name; /* hash of service -> index in `slots` */
	GG_ARRAY(struct service_slots) slots;
	GG_ARRAY(uint32_t) slots_of_row;
	struct selected_live *selected; /* by row */
};

void gg_fleet_services_done(struct gg_fleet_services *services)
{
	for (size_t i = 0; i < services->rows.count; i++) {
		free(services->rows.items[i].service);
		free(services->rows.items[i].version);
	}
	gg_array_done(&services->rows);
}

/* Finds the slots of the row's service, or begins to count them.  -1: out of memory. */
static int64_t find_slots(struct services_run *run, uint64_t hash)
{
	uint64_t index = gg_map_get(&run->slots_of_name, hash);

	if (index != GG_MAP_NONE)
		return (int64_t)index;
	index = run->slots.count;
	if (gg_map_put(&run->slots_of_name, hash, index) < 0 ||
	    !gg_array_push(&run->slots, ((struct service_slots){ 0, 1 })))
		return -1;
	return (int64_t)index;
}

/* The index of the row with these names, which is made if it is missing; -1: out of memory. */
static int64_t find_row(struct services_run *run, const char *service, size_t length,
                        const char *version, size_t version_length)
{
	struct gg_fleet_services *services = run->services;
	uint64_t of_service = gg_hash_bytes(service, length, 0);
	uint64_t hash = gg_hash_bytes(version, version_length, of_service);
	uint64_t index = gg_map_get(&run->row_of_names, hash);
	struct gg_fleet_service_row *row;
	int64_t slots;

	if (index != GG_MAP_NONE)
		return (int64_t)index;
	row = gg_array_add(&services->rows);
	if (row == NULL)
		return -1;
	row->service = strndup(service, length);
	row->version = strndup(version, version_length);
	slots = find_slots(run, of_service);
	if (row->service == NULL || row->version == NULL || slots < 0 ||
	    !gg_array_push(&run->slots_of_row, (uint32_t)slots) ||
	    gg_map_put(&run->row_of_names, hash, services->rows.count - 1) < 0)
		return -1;
	return (int64_t)services->rows.count - 1;
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
		row = find_row(run, service, length, version, version_length);
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

/*
 * Reads when each row was last seen, and what it allocated, from all slots of its senders.  The
 * last slot of a service is one at whose end a process ran: it says which snapshots are old.
 */
static int read_last_seen(struct services_run *run, struct gg_clickhouse_rows *rows,
                          struct gg_error *error)
{
	while (gg_clickhouse_rows_more(rows)) {
		struct gg_fleet_member member;
		struct gg_fleet_service_row *row;
		struct service_slots *slots;
		uint64_t index;
		uint32_t covered_s;

		gg_clickhouse_read_u64(rows);
		index = gg_map_get(&run->row_of_series, gg_clickhouse_read_u64(rows));
		member = gg_fleet_read_member(rows, &covered_s);
		if (rows->failed || index == GG_MAP_NONE)
			continue;
		row = &run->services->rows.items[index];
		row->allocated_bytes += member.allocated_bytes;
		if (member.last_slot_s > row->last_slot_s)
			row->last_slot_s = member.last_slot_s;
		slots = &run->slots.items[run->slots_of_row.items[index]];
		if (member.last_running_s > slots->last_s)
			slots->last_s = member.last_running_s;
		if (covered_s > slots->length_s)
			slots->length_s = covered_s;
	}
	return gg_fleet_check_rows(rows, error);
}

/* A host with several senders or series of a version is one host of it. */
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

static const struct service_slots *slots_of(const struct services_run *run, uint64_t row)
{
	return &run->slots.items[run->slots_of_row.items[row]];
}

/* Adds up the last snapshots of senders, as far as a report counts them as well. */
static int read_processes(struct services_run *run, const struct gg_fleet_scope *scope,
                          struct gg_clickhouse_rows *rows, struct counted_array *counted,
                          struct gg_error *error)
{
	while (gg_clickhouse_rows_more(rows)) {
		struct gg_fleet_member member;
		struct counted host = { 0 };
		struct gg_fleet_service_row *row;
		uint32_t covered_s;

		gg_clickhouse_read_u64(rows);
		host.row = gg_map_get(&run->row_of_series, gg_clickhouse_read_u64(rows));
		member = gg_fleet_read_member(rows, &covered_s);
		if (rows->failed || host.row == GG_MAP_NONE)
			continue;
		if ((uint64_t)member.last_slot_s +
		            GG_FLEET_SNAPSHOT_SLOTS * (uint64_t)slots_of(run, host.row)->length_s <=
		    slots_of(run, host.row)->last_s)
			continue;
		host.host = gg_fleet_scope_host(scope, member.sender);
		if (host.host == 0)
			host.host = member.sender;
		host.is_selected = member.is_selected;
		row = &run->services->rows.items[host.row];
		row->is_rss_complete = (row->process_count == 0 || row->is_rss_complete) &&
		                       member.rss_bytes > 0;
		if (member.is_selected) {
			struct selected_live *selected = &run->selected[host.row];

			selected->live_bytes += member.live_bytes;
			selected->gap_max = fmax(selected->gap_max, member.gap_max);
		}
		if (member.dropped_count > 0 || member.lacks_objects)
			run->selected[host.row].tally.incomplete = 1;
		row->process_count += member.process_count;
		row->rss_bytes += member.rss_bytes;
		row->live_bytes += member.live_bytes;
		if (!gg_array_push(counted, host))
			return gg_error_memory(error, "fleet services");
	}
	return gg_fleet_check_rows(rows, error);
}

/* --- intervals ------------------------------------------------------------------------------- */

static int read_tallies(struct services_run *run, struct gg_clickhouse *store,
                        const struct gg_fleet_scope *scope, int statement, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf reply = { 0 };
	struct gg_clickhouse_rows rows;
	int status = gg_fleet_scope_ask(scope, store, statement, 0, &reply, error);

	rows = gg_clickhouse_rows_of(&reply);
	while (status == 0 && gg_clickhouse_rows_more(&rows)) {
		uint64_t index = gg_map_get(&run->row_of_series, gg_clickhouse_read_u64(&rows));
		struct gg_tally tally = gg_fleet_read_tally(&rows, 1, false,
		                                            statement == GG_FLEET_SERVICE_FOLDED);

		if (!rows.failed && index != GG_MAP_NONE)
			gg_tally_merge(&run->selected[index].tally, &tally);
	}
	return status == 0 ? gg_fleet_check_rows(&rows, error) : status;
}

static void scale_sum(struct gg_sum *sum, double scale)
{
	sum->high *= scale;
	sum->low *= scale;
}

/*
 * The hosts whose stacks are there have the share 1 / scale of what all hosts hold, and by
 * assumption the same share of the variance.
 */
static void scale_tally(struct gg_tally *tally, double scale)
{
	for (int i = 0; i < GG_QUANTITY_COUNT; i++) {
		struct gg_moments *all[] = { &tally->usual[i], &tally->sure[i] };

		for (size_t j = 0; j < GG_COUNT(all); j++) {
			scale_sum(&all[j]->seen, scale);
			scale_sum(&all[j]->value, scale);
			scale_sum(&all[j]->variance, scale);
			scale_sum(&all[j]->skew, scale);
		}
		scale_sum(&tally->skew_slack[i], scale);
	}
}

static void set_interval(struct gg_fleet_service_row *row, struct selected_live *selected,
                         double confidence)
{
	double found = gg_tally_estimate(&selected->tally, GG_BYTES).value;
	struct gg_interval interval;

	row->live_low_bytes = 0;
	row->live_high_bytes = INFINITY;
	gg_tally_expose(&selected->tally, selected->gap_max);
	if (row->selected_count == 0 || !gg_tally_has_error(&selected->tally, GG_BYTES) ||
	    (row->live_bytes > 0 && !(found > 0)))
		return;
	if (row->live_bytes > 0)
		scale_tally(&selected->tally, row->live_bytes / found);
	interval = gg_interval_of(&selected->tally, GG_BYTES, confidence, false);
	row->live_low_bytes = interval.low;
	row->live_high_bytes = interval.high;
	row->has_live_error = true;
}

static int find_intervals(struct services_run *run, struct gg_clickhouse *store,
                          const struct gg_fleet_scope *scope, double confidence,
                          struct gg_error *error)
{
	struct gg_fleet_services *services = run->services;
	int status = read_tallies(run, store, scope, GG_FLEET_SERVICE_LIVE, error);

	if (status == 0)
		status = read_tallies(run, store, scope, GG_FLEET_SERVICE_FOLDED, error);
	for (size_t i = 0; i < services->rows.count && status == 0; i++)
		set_interval(&services->rows.items[i], &run->selected[i], confidence);
	return status;
}

/* Versions of which no process ran in the window have a name but no time. */
static void drop_empty(struct gg_fleet_services *services)
{
	size_t kept = 0;

	for (size_t i = 0; i < services->rows.count; i++) {
		if (services->rows.items[i].last_slot_s > 0) {
			services->rows.items[kept++] = services->rows.items[i];
			continue;
		}
		free(services->rows.items[i].service);
		free(services->rows.items[i].version);
	}
	services->rows.count = kept;
}

int gg_fleet_services_of(struct gg_fleet_services *services, struct gg_clickhouse *store,
                         const char *tenant, uint32_t since_s, uint32_t until_s, double confidence,
                         struct gg_error *error)
{
	const struct gg_fleet_question question = { .tenant = tenant,
		                                    .metric = GG_METRIC_LIVE,
		                                    .since_s = since_s };
	struct gg_fleet_scope scope = {
		.question = &question, .from_s = since_s, .to_s = until_s, .with_ended = true
	};
	GG_CLEANUP(gg_buf_done) struct gg_buf names = { 0 }, seen = { 0 }, processes = { 0 };
	struct services_run run = { .services = services };
	struct counted_array counted = { 0 };
	struct gg_clickhouse_rows rows;
	int status = gg_fleet_schema_check(store, tenant, error);

	services->delay_s = status == 0 ? gg_fleet_delay_seconds(store, tenant) : 0;
	if (status == 0)
		status = gg_fleet_scope_ask(&scope, store, GG_FLEET_SERVICES, 0, &names, error);
	if (status == 0)
		status = gg_fleet_scope_read_hosts(&scope, store, error);
	if (status == 0)
		status = gg_fleet_scope_ask(&scope, store, GG_FLEET_PROCESSES, 0, &seen, error);
	scope.is_latest = true;
	scope.with_ended = false;
	if (status == 0)
		status = gg_fleet_scope_ask(&scope, store, GG_FLEET_PROCESSES, 0, &processes,
		                            error);
	rows = gg_clickhouse_rows_of(&names);
	if (status == 0)
		status = read_names(&run, &rows, error);
	run.selected = calloc(services->rows.count + 1, sizeof(*run.selected));
	if (status == 0 && run.selected == NULL)
		status = gg_error_memory(error, "fleet services");
	rows = gg_clickhouse_rows_of(&seen);
	if (status == 0)
		status = read_last_seen(&run, &rows, error);
	rows = gg_clickhouse_rows_of(&processes);
	if (status == 0)
		status = read_processes(&run, &scope, &rows, &counted, error);
	if (status == 0)
		count_hosts(services, &counted);
	if (status == 0)
		status = find_intervals(&run, store, &scope, confidence, error);
	if (status == 0) {
		drop_empty(services);
		if (services->rows.count > 0)
			qsort(services->rows.items, services->rows.count,
			      sizeof(*services->rows.items), compare_rows);
	}
	gg_map_done(&run.row_of_series);
	gg_map_done(&run.row_of_names);
	gg_map_done(&run.slots_of_name);
	gg_array_done(&run.slots);
	gg_array_done(&run.slots_of_row);
	free(run.selected);
	gg_array_done(&counted);
	gg_fleet_scope_done(&scope);
	return status;
}
