/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query - questions in SQL that a person asks of a profile; nothing can be changed by them.
 *
 *   struct gg_query *query;
 *
 *   if (gg_query_new(&query, profile, "select function, live_bytes from v_function", error) < 0)
 *           return error->code;
 *   while ((code = gg_query_next(query, error)) > 0)
 *           puts(gg_query_text(query, 0));
 *   gg_query_free(query);
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

struct gg_query;

enum gg_query_kind {
	GG_QUERY_NULL,
	GG_QUERY_INTEGER,
	GG_QUERY_NUMBER,
	GG_QUERY_TEXT,
	GG_QUERY_BYTES,
};

/*
 * One statement.  -EINVAL for what SQLite does not understand, more than one statement, or one that
 * does not only read.
 */
GG_MUST_CHECK int gg_query_new(struct gg_query **ret_query, struct gg_profile *profile,
                               const char *sql, struct gg_error *error);
void gg_query_free(struct gg_query *query);

int gg_query_column_count(const struct gg_query *query);
const char *gg_query_column_name(const struct gg_query *query, int column);

/* 1: there is a row; 0: no more; -Exxx. */
GG_MUST_CHECK int gg_query_next(struct gg_query *query, struct gg_error *error);

/* Of the row, column from 0 on.  Texts are valid until the next row. */
enum gg_query_kind gg_query_kind(const struct gg_query *query, int column);
int64_t gg_query_integer(const struct gg_query *query, int column);
double gg_query_number(const struct gg_query *query, int column);
/* A text or bytes; *ret_length (may be NULL) without the 0 byte that follows a text. */
const char *gg_query_text(const struct gg_query *query, int column, size_t *ret_length);
