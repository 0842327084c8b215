/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_hooks - the allocator's functions in a process that counts every allocation
 * (runtime/exact_mode.h).
 *
 * The cold twins of sample.h jump here.  The order of counts and real calls is that of order.h:
 * a free is counted before the real one, an allocation after it.  realloc() takes the old block out
 * of the live ones first, because another thread may get its address before the real call returns,
 * and puts it back if that fails.
 *
 * Cost     a walk of the frames that changed, two counters and a hash table with a lock.
 * Threads  any.  A handler that interrupts a count passes uncounted; "busy" counts such calls.
 */
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "runtime/platform/extra_functions.h"

GG_APART void *gg_exact_hooks_malloc(size_t bytes);
GG_APART void *gg_exact_hooks_calloc(size_t count, size_t bytes);
GG_APART int gg_exact_hooks_posix_memalign(void **ret_p, size_t alignment, size_t bytes);
GG_APART void *gg_exact_hooks_aligned(void *(*real)(size_t, size_t), size_t alignment,
                                      size_t bytes);
GG_APART void *gg_exact_hooks_whole_pages(void *(*real)(size_t), size_t bytes);
GG_APART void *gg_exact_hooks_realloc(void *p, size_t bytes);
GG_APART void *gg_exact_hooks_allocate(gg_extra_functions_allocate *real, size_t bytes,
                                       uintptr_t second, uintptr_t third);
GG_APART void *gg_exact_hooks_rallocx(void *p, size_t bytes, int flags);
GG_APART void gg_exact_hooks_resized(void *p, size_t bytes);

/* Before the real free. */
GG_APART void gg_exact_hooks_close(void *p);

/* After the real allocation, also while the process is being started.  p may be NULL. */
GG_APART void gg_exact_hooks_record(void *p, size_t bytes);
