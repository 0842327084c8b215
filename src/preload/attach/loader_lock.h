/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader_lock - visits the loaded modules while the loader neither adds nor removes one.
 *
 * dl_iterate_phdr() holds the lock of the loader's list while it calls back, and no module is
 * unmapped under it.  The lock may be taken again by its thread, so a function under it may call
 * dl_iterate_phdr() itself.  The loader holds it for moments only, and never while it calls code of
 * the program.
 *
 * Forks     A thread may hold the lock while another one forks.  In the child the lock then stays
 *           held for ever, so a forked child reads the loader's list without it.
 */
#pragma once

#include <elf.h>
#include <stdint.h>

struct gg_loaded_module {
	uint64_t base;
	uint64_t begin, end; /* its addresses */
	Elf64_Dyn *dynamic;
};

/* In the process that attaches, once for each attach: this process may take the lock. */
void gg_loader_lock_begin(void);

/* Calls the function once, under the lock if this process may take it. */
void gg_loader_lock_call(void (*function)(void *context), void *context);

/* Visits each module that has a dynamic section, from within gg_loader_lock_call(). */
void gg_loader_lock_each(void (*visit)(const struct gg_loaded_module *module, void *context),
                         void *context);
