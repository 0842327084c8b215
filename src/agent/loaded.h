/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaded - which modules the pcs of stacks are in, for the region's module table.
 *
 * A module is noted when the first stack that has a frame in it is interned.  It cannot go away
 * meanwhile: the frame is on the stack.  So no list of the loader's is walked, and nothing is asked
 * for modules that never allocate.
 *
 *   known stack                      nothing is done
 *   new stack, known pages           one look into a small cache a frame
 *   a page that is not in it         _dl_find_object(): lock-free, glibc from 2.35; without it no
 *                                    module is noted
 *
 * Unloaded  a new epoch of the unwinder's (unwind/modules.h) makes the cache forget; a module that
 *           lies where an earlier one did closes that one's entry.
 * Full      more than GG_LOADED_MAX modules: dropped, counted.
 * Threads   any; two that meet the same new module may note it twice.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { GG_LOADED_MAX = 2048 };

/* One thread's: all-zero is valid. */
struct gg_loaded_thread {
	uint32_t seen_stacks; /* stacks that were there at its last look */
};

/* Sees that the modules of these pcs are in the table; pcs[0] is the innermost. */
void gg_loaded_note(struct gg_loaded_thread *thread, const uint64_t *pcs, uint32_t count);

/* Are both pcs in the same module?  False where that cannot be told. */
bool gg_loaded_are_one_module(uint64_t pc, uint64_t other);
