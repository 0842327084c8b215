/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extract_blocks - the blocks of an extract with their times, for formats that have a time axis.
 *
 *   gg_extract_blocks(extract, &blocks, &count, error);      sorted by the time of allocation
 *   gg_extract_ends(blocks, count, &ends, &end_count);       their numbers, by the time of the free
 *
 * A block that a fork shared counts once, at the process that held it first (query.h).
 *
 * Memory   64 bytes for each block.
 * Threads  any number of readers.
 */
#pragma once

#include "format/export/extract.h"

/*
 * A block or an aggregate of blocks, as formats with a time axis show it.  Blocks from before the
 * window appear as allocated at its beginning.  Events after the end of the window are left out.
 */
struct gg_extract_block {
	int64_t alloc_ns, free_ns; /* GG_TIME_NONE: not freed */
	double bytes, count;       /* the estimates that it represents */
	uint32_t process, stack, thread, kind;
};

/* Returns the blocks sorted by alloc_ns.  The caller frees the array. */
GG_MUST_CHECK int gg_extract_blocks(const struct gg_extract *extract,
                                    struct gg_extract_block **ret_blocks, size_t *ret_count,
                                    struct gg_error *error);

/*
 * Returns the numbers of freed blocks, sorted by time; the caller frees the array.  0 or -ENOMEM.
 */
GG_MUST_CHECK int gg_extract_ends(const struct gg_extract_block *blocks, size_t count,
                                  uint32_t **ret_ends, size_t *ret_end_count);
