/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_signal - the signal that asks for a dump.
 *
 * Its handler writes the dump (dump_trigger.h), and then calls the program's, if it has one.  Where it has none
 * nothing more happens: a signal that would end the program does not, once we have it.  Like any handled
 * signal it ends calls that wait and cannot be restarted (nanosleep, poll).
 */
#pragma once

#include "runtime/signals/signal_chain.h"

/* The signal from now on (0: none), instead of the one before, which is given back. */
void gg_dump_signal_take(int signal);

extern struct gg_signal_chain gg_dump_signal_chain __attribute__((visibility("hidden")));
