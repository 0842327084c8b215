/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process - the tables of processes and threads.
 */
#include "profile/tables/record_table.h"

/* The column end_least_ns is a moment; the record has its distance from the end. */
struct process_row {
	struct gg_profile_process process;
	int64_t end_least_ns;
};

static const struct gg_column process_columns[] = {
	{ "id", GG_COLUMN_ID, .offset = offsetof(struct process_row, process.id),
	  .target = GG_DENSE_PROCESS },
	{ "parent", GG_COLUMN_ID, .offset = offsetof(struct process_row, process.parent),
	  .target = GG_DENSE_PROCESS },
	{ "pid", GG_COLUMN_UINT32, .offset = offsetof(struct process_row, process.pid) },
	{ "start_ns", GG_COLUMN_TIME, .offset = offsetof(struct process_row, process.start_ns) },
	{ "end_ns", GG_COLUMN_TIME, .offset = offsetof(struct process_row, process.end_ns) },
	{ "exe", GG_COLUMN_TEXT, .offset = offsetof(struct process_row, process.exe) },
	{ "command", GG_COLUMN_TEXT, .offset = offsetof(struct process_row, process.command) },
	{ "ending", GG_COLUMN_TEXT, .offset = offsetof(struct process_row, process.ending) },
	{ "interval", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct process_row, process.interval_bytes) },
	{ "scheme", GG_COLUMN_SCHEME, .offset = offsetof(struct process_row, process.scheme) },
	{ "end_least_ns", GG_COLUMN_TIME, .offset = offsetof(struct process_row, end_least_ns),
	  .from_version = GG_PROFILE_VERSION_END_LEAST },
};

static const struct gg_record_table_older older_process[] = {
	{ 3, "process(\n"
	     "  id integer primary key, parent integer references process(id), pid integer,\n"
	     "  start_ns integer, end_ns integer, exe text, command text, ending text,\n"
	     "  interval real, scheme integer references scheme(id))" },
	{ 0 },
};

const struct gg_record_table gg_record_table_process = {
	.name = "process",
	.create = "process(\n"
		  "  id integer primary key, parent integer references process(id), pid integer,\n"
		  "  start_ns integer, end_ns integer, exe text, command text, ending text,\n"
		  "  interval real, scheme integer references scheme(id), end_least_ns integer)",
	.older = older_process,
	.insert = "insert or replace",
	.sql = GG_SQL_PROCESS,
	.columns = process_columns,
	.column_count = GG_COUNT(process_columns),
};

int gg_profile_update_process(struct gg_profile *profile, uint32_t id,
                              const struct gg_profile_process *process, struct gg_error *error)
{
	struct process_row row = { .process = *process, .end_least_ns = GG_TIME_NONE };

	row.process.id = id;
	if (process->end_ns != GG_TIME_NONE && process->end_range_ns > 0)
		row.end_least_ns = process->end_ns - process->end_range_ns;
	return gg_record_table_insert(profile, &gg_record_table_process, &row, error);
}

int gg_profile_add_process(struct gg_profile *profile, const struct gg_profile_process *process,
                           uint32_t *ret_id, struct gg_error *error)
{
	uint32_t id = profile->counts[GG_DENSE_PROCESS] + 1;

	return gg_database_take_id(profile, GG_DENSE_PROCESS,
	                           gg_profile_update_process(profile, id, process, error), ret_id);
}

/*
 * How far before its end the process may have ended.  A time that is not between the start and the
 * end says nothing.
 */
static int64_t end_range_of(struct gg_profile *profile, const struct process_row *row)
{
	const struct gg_profile_process *process = &row->process;
	int64_t least_ns = row->end_least_ns;

	if (least_ns == GG_TIME_NONE)
		return 0;
	if (least_ns >= 0 && least_ns >= process->start_ns && least_ns <= process->end_ns &&
	    process->end_ns != GG_TIME_NONE)
		return process->end_ns - least_ns;
	profile->dangling_count++;
	return 0;
}

int gg_profile_each_process(struct gg_profile *profile, gg_process_visit *visit, void *context,
                            struct gg_error *error)
{
	struct gg_row_reader reading;
	struct process_row row;

	gg_record_table_select(&reading, profile, &gg_record_table_process, " order by id");
	while (gg_record_table_next(&reading, &gg_record_table_process, &row)) {
		row.process.end_range_ns = end_range_of(profile, &row);
		if (row.process.id != 0)
			gg_row_reader_visited(&reading, visit(&row.process, context));
	}
	return gg_row_reader_end(&reading, error);
}

/* --- threads -------------------------------------------------------------------------------- */

static const struct gg_column thread_columns[] = {
	{ "id", GG_COLUMN_ID, .offset = offsetof(struct gg_profile_thread, id),
	  .target = GG_DENSE_THREAD },
	{ "process", GG_COLUMN_ID, .offset = offsetof(struct gg_profile_thread, process),
	  .target = GG_DENSE_PROCESS },
	{ "tid", GG_COLUMN_UINT32, .offset = offsetof(struct gg_profile_thread, tid) },
	{ "start_ns", GG_COLUMN_TIME, .offset = offsetof(struct gg_profile_thread, start_ns) },
	{ "end_ns", GG_COLUMN_TIME, .offset = offsetof(struct gg_profile_thread, end_ns) },
	{ "name", GG_COLUMN_TEXT, .offset = offsetof(struct gg_profile_thread, name) },
};

const struct gg_record_table gg_record_table_thread = {
	.name = "thread",
	.create = "thread(\n"
		  "  id integer primary key, process integer references process(id), tid integer,\n"
		  "  start_ns integer, end_ns integer, name text)",
	.insert = "insert or replace",
	.sql = GG_SQL_THREAD,
	.columns = thread_columns,
	.column_count = GG_COUNT(thread_columns),
};

int gg_profile_update_thread(struct gg_profile *profile, uint32_t id,
                             const struct gg_profile_thread *thread, struct gg_error *error)
{
	struct gg_profile_thread row = *thread;

	row.id = id;
	return gg_record_table_insert(profile, &gg_record_table_thread, &row, error);
}

int gg_profile_add_thread(struct gg_profile *profile, const struct gg_profile_thread *thread,
                          uint32_t *ret_id, struct gg_error *error)
{
	uint32_t id = profile->counts[GG_DENSE_THREAD] + 1;

	return gg_database_take_id(profile, GG_DENSE_THREAD,
	                           gg_profile_update_thread(profile, id, thread, error), ret_id);
}

int gg_profile_each_thread(struct gg_profile *profile, gg_thread_visit *visit, void *context,
                           struct gg_error *error)
{
	struct gg_row_reader reading;
	struct gg_profile_thread record;

	gg_record_table_select(&reading, profile, &gg_record_table_thread, " order by id");
	while (gg_record_table_next(&reading, &gg_record_table_thread, &record))
		if (record.id != 0)
			gg_row_reader_visited(&reading, visit(&record, context));
	return gg_row_reader_end(&reading, error);
}
