/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter - tells quickly that a pointer is no sampled block.  Every free of the program asks it.
 *
 * An address has one cell of 8 bits: how many live addresses share it (3 bits), and the exclusive or
 * of their fingerprints (5 bits).  An empty cell says no; a cell of one address says no to another fingerprint;
 * a shared one says perhaps.  So one load and one branch answer nearly all frees, and one address in
 * two cells is not needed to be seldom wrong.  Adding and taking away are one CAS each, and undo
 * each other exactly.  A cell that reached 7 stays: at 9 cells an address
 * three in 10^9 adds meet such a one.
 *
 *   not there     the answer is exact: an address that was added is never missed
 *   false hits    with a share s of the cells in use, about s/32 + s^2/2: 1 % at 9 cells a live
 *                 address, when the filter doubles, 0.3 % thereafter; 1.2 % at 1 M live addresses in
 *                 8 Mi cells, where it stops (tests/unit/test_region_filter.c: under 1 % at 100 000 and under 5 % at
 *                 1 M, for addresses of many shapes, also after 10^8 came and went)
 *   fingerprints  are compared by a share s of the frees, each a branch mispredicted.  So a filter that
 *                 fits the first-level cache doubles earlier, at 16 cells a live address: s is 3 to 6 %, and
 *                 0.4 % false hits at most.  (At 32 it is the cache's misses that cost more.)
 *
 * Growing   the next size starts empty and is filled by the threads that add, a few records each,
 *           while the current one goes on answering; the last one to finish switches.  Nobody waits.
 *           Each record's home says which size counts it:
 *
 *             home    the size that has it, and takes it away      writer
 *             g       g                                            adder
 *             MOVING  g; g + 1 soon                                CAS by who moves it
 *             g + 1   g + 1; a copy stays in g until the switch     who moved it
 *             NONE    none                                         exchange by who takes it away;
 *                                                                  if it was MOVING, the mover sees
 *                                                                  that and takes away its own
 *
 *           The home also counts the record's incarnations, so that a mover that slept through a
 *           removal and the next addition cannot take them for what it saw.
 *
 *           A thread that loaded the old size just before the switch may go on asking it: it asks
 *           for an address that it was given before, and those stay in the old cells for ever.
 *
 * Memory    the caller's, all zero: gg_filter_bytes().  One byte a cell, and as much again for the
 *           smaller sizes: 18 to 36 bytes a live address (of 1800 and more).
 * Threads   any; also in signal handlers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"

enum {
	GG_FILTER_FIRST_CELLS = 2048,    /* 2 KiB: 128 live addresses */
	GG_FILTER_SIZES_MAX = 13,        /* the last has 2^23 cells: 8 MiB */
	GG_FILTER_SMALL_CELLS = 1 << 14, /* up to there it grows at more cells a live address: */
	GG_FILTER_SMALL_PER_LIVE = 16,
	GG_FILTER_CELLS_PER_LIVE = 9,
	GG_FILTER_COUNT_MASK = 7 /* of a cell; the fingerprints are above */
};

struct gg_filter {
	/* The address of the current cells.  They begin at such a one that its lower 6 bits are how far
	 * to shift a hash: 64 - log2 of their number.  So one load gives both. */
	uint64_t view;   /* first */
	uint8_t *memory; /* the caller's */
	uint8_t *cells[GG_FILTER_SIZES_MAX];
	uint32_t size_count;
	uint32_t current; /* the size that answers */
	uint32_t newest;  /* current, or current + 1 while that is being filled */
	uint32_t padding;

	/* For each size: how far the records that were there when it was made have moved into it. */
	struct gg_filter_move {
		uint64_t
			limit; /* records from here on came later and are in it; 0: not yet known */
		uint64_t claimed, done; /* records */
	} moves[GG_FILTER_SIZES_MAX];

	/* The caller's: what has to move. */
	uint32_t *homes;           /* one a record: incarnation * 256 + home */
	const uint64_t *addresses; /* of record 0 */
	size_t address_stride;     /* words from one record's address to the next one's */
	/* Records that were ever in use: how many to move, and as many as may be live. */
	const uint32_t *used_count;
};

/* Stands before gg_filter_init() in whatever is asked early: no pointer is in it. */
extern const uint8_t gg_filter_nothing[128];
#define GG_FILTER_EMPTY_VIEW ((uint64_t)(uintptr_t)gg_filter_nothing + 63)

/*
 * The cell: the highest bits of a product.  The factor is one of many thousands that were drawn at
 * random: the one with the fewest false hits in the worst of 30 shapes of addresses (equal distances of
 * 16 bytes to 2 MiB, arenas) at six sizes from 1000 to 230 000.  It matters: with the usual golden
 * ratio, or an average one, some distances fill the same cells again and again.  The test looks.
 */
static inline uint64_t gg_filter_hash(uint64_t address)
{
	return address * UINT64_C(0x8d4b45055d925be1);
}

/* From another hash, as addresses that share a cell have much in common. */
static inline uint8_t gg_filter_fingerprint(uint64_t address)
{
	uint64_t hash = (address ^ address >> 29) * UINT64_C(0xd6e8feb86659fd93);

	return hash >> 56 & (0xff & ~GG_FILTER_COUNT_MASK);
}

static inline bool gg_filter_view_maybe(uint64_t view, uint64_t address)
{
	const uint8_t *cells = (const uint8_t *)(uintptr_t)view;
	/* Relaxed: whoever frees was given the pointer after it was added. */
	uint8_t cell = gg_load_relaxed(&cells[gg_filter_hash(address) >> (view & 63)]);

	if (gg_likely(cell == 0))
		return false;
	return (cell & GG_FILTER_COUNT_MASK) != 1 || cell - 1 == gg_filter_fingerprint(address);
}

/*
 * False: surely not among the added.  Cost: one load besides the filter's own word and one branch where
 * the cell is empty, 7 instructions on x86-64.
 */
static inline bool gg_filter_maybe(const struct gg_filter *filter, const void *pointer)
{
	/* Acquire: the cells of a new size were written before the view that shows them. */
	return gg_filter_view_maybe(gg_load_acquire(&filter->view), (uint64_t)(uintptr_t)pointer);
}

/* Sizes that are worth having for that many live addresses, and their bytes. */
size_t gg_filter_bytes(uint64_t record_count);

/* Others may ask meanwhile, if the view is one that can be asked: GG_FILTER_EMPTY_VIEW or an older one.
 * memory: all zero, 64-byte aligned.  The arrays of homes and addresses have record_count elements. */
void gg_filter_init(struct gg_filter *filter, void *memory, uint64_t record_count, uint32_t *homes,
                    const uint64_t *addresses, size_t address_stride, const uint32_t *used_count);

/* The record's address is set and counted in *used_count.  Before the program gets the pointer. */
void gg_filter_add(struct gg_filter *filter, uint32_t record);

/* Once for each add, and before the record's address changes. */
void gg_filter_remove(struct gg_filter *filter, uint32_t record);
