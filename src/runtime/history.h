/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history - remembers samples one by one (abi/sample_history.h).
 *
 * Recent   a ring indexed by a sample's id, so that its free finds it again.
 * Log      an array; who logs a free takes the next place.
 * Classes  what samples of each size class add up to since they are counted; what is live of them is asked
 *          of the region.
 *
 * Each record is written and read under a try-lock of its own: who does not get it leaves the record as it
 * is (a writer: the sample is not remembered), so nobody waits.
 *
 * Memory   mapped at the first wish: 72 bytes a record of the ring, which is the next power of two; of the
 *          log address space for all, touched as it is used.  A larger ring replaces a smaller one, which
 *          stays mapped, for who may be in it.
 * Fork     a child goes on with copies of its parent's.
 * Threads  any; set() one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "abi/sample_history.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "region/writer/region.h"

/* What is on: one word for the paths of samples and frees. */
enum { GG_HISTORY_ON_RECENT = 1, GG_HISTORY_ON_LOG = 2, GG_HISTORY_ON_CLASSES = 4 };

extern uint32_t gg_history_on __attribute__((visibility("hidden")));
extern const struct gg_history_calls gg_history_calls;

static inline bool gg_history_is_on(void)
{
	/* Relaxed: who sees it a moment late remembers one sample less. */
	return gg_unlikely(gg_load_relaxed(&gg_history_on) != 0);
}

/* Are frees of interest, with their stacks? */
static inline bool gg_history_wants_frees(void)
{
	return gg_unlikely((gg_load_relaxed(&gg_history_on) &
	                    (GG_HISTORY_ON_RECENT | GG_HISTORY_ON_LOG)) != 0);
}

GG_COLD void gg_history_allocated(const struct gg_region_sample *sample);
GG_COLD void gg_history_freed(const struct gg_region_sample *sample, uint64_t now_ns,
                              uint32_t stack, uint16_t thread);
