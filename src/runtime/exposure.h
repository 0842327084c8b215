/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exposure - the coarsest sampling interval that allocations of this process were exposed to.
 *
 * A block without a sample may be as large as the interval allows that it was allocated under, and
 * no sample tells which one that was: a thread may have its own, the start another one, and the
 * process may have had several.  Readers of the region find the largest of them in its counter
 * GG_COUNT_COARSEST_INTERVAL.
 *
 * Threads    any.
 */
#pragma once

#include <stdint.h>

/* Forgets everything: the process starts, and what follows is new. */
void gg_exposure_begin(void);

/* Notes that allocations are exposed to this interval from now on.  Call it before they are. */
void gg_exposure_note(uint64_t interval_bytes);

/* Notes that allocations pass unseen from now on, because sampling is switched off. */
void gg_exposure_note_off(void);

/* Call it when the process has a new region: it states there what was noted before. */
void gg_exposure_publish(void);
