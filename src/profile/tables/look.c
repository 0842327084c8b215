/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look - the tables of looks: mappings, and the memory around live samples, at one moment.
 */
#include <inttypes.h>
#include <stdio.h>

#include "profile/tables/record_table.h"

static const struct gg_column look_columns[] = {
	{ "id", GG_COLUMN_UINT32, .offset = offsetof(struct gg_profile_look, id) },
	{ "process", GG_COLUMN_ID, .offset = offsetof(struct gg_profile_look, process),
	  .target = GG_DENSE_PROCESS },
	{ "moments", GG_COLUMN_UINT32, .offset = offsetof(struct gg_profile_look, moments) },
	{ "time_ns", GG_COLUMN_MOMENT, .offset = offsetof(struct gg_profile_look, time_ns) },
	{ "span_ns", GG_COLUMN_KNOWN, .offset = offsetof(struct gg_profile_look, span_ns) },
	{ "rss_bytes", GG_COLUMN_KNOWN, .offset = offsetof(struct gg_profile_look, rss_bytes) },
	{ "pss_bytes", GG_COLUMN_KNOWN, .offset = offsetof(struct gg_profile_look, pss_bytes) },
	{ "swap_bytes", GG_COLUMN_KNOWN, .offset = offsetof(struct gg_profile_look, swap_bytes) },
	{ "page_bytes", GG_COLUMN_KNOWN, .offset = offsetof(struct gg_profile_look, page_bytes) },
	{ "thread_count", GG_COLUMN_KNOWN,
	  .offset = offsetof(struct gg_profile_look, thread_count) },
	{ "cgroup_anonymous_bytes", GG_COLUMN_KNOWN,
	  .offset = offsetof(struct gg_profile_look, cgroup_anonymous_bytes) },
	{ "cgroup_file_bytes", GG_COLUMN_KNOWN,
	  .offset = offsetof(struct gg_profile_look, cgroup_file_bytes) },
	{ "cgroup_kernel_bytes", GG_COLUMN_KNOWN,
	  .offset = offsetof(struct gg_profile_look, cgroup_kernel_bytes) },
	{ "live_count", GG_COLUMN_KNOWN, .offset = offsetof(struct gg_profile_look, live_count) },
	{ "chosen_count", GG_COLUMN_KNOWN,
	  .offset = offsetof(struct gg_profile_look, chosen_count) },
	{ "torn_count", GG_COLUMN_KNOWN, .offset = offsetof(struct gg_profile_look, torn_count) },
	{ "allocator", GG_COLUMN_TEXT, .offset = offsetof(struct gg_profile_look, allocator) },
	{ "reason", GG_COLUMN_TEXT, .offset = offsetof(struct gg_profile_look, reason) },
};

const struct gg_record_table gg_record_table_look = {
	.name = "look",
	.create = "look(\n"
		  "  id integer primary key, process integer references process(id),\n"
		  "  moments integer, time_ns integer, span_ns integer, rss_bytes integer,\n"
		  "  pss_bytes integer, swap_bytes integer, page_bytes integer,\n"
		  "  thread_count integer, cgroup_anonymous_bytes integer,\n"
		  "  cgroup_file_bytes integer, cgroup_kernel_bytes integer, live_count integer,\n"
		  "  chosen_count integer, torn_count integer, allocator text, reason text)",
	.from_version = GG_PROFILE_VERSION_LOOK,
	.insert = "insert",
	.sql = GG_SQL_LOOK,
	.columns = look_columns,
	.column_count = GG_COUNT(look_columns),
};

static const struct gg_column mapping_columns[] = {
	{ "look", GG_COLUMN_UINT32, .offset = offsetof(struct gg_profile_look_mapping, look) },
	{ "number", GG_COLUMN_UINT32, .offset = offsetof(struct gg_profile_look_mapping, number) },
	{ "kind", GG_COLUMN_UINT32, .offset = offsetof(struct gg_profile_look_mapping, kind) },
	{ "name", GG_COLUMN_TEXT, .offset = offsetof(struct gg_profile_look_mapping, name) },
	{ "mapping_count", GG_COLUMN_KNOWN,
	  .offset = offsetof(struct gg_profile_look_mapping, mapping_count) },
	{ "size_bytes", GG_COLUMN_KNOWN,
	  .offset = offsetof(struct gg_profile_look_mapping, size_bytes) },
	{ "rss_bytes", GG_COLUMN_KNOWN,
	  .offset = offsetof(struct gg_profile_look_mapping, rss_bytes) },
	{ "pss_bytes", GG_COLUMN_KNOWN,
	  .offset = offsetof(struct gg_profile_look_mapping, pss_bytes) },
	{ "swap_bytes", GG_COLUMN_KNOWN,
	  .offset = offsetof(struct gg_profile_look_mapping, swap_bytes) },
	{ "lazy_free_bytes", GG_COLUMN_KNOWN,
	  .offset = offsetof(struct gg_profile_look_mapping, lazy_free_bytes) },
	{ "huge_bytes", GG_COLUMN_KNOWN,
	  .offset = offsetof(struct gg_profile_look_mapping, huge_bytes) },
};

const struct gg_record_table gg_record_table_look_mapping = {
	.name = "look_mapping",
	.create = "look_mapping(\n"
		  "  look integer references look(id), number integer, kind integer, name text,\n"
		  "  mapping_count integer, size_bytes integer, rss_bytes integer,\n"
		  "  pss_bytes integer, swap_bytes integer, lazy_free_bytes integer,\n"
		  "  huge_bytes integer, primary key(look, number)) without rowid",
	.from_version = GG_PROFILE_VERSION_LOOK,
	.insert = "insert",
	.sql = GG_SQL_LOOK_MAPPING,
	.columns = mapping_columns,
	.column_count = GG_COUNT(mapping_columns),
};

static const struct gg_column block_columns[] = {
	{ "look", GG_COLUMN_UINT32, .offset = offsetof(struct gg_profile_look_block, look) },
	{ "sample", GG_COLUMN_SAMPLE_ID, .offset = offsetof(struct gg_profile_look_block, sample) },
	{ "resident_bytes", GG_COLUMN_KNOWN,
	  .offset = offsetof(struct gg_profile_look_block, resident_bytes) },
	{ "swapped_bytes", GG_COLUMN_KNOWN,
	  .offset = offsetof(struct gg_profile_look_block, swapped_bytes) },
	{ "pinned_bytes", GG_COLUMN_ESTIMATE,
	  .offset = offsetof(struct gg_profile_look_block, pinned_bytes) },
	{ "returnable_bytes", GG_COLUMN_KNOWN,
	  .offset = offsetof(struct gg_profile_look_block, returnable_bytes) },
};

const struct gg_record_table gg_record_table_look_block = {
	.name = "look_block",
	.create = "look_block(\n"
		  "  look integer references look(id), sample integer references sample(id),\n"
		  "  resident_bytes integer, swapped_bytes integer, pinned_bytes real,\n"
		  "  returnable_bytes integer, primary key(look, sample)) without rowid",
	.from_version = GG_PROFILE_VERSION_LOOK,
	.insert = "insert or replace",
	.sql = GG_SQL_LOOK_BLOCK,
	.columns = block_columns,
	.column_count = GG_COUNT(block_columns),
};

static const struct gg_column total_columns[] = {
	{ "look", GG_COLUMN_UINT32, .offset = offsetof(struct gg_profile_look_total, look) },
	{ "name", GG_COLUMN_TEXT, .offset = offsetof(struct gg_profile_look_total, name) },
	{ "bytes", GG_COLUMN_KNOWN, .offset = offsetof(struct gg_profile_look_total, bytes) },
};

const struct gg_record_table gg_record_table_look_total = {
	.name = "look_total",
	.create = "look_total(\n"
		  "  look integer references look(id), name text, bytes integer,\n"
		  "  primary key(look, name)) without rowid",
	.from_version = GG_PROFILE_VERSION_LOOK,
	.insert = "insert or replace",
	.sql = GG_SQL_LOOK_TOTAL,
	.columns = total_columns,
	.column_count = GG_COUNT(total_columns),
};

/* --- writing -------------------------------------------------------------------------------- */

static int remove_look(struct gg_profile *profile, uint32_t id, struct gg_error *error)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
	         "delete from look where id = %" PRIu32
	         "; delete from look_mapping where look = %" PRIu32
	         "; delete from look_block where look = %" PRIu32
	         "; delete from look_total where look = %" PRIu32,
	         id, id, id, id);
	return gg_database_execute(profile, sql, error);
}

/* The looks at a process that the profile has: at most two. */
struct old_looks {
	struct gg_profile_look looks[2];
	size_t count;
	uint32_t last_id; /* of all processes */
};

static int find_old_looks(struct gg_profile *profile, uint32_t process, struct old_looks *ret_old,
                          struct gg_error *error)
{
	struct gg_row_reader reading;
	char rest[64];
	int result;

	*ret_old = (struct old_looks){ 0 };
	snprintf(rest, sizeof(rest), " where process = %" PRIu32 " limit 2", process);
	gg_record_table_select(&reading, profile, &gg_record_table_look, rest);
	while (gg_record_table_next(&reading, &gg_record_table_look,
	                            &ret_old->looks[ret_old->count]))
		ret_old->count++;
	ret_old->last_id = (uint32_t)gg_database_read_integer(profile, "select max(id) from look",
	                                                      &result);
	return gg_row_reader_end(&reading, error);
}

/* Keeps of the old looks the one with the largest RSS, if the new one has less. */
static int retire(struct gg_profile *profile, const struct old_looks *old, int64_t rss_bytes,
                  bool *ret_is_peak, struct gg_error *error)
{
	char sql[96];
	int status = 0;

	*ret_is_peak = true;
	for (size_t i = 0; i < old->count && status == 0; i++) {
		const struct gg_profile_look *look = &old->looks[i];

		if ((look->moments & GG_LOOK_PEAK) == 0 || look->rss_bytes <= rss_bytes) {
			status = remove_look(profile, look->id, error);
			continue;
		}
		*ret_is_peak = false;
		snprintf(sql, sizeof(sql), "update look set moments = %d where id = %" PRIu32,
		         GG_LOOK_PEAK, look->id);
		status = gg_database_execute(profile, sql, error);
	}
	return status;
}

static int add_parts(struct gg_profile *profile, uint32_t id,
                     const struct gg_profile_look_parts *parts, struct gg_error *error)
{
	int status = 0;

	for (size_t i = 0; i < parts->mapping_count && status == 0; i++) {
		struct gg_profile_look_mapping mapping = parts->mappings[i];

		mapping.look = id;
		mapping.number = (uint32_t)i;
		status = gg_record_table_insert(profile, &gg_record_table_look_mapping, &mapping,
		                                error);
	}
	for (size_t i = 0; i < parts->block_count && status == 0; i++) {
		struct gg_profile_look_block block = parts->blocks[i];

		block.look = id;
		status = gg_record_table_insert(profile, &gg_record_table_look_block, &block,
		                                error);
	}
	for (size_t i = 0; i < parts->total_count && status == 0; i++) {
		struct gg_profile_look_total total = parts->totals[i];

		total.look = id;
		status = gg_record_table_insert(profile, &gg_record_table_look_total, &total,
		                                error);
	}
	return status;
}

int gg_profile_put_look(struct gg_profile *profile, const struct gg_profile_look *look,
                        const struct gg_profile_look_parts *parts, struct gg_error *error)
{
	struct gg_profile_look stored = *look;
	struct old_looks old;
	bool is_peak = false;
	int status;

	if (profile->version < GG_PROFILE_VERSION_LOOK)
		return 0;
	status = gg_database_begin(profile, error);
	if (status == 0)
		status = find_old_looks(profile, look->process, &old, error);
	if (status == 0)
		status = retire(profile, &old, look->rss_bytes, &is_peak, error);
	if (status < 0)
		return status;
	stored.id = old.last_id + 1;
	stored.moments = GG_LOOK_LAST | (is_peak ? GG_LOOK_PEAK : 0);
	status = gg_record_table_insert(profile, &gg_record_table_look, &stored, error);
	return status < 0 ? status : add_parts(profile, stored.id, parts, error);
}

/* --- reading -------------------------------------------------------------------------------- */

int gg_profile_each_look(struct gg_profile *profile, gg_look_visit *visit, void *context,
                         struct gg_error *error)
{
	struct gg_row_reader reading;
	struct gg_profile_look record;

	gg_record_table_select(&reading, profile, &gg_record_table_look, " order by id");
	while (gg_record_table_next(&reading, &gg_record_table_look, &record))
		gg_row_reader_visited(&reading, visit(&record, context));
	return gg_row_reader_end(&reading, error);
}

int gg_profile_each_look_mapping(struct gg_profile *profile, gg_look_mapping_visit *visit,
                                 void *context, struct gg_error *error)
{
	struct gg_row_reader reading;
	struct gg_profile_look_mapping record;

	gg_record_table_select(&reading, profile, &gg_record_table_look_mapping,
	                       " order by look, number");
	while (gg_record_table_next(&reading, &gg_record_table_look_mapping, &record))
		if (record.kind < GG_MAPPING_KIND_COUNT)
			gg_row_reader_visited(&reading, visit(&record, context));
	return gg_row_reader_end(&reading, error);
}

int gg_profile_each_look_block(struct gg_profile *profile, gg_look_block_visit *visit,
                               void *context, struct gg_error *error)
{
	struct gg_row_reader reading;
	struct gg_profile_look_block record;

	gg_record_table_select(&reading, profile, &gg_record_table_look_block,
	                       " order by look, sample");
	while (gg_record_table_next(&reading, &gg_record_table_look_block, &record))
		gg_row_reader_visited(&reading, visit(&record, context));
	return gg_row_reader_end(&reading, error);
}

int gg_profile_each_look_total(struct gg_profile *profile, gg_look_total_visit *visit,
                               void *context, struct gg_error *error)
{
	struct gg_row_reader reading;
	struct gg_profile_look_total record;

	gg_record_table_select(&reading, profile, &gg_record_table_look_total,
	                       " order by look, name");
	while (gg_record_table_next(&reading, &gg_record_table_look_total, &record))
		if (record.name != NULL)
			gg_row_reader_visited(&reading, visit(&record, context));
	return gg_row_reader_end(&reading, error);
}

const char *gg_mapping_kind_name(enum gg_mapping_kind kind)
{
	static const char *const names[GG_MAPPING_KIND_COUNT] = {
		[GG_MAPPING_HEAP] = "heap",           [GG_MAPPING_ARENA] = "arena",
		[GG_MAPPING_MALLOC] = "malloc",       [GG_MAPPING_SAMPLED] = "sampled",
		[GG_MAPPING_NAMED] = "named",         [GG_MAPPING_STACK] = "stack",
		[GG_MAPPING_DATA] = "data",           [GG_MAPPING_FILE] = "file",
		[GG_MAPPING_SHARED] = "shared",       [GG_MAPPING_GEIGER] = "geiger",
		[GG_MAPPING_ANONYMOUS] = "anonymous",
	};

	return names[kind];
}
