/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory - the table of readings of resident memory.
 */
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
