/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/fleet_retention.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "fleet/fleet_statements.h"

int gg_fleet_read_floors(struct gg_fleet_floors *ret_floors, struct gg_clickhouse *store,
                         const char *tenant, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf query = { 0 }, reply = { 0 };
	const struct gg_clickhouse_value values[] = { gg_clickhouse_name("db", tenant) };
	struct gg_clickhouse_rows rows;
	int status = gg_clickhouse_bind(&query, gg_fleet_statement(GG_FLEET_FLOORS), values,
	                                GG_COUNT(values), error);

	*ret_floors = (struct gg_fleet_floors){ 0 };
	if (status == 0)
		status = gg_clickhouse_query(store, &query, &reply, error);
	rows = gg_clickhouse_rows_of(&reply);
	while (status == 0 && gg_clickhouse_rows_more(&rows)) {
		size_t length;
		const char *kind = gg_clickhouse_read_text(&rows, &length);
		uint32_t before_s = gg_clickhouse_read_u32(&rows);

		if (length == 3 && memcmp(kind, "raw", length) == 0)
			ret_floors->raw_s = before_s;
		else if (length == 5 && memcmp(kind, "hours", length) == 0)
			ret_floors->hours_s = before_s;
		else if (length == 4 && memcmp(kind, "days", length) == 0)
			ret_floors->days_s = before_s;
	}
	return status;
}

/* --- dropping -------------------------------------------------------------------------------- */

enum { DAY_S = 86400, HOUR_S = 3600, LEAST_KEPT_S = 2 * DAY_S };

/* The kind of rows with which a table's partitions are kept and dropped. */
enum keep_rule {
	KEEP_NONE, /* never dropped */
	KEEP_RAW,
	KEEP_HOURS,
	KEEP_DAYS,
	KEEP_NAMES, /* as long as the kind that is kept longest */
};

static const struct {
	const char *table;
	enum keep_rule rule;
	bool by_month;   /* its partitions are months */
	uint32_t span_s; /* of a partition that is named by its begin; 0: it is named otherwise */
} tables[] = {
	{ "draw", KEEP_RAW, false, 0 },
	{ "live", KEEP_RAW, false, 0 },
	{ "folded", KEEP_RAW, false, 0 },
	{ "rollup_hour", KEEP_HOURS, false, HOUR_S },
	{ "rollup_day", KEEP_DAYS, false, DAY_S },
	{ "process", KEEP_NAMES, false, 0 },
	{ "batch", KEEP_NAMES, false, 0 },
	{ "series", KEEP_NAMES, true, 0 },
	{ "host", KEEP_NAMES, true, 0 },
	{ "stack", KEEP_NAMES, true, 0 },
	{ "frame", KEEP_NAMES, true, 0 },
	{ "stack_function", KEEP_NAMES, true, 0 },
};

static const char *const kind_names[GG_FLEET_KIND_COUNT] = { "raw", "hours", "days" };

struct retain {
	struct gg_clickhouse *store;
	const struct gg_fleet_retention *plan;
	struct gg_error *error;
	GG_ARRAY(struct gg_fleet_partition) partitions;
	/* Partitions that end up to these times are dropped; 0: none. */
	uint32_t floors_s[GG_FLEET_KIND_COUNT];
};

static int ask(struct retain *retain, enum gg_fleet_upkeep statement, const char *kind,
               uint32_t from_s, const struct gg_fleet_partition *partition, struct gg_buf *reply)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf query = { 0 };
	const struct gg_clickhouse_value values[] = {
		gg_clickhouse_name("db", retain->plan->tenant),
		gg_clickhouse_text("db_text", retain->plan->tenant),
		gg_clickhouse_text("kind", kind),
		gg_clickhouse_u64("from", from_s),
		gg_clickhouse_name("table", partition != NULL ? partition->table : "-"),
		gg_clickhouse_text("partition", partition != NULL ? partition->id : ""),
	};
	int status = gg_clickhouse_bind(&query, gg_fleet_upkeep(statement), values,
	                                GG_COUNT(values), retain->error);

	return status < 0 ? status
	                  : gg_clickhouse_query(retain->store, &query, reply, retain->error);
}

static size_t find_table(const char *name)
{
	size_t i = 0;

	while (i < GG_COUNT(tables) && strcmp(tables[i].table, name) != 0)
		i++;
	return i;
}

/* The begin of the month after YYYYMM. */
static uint32_t end_of_month(uint32_t month)
{
	struct tm next = { .tm_year = (int)(month / 100) - 1900,
		           .tm_mon = (int)(month % 100),
		           .tm_mday = 1 };

	return (uint32_t)timegm(&next);
}

static void read_name(struct gg_clickhouse_rows *rows, char *name, size_t size)
{
	size_t length;
	const char *text = gg_clickhouse_read_text(rows, &length);

	snprintf(name, size, "%.*s", (int)length, text);
}

static int read_partitions(struct retain *retain, uint64_t *ret_bytes)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf reply = { 0 };
	struct gg_clickhouse_rows rows;
	int status = ask(retain, GG_FLEET_PARTITIONS, "", 0, NULL, &reply);

	rows = gg_clickhouse_rows_of(&reply);
	*ret_bytes = 0;
	while (status == 0 && gg_clickhouse_rows_more(&rows)) {
		struct gg_fleet_partition partition;
		unsigned long number;
		size_t table;

		read_name(&rows, partition.table, sizeof(partition.table));
		read_name(&rows, partition.id, sizeof(partition.id));
		partition.bytes = gg_clickhouse_read_u64(&rows);
		partition.row_count = gg_clickhouse_read_u64(&rows);
		partition.end_s = gg_clickhouse_read_u32(&rows);
		*ret_bytes += partition.bytes;
		table = find_table(partition.table);
		if (table == GG_COUNT(tables) || rows.failed)
			continue;
		number = strtoul(partition.id, NULL, 10);
		if (tables[table].span_s > 0)
			partition.end_s = (uint32_t)number + tables[table].span_s;
		else if (tables[table].by_month)
			partition.end_s = end_of_month((uint32_t)number);
		if (!gg_array_push(&retain->partitions, partition))
			return gg_error_memory(retain->error, "fleet roll");
	}
	if (status == 0 && rows.failed)
		status = gg_error_set(retain->error, -EBADMSG, "fleet roll", NULL,
		                      "the store's reply ends within a row");
	return status;
}

/* The time up to which partitions under a rule are dropped; 0: none is. */
static uint32_t floor_of(const struct retain *retain, enum keep_rule rule)
{
	uint32_t least_s = UINT32_MAX;

	if (rule == KEEP_NONE)
		return 0;
	if (rule != KEEP_NAMES)
		return retain->floors_s[rule - KEEP_RAW];
	for (int kind = 0; kind < GG_FLEET_KIND_COUNT; kind++)
		if (retain->floors_s[kind] < least_s)
			least_s = retain->floors_s[kind];
	return least_s;
}

static bool is_old(const struct retain *retain, const struct gg_fleet_partition *partition)
{
	size_t table = find_table(partition->table);

	return partition->end_s <= floor_of(retain, tables[table].rule);
}

static uint64_t dropped_bytes(const struct retain *retain)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < retain->partitions.count; i++)
		if (is_old(retain, &retain->partitions.items[i]))
			bytes += retain->partitions.items[i].bytes;
	return bytes;
}

/* The end of the oldest partition of a kind that is kept so far and may be dropped; 0: none. */
static uint32_t next_end(const struct retain *retain, int kind, uint32_t newest_s)
{
	uint32_t end_s = 0;

	for (size_t i = 0; i < retain->partitions.count; i++) {
		const struct gg_fleet_partition *partition = &retain->partitions.items[i];

		if (tables[find_table(partition->table)].rule != KEEP_RAW + (enum keep_rule)kind ||
		    is_old(retain, partition) || partition->end_s > newest_s)
			continue;
		if (end_s == 0 || partition->end_s < end_s)
			end_s = partition->end_s;
	}
	/* Hours go with their whole day, so that those that stay begin with one. */
	if (end_s > 0 && kind == GG_FLEET_HOURS)
		end_s += (DAY_S - end_s % DAY_S) % DAY_S;
	return end_s > newest_s ? 0 : end_s;
}

/* The time up to which a kind may be dropped, since what it is made into is there. */
static uint32_t limit_of(const struct retain *retain, int kind)
{
	const struct gg_fleet_retention *plan = retain->plan;
	bool has_failed = plan->unrolled_hour_s > 0 || plan->unrolled_day_s > 0;

	return !has_failed            ? UINT32_MAX
	       : kind == GG_FLEET_RAW ? plan->unrolled_hour_s
	                              : plan->unrolled_day_s;
}

/* Raises floors until so many bytes are free. */
static bool free_bytes(struct retain *retain, uint64_t bytes)
{
	uint32_t now_s = retain->plan->now_s;
	uint32_t newest_s = now_s > LEAST_KEPT_S ? now_s - LEAST_KEPT_S : 0;

	for (int kind = 0; kind < GG_FLEET_KIND_COUNT; kind++) {
		uint32_t limit_s = limit_of(retain, kind);

		/* Days are the last of their time: they do not go because others must stay. */
		if (kind == GG_FLEET_DAYS && limit_s < UINT32_MAX)
			break;
		while (dropped_bytes(retain) < bytes) {
			uint32_t end_s = next_end(retain, kind,
			                          newest_s < limit_s ? newest_s : limit_s);

			if (end_s == 0)
				break;
			retain->floors_s[kind] = end_s;
		}
	}
	return dropped_bytes(retain) >= bytes;
}

static int check_plan(const struct gg_fleet_retention *plan, struct gg_error *error)
{
	uint32_t before_s = 0;

	for (int kind = 0; kind < GG_FLEET_KIND_COUNT; kind++) {
		uint32_t keep_s = plan->keep_s[kind];

		if (keep_s != 0 && keep_s < LEAST_KEPT_S)
			return gg_error_set(error, -EINVAL, "fleet roll: --keep",
			                    "Late slots may be two days old.",
			                    "%s are kept for two days at least", kind_names[kind]);
		if (keep_s != 0 && before_s == UINT32_MAX)
			return gg_error_set(error, -EINVAL, "fleet roll: --keep",
			                    "Say how long the finer kinds are kept, or none.",
			                    "%s would be dropped before what they are made from",
			                    kind_names[kind]);
		if (keep_s != 0 && keep_s < before_s)
			return gg_error_set(error, -EINVAL, "fleet roll: --keep",
			                    "Keep raw no longer than hours, and hours no longer "
			                    "than days.",
			                    "%s would be dropped before what they are made from",
			                    kind_names[kind]);
		before_s = keep_s != 0 ? keep_s : UINT32_MAX;
	}
	return 0;
}

/* Sets the floors by age.  Those of earlier runs stay: what is gone stays gone. */
static int choose_floors(struct retain *retain)
{
	const struct gg_fleet_retention *plan = retain->plan;
	struct gg_fleet_floors floors;
	int status = gg_fleet_read_floors(&floors, retain->store, plan->tenant, retain->error);
	const uint32_t before_s[GG_FLEET_KIND_COUNT] = { floors.raw_s, floors.hours_s,
		                                         floors.days_s };

	for (int kind = 0; kind < GG_FLEET_KIND_COUNT && status == 0; kind++) {
		uint32_t keep_s = plan->keep_s[kind], floor_s = 0;

		if (keep_s > 0 && plan->now_s > keep_s)
			floor_s = plan->now_s - keep_s;
		floor_s -= floor_s % DAY_S;
		if (floor_s > limit_of(retain, kind))
			floor_s = limit_of(retain, kind);
		retain->floors_s[kind] = floor_s > before_s[kind] ? floor_s : before_s[kind];
	}
	return status;
}

static int drop(struct retain *retain, const struct gg_fleet_partition *partition,
                struct gg_fleet_dropped *dropped)
{
	int status = 0;

	if (!gg_array_push(&dropped->partitions, *partition))
		return gg_error_memory(retain->error, "fleet roll");
	if (!retain->plan->is_dry_run)
		status = ask(retain, GG_FLEET_DROP_PARTITION, "", 0, partition, NULL);
	if (status == 0)
		dropped->bytes += partition->bytes;
	return status;
}

/*
 * A floor is the end of the newest partition that is dropped, and not the age itself: rows of the
 * partition in which the age lies are still there.
 */
static uint32_t real_floor(const struct retain *retain, int kind)
{
	uint32_t end_s = 0;

	for (size_t i = 0; i < retain->partitions.count; i++) {
		const struct gg_fleet_partition *partition = &retain->partitions.items[i];

		if (tables[find_table(partition->table)].rule == KEEP_RAW + (enum keep_rule)kind &&
		    is_old(retain, partition) && partition->end_s > end_s)
			end_s = partition->end_s;
	}
	return end_s;
}

int gg_fleet_retain(struct gg_clickhouse *store, const struct gg_fleet_retention *plan,
                    struct gg_fleet_dropped *dropped, struct gg_error *error)
{
	struct retain retain = { .store = store, .plan = plan, .error = error };
	uint64_t bytes = 0, wanted;
	int status = check_plan(plan, error);

	if (status == 0)
		status = choose_floors(&retain);
	if (status == 0)
		status = read_partitions(&retain, &bytes);
	wanted = plan->max_bytes > 0 && bytes > plan->max_bytes ? bytes - plan->max_bytes : 0;
	if (wanted < plan->free_bytes)
		wanted = plan->free_bytes;
	if (status == 0 && wanted > 0)
		dropped->is_short = !free_bytes(&retain, wanted);
	for (int kind = 0; kind < GG_FLEET_KIND_COUNT && status == 0 && !plan->is_dry_run; kind++) {
		uint32_t floor_s = real_floor(&retain, kind);

		if (floor_s > 0)
			status = ask(&retain, GG_FLEET_SET_FLOOR, kind_names[kind], floor_s, NULL,
			             NULL);
	}
	for (size_t i = 0; i < retain.partitions.count && status == 0; i++)
		if (is_old(&retain, &retain.partitions.items[i]))
			status = drop(&retain, &retain.partitions.items[i], dropped);
	dropped->kept_bytes = bytes - dropped->bytes;
	gg_array_done(&retain.partitions);
	return status;
}

void gg_fleet_dropped_done(struct gg_fleet_dropped *dropped)
{
	gg_array_done(&dropped->partitions);
}
