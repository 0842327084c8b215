/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_signal - the signal that requests a dump.
 *
 * Its handler writes the dump (dump_trigger.h) and then calls the program's handler, if it has one.
 * Without one nothing more happens: a signal that would end the program does not while it is taken.
 * Like any handled signal, it interrupts calls that cannot be restarted (nanosleep, poll).
 */
#pragma once

#include "runtime/signals/signal_chain.h"

/* Runs in the signal handler, on any thread. */
typedef void gg_dump_signal_handler(void);

/*
 * Takes the signal (0: none) from now on, and gives the one before back to the program.  `handler`
 * is the same at each call.
 */
void gg_dump_signal_take(int signal, gg_dump_signal_handler *handler);

extern struct gg_signal_chain gg_dump_signal_chain __attribute__((visibility("hidden")));
