/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena - one reservation of address space, and the runs of slices that it is divided into.
 *
 * The arena opens the reservation (reservation.h) as a growing prefix, and so needs a handful of
 * mappings.  One slice in 16 is for sampled slots, the others are for runs.
 *
 * Runs     Free runs are in bins by length; both ends of a run know its length, so a freed run
 *          joins its free neighbors at once.  Runs that were never touched, or were given back to
 *          the kernel, are clean.  Clean runs are joined with clean ones only, and calloc() relies
 *          on their zeros.
 * Slots    Slabs of sampled slots have slices of their own, because they exist only with sampling:
 *          the addresses of runs must be the same without them (docs/MALLOC.md).
 * Purge    Free runs with old contents go back to the kernel (purge.h), and are clean then.  A
 *          kernel that refuses, as for locked memory, is tried again after a while.
 * Threads  any; one lock.
 * Handlers A signal handler whose thread holds the lock gets NULL or false.  The runs
 *          that it gives wait for the next holder (section.h).
 * Failure  NULL, with errno untouched.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "malloc/futex_lock.h"
#include "malloc/slab.h"

/*
 * Takes a run that starts at a multiple of alignment_bytes (a power of two).  Its owner is
 * GG_MALLOC_OWNER_RUN; `is_zero` says whether it is clean.
 *
 * wants_zeros: the caller writes zeros to all of a run that is not clean.  So no clean slices are
 * joined to a dirty run, because the program may never touch them.
 */
struct gg_malloc_slab *gg_malloc_arena_take(size_t slice_count, size_t alignment_bytes,
                                            bool wants_zeros);

/* Takes slices for sampled slots. */
struct gg_malloc_slab *gg_malloc_arena_take_for_slots(size_t slice_count);

/* Takes such slices back that were never used.  They serve the next call for as many. */
void gg_malloc_arena_give_for_slots(struct gg_malloc_slab *slab);

/* Returns the number of the first slice that is not for sampled slots. */
size_t gg_malloc_arena_first_slice(void);

/* True if nobody but the arena can have memory at the address, whether a slice is there or not. */
bool gg_malloc_arena_has(const void *p);

/* Gives a run or an empty slab back. */
void gg_malloc_arena_give(struct gg_malloc_slab *slab);

/*
 * Makes a run longer or shorter at its end.  False: the slices behind it are in use.  The new part
 * is clean if the whole run then is; otherwise `is_zero` becomes false.
 */
bool gg_malloc_arena_resize(struct gg_malloc_slab *slab, size_t slice_count);

/* Gives all free runs back to the kernel; true: there were some. */
bool gg_malloc_arena_purge(void);

/* Gives old ones back (purge.h), if some time has passed since the last call. */
void gg_malloc_arena_purge_aged(uint32_t now_ms);

/* Sets how long free memory waits; GG_MALLOC_PURGE_NEVER: until something else purges it. */
void gg_malloc_arena_set_delay(uint32_t delay_ms);

/* Bytes of runs and slabs in use, without a lock. */
size_t gg_malloc_arena_used_bytes(void);

/* Before the process limits its address space: gives back what is reserved (reservation.h). */
void gg_malloc_arena_limit(size_t limit_bytes);

struct gg_malloc_arena_totals {
	size_t opened_bytes, free_bytes, dirty_bytes, slot_bytes;
};
void gg_malloc_arena_read_totals(struct gg_malloc_arena_totals *ret_totals);

/* For fork() and for the validator. */
extern struct gg_malloc_lock gg_malloc_arena_lock __attribute__((visibility("hidden")));

/* For the validator, which holds the lock: NULL if everything adds up, else what does not. */
const char *gg_malloc_arena_check(void);
