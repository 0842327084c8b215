/* SPDX-License-Identifier: Apache-2.0 */
/* http_post - a small client for HTTP/1.1: connects, writes a request, and reads its reply. */
#include "send/http_post.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/time_units.h"

enum { REPLY_MAX = 256 << 10, RECEIVE_BYTES = 4096, POLL_MAX_MS = 3600 * 1000 };
#define TIMEOUT_MAX_SECONDS 1e9

struct exchange {
	const struct gg_http_post *post;
	int fd;
	uint64_t deadline_ns;
	struct gg_buf head; /* of the request */
	struct gg_buf received;
	char *why;
};

/* Waits for a socket; false: the time has passed. */
static bool wait_for(const struct exchange *exchange, short events, uint64_t until_ns)
{
	for (;;) {
		uint64_t now_ns = gg_clock_monotonic_ns();
		struct pollfd fd = { .fd = exchange->fd, .events = events };
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

static bool fail(const struct exchange *exchange, const char *what, int error)
{
	snprintf(exchange->why, GG_HTTP_WHY_MAX, "%s: %s", what,
	         error != 0 ? strerror(error) : "no answer in time");
	return false;
}

static bool connect_to(struct exchange *exchange, const struct addrinfo *address, uint64_t until_ns)
{
	int error = 0, one = 1;
	socklen_t size = sizeof(error);

	exchange->fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (exchange->fd < 0)
		return fail(exchange, "socket", errno);
	if (connect(exchange->fd, address->ai_addr, address->ai_addrlen) < 0) {
		if (errno != EINPROGRESS)
			error = errno;
		else if (!wait_for(exchange, POLLOUT, until_ns))
			error = ETIMEDOUT;
		else if (getsockopt(exchange->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
			error = errno;
	}
	if (error == 0) {
		exchange->why[0] = '\0'; /* of an earlier address */
		setsockopt(exchange->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		return true;
	}
	close(exchange->fd);
	exchange->fd = -1;
	return fail(exchange, "no connection", error);
}

/* An address that never answers must leave time for the others: each gets an equal share. */
static uint64_t share_of(const struct exchange *exchange, const struct addrinfo *address)
{
	uint64_t now_ns = gg_clock_monotonic_ns(), count = 0;

	for (; address != NULL; address = address->ai_next)
		count++;
	return now_ns < exchange->deadline_ns ? now_ns + (exchange->deadline_ns - now_ns) / count
	                                      : exchange->deadline_ns;
}

static bool open_connection(struct exchange *exchange)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	int status = getaddrinfo(exchange->post->host, exchange->post->port, &hints, &list);
	bool is_open = false;

	if (status != 0) {
		snprintf(exchange->why, GG_HTTP_WHY_MAX, "%.60s: %s", exchange->post->host,
		         gai_strerror(status));
		return false;
	}
	for (const struct addrinfo *at = list; at != NULL && !is_open; at = at->ai_next)
		is_open = connect_to(exchange, at, share_of(exchange, at));
	freeaddrinfo(list);
	return is_open;
}

static bool make_head(struct exchange *exchange)
{
	const struct gg_http_post *post = exchange->post;
	bool is_bracketed = strchr(post->host, ':') != NULL;

	gg_buf_printf(&exchange->head,
	              "POST %s HTTP/1.1\r\nHost: %s%s%s:%s\r\nUser-Agent: geiger/%s\r\n"
	              "Content-Type: %s\r\nContent-Length: %zu\r\n%s%sConnection: close\r\n\r\n",
	              post->target, is_bracketed ? "[" : "", post->host, is_bracketed ? "]" : "",
	              post->port, GG_VERSION, post->type, post->length,
	              post->is_gzip ? "Content-Encoding: gzip\r\n" : "", post->headers);
	if (exchange->head.failed)
		fail(exchange, "request", ENOMEM);
	return !exchange->head.failed;
}

/*
 * Writes bytes until they are out.  A server that has answered already, such as with 413, may have
 * closed its side: then the writing ends, and the reply decides.
 */
static bool write_all(const struct exchange *exchange, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t count = send(exchange->fd, bytes, length, MSG_NOSIGNAL);

		if (count > 0) {
			bytes += count;
			length -= (size_t)count;
		} else if (count < 0 && errno == EAGAIN) {
			if (!wait_for(exchange, POLLOUT, exchange->deadline_ns))
				return fail(exchange, "sending", 0);
		} else if (count < 0 && errno != EINTR) {
			return fail(exchange, "sending", errno);
		}
	}
	return true;
}

/* Reads until the reply is complete, or ends.  True: its head was whole. */
static bool read_reply(struct exchange *exchange, struct gg_http_reply *reply)
{
	enum gg_http_reply_state state = GG_HTTP_REPLY_MORE;
	int64_t now_s = (int64_t)(gg_clock_wall_ns() / GG_NS_PER_S);
	bool is_end = false;

	while (state == GG_HTTP_REPLY_MORE && !is_end) {
		char bytes[RECEIVE_BYTES];
		ssize_t count = recv(exchange->fd, bytes, sizeof(bytes), 0);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0 && errno == EAGAIN) {
			is_end = !wait_for(exchange, POLLIN, exchange->deadline_ns);
			if (is_end)
				fail(exchange, "reply", 0);
			continue;
		}
		if (count < 0)
			fail(exchange, "reply", errno);
		is_end = count <= 0 || exchange->received.length > REPLY_MAX;
		if (count > 0)
			gg_buf_append(&exchange->received, bytes, (size_t)count);
		state = gg_http_reply_parse(gg_buf_text(&exchange->received),
		                            exchange->received.length, is_end, now_s, reply);
	}
	if (exchange->why[0] == '\0')
		snprintf(exchange->why, GG_HTTP_WHY_MAX, "the reply is %s",
		         exchange->received.length == 0 ? "missing" : "cut or no HTTP");
	return reply->status != 0;
}

enum gg_http_result gg_http_post_result(int status, bool is_out)
{
	if (status >= 300 || (status != 0 && is_out))
		return GG_HTTP_REPLIED;
	/* No server can accept a body that it has not read. */
	return status != 0 || is_out ? GG_HTTP_NO_REPLY : GG_HTTP_NOT_SENT;
}

enum gg_http_result gg_http_post(const struct gg_http_post *post, struct gg_http_reply *ret_reply,
                                 char why[GG_HTTP_WHY_MAX])
{
	struct exchange exchange = {
		.post = post,
		.fd = -1,
		.deadline_ns = gg_clock_monotonic_ns() +
		               (uint64_t)((post->timeout_seconds < TIMEOUT_MAX_SECONDS
		                                   ? post->timeout_seconds
		                                   : TIMEOUT_MAX_SECONDS) *
		                          (double)GG_NS_PER_S),
		.why = why,
	};
	enum gg_http_result result = GG_HTTP_NOT_SENT;
	bool is_out;

	why[0] = '\0';
	ret_reply->status = 0;
	ret_reply->retry_after_seconds = -1;
	ret_reply->body_length = 0;
	ret_reply->body[0] = '\0';
	ret_reply->is_json = false;
	if (post->is_secure)
		return gg_http_curl_post(post, ret_reply, why);
	if (make_head(&exchange) && open_connection(&exchange)) {
		is_out = write_all(&exchange, exchange.head.data, exchange.head.length) &&
		         write_all(&exchange, post->body, post->length);
		if (!read_reply(&exchange, ret_reply))
			ret_reply->status = 0;
		result = gg_http_post_result(ret_reply->status, is_out);
		close(exchange.fd);
	}
	gg_buf_done(&exchange.head);
	gg_buf_done(&exchange.received);
	return result;
}
