/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter - is this pointer perhaps a sampled block?  Asked by every free of the program.
 *
 * An address has one cell of 16 bits: how many live addresses share it, and the exclusive or of
 * their fingerprints.  An empty cell says no; a cell of one address says no to another fingerprint;
 * a shared one says perhaps.  So one load and one branch answer nearly all frees, and one address in
 * two cells is not needed to be seldom wrong.  Adding and taking away are one CAS each, and undo
 * each other exactly.  A cell that reached 255 stays.
 *
 *   not there     the answer is exact: an address that was added is never missed
 *   false hits    with a share s of the cells in use, about s/256 + s^2/2: 0.2 % at 16 cells a live
 *                 address, when the filter doubles; 0.8 % at 1 M live addresses in 8 Mi cells, where
 *                 it stops (tests/unit/test_region_filter.c: under 1 % at 100 000 and under 5 % at
 *                 1 M, for addresses of many shapes, also after 10^8 came and went)
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
 * Memory    the caller's, all zero: gg_filter_bytes().  Two bytes a cell, twice that for all sizes.
 * Threads   any; also in signal handlers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"

enum {
	GG_FILTER_FIRST_CELLS = 8192, /* 16 KiB: 512 live addresses */
	GG_FILTER_SIZES_MAX = 11,     /* the last has 2^23 cells: 16 MiB */
	GG_FILTER_CELLS_PER_LIVE = 16,
	GG_FILTER_COUNT_MASK = 255 /* of a cell; the fingerprints are above */
};

struct gg_filter {
	/* The current cells' address + 64 - log2 of their number: one load for both. */
	uint64_t view;
	uint64_t live_count;
	uint16_t *cells[GG_FILTER_SIZES_MAX];
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
	uint32_t *homes;            /* one a record: incarnation * 256 + home */
	const uint64_t *addresses;  /* of record 0 */
	size_t address_stride;      /* words from one record's address to the next one's */
	const uint32_t *used_count; /* records */
};

/* Stands before gg_filter_init() in whatever is asked early: no pointer is in it. */
extern const uint16_t gg_filter_nothing[32];
#define GG_FILTER_EMPTY_VIEW ((uint64_t)(uintptr_t)gg_filter_nothing + 63)

/*
 * The cell: the highest bits of a product.  The factor was chosen at random among 60, as the one whose
 * cells hold 2 of 1 M addresses least often when they lie at equal distances (32 distances from 16
 * bytes to 2 MiB): the usual golden ratio is near a fraction for 48 bytes.  The test looks.
 */
static inline uint64_t gg_filter_hash(uint64_t address)
{
	return address * UINT64_C(0xe4093df8432a8be5);
}

/* From another hash, as addresses that share a cell have much in common. */
static inline uint16_t gg_filter_fingerprint(uint64_t address)
{
	uint64_t hash = (address ^ address >> 29) * UINT64_C(0xd6e8feb86659fd93);

	return hash >> 48 & (0xffff & ~GG_FILTER_COUNT_MASK);
}

static inline bool gg_filter_view_maybe(uint64_t view, uint64_t address)
{
	const uint16_t *cells = (const uint16_t *)(uintptr_t)(view & ~(uint64_t)63);
	/* Relaxed: whoever frees was given the pointer after it was added. */
	uint16_t cell = gg_load_relaxed(&cells[gg_filter_hash(address) >> (view & 63)]);

	if (gg_likely(cell == 0))
		return false;
	return (cell & GG_FILTER_COUNT_MASK) != 1 || cell - 1 == gg_filter_fingerprint(address);
}

/*
 * False: surely not among the added.  Cost: one load besides the filter's own word and one branch where
 * the cell is empty, 9 instructions on x86-64.
 */
static inline bool gg_filter_maybe(const struct gg_filter *filter, const void *pointer)
{
	/* Acquire: the cells of a new size were written before the view that shows them. */
	return gg_filter_view_maybe(gg_load_acquire(&filter->view), (uint64_t)(uintptr_t)pointer);
}

/* Sizes that are worth having for that many live addresses, and their bytes. */
size_t gg_filter_bytes(uint64_t record_count);

/* memory: all zero, 64-byte aligned.  The arrays of homes and addresses have record_count elements. */
void gg_filter_init(struct gg_filter *filter, void *memory, uint64_t record_count, uint32_t *homes,
                    const uint64_t *addresses, size_t address_stride, const uint32_t *used_count);

/* The record's address is set and counted in *used_count.  Before the program gets the pointer. */
void gg_filter_add(struct gg_filter *filter, uint32_t record);

/* Once for each add, and before the record's address changes. */
void gg_filter_remove(struct gg_filter *filter, uint32_t record);
