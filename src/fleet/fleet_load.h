/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_load - writes a profile into a store, as one slot of one host.
 *
 *   struct gg_fleet_load_plan plan = { .tenant = "default", .service = "checkout",
 *                                      .version = "1.2", .host = "web-17", .slot_s = 1700000400 };
 *   gg_fleet_load(&store, model, &plan, error);
 *
 * Live memory of the slot is what was live at the profile's end, and the slot has all of its
 * allocations and frees.  Samples keep their size and their sampling interval, so nothing is
 * scaled before it is stored.
 *
 * Repeats  Loading the same profile with the same plan again changes nothing: each row has its
 *          whole identity in its key.
 * Refuses  profiles whose samples were not taken by inclusion (poisson-count, stride,
 *          per-allocation), and profiles with sums in place of samples (-ENOTSUP).
 * Threads  any, each with a store of its own.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"
#include "fleet/clickhouse.h"
#include "fleet/fleet_ids.h"
#include "model/model.h"

struct gg_fleet_load_plan {
	const char *tenant, *service, *version, *host;
	const struct gg_fleet_label *labels; /* for every process; they come before its own */
	size_t label_count;
	uint32_t slot_s; /* begin of the slot, seconds since 1970 */
	uint32_t slot_length_s;
	uint32_t selected_ppm; /* the chance, in millionths, that this host sends stacks */
	/* The processes have ended: nothing of them counts from the next slot on. */
	bool has_ended;
	/* The host was not drawn: only its row in `process` goes out, as that of every host. */
	bool is_left_out;
};

GG_MUST_CHECK int gg_fleet_load(struct gg_clickhouse *store, const struct gg_model *model,
                                const struct gg_fleet_load_plan *plan, struct gg_error *error);
