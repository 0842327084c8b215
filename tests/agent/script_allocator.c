/* SPDX-License-Identifier: Apache-2.0 */
/* script_allocator - forwards calls to glibc, unless a test has scripted the next one. */
#include "agent/script_allocator.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

extern void *_Znwm(size_t bytes);
extern void *_ZnwmSt11align_val_t(size_t bytes, size_t alignment);
extern void _ZdlPv(void *p);
extern void *mallocx(size_t bytes, int flags);
extern void *rallocx(void *p, size_t bytes, int flags);
extern size_t xallocx(void *p, size_t bytes, size_t extra_bytes, int flags);
extern void sdallocx(void *p, size_t bytes, int flags);

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *p, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *p);

__attribute__((visibility("default"))) struct script_allocator script_allocator;

#define EXPORT __attribute__((visibility("default")))

/* Runs the script.  True: *ret_result is the answer. */
static bool is_scripted(void *p, size_t bytes, void **ret_result)
{
	struct script_allocator *script = &script_allocator;
	void (*during)(void *, size_t) = script->during;
	bool fails = script->fails;
	void *result = script->result;

	script->during = NULL;
	script->fails = false;
	script->result = NULL;
	if (during != NULL)
		during(p, bytes);
	if (fails)
		errno = ENOMEM;
	*ret_result = fails ? NULL : result;
	return fails || result != NULL;
}

EXPORT void *malloc(size_t bytes)
{
	void *result;

	script_allocator.malloc_count++;
	return is_scripted(NULL, bytes, &result) ? result : __libc_malloc(bytes);
}

EXPORT void *calloc(size_t count, size_t bytes)
{
	void *result;

	script_allocator.calloc_count++;
	return is_scripted(NULL, count * bytes, &result) ? result : __libc_calloc(count, bytes);
}

EXPORT void *realloc(void *p, size_t bytes)
{
	bool zero_is_kept = script_allocator.zero_is_kept;
	void *result;

	script_allocator.realloc_count++;
	script_allocator.zero_is_kept = false;
	if (is_scripted(p, bytes, &result))
		return result;
	return __libc_realloc(p, bytes == 0 && zero_is_kept ? 1 : bytes);
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
	void *result;

	script_allocator.aligned_count++;
	return is_scripted(NULL, bytes, &result) ? result : __libc_memalign(alignment, bytes);
}

EXPORT void free(void *p)
{
	void *result;

	script_allocator.free_count++;
	script_allocator.last_freed = p;
	is_scripted(p, 0, &result);
	if ((uintptr_t)result != 1) /* result 1: only pretend */
		__libc_free(p);
}

/* --- other functions of allocators: C++'s operators, and jemalloc's functions --- */

EXPORT void *_Znwm(size_t bytes)
{
	void *result;

	return is_scripted(NULL, bytes, &result) ? result : __libc_malloc(bytes);
}

/* Calls a function that the agent takes too, and is no jump to it. */
EXPORT void *_ZnwmSt11align_val_t(size_t bytes, size_t alignment)
{
	void *volatile p = aligned_alloc(alignment, bytes);

	return p;
}

EXPORT void _ZdlPv(void *p)
{
	void *result;

	script_allocator.last_freed = p;
	is_scripted(p, 0, &result);
	if ((uintptr_t)result != 1)
		__libc_free(p);
}

EXPORT void *mallocx(size_t bytes, int flags)
{
	script_allocator.last_flags = flags;
	return _Znwm(bytes);
}

EXPORT void *rallocx(void *p, size_t bytes, int flags)
{
	void *result;

	script_allocator.last_flags = flags;
	return is_scripted(p, bytes, &result) ? result : __libc_realloc(p, bytes);
}

EXPORT size_t xallocx(void *p, size_t bytes, size_t extra_bytes, int flags)
{
	void *result;

	(void)extra_bytes;
	script_allocator.last_flags = flags;
	is_scripted(p, bytes, &result);
	return script_allocator.usable_bytes;
}

EXPORT void sdallocx(void *p, size_t bytes, int flags)
{
	(void)bytes;
	script_allocator.last_flags = flags;
	_ZdlPv(p);
}
