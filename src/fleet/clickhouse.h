/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clickhouse - asks ClickHouse, a server over HTTP or one in this process, and inserts rows.
 *
 *   struct gg_clickhouse store;
 *   GG_CLEANUP(gg_buf_done) struct gg_buf query = { 0 }, reply = { 0 };
 *
 *   gg_clickhouse_init(&store, "http://127.0.0.1:8123", error);
 *   gg_clickhouse_bind(&query, "SELECT count() FROM {db}.draw WHERE service = {id}",
 *                      (struct gg_clickhouse_value[]){ gg_clickhouse_name("db", "default"),
 *                                                      gg_clickhouse_u64("id", id) }, 2, error);
 *   gg_clickhouse_query(&store, &query, &reply, error);
 *   gg_clickhouse_done(&store);
 *
 * Values     Statements are constant texts with {NAME} where a value belongs.  Only
 *            gg_clickhouse_bind() puts values in, and it quotes every text and every name, so no
 *            value can become a part of the statement.
 * Errors     Each is one clear sentence.  `code` of the store has ClickHouse's own number.
 *              -ECONNREFUSED  no server answers there; the request was not sent
 *              -ETIMEDOUT     no whole reply in time; an insert may have happened
 *              -ECONNRESET    the reply was cut; an insert may have happened
 *              -EACCES        the server refuses the user
 *              -ENOENT        the database or the table is missing
 *              -ENOMEM        the query needs more memory than the server gives it
 *              -ETIME         the query took longer than the server allows
 *              -EAGAIN        too many queries or parts at the moment: try again later
 *              -ENOSPC        the disk is full
 *              -EBADMSG       anything else that the server complains about
 * Hostile    A server may send anything: the reply is limited by `reply_max_bytes` and the time.
 * Threads    One owner a store.  Each request has a connection of its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"

struct gg_chdb;

struct gg_clickhouse {
	struct gg_chdb *engine;              /* in this process; NULL: a server */
	char *host, *port, *user, *password; /* owned; user NULL: the server's default user */
	double timeout_seconds;              /* of a whole request */
	size_t reply_max_bytes;
	uint64_t memory_max_bytes; /* that a query may use on the server; 0: the server's limit */
	int code; /* ClickHouse's number of the last error; 0: none, or the server sent none */
};

/* Initializes a store from http://[USER[:PASSWORD]@]HOST[:PORT]; PORT 8123 by default. */
GG_MUST_CHECK int gg_clickhouse_init(struct gg_clickhouse *store, const char *url,
                                     struct gg_error *error);
/* Initializes a store in this process, below a directory (chdb.h). */
GG_MUST_CHECK int gg_clickhouse_init_inside(struct gg_clickhouse *store, const char *directory,
                                            struct gg_error *error);
void gg_clickhouse_done(struct gg_clickhouse *store);

/* Appends the body of the reply, whole or not at all. */
GG_MUST_CHECK int gg_clickhouse_query(struct gg_clickhouse *store, const struct gg_buf *query,
                                      struct gg_buf *reply, struct gg_error *error);

/*
 * Inserts rows: `statement` is INSERT INTO ... FORMAT ..., `rows` the body in that format.  Rows of
 * one partition become visible together if they fit into one block of the server.
 */
GG_MUST_CHECK int gg_clickhouse_insert(struct gg_clickhouse *store, const struct gg_buf *statement,
                                       const void *rows, size_t length, struct gg_error *error);

enum gg_clickhouse_kind {
	GG_CLICKHOUSE_U64,
	GG_CLICKHOUSE_DOUBLE,
	GG_CLICKHOUSE_TEXT,  /* quoted as 'a text' */
	GG_CLICKHOUSE_NAME,  /* of a database, a table, or a column: quoted as `a name` */
	GG_CLICKHOUSE_U64S,  /* 1, 2, 3; no numbers: NULL, which is IN no set */
	GG_CLICKHOUSE_TEXTS, /* 'a', 'b' */
	GG_CLICKHOUSE_BYTES, /* unhex('...'), for FixedString */
};

struct gg_clickhouse_value {
	const char *name; /* as in the statement, without braces */
	enum gg_clickhouse_kind kind;
	uint64_t u64;
	double number;
	const char *text;
	const uint64_t *u64s;
	const char *const *texts;
	const unsigned char *bytes;
	size_t count; /* of u64s, texts, bytes */
};

static inline struct gg_clickhouse_value gg_clickhouse_u64(const char *name, uint64_t value)
{
	return (struct gg_clickhouse_value){ .name = name,
		                             .kind = GG_CLICKHOUSE_U64,
		                             .u64 = value };
}

static inline struct gg_clickhouse_value gg_clickhouse_text(const char *name, const char *text)
{
	return (struct gg_clickhouse_value){ .name = name,
		                             .kind = GG_CLICKHOUSE_TEXT,
		                             .text = text };
}

static inline struct gg_clickhouse_value gg_clickhouse_name(const char *name, const char *text)
{
	return (struct gg_clickhouse_value){ .name = name,
		                             .kind = GG_CLICKHOUSE_NAME,
		                             .text = text };
}

static inline struct gg_clickhouse_value gg_clickhouse_u64s(const char *name, const uint64_t *u64s,
                                                            size_t count)
{
	return (struct gg_clickhouse_value){
		.name = name, .kind = GG_CLICKHOUSE_U64S, .u64s = u64s, .count = count
	};
}

/*
 * Appends the statement with its values.  -EINVAL: it names a value that is not there, or a name is
 * empty.
 */
GG_MUST_CHECK int gg_clickhouse_bind(struct gg_buf *query, const char *statement,
                                     const struct gg_clickhouse_value *values, size_t count,
                                     struct gg_error *error);

/* Reads rows in the format RowBinary.  A short reply sets `failed`, and every later value is 0. */
struct gg_clickhouse_rows {
	const unsigned char *at, *end;
	bool failed;
};

static inline struct gg_clickhouse_rows gg_clickhouse_rows_of(const struct gg_buf *reply)
{
	const unsigned char *bytes = (const unsigned char *)gg_buf_text(reply);

	return (struct gg_clickhouse_rows){ .at = bytes, .end = bytes + reply->length };
}

/* True while there is another row. */
static inline bool gg_clickhouse_rows_more(const struct gg_clickhouse_rows *rows)
{
	return !rows->failed && rows->at < rows->end;
}

uint64_t gg_clickhouse_read_u64(struct gg_clickhouse_rows *rows);
uint32_t gg_clickhouse_read_u32(struct gg_clickhouse_rows *rows);
uint8_t gg_clickhouse_read_u8(struct gg_clickhouse_rows *rows);
double gg_clickhouse_read_double(struct gg_clickhouse_rows *rows);
uint64_t gg_clickhouse_read_varint(struct gg_clickhouse_rows *rows); /* the length of an array */
/* Returns the bytes of a String, without a 0 byte at their end; "" if it is empty. */
const char *gg_clickhouse_read_text(struct gg_clickhouse_rows *rows, size_t *ret_length);
/* The bytes of a FixedString(length); NULL: the reply is too short. */
const unsigned char *gg_clickhouse_read_bytes(struct gg_clickhouse_rows *rows, size_t length);

/* Write values of rows in the format RowBinary. */
void gg_clickhouse_write_u64(struct gg_buf *rows, uint64_t value);
void gg_clickhouse_write_u32(struct gg_buf *rows, uint32_t value);
void gg_clickhouse_write_u8(struct gg_buf *rows, uint8_t value);
void gg_clickhouse_write_double(struct gg_buf *rows, double value);
void gg_clickhouse_write_varint(struct gg_buf *rows, uint64_t value);
void gg_clickhouse_write_text(struct gg_buf *rows, const char *text);

/* The part of the errors: turns ClickHouse's reply into an error.  Returns its status. */
int gg_clickhouse_explain(struct gg_clickhouse *store, int http_status, const char *text,
                          struct gg_error *error);
