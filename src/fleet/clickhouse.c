/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clickhouse - requests of HTTP/1.1 to a ClickHouse server, and what its errors mean.
 *
 * A query asks the server to wait for its end before it answers (wait_end_of_query), because an
 * error in the middle of a reply would otherwise come as a text after rows, with status 200.  The
 * reply is chunked: one that was cut lacks its last chunk.
 */
#include "fleet/clickhouse.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fleet/chdb.h"
#include "fleet/clickhouse_chunks.h"
#include "send/http_connection.h"

enum { REPLY_STEP_BYTES = 1 << 16, REPLY_HEAD_MAX = 1 << 16 };

/* Without a setting the server reads queries up to this size. */
enum { QUERY_BYTES_MAX = 1 << 18 };
#define DEFAULT_TIMEOUT_SECONDS 60
#define DEFAULT_REPLY_MAX       ((size_t)1 << 30)
#define DEFAULT_PORT            "8123"

static char *copy_part(const char *text, size_t length)
{
	char *copy = malloc(length + 1);

	if (copy != NULL) {
		memcpy(copy, text, length);
		copy[length] = '\0';
	}
	return copy;
}

/* Spaces and control characters would end a line of the head, or a part of it. */
static bool is_clean(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text <= ' ' || *text == 0x7f)
			return false;
	return true;
}

static int refuse_url(const char *url, struct gg_error *error)
{
	return gg_error_set(error, -EINVAL, url,
	                    "Give one such as http://127.0.0.1:8123 or http://USER:PASSWORD@HOST.",
	                    "not an address of a ClickHouse server");
}

int gg_clickhouse_init(struct gg_clickhouse *store, const char *url, struct gg_error *error)
{
	const char *rest = url, *end, *at, *host_end, *port;

	*store = (struct gg_clickhouse){ .timeout_seconds = DEFAULT_TIMEOUT_SECONDS,
		                         .reply_max_bytes = DEFAULT_REPLY_MAX };
	if (strncmp(url, "https://", 8) == 0)
		return gg_error_set(error, -EINVAL, url,
		                    "Reach it through a tunnel or a proxy on this machine.",
		                    "https is not supported for ClickHouse");
	if (strncmp(url, "http://", 7) != 0 || !is_clean(url))
		return refuse_url(url, error);
	rest += 7;
	end = rest + strcspn(rest, "/?#");
	if (strcmp(end, "") != 0 && strcmp(end, "/") != 0)
		return refuse_url(url, error);
	at = memrchr(rest, '@', (size_t)(end - rest));
	if (at != NULL) {
		const char *colon = memchr(rest, ':', (size_t)(at - rest));
		const char *name_end = colon != NULL ? colon : at;

		store->user = copy_part(rest, (size_t)(name_end - rest));
		store->password = colon != NULL ? copy_part(colon + 1, (size_t)(at - colon - 1))
		                                : copy_part("", 0);
		if (store->user == NULL || store->password == NULL)
			goto no_memory;
		rest = at + 1;
	}
	host_end = *rest == '[' ? memchr(rest, ']', (size_t)(end - rest)) : NULL;
	port = memchr(host_end != NULL ? host_end : rest, ':',
	              (size_t)(end - (host_end != NULL ? host_end : rest)));
	if (host_end == NULL)
		host_end = port != NULL ? port : end;
	else
		rest++;
	store->host = copy_part(rest, (size_t)(host_end - rest));
	store->port = port != NULL ? copy_part(port + 1, (size_t)(end - port - 1))
	                           : copy_part(DEFAULT_PORT, strlen(DEFAULT_PORT));
	if (store->host == NULL || store->port == NULL)
		goto no_memory;
	if (store->host[0] == '\0' || store->port[0] == '\0' ||
	    store->port[strspn(store->port, "0123456789")] != '\0') {
		gg_clickhouse_done(store);
		return refuse_url(url, error);
	}
	return 0;
no_memory:
	gg_clickhouse_done(store);
	return gg_error_memory(error, url);
}

int gg_clickhouse_init_inside(struct gg_clickhouse *store, const char *directory,
                              struct gg_error *error)
{
	*store = (struct gg_clickhouse){ .timeout_seconds = DEFAULT_TIMEOUT_SECONDS,
		                         .reply_max_bytes = DEFAULT_REPLY_MAX };
	return gg_chdb_open(&store->engine, directory, error);
}

void gg_clickhouse_done(struct gg_clickhouse *store)
{
	gg_chdb_close(store->engine);
	free(store->host);
	free(store->port);
	free(store->user);
	free(store->password);
	*store = (struct gg_clickhouse){ 0 };
}

/* The meaning of errors of ClickHouse for the caller, by their numbers. */
static const struct meaning {
	int code, status;
	const char *text, *advice; /* text NULL: ClickHouse's own */
} meanings[] = {
	{ 60, -ENOENT, "the store has no such table", "Run geiger fleet schema --apply." },
	{ 81, -ENOENT, "the store has no such tenant", "Run geiger fleet schema --apply." },
	{ 47, -ENOENT, "a column is missing: the store's tables are of another version",
	  "Run geiger fleet schema --apply." },
	{ 241, -ENOMEM, "the query needs more memory than the server allows",
	  "Ask for a shorter time, fewer services, or raise max_memory_usage." },
	{ 159, -ETIME, "the query took longer than the server allows",
	  "Ask for a shorter time, fewer services, or raise max_execution_time." },
	{ 158, -ETIME, "the query would read more rows than the server allows",
	  "Ask for a shorter time, fewer services, or raise max_rows_to_read." },
	{ 160, -ETIME, "the query would take longer than the server allows",
	  "Ask for a shorter time, or fewer services." },
	{ 192, -EACCES, "the server does not know this user",
	  "Give USER:PASSWORD in the address." },
	{ 193, -EACCES, "the password is wrong", "Give USER:PASSWORD in the address." },
	{ 194, -EACCES, "the user needs a password", "Give USER:PASSWORD in the address." },
	{ 195, -EACCES, "the user may not connect from this address", NULL },
	{ 516, -EACCES, "user or password is wrong", "Give USER:PASSWORD in the address." },
	{ 497, -EACCES, "the user may not do this", NULL },
	{ 291, -EACCES, "the user may not read this database", NULL },
	{ 164, -EACCES, "the user may only read", NULL },
	{ 202, -EAGAIN, "the server answers too many queries", "Try again later." },
	{ 252, -EAGAIN, "the server merges too slowly for its inserts", "Try again later." },
	{ 242, -EAGAIN, "the table is read-only: its replica has lost ZooKeeper",
	  "Try again later." },
	{ 285, -EAGAIN, "too few replicas are alive", "Try again later." },
	{ 319, -EAGAIN, "the server does not know whether the insert has happened",
	  "Insert the same rows again." },
	{ 243, -ENOSPC, "the server's disk is full", NULL },
	{ 16, -ENOENT, "a column is missing: the store's tables are of another version",
	  "Run geiger fleet schema --apply." },
};

/*
 * The errors of a server that could read neither the statement nor its rows: trying again would
 * not help.  The list has nothing that a healthy server answers to good rows, because the receiver
 * sets rows aside that are refused so.
 */
static const int unreadable[] = {
	6,   /* CANNOT_PARSE_TEXT */
	9,   /* SIZES_OF_COLUMNS_DOESNT_MATCH */
	10,  /* NOT_FOUND_COLUMN_IN_BLOCK */
	26,  /* CANNOT_PARSE_QUOTED_STRING */
	27,  /* CANNOT_PARSE_INPUT_ASSERTION_FAILED */
	32,  /* ATTEMPT_TO_READ_AFTER_EOF */
	33,  /* CANNOT_READ_ALL_DATA */
	38,  /* CANNOT_PARSE_DATE */
	41,  /* CANNOT_PARSE_DATETIME */
	43,  /* ILLEGAL_TYPE_OF_ARGUMENT */
	44,  /* ILLEGAL_COLUMN */
	50,  /* UNKNOWN_TYPE */
	53,  /* TYPE_MISMATCH */
	62,  /* SYNTAX_ERROR */
	69,  /* ARGUMENT_OUT_OF_BOUND */
	70,  /* CANNOT_CONVERT_TYPE */
	72,  /* CANNOT_PARSE_NUMBER */
	117, /* INCORRECT_DATA */
	128, /* TOO_LARGE_ARRAY_SIZE */
	131, /* TOO_LARGE_STRING_SIZE */
	190, /* SIZES_OF_ARRAYS_DOESNT_MATCH */
	261, /* UNKNOWN_BLOCK_INFO_FIELD */
};

static int status_of(int code)
{
	for (size_t i = 0; i < GG_COUNT(unreadable); i++)
		if (unreadable[i] == code)
			return -EBADMSG;
	return -EAGAIN;
}

static void name_place(const struct gg_clickhouse *store, char place[GG_ERROR_PLACE_MAX])
{
	if (store->engine != NULL)
		snprintf(place, GG_ERROR_PLACE_MAX, "chdb:%s", gg_chdb_directory(store->engine));
	else
		snprintf(place, GG_ERROR_PLACE_MAX, "clickhouse %s:%s", store->host, store->port);
}

int gg_clickhouse_explain(struct gg_clickhouse *store, int http_status, const char *text,
                          struct gg_error *error)
{
	char place[GG_ERROR_PLACE_MAX];
	size_t length = strcspn(text, "\n");
	const char *colon = strstr(text, "Code: "), *own, *end;

	name_place(store, place);
	store->code = colon != NULL ? atoi(colon + strlen("Code: ")) : 0;
	for (size_t i = 0; i < GG_COUNT(meanings); i++)
		if (store->code != 0 && meanings[i].code == store->code)
			return gg_error_set(error, meanings[i].status, place, meanings[i].advice,
			                    "%s", meanings[i].text);
	if (http_status == 401 || http_status == 403)
		return gg_error_set(error, -EACCES, place, NULL, "the server refuses the user");
	if (http_status == 429 || http_status == 503)
		return gg_error_set(error, -EAGAIN, place, "Try again later.",
		                    "the server is busy");
	own = colon != NULL ? strstr(colon, "DB::Exception: ") : NULL;
	if (own != NULL) {
		own += strlen("DB::Exception: ");
		length = strcspn(own, "\n");
		end = strstr(own, ", e.what()");
		if (end != NULL && (size_t)(end - own) < length)
			length = (size_t)(end - own);
		return gg_error_set(error, status_of(store->code), place, NULL, "%.*s (code %d)",
		                    length < 400 ? (int)length : 400, own, store->code);
	}
	/* For example 502 of a proxy, which says nothing about the rows. */
	return gg_error_set(error, -EAGAIN, place, "Is this the HTTP port of ClickHouse?",
	                    "the server answers with status %d", http_status);
}

struct request {
	struct gg_clickhouse *store;
	struct gg_http_connection connection;
	char why[GG_HTTP_WHY_MAX];
	struct gg_buf head, received;
};

static void add_escaped(struct gg_buf *out, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];

		if (isalnum(c) || strchr("-_.~", c) != NULL)
			gg_buf_append(out, &text[i], 1);
		else
			gg_buf_printf(out, "%%%02X", c);
	}
}

/* `statement`: goes into the address, because the body has rows; NULL: the body is the query. */
static void make_head(struct request *request, const struct gg_buf *statement, size_t length)
{
	const struct gg_clickhouse *store = request->store;
	struct gg_buf *head = &request->head;
	bool is_bracketed = strchr(store->host, ':') != NULL;

	gg_buf_append_text(head, "POST /?wait_end_of_query=1&send_progress_in_http_headers=0");
	if (store->memory_max_bytes != 0)
		gg_buf_printf(head, "&max_memory_usage=%llu",
		              (unsigned long long)store->memory_max_bytes);
	if (statement != NULL) {
		gg_buf_append_text(head, "&query=");
		add_escaped(head, gg_buf_text(statement), statement->length);
	} else {
		gg_buf_printf(head, "&max_execution_time=%.0f", store->timeout_seconds);
		/* Only then, because users with `readonly` may not change a setting. */
		if (length >= QUERY_BYTES_MAX)
			gg_buf_printf(head, "&max_query_size=%zu", length + 1);
	}
	gg_buf_printf(head,
	              " HTTP/1.1\r\nHost: %s%s%s:%s\r\nUser-Agent: geiger/%s\r\n"
	              "Content-Type: application/octet-stream\r\nContent-Length: %zu\r\n",
	              is_bracketed ? "[" : "", store->host, is_bracketed ? "]" : "", store->port,
	              GG_VERSION, length);
	if (store->user != NULL)
		gg_buf_printf(head, "X-ClickHouse-User: %s\r\nX-ClickHouse-Key: %s\r\n",
		              store->user, store->password);
	gg_buf_append_text(head, "Connection: close\r\n\r\n");
}

/* Reads until the server closes the connection. */
static int receive(struct request *request, const char *place, struct gg_error *error)
{
	struct gg_buf *received = &request->received;

	for (;;) {
		ssize_t count;

		if (!gg_buf_reserve(received, REPLY_STEP_BYTES))
			return gg_error_memory(error, place);
		count = recv(request->connection.fd, received->data + received->length,
		             REPLY_STEP_BYTES, 0);
		if (count > 0) {
			received->length += (size_t)count;
			received->data[received->length] = '\0';
			if (received->length > request->store->reply_max_bytes + REPLY_HEAD_MAX)
				return gg_error_set(error, -EFBIG, place,
				                    "Ask for a shorter time, or fewer services.",
				                    "the reply is larger than %zu bytes",
				                    request->store->reply_max_bytes);
		} else if (count == 0) {
			return 0;
		} else if (errno == EAGAIN) {
			if (!gg_http_wait(&request->connection, POLLIN,
			                  request->connection.deadline_ns))
				return gg_error_set(error, -ETIMEDOUT, place,
				                    "Ask for a shorter time, or fewer services.",
				                    "no reply within %g seconds",
				                    request->store->timeout_seconds);
		} else if (errno != EINTR) {
			return gg_error_set(error, -ECONNRESET, place, NULL,
			                    "the connection broke: %s", strerror(errno));
		}
	}
}

/* Splits the reply.  The body is appended if the status is 200, and explained otherwise. */
static int take_reply(struct request *request, struct gg_buf *reply, const char *place,
                      struct gg_error *error)
{
	struct gg_clickhouse_reply parts;
	struct gg_buf body = { 0 };
	int status = gg_clickhouse_split(gg_buf_text(&request->received), request->received.length,
	                                 &parts, &body);

	if (status == -ENOMEM)
		gg_error_memory(error, place);
	else if (status == -ECONNRESET)
		gg_error_set(error, status, place, "Try again; the server's log may say why.",
		             "the reply ends in the middle");
	else if (status != 0)
		gg_error_set(error, status, place, "Is this the HTTP port of ClickHouse?",
		             "the server does not answer in HTTP");
	else if (parts.status != 200)
		status = gg_clickhouse_explain(request->store, parts.status, gg_buf_text(&body),
		                               error);
	else if (reply != NULL) {
		gg_buf_append(reply, body.data, body.length);
		if (reply->failed)
			status = gg_error_memory(error, place);
	}
	gg_buf_done(&body);
	return status;
}

/* Sets a limit of the engine; one of a server comes with each request. */
static bool set_limit(struct gg_clickhouse *store, const char *name, double value,
                      struct gg_buf *reply)
{
	char text[128];
	int length = snprintf(text, sizeof(text), "SET %s = %.0f", name, value);

	return gg_chdb_run(store->engine, text, (size_t)length, reply);
}

static int perform_inside(struct gg_clickhouse *store, const struct gg_buf *statement,
                          const void *body, size_t length, struct gg_buf *reply,
                          struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf whole = { 0 }, answer = { 0 };
	char place[GG_ERROR_PLACE_MAX];
	bool is_good;

	store->code = 0;
	name_place(store, place);
	if (statement != NULL) {
		gg_buf_append(&whole, statement->data, statement->length);
		gg_buf_append_text(&whole, "\n");
	}
	gg_buf_append(&whole, body, length);
	if (whole.failed)
		return gg_error_memory(error, place);
	is_good = set_limit(store, "max_memory_usage", (double)store->memory_max_bytes, &answer) &&
	          set_limit(store, "max_execution_time",
	                    statement == NULL ? store->timeout_seconds : 0, &answer) &&
	          set_limit(store, "max_query_size", (double)(length + QUERY_BYTES_MAX), &answer);
	is_good = is_good && gg_chdb_run(store->engine, gg_buf_text(&whole), whole.length, &answer);
	if (answer.failed)
		return gg_error_memory(error, place);
	if (!is_good)
		return gg_clickhouse_explain(store, 500, gg_buf_text(&answer), error);
	if (answer.length > store->reply_max_bytes)
		return gg_error_set(error, -EFBIG, place,
		                    "Ask for a shorter time, or fewer services.",
		                    "the reply is larger than %zu bytes", store->reply_max_bytes);
	if (reply == NULL)
		return 0;
	gg_buf_append(reply, answer.data, answer.length);
	return reply->failed ? gg_error_memory(error, place) : 0;
}

static int perform(struct gg_clickhouse *store, const struct gg_buf *statement, const void *body,
                   size_t length, struct gg_buf *reply, struct gg_error *error)
{
	struct request request = { .store = store };
	char place[GG_ERROR_PLACE_MAX];
	int status = 0;
	bool is_written;

	if (store->engine != NULL)
		return perform_inside(store, statement, body, length, reply, error);
	store->code = 0;
	name_place(store, place);
	request.connection = gg_http_connection_of(store->timeout_seconds, request.why);
	make_head(&request, statement, length);
	if (request.head.failed) {
		status = gg_error_memory(error, place);
	} else if (!gg_http_open(&request.connection, store->host, store->port)) {
		status = gg_error_set(error, -ECONNREFUSED, place,
		                      "Is the server running? geiger fleet up DIR starts one.",
		                      "%s", request.why);
	} else {
		/* A server may refuse before it has the whole body: then the reply counts. */
		is_written = gg_http_write(&request.connection, request.head.data,
		                           request.head.length, length > 0) &&
		             gg_http_write(&request.connection, body, length, false);
		status = receive(&request, place, error);
		if (status == 0 && request.received.length == 0)
			status = gg_error_set(error, -ECONNRESET, place, NULL, "%s",
			                      is_written ? "the server closed the connection"
			                                 : request.why);
		if (status == 0)
			status = take_reply(&request, reply, place, error);
		close(request.connection.fd);
	}
	gg_buf_done(&request.head);
	gg_buf_done(&request.received);
	return status;
}

int gg_clickhouse_query(struct gg_clickhouse *store, const struct gg_buf *query,
                        struct gg_buf *reply, struct gg_error *error)
{
	if (query->failed)
		return gg_error_memory(error, "query");
	return perform(store, NULL, gg_buf_text(query), query->length, reply, error);
}

int gg_clickhouse_insert(struct gg_clickhouse *store, const struct gg_buf *statement,
                         const void *rows, size_t length, struct gg_error *error)
{
	if (statement->failed)
		return gg_error_memory(error, "insert");
	return perform(store, statement, rows, length, NULL, error);
}
