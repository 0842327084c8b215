/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_get - fetches a file by http.
 *
 *   struct gg_buf body = { 0 };
 *
 *   if (gg_http_get("http://localhost:6060/debug/pprof/heap", most, 30, &body, error) == 0)
 *           ... body.data, body.length ...
 *   gg_buf_done(&body);
 *
 * It is for servers beside the program, such as Go's net/http/pprof: http alone, without
 * redirects, compression and authentication.  The request is one of HTTP/1.0, so that the body ends
 * with the connection.
 *
 * Hostile  A server may send anything, slowly, or nothing.  `most` bytes and the time limit it.
 * Threads  any, each request on its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"

/* True for a text that gg_http_get() takes, or refuses as https. */
bool gg_http_is_url(const char *text);

/*
 * How long the URL asks the server to wait before it answers: /debug/pprof/heap?seconds=30.  At
 * most a day; 0: it does not.
 */
double gg_http_asked_seconds(const char *url);

/*
 * Appends the body of the reply.  The time limit is as much longer as the URL asks the server to
 * wait.  -EINVAL: the URL is malformed, or https; -EBADMSG: the server refuses, or does not speak
 * HTTP; -EFBIG; -ECONNREFUSED: no whole reply came in time.
 */
GG_MUST_CHECK int gg_http_get(const char *url, size_t most, double timeout_seconds,
                              struct gg_buf *body, struct gg_error *error);
