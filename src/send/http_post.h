/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_post - one POST request, and what became of it.
 *
 * http goes through sockets of our own; https through libcurl, which is loaded when it is first
 * needed.  A request follows no redirect.  It has a connection of its own, unless its caller keeps
 * one for the next request:
 *
 *   struct gg_http_kept kept = GG_HTTP_KEPT_NONE;
 *
 *   post.kept = &kept;                                one host and port for all its requests
 *   gg_http_post(&post, &reply, why) ...
 *   gg_http_kept_close(&kept);                        before a pause, and at the end
 *
 * Result   what matters is whether the receiver may have the body:
 *
 *            NOT_SENT   surely not: there was no connection, or it ended within the body
 *            NO_REPLY   perhaps: the whole body went out, and no whole head of a reply came
 *            REPLIED    the reply's status tells; a 2xx counts only if the whole body went out
 *
 * Kept     A server may close a connection that waits, and a body that is written then may be lost
 *          without a word.  So a connection serves the next request only within KEPT_MS, only if
 *          its server allows it, and only if there is no sign of its end.  If the body did not go
 *          out nevertheless, it goes out by a new connection.  A server that closes a kept
 *          connection without a reply gets a new one for each request from then on.  A server
 *          whose replies have no length gets new connections as well; its first reply ends when no
 *          byte comes for NO_END_MS.  libcurl decides when to keep a connection, and sends a body
 *          again if a kept connection ends without a reply.
 *          A caller that pauses closes it: it occupies a place of its server, and a server with
 *          one thread serves nobody else until then.
 * Hostile  A server may send anything, slowly, or nothing.  Time is limited by the deadline, and
 *          a reply by REPLY_MAX bytes, after which its status counts.
 * Threads  any, each request on its own; names are resolved by getaddrinfo(), which has time
 *          limits of its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "send/http_connection.h"
#include "send/http_reply.h"

/* A connection for the next request. */
struct gg_http_kept {
	int fd;           /* -1: none */
	uint64_t used_ns; /* CLOCK_MONOTONIC: the end of its last reply */
	bool is_off;      /* the server does not keep what it promises */
	void *secure;     /* https: what libcurl keeps */
};
#define GG_HTTP_KEPT_NONE \
	{                 \
		.fd = -1  \
	}
/* The next request opens a connection again. */
void gg_http_kept_close(struct gg_http_kept *kept);

struct gg_http_post {
	bool is_secure;           /* https */
	const char *host, *port;  /* host: a name or an address, without brackets */
	const char *target;       /* path and query */
	const char *type;         /* of the content */
	const char *headers;      /* further lines, each ending in "\r\n"; "": none */
	const char *certificates; /* a file of the authorities that count; NULL: the system's */
	bool is_gzip;
	const void *body;
	size_t length;
	double timeout_seconds;
	struct gg_http_kept *kept; /* NULL: a connection of its own */
};

enum gg_http_result { GG_HTTP_NOT_SENT, GG_HTTP_NO_REPLY, GG_HTTP_REPLIED };

/* `why` gets a clause for people if there is no reply. */
enum gg_http_result gg_http_post(const struct gg_http_post *post, struct gg_http_reply *ret_reply,
                                 char why[GG_HTTP_WHY_MAX]);

/* Returns NULL if https is possible here, and otherwise a text that says what is missing. */
const char *gg_http_post_lacks_https(void);

/* The result of a request; status 0: there was no reply; `is_out`: the whole body went out. */
enum gg_http_result gg_http_post_result(int status, bool is_out);

/* The parts of http_curl.c; only http_post.c calls them. */
enum gg_http_result gg_http_curl_post(const struct gg_http_post *post,
                                      struct gg_http_reply *ret_reply, char why[GG_HTTP_WHY_MAX]);
void gg_http_curl_done(void *secure); /* NULL is fine */
