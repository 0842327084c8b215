/* SPDX-License-Identifier: Apache-2.0 */
/* forms - defines each form of allocation and release, and finds the functions that exist. */
#include "agent/forms.h"

#include <malloc.h>
#include <new>
#include <stdint.h>
#include <stdlib.h>

/* C++14's, which clang declares on request only. */
void operator delete(void *p, size_t bytes) noexcept;
void operator delete[](void *p, size_t bytes) noexcept;

#define WEAK __attribute__((weak))

extern "C" {
WEAK void *mallocx(size_t bytes, int flags);
WEAK void *rallocx(void *p, size_t bytes, int flags);
WEAK size_t xallocx(void *p, size_t bytes, size_t extra_bytes, int flags);
WEAK size_t sallocx(const void *p, int flags);
WEAK void dallocx(void *p, int flags);
WEAK void sdallocx(void *p, size_t bytes, int flags);
WEAK size_t nallocx(size_t bytes, int flags);
WEAK void *tc_malloc(size_t bytes);
WEAK void *tc_malloc_skip_new_handler(size_t bytes);
WEAK void *tc_calloc(size_t count, size_t bytes);
WEAK void *tc_realloc(void *p, size_t bytes);
WEAK void *tc_memalign(size_t alignment, size_t bytes);
WEAK int tc_posix_memalign(void **ret_p, size_t alignment, size_t bytes);
WEAK void *tc_valloc(size_t bytes);
WEAK void *tc_pvalloc(size_t bytes);
WEAK void tc_free(void *p);
WEAK void tc_free_sized(void *p, size_t bytes);
WEAK void tc_cfree(void *p);
WEAK size_t tc_malloc_size(void *p);
WEAK void *tc_new(size_t bytes);
WEAK void *tc_newarray(size_t bytes);
WEAK void *tc_new_nothrow(size_t bytes, const std::nothrow_t &);
WEAK void *tc_newarray_nothrow(size_t bytes, const std::nothrow_t &);
WEAK void *tc_new_aligned(size_t bytes, std::align_val_t alignment);
WEAK void *tc_newarray_aligned(size_t bytes, std::align_val_t alignment);
WEAK void *tc_new_aligned_nothrow(size_t bytes, std::align_val_t, const std::nothrow_t &);
WEAK void *tc_newarray_aligned_nothrow(size_t bytes, std::align_val_t, const std::nothrow_t &);
WEAK void tc_delete(void *p);
WEAK void tc_deletearray(void *p);
WEAK void tc_delete_nothrow(void *p, const std::nothrow_t &);
WEAK void tc_deletearray_nothrow(void *p, const std::nothrow_t &);
WEAK void tc_delete_sized(void *p, size_t bytes);
WEAK void tc_deletearray_sized(void *p, size_t bytes);
WEAK void tc_delete_aligned(void *p, std::align_val_t);
WEAK void tc_deletearray_aligned(void *p, std::align_val_t);
WEAK void tc_delete_aligned_nothrow(void *p, std::align_val_t, const std::nothrow_t &);
WEAK void tc_deletearray_aligned_nothrow(void *p, std::align_val_t, const std::nothrow_t &);
WEAK void tc_delete_sized_aligned(void *p, size_t bytes, std::align_val_t);
WEAK void tc_deletearray_sized_aligned(void *p, size_t bytes, std::align_val_t);
}

/* More than any allocator aligns by itself. */
static constexpr std::align_val_t ALIGNED{ 128 };
static constexpr int LG_ALIGNED = 7; /* mallocx()'s flags: the logarithm of the alignment */

#define ALLOCATE [](size_t n) -> void *
#define RELEASE  [](void *p, size_t n) -> void
#define RESIZE   [](void *p, size_t *n) -> void *

static const struct form all[] = { { "malloc / free", ALLOCATE{ return malloc(n);
}
, RELEASE
{
	(void)n, free(p);
}
, RESIZE
{
	return realloc(p, *n);
}
}
, { "calloc / free", ALLOCATE{ return calloc(1, n);
}
, RELEASE
{
	(void)n, free(p);
}
, 0
}
, { "aligned_alloc / free", ALLOCATE{ return aligned_alloc(64, n);
}
, RELEASE
{
	(void)n, free(p);
}
, 0
}
, { "memalign / free", ALLOCATE{ return memalign(64, n);
}
, RELEASE
{
	(void)n, free(p);
}
, 0
}
, { "posix_memalign / free", ALLOCATE{ void * p;
return posix_memalign(&p, 256, n) == 0 ? p : NULL;
}
, RELEASE
{
	(void)n, free(p);
}
, 0
}
,

	{ "new / delete", ALLOCATE{ return operator new(n);
}
, RELEASE
{
	(void)n, operator delete(p);
}
, 0
}
, { "new / delete, sized", ALLOCATE{ return operator new(n);
}
, RELEASE
{
	operator delete(p, n);
}
, 0
}
, { "new[] / delete[]", ALLOCATE{ return operator new[](n);
}
, RELEASE
{
	(void)n, operator delete[](p);
}
, 0
}
, { "new[] / delete[], sized", ALLOCATE{ return operator new[](n);
}
, RELEASE
{
	operator delete[](p, n);
}
, 0
}
, { "new / delete, nothrow", ALLOCATE{ return operator new(n, std::nothrow);
}
, RELEASE
{
	(void)n, operator delete(p, std::nothrow);
}
, 0
}
, { "new[] / delete[], nothrow", ALLOCATE{ return operator new[](n, std::nothrow);
}
, RELEASE
{
	(void)n, operator delete[](p, std::nothrow);
}
, 0
}
, { "new / delete, aligned", ALLOCATE{ return operator new(n, ALIGNED);
}
, RELEASE
{
	(void)n, operator delete(p, ALIGNED);
}
, 0
}
, { "new / delete, aligned, sized", ALLOCATE{ return operator new(n, ALIGNED);
}
, RELEASE
{
	operator delete(p, n, ALIGNED);
}
, 0
}
, { "new[] / delete[], aligned", ALLOCATE{ return operator new[](n, ALIGNED);
}
, RELEASE
{
	(void)n, operator delete[](p, ALIGNED);
}
, 0
}
, { "new[] / delete[], aligned, sized", ALLOCATE{ return operator new[](n, ALIGNED);
}
, RELEASE
{
	operator delete[](p, n, ALIGNED);
}
, 0
}
, { "new / delete, aligned, nothrow", ALLOCATE{ return operator new(n, ALIGNED, std::nothrow);
}
, RELEASE
{
	(void)n, operator delete(p, ALIGNED, std::nothrow);
}
, 0
}
, { "new[] / delete[], aligned, nothrow", ALLOCATE{ return operator new[](n, ALIGNED, std::nothrow);
}
, RELEASE
{
	(void)n, operator delete[](p, ALIGNED, std::nothrow);
}
, 0
}
,
}
;

static const struct form of_jemalloc[] = { { "mallocx / dallocx", ALLOCATE{ return mallocx(n, 0);
}
, RELEASE
{
	(void)n, dallocx(p, 0);
}
, RESIZE
{
	return rallocx(p, *n, 0);
}
}
, { "mallocx / sdallocx", ALLOCATE{ return mallocx(n, 0);
}
, RELEASE
{
	sdallocx(p, n, 0);
}
, RESIZE
{
	return rallocx(p, *n, 0);
}
}
, { "mallocx / sdallocx, aligned", ALLOCATE{ return mallocx(n, LG_ALIGNED);
}
, RELEASE
{
	sdallocx(p, n, LG_ALIGNED);
}
, RESIZE
{
	return rallocx(p, *n, LG_ALIGNED);
}
}
, { "mallocx, xallocx / dallocx", ALLOCATE{ return mallocx(n, 0);
}
, RELEASE
{
	(void)n, dallocx(p, 0);
}
, RESIZE
{
	/* It may grow in place, by up to half of its size. */
	size_t usable = xallocx(p, *n, *n / 2, 0);

	if (usable >= *n)
		*n = usable < *n + *n / 2 ? usable : *n + *n / 2;
	else
		p = rallocx(p, *n, 0);
	return p;
}
}
, { "mallocx / free", ALLOCATE{ return mallocx(n, 0);
}
, RELEASE
{
	(void)n, free(p);
}
, RESIZE
{
	return realloc(p, *n);
}
}
, { "malloc / dallocx", ALLOCATE{ return malloc(n);
}
, RELEASE
{
	(void)n, dallocx(p, 0);
}
, 0
}
,
}
;

static const struct form of_tcmalloc[] = { { "tc_malloc / tc_free", ALLOCATE{ return tc_malloc(n);
}
, RELEASE
{
	(void)n, tc_free(p);
}
, RESIZE
{
	return tc_realloc(p, *n);
}
}
, { "tc_malloc / tc_free_sized", ALLOCATE{ return tc_malloc(n);
}
, RELEASE
{
	tc_free_sized(p, n);
}
, 0
}
, { "tc_malloc_skip_new_handler / tc_cfree", ALLOCATE{ return tc_malloc_skip_new_handler(n);
}
, RELEASE
{
	(void)n, tc_cfree(p);
}
, 0
}
, { "tc_calloc / tc_free", ALLOCATE{ return tc_calloc(1, n);
}
, RELEASE
{
	(void)n, tc_free(p);
}
, 0
}
, { "tc_memalign / tc_free", ALLOCATE{ return tc_memalign(64, n);
}
, RELEASE
{
	(void)n, tc_free(p);
}
, 0
}
, { "tc_posix_memalign / tc_free", ALLOCATE{ void * p;
return tc_posix_memalign(&p, 256, n) == 0 ? p : NULL;
}
, RELEASE
{
	(void)n, tc_free(p);
}
, 0
}
, { "tc_valloc / tc_free", ALLOCATE{ return tc_valloc(n);
}
, RELEASE
{
	(void)n, tc_free(p);
}
, 0
}
, { "tc_pvalloc / free", ALLOCATE{ return tc_pvalloc(n);
}
, RELEASE
{
	(void)n, free(p);
}
, 0
}
, { "tc_new / tc_delete", ALLOCATE{ return tc_new(n);
}
, RELEASE
{
	(void)n, tc_delete(p);
}
, 0
}
, { "tc_new / tc_delete_sized", ALLOCATE{ return tc_new(n);
}
, RELEASE
{
	tc_delete_sized(p, n);
}
, 0
}
, { "tc_newarray / tc_deletearray", ALLOCATE{ return tc_newarray(n);
}
, RELEASE
{
	(void)n, tc_deletearray(p);
}
, 0
}
, { "tc_newarray / tc_deletearray_sized", ALLOCATE{ return tc_newarray(n);
}
, RELEASE
{
	tc_deletearray_sized(p, n);
}
, 0
}
, { "tc_new_nothrow / tc_delete_nothrow", ALLOCATE{ return tc_new_nothrow(n, std::nothrow);
}
, RELEASE
{
	(void)n, tc_delete_nothrow(p, std::nothrow);
}
, 0
}
, { "tc_newarray_nothrow / tc_deletearray_nothrow",
    ALLOCATE{ return tc_newarray_nothrow(n, std::nothrow);
}
, RELEASE
{
	(void)n, tc_deletearray_nothrow(p, std::nothrow);
}
, 0
}
, { "tc_new_aligned / tc_delete_aligned", ALLOCATE{ return tc_new_aligned(n, ALIGNED);
}
, RELEASE
{
	(void)n, tc_delete_aligned(p, ALIGNED);
}
, 0
}
, { "tc_new_aligned_nothrow / tc_delete_aligned_nothrow",
    ALLOCATE{ return tc_new_aligned_nothrow(n, ALIGNED, std::nothrow);
}
, RELEASE
{
	(void)n, tc_delete_aligned_nothrow(p, ALIGNED, std::nothrow);
}
, 0
}
, { "tc_newarray_aligned / tc_deletearray_aligned",
    ALLOCATE{ return tc_newarray_aligned(n, ALIGNED);
}
, RELEASE
{
	(void)n, tc_deletearray_aligned(p, ALIGNED);
}
, 0
}
, { "tc_newarray_aligned_nothrow / tc_deletearray_aligned_nothrow",
    ALLOCATE{ return tc_newarray_aligned_nothrow(n, ALIGNED, std::nothrow);
}
, RELEASE
{
	(void)n, tc_deletearray_aligned_nothrow(p, ALIGNED, std::nothrow);
}
, 0
}
, { "tc_new_aligned / tc_delete_sized_aligned", ALLOCATE{ return tc_new_aligned(n, ALIGNED);
}
, RELEASE
{
	tc_delete_sized_aligned(p, n, ALIGNED);
}
, 0
}
, { "tc_newarray_aligned / tc_deletearray_sized_aligned",
    ALLOCATE{ return tc_newarray_aligned(n, ALIGNED);
}
, RELEASE
{
	tc_deletearray_sized_aligned(p, n, ALIGNED);
}
, 0
}
,
}
;

template <size_t COUNT>
static size_t add(struct form *to, size_t at, const struct form (&from)[COUNT])
{
	for (const struct form &form : from)
		to[at++] = form;
	return at;
}

const struct form *forms(void)
{
	static struct form here[64];
	size_t count = add(here, 0, all);

	if (&mallocx != NULL)
		count = add(here, count, of_jemalloc);
	if (&tc_malloc != NULL)
		count = add(here, count, of_tcmalloc);
	here[count] = { NULL, NULL, NULL, NULL };
	return here;
}

const void *forms_weak(size_t index, const char **ret_name)
{
#define REFERENCE(at, function)        \
	case at:                       \
		*ret_name = #function; \
		return reinterpret_cast<void *>(function)

	/* In code: from data, too, the linker would decide. */
	switch (index) {
		REFERENCE(0, mallocx);
		REFERENCE(1, rallocx);
		REFERENCE(2, xallocx);
		REFERENCE(3, sallocx);
		REFERENCE(4, dallocx);
		REFERENCE(5, sdallocx);
		REFERENCE(6, nallocx);
		REFERENCE(7, tc_malloc);
		REFERENCE(8, tc_malloc_skip_new_handler);
		REFERENCE(9, tc_calloc);
		REFERENCE(10, tc_realloc);
		REFERENCE(11, tc_memalign);
		REFERENCE(12, tc_free);
		REFERENCE(13, tc_free_sized);
		REFERENCE(14, tc_cfree);
		REFERENCE(15, tc_malloc_size);
		REFERENCE(16, tc_new);
		REFERENCE(17, tc_delete);
		REFERENCE(18, tc_newarray_aligned_nothrow);
		REFERENCE(19, tc_deletearray_sized_aligned);
	default:
		*ret_name = NULL;
		return NULL;
	}
}

int forms_throw(size_t bytes)
{
	volatile size_t kept = bytes; /* the compiler may drop what it knows to fail */

	try {
		operator delete(operator new(kept));
	} catch (const std::bad_alloc &) {
		try {
			operator delete[](operator new[](kept, ALIGNED), ALIGNED);
		} catch (const std::bad_alloc &) {
			return 1;
		}
	}
	return 0;
}
