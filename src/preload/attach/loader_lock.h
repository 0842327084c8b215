/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader_lock - visits the loaded modules while the loader neither adds nor removes one.
 *
 * dl_iterate_phdr() holds the lock of the loader's list while it calls back, and no module is
 * unmapped under it.  The lock may be taken again by its thread, so a function under it may call
 * dl_iterate_phdr() itself.  The loader holds it for moments only, and while it calls back for a
 * dl_iterate_phdr() of the program.
 *
 * Limit     A callback of the program that waits for a lock of the program, whose owner allocates
 *           and then waits here for the callback to end, hangs both.  A dlopen() of the owner would
 *           do the same without geiger.
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
	uint64_t relro_begin,
		relro_end; /* PT_GNU_RELRO in whole pages, rounded as the loader does */
	Elf64_Dyn *dynamic;
};

/* In the process that attaches, once for each attach: this process may take the lock. */
void gg_loader_lock_begin(void);

/* Calls the function once, under the lock if this process may take it. */
void gg_loader_lock_call(void (*function)(void *context), void *context);

/* Visits each module that has a dynamic section, from within gg_loader_lock_call(). */
void gg_loader_lock_each(void (*visit)(const struct gg_loaded_module *module, void *context),
                         void *context);
