/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receive - the receiver of a fleet: takes slots of many hosts, and inserts them into the store.
 *
 *   struct gg_receive_options options = { .store = &store, .directory = "/var/lib/receive" };
 *
 *   status = gg_receive_run(&options, error);         until SIGINT or SIGTERM
 *
 * | request                 | body                               | answer                        |
 * |-------------------------|------------------------------------|-------------------------------|
 * | POST /v1/fleet/slot     | a slot (fleet_wire.h), as gzip     | the stacks that are not known |
 * | POST /v1/fleet/stacks   | definitions of stacks, as gzip     |                               |
 * | POST /push.v1.PusherService/Push, /ingest, /v1development/profiles, /v1/profiles           |
 * |                         | profiles of other agents (receive_foreign.c), as their answers    |
 * | GET /healthz            |                                    | 200, or 503 and why           |
 * | GET /metrics            |                                    | counters, as OpenMetrics      |
 *
 * Order     A message is checked, becomes a segment, and is sealed on the disk; then comes the
 *           answer.  A thread inserts segments, notes each in the table `batch`, and removes the
 *           file.
 * Kill      at any step repeats work and changes no row: an insert that is repeated has the same
 *           rows with the same keys, and the tables replace rows by keys.  A segment that `batch`
 *           has is not inserted again.
 * Answers   200: it is on this disk.  400: it will never be taken.  401, 403: the token.  413: it
 *           is too large.  429: the segments of the disk are over their limit, or the tenant is
 *           over its rate.  503: the disk is full, or the memory.  The last two name a time by
 *           Retry-After.
 * Files     receive_http.c has the sockets, receive_accept.c what a request does, and
 *           receive_insert.c the thread.
 * Memory    some 60 MB: GROUP_BYTES for inserts, bodies of 16 MiB together, 24 MB for known stacks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"
#include "fleet/clickhouse.h"

struct gg_receive_options {
	/* Replicas of one shard, of the inserting thread until the end. */
	struct gg_clickhouse *store;
	size_t store_count;         /* 0: one */
	const char *listen;         /* NULL: 127.0.0.1 and any free port */
	const char *directory;      /* of the segments; it is made */
	const char *tokens;         /* a file; NULL: the tenant "default", on loopback alone */
	uint64_t queue_bytes;       /* of segments that wait */
	uint64_t tenant_rate;       /* bytes a second and tenant, unpacked; 0: no limit */
	double oldest_seconds;      /* older slots are refused; 0: no limit */
	uint32_t hosts_per_service; /* hosts that send stacks; 0: all */
	uint32_t slot_seconds;      /* of profiles of other agents; 0: 600 */
	const char *scrape;         /* a file of targets (receive_scrape.h); NULL: none */
	/* Called once with the URL when it listens. */
	void (*announce)(const char *url, void *context);
	void (*tell)(const char *text, void *context);
	void *context;
};

/* NULL, or what this build lacks. */
const char *gg_receive_lacks(void);
GG_MUST_CHECK int gg_receive_run(const struct gg_receive_options *options, struct gg_error *error);
