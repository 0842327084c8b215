/* SPDX-License-Identifier: Apache-2.0 */
/* exact_live - hash tables of live blocks, in shards with locks. */
#include "region/writer/exact_live.h"

#include <errno.h>
#ifndef GG_MUSL
#include <linux/futex.h>
#endif
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "base/single_thread.h"

enum {
	CHUNK_PAGE_BYTES = 4096,
	DOUBLED_TO = 200,  /* chunks: smaller tables double */
	FULL_PERCENT = 80, /* of the slots: a table with more blocks grows */
	LOCK_TRIES = 100,
	ADDRESS_BITS = 48,
	ALL_SLOTS = (1 << GG_EXACT_CHUNK_SLOTS) - 1,
};

#define ADDRESS_MASK ((UINT64_C(1) << ADDRESS_BITS) - 1)

/* --- locks --- */

static GG_APART void lock_slowly(uint32_t *lock)
{
	int saved_errno = errno;

	for (int i = 0; i < LOCK_TRIES; i++) {
		uint32_t open = 0;

		if (gg_load_relaxed(lock) == 0 && gg_cas_acq_rel(lock, &open, 1))
			return;
#if defined(__x86_64__)
		__builtin_ia32_pause();
#endif
	}
	/* Acquire: pairs with the release of the last holder. */
	while (gg_exchange_acq_rel(lock, 2) != 0)
		syscall(SYS_futex, lock, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
	errno = saved_errno;
}

static inline void lock_shard(struct gg_exact_shard *shard)
{
	uint32_t open = 0;

	/* Acquire: pairs with the release of the last holder. */
	if (gg_likely(gg_is_single_threaded() && gg_load_relaxed(&shard->lock) == 0))
		gg_store_relaxed(&shard->lock, 1);
	else if (gg_unlikely(!gg_cas_acq_rel(&shard->lock, &open, 1)))
		lock_slowly(&shard->lock);
}

static GG_APART void wake(uint32_t *lock)
{
	int saved_errno = errno;

	syscall(SYS_futex, lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	errno = saved_errno;
}

static inline void unlock_shard(struct gg_exact_shard *shard)
{
	/* Release: the next holder sees the table.  It is an exchange to see who waits. */
	if (gg_likely(gg_is_single_threaded()))
		gg_store_release(&shard->lock, 0);
	else if (gg_unlikely(gg_exchange_acq_rel(&shard->lock, 0) == 2))
		wake(&shard->lock);
}

/* --- tables --- */

/* A slot of a table. */
struct chunk_slot {
	struct gg_exact_chunk *chunk;
	uint32_t slot;
};

static inline struct gg_exact_chunk *next_of(const struct gg_exact_shard *shard,
                                             struct gg_exact_chunk *chunk)
{
	chunk++;
	return chunk < shard->chunks + shard->chunk_count ? chunk : shard->chunks;
}

static inline struct gg_exact_chunk *home_of(const struct gg_exact_shard *shard, uint64_t hash)
{
	return &shard->chunks[gg_exact_home(shard, hash)];
}

static inline void unpack(const struct chunk_slot *place, struct gg_exact_block *ret_block)
{
	const struct gg_exact_chunk *chunk = place->chunk;
	uint64_t key = chunk->keys[place->slot];

	ret_block->address = key & ADDRESS_MASK;
	ret_block->time_ns = chunk->times_ns[place->slot];
	ret_block->size_bytes = key >> ADDRESS_BITS << 32 | chunk->sizes_low[place->slot];
	ret_block->stack = chunk->stacks[place->slot];
}

/* The key is the last store, so after a bare clone() no key has another block's values. */
static inline void pack(const struct chunk_slot *place, const struct gg_exact_block *block)
{
	struct gg_exact_chunk *chunk = place->chunk;

	chunk->times_ns[place->slot] = block->time_ns;
	chunk->sizes_low[place->slot] = (uint32_t)block->size_bytes;
	chunk->stacks[place->slot] = block->stack;
	gg_store_release(&chunk->keys[place->slot],
	                 block->address | block->size_bytes >> 32 << ADDRESS_BITS);
}

/* The slot of the chunk with that key, or GG_EXACT_CHUNK_SLOTS. */
static inline uint32_t slot_of(const struct gg_exact_chunk *chunk, uint64_t key, uint64_t mask)
{
	uint32_t slot = GG_EXACT_CHUNK_SLOTS;

#pragma GCC unroll 5
	for (uint32_t i = 0; i < GG_EXACT_CHUNK_SLOTS; i++)
		slot = (chunk->keys[i] & mask) == key ? i : slot;
	return slot;
}

/*
 * Finds any block, whatever its size: in its home, and in the chunks behind that, which blocks have
 * passed up to its own.
 */
static GG_APART bool search_all(const struct gg_exact_shard *shard, struct gg_exact_chunk *home,
                                uint64_t address, struct chunk_slot *ret_place)
{
	struct gg_exact_chunk *chunk = home;

	for (;;) {
		uint32_t slot = slot_of(chunk, address, ADDRESS_MASK);

		if (slot != GG_EXACT_CHUNK_SLOTS) {
			*ret_place = (struct chunk_slot){ chunk, slot };
			return true;
		}
		if (chunk->passed_count == 0)
			return false;
		chunk = next_of(shard, chunk);
		if (chunk == home)
			return false;
	}
}

static inline bool search(const struct gg_exact_shard *shard, uint64_t hash, uint64_t address,
                          struct chunk_slot *ret_place)
{
	struct gg_exact_chunk *home = home_of(shard, hash);
	uint32_t slot = slot_of(home, address, UINT64_MAX);

	if (gg_likely(slot != GG_EXACT_CHUNK_SLOTS)) {
		*ret_place = (struct chunk_slot){ home, slot };
		return true;
	}
	if (gg_likely((home->passed_count | shard->large_count) == 0))
		return false;
	return search_all(shard, home, address, ret_place);
}

/* Takes a free slot for an address that is not there.  There is one, since no table is full. */
static inline struct chunk_slot take_slot(const struct gg_exact_shard *shard, uint64_t hash)
{
	struct gg_exact_chunk *chunk = home_of(shard, hash);
	uint32_t slot;

	while (gg_unlikely(chunk->taken_slots == ALL_SLOTS)) {
		chunk->passed_count++;
		chunk = next_of(shard, chunk);
	}
	slot = (uint32_t)__builtin_ctz(~chunk->taken_slots);
	chunk->taken_slots |= 1u << slot;
	return (struct chunk_slot){ chunk, slot };
}

static inline void free_slot(const struct gg_exact_shard *shard, uint64_t hash,
                             const struct chunk_slot *place)
{
	struct gg_exact_chunk *chunk = home_of(shard, hash);

	gg_store_release(&place->chunk->keys[place->slot], 0);
	place->chunk->taken_slots &= ~(1u << place->slot);
	while (gg_unlikely(chunk != place->chunk)) {
		chunk->passed_count--;
		chunk = next_of(shard, chunk);
	}
}

static size_t bytes_of(uint32_t chunk_count)
{
	return ((size_t)chunk_count * sizeof(struct gg_exact_chunk) + CHUNK_PAGE_BYTES - 1) &
	       ~(size_t)(CHUNK_PAGE_BYTES - 1);
}

static uint32_t full_count(uint32_t chunk_count)
{
	return (uint32_t)((uint64_t)chunk_count * GG_EXACT_CHUNK_SLOTS * FULL_PERCENT / 100);
}

static void move_blocks(const struct gg_exact_shard *from, const struct gg_exact_shard *to)
{
	for (uint32_t i = 0; i < from->chunk_count; i++)
		for (uint32_t slot = 0; slot < GG_EXACT_CHUNK_SLOTS; slot++) {
			const struct chunk_slot old = { &from->chunks[i], slot };
			struct gg_exact_block block;
			struct chunk_slot new;

			unpack(&old, &block);
			if (block.address == 0)
				continue;
			new = take_slot(to, gg_exact_hash(block.address));
			pack(&new, &block);
		}
}

/* Moves the table to a larger one.  False: no memory, or the limit is reached. */
static GG_APART bool grow(struct gg_exact_live *live, struct gg_exact_shard *shard)
{
	uint64_t wanted = shard->chunk_count < DOUBLED_TO
	                          ? 2 * (uint64_t)shard->chunk_count
	                          : shard->chunk_count + shard->chunk_count / 4;
	struct gg_exact_shard larger = { .chunk_count = 0 };
	int saved_errno = errno;
	void *memory;

	if (wanted > UINT32_MAX / sizeof(struct gg_exact_chunk) ||
	    (live->most_count != 0 && shard->count >= live->most_count))
		return false;
	larger.chunk_count = (uint32_t)(bytes_of((uint32_t)wanted) / sizeof(struct gg_exact_chunk));
	memory = mmap(NULL, bytes_of(larger.chunk_count), PROT_READ | PROT_WRITE,
	              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED) {
		errno = saved_errno;
		return false;
	}
	/*
	 * A table grows by a quarter, and a huge page could be much more than that.  The flag also
	 * tells readers of /proc/PID/smaps whose memory it is, whatever its size.
	 */
	madvise(memory, bytes_of(larger.chunk_count), MADV_NOHUGEPAGE);
	errno = saved_errno;
	larger.chunks = memory;
	move_blocks(shard, &larger);
	if (!shard->is_first)
		munmap(shard->chunks, bytes_of(shard->chunk_count));
	shard->chunks = larger.chunks;
	shard->chunk_count = larger.chunk_count;
	shard->full_count = full_count(larger.chunk_count);
	shard->is_first = 0;
	errno = saved_errno;
	return true;
}

bool gg_exact_live_init(struct gg_exact_live *live, uint64_t most_count)
{
	size_t bytes = bytes_of(GG_EXACT_SHARDS * GG_EXACT_FIRST_CHUNKS);
	int saved_errno = errno;
	struct gg_exact_chunk *chunks = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (chunks != MAP_FAILED)
		madvise(chunks, bytes, MADV_NOHUGEPAGE); /* as in grow() */
	errno = saved_errno;
	if (chunks == MAP_FAILED)
		return false;
	*live = (struct gg_exact_live){ 0 };
	live->most_count = most_count == 0 ? 0
	                                   : (most_count + GG_EXACT_SHARDS - 1) / GG_EXACT_SHARDS;
	for (uint32_t i = 0; i < GG_EXACT_SHARDS; i++) {
		live->shards[i].chunks = chunks + (size_t)i * GG_EXACT_FIRST_CHUNKS;
		live->shards[i].chunk_count = GG_EXACT_FIRST_CHUNKS;
		live->shards[i].full_count = full_count(GG_EXACT_FIRST_CHUNKS);
		live->shards[i].is_first = 1;
	}
	return true;
}

void gg_exact_live_done(struct gg_exact_live *live)
{
	struct gg_exact_chunk *first = NULL;

	for (uint32_t i = 0; i < GG_EXACT_SHARDS; i++) {
		struct gg_exact_shard *shard = &live->shards[i];

		if (!shard->is_first && shard->chunks != NULL)
			munmap(shard->chunks, bytes_of(shard->chunk_count));
		else if (first == NULL && shard->chunks != NULL)
			first = shard->chunks - (size_t)i * GG_EXACT_FIRST_CHUNKS;
	}
	if (first != NULL)
		munmap(first, bytes_of(GG_EXACT_SHARDS * GG_EXACT_FIRST_CHUNKS));
	*live = (struct gg_exact_live){ 0 };
}

static inline bool is_large(const struct gg_exact_block *block)
{
	return block->size_bytes >> 32 != 0;
}

enum gg_exact_put gg_exact_live_put(struct gg_exact_live *live, const struct gg_exact_block *block,
                                    struct gg_exact_block *ret_replaced)
{
	uint64_t hash = gg_exact_hash(block->address);
	struct gg_exact_shard *shard = gg_exact_shard(live, hash);
	enum gg_exact_put result = GG_EXACT_PUT;
	struct chunk_slot place;

	gg_assert(block->address != 0 && block->address >> ADDRESS_BITS == 0);
	lock_shard(shard);
	if (gg_unlikely(shard->count >= shard->full_count) && !grow(live, shard)) {
		unlock_shard(shard);
		return GG_EXACT_FULL;
	}
	if (gg_unlikely(search(shard, hash, block->address, &place))) {
		unpack(&place, ret_replaced);
		shard->large_count -= is_large(ret_replaced);
		result = GG_EXACT_REPLACED;
	} else {
		place = take_slot(shard, hash);
		shard->count++;
	}
	if (block->time_ns > shard->latest_ns)
		shard->latest_ns = block->time_ns;
	if (gg_unlikely(is_large(block)))
		shard->large_count++;
	pack(&place, block);
	unlock_shard(shard);
	return result;
}

static inline bool find_block(struct gg_exact_live *live, uint64_t address, bool removes,
                              struct gg_exact_block *ret_block)
{
	uint64_t hash = gg_exact_hash(address);
	struct gg_exact_shard *shard = gg_exact_shard(live, hash);
	struct chunk_slot place;
	bool found;

	lock_shard(shard);
	found = address != 0 && search(shard, hash, address, &place);
	if (gg_likely(found))
		unpack(&place, ret_block);
	if (gg_likely(found) && removes) {
		free_slot(shard, hash, &place);
		shard->count--;
		if (gg_unlikely(is_large(ret_block)))
			shard->large_count--;
	}
	unlock_shard(shard);
	return found;
}

bool gg_exact_live_find(struct gg_exact_live *live, uint64_t address,
                        struct gg_exact_block *ret_block)
{
	return find_block(live, address, false, ret_block);
}

bool gg_exact_live_take(struct gg_exact_live *live, uint64_t address,
                        struct gg_exact_block *ret_block)
{
	return find_block(live, address, true, ret_block);
}

uint64_t gg_exact_live_count(const struct gg_exact_live *live)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < GG_EXACT_SHARDS; i++)
		count += gg_load_relaxed(&live->shards[i].count);
	return count;
}

uint64_t gg_exact_live_latest_ns(const struct gg_exact_live *live, uint64_t least_ns)
{
	uint64_t latest_ns = least_ns;

	for (uint32_t i = 0; i < GG_EXACT_SHARDS; i++)
		if (live->shards[i].latest_ns > latest_ns)
			latest_ns = live->shards[i].latest_ns;
	return latest_ns;
}

bool gg_exact_live_try_lock_all(struct gg_exact_live *live)
{
	for (uint32_t i = 0; i < GG_EXACT_SHARDS; i++) {
		uint32_t open = 0;

		if (gg_cas_acq_rel(&live->shards[i].lock, &open, 1))
			continue;
		while (i-- > 0)
			unlock_shard(&live->shards[i]);
		return false;
	}
	return true;
}

void gg_exact_live_lock_all(struct gg_exact_live *live)
{
	for (uint32_t i = 0; i < GG_EXACT_SHARDS; i++)
		lock_shard(&live->shards[i]);
}

void gg_exact_live_unlock_all(struct gg_exact_live *live)
{
	for (uint32_t i = 0; i < GG_EXACT_SHARDS; i++)
		unlock_shard(&live->shards[i]);
}
