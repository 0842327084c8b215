/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step - every change to the shared pages of a record goes through here, one word at a time.
 *
 * A build for tests (GG_REGION_STEP) calls gg_region_step() before each of them, so that a test can
 * look at the region as a kill at that very store would leave it.  The filter calls it where
 * another thread may come between.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"

#ifdef GG_REGION_STEP
void gg_region_step(void);
#define GG_STEP() gg_region_step()
#else
#define GG_STEP() ((void)0)
#endif

/*
 * Copies whole words, none of them torn: another process may be reading.  Sizes: multiples of 8.
 * Each store is a release, so that none becomes visible before the ones that precede it (such as an
 * published operation); on x86-64 that costs nothing.
 */
static inline __attribute__((always_inline)) void gg_put_words(void *to, const void *from,
                                                               size_t bytes)
{
	uint64_t *target = to;
	const uint64_t *source = from;

	GG_UNROLLED
	for (size_t i = 0; i < bytes / sizeof(*target); i++) {
		GG_STEP();
		gg_store_release(&target[i], source[i]);
	}
}
