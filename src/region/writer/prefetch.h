/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prefetch - fetches the cache lines that a sample will need, before it needs them.
 *
 *   gg_region_prefetch_alloc(&region, &thread, address);    then capture the stack, then record
 *   gg_region_prefetch_free(&region, addresses, count);     then close them
 *
 * Tens of thousands of allocations lie between two samples of a thread, so what a sample needs has
 * left the cache: a dozen lines in as many pages.  Each line says where the next one is, so the
 * misses would follow each other.  A caller that knows an address early starts these misses before
 * it captures the stack; a caller that closes many samples lets their misses overlap.
 *
 * These are hints.  They change nothing, and a wrong guess costs some memory traffic.
 * Threads  any, also while other threads record.
 */
#pragma once

#include <stdint.h>

#include "region/writer/region.h"

enum { GG_REGION_PREFETCH_MAX = 16 /* addresses whose misses overlap; more come in turns */ };

/* The thread is about to record a sample at that address. */
void gg_region_prefetch_alloc(const struct gg_region *region, const struct gg_region_thread *thread,
                              uint64_t address);

/* For a caller that is about to find, move or close the samples at these addresses. */
void gg_region_prefetch_free(const struct gg_region *region, const uint64_t *addresses,
                             uint32_t count);
