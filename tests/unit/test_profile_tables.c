/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_profile_tables - shows that the described columns of each table are those of its SQL text,
 * and that each type of column returns what was written, or "none" for what it cannot hold.
 */
#include "profile/tables/record_table.h"

#include <errno.h>

#include "profile/schema.h"
#include "test.h"

static struct gg_error error;

struct scene {
	struct gg_profile *profile;
};

static void scene_setup(struct scene *scene)
{
	REQUIRE(gg_profile_create(&scene->profile, NULL, &error) == 0);
}

static void scene_teardown(struct scene *scene)
{
	gg_profile_close(scene->profile);
}

FIXTURE(scene)

/* The id of some tables is handed out by SQLite, so it has no member. */
static bool is_automatic(const struct gg_record_table *table, const char *column)
{
	return strcmp(column, "id") == 0 && strcmp(table->columns[0].name, "id") != 0;
}

static void compare_columns(struct gg_profile *profile, const struct gg_record_table *table)
{
	struct gg_row_reader reading;
	size_t count = 0;
	char sql[100];

	snprintf(sql, sizeof(sql), "select name from pragma_table_info('%s')", table->name);
	gg_row_reader_begin(&reading, profile, sql);
	while (gg_row_reader_next(&reading)) {
		const char *name = gg_row_reader_text(&reading);

		if (is_automatic(table, name))
			continue;
		REQUIRE_MSG(count < table->column_count, "%s: %s is not described", table->name,
		            name);
		CHECK_EQ_STR(table->columns[count++].name, name);
	}
	CHECK_EQ_I64(gg_row_reader_end(&reading, &error), 0);
	CHECK_MSG(count == table->column_count, "%s: %zu of %zu columns", table->name, count,
	          table->column_count);
}

TEST_WITH(scene, every_column_of_the_file_is_described_in_its_order)
{
	size_t count = 0;

	for (size_t i = 0; gg_schema_tables[i] != NULL; i++)
		if (gg_schema_tables[i]->columns != NULL) {
			compare_columns(scene->profile, gg_schema_tables[i]);
			count++;
		}
	CHECK_EQ_U64(count, 27);
}

TEST(each_table_has_its_own_prepared_statement)
{
	bool is_taken[GG_SQL_COUNT] = { false };

	for (size_t i = 0; gg_schema_tables[i] != NULL; i++) {
		const struct gg_record_table *table = gg_schema_tables[i];

		if (table->columns == NULL)
			continue;
		CHECK_MSG(!is_taken[table->sql], "%s shares its statement", table->name);
		is_taken[table->sql] = true;
	}
}

/* --- types of columns ----------------------------------------------------------------------- */

/* A member of each type. */
struct any_row {
	uint32_t id, number, nonzero, scheme, room;
	uint64_t sample, bits, count;
	bool flag;
	int status;
	int64_t moment, time, duration, known;
	double value, cube, estimate;
	struct gg_fixed fixed;
	const char *text;
	struct gg_column_blob blob;
};

static const struct gg_column columns[] = {
	{ "id", GG_COLUMN_ID, .offset = offsetof(struct any_row, id), .target = GG_DENSE_THREAD },
	{ "number", GG_COLUMN_UINT32, .offset = offsetof(struct any_row, number) },
	{ "nonzero", GG_COLUMN_NONZERO, .offset = offsetof(struct any_row, nonzero) },
	{ "scheme", GG_COLUMN_SCHEME, .offset = offsetof(struct any_row, scheme) },
	{ "sample", GG_COLUMN_SAMPLE_ID, .offset = offsetof(struct any_row, sample) },
	{ "bits", GG_COLUMN_BITS, .offset = offsetof(struct any_row, bits) },
	{ "count", GG_COLUMN_COUNT, .offset = offsetof(struct any_row, count) },
	{ "flag", GG_COLUMN_BOOL, .offset = offsetof(struct any_row, flag) },
	{ "status", GG_COLUMN_STATUS, .offset = offsetof(struct any_row, status) },
	{ "moment", GG_COLUMN_MOMENT, .offset = offsetof(struct any_row, moment) },
	{ "time", GG_COLUMN_TIME, .offset = offsetof(struct any_row, time) },
	{ "duration", GG_COLUMN_DURATION, .offset = offsetof(struct any_row, duration) },
	{ "known", GG_COLUMN_KNOWN, .offset = offsetof(struct any_row, known) },
	{ "value", GG_COLUMN_NUMBER, .offset = offsetof(struct any_row, value) },
	{ "cube", GG_COLUMN_CUBE, .offset = offsetof(struct any_row, cube) },
	{ "estimate", GG_COLUMN_ESTIMATE, .offset = offsetof(struct any_row, estimate) },
	{ "fixed", GG_COLUMN_FIXED, .offset = offsetof(struct any_row, fixed) },
	{ "text", GG_COLUMN_TEXT, .offset = offsetof(struct any_row, text) },
	{ "blob", GG_COLUMN_BLOB, .offset = offsetof(struct any_row, blob) },
	{ "later", GG_COLUMN_TEXT, .offset = offsetof(struct any_row, text), .from_version = 1000 },
	{ "room", GG_COLUMN_ROOM, .offset = offsetof(struct any_row, room) },
};

static const struct gg_record_table any = {
	.name = "any_row",
	.insert = "insert",
	.sql = GG_SQL_NOTE,
	.columns = columns,
	.column_count = GG_COUNT(columns) - 1, /* without `room`, which is not read */
};

static void make_any(struct gg_profile *profile)
{
	static const char sql[] = "create table any_row(id, number, nonzero, scheme, sample, bits,"
				  " count, flag, status, moment, time, duration, known, value,"
				  " cube, estimate, fixed, text, blob)";

	REQUIRE(gg_database_execute(profile, sql, &error) == 0);
	profile->counts[GG_DENSE_THREAD] = 7;
}

/* The row without the column `later`, which replaces `text`. */
static struct any_row read_any(struct gg_profile *profile)
{
	struct gg_row_reader reading;
	struct gg_record_table without_later = any;
	struct any_row row = { 0 };

	without_later.column_count--;
	gg_record_table_select(&reading, profile, &without_later, "");
	CHECK(gg_record_table_next(&reading, &without_later, &row));
	CHECK_MSG(row.text == NULL || strcmp(row.text, "text") == 0, "%s", row.text);
	CHECK(row.blob.length == 0 || memcmp(row.blob.bytes, "blob", 4) == 0);
	CHECK_EQ_I64(gg_row_reader_end(&reading, &error), 0);
	return row;
}

TEST_WITH(scene, every_type_is_read_as_it_was_written)
{
	const struct any_row row = {
		.id = 7,
		.number = UINT32_MAX,
		.nonzero = 3,
		.scheme = GG_SCHEME_COUNT - 1,
		.sample = UINT64_C(1) << 40,
		.bits = UINT64_MAX,
		.count = INT64_MAX,
		.flag = true,
		.status = 127,
		.moment = INT64_MIN,
		.time = -5,
		.duration = 9,
		.known = 0,
		.value = GG_COLUMN_LARGEST,
		.cube = 1e300,
		.estimate = 0.5,
		.fixed = gg_fixed_from(2.5),
		.text = "text",
		.blob = { (const uint8_t *)"blob", 4 },
	};
	struct any_row read;

	make_any(scene->profile);
	REQUIRE(gg_record_table_insert(scene->profile, &any, &row, &error) == 0);
	read = read_any(scene->profile);
	CHECK_EQ_U64(gg_profile_dangling_count(scene->profile), 0);
	CHECK_EQ_DOUBLE(gg_fixed_value(read.fixed), 2.5);
	CHECK(read.id == row.id && read.number == row.number && read.nonzero == row.nonzero);
	CHECK(read.scheme == row.scheme && read.sample == row.sample && read.bits == row.bits);
	CHECK(read.count == row.count && read.flag && read.status == row.status);
	CHECK(read.moment == row.moment && read.time == row.time && read.known == row.known);
	CHECK_EQ_I64(read.duration, row.duration);
	CHECK_EQ_DOUBLE(read.value, row.value);
	CHECK_EQ_DOUBLE(read.cube, row.cube);
	CHECK_EQ_DOUBLE(read.estimate, row.estimate);
	CHECK(read.text != NULL && read.blob.length == 4);
}

TEST_WITH(scene, unknown_values_are_null_in_the_file)
{
	const struct any_row row = {
		.status = -1, .time = GG_TIME_NONE, .known = -1, .estimate = -1
	};
	static const char count_nulls[] =
		"select (id is null) + (nonzero is null) + (sample is null) + (status is null) +"
		" (time is null) + (duration is null) + (known is null) + (estimate is null) +"
		" (text is null) from any_row";
	struct any_row read;
	int result;

	make_any(scene->profile);
	REQUIRE(gg_record_table_insert(scene->profile, &any, &row, &error) == 0);
	CHECK_EQ_I64(gg_database_read_integer(scene->profile, count_nulls, &result), 9);
	read = read_any(scene->profile);
	CHECK_EQ_U64(gg_profile_dangling_count(scene->profile), 0);
	CHECK(read.id == 0 && read.nonzero == 0 && read.sample == 0 && read.duration == 0);
	CHECK(read.status == -1 && read.time == GG_TIME_NONE && read.known == -1);
	CHECK_EQ_DOUBLE(read.estimate, -1);
	CHECK(read.text == NULL);
}

/* Each value is of a wrong type or out of range; the reader counts it and returns "none". */
TEST_WITH(scene, values_that_geiger_does_not_write_are_counted_and_read_as_none)
{
	static const char sql[] =
		"insert into any_row values (8, -1, 4294967296, 99, 'x', 0.5, -1, 2, -7, 'x', 'x',"
		" -1, -2, -1, -1, -0.5, 1e300, 5, 'x')";
	struct any_row read;

	make_any(scene->profile);
	REQUIRE(gg_database_execute(scene->profile, sql, &error) == 0);
	read = read_any(scene->profile);
	CHECK_EQ_U64(gg_profile_dangling_count(scene->profile), GG_COUNT(columns) - 2);
	CHECK(read.id == 0 && read.number == 0 && read.nonzero == 0 && read.scheme == 0);
	CHECK(read.sample == 0 && read.bits == 0 && read.count == 0 && !read.flag);
	CHECK(read.status == -1 && read.moment == 0 && read.time == GG_TIME_NONE);
	CHECK(read.duration == 0 && read.known == -1 && read.text == NULL);
	CHECK_EQ_DOUBLE(read.value + read.cube + read.estimate, 0);
	CHECK_EQ_DOUBLE(gg_fixed_value(read.fixed), 0);
}

TEST_WITH(scene, a_column_that_the_file_lacks_is_not_written_and_read_as_null)
{
	struct any_row row = { .text = "text" };
	struct gg_row_reader reading;

	make_any(scene->profile);
	REQUIRE(gg_record_table_insert(scene->profile, &any, &row, &error) == 0);
	gg_record_table_select(&reading, scene->profile, &any, "");
	CHECK(gg_record_table_next(&reading, &any, &row));
	CHECK(row.text == NULL); /* `later` has the same member, and is read after `text` */
	CHECK_EQ_I64(gg_row_reader_end(&reading, &error), 0);
}

TEST_WITH(scene, errors_of_sql_come_at_the_end_of_reading)
{
	struct gg_row_reader reading;

	gg_row_reader_begin(&reading, scene->profile, "select nonsense from note");
	CHECK(!gg_row_reader_next(&reading));
	CHECK(gg_row_reader_end(&reading, &error) < 0);
	gg_row_reader_begin(&reading, scene->profile, "select 1 union all select 2");
	CHECK(gg_row_reader_next(&reading));
	gg_row_reader_visited(&reading, 5);
	CHECK(!gg_row_reader_next(&reading)); /* the visitor ended the walk */
	CHECK_EQ_I64(gg_row_reader_end(&reading, &error), 5);
}
