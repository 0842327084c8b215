/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_live - the table of all live blocks of a process, for exact counts.
 *
 *   gg_exact_live_put(&live, &block, &replaced);     after the real allocation
 *   gg_exact_live_take(&live, address, &block);      before the real free
 *
 * The table is private memory: a forked child has that of the fork by copy-on-write.  Nothing that
 * a report needs is lost with it at a kill, because the counters of a region tell what is live.
 *
 * Shards    An address belongs to one of GG_EXACT_SHARDS hash tables, each with a lock of its own.
 *           A table is searched linearly from the place that the hash gives, and removal moves
 *           later entries back, so no entry is ever marked as deleted.
 * Memory    24 bytes an entry, and tables that are 60 to 75 % full: 32 to 40 bytes a live block.
 *           A table grows by a quarter.
 * Full      A table that cannot grow returns false, and the caller stops tracking live blocks.
 * Locks     are futexes.  A thread that holds one does not allocate, and handlers that interrupt it
 *           stay away, as they do from the whole sample path.  fork() takes all locks first.  After
 *           a bare clone() the child opens them: each store leaves the table usable, and at most
 *           the entry that was moving is there twice.
 * Threads   any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

enum { GG_EXACT_SHARDS = 64, GG_EXACT_FIRST_SLOTS = 32 };

struct gg_exact_block {
	uint64_t address; /* under 2^48 */
	uint64_t time_ns;
	uint64_t size_bytes; /* under 2^48 */
	uint32_t stack;
};

struct gg_exact_slot {
	uint64_t key; /* address << 16 | size >> 32; 0: free */
	uint64_t time_ns;
	uint32_t size_low;
	uint32_t stack;
};

struct gg_exact_shard {
	uint32_t lock; /* 0: open, 1: held, 2: held and others wait */
	uint32_t count, capacity;
	uint32_t is_first; /* the slots are part of the first mapping */
	struct gg_exact_slot *slots;
	uint64_t latest_ns; /* no block has a later time */
	uint64_t padding[4];
};

struct gg_exact_live {
	struct gg_exact_shard shards[GG_EXACT_SHARDS];
	uint64_t most_count; /* of one shard; 0: no limit but memory */
};

/*
 * Blocks that are near each other have slots near each other, since programs allocate and free such
 * blocks together: 8 pieces of 32 bytes in a row, where most allocators have one block at most,
 * have 8 homes in a row.
 */
static inline uint64_t gg_exact_hash(uint64_t address)
{
	uint64_t hash = (address >> 8) * UINT64_C(0x9e3779b97f4a7c15);

	hash ^= hash >> 29;
	return hash << 3 | (address >> 5 & 7);
}

static inline struct gg_exact_shard *gg_exact_shard(struct gg_exact_live *live, uint64_t hash)
{
	return &live->shards[(hash >> 3) % GG_EXACT_SHARDS];
}

/*
 * The place at which the search begins: the upper half of the hash, scaled to the capacity, and the
 * piece.
 */
static inline uint32_t gg_exact_home(const struct gg_exact_shard *shard, uint64_t hash)
{
	uint64_t home = ((hash >> 32) * shard->capacity >> 32) + (hash & 7);

	return (uint32_t)(home < shard->capacity ? home : home - shard->capacity);
}

/*
 * Fetches the slot of an address that is needed soon.  A thread that moves the table meanwhile
 * makes it fetch something else, which does no harm.
 */
static inline void gg_exact_live_prefetch(struct gg_exact_live *live, uint64_t address)
{
	uint64_t hash = gg_exact_hash(address);
	const struct gg_exact_shard *shard = gg_exact_shard(live, hash);

	__builtin_prefetch(&shard->slots[gg_exact_home(shard, hash)], 1);
}

/* Maps the first tables.  False: there is no memory. */
bool gg_exact_live_init(struct gg_exact_live *live, uint64_t most_count);
void gg_exact_live_done(struct gg_exact_live *live);

enum gg_exact_put {
	GG_EXACT_PUT,
	GG_EXACT_REPLACED, /* the address was there: its free was missed */
	GG_EXACT_FULL,
};

enum gg_exact_put gg_exact_live_put(struct gg_exact_live *live, const struct gg_exact_block *block,
                                    struct gg_exact_block *ret_replaced);

/* Reads the block of the address.  False: it is not there. */
bool gg_exact_live_find(struct gg_exact_live *live, uint64_t address,
                        struct gg_exact_block *ret_block);

/* Removes the block of that address.  False: it is not there. */
bool gg_exact_live_take(struct gg_exact_live *live, uint64_t address,
                        struct gg_exact_block *ret_block);

/* The number of blocks; exact if no thread changes the table. */
uint64_t gg_exact_live_count(const struct gg_exact_live *live);

/* Returns the latest time of a block that ever was in the table; at least `least_ns`. */
uint64_t gg_exact_live_latest_ns(const struct gg_exact_live *live, uint64_t least_ns);

/* Around a fork: the child has all tables whole.  The first takes all locks or none. */
GG_MUST_CHECK bool gg_exact_live_try_lock_all(struct gg_exact_live *live);
void gg_exact_live_lock_all(struct gg_exact_live *live);
void gg_exact_live_unlock_all(struct gg_exact_live *live);
