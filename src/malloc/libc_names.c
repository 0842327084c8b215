/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libc_names - the functions of libc's allocator that are not on the fast paths, for the library
 * that replaces it.
 *
 * malloc.c and functions.c define malloc, free, calloc, realloc and aligned_alloc themselves, where
 * GG_MALLOC_REPLACES is set, as other names of the same code.
 */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/compiler.h"
#include "geiger/malloc.h"
#include "malloc/arena.h"
#include "malloc/huge_blocks.h"
#include "malloc/slow_paths.h"

GG_EXPORT void free_sized(void *p, size_t bytes);
GG_EXPORT void free_aligned_sized(void *p, size_t alignment, size_t bytes);

GG_EXPORT void free_sized(void *p, size_t bytes)
{
	(void)bytes;
	geiger_free(p);
}

GG_EXPORT void free_aligned_sized(void *p, size_t alignment, size_t bytes)
{
	(void)alignment;
	(void)bytes;
	geiger_free(p);
}

GG_EXPORT void *reallocarray(void *p, size_t count, size_t bytes)
{
	size_t total;

	if (__builtin_mul_overflow(count, bytes, &total))
		return gg_malloc_no_memory();
	return geiger_realloc(p, total);
}

GG_EXPORT int posix_memalign(void **ret_p, size_t alignment, size_t bytes)
{
	int saved_errno = errno;
	void *p;

	if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0)
		return EINVAL;
	p = geiger_aligned_alloc(alignment, bytes);
	errno = saved_errno;
	if (p == NULL)
		return ENOMEM;
	*ret_p = p;
	return 0;
}

/* glibc rounds an alignment that is no power of two up. */
GG_EXPORT void *memalign(size_t alignment, size_t bytes)
{
	if (alignment > (size_t)1 << 62)
		return gg_malloc_no_memory();
	if (alignment > 1 && (alignment & (alignment - 1)) != 0)
		alignment = (size_t)2 << (63 - __builtin_clzll(alignment));
	return geiger_aligned_alloc(alignment != 0 ? alignment : 1, bytes);
}

GG_EXPORT void *valloc(size_t bytes)
{
	return geiger_aligned_alloc((size_t)getpagesize(), bytes);
}

GG_EXPORT void *pvalloc(size_t bytes)
{
	/* Blocks that are aligned to a page are whole pages. */
	return geiger_aligned_alloc((size_t)getpagesize(), bytes);
}

GG_EXPORT size_t malloc_usable_size(void *p)
{
	return geiger_malloc_usable_size(p);
}

GG_EXPORT int malloc_trim(size_t pad_bytes)
{
	(void)pad_bytes;
	return geiger_malloc_trim();
}

/* No parameter of glibc's allocator means anything here; programs take 1 for success. */
GG_EXPORT int mallopt(int parameter, int value)
{
	(void)parameter;
	(void)value;
	return 1;
}

GG_EXPORT struct mallinfo2 mallinfo2(void)
{
	struct gg_malloc_arena_totals totals;
	struct mallinfo2 info = { 0 };

	gg_malloc_arena_read_totals(&totals);
	info.arena = totals.opened_bytes;
	info.hblkhd = gg_malloc_huge_total_bytes();
	info.uordblks = totals.opened_bytes - totals.free_bytes;
	info.fordblks = totals.free_bytes;
	info.keepcost = totals.dirty_bytes;
	return info;
}

GG_EXPORT struct mallinfo mallinfo(void)
{
	struct mallinfo2 all = mallinfo2();
	struct mallinfo info = { 0 };

	info.arena = (int)all.arena;
	info.hblkhd = (int)all.hblkhd;
	info.uordblks = (int)all.uordblks;
	info.fordblks = (int)all.fordblks;
	info.keepcost = (int)all.keepcost;
	return info;
}

GG_EXPORT int malloc_info(int options, FILE *file)
{
	struct mallinfo2 info = mallinfo2();

	if (options != 0) {
		errno = EINVAL;
		return -1;
	}
	fprintf(file,
	        "<malloc version=\"1\">\n<total type=\"rest\" count=\"0\" size=\"%zu\"/>\n"
	        "<total type=\"mmap\" count=\"0\" size=\"%zu\"/>\n"
	        "<system type=\"current\" size=\"%zu\"/>\n</malloc>\n",
	        info.fordblks, info.hblkhd, info.arena + info.hblkhd);
	return 0;
}

GG_EXPORT void malloc_stats(void);
GG_EXPORT void malloc_stats(void)
{
	struct mallinfo2 info = mallinfo2();

	fprintf(stderr, "system bytes     = %10zu\nin use bytes     = %10zu\n",
	        info.arena + info.hblkhd, info.uordblks + info.hblkhd);
}

GG_EXPORT void cfree(void *p);
GG_EXPORT void cfree(void *p)
{
	geiger_free(p);
}
