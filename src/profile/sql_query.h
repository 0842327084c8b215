/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sql_query - runs a person's SQL query on a profile, which it cannot change.
 *
 *   struct gg_sql_query *query;
 *
 *   if (gg_sql_query_new(&query, profile, "select function from v_function", error) < 0)
 *           return error->status;
 *   while ((status = gg_sql_query_next(query, error)) > 0)
 *           puts(gg_sql_query_text(query, 0, &length));
 *   gg_sql_query_free(query);
 *
 * The views are geiger's own, even if the file has views of the same names.  Beside SQLite's
 * functions, a query can use
 *
 *   gg_bytes_low(scheme, interval, offset, marks, size [, confidence])  aggregates: an end of the
 *   gg_bytes_high(...), gg_count_low(...), gg_count_high(...)           confidence interval; NULL:
 *                                                                       samples are missing
 *   gg_pinned_bytes(sample [, moment]), gg_pinned_low(...),             aggregates: free memory
 *   gg_pinned_high(...)                                                 that blocks keep
 *   gg_size(bytes)                                                      "312.4 MiB"
 *
 * Threads   The thread that owns the profile, one query at a time.
 */
#pragma once

#include "profile/profile.h"
#include "profile/sql_pinned.h"

struct gg_sql_query;

enum gg_sql_query_kind {
	GG_SQL_QUERY_NULL,
	GG_SQL_QUERY_INTEGER,
	GG_SQL_QUERY_NUMBER,
	GG_SQL_QUERY_TEXT,
	GG_SQL_QUERY_BYTES,
};

/*
 * Prepares one statement.  -EINVAL: SQLite rejects it, there is more than one statement, or the
 * statement does more than read.
 */
GG_MUST_CHECK int gg_sql_query_new(struct gg_sql_query **ret_query, struct gg_profile *profile,
                                   const char *sql, struct gg_error *error);

/* As gg_sql_query_new(), for a query that may use gg_pinned_...().  `pinned` may be NULL. */
GG_MUST_CHECK int gg_sql_query_new_pinned(struct gg_sql_query **ret_query,
                                          struct gg_profile *profile, const char *sql,
                                          const struct gg_sql_pinned *pinned,
                                          struct gg_error *error);
void gg_sql_query_free(struct gg_sql_query *query);

int gg_sql_query_column_count(const struct gg_sql_query *query);
const char *gg_sql_query_column_name(const struct gg_sql_query *query, int column);

/* Steps to the next row.  1: there is one; 0: no further row; -Exxx. */
GG_MUST_CHECK int gg_sql_query_next(struct gg_sql_query *query, struct gg_error *error);

/* Values of the current row; columns count from 0.  Texts are valid until the next row. */
enum gg_sql_query_kind gg_sql_query_kind(const struct gg_sql_query *query, int column);
int64_t gg_sql_query_integer(const struct gg_sql_query *query, int column);
double gg_sql_query_number(const struct gg_sql_query *query, int column);
/* A text or blob.  *ret_length (may be NULL) does not count the 0 byte after a text. */
const char *gg_sql_query_text(const struct gg_sql_query *query, int column, size_t *ret_length);
