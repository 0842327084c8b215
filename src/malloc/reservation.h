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
 * Strict   Where the kernel accounts for all memory that can be written (overcommit_memory=2,
 *          RLIMIT_DATA), only what is open counts.  The entries behind it are read-only.
 * Threads  the holder of the arena's lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct gg_malloc_reservation {
	size_t slice_max;  /* 0: nothing is reserved */
	size_t open_count; /* slices that are best opened at once */
	bool is_limited;   /* slices are mapped when they are opened */
};

/* Sets the addresses of gg_malloc_map.  False: there is no address space. */
bool gg_malloc_reserve(struct gg_malloc_reservation *ret_reservation);

/* Makes slices usable, with their slabs and entries.  False: no memory; they stay as they are. */
bool gg_malloc_open_slices(const struct gg_malloc_reservation *reservation, size_t first,
                           size_t count);
