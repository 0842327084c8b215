/* SPDX-License-Identifier: Apache-2.0 */
/* http_post - a small client for HTTP/1.1: connects, writes a request, and reads its reply. */
#include "send/http_post.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/time_units.h"

enum { REPLY_MAX = 256 << 10, RECEIVE_BYTES = 4096, KEPT_MS = 1000, NO_END_MS = 100 };

struct exchange {
	const struct gg_http_post *post;
	struct gg_http_connection connection;
	struct gg_buf head; /* of the request */
	struct gg_buf received;
	bool is_limited; /* limit_reply() */
};

static bool may_keep(const struct gg_http_post *post)
{
	return post->kept != NULL && !post->kept->is_off;
}

static bool make_head(struct exchange *exchange)
{
	const struct gg_http_post *post = exchange->post;
	bool is_bracketed = strchr(post->host, ':') != NULL;

	gg_buf_printf(&exchange->head,
	              "POST %s HTTP/1.1\r\nHost: %s%s%s:%s\r\nUser-Agent: geiger/%s\r\n"
	              "Content-Type: %s\r\nContent-Length: %zu\r\n%s%s%s\r\n",
	              post->target, is_bracketed ? "[" : "", post->host, is_bracketed ? "]" : "",
	              post->port, GG_VERSION, post->type, post->length,
	              post->is_gzip ? "Content-Encoding: gzip\r\n" : "", post->headers,
	              may_keep(post) ? "" : "Connection: close\r\n");
	if (exchange->head.failed)
		gg_http_fail(&exchange->connection, "request", ENOMEM);
	return !exchange->head.failed;
}

/*
 * A server that keeps the connection, but does not say where its reply ends, lets the reader wait
 * for nothing.  So the reply ends when no byte comes for a while, and each later request demands
 * the end of its connection.
 */
static void limit_reply(struct exchange *exchange, uint64_t deadline_ns)
{
	uint64_t end_ns = gg_clock_monotonic_ns() + NO_END_MS * GG_NS_PER_MS;

	if (!may_keep(exchange->post) && !exchange->is_limited)
		return;
	exchange->is_limited = true;
	exchange->post->kept->is_off = true;
	exchange->connection.deadline_ns = end_ns < deadline_ns ? end_ns : deadline_ns;
}

/* Reads until the reply is complete, or ends.  True: its head was whole. */
static bool read_reply(struct exchange *exchange, struct gg_http_reply *reply)
{
	enum gg_http_reply_state state = GG_HTTP_REPLY_MORE;
	int64_t now_s = (int64_t)(gg_clock_wall_ns() / GG_NS_PER_S);
	uint64_t deadline_ns = exchange->connection.deadline_ns;
	bool is_end = false;

	while (state == GG_HTTP_REPLY_MORE && !is_end) {
		char bytes[RECEIVE_BYTES];
		ssize_t count = recv(exchange->connection.fd, bytes, sizeof(bytes), 0);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0 && errno == EAGAIN) {
			is_end = !gg_http_wait(&exchange->connection, POLLIN,
			                       exchange->connection.deadline_ns);
			if (is_end)
				gg_http_fail(&exchange->connection, "reply", 0);
			continue;
		}
		if (count < 0)
			gg_http_fail(&exchange->connection, "reply", errno);
		is_end = count <= 0 || exchange->received.length > REPLY_MAX;
		if (count > 0)
			gg_buf_append(&exchange->received, bytes, (size_t)count);
		state = gg_http_reply_parse(gg_buf_text(&exchange->received),
		                            exchange->received.length, is_end, now_s, reply);
		if (state == GG_HTTP_REPLY_MORE && reply->has_no_end)
			limit_reply(exchange, deadline_ns);
	}
	if (exchange->connection.why[0] == '\0')
		snprintf(exchange->connection.why, GG_HTTP_WHY_MAX, "the reply is %s",
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

/* --- kept connections ----------------------------------------------------------------------- */

static void drop_kept(struct gg_http_kept *kept)
{
	if (kept->fd >= 0)
		close(kept->fd);
	kept->fd = -1;
}

void gg_http_kept_close(struct gg_http_kept *kept)
{
	drop_kept(kept);
	gg_http_curl_done(kept->secure);
	kept->secure = NULL;
}

/* Takes the kept connection if its server still seems to wait for a request. */
static bool take_kept(struct exchange *exchange)
{
	struct gg_http_kept *kept = exchange->post->kept;
	char byte;

	if (kept == NULL || kept->fd < 0)
		return false;
	if (kept->is_off || gg_clock_monotonic_ns() - kept->used_ns > KEPT_MS * GG_NS_PER_MS ||
	    recv(kept->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN) {
		drop_kept(kept);
		return false;
	}
	exchange->connection.fd = kept->fd;
	kept->fd = -1;
	return true;
}

static void keep_or_close(struct exchange *exchange, bool is_reusable)
{
	struct gg_http_kept *kept = exchange->post->kept;

	if (may_keep(exchange->post) && is_reusable) {
		kept->fd = exchange->connection.fd;
		kept->used_ns = gg_clock_monotonic_ns();
	} else {
		close(exchange->connection.fd);
	}
	exchange->connection.fd = -1;
}

/* --- requests ------------------------------------------------------------------------------- */

/* Writes the request and reads the reply by an open connection. */
static enum gg_http_result converse(struct exchange *exchange, struct gg_http_reply *reply)
{
	const struct gg_http_post *post = exchange->post;
	bool is_out = gg_http_write(&exchange->connection, exchange->head.data,
	                            exchange->head.length, post->length > 0) &&
	              gg_http_write(&exchange->connection, post->body, post->length, false);

	if (!read_reply(exchange, reply))
		reply->status = 0;
	keep_or_close(exchange, is_out && reply->status != 0 && reply->is_reusable);
	return gg_http_post_result(reply->status, is_out);
}

enum gg_http_result gg_http_post(const struct gg_http_post *post, struct gg_http_reply *ret_reply,
                                 char why[GG_HTTP_WHY_MAX])
{
	struct exchange exchange = {
		.post = post,
		.connection = gg_http_connection_of(post->timeout_seconds, why),
	};
	enum gg_http_result result = GG_HTTP_NOT_SENT;
	bool is_again = false;

	ret_reply->status = 0;
	ret_reply->retry_after_seconds = -1;
	ret_reply->body_length = 0;
	ret_reply->body[0] = '\0';
	ret_reply->content = GG_HTTP_CONTENT_OTHER;
	ret_reply->is_reusable = ret_reply->has_no_end = false;
	if (post->is_secure)
		return gg_http_curl_post(post, ret_reply, why);
	if (make_head(&exchange) && take_kept(&exchange)) {
		result = converse(&exchange, ret_reply);
		is_again = result == GG_HTTP_NOT_SENT;
		post->kept->is_off |= ret_reply->status == 0 && exchange.received.length == 0;
	} else {
		is_again = !exchange.head.failed;
	}
	if (is_again) {
		why[0] = '\0';
		gg_buf_clear(&exchange.received);
		if (gg_http_open(&exchange.connection, post->host, post->port))
			result = converse(&exchange, ret_reply);
	}
	gg_buf_done(&exchange.head);
	gg_buf_done(&exchange.received);
	return result;
}
