/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connections - who is connected, and who has to go.
 *
 * Any local user may open connections, and without limits could keep the owner of a profile out: by never
 * ending the head of a request, a byte at a time.  So a connection is unknown until a request with the token came
 * over it.  An unknown one is closed HEAD_SECONDS after it was opened; and when there are more than UNKNOWN_MOST of them,
 * the oldest goes.  Closed means shut down: the server reads the end of the stream, and ends the connection.
 *
 * Threads  one.
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
	int64_t opened_ns; /* of the monotonic clock */
	bool is_open, is_known, is_shut;
};

/* All-zero is valid. */
struct gg_connections {
	struct gg_connection list[2 * GG_CONNECTIONS_MOST];
};

/* A new one, which is unknown; NULL: there is no room, and it is not watched. */
struct gg_connection *gg_connections_open(struct gg_connections *connections, int fd,
                                          int64_t now_ns);
/* Shuts down those that took too long. */
void gg_connections_expire(struct gg_connections *connections, int64_t now_ns);

/* A request with the token came.  NULL is fine, in both. */
void gg_connection_known(struct gg_connection *connection);
void gg_connection_closed(struct gg_connection *connection);
