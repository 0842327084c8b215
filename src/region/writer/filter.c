/* SPDX-License-Identifier: Apache-2.0 */
#include "region/writer/filter.h"

#include <string.h>

#include "region/writer/step.h"

enum {
	HOME_NONE = 0, /* home of a record in size g: 1 + g */
	HOME_MOVING = 128,
	HOME_MASK = 255,
	INCARNATION = 256,
	MOVED_AT_ONCE = 64, /* records that one add moves */
	CELLS_ALIGNMENT = 64
};

/* Two cells, from number 63 on. */
const uint8_t gg_filter_nothing[128] __attribute__((aligned(64)));

static size_t cells_of(uint32_t size)
{
	return (size_t)GG_FILTER_FIRST_CELLS << size;
}

/* The least that are enough for so many live addresses. */
static uint64_t cells_for(uint64_t live_count)
{
	uint64_t small = live_count * GG_FILTER_SMALL_PER_LIVE;
	uint64_t large = live_count * GG_FILTER_CELLS_PER_LIVE;

	if (small <= GG_FILTER_SMALL_CELLS)
		return small;
	return large > GG_FILTER_SMALL_CELLS ? large : GG_FILTER_SMALL_CELLS;
}

static uint32_t sizes_for(uint64_t record_count)
{
	uint32_t count = 1;

	while (count < GG_FILTER_SIZES_MAX && cells_of(count - 1) < cells_for(record_count))
		count++;
	return count;
}

/* Bits of a hash that are too many for a cell's number. */
static uint32_t shift_of(uint32_t size)
{
	return 1 + (uint32_t)__builtin_clzll(cells_of(size));
}

static uint64_t view_of(const struct gg_filter *filter, uint32_t size)
{
	return (uint64_t)(uintptr_t)filter->cells[size];
}

size_t gg_filter_bytes(uint64_t record_count)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < sizes_for(record_count); i++)
		bytes += cells_of(i) + CELLS_ALIGNMENT;
	return bytes;
}

void gg_filter_init(struct gg_filter *filter, void *memory, uint64_t record_count, uint32_t *homes,
                    const uint64_t *addresses, size_t address_stride, const uint32_t *used_count)
{
	uint8_t *next = memory;

	/* All but the view, which is asked meanwhile. */
	memset((uint8_t *)filter + sizeof(filter->view), 0, sizeof(*filter) - sizeof(filter->view));
	filter->memory = memory;
	filter->size_count = sizes_for(record_count);
	filter->homes = homes;
	filter->addresses = addresses;
	filter->address_stride = address_stride;
	filter->used_count = used_count;
	for (uint32_t i = 0; i < filter->size_count; i++) {
		filter->cells[i] = next + shift_of(i);
		next += cells_of(i) + CELLS_ALIGNMENT;
	}
	gg_store_release(&filter->view, view_of(filter, 0));
}

/* One CAS for count and fingerprints; what orders it for others is how the pointer gets around. */
static void change(struct gg_filter *filter, uint32_t size, uint64_t address, int by)
{
	uint8_t *cell = &filter->cells[size][gg_filter_hash(address) >> shift_of(size)];
	uint8_t old = gg_load_relaxed(cell), new;

	do {
		if ((old & GG_FILTER_COUNT_MASK) == GG_FILTER_COUNT_MASK)
			return; /* nobody knows how many any more */
		new = (uint8_t)((old ^ gg_filter_fingerprint(address)) + by);
	} while (!gg_cas_acq_rel(cell, &old, new));
}

static uint64_t address_of(const struct gg_filter *filter, uint32_t record)
{
	return gg_load_relaxed(&filter->addresses[record * filter->address_stride]);
}

/* Moves the record's count from one size to the next, unless somebody else did or takes it away. */
static void move(struct gg_filter *filter, uint32_t record, uint32_t to)
{
	/* Pairs with the adder's exchange, so the address is that of this incarnation. */
	uint32_t home = gg_load_seq_cst(&filter->homes[record]);
	uint32_t incarnation = home & ~(uint32_t)HOME_MASK;
	uint64_t address;

	if ((home & HOME_MASK) != to || /* 1 + the size before */
	    !gg_cas_acq_rel(&filter->homes[record], &home, incarnation | HOME_MOVING))
		return;
	/* If it is taken away now, this may be the next one's address: then it is added for a
	 * moment only. */
	address = address_of(filter, record);
	change(filter, to, address, 1);
	GG_STEP();
	home = incarnation | HOME_MOVING;
	if (!gg_cas_seq_cst(&filter->homes[record], &home, incarnation | (to + 1)))
		change(filter, to, address, -1);
}

/* The next size becomes the one that answers. */
static void finish_growing(struct gg_filter *filter, uint32_t newest)
{
	/* The view first: an adder that sees the new current adds to that size alone, and so has
	 * seen the view that shows it. */
	gg_store_release(&filter->view, view_of(filter, newest));
	gg_store_release(&filter->current, newest);
}

/* Moves a few records of those that were there when the next size was made. */
static void help_growing(struct gg_filter *filter, uint32_t newest)
{
	struct gg_filter_move *moves = &filter->moves[newest];
	/* Pairs with the release in start_growing(). */
	uint64_t limit = gg_load_acquire(&moves->limit), first, end;

	if (gg_load_relaxed(&moves->claimed) >= limit)
		return;
	first = gg_add_relaxed(&moves->claimed, MOVED_AT_ONCE);
	if (first >= limit)
		return;
	end = first + MOVED_AT_ONCE < limit ? first + MOVED_AT_ONCE : limit;
	for (uint64_t i = first; i < end; i++)
		move(filter, (uint32_t)i, newest);
	/* Acquire and release: the last one has seen what all others moved. */
	if (gg_add_acq_rel(&moves->done, end - first) + (end - first) == limit)
		finish_growing(filter, newest);
}

/* Makes the next size the one that new addresses go to as well. */
static void start_growing(struct gg_filter *filter, uint32_t current)
{
	uint32_t expected = current;

	/* Against gg_filter_add(), in one order: either it sees the new size, or its record is
	 * under the limit and its home is seen by who moves the records. */
	if (!gg_cas_seq_cst(&filter->newest, &expected, current + 1))
		return;
	gg_store_release(&filter->moves[current + 1].limit,
	                 (uint64_t)gg_load_seq_cst(filter->used_count));
}

void gg_filter_add(struct gg_filter *filter, uint32_t record)
{
	uint64_t address = address_of(filter, record);
	/* Pairs with finish_growing(): the view shows this size or a newer one. */
	uint32_t size = gg_load_acquire(&filter->current), newest;
	uint32_t incarnation = (gg_load_relaxed(&filter->homes[record]) & ~(uint32_t)HOME_MASK) +
	                       INCARNATION;

	change(filter, size, address, 1);
	/* Against start_growing(): each home is written before the newest size is read, again after
	 * each move, as who moves records for a newer size passes over one that is MOVING. */
	gg_exchange_seq_cst(&filter->homes[record], incarnation | (size + 1));
	newest = gg_load_seq_cst(&filter->newest);
	for (uint32_t next = size + 1; next <= newest; next++) {
		move(filter, record, next);
		newest = gg_load_seq_cst(&filter->newest);
	}
	if (newest != gg_load_relaxed(&filter->current))
		help_growing(filter, newest);
	else if (newest + 1 < filter->size_count &&
	         cells_for(gg_load_relaxed(filter->used_count)) > cells_of(newest))
		start_growing(filter, newest);
}

void gg_filter_remove(struct gg_filter *filter, uint32_t record)
{
	uint64_t address = address_of(filter, record);
	/* What is left is the incarnation, without a home. */
	uint32_t home = gg_and_acq_rel(&filter->homes[record], ~(uint32_t)HOME_MASK) & HOME_MASK;

	if (home == HOME_NONE)
		return;
	/* Who moves it will notice.  It moves into the newest size: the switch waits for it. */
	if (home == HOME_MOVING)
		home = gg_load_acquire(&filter->newest);
	change(filter, home - 1, address, -1);
}
