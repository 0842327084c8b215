/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reservation - the address space of the arena, and which part of it can be used.
 *
 *   slabs                 entries           slices
 *   one of 128 bytes a    one pointer a     for sampled slots, and then for runs
 *   slice, opened with    slice, opened
 *   the slices            with the slices
 *
 * Normally all of it is one mapping that is PROT_NONE, so it costs nothing and nobody else maps
 * memory there.  It has 64 GiB, or four times the machine's memory if that is more, and is halved
 * until the kernel grants it.  Slices are opened by mprotect().
 *
 * Limited  If the process may have less address space than that (RLIMIT_AS), a reservation would
 *          take it from the program.  Then slices are mapped when they are opened, at addresses
 *          half-way to those where the kernel maps.  The arena can grow as far as the limit does.
 * Later    A program may set that limit after the start.  Then the closed slices are unmapped
 *          (gg_malloc_release_reservation()), and are mapped when they are opened.  The kernel maps
 *          from the top down, and the slices open from the bottom up, so they do not meet.  If the
 *          kernel maps from the bottom up, the reservation stays.
 * Strict   Where the kernel accounts for all memory that can be written (overcommit_memory=2,
 *          RLIMIT_DATA), only what is open counts.  The entries behind it are read-only.
 * Threads  the holder of the arena's lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct gg_malloc_reservation {
	size_t slice_max;  /* 0: nothing is reserved */
	size_t slots_max;  /* slices for sampled slots; those for runs follow */
	size_t open_count; /* slices that are best opened at once */
	bool is_limited;   /* slices are mapped when they are opened */
	/* There are slabs of the slices in [0, slot_table_end) and [slots_max, table_end). */
	size_t slot_table_end, table_end;
};

/* Sets the addresses of gg_malloc_map.  False: there is no address space. */
bool gg_malloc_reserve(struct gg_malloc_reservation *ret_reservation);

/* Makes slices usable, with their slabs and entries.  False: no memory; they stay as they are. */
bool gg_malloc_open_slices(struct gg_malloc_reservation *reservation, size_t first, size_t count);

/* True if a process whose address space is limited to that should have no such reservation. */
bool gg_malloc_reservation_exceeds(const struct gg_malloc_reservation *reservation,
                                   size_t limit_bytes);

/*
 * Gives address space back that a process does not need whose address space is limited from now on.
 * [0, slots_end) and [slots_max, slices_end) are open.
 */
void gg_malloc_release_reservation(struct gg_malloc_reservation *reservation, size_t limit_bytes,
                                   size_t slots_end, size_t slices_end);
