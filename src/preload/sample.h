/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample - the cold twins of the hooks: an allocation that is due, a free of what may be a sample.
 *
 * Each makes the real call itself and returns what that returned, with the errno it left; what is
 * recorded when is in order.h.  A hook ends in a jump to its twin, so the twin's caller is the
 * program.
 *
 * Cost     bench_agent has a sample's; an allocation that is due without being one (a checkpoint of
 *          the sampler) costs some 20 ns.
 * Threads  any, signal handlers included: one that interrupts this path passes through.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "region/layout.h"
#include "runtime/platform/extra_functions.h"

/* After gg_sampler_due() with that size. */
GG_APART void *gg_sample_malloc(size_t bytes);
GG_APART void *gg_sample_calloc(size_t count, size_t bytes);
GG_APART int gg_sample_posix_memalign(void **ret_p, size_t alignment, size_t bytes);
GG_APART void *gg_sample_aligned(void *(*real)(size_t, size_t), size_t alignment, size_t bytes);
GG_APART void *gg_sample_whole_pages(void *(*real)(size_t), size_t bytes);

/* `due`: gg_sampler_due() said so of the new size; else p may be a sample. */
GG_APART void *gg_sample_realloc(void *p, size_t bytes, bool due);

/* p may be a sample. */
GG_APART void gg_sample_free(void *p);
GG_APART void gg_sample_free_sized(void *p, size_t bytes);
GG_APART void gg_sample_free_aligned_sized(void *p, size_t alignment, size_t bytes);

/* The same for functions of extra_functions.h; what the real operator new throws passes through. */
GG_COLD void *gg_sample_allocate(gg_extra_functions_allocate *real, size_t bytes, uintptr_t second,
                                 uintptr_t third);
GG_COLD void gg_sample_release(gg_extra_functions_free *real, void *p, uintptr_t second,
                               uintptr_t third);
GG_COLD void *gg_sample_rallocx(void *p, size_t bytes, int flags, bool due);

/* After the real call: the block at p, whoever recorded it, now has so many bytes. */
GG_COLD void gg_sample_resized(void *p, size_t bytes, bool due);

/* After the real call: a mapping is always a sample, with p = 1. */
GG_APART void gg_sample_mapping(void *p, size_t bytes);

/* The sample at p, if the filter says that there may be one, and this thread may look: while another one makes
 * the region of a forked child, it may not. */
GG_APART bool gg_sample_find(const void *p, struct gg_region_sample *ret_sample);

/* Closes the sample at p, if there is one; id: only that one, or 0.  errno is kept. */
GG_APART void gg_sample_close(void *p, uint64_t id);

/* Is it code of this library? */
bool gg_sample_is_our_code(uint64_t pc);
