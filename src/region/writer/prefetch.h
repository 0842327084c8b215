/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prefetch - fetches what recording a sample will need, before it is needed.
 *
 * A sample comes some ten thousands of allocations after the last one, and goes to places that nobody has
 * used for as long: a dozen cache lines, in as many pages, one after the other, because each says where the
 * next one is.  Who knows some time before what will be recorded says so, and the lines come while the stack
 * is captured; who has many to close says it of all of them, and their lines come at once.
 *
 * Hints: nothing is changed, and a guess that was wrong costs what it costs.
 * Threads  any, also while others record.
 */
#pragma once

#include <stdint.h>

#include "region/writer/region.h"

enum {
	GG_REGION_EXPECTED_MAX = 16
}; /* that are looked at at once; more: so many after the other */

/* A sample at that address is about to be recorded by the thread. */
void gg_region_prefetch_alloc(const struct gg_region *region, const struct gg_region_thread *thread,
                              uint64_t address);

/* Samples at these addresses, if they are some, are about to be found, moved or closed. */
void gg_region_prefetch_free(const struct gg_region *region, const uint64_t *addresses,
                             uint32_t count);
