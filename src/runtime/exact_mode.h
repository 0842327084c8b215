/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_mode - GEIGER_EXACT=1: the process counts every allocation instead of sampling.
 *
 * The hooks stay as they are: no sampler ever gets a gap, so every allocation is due, and the
 * filter of live samples says "perhaps" to every free.  Their cold twins (preload/sample.c) then
 * pass each call to preload/exact_hooks.c.
 *
 * Threads  gg_exact_mode_begin() runs while one thread starts the process, the others in a forked
 *          child before any other thread counts.
 */
#pragma once

#include <stdbool.h>

#include "abi/agent_functions.h"
#include "base/compiler.h"
#include "region/writer/exact.h"

extern struct gg_exact gg_exact_mode __attribute__((visibility("hidden")));

/* In the preload library; in others, which have no hooks of malloc, its address is NULL. */
extern const struct gg_exact_calls gg_exact_calls __attribute__((weak, visibility("hidden")));

static inline bool gg_exact_mode_is_on(void)
{
	/* Acquire: pairs with the release of the starting thread, which has set up the rest. */
	return gg_load_acquire(&gg_exact_mode.is_on) != 0;
}

/* After the region was made.  0 or -ENOMEM. */
GG_COLD int gg_exact_mode_begin(void);

/* In a forked child, after it has adopted the region. */
GG_COLD void gg_exact_mode_adopted(void);

/* Handlers of pthread_atfork(): before the fork, and after it in the parent and in the child. */
void gg_exact_mode_before_fork(void);
void gg_exact_mode_after_fork(void);
void gg_exact_mode_in_child(void);
