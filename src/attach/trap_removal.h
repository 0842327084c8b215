/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trap_removal - takes traps out of code which the tracer that planted them has left there.
 *
 *   gg_trap_removal_run(&plan, &memory);          the helper was killed
 *   gg_trap_removal_clean_copies(&plan);          and so for its children
 *   count = gg_trap_removal_change(&memory, change, argument);
 *
 * Each change of code happens in a process of its own, which traces the program and stops the
 * threads that run (held_threads.h).  Threads at a trap execute it all the time.  Without the stop,
 * one program in ten crashed when its traps were removed, on a Xeon of 2023.  If the program cannot
 * be traced, the code is changed nevertheless, because its threads would stand for ever.
 *
 * Threads   The caller has no other children that end meanwhile, or does not mind: it waits for its
 *           own child alone.
 */
#pragma once

#include <stdint.h>

#include "attach/remote_memory.h"
#include "attach/trap_plan.h"

/*
 * Calls `change` while no thread of the program runs.  The call is made in another process, so that
 * it can change only shared memory and the program.  It returns a count of at most
 * GG_TRAPS_MAX, which this function returns.
 */
uint32_t gg_trap_removal_change(const struct gg_remote_memory *memory,
                                uint32_t (*change)(void *argument), void *argument);

/* Removes the traps of a plan in shared memory, if they are planted. */
void gg_trap_removal_run(struct gg_trap_plan *plan, const struct gg_remote_memory *memory);

/*
 * Removes them from all processes of which this process may read the memory: from children that
 * nobody traces any more.
 */
void gg_trap_removal_clean_copies(const struct gg_trap_plan *plan);
