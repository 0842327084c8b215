/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample - the cold twins of the hooks: allocations that are due, and frees of possible samples.
 *
 * Each twin makes the real call itself and returns its result, with the errno of that call; order.h
 * says what is recorded when.  A hook ends in a jump to its twin, so the twin's return address is
 * in the program.
 *
 * Cost     bench_agent measures that of a sample.  An allocation that is due without becoming a
 *          sample, at a checkpoint of the sampler, costs some 20 ns.
 * Threads  any, also in signal handlers; a handler that interrupts this path is not sampled.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "region/layout.h"
#include "region/writer/record.h"
#include "runtime/platform/extra_functions.h"
#include "runtime/process.h"

/* Each is called after gg_sampler_due() with that size. */
GG_APART void *gg_sample_malloc(size_t bytes);
GG_APART void *gg_sample_calloc(size_t count, size_t bytes);
GG_APART int gg_sample_posix_memalign(void **ret_p, size_t alignment, size_t bytes);
GG_APART void *gg_sample_aligned(void *(*real)(size_t, size_t), size_t alignment, size_t bytes);
GG_APART void *gg_sample_whole_pages(void *(*real)(size_t), size_t bytes);

/* `due`: the result of gg_sampler_due() for the new size.  If it is false, p may be a sample. */
GG_APART void *gg_sample_realloc(void *p, size_t bytes, bool due);

/* False for nearly every block that is no sample: one look-up in the region's filter. */
static inline bool gg_sample_is_possible(const void *p)
{
	return gg_live_maybe(&gg_process.region, p);
}

/* Call them if gg_sample_is_possible(p). */
GG_APART void gg_sample_free(void *p);
GG_APART void gg_sample_free_sized(void *p, size_t bytes);
GG_APART void gg_sample_free_aligned_sized(void *p, size_t alignment, size_t bytes);

/* For functions of extra_functions.h.  Exceptions of the real operator new pass through. */
GG_COLD void *gg_sample_allocate(gg_extra_functions_allocate *real, size_t bytes, uintptr_t second,
                                 uintptr_t third);
GG_COLD void gg_sample_release(gg_extra_functions_free *real, void *p, uintptr_t second,
                               uintptr_t third);
GG_COLD void *gg_sample_rallocx(void *p, size_t bytes, int flags, bool due);

/* After the real call: the block at p now has that size. */
GG_COLD void gg_sample_resized(void *p, size_t bytes, bool due);

/* After the real call: records a mapping, which is always a sample (its probability is 1). */
GG_APART void gg_sample_mapping(void *p, size_t bytes);

/* Records a sample that the library's own allocator has drawn.  place may be NULL. */
GG_APART void gg_sample_drawn(void *p, size_t bytes, const struct gg_draw *draw,
                              struct gg_region_place *place);

/*
 * Finds the sample at p.  False: the block is no sample, or this thread cannot look it up now,
 * because another one is making the region of a forked child.
 */
GG_APART bool gg_sample_find(const void *p, struct gg_region_sample *ret_sample);

/*
 * Closes the sample at p, if there is one.  id: closes only the sample of that id; 0: any.  errno
 * is kept.
 */
GG_APART void gg_sample_close(void *p, uint64_t id);

/* Closes the sample of a block by its place. */
GG_APART void gg_sample_close_at(void *p, struct gg_region_place *place);
