/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clickhouse_chunks - takes a whole reply of HTTP/1.1 apart: status and body.
 *
 * It differs from send/http_reply.h, which keeps the first 8 KiB of a body: a reply with rows may
 * have megabytes, and a reply that was cut must not look like one with fewer rows.
 *
 * Hostile  The bytes may be anything.
 * Threads  any; pure functions.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/compiler.h"

struct gg_clickhouse_reply {
	int status; /* 100 to 599 */
};

/*
 * Appends the body.  -ECONNRESET: the reply ends before its body does; -EPROTO: it is not HTTP;
 * -ENOMEM.
 */
GG_MUST_CHECK int gg_clickhouse_split(const char *bytes, size_t length,
                                      struct gg_clickhouse_reply *ret_reply, struct gg_buf *body);
