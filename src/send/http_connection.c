/* SPDX-License-Identifier: Apache-2.0 */
#include "send/http_connection.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/time_units.h"

enum { POLL_MAX_MS = 3600 * 1000 };
#define TIMEOUT_MAX_SECONDS 1e9

struct gg_http_connection gg_http_connection_of(double timeout_seconds, char *why)
{
	why[0] = '\0';
	if (!(timeout_seconds < TIMEOUT_MAX_SECONDS))
		timeout_seconds = TIMEOUT_MAX_SECONDS;
	return (struct gg_http_connection){
		.fd = -1,
		.deadline_ns = gg_clock_monotonic_ns() +
		               (uint64_t)(timeout_seconds * (double)GG_NS_PER_S),
		.why = why,
	};
}

bool gg_http_wait(const struct gg_http_connection *connection, short events, uint64_t until_ns)
{
	for (;;) {
		uint64_t now_ns = gg_clock_monotonic_ns();
		struct pollfd fd = { .fd = connection->fd, .events = events };
		uint64_t left_ms;
		int count;

		if (now_ns >= until_ns)
			return false;
		left_ms = (until_ns - now_ns) / GG_NS_PER_MS + 1;
		count = poll(&fd, 1, left_ms < POLL_MAX_MS ? (int)left_ms : POLL_MAX_MS);
		if (count > 0)
			return true;
		if (count < 0 && errno != EINTR)
			return false;
	}
}

bool gg_http_fail(const struct gg_http_connection *connection, const char *what, int error)
{
	snprintf(connection->why, GG_HTTP_WHY_MAX, "%s: %s", what,
	         error != 0 ? strerror(error) : "no answer in time");
	return false;
}

static bool connect_to(struct gg_http_connection *connection, const struct addrinfo *address,
                       uint64_t until_ns)
{
	int error = 0, one = 1;
	socklen_t size = sizeof(error);

	connection->fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (connection->fd < 0)
		return gg_http_fail(connection, "socket", errno);
	if (connect(connection->fd, address->ai_addr, address->ai_addrlen) < 0) {
		if (errno != EINPROGRESS)
			error = errno;
		else if (!gg_http_wait(connection, POLLOUT, until_ns))
			error = ETIMEDOUT;
		else if (getsockopt(connection->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
			error = errno;
	}
	if (error == 0) {
		connection->why[0] = '\0'; /* of an earlier address */
		setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		return true;
	}
	close(connection->fd);
	connection->fd = -1;
	return gg_http_fail(connection, "no connection", error);
}

/* An address that never answers must leave time for the others: each gets an equal share. */
static uint64_t share_of(const struct gg_http_connection *connection,
                         const struct addrinfo *address)
{
	uint64_t now_ns = gg_clock_monotonic_ns(), count = 0;

	for (; address != NULL; address = address->ai_next)
		count++;
	return now_ns < connection->deadline_ns
	               ? now_ns + (connection->deadline_ns - now_ns) / count
	               : connection->deadline_ns;
}

bool gg_http_open(struct gg_http_connection *connection, const char *host, const char *port)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	int status = getaddrinfo(host, port, &hints, &list);
	bool is_open = false;

	if (status != 0) {
		snprintf(connection->why, GG_HTTP_WHY_MAX, "%.60s: %s", host, gai_strerror(status));
		return false;
	}
	for (const struct addrinfo *at = list; at != NULL && !is_open; at = at->ai_next)
		is_open = connect_to(connection, at, share_of(connection, at));
	freeaddrinfo(list);
	return is_open;
}

/*
 * Writes bytes until they are out.  A server that has answered already, such as with 413, may have
 * closed its side: then the writing ends, and the reply decides.
 */
bool gg_http_write(const struct gg_http_connection *connection, const char *bytes, size_t length,
                   bool has_more)
{
	int flags = MSG_NOSIGNAL | (has_more ? MSG_MORE : 0);

	while (length > 0) {
		ssize_t count = send(connection->fd, bytes, length, flags);

		if (count > 0) {
			bytes += count;
			length -= (size_t)count;
		} else if (count < 0 && errno == EAGAIN) {
			if (!gg_http_wait(connection, POLLOUT, connection->deadline_ns))
				return gg_http_fail(connection, "sending", 0);
		} else if (count < 0 && errno != EINTR) {
			return gg_http_fail(connection, "sending", errno);
		}
	}
	return true;
}
