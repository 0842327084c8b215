/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_services - the services of a store: a row for each version, from what every host reports.
 *
 *   GG_CLEANUP(gg_fleet_services_done) struct gg_fleet_services services = { 0 };
 *
 *   gg_fleet_services_of(&services, &store, "default", 0, UINT32_MAX, 0.95, error);
 *
 * Threads  any, each with a store of its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/compiler.h"
#include "fleet/clickhouse.h"

struct gg_fleet_service_row {
	char *service, *version;
	size_t host_count;     /* hosts with a process of this version; 0: nobody runs it now */
	size_t selected_count; /* of them, hosts whose stacks are in the store */
	double process_count;
	double live_bytes, rss_bytes; /* of the last snapshots of senders, added up */
	/*
	 * The interval of live_bytes, for the error of sampling.  That of hosts whose stacks are
	 * not sent is taken to be like that of the others.
	 */
	double live_low_bytes, live_high_bytes;
	bool has_live_error;    /* false: the error is not known */
	bool is_rss_complete;   /* every sender has an RSS; false: rss_bytes is a lower bound */
	double allocated_bytes; /* in all slots of the window */
	uint32_t last_slot_s;   /* in which a process ran, if only at its beginning */
};

struct gg_fleet_services {
	GG_ARRAY(struct gg_fleet_service_row) rows; /* by service, then the latest version first */
	uint64_t delay_s; /* of the replica that answered, as in gg_fleet_delay_seconds() */
};

/* -ENOENT: the store has no tables.  No service is no error: there are no rows then. */
GG_MUST_CHECK int gg_fleet_services_of(struct gg_fleet_services *services,
                                       struct gg_clickhouse *store, const char *tenant,
                                       uint32_t since_s, uint32_t until_s, double confidence,
                                       struct gg_error *error);
void gg_fleet_services_done(struct gg_fleet_services *services);
