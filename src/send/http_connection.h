/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_connection - the connection of one HTTP request: opened, written and waited for until a
 * deadline.
 *
 *   struct gg_http_connection connection = gg_http_connection_of(10, why);
 *
 *   if (gg_http_open(&connection, "localhost", "6060")) {
 *           gg_http_write(&connection, head, length, false);
 *           ... recv(), and gg_http_wait() for POLLIN after each EAGAIN ...
 *           close(connection.fd);
 *   }
 *
 * Addresses of a name share the time: one that never answers leaves some for the next.
 * Threads  one owner; names are resolved by getaddrinfo(), which has time limits of its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GG_HTTP_WHY_MAX = 128 };

struct gg_http_connection {
	int fd; /* does not block; -1: not open */
	uint64_t deadline_ns;
	char *why; /* GG_HTTP_WHY_MAX bytes: a clause for people after a failure, and "" before */
};

struct gg_http_connection gg_http_connection_of(double timeout_seconds, char *why);

/* These functions return false and set `why` if they fail. */
bool gg_http_open(struct gg_http_connection *connection, const char *host, const char *port);
/* `has_more`: more bytes follow at once, so these need not go alone. */
bool gg_http_write(const struct gg_http_connection *connection, const char *bytes, size_t length,
                   bool has_more);

/* Waits for the events of poll(); false: the time has passed. */
bool gg_http_wait(const struct gg_http_connection *connection, short events, uint64_t until_ns);

/* Sets `why`, by an error number or 0 for a time that has passed.  Returns false. */
bool gg_http_fail(const struct gg_http_connection *connection, const char *what, int error);
