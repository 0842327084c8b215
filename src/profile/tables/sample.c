/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample - the table of samples.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/assert.h"
#include "profile/tables/record_table.h"

/* `reserve` keeps room for a live sample's end, so that writing the end splits no page. */
struct sample_row {
	struct gg_profile_sample sample;
	uint32_t reserve_bytes;
};

static const struct gg_column sample_columns[] = {
	{ "id", GG_COLUMN_SAMPLE_ID, .offset = offsetof(struct sample_row, sample.id) },
	{ "t_alloc", GG_COLUMN_MOMENT, .offset = offsetof(struct sample_row, sample.alloc_ns) },
	{ "t_free", GG_COLUMN_TIME, .offset = offsetof(struct sample_row, sample.free_ns) },
	{ "process", GG_COLUMN_ID, .offset = offsetof(struct sample_row, sample.process),
	  .target = GG_DENSE_PROCESS },
	{ "thread", GG_COLUMN_ID, .offset = offsetof(struct sample_row, sample.thread),
	  .target = GG_DENSE_THREAD },
	{ "stack", GG_COLUMN_ID, .offset = offsetof(struct sample_row, sample.stack),
	  .target = GG_DENSE_STACK },
	{ "heap", GG_COLUMN_ID, .offset = offsetof(struct sample_row, sample.heap),
	  .target = GG_DENSE_HEAP },
	{ "type", GG_COLUMN_ID, .offset = offsetof(struct sample_row, sample.type),
	  .target = GG_DENSE_TYPE },
	{ "size", GG_COLUMN_COUNT, .offset = offsetof(struct sample_row, sample.size_bytes) },
	{ "usable", GG_COLUMN_COUNT, .offset = offsetof(struct sample_row, sample.usable_bytes) },
	{ "address", GG_COLUMN_BITS, .offset = offsetof(struct sample_row, sample.address) },
	{ "scheme", GG_COLUMN_UINT32, .offset = offsetof(struct sample_row, sample.draw.scheme) },
	{ "interval", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct sample_row, sample.draw.sampling_interval) },
	{ "offset", GG_COLUMN_BITS,
	  .offset = offsetof(struct sample_row, sample.draw.offset_bytes) },
	{ "marks", GG_COLUMN_UINT32,
	  .offset = offsetof(struct sample_row, sample.draw.sample_point_count) },
	{ "free_thread", GG_COLUMN_ID, .offset = offsetof(struct sample_row, sample.free_thread),
	  .target = GG_DENSE_THREAD },
	{ "free_stack", GG_COLUMN_ID, .offset = offsetof(struct sample_row, sample.free_stack),
	  .target = GG_DENSE_STACK },
	{ "flags", GG_COLUMN_UINT32, .offset = offsetof(struct sample_row, sample.flags) },
	{ "origin", GG_COLUMN_SAMPLE_ID, .offset = offsetof(struct sample_row, sample.origin) },
	{ "reserve", GG_COLUMN_ROOM, .offset = offsetof(struct sample_row, reserve_bytes) },
};

const struct gg_record_table gg_record_table_sample = {
	.name = "sample",
	.create =
		"sample(\n"
		"  id integer primary key, t_alloc integer, t_free integer,\n"
		"  process integer references process(id), thread integer references thread(id),\n"
		"  stack integer references stack(id), heap integer references heap(id),\n"
		"  type integer references type(id), size integer, usable integer, address integer,\n"
		"  scheme integer references scheme(id), interval real, offset integer, marks integer,\n"
		"  free_thread integer references thread(id), free_stack integer references stack(id),\n"
		"  flags integer, origin integer, reserve blob)",
	.insert = "insert",
	.sql = GG_SQL_SAMPLE,
	.columns = sample_columns,
	.column_count = GG_COUNT(sample_columns),
};

/* The bytes of an integer in an SQLite row, without its type. */
static uint32_t stored_bytes(int64_t value)
{
	uint64_t magnitude = (uint64_t)(value < 0 ? ~value : value);

	if (value == 0 || value == 1)
		return 0;
	return magnitude < 1U << 7             ? 1
	       : magnitude < 1U << 15          ? 2
	       : magnitude < 1U << 23          ? 3
	       : magnitude < 1U << 31          ? 4
	       : magnitude < UINT64_C(1) << 47 ? 6
	                                       : 8;
}

int gg_profile_add_sample(struct gg_profile *profile, const struct gg_profile_sample *sample,
                          uint64_t *ret_id, struct gg_error *error)
{
	struct sample_row row = { .sample = *sample };
	int status;

	if (sample->id == 0)
		row.sample.id = profile->last_sample + 1;
	if (sample->free_ns == GG_TIME_NONE)
		row.reserve_bytes = profile->free_reserve_bytes;
	status = gg_record_table_insert(profile, &gg_record_table_sample, &row, error);
	if (status < 0)
		return status;
	if (row.sample.id > profile->last_sample)
		profile->last_sample = row.sample.id;
	status = gg_database_commit_if_due(profile, error);
	if (status == 0 && ret_id != NULL)
		*ret_id = row.sample.id;
	return status;
}

int gg_profile_end_sample(struct gg_profile *profile, uint64_t id,
                          const struct gg_profile_sample_end *end, struct gg_error *error)
{
	static const char sql[] =
		"update sample set t_free = ?2, free_thread = ?3, free_stack = ?4,"
		" flags = flags | ?5, reserve = zeroblob(length(reserve) - ?6)"
		" where id = ?1 and t_free is null";
	struct gg_statement row;
	uint32_t stack_bytes = stored_bytes(end->stack);
	int status = gg_statement_begin(&row, profile, GG_SQL_SAMPLE_END, sql, error);

	if (status < 0)
		return status;
	gg_statement_integer(&row, (int64_t)id);
	gg_statement_integer(&row, end->free_ns);
	gg_statement_id(&row, end->thread);
	gg_statement_id(&row, end->stack);
	gg_statement_integer(&row, (end->missed ? GG_PROFILE_SAMPLE_LATE_FREE : 0) |
	                                   (end->lost ? GG_PROFILE_SAMPLE_LOST_FREE : 0) |
	                                   (end->is_old ? GG_PROFILE_SAMPLE_OLD : 0));
	gg_statement_integer(&row,
	                     stored_bytes(end->free_ns) + stored_bytes(end->thread) + stack_bytes);
	/* If frees have stacks, rows of later samples reserve space for one. */
	if (stack_bytes > 0)
		profile->free_reserve_bytes = GG_DATABASE_END_BYTES + 4;
	return gg_statement_run(&row, error);
}

int gg_profile_change_sample(struct gg_profile *profile, uint64_t id, uint64_t address,
                             uint32_t type, bool is_old, struct gg_error *error)
{
	static const char sql[] =
		"update sample set address = ?2, flags = flags | ?3, type = coalesce(?4, type)"
		" where id = ?1";
	struct gg_statement row;
	int status = gg_statement_begin(&row, profile, GG_SQL_SAMPLE_MOVE, sql, error);

	if (status < 0)
		return status;
	gg_statement_integer(&row, (int64_t)id);
	gg_statement_integer(&row, (int64_t)address);
	gg_statement_integer(&row, is_old ? GG_PROFILE_SAMPLE_OLD : 0);
	gg_statement_id(&row, type);
	return gg_statement_run(&row, error);
}

static void visit_sample(struct gg_row_reader *reading, const struct gg_profile_sample *sample,
                         gg_sample_visit *visit, void *context)
{
	if (gg_draw_is_valid(&sample->draw))
		gg_row_reader_visited(reading, visit(sample, context));
	else
		reading->profile->dangling_count++; /* it cannot be weighted */
}

int gg_profile_each_sample(struct gg_profile *profile, gg_sample_visit *visit, void *context,
                           struct gg_error *error)
{
	struct gg_row_reader reading;
	struct sample_row row;

	gg_record_table_select(&reading, profile, &gg_record_table_sample, " order by id");
	while (gg_record_table_next(&reading, &gg_record_table_sample, &row))
		visit_sample(&reading, &row.sample, visit, context);
	return gg_row_reader_end(&reading, error);
}

int gg_profile_remove_samples(struct gg_profile *profile, uint32_t process, struct gg_error *error)
{
	char sql[64];

	snprintf(sql, sizeof(sql), "delete from sample where process = %" PRIu32, process);
	return gg_database_execute(profile, sql, error);
}

int gg_profile_each_sample_of(struct gg_profile *profile, uint32_t process, int64_t alloc_most_ns,
                              int64_t end_least_ns, gg_sample_visit *visit, void *context,
                              struct gg_error *error)
{
	struct gg_row_reader reading;
	struct sample_row row;

	gg_record_table_select(&reading, profile, &gg_record_table_sample,
	                       " where process = ?1 and t_alloc <= ?2"
	                       " and (t_free is null or t_free >= ?3) order by id");
	gg_row_reader_bind(&reading, 1, process);
	gg_row_reader_bind(&reading, 2, alloc_most_ns);
	gg_row_reader_bind(&reading, 3, end_least_ns);
	while (gg_record_table_next(&reading, &gg_record_table_sample, &row))
		visit_sample(&reading, &row.sample, visit, context);
	return gg_row_reader_end(&reading, error);
}

int gg_profile_each_ended_sample(struct gg_profile *profile, int64_t alloc_most_ns,
                                 int64_t end_least_ns, gg_sample_visit *visit, void *context,
                                 struct gg_error *error)
{
	struct gg_row_reader reading;

	gg_row_reader_begin(&reading, profile,
	                    "select id, process, t_alloc, size, address, origin from sample"
	                    " where t_alloc <= ?1 and (t_free >= ?2 or (t_free is null"
	                    "   and process in (select id from process where end_ns >= ?2)))");
	gg_row_reader_bind(&reading, 1, alloc_most_ns);
	gg_row_reader_bind(&reading, 2, end_least_ns);
	while (gg_row_reader_next(&reading)) {
		struct gg_profile_sample sample = { 0 };

		sample.id = gg_row_reader_bits(&reading);
		sample.process = gg_row_reader_id(&reading, GG_DENSE_PROCESS);
		sample.alloc_ns = gg_row_reader_integer(&reading, INT64_MIN, INT64_MAX);
		sample.size_bytes = (uint64_t)gg_row_reader_integer(&reading, 0, INT64_MAX);
		sample.address = gg_row_reader_bits(&reading);
		sample.origin = gg_row_reader_bits(&reading);
		gg_row_reader_visited(&reading, visit(&sample, context));
	}
	return gg_row_reader_end(&reading, error);
}

int gg_profile_sample_ids(struct gg_profile *profile, int64_t *ret_first, int64_t *ret_last,
                          struct gg_error *error)
{
	struct gg_row_reader reading;

	*ret_first = *ret_last = 0;
	gg_row_reader_begin(&reading, profile,
	                    "select (select min(id) from sample), (select max(id) from sample)");
	if (gg_row_reader_next(&reading)) {
		*ret_first = gg_row_reader_integer(&reading, INT64_MIN, INT64_MAX);
		*ret_last = gg_row_reader_integer(&reading, INT64_MIN, INT64_MAX);
	}
	return gg_row_reader_end(&reading, error);
}

/* --- samples for a model ------------------------------------------------------------------ */

/* A model needs no address, and no thread or stack of a free; reading them takes time. */
#define SCANNED_COLUMNS                                                                  \
	"id, t_alloc, t_free, process, thread, stack, heap, type, size, usable, scheme," \
	" interval, offset, marks, flags, origin"

/* Reads SCANNED_COLUMNS by straight code, because a model has millions of samples. */
static void read_scanned(struct gg_row_reader *reading, struct gg_profile_sample *sample)
{
	sample->id = gg_row_reader_bits(reading);
	sample->alloc_ns = gg_row_reader_integer(reading, INT64_MIN, INT64_MAX);
	sample->free_ns = gg_row_reader_time(reading);
	sample->process = gg_row_reader_id(reading, GG_DENSE_PROCESS);
	sample->thread = gg_row_reader_id(reading, GG_DENSE_THREAD);
	sample->stack = gg_row_reader_id(reading, GG_DENSE_STACK);
	sample->heap = gg_row_reader_id(reading, GG_DENSE_HEAP);
	sample->type = gg_row_reader_id(reading, GG_DENSE_TYPE);
	sample->size_bytes = (uint64_t)gg_row_reader_integer(reading, 0, INT64_MAX);
	sample->usable_bytes = (uint64_t)gg_row_reader_integer(reading, 0, INT64_MAX);
	sample->draw.scheme = (enum gg_scheme)gg_row_reader_integer(reading, 0, UINT32_MAX);
	sample->draw.sampling_interval = gg_row_reader_number(reading, 0, GG_COLUMN_LARGEST);
	sample->draw.offset_bytes = gg_row_reader_bits(reading);
	sample->draw.sample_point_count = (uint32_t)gg_row_reader_integer(reading, 0, UINT32_MAX);
	sample->flags = (uint32_t)gg_row_reader_integer(reading, 0, UINT32_MAX);
	sample->origin = gg_row_reader_bits(reading);
}

/*
 * A profile may have millions of samples.  Handing out each row and its columns costs SQLite more
 * than reading them.  An aggregate function gets the columns of all rows within one step of the
 * statement.  SQLite calls it in the order of the scan, which is that of the ids, because they are
 * the table's key.
 */
struct sample_scan {
	struct gg_row_reader *reading;
	gg_sample_visit *visit;
	void *context;
	int64_t last_id;
};

static void scan_sample(sqlite3_context *call, int count, sqlite3_value **values)
{
	struct sample_scan *scan = sqlite3_user_data(call);
	struct gg_profile_sample sample = { 0 };

	(void)count;
	gg_row_reader_take_values(scan->reading, values);
	read_scanned(scan->reading, &sample);
	gg_assert((int64_t)sample.id >= scan->last_id);
	scan->last_id = (int64_t)sample.id;
	visit_sample(scan->reading, &sample, scan->visit, scan->context);
	if (scan->reading->stopped != 0)
		sqlite3_result_error_code(call, SQLITE_ABORT);
}

static void finish_scan(sqlite3_context *call)
{
	(void)call;
}

/* Without functions the name is removed, so that no later statement finds `scan`. */
static int name_scan(struct gg_profile *profile, struct sample_scan *scan)
{
	return sqlite3_create_function_v2(
		profile->db, "scan_sample", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, scan, NULL,
		scan != NULL ? scan_sample : NULL, scan != NULL ? finish_scan : NULL, NULL);
}

int gg_profile_each_sample_between(struct gg_profile *profile, int64_t first_id, int64_t last_id,
                                   gg_sample_visit *visit, void *context, struct gg_error *error)
{
	struct gg_row_reader reading;
	struct sample_scan scan = { &reading, visit, context, first_id };
	int result = name_scan(profile, &scan), status;

	if (result != SQLITE_OK)
		return gg_database_fail(profile, result, error);
	gg_row_reader_begin(&reading, profile,
	                    "select scan_sample(" SCANNED_COLUMNS
	                    ") from sample where id between ? and ?");
	gg_row_reader_bind(&reading, 1, first_id);
	gg_row_reader_bind(&reading, 2, last_id);
	while (gg_row_reader_next(&reading))
		;
	status = gg_row_reader_end(&reading, error);
	name_scan(profile, NULL);
	return status;
}
