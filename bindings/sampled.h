/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled - which blocks of an allocator are samples, asked at every free.
 *
 * geiger_freed() may be called for every block; asking here first costs a multiplication and one
 * load from 4 KiB instead, which the frees of a runtime notice (bench/bench_adapters.py).  What is
 * asked is a count of samples by a hash of their address; where it is not 0, the addresses
 * themselves.
 *
 * Owner    one thread at a time: a Lua state, or Python's lock.  A fork copies it.
 * Memory   4 KiB, and from the first sample on 16 to 64 bytes a live sample, mapped.  Where there
 *          is none, every block may be a sample from then on, and geiger_freed() decides.
 * All-zero is valid: no samples.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GG_SAMPLED_FRONT_BITS = 12, GG_SAMPLED_MANY = 255 };

struct gg_sampled {
	uint8_t front[1 << GG_SAMPLED_FRONT_BITS]; /* samples by hash; MANY stays */
	uintptr_t *table;                          /* open addressing; 0: free */
	size_t capacity;                           /* a power of 2, or 0 without a table */
	size_t count;
	bool is_full; /* there was no memory: it knows nothing */
};

static inline uint64_t gg_sampled_hash(const void *block)
{
	return ((uint64_t)(uintptr_t)block >> 4) * 0x9e3779b97f4a7c15u;
}

/* False: it is no sample. */
static inline bool gg_sampled_maybe(const struct gg_sampled *sampled, const void *block)
{
	return sampled->front[gg_sampled_hash(block) >> (64 - GG_SAMPLED_FRONT_BITS)] != 0;
}

/* The block is a sample.  It may be one already. */
void gg_sampled_add(struct gg_sampled *sampled, const void *block);

/* Was it?  And is no longer.  True, too, where nobody knows. */
bool gg_sampled_take(struct gg_sampled *sampled, const void *block);

/* Gives the memory back. */
void gg_sampled_done(struct gg_sampled *sampled);
