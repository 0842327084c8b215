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

/* 1..count of that table; else 0, counted unless it is NULL or 0. */
uint32_t gg_row_reader_id(struct gg_row_reader *reading, enum gg_dense table);
/* Is the next column NULL?  It stays the next one. */
bool gg_row_reader_is_null(const struct gg_row_reader *reading);
int64_t gg_row_reader_integer(struct gg_row_reader *reading, int64_t least, int64_t most);
static inline uint64_t gg_row_reader_bits(struct gg_row_reader *reading) /* any 64 of them */
{
	return (uint64_t)gg_row_reader_integer(reading, INT64_MIN, INT64_MAX);
}
int64_t gg_row_reader_time(struct gg_row_reader *reading);  /* NULL: GG_TIME_NONE */
int64_t gg_row_reader_known(struct gg_row_reader *reading); /* NULL: -1 */
double gg_row_reader_number(struct gg_row_reader *reading, double least, double most);
/* NULL stays NULL.  Valid until the next row. */
const char *gg_row_reader_text(struct gg_row_reader *reading);
const void *gg_row_reader_bytes(struct gg_row_reader *reading, size_t *ret_length);
