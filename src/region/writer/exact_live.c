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
	SLOT_PAGE_BYTES = 4096,
	DOUBLED_TO = 1024, /* slots: smaller tables double */
	LOCK_TRIES = 100,
	ADDRESS_BITS = 48,
};

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

static inline uint64_t address_of(const struct gg_exact_slot *slot)
{
	return slot->key >> 16;
}

static inline uint32_t next_of(const struct gg_exact_shard *shard, uint32_t at)
{
	return at + 1 < shard->capacity ? at + 1 : 0;
}

static inline void unpack(const struct gg_exact_slot *slot, struct gg_exact_block *ret_block)
{
	ret_block->address = address_of(slot);
	ret_block->time_ns = slot->time_ns;
	ret_block->size_bytes = (slot->key & 0xffff) << 32 | slot->size_low;
	ret_block->stack = slot->stack;
}

static inline struct gg_exact_slot pack(const struct gg_exact_block *block)
{
	return (struct gg_exact_slot){ .key = block->address << 16 | block->size_bytes >> 32,
		                       .time_ns = block->time_ns,
		                       .size_low = (uint32_t)block->size_bytes,
		                       .stack = block->stack };
}

/* The slot of the address, or the free one where it belongs. */
static inline uint32_t search(const struct gg_exact_shard *shard, uint64_t hash, uint64_t address)
{
	uint32_t at = gg_exact_home(shard, hash);

	while (shard->slots[at].key != 0 && address_of(&shard->slots[at]) != address)
		at = next_of(shard, at);
	return at;
}

static size_t bytes_of(uint32_t capacity)
{
	return ((size_t)capacity * sizeof(struct gg_exact_slot) + SLOT_PAGE_BYTES - 1) &
	       ~(size_t)(SLOT_PAGE_BYTES - 1);
}

/* Moves the table to a larger one.  False: no memory, or the limit is reached. */
static GG_APART bool grow(struct gg_exact_live *live, struct gg_exact_shard *shard)
{
	uint64_t wanted = shard->capacity < DOUBLED_TO ? 2 * (uint64_t)shard->capacity
	                                               : shard->capacity + shard->capacity / 4;
	struct gg_exact_shard larger = { .count = shard->count };
	int saved_errno = errno;
	void *memory;

	if (wanted > UINT32_MAX / sizeof(struct gg_exact_slot) ||
	    (live->most_count != 0 && shard->count >= live->most_count))
		return false;
	larger.capacity = (uint32_t)(bytes_of((uint32_t)wanted) / sizeof(struct gg_exact_slot));
	memory = mmap(NULL, bytes_of(larger.capacity), PROT_READ | PROT_WRITE,
	              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED) {
		errno = saved_errno;
		return false;
	}
	/*
	 * A table grows by a quarter, and a huge page could be much more than that.  The flag also
	 * tells readers of /proc/PID/smaps whose memory it is, whatever its size.
	 */
	madvise(memory, bytes_of(larger.capacity), MADV_NOHUGEPAGE);
	errno = saved_errno;
	larger.slots = memory;
	for (uint32_t i = 0; i < shard->capacity; i++) {
		const struct gg_exact_slot *slot = &shard->slots[i];
		uint32_t at;

		if (slot->key == 0)
			continue;
		at = gg_exact_home(&larger, gg_exact_hash(address_of(slot)));
		while (larger.slots[at].key != 0)
			at = next_of(&larger, at);
		larger.slots[at] = *slot;
	}
	if (!shard->is_first)
		munmap(shard->slots, bytes_of(shard->capacity));
	shard->slots = larger.slots;
	shard->capacity = larger.capacity;
	shard->is_first = 0;
	errno = saved_errno;
	return true;
}

bool gg_exact_live_init(struct gg_exact_live *live, uint64_t most_count)
{
	size_t bytes = bytes_of(GG_EXACT_SHARDS * GG_EXACT_FIRST_SLOTS);
	int saved_errno = errno;
	struct gg_exact_slot *slots = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (slots != MAP_FAILED)
		madvise(slots, bytes, MADV_NOHUGEPAGE); /* as in grow() */
	errno = saved_errno;
	if (slots == MAP_FAILED)
		return false;
	*live = (struct gg_exact_live){ 0 };
	live->most_count = most_count == 0 ? 0
	                                   : (most_count + GG_EXACT_SHARDS - 1) / GG_EXACT_SHARDS;
	for (uint32_t i = 0; i < GG_EXACT_SHARDS; i++) {
		live->shards[i].slots = slots + (size_t)i * GG_EXACT_FIRST_SLOTS;
		live->shards[i].capacity = GG_EXACT_FIRST_SLOTS;
		live->shards[i].is_first = 1;
	}
	return true;
}

void gg_exact_live_done(struct gg_exact_live *live)
{
	struct gg_exact_slot *first = NULL;

	for (uint32_t i = 0; i < GG_EXACT_SHARDS; i++) {
		struct gg_exact_shard *shard = &live->shards[i];

		if (!shard->is_first && shard->slots != NULL)
			munmap(shard->slots, bytes_of(shard->capacity));
		else if (first == NULL && shard->slots != NULL)
			first = shard->slots - (size_t)i * GG_EXACT_FIRST_SLOTS;
	}
	if (first != NULL)
		munmap(first, bytes_of(GG_EXACT_SHARDS * GG_EXACT_FIRST_SLOTS));
	*live = (struct gg_exact_live){ 0 };
}

enum gg_exact_put gg_exact_live_put(struct gg_exact_live *live, const struct gg_exact_block *block,
                                    struct gg_exact_block *ret_replaced)
{
	uint64_t hash = gg_exact_hash(block->address);
	struct gg_exact_shard *shard = gg_exact_shard(live, hash);
	enum gg_exact_put result = GG_EXACT_PUT;
	struct gg_exact_slot *slot;

	gg_assert(block->address != 0 && block->address >> ADDRESS_BITS == 0);
	lock_shard(shard);
	if (gg_unlikely((uint64_t)(shard->count + 1) * 4 > (uint64_t)shard->capacity * 3) &&
	    !grow(live, shard)) {
		unlock_shard(shard);
		return GG_EXACT_FULL;
	}
	slot = &shard->slots[search(shard, hash, block->address)];
	if (gg_unlikely(slot->key != 0)) {
		unpack(slot, ret_replaced);
		result = GG_EXACT_REPLACED;
	} else {
		shard->count++;
	}
	if (block->time_ns > shard->latest_ns)
		shard->latest_ns = block->time_ns;
	*slot = pack(block);
	unlock_shard(shard);
	return result;
}

/* Frees a slot, and moves back the entries behind it whose search would end there. */
static inline void remove_slot(struct gg_exact_shard *shard, uint32_t hole)
{
	uint32_t at = hole;

	for (;;) {
		uint32_t home;

		at = next_of(shard, at);
		if (shard->slots[at].key == 0)
			break;
		home = gg_exact_home(shard, gg_exact_hash(address_of(&shard->slots[at])));
		/* It stays if its home is behind the hole, going round. */
		if (hole <= at ? hole < home && home <= at : hole < home || home <= at)
			continue;
		shard->slots[hole] = shard->slots[at];
		hole = at;
	}
	shard->slots[hole].key = 0;
	shard->count--;
}

bool gg_exact_live_find(struct gg_exact_live *live, uint64_t address,
                        struct gg_exact_block *ret_block)
{
	uint64_t hash = gg_exact_hash(address);
	struct gg_exact_shard *shard = gg_exact_shard(live, hash);
	const struct gg_exact_slot *slot;
	bool found;

	lock_shard(shard);
	slot = &shard->slots[search(shard, hash, address)];
	found = slot->key != 0;
	if (found)
		unpack(slot, ret_block);
	unlock_shard(shard);
	return found;
}

bool gg_exact_live_take(struct gg_exact_live *live, uint64_t address,
                        struct gg_exact_block *ret_block)
{
	uint64_t hash = gg_exact_hash(address);
	struct gg_exact_shard *shard = gg_exact_shard(live, hash);
	uint32_t at;
	bool found;

	lock_shard(shard);
	at = search(shard, hash, address);
	found = shard->slots[at].key != 0;
	if (gg_likely(found)) {
		unpack(&shard->slots[at], ret_block);
		remove_slot(shard, at);
	}
	unlock_shard(shard);
	return found;
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
