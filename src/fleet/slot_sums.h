/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot_sums - what the hosts of a scope held, slot by slot.
 *
 *   GG_CLEANUP(gg_slot_sums_done) struct gg_slot_sums slots = { 0 };
 *
 *   gg_slot_sums_of(&slots, &store, &scope, 0.95, error);
 *
 * A slot has the hosts that reported in it, and no others: a host that missed it is missing in the
 * sum.  If stacks of some hosts were drawn, live memory is the estimate for all hosts of the slot
 * (fleet_extend.h), and intervals hold the error between hosts as well.  RSS is that of the same
 * hosts, or unknown.
 *
 * Threads  any, each with a store of its own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/compiler.h"
#include "fleet/fleet_question.h"

struct gg_slot_sum {
	uint32_t slot_s;
	double live_bytes, low, high; /* 0, 0, INFINITY: no host of the slot was drawn */
	double rss_bytes;             /* of all hosts in the slot; -1: unknown for some process */
};

struct gg_slot_sums {
	struct {
		GG_ARRAY(struct gg_slot_sum);
	} items;          /* by time; at least one */
	bool is_extended; /* stacks of some hosts were not sent */
};

/* -ENODATA: no slot has live memory. */
GG_MUST_CHECK int gg_slot_sums_of(struct gg_slot_sums *slots, struct gg_clickhouse *store,
                                  const struct gg_fleet_scope *scope, double confidence,
                                  struct gg_error *error);
void gg_slot_sums_done(struct gg_slot_sums *slots);
