/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sigbus_guard - keeps the program alive when somebody truncates the file of its region.
 *
 * A store into a page of a mapped file that the file no longer has raises SIGBUS.  Root and the
 * same user may truncate a region.  Some file systems also notice only at a store that the disk is
 * full, even for pages that existed before.  So while a region is mapped, SIGBUS comes to this
 * handler first:
 *
 *   a store into a region     anonymous memory replaces the whole mapping, and the store is
 *                             repeated; the process stops recording, and logs that
 *   gg_sigbus_guard_touch()   returns 0
 *   any other access          the program's handler is called, or the signal ends the program, as
 *                             it would without us
 *
 * Programs do not notice (signal_chain.h), except for those that ignore SIGBUS so that the programs
 * they execute ignore it as well.
 *
 * Not so     A truncated region ends the program, as any file would, if the program set its handler
 *            by the bare system call, ignores the signal, or blocks it in the thread.
 * Threads    any; two threads that set handlers at once race, as they do with the system call.
 * Cost       two system calls at the start, and two for each of the program's calls for SIGBUS.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "runtime/signals/signal_chain.h"

/* Guards the mapping from now on.  At most two at a time, by one thread at a time. */
GG_COLD void gg_sigbus_guard_add(void *begin, size_t bytes);
/* Ends the guard: the mapping is gone. */
GG_COLD void gg_sigbus_guard_remove(const void *begin);

/*
 * Stores into a page of a guarded mapping without changing it, so that the page gets its space.
 * Returns 1, or 0 if the disk is full.  Makes no system call.
 */
int gg_sigbus_guard_touch(void *page);

/* After a detach: no mapping is guarded, and the signal is the program's alone again. */
void gg_sigbus_guard_end(void);

/* True if a guarded mapping of this process was truncated. */
bool gg_sigbus_guard_is_lost(void);

/* The chain of SIGBUS, for the hooks of sigaction() and its relatives. */
extern struct gg_signal_chain gg_sigbus_guard_chain __attribute__((visibility("hidden")));
