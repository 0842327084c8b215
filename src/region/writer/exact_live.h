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
 * Chunks    A table is an array of chunks of GG_EXACT_CHUNK_SLOTS blocks.  A chunk is two cache
 *           lines, and the first one has all addresses, so a search compares them without jumps
 *           that depend on the data.  A block goes to the first chunk with a free slot, from its
 *           home on.  Each chunk that it passes counts it, and a search ends at the first chunk
 *           that none has passed.  So a removal moves no other block, and leaves no mark.
 * Memory    25.6 bytes a slot, and tables that are 64 to 80 % full: 32 to 40 bytes a live block.
 *           A table grows by a quarter.
 * Full      A table that cannot grow returns false, and the caller stops tracking live blocks.
 * Locks     are futexes.  A thread that holds one does not allocate, and handlers that interrupt it
 *           stay away, as they do from the whole sample path.  fork() takes all locks first.  After
 *           a bare clone() the child opens them: each store leaves the table usable, and at worst
 *           searches pass a chunk in vain.
 * Threads   any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

enum { GG_EXACT_SHARDS = 64, GG_EXACT_CHUNK_SLOTS = 5, GG_EXACT_FIRST_CHUNKS = 6 };

struct gg_exact_block {
	uint64_t address; /* under 2^48 */
	uint64_t time_ns;
	uint64_t size_bytes; /* under 2^48 */
	uint32_t stack;
};

struct gg_exact_chunk {
	/* The address, and in the upper 16 bits those of a size of 4 GiB or more; 0: no block. */
	uint64_t keys[GG_EXACT_CHUNK_SLOTS];
	/* Blocks whose home is this chunk or one before it, and whose slot is in one behind it. */
	uint32_t passed_count;
	uint32_t taken_slots; /* one bit for each */
	uint64_t times_ns[GG_EXACT_CHUNK_SLOTS];
	uint32_t sizes_low[GG_EXACT_CHUNK_SLOTS];
	uint32_t stacks[GG_EXACT_CHUNK_SLOTS];
};

_Static_assert(sizeof(struct gg_exact_chunk) == 128, "two cache lines");

struct gg_exact_shard {
	uint32_t lock;        /* 0: open, 1: held, 2: held and others wait */
	uint32_t count;       /* of blocks */
	uint32_t chunk_count; /* of the table */
	uint32_t full_count;  /* blocks at which it grows */
	struct gg_exact_chunk *chunks;
	uint64_t latest_ns;   /* no block has a later time */
	uint64_t large_count; /* blocks of 4 GiB or more */
	uint64_t is_first;    /* the chunks are part of the first mapping */
	uint64_t padding[2];
};

struct gg_exact_live {
	struct gg_exact_shard shards[GG_EXACT_SHARDS];
	uint64_t most_count; /* of one shard; 0: no limit but memory */
};

/*
 * Blocks within 64 bytes share their home, since programs allocate and free such blocks together.
 * Most allocators put two of them there at most.  The product spreads addresses at a fixed
 * distance evenly.
 */
static inline uint64_t gg_exact_hash(uint64_t address)
{
	return (address >> 6) * UINT64_C(0x9e3779b97f4a7c15);
}

static inline struct gg_exact_shard *gg_exact_shard(struct gg_exact_live *live, uint64_t hash)
{
	_Static_assert(GG_EXACT_SHARDS == 64, "the upper 6 bits of the hash");
	return &live->shards[hash >> 58];
}

/* The chunk at which the search begins: the next 32 bits of the hash, scaled to the table. */
static inline uint32_t gg_exact_home(const struct gg_exact_shard *shard, uint64_t hash)
{
	return (uint32_t)((uint64_t)(uint32_t)(hash >> 26) * shard->chunk_count >> 32);
}

/*
 * Fetches the chunk of an address that is needed soon.  A thread that moves the table meanwhile
 * makes it fetch something else, which does no harm.
 */
static inline void gg_exact_live_prefetch(struct gg_exact_live *live, uint64_t address)
{
	uint64_t hash = gg_exact_hash(address);
	const struct gg_exact_shard *shard = gg_exact_shard(live, hash);
	const struct gg_exact_chunk *chunk = &shard->chunks[gg_exact_home(shard, hash)];

	__builtin_prefetch(chunk, 1);
	__builtin_prefetch((const char *)chunk + 64, 1);
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
