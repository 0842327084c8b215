/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receiver - who gets profiles: an address, and the form that it understands.
 *
 *   struct gg_receiver receiver;
 *
 *   status = gg_receiver_parse(&receiver, "pyroscope+http://localhost:4040", error);
 *
 * | scheme of the URL    | form                               | path unless the URL has one    |
 * |----------------------|------------------------------------|--------------------------------|
 * | http, otlp+http      | OTLP, as protocol buffers          | /v1development/profiles        |
 * | pyroscope+http       | Pyroscope's /ingest, pprof         | /ingest                        |
 * | pyroscope-push+http  | Pyroscope's push service, as JSON  | /push.v1.PusherService/Push    |
 * | parca+http           | Parca's WriteRaw, as JSON          | /api/profiles/writeraw         |
 * | pprof+http           | a pprof file                       | /                              |
 * | fleet, fleet+http    | slots of a fleet (fleet_wire.h)    | /v1/fleet/slot, behind a path  |
 *
 * Each has its twin with https.  The port is that of the receiver (4318, 4040, 7070, 7117) unless
 * the URL has one; of https and pprof it is 443 or 80.
 *
 * Secrets  a URL with a user or password is refused: everybody on the machine may read command
 *          lines.
 * Threads  any; pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/error.h"

enum gg_receiver_form {
	GG_RECEIVER_OTLP,
	GG_RECEIVER_PYROSCOPE_INGEST,
	GG_RECEIVER_PYROSCOPE_PUSH,
	GG_RECEIVER_PARCA,
	GG_RECEIVER_PPROF,
	GG_RECEIVER_FLEET,
};

enum { GG_RECEIVER_HOST_MAX = 256, GG_RECEIVER_PORT_MAX = 6, GG_RECEIVER_PATH_MAX = 1024 };

struct gg_receiver {
	enum gg_receiver_form form;
	bool is_secure;
	char host[GG_RECEIVER_HOST_MAX]; /* without brackets */
	char port[GG_RECEIVER_PORT_MAX];
	char path[GG_RECEIVER_PATH_MAX]; /* begins with a slash; may have a query */
};

/* -EINVAL: not such a URL. */
GG_MUST_CHECK int gg_receiver_parse(struct gg_receiver *ret_receiver, const char *url,
                                    struct gg_error *error);

/*
 * Writes the address to which requests go, for messages: "http://localhost:4318/v1/profiles".  It
 * leaves out a query, which may have a key.
 */
void gg_receiver_address(const struct gg_receiver *receiver, char *ret_text, size_t capacity);
