/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter - excludes quickly that a pointer is a sampled block.  Every free of the program checks
 * it.
 *
 * Each address has one cell of 8 bits: the number of live addresses that share the cell (3 bits),
 * and the exclusive or of their fingerprints (5 bits).  An empty cell means no.  A cell with one
 * address means no for another fingerprint.  A shared cell means perhaps.  So one load and one
 * branch answer nearly all frees, and one cell for each address is enough for a low error rate.  An
 * addition and a removal are one CAS each, and undo each other exactly.  A cell whose count reached
 * 7 stays; with 9 cells an address, three in 10^9 additions meet such a cell.
 *
 * not there     This answer is exact: the filter never misses an address that was added.
 * false hits    With a share s of the cells in use, they are about s/32 + s^2/2: 1 % at 9 cells a
 *               live address, when the filter doubles, and 0.3 % thereafter.  With 1 M live
 *               addresses in 8 Mi cells, where it stops growing, they are 1.2 %.
 *               tests/unit/test_region_filter.c checks that they are below 1 % at 100 000 and below
 *               5 % at 1 M, for addresses of many shapes, also after 10^8 came and went.
 * fingerprints  A share s of the frees compares them, and each comparison is a mispredicted branch.
 *               So a filter that fits into the first-level cache doubles earlier, at 16 cells a
 *               live address: then s is 3 to 6 %, and false hits are at most 0.4 %.  (At 32 cells,
 *               the cache misses cost more.)
 *
 * Growing.  The next size starts empty.  The threads that add fill it, a few records each, while
 * the current size continues to answer.  The last thread to finish switches.  No thread waits.
 * Each record's home is the size that counts it:
 *
 *   home    the size that has it, and removes it          writer of the home
 *   g       g                                             the thread that adds
 *   MOVING  g; g + 1 soon                                 CAS by the thread that moves it
 *   g + 1   g + 1; a copy stays in g until the switch     the thread that moved it
 *   NONE    no size                                       exchange by the thread that removes it;
 *                                                         if it was MOVING, the mover sees that
 *                                                         and removes its own copy
 *
 * The home also counts the record's incarnations.  Otherwise a mover that slept through a removal
 * and the next addition could take the new record for the old one.
 *
 * A thread that loaded the old size just before the switch may continue to use it: it checks an
 * address that it got before, and these stay in the old cells for ever.
 *
 * Memory   It belongs to the caller and is all zero at first: gg_filter_bytes().  A cell has one
 *          byte, and the smaller sizes take as much again: 18 to 36 bytes a live address (of 1800
 *          and more).
 * Threads  Any thread may use it, also in signal handlers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"

enum {
	GG_FILTER_FIRST_CELLS = 2048, /* 2 KiB, for 128 live addresses */
	GG_FILTER_SIZES_MAX = 13,     /* the last size has 2^23 cells: 8 MiB */
	/* Up to this size, it grows at more cells a live address: */
	GG_FILTER_SMALL_CELLS = 1 << 14,
	GG_FILTER_SMALL_PER_LIVE = 16,
	GG_FILTER_CELLS_PER_LIVE = 9,
	GG_FILTER_COUNT_MASK = 7 /* count of a cell; its fingerprint is in the bits above */
};

struct gg_filter {
	/*
	 * The address of the current cells.  Its lower 6 bits are the shift of a hash: 64 - log2 of
	 * the number of cells.  So one load gives both.
	 */
	uint64_t view;   /* first */
	uint8_t *memory; /* memory of the caller */
	uint8_t *cells[GG_FILTER_SIZES_MAX];
	uint32_t size_count;
	uint32_t current; /* the size that answers */
	uint32_t newest;  /* current, or current + 1 while that size is being filled */
	uint32_t padding;

	/* The progress of each size: which of the older records have moved into it. */
	struct gg_filter_move {
		/* Later records, from this one on, are in it already; 0: unknown yet. */
		uint64_t limit;
		uint64_t claimed, done; /* records */
	} moves[GG_FILTER_SIZES_MAX];

	/* The caller's arrays, from which the records move. */
	uint32_t *homes;           /* one for each record: incarnation * 256 + home */
	const uint64_t *addresses; /* address of record 0 */
	size_t address_stride;     /* words from one record's address to the next one's */
	/* Records that were ever in use: the number to move, and the most that can be live. */
	const uint32_t *used_count;
};

/* The cells of a filter before gg_filter_init(): they contain no pointer. */
extern const uint8_t gg_filter_nothing[128];
#define GG_FILTER_EMPTY_VIEW ((uint64_t)(uintptr_t)gg_filter_nothing + 63)

/*
 * Returns a hash whose highest bits select the cell.  The factor is one of many thousands of random
 * ones: it has the fewest false hits in the worst of 30 shapes of addresses (equal distances of 16
 * bytes to 2 MiB, arenas) at six sizes from 1000 to 230 000.  The choice matters: with the usual
 * golden ratio, or an average factor, some distances fill the same cells again and again.  The test
 * checks that.
 */
static inline uint64_t gg_filter_hash(uint64_t address)
{
	return address * UINT64_C(0x8d4b45055d925be1);
}

/*
 * Returns the fingerprint, from another hash: the first hashes of addresses that share a cell have
 * much in common.
 */
static inline uint8_t gg_filter_fingerprint(uint64_t address)
{
	uint64_t hash = (address ^ address >> 29) * UINT64_C(0xd6e8feb86659fd93);

	return hash >> 56 & (0xff & ~GG_FILTER_COUNT_MASK);
}

static inline bool gg_filter_view_maybe(uint64_t view, uint64_t address)
{
	const uint8_t *cells = (const uint8_t *)(uintptr_t)view;
	/* Relaxed: the thread that frees got the pointer after it was added. */
	uint8_t cell = gg_load_relaxed(&cells[gg_filter_hash(address) >> (view & 63)]);

	if (gg_likely(cell == 0))
		return false;
	return (cell & GG_FILTER_COUNT_MASK) != 1 || cell - 1 == gg_filter_fingerprint(address);
}

/*
 * Returns false if the pointer is certainly not in the filter.  Cost: one load besides the filter's
 * own word, and one branch if the cell is empty; 7 instructions on x86-64.
 */
static inline bool gg_filter_maybe(const struct gg_filter *filter, const void *pointer)
{
	/* Acquire: the cells of a new size were written before the view that shows them. */
	return gg_filter_view_maybe(gg_load_acquire(&filter->view), (uint64_t)(uintptr_t)pointer);
}

/* Returns the bytes of all sizes that are useful for that many live addresses. */
size_t gg_filter_bytes(uint64_t record_count);

/*
 * Initializes a filter.  Other threads may check it meanwhile if its view is valid:
 * GG_FILTER_EMPTY_VIEW or an older view.  `memory` is all zero and aligned to 64 bytes.  The arrays
 * of homes and addresses have record_count elements.
 */
void gg_filter_init(struct gg_filter *filter, void *memory, uint64_t record_count, uint32_t *homes,
                    const uint64_t *addresses, size_t address_stride, const uint32_t *used_count);

/*
 * Adds a record, whose address is set and counted in *used_count.  Call it before the program gets
 * the pointer.
 */
void gg_filter_add(struct gg_filter *filter, uint32_t record);

/* True between gg_filter_add() and gg_filter_remove() of a record that no other thread removes. */
bool gg_filter_has(const struct gg_filter *filter, uint32_t record);

/* Removes a record: once for each gg_filter_add(), and before the record's address changes. */
void gg_filter_remove(struct gg_filter *filter, uint32_t record);
