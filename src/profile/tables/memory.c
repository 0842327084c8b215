/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory - the table of readings of resident memory.
 */
#include <inttypes.h>
#include <stdio.h>

#include "profile/tables/record_table.h"

static const struct gg_column memory_columns[] = {
	{ "process", GG_COLUMN_ID, .offset = offsetof(struct gg_profile_memory, process),
	  .target = GG_DENSE_PROCESS },
	{ "time_ns", GG_COLUMN_MOMENT, .offset = offsetof(struct gg_profile_memory, time_ns) },
	{ "rss_bytes", GG_COLUMN_KNOWN, .offset = offsetof(struct gg_profile_memory, rss_bytes) },
	{ "pss_bytes", GG_COLUMN_KNOWN, .offset = offsetof(struct gg_profile_memory, pss_bytes) },
	{ "anonymous_bytes", GG_COLUMN_KNOWN,
	  .offset = offsetof(struct gg_profile_memory, anonymous_bytes) },
	{ "file_bytes", GG_COLUMN_KNOWN, .offset = offsetof(struct gg_profile_memory, file_bytes) },
	{ "shared_bytes", GG_COLUMN_KNOWN,
	  .offset = offsetof(struct gg_profile_memory, shared_bytes) },
	{ "swap_bytes", GG_COLUMN_KNOWN, .offset = offsetof(struct gg_profile_memory, swap_bytes) },
	{ "heap_bytes", GG_COLUMN_KNOWN, .offset = offsetof(struct gg_profile_memory, heap_bytes) },
	{ "stack_bytes", GG_COLUMN_KNOWN,
	  .offset = offsetof(struct gg_profile_memory, stack_bytes) },
	{ "cgroup_bytes", GG_COLUMN_KNOWN,
	  .offset = offsetof(struct gg_profile_memory, cgroup_bytes) },
	{ "live_bytes", GG_COLUMN_ESTIMATE,
	  .offset = offsetof(struct gg_profile_memory, live_bytes) },
	{ "span_ns", GG_COLUMN_KNOWN, .offset = offsetof(struct gg_profile_memory, span_ns),
	  .from_version = 3 },
	{ "max_rss_bytes", GG_COLUMN_KNOWN,
	  .offset = offsetof(struct gg_profile_memory, max_rss_bytes), .from_version = 3 },
	{ "geiger_bytes", GG_COLUMN_KNOWN,
	  .offset = offsetof(struct gg_profile_memory, geiger_bytes), .from_version = 3 },
	{ "geiger_file_bytes", GG_COLUMN_KNOWN,
	  .offset = offsetof(struct gg_profile_memory, geiger_file_bytes), .from_version = 3 },
	{ "pss_file_bytes", GG_COLUMN_KNOWN,
	  .offset = offsetof(struct gg_profile_memory, pss_file_bytes), .from_version = 3 },
	{ "pss_stack_bytes", GG_COLUMN_KNOWN,
	  .offset = offsetof(struct gg_profile_memory, pss_stack_bytes), .from_version = 3 },
	{ "pss_geiger_bytes", GG_COLUMN_KNOWN,
	  .offset = offsetof(struct gg_profile_memory, pss_geiger_bytes), .from_version = 3 },
};

static const struct gg_record_table_older older_memory[] = {
	{ 2,
	  "memory(\n"
	  "  id integer primary key, process integer references process(id), time_ns integer,\n"
	  "  rss_bytes integer, pss_bytes integer, anonymous_bytes integer, file_bytes integer,\n"
	  "  shared_bytes integer, swap_bytes integer, heap_bytes integer, stack_bytes integer,\n"
	  "  cgroup_bytes integer, live_bytes real)" },
	{ 0 },
};

const struct gg_record_table gg_record_table_memory = {
	.name = "memory",
	.create =
		"memory(\n"
		"  id integer primary key, process integer references process(id), time_ns integer,\n"
		"  rss_bytes integer, pss_bytes integer, anonymous_bytes integer, file_bytes integer,\n"
		"  shared_bytes integer, swap_bytes integer, heap_bytes integer, stack_bytes integer,\n"
		"  cgroup_bytes integer, live_bytes real, span_ns integer, max_rss_bytes integer,\n"
		"  geiger_bytes integer, geiger_file_bytes integer, pss_file_bytes integer,\n"
		"  pss_stack_bytes integer, pss_geiger_bytes integer)",
	.older = older_memory,
	.insert = "insert",
	.sql = GG_SQL_MEMORY,
	.columns = memory_columns,
	.column_count = GG_COUNT(memory_columns),
};

int gg_profile_add_memory(struct gg_profile *profile, const struct gg_profile_memory *memory,
                          struct gg_error *error)
{
	return gg_record_table_insert(profile, &gg_record_table_memory, memory, error);
}

int gg_profile_thin_memory(struct gg_profile *profile, int64_t limit_ns, int64_t bucket_ns,
                           int64_t *after_id, struct gg_error *error)
{
	/* The session's rows have no process.  SQLite takes time_ns from the row of the extreme. */
	static const char round[] =
		"select time_ns from (select time_ns, %s(rss_bytes) from memory where id > %" PRId64
		" and id < %" PRId64
		" and coalesce(process, 0) = 0 and %s group by time_ns / %" PRId64 ")";
	char sql[1536], most[400], least[400], whole[400], query[160];
	int64_t first = *after_id, end;
	int result, status;

	snprintf(query, sizeof(query),
	         "select id from memory where id > %" PRId64 " and time_ns >= %" PRId64
	         " order by id limit 1",
	         first, limit_ns);
	end = gg_database_read_integer(profile, query, &result);
	if (result != SQLITE_OK || end <= first + 1)
		return 0;
	snprintf(most, sizeof(most), round, "max", first, end, "1", bucket_ns);
	snprintf(least, sizeof(least), round, "min", first, end, "1", bucket_ns);
	snprintf(whole, sizeof(whole), round, "max", first, end, "pss_bytes is not null",
	         bucket_ns);
	/* A row of a process without RSS has its maximum at its end, and stays. */
	snprintf(sql, sizeof(sql),
	         "delete from memory where id > %" PRId64 " and id < %" PRId64
	         " and (rss_bytes is not null or coalesce(process, 0) = 0)"
	         " and time_ns not in (%s union %s union %s)",
	         first, end, most, least, whole);
	status = gg_database_begin(profile, error);
	if (status == 0)
		status = gg_database_execute(profile, sql, error);
	if (status == 0)
		*after_id = end - 1;
	return status;
}

int gg_profile_each_memory(struct gg_profile *profile, gg_memory_visit *visit, void *context,
                           struct gg_error *error)
{
	struct gg_row_reader reading;
	struct gg_profile_memory record;

	gg_record_table_select(&reading, profile, &gg_record_table_memory, " order by id");
	while (gg_record_table_next(&reading, &gg_record_table_memory, &record))
		gg_row_reader_visited(&reading, visit(&record, context));
	return gg_row_reader_end(&reading, error);
}
