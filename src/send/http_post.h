/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_post - one POST request, and what became of it.
 *
 * http goes through sockets of our own; https through libcurl, which is loaded when it is first
 * needed.  Every request has a connection of its own, and follows no redirect.
 *
 * Result   what matters is whether the receiver may have the body:
 *
 *            NOT_SENT   surely not: there was no connection, or it ended within the body
 *            NO_REPLY   perhaps: the whole body went out, and no whole head of a reply came
 *            REPLIED    the reply's status tells; a 2xx counts only if the whole body went out
 *
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
};

enum gg_http_result { GG_HTTP_NOT_SENT, GG_HTTP_NO_REPLY, GG_HTTP_REPLIED };

/* `why` gets a clause for people if there is no reply. */
enum gg_http_result gg_http_post(const struct gg_http_post *post, struct gg_http_reply *ret_reply,
                                 char why[GG_HTTP_WHY_MAX]);

/* Returns NULL if https is possible here, and otherwise a text that says what is missing. */
const char *gg_http_post_lacks_https(void);

/* The result of a request; status 0: there was no reply; `is_out`: the whole body went out. */
enum gg_http_result gg_http_post_result(int status, bool is_out);

/* The part of http_curl.c; only gg_http_post() calls it. */
enum gg_http_result gg_http_curl_post(const struct gg_http_post *post,
                                      struct gg_http_reply *ret_reply, char why[GG_HTTP_WHY_MAX]);
