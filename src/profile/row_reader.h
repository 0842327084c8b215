/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reading - rows of a file that nobody vouches for.
 *
 *   struct gg_reading reading;
 *
 *   gg_reading_begin(&reading, profile, "select id, name from thread order by id");
 *   while (gg_reading_next(&reading)) {
 *           record.id = gg_reading_id(&reading, GG_DENSE_THREAD);
 *           record.name = gg_reading_text(&reading);
 *           gg_reading_visited(&reading, visit(&record, context));
 *   }
 *   return gg_reading_end(&reading, error);
 *
 * Columns are read in their order.  A value of the wrong type or out of range is read as "none" and
 * counted (gg_profile_dangling_count).
 */
#pragma once

#include "profile/statements.h"

struct gg_reading {
	struct gg_profile *profile;
	sqlite3_stmt *statement;
	int column;  /* the next to read */
	int result;  /* SQLite's last */
	int stopped; /* what the visitor returned */
};

void gg_reading_begin(struct gg_reading *reading, struct gg_profile *profile, const char *sql);
/* The value of parameter `number`, from 1 on; before the first row. */
void gg_reading_bind(struct gg_reading *reading, int number, int64_t value);
bool gg_reading_next(struct gg_reading *reading);
int gg_reading_end(struct gg_reading *reading, struct gg_error *error);

static inline void gg_reading_visited(struct gg_reading *reading, int stop)
{
	reading->stopped = stop;
}

/* 1..count of that table; else 0, counted unless it is NULL or 0. */
uint32_t gg_reading_id(struct gg_reading *reading, enum gg_dense table);
/* Is the next column NULL?  It stays the next one. */
bool gg_reading_is_null(const struct gg_reading *reading);
int64_t gg_reading_integer(struct gg_reading *reading, int64_t least, int64_t most);
static inline uint64_t gg_reading_bits(struct gg_reading *reading) /* any 64 of them */
{
	return (uint64_t)gg_reading_integer(reading, INT64_MIN, INT64_MAX);
}
int64_t gg_reading_time(struct gg_reading *reading);  /* NULL: GG_TIME_NONE */
int64_t gg_reading_known(struct gg_reading *reading); /* NULL: -1 */
double gg_reading_number(struct gg_reading *reading, double least, double most);
/* NULL stays NULL.  Valid until the next row. */
const char *gg_reading_text(struct gg_reading *reading);
const void *gg_reading_bytes(struct gg_reading *reading, size_t *ret_length);
