/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader_lock - runs a function while the loader neither adds nor removes a module.
 *
 * dl_iterate_phdr() holds the lock of the loader's list while it calls back, and no module is
 * unmapped under it.  The lock may be taken again by its thread, so the function may call
 * dl_iterate_phdr() itself.  The loader holds it for moments only, and never while it calls code of
 * the program.
 */
#pragma once

void gg_loader_lock_call(void (*function)(void *context), void *context);
