/* SPDX-License-Identifier: Apache-2.0 */
/* huge_blocks - maps, resizes and finds huge blocks. */
#include "malloc/huge_blocks.h"

#include <stdint.h>
#include <sys/auxv.h>

#include "base/assert.h"
#include "base/compiler.h"
#include "malloc/kernel_memory.h"

enum { FIRST_PLACES = 256 };

struct huge_block {
	void *p; /* NULL: an empty place */
	size_t bytes;
	struct gg_malloc_huge_note note;
};

struct gg_malloc_lock gg_malloc_huge_lock = { .part = GG_MALLOC_PART_HUGE };

/* A hash table with linear probing, at most half full; its capacity is a power of two. */
static struct huge_block *table;
static size_t capacity, count, total_bytes;

/*
 * Without handlers meanwhile: one that forks could not get the arena's lock while another thread's
 * handler, which interrupted the holder of that lock, forks as well (futex_lock.h).
 */
static uint64_t lock_table(void)
{
	uint64_t signals = gg_malloc_block_signals();

	gg_malloc_lock_take(&gg_malloc_huge_lock);
	return signals;
}

static void unlock_table(uint64_t signals)
{
	gg_malloc_lock_give(&gg_malloc_huge_lock);
	gg_malloc_restore_signals(signals);
}

static size_t home_of(const void *p, size_t places)
{
	return (size_t)(((uintptr_t)p >> 12) * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (places - 1);
}

static struct huge_block *find(const void *p)
{
	if (count == 0)
		return NULL;
	for (size_t i = home_of(p, capacity);; i = (i + 1) & (capacity - 1)) {
		if (table[i].p == p)
			return &table[i];
		if (table[i].p == NULL)
			return NULL;
	}
}

static void put(struct huge_block *places, size_t place_count, struct huge_block block)
{
	size_t i = home_of(block.p, place_count);

	while (places[i].p != NULL)
		i = (i + 1) & (place_count - 1);
	places[i] = block;
}

/* Makes room for one more; the lock is held. */
static bool reserve_place(void)
{
	size_t places = capacity == 0 ? FIRST_PLACES : 2 * capacity;
	struct huge_block *new;

	if (2 * (count + 1) <= capacity)
		return true;
	new = gg_malloc_map_memory(places * sizeof(*new), PROT_READ | PROT_WRITE, 0);
	if (new == NULL)
		return false;
	for (size_t i = 0; i < capacity; i++)
		if (table[i].p != NULL)
			put(new, places, table[i]);
	if (table != NULL)
		gg_malloc_unmap_memory(table, capacity * sizeof(*table));
	table = new;
	capacity = places;
	return true;
}

/* Empties a place, and moves blocks that it displaced; the lock is held. */
static void remove_place(struct huge_block *block)
{
	size_t hole = (size_t)(block - table), i = hole;

	total_bytes -= block->bytes;
	count--;
	for (;;) {
		size_t home;

		i = (i + 1) & (capacity - 1);
		if (table[i].p == NULL)
			break;
		home = home_of(table[i].p, capacity);
		if (((i - home) & (capacity - 1)) >= ((i - hole) & (capacity - 1))) {
			table[hole] = table[i];
			hole = i;
		}
	}
	table[hole] = (struct huge_block){ 0 };
}

static size_t whole_pages(size_t bytes)
{
	size_t page_bytes = getauxval(AT_PAGESZ);

	return (bytes + page_bytes - 1) & ~(page_bytes - 1);
}

/* Maps aligned memory; alignment_bytes over a page needs a larger mapping, whose ends go. */
static char *map(size_t bytes, size_t alignment_bytes)
{
	size_t extra = alignment_bytes > getauxval(AT_PAGESZ) ? alignment_bytes : 0, before, after;
	char *p;

	if (bytes > SIZE_MAX - extra)
		return NULL;
	p = gg_malloc_map_memory(bytes + extra, PROT_READ | PROT_WRITE, 0);
	if (p == NULL || extra == 0)
		return p;
	before = (size_t)(-(uintptr_t)p & (alignment_bytes - 1));
	after = extra - before;
	if (before != 0)
		gg_malloc_unmap_memory(p, before);
	if (after != 0)
		gg_malloc_unmap_memory(p + before + bytes, after);
	return p + before;
}

void *gg_malloc_huge_alloc(size_t bytes, size_t alignment_bytes)
{
	char *p = NULL;
	uint64_t signals;

	if (gg_malloc_lock_is_mine(&gg_malloc_huge_lock))
		return NULL;
	bytes = whole_pages(bytes);
	signals = lock_table();
	if (reserve_place())
		p = map(bytes, alignment_bytes);
	if (p != NULL) {
		put(table, capacity, (struct huge_block){ .p = p, .bytes = bytes });
		count++;
		total_bytes += bytes;
	}
	unlock_table(signals);
	return p;
}

size_t gg_malloc_huge_size(const void *p)
{
	const struct huge_block *block;
	size_t bytes;
	uint64_t signals;

	if (gg_malloc_lock_is_mine(&gg_malloc_huge_lock))
		return 0;
	signals = lock_table();
	block = find(p);
	bytes = block != NULL ? block->bytes : 0;
	unlock_table(signals);
	return bytes;
}

bool gg_malloc_huge_read_note(const void *p, struct gg_malloc_huge_note *ret_note)
{
	const struct huge_block *block;
	uint64_t signals;

	signals = lock_table();
	block = find(p);
	if (block != NULL)
		*ret_note = block->note;
	unlock_table(signals);
	return block != NULL;
}

void gg_malloc_huge_set_note(const void *p, struct gg_malloc_huge_note note)
{
	struct huge_block *block;
	uint64_t signals;

	signals = lock_table();
	block = find(p);
	gg_assert(block != NULL);
	block->note = note;
	unlock_table(signals);
}

void gg_malloc_huge_free(void *p)
{
	struct huge_block *block;
	size_t bytes;
	uint64_t signals;

	signals = lock_table();
	block = find(p);
	gg_assert(block != NULL);
	bytes = block->bytes;
	/* First: once the memory is unmapped, another thread may map a huge block there. */
	remove_place(block);
	unlock_table(signals);
	gg_malloc_unmap_memory(p, bytes);
}

void *gg_malloc_huge_resize(void *p, size_t bytes)
{
	struct huge_block *block, resized;
	void *moved = p;
	uint64_t signals;

	bytes = whole_pages(bytes);
	signals = lock_table();
	block = find(p);
	gg_assert(block != NULL);
	resized = *block;
	if (bytes != resized.bytes)
		moved = gg_malloc_remap_memory(p, resized.bytes, bytes);
	if (moved != NULL && bytes != resized.bytes) {
		remove_place(block);
		resized.p = moved;
		resized.bytes = bytes;
		put(table, capacity, resized);
		count++;
		total_bytes += bytes;
	}
	unlock_table(signals);
	return moved;
}

size_t gg_malloc_huge_total_bytes(void)
{
	size_t bytes;
	uint64_t signals;

	if (gg_malloc_lock_is_mine(&gg_malloc_huge_lock))
		return total_bytes;
	signals = lock_table();
	bytes = total_bytes;
	unlock_table(signals);
	return bytes;
}
