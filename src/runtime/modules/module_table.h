/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_table - which modules the pcs of stacks are in, for the region's module table.
 *
 * A module is noted when the first stack that has a frame in it is interned.  It cannot go away
 * meanwhile: the frame is on the stack.  So no list of the loader's is walked, and nothing is asked
 * for modules that never allocate.
 *
 *   known stack                      one look into a small cache
 *   new stack, known pages           one look into another one a frame
 *   a page that is not in it         _dl_find_object(): lock-free, glibc from 2.35; without it the
 *                                    kernel's list of mappings (mapped_modules.h)
 *
 * Unloaded  a new epoch of the unwinder's (unwind/walk/module_lookup.h) makes the caches forget; a module that
 *           lies where an earlier one did closes that one's entry.  A stack of the same addresses
 *           keeps its number: the times of loading tell which of the two a sample means.
 * Full      more than GG_MODULE_TABLE_MAX modules that are loaded at once: dropped, counted.
 * Threads   any; two that meet the same new module may note it twice.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { GG_MODULE_TABLE_MAX = 2048 };

/* At the start; by_listing: even if there is _dl_find_object(). */
void gg_module_table_init(bool by_listing);

/*
 * Sees that the modules of these pcs, of that stack, are in the table; its other ones are.  `now_ns` is
 * the time of the sample: what is new there was loaded by then, and what lay there before was gone.  So a
 * sample at the very time of an unloading belongs to the successor.
 */
void gg_module_table_note(uint32_t stack, const uint64_t *pcs, uint32_t count, uint64_t now_ns);

/* Are both pcs in the same module?  False where that cannot be told. */
bool gg_module_table_are_one_module(uint64_t pc, uint64_t other);
