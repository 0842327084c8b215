/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sql_pinned - the SQL functions of pinned memory, and what a caller provides for them; sql_query.h
 * lists them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stats/estimate/tally.h"

/*
 * The source of the functions gg_pinned_...(): what looks saw is more than one row of a profile
 * says, so a caller with the whole profile provides it.  `moment` is GG_LOOK_LAST or GG_LOOK_PEAK.
 */
struct gg_sql_pinned {
	/* Adds the block of a sample, by its id.  False: it is in no look at that moment. */
	bool (*add)(const void *context, uint64_t sample, uint32_t moment, struct gg_tally *tally);
	/* Sets the bounds of a group, once all of its blocks are in it. */
	void (*bound)(const void *context, uint32_t moment, struct gg_tally *tally);
	const void *context; /* lives as long as the query */
};
