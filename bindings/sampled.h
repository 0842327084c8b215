/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled - the set of an allocator's blocks that are samples, which every free looks up.
 *
 * An adapter may call geiger_freed() for every block.  A look-up here costs one load from a table
 * of 4 KiB instead, and the frees of a runtime are so frequent that this matters
 * (bench/bench_adapters.py).  The look-up has two steps:
 *
 *   1. `front` has a counter for each value of the address bits 4 to 15: the samples with these
 *      bits.  Where it is 0, the block is no sample.  Allocators place small blocks anywhere in 64
 *      KiB, so a hash would spread them no better, and would take three instructions more.
 *   2. Otherwise `table` has the addresses themselves.
 *
 * Owner    one thread at a time: a Lua state, or the holder of Python's lock.  A fork copies it.
 * Memory   4 KiB, and from the first sample on 16 to 64 mapped bytes for each live sample.  If
 *          memory runs out, every block may be a sample from then on, and geiger_freed() decides.
 * Zero     An all-zero set is valid, and empty.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GG_SAMPLED_FRONT_BITS = 12, GG_SAMPLED_MANY = 255 };

struct gg_sampled {
	uint8_t front[1 << GG_SAMPLED_FRONT_BITS]; /* by bits; a counter that is MANY stays */
	uintptr_t *table; /* addresses, by open addressing; 0: a free slot */
	size_t capacity;  /* a power of 2, or 0 without a table */
	size_t count;
	bool is_full; /* memory ran out: any block may be a sample */
};

/* The block's place in `front`. */
static inline size_t gg_sampled_place(const void *block)
{
	return (uint16_t)(uintptr_t)block >> (16 - GG_SAMPLED_FRONT_BITS);
}

/* False: the block is no sample. */
static inline bool gg_sampled_maybe(const struct gg_sampled *sampled, const void *block)
{
	return sampled->front[gg_sampled_place(block)] != 0;
}

/* Adds the block, which may be in the set already. */
void gg_sampled_add(struct gg_sampled *sampled, const void *block);

/* Removes the block.  True if it was in the set, or if that is unknown (is_full). */
bool gg_sampled_take(struct gg_sampled *sampled, const void *block);

/* Unmaps the memory. */
void gg_sampled_done(struct gg_sampled *sampled);
