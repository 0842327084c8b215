/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks - the functions that the program calls instead of its allocator's.
 *
 * Each decides whether there is anything to record, and then jumps: to the allocator underneath, or
 * to a cold function of sample.c, which calls the allocator as well (order.h).
 *
 * Cost   5 instructions for malloc and 8 for free, including the jump (x86-64; bench_agent counts
 *        them).
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "preload/sample.h"
#include "runtime/environment.h"
#include "runtime/platform/extra_functions.h"
#include "runtime/platform/real_functions.h"
#include "runtime/process.h"
#include "runtime/thread.h"

void gg_environment_exact_hooks(void)
{
}

/* A product that overflows is never due: the allocator underneath fails such a call. */
static inline bool is_due_product(size_t count, size_t bytes)
{
	size_t total;

	return !__builtin_mul_overflow(count, bytes, &total) &&
	       gg_sampler_due(&gg_thread.sampler, total);
}

GG_EXPORT void *malloc(size_t bytes)
{
	if (gg_sampler_due(&gg_thread.sampler, bytes))
		return gg_sample_malloc(bytes);
	return gg_real.malloc(bytes);
}
GG_EXTRA_FUNCTIONS_NAME(malloc, tc_malloc);

GG_EXPORT void *calloc(size_t count, size_t bytes)
{
	if (is_due_product(count, bytes))
		return gg_sample_calloc(count, bytes);
	return gg_real.calloc(count, bytes);
}
GG_EXTRA_FUNCTIONS_NAME(calloc, tc_calloc);

GG_EXPORT void free(void *p)
{
	if (gg_unlikely(gg_sample_is_possible(p)))
		gg_sample_free(p);
	else
		gg_real.free(p);
}
GG_EXTRA_FUNCTIONS_NAME(free, tc_free);

GG_EXPORT void free_sized(void *p, size_t bytes);
GG_EXPORT void free_sized(void *p, size_t bytes)
{
	if (gg_unlikely(gg_sample_is_possible(p)))
		gg_sample_free_sized(p, bytes);
	else
		gg_real.free_sized(p, bytes);
}

GG_EXPORT void free_aligned_sized(void *p, size_t alignment, size_t bytes);
GG_EXPORT void free_aligned_sized(void *p, size_t alignment, size_t bytes)
{
	if (gg_unlikely(gg_sample_is_possible(p)))
		gg_sample_free_aligned_sized(p, alignment, bytes);
	else
		gg_real.free_aligned_sized(p, alignment, bytes);
}

static inline void *change(void *p, size_t bytes)
{
	bool due = gg_sampler_due(&gg_thread.sampler, bytes);

	if (gg_unlikely(due || gg_sample_is_possible(p)))
		return gg_sample_realloc(p, bytes, due);
	return gg_real.realloc(p, bytes);
}

GG_EXPORT void *realloc(void *p, size_t bytes)
{
	return change(p, bytes);
}
GG_EXTRA_FUNCTIONS_NAME(realloc, tc_realloc);

/*
 * The real reallocarray() of libc calls realloc(), which is our hook: the block would count twice.
 */
GG_EXPORT void *reallocarray(void *p, size_t count, size_t bytes)
{
	size_t total;

	/* Let the real function fail, because each allocator sets another errno. */
	if (gg_unlikely(__builtin_mul_overflow(count, bytes, &total) || total > PTRDIFF_MAX))
		return gg_real.reallocarray(p, count, bytes);
	return change(p, total);
}

GG_EXPORT int posix_memalign(void **ret_p, size_t alignment, size_t bytes)
{
	if (gg_sampler_due(&gg_thread.sampler, bytes))
		return gg_sample_posix_memalign(ret_p, alignment, bytes);
	return gg_real.posix_memalign(ret_p, alignment, bytes);
}
GG_EXTRA_FUNCTIONS_NAME(posix_memalign, tc_posix_memalign);

GG_EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
	if (gg_sampler_due(&gg_thread.sampler, bytes))
		return gg_sample_aligned(gg_real.aligned_alloc, alignment, bytes);
	return gg_real.aligned_alloc(alignment, bytes);
}

GG_EXPORT void *memalign(size_t alignment, size_t bytes);
GG_EXPORT void *memalign(size_t alignment, size_t bytes)
{
	if (gg_sampler_due(&gg_thread.sampler, bytes))
		return gg_sample_aligned(gg_real.memalign, alignment, bytes);
	return gg_real.memalign(alignment, bytes);
}
GG_EXTRA_FUNCTIONS_NAME(memalign, tc_memalign);

GG_EXPORT void *valloc(size_t bytes)
{
	if (gg_sampler_due(&gg_thread.sampler, bytes))
		return gg_sample_whole_pages(gg_real.valloc, bytes);
	return gg_real.valloc(bytes);
}
GG_EXTRA_FUNCTIONS_NAME(valloc, tc_valloc);

GG_EXPORT void *pvalloc(size_t bytes);
GG_EXPORT void *pvalloc(size_t bytes)
{
	if (gg_sampler_due(&gg_thread.sampler, bytes))
		return gg_sample_whole_pages(gg_real.pvalloc, bytes);
	return gg_real.pvalloc(bytes);
}
GG_EXTRA_FUNCTIONS_NAME(pvalloc, tc_pvalloc);
