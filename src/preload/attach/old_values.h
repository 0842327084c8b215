/* SPDX-License-Identifier: Apache-2.0 */
/*
 * old_values - remembers what each changed slot held before, for the detach.
 *
 * A slot usually held the real function.  One that the program had not called through yet held an
 * address of its module's linkage table, and gets that back.  Entries of unloaded modules stay:
 * the next slot at such an address overwrites the entry.
 *
 * Full      Beyond GG_OLD_VALUES_MOST slots the value is not remembered, and the slot gets the real
 *           function back, which works as well.
 * Threads   one at a time: the thread that attaches, detaches, or looks for new modules.
 */
#pragma once

#include <stdint.h>

enum { GG_OLD_VALUES_MOST = 1 << 16 /* entries; a power of two */ };

void gg_old_values_put(const uint64_t *slot, uint64_t value);

/* Returns the value that the slot held, or `otherwise`. */
uint64_t gg_old_values_get(const uint64_t *slot, uint64_t otherwise);

/* Forgets all, after a detach. */
void gg_old_values_clear(void);
