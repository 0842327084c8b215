/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connections - limits on connections that have not shown the token.
 *
 * Every local user can open connections.  Without limits, a user could lock out the owner of a
 * profile by sending the heads of requests one byte at a time.  A connection is unknown until it
 * carries a request with the token.  The server closes an unknown connection HEAD_SECONDS after it
 * was opened, and the oldest unknown connection when there are more than UNKNOWN_MOST of them.  To
 * close means to call shutdown(): libmicrohttpd then reads the end of the stream and ends the
 * connection.
 *
 * Threads  One thread uses the list.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GG_CONNECTIONS_MOST = 64,
	GG_CONNECTIONS_UNKNOWN_MOST = 24,
	GG_CONNECTIONS_HEAD_SECONDS = 10,
};

struct gg_connection {
	int fd;
	int64_t opened_ns; /* CLOCK_MONOTONIC */
	bool is_open, is_known, is_shut;
};

/* All-zero is valid. */
struct gg_connections {
	struct gg_connection list[2 * GG_CONNECTIONS_MOST];
};

/* Adds an unknown connection.  NULL: the list is full, and nothing limits this connection. */
struct gg_connection *gg_connections_open(struct gg_connections *connections, int fd,
                                          int64_t now_ns);
/* Shuts down unknown connections that are older than HEAD_SECONDS. */
void gg_connections_expire(struct gg_connections *connections, int64_t now_ns);

/* The connection carried the token, or ended.  NULL is allowed in both. */
void gg_connection_known(struct gg_connection *connection);
void gg_connection_closed(struct gg_connection *connection);
