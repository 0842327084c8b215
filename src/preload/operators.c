/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operators - the hooks of extra_functions.h: C++'s operators, the mallocx family, tcmalloc's
 * functions.
 *
 * Some functions take further arguments: an alignment, flags, or std::nothrow.  The hooks pass
 * these on unread.
 *
 * Exceptions of the real operator new unwind through the frames of the cold twin, which has nothing
 * to clean up; the hooks themselves end in jumps and have no frame.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "preload/sample.h"
#include "runtime/platform/extra_functions.h"
#include "runtime/process.h"
#include "runtime/thread.h"

static inline void *allocate(gg_extra_functions_allocate *real, size_t bytes, uintptr_t second,
                             uintptr_t third)
{
	if (gg_sampler_due(&gg_thread.sampler, bytes))
		return gg_sample_allocate(real, bytes, second, third);
	return real(bytes, second, third);
}

static inline void release(gg_extra_functions_free *real, void *p, uintptr_t second,
                           uintptr_t third)
{
	if (gg_unlikely(gg_sample_is_possible(p)))
		gg_sample_release(real, p, second, third);
	else
		real(p, second, third);
}

/*
 * Each of these macros defines the hook gg_NAME of the function that gg_extra_functions.NAME has.
 * All such hooks have the same body; the lines after each say by which names programs call it.
 */
#define ALLOCATING_HOOK(name)                                                       \
	GG_EXPORT void *gg_##name(size_t bytes, uintptr_t second, uintptr_t third); \
	GG_EXPORT void *gg_##name(size_t bytes, uintptr_t second, uintptr_t third)  \
	{                                                                           \
		return allocate(gg_extra_functions.name, bytes, second, third);     \
	}
#define RELEASING_HOOK(name)                                                  \
	GG_EXPORT void gg_##name(void *p, uintptr_t second, uintptr_t third); \
	GG_EXPORT void gg_##name(void *p, uintptr_t second, uintptr_t third)  \
	{                                                                     \
		release(gg_extra_functions.name, p, second, third);           \
	}

ALLOCATING_HOOK(new_one)
GG_EXTRA_FUNCTIONS_NAME(gg_new_one, _Znwm);
GG_EXTRA_FUNCTIONS_NAME(gg_new_one, tc_new);

ALLOCATING_HOOK(new_array)
GG_EXTRA_FUNCTIONS_NAME(gg_new_array, _Znam);
GG_EXTRA_FUNCTIONS_NAME(gg_new_array, tc_newarray);

ALLOCATING_HOOK(new_one_nothrow)
GG_EXTRA_FUNCTIONS_NAME(gg_new_one_nothrow, _ZnwmRKSt9nothrow_t);
GG_EXTRA_FUNCTIONS_NAME(gg_new_one_nothrow, tc_new_nothrow);

ALLOCATING_HOOK(new_array_nothrow)
GG_EXTRA_FUNCTIONS_NAME(gg_new_array_nothrow, _ZnamRKSt9nothrow_t);
GG_EXTRA_FUNCTIONS_NAME(gg_new_array_nothrow, tc_newarray_nothrow);

ALLOCATING_HOOK(new_one_aligned)
GG_EXTRA_FUNCTIONS_NAME(gg_new_one_aligned, _ZnwmSt11align_val_t);
GG_EXTRA_FUNCTIONS_NAME(gg_new_one_aligned, tc_new_aligned);

ALLOCATING_HOOK(new_array_aligned)
GG_EXTRA_FUNCTIONS_NAME(gg_new_array_aligned, _ZnamSt11align_val_t);
GG_EXTRA_FUNCTIONS_NAME(gg_new_array_aligned, tc_newarray_aligned);

ALLOCATING_HOOK(new_one_aligned_nothrow)
GG_EXTRA_FUNCTIONS_NAME(gg_new_one_aligned_nothrow, _ZnwmSt11align_val_tRKSt9nothrow_t);
GG_EXTRA_FUNCTIONS_NAME(gg_new_one_aligned_nothrow, tc_new_aligned_nothrow);

ALLOCATING_HOOK(new_array_aligned_nothrow)
GG_EXTRA_FUNCTIONS_NAME(gg_new_array_aligned_nothrow, _ZnamSt11align_val_tRKSt9nothrow_t);
GG_EXTRA_FUNCTIONS_NAME(gg_new_array_aligned_nothrow, tc_newarray_aligned_nothrow);

RELEASING_HOOK(delete_one)
GG_EXTRA_FUNCTIONS_NAME(gg_delete_one, _ZdlPv);
GG_EXTRA_FUNCTIONS_NAME(gg_delete_one, tc_delete);

RELEASING_HOOK(delete_array)
GG_EXTRA_FUNCTIONS_NAME(gg_delete_array, _ZdaPv);
GG_EXTRA_FUNCTIONS_NAME(gg_delete_array, tc_deletearray);

RELEASING_HOOK(delete_one_nothrow)
GG_EXTRA_FUNCTIONS_NAME(gg_delete_one_nothrow, _ZdlPvRKSt9nothrow_t);
GG_EXTRA_FUNCTIONS_NAME(gg_delete_one_nothrow, tc_delete_nothrow);

RELEASING_HOOK(delete_array_nothrow)
GG_EXTRA_FUNCTIONS_NAME(gg_delete_array_nothrow, _ZdaPvRKSt9nothrow_t);
GG_EXTRA_FUNCTIONS_NAME(gg_delete_array_nothrow, tc_deletearray_nothrow);

RELEASING_HOOK(delete_one_sized)
GG_EXTRA_FUNCTIONS_NAME(gg_delete_one_sized, _ZdlPvm);
GG_EXTRA_FUNCTIONS_NAME(gg_delete_one_sized, tc_delete_sized);

RELEASING_HOOK(delete_array_sized)
GG_EXTRA_FUNCTIONS_NAME(gg_delete_array_sized, _ZdaPvm);
GG_EXTRA_FUNCTIONS_NAME(gg_delete_array_sized, tc_deletearray_sized);

RELEASING_HOOK(delete_one_aligned)
GG_EXTRA_FUNCTIONS_NAME(gg_delete_one_aligned, _ZdlPvSt11align_val_t);
GG_EXTRA_FUNCTIONS_NAME(gg_delete_one_aligned, tc_delete_aligned);

RELEASING_HOOK(delete_array_aligned)
GG_EXTRA_FUNCTIONS_NAME(gg_delete_array_aligned, _ZdaPvSt11align_val_t);
GG_EXTRA_FUNCTIONS_NAME(gg_delete_array_aligned, tc_deletearray_aligned);

RELEASING_HOOK(delete_one_aligned_nothrow)
GG_EXTRA_FUNCTIONS_NAME(gg_delete_one_aligned_nothrow, _ZdlPvSt11align_val_tRKSt9nothrow_t);
GG_EXTRA_FUNCTIONS_NAME(gg_delete_one_aligned_nothrow, tc_delete_aligned_nothrow);

RELEASING_HOOK(delete_array_aligned_nothrow)
GG_EXTRA_FUNCTIONS_NAME(gg_delete_array_aligned_nothrow, _ZdaPvSt11align_val_tRKSt9nothrow_t);
GG_EXTRA_FUNCTIONS_NAME(gg_delete_array_aligned_nothrow, tc_deletearray_aligned_nothrow);

RELEASING_HOOK(delete_one_sized_aligned)
GG_EXTRA_FUNCTIONS_NAME(gg_delete_one_sized_aligned, _ZdlPvmSt11align_val_t);
GG_EXTRA_FUNCTIONS_NAME(gg_delete_one_sized_aligned, tc_delete_sized_aligned);

RELEASING_HOOK(delete_array_sized_aligned)
GG_EXTRA_FUNCTIONS_NAME(gg_delete_array_sized_aligned, _ZdaPvmSt11align_val_t);
GG_EXTRA_FUNCTIONS_NAME(gg_delete_array_sized_aligned, tc_deletearray_sized_aligned);

ALLOCATING_HOOK(mallocx)
GG_EXTRA_FUNCTIONS_NAME(gg_mallocx, mallocx);

RELEASING_HOOK(dallocx)
GG_EXTRA_FUNCTIONS_NAME(gg_dallocx, dallocx);

RELEASING_HOOK(sdallocx)
GG_EXTRA_FUNCTIONS_NAME(gg_sdallocx, sdallocx);

GG_EXPORT void *gg_rallocx(void *p, size_t bytes, int flags);
GG_EXPORT void *gg_rallocx(void *p, size_t bytes, int flags)
{
	bool due = gg_sampler_due(&gg_thread.sampler, bytes);

	if (gg_unlikely(due || gg_sample_is_possible(p)))
		return gg_sample_rallocx(p, bytes, flags, due);
	return gg_extra_functions.rallocx(p, bytes, flags);
}
GG_EXTRA_FUNCTIONS_NAME(gg_rallocx, rallocx);

/* The block keeps its address and its owner, so everything can be recorded after the real call. */
GG_EXPORT size_t gg_xallocx(void *p, size_t bytes, size_t extra_bytes, int flags);
GG_EXPORT size_t gg_xallocx(void *p, size_t bytes, size_t extra_bytes, int flags)
{
	size_t usable = gg_extra_functions.xallocx(p, bytes, extra_bytes, flags), now;
	bool due;

	if (usable < bytes)
		return usable;
	now = usable - bytes < extra_bytes ? usable : bytes + extra_bytes;
	due = gg_sampler_due(&gg_thread.sampler, now);
	if (gg_unlikely(due || gg_sample_is_possible(p)))
		gg_sample_resized(p, now, due);
	return usable;
}
GG_EXTRA_FUNCTIONS_NAME(gg_xallocx, xallocx);

ALLOCATING_HOOK(tc_malloc_skip_new_handler)
GG_EXTRA_FUNCTIONS_NAME(gg_tc_malloc_skip_new_handler, tc_malloc_skip_new_handler);

RELEASING_HOOK(tc_free_sized)
GG_EXTRA_FUNCTIONS_NAME(gg_tc_free_sized, tc_free_sized);

RELEASING_HOOK(cfree)
GG_EXTRA_FUNCTIONS_NAME(gg_cfree, cfree);
GG_EXTRA_FUNCTIONS_NAME(gg_cfree, tc_cfree);
