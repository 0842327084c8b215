/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sql_query - questions in SQL that a person asks of a profile; nothing can be changed by them.
 *
 *   struct gg_sql_query *query;
 *
 *   if (gg_sql_query_new(&query, profile, "select function, live_bytes from v_function", error) < 0)
 *           return error->code;
 *   while ((code = gg_sql_query_next(query, error)) > 0)
 *           puts(gg_sql_query_text(query, 0, &length));
 *   gg_sql_query_free(query);
 *
 * The views are ours, whatever views of those names the file has.  Beside SQLite's functions there are
 *
 *   gg_bytes_low(scheme, interval, offset, marks, size [, confidence])      aggregates: an end of the
 *   gg_bytes_high(...), gg_count_low(...), gg_count_high(...)               confidence interval
 *   gg_size(bytes)                                                          "312.4 MiB"
 *
 * Threads   as its profile; one query at a time.
 */
#pragma once

#include "profile/profile.h"

struct gg_sql_query;

enum gg_sql_query_kind {
	GG_SQL_QUERY_NULL,
	GG_SQL_QUERY_INTEGER,
	GG_SQL_QUERY_NUMBER,
	GG_SQL_QUERY_TEXT,
	GG_SQL_QUERY_BYTES,
};

/*
 * One statement.  -EINVAL for what SQLite does not understand, more than one statement, or one that
 * does not only read.
 */
GG_MUST_CHECK int gg_sql_query_new(struct gg_sql_query **ret_query, struct gg_profile *profile,
                                   const char *sql, struct gg_error *error);
void gg_sql_query_free(struct gg_sql_query *query);

int gg_sql_query_column_count(const struct gg_sql_query *query);
const char *gg_sql_query_column_name(const struct gg_sql_query *query, int column);

/* 1: there is a row; 0: no more; -Exxx. */
GG_MUST_CHECK int gg_sql_query_next(struct gg_sql_query *query, struct gg_error *error);

/* Of the row, column from 0 on.  Texts are valid until the next row. */
enum gg_sql_query_kind gg_sql_query_kind(const struct gg_sql_query *query, int column);
int64_t gg_sql_query_integer(const struct gg_sql_query *query, int column);
double gg_sql_query_number(const struct gg_sql_query *query, int column);
/* A text or bytes; *ret_length (may be NULL) without the 0 byte that follows a text. */
const char *gg_sql_query_text(const struct gg_sql_query *query, int column, size_t *ret_length);
