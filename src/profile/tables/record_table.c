/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tables/record_table.h"

#include <errno.h>
#include <math.h>

#include "base/assert.h"
#include "base/buf.h"

const char *gg_record_table_create(const struct gg_record_table *table, uint32_t version)
{
	const struct gg_record_table_older *older = table->older;

	if (version < table->from_version)
		return NULL;
	for (; older != NULL && older->create != NULL; older++)
		if (version <= older->version)
			return older->create;
	return table->create;
}

static bool has_column(const struct gg_profile *profile, const struct gg_column *column)
{
	gg_assert(profile->version > 0);
	return column->from_version <= profile->version;
}

/* --- writing -------------------------------------------------------------------------------- */

/* Writes "insert into thread(id, name) values (?,?)". */
static void write_insert(struct gg_buf *sql, const struct gg_profile *profile,
                         const struct gg_record_table *table)
{
	size_t count = 0;

	gg_assert(table->column_count > 0 && table->insert != NULL);
	gg_buf_printf(sql, "%s into %s", table->insert, table->name);
	for (size_t i = 0; i < table->column_count; i++)
		if (has_column(profile, &table->columns[i]))
			gg_buf_printf(sql, "%c%s", count++ == 0 ? '(' : ',',
			              table->columns[i].name);
	gg_buf_append_text(sql, ") values (?");
	for (size_t i = 1; i < count; i++)
		gg_buf_append_text(sql, ",?");
	gg_buf_append_text(sql, ")");
}

static int begin_insert(struct gg_statement *row, struct gg_profile *profile,
                        const struct gg_record_table *table, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf sql = { 0 };

	if (profile->statements[table->sql] == NULL) {
		write_insert(&sql, profile, table);
		if (sql.failed)
			return gg_error_memory(error, profile->path);
	}
	return gg_statement_begin(row, profile, table->sql, gg_buf_text(&sql), error);
}

static void bind_or_null(struct gg_statement *row, int64_t value, bool is_null)
{
	if (is_null)
		gg_statement_null(row);
	else
		gg_statement_integer(row, value);
}

static void bind_number(struct gg_statement *row, enum gg_column_type type, const void *member)
{
	double value = type == GG_COLUMN_FIXED ? gg_fixed_value(*(const struct gg_fixed *)member)
	                                       : *(const double *)member;

	if (type == GG_COLUMN_ESTIMATE && value < 0)
		gg_statement_null(row);
	else
		gg_statement_number(row, value);
}

/* Values of which SQLite makes copies only when the row is stored. */
static void bind_bytes(struct gg_statement *row, enum gg_column_type type, const void *member)
{
	const struct gg_column_blob *blob = member;
	uint32_t room_bytes;

	if (type == GG_COLUMN_TEXT) {
		gg_statement_text(row, *(const char *const *)member);
	} else if (type == GG_COLUMN_BLOB) {
		gg_statement_bytes(row, blob->bytes, blob->length);
	} else {
		room_bytes = *(const uint32_t *)member;
		if (room_bytes > 0)
			gg_statement_zeros(row, room_bytes);
		else
			gg_statement_null(row);
	}
}

/* Binds what SQLite stores as an integer, which most columns are. */
static void bind_integer(struct gg_statement *row, enum gg_column_type type, const void *member)
{
	switch (type) {
	case GG_COLUMN_ID:
	case GG_COLUMN_NONZERO:
		gg_statement_id(row, *(const uint32_t *)member);
		return;
	case GG_COLUMN_SAMPLE_ID:
		gg_statement_id(row, *(const uint64_t *)member);
		return;
	case GG_COLUMN_KEY_ID:
	case GG_COLUMN_UINT32:
	case GG_COLUMN_SCHEME:
		gg_statement_integer(row, *(const uint32_t *)member);
		return;
	case GG_COLUMN_BOOL:
		gg_statement_integer(row, *(const bool *)member);
		return;
	case GG_COLUMN_STATUS:
		gg_statement_known(row, *(const int *)member);
		return;
	case GG_COLUMN_TIME:
		gg_statement_time(row, *(const int64_t *)member);
		return;
	case GG_COLUMN_DURATION:
		bind_or_null(row, *(const int64_t *)member, *(const int64_t *)member <= 0);
		return;
	case GG_COLUMN_KNOWN:
		gg_statement_known(row, *(const int64_t *)member);
		return;
	default:
		gg_statement_integer(row, *(const int64_t *)member);
		return;
	}
}

static void bind_column(struct gg_statement *row, const struct gg_column *column,
                        const void *member)
{
	switch (column->type) {
	case GG_COLUMN_NUMBER:
	case GG_COLUMN_CUBE:
	case GG_COLUMN_ESTIMATE:
	case GG_COLUMN_FIXED:
		bind_number(row, column->type, member);
		return;
	case GG_COLUMN_TEXT:
	case GG_COLUMN_BLOB:
	case GG_COLUMN_ROOM:
		bind_bytes(row, column->type, member);
		return;
	default:
		bind_integer(row, column->type, member);
		return;
	}
}

int gg_record_table_insert(struct gg_profile *profile, const struct gg_record_table *table,
                           const void *record, struct gg_error *error)
{
	struct gg_statement row;
	int status;

	if (profile->version < table->from_version)
		return 0;
	status = begin_insert(&row, profile, table, error);
	if (status < 0)
		return status;
	for (size_t i = 0; i < table->column_count; i++)
		if (has_column(profile, &table->columns[i]))
			bind_column(&row, &table->columns[i],
			            (const char *)record + table->columns[i].offset);
	return gg_statement_run(&row, error);
}

/* --- reading -------------------------------------------------------------------------------- */

void gg_record_table_select(struct gg_row_reader *reading, struct gg_profile *profile,
                            const struct gg_record_table *table, const char *rest)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf sql = { 0 };

	if (profile->version < table->from_version) {
		gg_row_reader_begin(reading, profile, "select null where 0");
		return;
	}
	for (size_t i = 0; i < table->column_count; i++) {
		const struct gg_column *column = &table->columns[i];

		if (column->type != GG_COLUMN_ROOM)
			gg_buf_printf(&sql, "%s%s", i == 0 ? "select " : ", ",
			              has_column(profile, column) ? column->name : "null");
	}
	gg_buf_printf(&sql, " from %s%s", table->name, rest);
	gg_row_reader_begin(reading, profile, sql.failed ? NULL : gg_buf_text(&sql));
}

/* NULL is read as -1. */
static double read_estimate(struct gg_row_reader *reading)
{
	if (!gg_row_reader_is_null(reading))
		return gg_row_reader_number(reading, 0, GG_COLUMN_LARGEST);
	gg_row_reader_skip(reading);
	return -1;
}

/* Reads what SQLite stores as a number or as bytes. */
static void read_other(struct gg_row_reader *reading, enum gg_column_type type, void *member)
{
	struct gg_column_blob *blob = member;

	switch (type) {
	case GG_COLUMN_NUMBER:
		*(double *)member = gg_row_reader_number(reading, 0, GG_COLUMN_LARGEST);
		return;
	case GG_COLUMN_CUBE:
		*(double *)member = gg_row_reader_number(reading, 0, HUGE_VAL);
		return;
	case GG_COLUMN_ESTIMATE:
		*(double *)member = read_estimate(reading);
		return;
	case GG_COLUMN_FIXED:
		*(struct gg_fixed *)member = gg_fixed_from(
			gg_row_reader_number(reading, 0, GG_COLUMN_LARGEST));
		return;
	case GG_COLUMN_TEXT:
		*(const char **)member = gg_row_reader_text(reading);
		return;
	case GG_COLUMN_BLOB:
		blob->bytes = gg_row_reader_bytes(reading, &blob->length);
		return;
	default: /* GG_COLUMN_ROOM is not selected */
		return;
	}
}

static void read_column(struct gg_row_reader *reading, const struct gg_column *column, void *member)
{
	switch (column->type) {
	case GG_COLUMN_ID:
	case GG_COLUMN_KEY_ID:
		*(uint32_t *)member = gg_row_reader_id(reading, column->target);
		return;
	case GG_COLUMN_UINT32:
	case GG_COLUMN_NONZERO:
		*(uint32_t *)member = (uint32_t)gg_row_reader_integer(reading, 0, UINT32_MAX);
		return;
	case GG_COLUMN_SCHEME:
		*(uint32_t *)member = (uint32_t)gg_row_reader_integer(reading, 0, GG_SCHEME_EXACT);
		return;
	case GG_COLUMN_BOOL:
		*(bool *)member = gg_row_reader_integer(reading, 0, 1) != 0;
		return;
	case GG_COLUMN_STATUS:
		*(int *)member = (int)gg_row_reader_known(reading);
		return;
	case GG_COLUMN_SAMPLE_ID:
	case GG_COLUMN_BITS:
	case GG_COLUMN_MOMENT:
		*(int64_t *)member = gg_row_reader_integer(reading, INT64_MIN, INT64_MAX);
		return;
	case GG_COLUMN_COUNT:
	case GG_COLUMN_DURATION:
		*(int64_t *)member = gg_row_reader_integer(reading, 0, INT64_MAX);
		return;
	case GG_COLUMN_TIME:
		*(int64_t *)member = gg_row_reader_time(reading);
		return;
	case GG_COLUMN_KNOWN:
		*(int64_t *)member = gg_row_reader_known(reading);
		return;
	default:
		read_other(reading, column->type, member);
		return;
	}
}

bool gg_record_table_next(struct gg_row_reader *reading, const struct gg_record_table *table,
                          void *record)
{
	if (!gg_row_reader_next(reading))
		return false;
	for (size_t i = 0; i < table->column_count; i++)
		read_column(reading, &table->columns[i], (char *)record + table->columns[i].offset);
	gg_assert(reading->column == sqlite3_column_count(reading->statement));
	return true;
}
