/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_table - registers the modules of stacks in the region's module table.
 *
 * A module is registered when the first stack with a frame in it is interned.  The frame is on the
 * stack, so the module cannot be unloaded meanwhile, and no list of the loader needs to be walked.
 * Modules that never allocate cost nothing.
 *
 *   known stack                      one look-up in a small cache
 *   new stack, known pages           one look-up in a second cache for each frame
 *   unknown page                     _dl_find_object(), which is lock-free (glibc 2.35); without it
 *                                    the kernel's list of mappings (mapped_modules.h)
 *
 * Unloaded  A new epoch of the unwinder (unwind/walk/module_lookup.h) empties the caches.  A module
 *           at the address of an earlier one closes that one's entry.  A stack with the same
 *           addresses keeps its number; the load times tell which of the two modules a sample
 *           means.
 * Full      Beyond GG_MODULE_TABLE_MAX loaded modules, new ones are dropped and counted.
 * Threads   any; two threads that meet the same new module may register it twice.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GG_MODULE_TABLE_MAX = 2048 };

/* At the start.  by_listing: uses mapped_modules.h even if the loader has _dl_find_object(). */
void gg_module_table_init(bool by_listing);

/* For a new region that has no modules yet, while no other thread registers any. */
void gg_module_table_forget(void);

/*
 * Registers the modules of these pcs, which are frames of that stack; the modules of its other
 * frames are registered already.  `now_ns` is the time of the sample.  It becomes the load time of
 * a new module and the unload time of its predecessor at that address, so this sample belongs to
 * the new one.
 */
void gg_module_table_register(uint32_t stack, const uint64_t *pcs, uint32_t count, uint64_t now_ns);

/* True if both pcs are in one module; false also if that is unknown. */
bool gg_module_table_are_one_module(uint64_t pc, uint64_t other);

/*
 * Copies the path of a pc's module, and returns its bias: the difference between addresses in
 * memory and in the file.  False: no module, or nobody can look it up now.
 */
bool gg_module_table_find(uint64_t pc, char *ret_path, size_t path_max, uint64_t *ret_bias);
