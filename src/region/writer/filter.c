/* SPDX-License-Identifier: Apache-2.0 */
/* filter - adds and removes addresses, and moves them to larger sizes while others ask. */
#include "region/writer/filter.h"

#include <string.h>

#include "base/assert.h"
#include "region/writer/step.h"

enum {
	HOME_NONE = 0, /* home of a record in size g: 1 + g */
	HOME_MOVING = 128,
	HOME_MASK = 255,
	INCARNATION = 256,
	MOVED_AT_ONCE = 64, /* records that one add moves */
	CELLS_ALIGNMENT = 64
};

/* GG_FILTER_EMPTY_VIEW shows the cells from byte 63 on. */
const uint8_t gg_filter_nothing[128] __attribute__((aligned(64)));

static size_t cells_of(uint32_t size)
{
	return (size_t)GG_FILTER_FIRST_CELLS << size;
}

/* The least number of cells for so many live addresses. */
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

/* How far to shift a hash, so that the rest is the number of a cell. */
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

	/* The view stays as it is, because other threads may ask it meanwhile. */
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
	gg_assert((view_of(filter, 0) & 63) == shift_of(0));
	gg_store_release(&filter->view, view_of(filter, 0));
}

/*
 * Changes count and fingerprints of a cell by one CAS.  Nothing here orders the change for other
 * threads: a thread that frees a pointer got it from the thread that added it, and that hand-over
 * orders it.
 */
static void change(struct gg_filter *filter, uint32_t size, uint64_t address, int by)
{
	uint8_t *cell = &filter->cells[size][gg_filter_hash(address) >> shift_of(size)];
	uint8_t old = gg_load_relaxed(cell), new;

	do {
		if ((old & GG_FILTER_COUNT_MASK) == GG_FILTER_COUNT_MASK)
			return; /* a full cell has lost count, and stays as it is */
		new = (uint8_t)((old ^ gg_filter_fingerprint(address)) + by);
	} while (!gg_cas_acq_rel(cell, &old, new));
}

static uint64_t address_of(const struct gg_filter *filter, uint32_t record)
{
	return gg_load_relaxed(&filter->addresses[record * filter->address_stride]);
}

/*
 * Copies the count of a record from one size to the next, unless another thread has done so or
 * removes the record.  The steps:
 *
 *   1. The home becomes MOVING, by a CAS, so only one thread copies.
 *   2. The address is added to the next size.
 *   3. The home becomes the next size, by a CAS.  The CAS fails if the record was removed
 *      meanwhile.  This thread then takes its own addition back.
 */
static void move(struct gg_filter *filter, uint32_t record, uint32_t to)
{
	/*
	 * Pairs with the exchange in gg_filter_add(), so the address is that of this incarnation.
	 */
	uint32_t home = gg_load_seq_cst(&filter->homes[record]);
	uint32_t incarnation = home & ~(uint32_t)HOME_MASK;
	uint64_t address;

	if ((home & HOME_MASK) != to || /* 1 + the size before */
	    !gg_cas_acq_rel(&filter->homes[record], &home, incarnation | HOME_MOVING))
		return;
	/* If the record is removed and reused right now, this is the next sample's address.  It
	 * stays in the next size for a moment only, because the CAS below fails. */
	address = address_of(filter, record);
	change(filter, to, address, 1);
	GG_STEP();
	home = incarnation | HOME_MOVING;
	if (!gg_cas_seq_cst(&filter->homes[record], &home, incarnation | (to + 1)))
		change(filter, to, address, -1);
}

/* Makes the next size the one that answers. */
static void finish_growing(struct gg_filter *filter, uint32_t newest)
{
	/*
	 * The view comes first.  A thread that sees the new current size adds to that size alone,
	 * so it must also see the view that shows it.
	 */
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
	/* Acquire and release: the last thread sees everything that the others moved. */
	if (gg_add_acq_rel(&moves->done, end - first) + (end - first) == limit)
		finish_growing(filter, newest);
}

/* Begins to fill the next size: from now on, new addresses go there as well. */
static void start_growing(struct gg_filter *filter, uint32_t current)
{
	uint32_t expected = current;

	/* Sequentially consistent with gg_filter_add(): either that call sees the new size, or its
	 * record is below the limit, and the thread that moves it sees its home. */
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
	/*
	 * Sequentially consistent with start_growing(): each home is written before the newest size
	 * is read.  The loop reads it again after each move, because a thread that moves records to
	 * a newer size skips those that are MOVING.
	 */
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

bool gg_filter_has(const struct gg_filter *filter, uint32_t record)
{
	return (gg_load_relaxed(&filter->homes[record]) & (uint32_t)HOME_MASK) != HOME_NONE;
}

void gg_filter_remove(struct gg_filter *filter, uint32_t record)
{
	uint64_t address = address_of(filter, record);
	/* The incarnation stays, without a home. */
	uint32_t home = gg_and_acq_rel(&filter->homes[record], ~(uint32_t)HOME_MASK) & HOME_MASK;

	if (home == HOME_NONE)
		return;
	/* The thread that moves the record will notice.  It is moving it into the newest size,
	 * because the switch to that size waits for every move. */
	if (home == HOME_MOVING)
		home = gg_load_acquire(&filter->newest);
	gg_assert(home - 1 < filter->size_count);
	change(filter, home - 1, address, -1);
}
