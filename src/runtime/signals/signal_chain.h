/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal_chain - shares a signal: our handler runs first, then the program's.
 *
 * The program does not notice.  The action that it sets by sigaction(), signal() or their relatives
 * is kept here and returned to it, and the kernel uses the flags and the mask of that action.
 *
 * Not so     A program that sets its handler by the bare system call gets the signal instead of us.
 * Threads    any; two threads that set handlers at once race, as they do with the system call.
 * Mask       with `blocks_others`, signals that no fault raises wait until ours ends or calls
 *            theirs, which gets the mask that the kernel would have set, by one system call.
 * Cost       two system calls when the signal is taken, and two for each of the program's calls for
 *            it.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

typedef void gg_signal_chain_handler(int, siginfo_t *, void *);

struct gg_signal_chain {
	int32_t signal;
	uint32_t is_on; /* 1: the signal comes to us, or did until the program ignored it */
	gg_signal_chain_handler *ours;
	bool takes_ignored;                     /* takes the signal even if it is ignored */
	bool blocks_others;                     /* no handler interrupts ours */
	struct sigaction theirs;                /* the program's action */
	gg_signal_chain_handler *their_handler; /* of that action: one word, for our handler */
};

/*
 * Keeps the kernel's current action as the program's and installs ours, unless ours is installed.
 */
void gg_signal_chain_take(struct gg_signal_chain *chain);

/* Installs the program's action again, if ours is installed. */
void gg_signal_chain_give_back(struct gg_signal_chain *chain);

/* Calls the program's handler from ours.  False: the program has set no handler. */
bool gg_signal_chain_call(struct gg_signal_chain *chain, siginfo_t *info, void *context);

/*
 * The hooks of sigaction() and its relatives call begin() before the real call, then replace_old()
 * and end().
 */
struct gg_signal_chain_hook {
	struct gg_signal_chain *chain; /* NULL: the signal does not come to us yet */
	struct sigaction before;       /* the program's action before the call */
};
struct gg_signal_chain_hook gg_signal_chain_begin(struct gg_signal_chain *chain);
/* Replaces our action by the program's in the old action that the program receives. */
void gg_signal_chain_replace_old(const struct gg_signal_chain_hook *hook, struct sigaction *old);
void (*gg_signal_chain_replace_old_handler(const struct gg_signal_chain_hook *hook,
                                           void (*old)(int)))(int);
/* After the program has set an action: keeps it and installs ours. */
void gg_signal_chain_end(const struct gg_signal_chain_hook *hook);

/* The chain of SIGSEGV, for the hooks; NULL: the signal is the program's alone. */
extern struct gg_signal_chain *gg_signal_chain_of_segv __attribute__((visibility("hidden")));
