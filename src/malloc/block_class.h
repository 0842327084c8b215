/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_class - the sizes of blocks that slabs are divided into.
 *
 * A request is rounded up to the size of its block class: in steps of 16 bytes up to 128, and then
 * in eight steps for each doubling, so that rounding wastes at most 12.5 %.  Larger requests than
 * the last class get runs of slices (arena.h).
 *
 *   class   0    1    2  ...   7    8    9  ...   15   16  ...   71
 *   bytes  16   32   48  ... 128  144  160  ...  256  288  ... 32768
 *
 * Alignment  Every size is a multiple of 16.  A slab starts at a multiple of 16 KiB, so the blocks
 *            of a class whose size is a multiple of 2^k are aligned to 2^k (k up to 14).
 * Slabs      have the smallest number of slices that the walk of a cut allows (docs/MALLOC.md):
 *            16 KiB up to 256 bytes, 64 KiB up to 8 KiB, and 256 KiB above.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	GG_MALLOC_SLICE_SHIFT = 14,
	GG_MALLOC_SLICE_BYTES = 1 << GG_MALLOC_SLICE_SHIFT,
	GG_MALLOC_CLASS_COUNT = 72,
	/* The fast path finds the class of a size up to this by a table of 16-byte steps. */
	GG_MALLOC_FAST_BYTES = 1024,
	GG_MALLOC_CLASS_BYTES_MAX = 32768,
};

/* Returns the class of a request; bytes <= GG_MALLOC_CLASS_BYTES_MAX, and 0 counts as 1. */
static inline unsigned gg_malloc_class_of(size_t bytes)
{
	size_t last = bytes - (bytes != 0);
	unsigned k;

	if (bytes <= 128)
		return (unsigned)(last >> 4);
	k = 63u - (unsigned)__builtin_clzll(last);
	return 8 + (k - 7) * 8 + (unsigned)(last >> (k - 3) & 7);
}

/* Returns the size of the blocks of a class. */
static inline size_t gg_malloc_class_bytes(unsigned class)
{
	unsigned doubling = (class - 8) / 8, step = class % 8;

	if (class < 8)
		return 16 * ((size_t) class + 1);
	return ((size_t)128 << doubling) + (((size_t)step + 1) << (4 + doubling));
}

/* Returns the number of slices of a slab of the class. */
static inline uint32_t gg_malloc_class_slices(unsigned class)
{
	size_t bytes = gg_malloc_class_bytes(class);

	return bytes <= 256 ? 1 : bytes <= 8192 ? 4 : 16;
}
