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
 * Forks     glibc does not release the lock in a forked child, where a thread of the parent held
 *           it: the next dlopen() of the child would wait for ever.  So a fork() waits, in a
 *           handler of pthread_atfork(), while a thread of this process is within
 *           gg_loader_lock_call().  Threads of the program that call dl_iterate_phdr() themselves
 *           hold the lock as before, so a forked child reads the loader's list without it.
 */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

struct gg_loaded_module {
	uint64_t base;
	uint64_t begin, end; /* its addresses */
	uint64_t relro_begin,
		relro_end; /* PT_GNU_RELRO in whole pages, rounded as the loader does */
	Elf64_Dyn *dynamic;
};

/* In the process that attaches, first for each attach: this process may take the lock. */
void gg_loader_lock_begin(void);

/*
 * No other thread forks by fork() until the release, or within two seconds if it does so already; a
 * fork waits as long at most.  Nests.  False: the time is over, and the caller goes on without.
 */
bool gg_loader_lock_hold_forks(void);

/* Does nothing in a thread that does not hold them. */
void gg_loader_lock_release_forks(void);

/* Calls the function once, under the lock if this process may take it. */
void gg_loader_lock_call(void (*function)(void *context), void *context);

/* Visits each module that has a dynamic section, from within gg_loader_lock_call(). */
void gg_loader_lock_each(void (*visit)(const struct gg_loaded_module *module, void *context),
                         void *context);
