/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc_heap - the heaps of glibc's malloc in another process, and how its chunks lie in them.
 *
 *   struct gg_glibc_heaps heaps = { 0 };
 *
 *   status = gg_glibc_heaps_find(&heaps, &map, &residency);
 *   heap = gg_glibc_heaps_at(&heaps, address);
 *   gg_glibc_heaps_done(&heaps);
 *
 * A heap is memory that chunks fill without holes.  A chunk begins with two words: the size of the
 * chunk before it, which is only valid if that one is free, and its own size, whose lowest bits are
 * flags.  The block begins behind these words and reaches 8 bytes into the next chunk.
 *
 *          chunk             block = chunk + 16                   chunk + size
 *            | previous size | size, flags | ...                    | previous size | size, flags
 *                            '------------------- extent --------------------------'
 *
 * The extent of a chunk is the memory that it keeps from others: from its size word up to the size
 * word of the next chunk.  Extents do not overlap and leave no holes.  They begin 8 bytes behind a
 * multiple of 16, so they never begin or end where a page does.
 *
 * The main arena fills [heap].  Each other arena has a chain of heaps at multiples of 64 MiB.
 *
 * Hostile  every word comes from the process; what is found lies inside its mappings.
 * Threads  one owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "record/look/memory_map.h"
#include "record/look/residency.h"

#define GG_GLIBC_HEAP_MAX_BYTES (UINT64_C(64) << 20)

enum {
	GG_GLIBC_WORD_BYTES = 8,
	GG_GLIBC_HEAD_BYTES = 16, /* both words */
	GG_GLIBC_CHUNK_LEAST_BYTES = 32,
	GG_GLIBC_PREVIOUS_IN_USE = 1,
	GG_GLIBC_IS_MMAPPED = 2,
	GG_GLIBC_NON_MAIN_ARENA = 4,
	GG_GLIBC_FLAGS = 7,
};

/* The two words with which a chunk begins. */
struct gg_glibc_head {
	uint64_t previous_bytes;
	uint64_t size_word;
};

static inline uint64_t gg_glibc_size(const struct gg_glibc_head *head)
{
	return head->size_word & ~(uint64_t)GG_GLIBC_FLAGS;
}

static inline bool gg_glibc_has(const struct gg_glibc_head *head, int flag)
{
	return (head->size_word & (uint64_t)flag) != 0;
}

/* Whether a chunk of this size can lie at `chunk` in memory that ends at `end`. */
static inline bool gg_glibc_fits(uint64_t chunk, uint64_t size_bytes, uint64_t end)
{
	return size_bytes >= GG_GLIBC_CHUNK_LEAST_BYTES && size_bytes % GG_GLIBC_HEAD_BYTES == 0 &&
	       chunk <= end && size_bytes <= end - chunk;
}

/* A heap of an arena. */
struct gg_glibc_heap {
	uint64_t begin, end; /* the last chunk ends at `end` */
	uint64_t arena;      /* the address of its state; 0: the main arena */
	bool is_stranger;    /* no arena knows it; only while heaps are found */
};

struct gg_glibc_heaps {
	GG_ARRAY(struct gg_glibc_heap) items; /* ascending */
};

/* Finds all heaps.  Returns 0, or a negative errno value: -EPERM if it may not read the process. */
int gg_glibc_heaps_find(struct gg_glibc_heaps *heaps, const struct gg_memory_map *map,
                        struct gg_residency *residency);

/* Returns the heap that holds the address, or NULL. */
const struct gg_glibc_heap *gg_glibc_heaps_at(const struct gg_glibc_heaps *heaps, uint64_t address);

void gg_glibc_heaps_done(struct gg_glibc_heaps *heaps);

/* All that a look at the heaps needs. */
struct gg_glibc_view {
	const struct gg_memory_map *map;
	const struct gg_glibc_heaps *heaps;
	struct gg_residency *residency;
	/* Chunks of blocks that are known to be live, ascending. */
	const uint64_t *chunks;
	size_t chunk_count;
};

/* A head to read. */
struct gg_glibc_head_request {
	uint64_t chunk;
	struct gg_glibc_head *ret_head; /* untouched if it was not read */
	bool is_read;
	bool is_wanted; /* for the reader alone */
};

/*
 * Reads heads that lie on resident pages, in as few system calls as possible.  Returns 0, or a
 * negative errno value if the process may not be read.
 */
int gg_glibc_read_heads(struct gg_residency *residency, struct gg_glibc_head_request *requests,
                        size_t count);
