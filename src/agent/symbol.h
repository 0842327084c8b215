/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol - finds the definition of a function that comes after ours in the loader's order.
 *
 * What dlsym(RTLD_NEXT, name) does, without its lock and its allocations: the loader's list of
 * objects (r_debug, the debugger's interface of every ELF loader) is walked from us on, and each
 * object's own hash table is asked.
 *
 * Threads  any; also before constructors ran.  The list is not locked: an object that is being
 *          unloaded by another thread must not be met, which holds for those loaded at start.
 */
#pragma once

/* The address of the next definition; `instead` if there is none. */
void *gg_symbol_next(const char *name, void *instead);
