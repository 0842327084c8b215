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
#include "malloc/class_counts.h"
#include "malloc/huge_blocks.h"
#include "malloc/slow_paths.h"

/* Some of these are declared by one libc only. */
GG_EXPORT int malloc_trim(size_t pad_bytes);
GG_EXPORT int mallopt(int parameter, int value);
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
	if (alignment > (size_t)1 << 63) { /* no power of two is that large */
		errno = EINVAL;
		return NULL;
	}
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

/* musl has no functions that report. */
#ifndef GG_MUSL
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

/*
 * The elements of glibc, and one of our own for each class that was in use.  In glibc's, `size` and
 * the total "rest" are free memory.
 */
GG_EXPORT int malloc_info(int options, FILE *file)
{
	struct gg_malloc_block_counts classes[GG_MALLOC_CLASS_COUNT];
	struct gg_malloc_large_counts large;
	struct mallinfo2 info = mallinfo2();
	uint64_t free_count = 0, free_bytes = 0;

	if (options != 0) {
		errno = EINVAL;
		return -1;
	}
	gg_malloc_count_blocks(classes, &large);
	fprintf(file, "<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n");
	for (unsigned i = 0; i < GG_MALLOC_CLASS_COUNT; i++) {
		size_t bytes = gg_malloc_class_bytes(i);

		if (classes[i].free == 0)
			continue;
		fprintf(file, "<size from=\"%zu\" to=\"%zu\" total=\"%zu\" count=\"%zu\"/>\n",
		        i > 0 ? gg_malloc_class_bytes(i - 1) + 1 : 1, bytes,
		        (size_t)classes[i].free * bytes, (size_t)classes[i].free);
		free_count += classes[i].free;
		free_bytes += classes[i].free * bytes;
	}
	fprintf(file, "</sizes>\n<classes>\n");
	for (unsigned i = 0; i < GG_MALLOC_CLASS_COUNT; i++)
		if (classes[i].handed != 0)
			fprintf(file,
			        "<class size=\"%zu\" slabs=\"%zu\" used=\"%zu\" free=\"%zu\" "
			        "allocated=\"%zu\"/>\n",
			        gg_malloc_class_bytes(i), (size_t)classes[i].slabs,
			        (size_t)classes[i].used, (size_t)classes[i].free,
			        (size_t)classes[i].handed);
	fprintf(file,
	        "</classes>\n<runs count=\"%zu\" size=\"%zu\"/>\n</heap>\n"
	        "<total type=\"fast\" count=\"%zu\" size=\"%zu\"/>\n"
	        "<total type=\"rest\" count=\"0\" size=\"%zu\"/>\n"
	        "<total type=\"mmap\" count=\"0\" size=\"%zu\"/>\n"
	        "<system type=\"current\" size=\"%zu\"/>\n</malloc>\n",
	        (size_t)large.run_count, (size_t)large.run_bytes, (size_t)free_count,
	        (size_t)free_bytes, info.fordblks, info.hblkhd, info.arena + info.hblkhd);
	return 0;
}

GG_EXPORT void malloc_stats(void);
GG_EXPORT void malloc_stats(void)
{
	struct mallinfo2 info = mallinfo2();

	fprintf(stderr, "system bytes     = %10zu\nin use bytes     = %10zu\n",
	        info.arena + info.hblkhd, info.uordblks + info.hblkhd);
}

#endif

GG_EXPORT void cfree(void *p);
GG_EXPORT void cfree(void *p)
{
	geiger_free(p);
}
