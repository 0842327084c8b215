/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history - remembers single samples for other profilers' interfaces (abi/sample_history.h).
 *
 * Recent   a ring indexed by the sample's id, so that a free finds its sample again
 * Log      an array; each logged free takes the next entry
 * Classes  sums of the allocated samples of each size class; the sums of live samples come from the
 *          region
 *
 * Each record has a try-lock.  A thread that does not get it skips the record, so no thread waits:
 * a writer does not remember the sample, a reader does not see it.
 *
 * Memory   mapped when first needed.  The ring has 72 bytes for each record, and a power of two of
 *          records.  The log reserves addresses for all of its records.  A larger ring replaces a
 *          smaller one, which stays mapped for threads that may still use it.
 * Fork     a child continues with copies of its parent's records.
 * Threads  any; one thread at a time calls set().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "abi/sample_history.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "region/writer/region.h"

/* The bits of gg_history_on, which each sample and each free of one reads. */
enum { GG_HISTORY_ON_RECENT = 1, GG_HISTORY_ON_LOG = 2, GG_HISTORY_ON_CLASSES = 4 };

extern uint32_t gg_history_on __attribute__((visibility("hidden")));
extern const struct gg_history_calls gg_history_calls;

static inline bool gg_history_is_on(void)
{
	/* Relaxed: a thread that sees the change late misses a sample. */
	return gg_unlikely(gg_load_relaxed(&gg_history_on) != 0);
}

/* True if frees are remembered, with their stacks. */
static inline bool gg_history_remembers_frees(void)
{
	return gg_unlikely((gg_load_relaxed(&gg_history_on) &
	                    (GG_HISTORY_ON_RECENT | GG_HISTORY_ON_LOG)) != 0);
}

GG_COLD void gg_history_allocated(const struct gg_region_sample *sample);
GG_COLD void gg_history_freed(const struct gg_region_sample *sample, uint64_t now_ns,
                              uint32_t stack, uint16_t thread);
