/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sigbus_guard - a region that somebody else cuts short does not take the program with it.
 *
 * A store into a page of a mapped file that the file no longer has is a SIGBUS.  Nothing keeps root or
 * the same user from truncating a region, and some file systems find out at a store that a disk is
 * full, also for pages that were there before.  So while a region is mapped, SIGBUS comes here first:
 *
 *   in the region   memory of no file takes the place of the whole mapping, the store is done again, and
 *                   the process is not profiled any more, which is told
 *   in guard_touch  the touch has failed (below)
 *   elsewhere       the program's: its handler is called, or the signal ends it, as without us
 *
 * Programs do not notice (signal_chain.h).  A program that ignores SIGBUS, so that those it executes ignore it,
 * does.
 *
 * Not so     where the program sets its handler by the bare system call, or ignores the signal, or the
 *            thread blocks it: there a region that is cut short ends the program, as any file would.
 * Threads    any.  Two that set handlers at once are on their own, as with the system call.
 * Cost       two system calls at start, and of the program's calls for SIGBUS.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "runtime/signals/signal_chain.h"

/* From now on; the mapping may be cut short.  At most two at a time, by one thread at a time. */
GG_COLD void gg_sigbus_guard_watch(void *begin, size_t bytes);
/* The mapping is gone. */
GG_COLD void gg_sigbus_guard_forget(const void *begin);

/*
 * Writes to a page of a watched mapping what it has.  0: it cannot be had, because the disk is full; 1 else.
 * Makes no system call.
 */
int gg_sigbus_guard_touch(void *page);

/* A watched mapping was cut short in this process. */
bool gg_sigbus_guard_is_lost(void);

/* SIGBUS, for the hooks of sigaction() and its relatives. */
extern struct gg_signal_chain gg_guard_chain __attribute__((visibility("hidden")));
