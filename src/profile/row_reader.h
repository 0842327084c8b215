/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_reader - rows of a file that nobody vouches for.
 *
 *   struct gg_row_reader reading;
 *
 *   gg_row_reader_begin(&reading, profile, "select id, name from thread order by id");
 *   while (gg_row_reader_next(&reading)) {
 *           record.id = gg_row_reader_id(&reading, GG_DENSE_THREAD);
 *           record.name = gg_row_reader_text(&reading);
 *           gg_row_reader_visited(&reading, visit(&record, context));
 *   }
 *   return gg_row_reader_end(&reading, error);
 *
 * Columns are read in their order.  A value of the wrong type or out of range is read as "none" and
 * counted (gg_profile_dangling_count).
 */
#pragma once

#include "base/assert.h"
#include "profile/statements.h"

struct gg_row_reader {
	struct gg_profile *profile;
	sqlite3_stmt *statement;
	sqlite3_value **values; /* the columns, if a function of SQL got them; NULL: a row's */
	int column;             /* the next to read */
	int result;             /* SQLite's last */
	int stopped;            /* what the visitor returned */
};

void gg_row_reader_begin(struct gg_row_reader *reading, struct gg_profile *profile,
                         const char *sql);
/* The value of parameter `number`, from 1 on; before the first row. */
void gg_row_reader_bind(struct gg_row_reader *reading, int number, int64_t value);
bool gg_row_reader_next(struct gg_row_reader *reading);
/* The following reads are of these values, the arguments of a function that the statement calls. */
static inline void gg_row_reader_take_values(struct gg_row_reader *reading, sqlite3_value **values)
{
	reading->values = values;
	reading->column = 0;
}
int gg_row_reader_end(struct gg_row_reader *reading, struct gg_error *error);

static inline void gg_row_reader_visited(struct gg_row_reader *reading, int stop)
{
	reading->stopped = stop;
}

/* The readers of most columns are inline, because a profile has millions of them. */

/* The value of the next column; NULL where it is NULL. */
static inline sqlite3_value *gg_row_reader_value(struct gg_row_reader *reading, int *ret_type)
{
	sqlite3_value *value = reading->values != NULL ? reading->values[reading->column++]
	                                               : sqlite3_column_value(reading->statement,
	                                                                      reading->column++);

	gg_assert(reading->values != NULL ||
	          reading->column <= sqlite3_column_count(reading->statement));
	*ret_type = sqlite3_value_type(value);
	return value;
}

/* 1..count of that table; otherwise 0, counted unless it is NULL or 0. */
static inline uint32_t gg_row_reader_id(struct gg_row_reader *reading, enum gg_dense table)
{
	int type;
	sqlite3_value *value = gg_row_reader_value(reading, &type);
	int64_t id = type == SQLITE_INTEGER ? sqlite3_value_int64(value) : -1;

	gg_assert(table < GG_DENSE_COUNT);
	if (type == SQLITE_NULL || id == 0)
		return 0;
	if (id > 0 && id <= reading->profile->counts[table])
		return (uint32_t)id;
	reading->profile->dangling_count++;
	return 0;
}

/* NULL, and what is out of range: the value in the range that is nearest to 0 from above. */
static inline int64_t gg_row_reader_integer(struct gg_row_reader *reading, int64_t least,
                                            int64_t most)
{
	int type;
	sqlite3_value *value = gg_row_reader_value(reading, &type);
	int64_t number;

	gg_assert(least <= most);
	if (type == SQLITE_NULL)
		return least > 0 ? least : 0;
	number = sqlite3_value_int64(value);
	if (type == SQLITE_INTEGER && number >= least && number <= most)
		return number;
	reading->profile->dangling_count++;
	return least > 0 ? least : 0;
}

/* NULL: GG_TIME_NONE */
static inline int64_t gg_row_reader_time(struct gg_row_reader *reading)
{
	int type;
	sqlite3_value *value = gg_row_reader_value(reading, &type);

	if (type == SQLITE_INTEGER)
		return sqlite3_value_int64(value);
	if (type != SQLITE_NULL)
		reading->profile->dangling_count++;
	return GG_TIME_NONE;
}

/* True if the next column is NULL.  It stays the next one. */
bool gg_row_reader_is_null(const struct gg_row_reader *reading);
static inline void gg_row_reader_skip(struct gg_row_reader *reading)
{
	reading->column++;
}
static inline uint64_t gg_row_reader_bits(struct gg_row_reader *reading) /* any 64 of them */
{
	return (uint64_t)gg_row_reader_integer(reading, INT64_MIN, INT64_MAX);
}
int64_t gg_row_reader_known(struct gg_row_reader *reading); /* NULL: -1 */
double gg_row_reader_number(struct gg_row_reader *reading, double least, double most);
/* NULL stays NULL.  Valid until the next row. */
const char *gg_row_reader_text(struct gg_row_reader *reading);
const void *gg_row_reader_bytes(struct gg_row_reader *reading, size_t *ret_length);
