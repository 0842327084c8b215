/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal_chain - a signal that comes to us first, and then to the program.
 *
 * Programs do not notice: what they set by sigaction(), signal() and their relatives is kept here, they get
 * it back, and its flags and mask are those that the kernel uses.
 *
 * Not so     where the program sets its handler by the bare system call: then it has the signal alone.
 * Threads    any.  Two that set handlers at once are on their own, as with the system call.
 * Cost       two system calls when it is taken, and of the program's calls for that signal.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

typedef void gg_signal_chain_handler(int, siginfo_t *, void *);

struct gg_signal_chain {
	int32_t signal;
	uint32_t is_on; /* it comes to us, or did until the program ignored it */
	gg_signal_chain_handler *ours;
	bool takes_ignored;      /* also where the program, or who started it, ignores the signal */
	struct sigaction theirs; /* the program's.  The handler on its own: */
	gg_signal_chain_handler *their_handler; /* it is read when the signal comes */
};

/* Keeps the action that the kernel has, and puts ours in its place, unless it is there. */
void gg_signal_chain_take(struct gg_signal_chain *chain);

/* In our handler: the program's is called.  False: it has none. */
bool gg_signal_chain_call(struct gg_signal_chain *chain, siginfo_t *info, void *context);

/* What the hooks of sigaction() and its relatives do around the real call. */
struct gg_signal_chain_hook {
	struct gg_signal_chain *chain; /* NULL: it does not come to us yet */
	struct sigaction before;       /* the program's */
};
struct gg_signal_chain_hook gg_signal_chain_begin(struct gg_signal_chain *chain);
/* What the program hears of the action before: of ours it hears of its own. */
void gg_signal_chain_tell(const struct gg_signal_chain_hook *hook, struct sigaction *old);
void (*gg_signal_chain_tell_handler(const struct gg_signal_chain_hook *hook,
                                    void (*old)(int)))(int);
/* The program has set its action: keeps it, and puts ours in its place. */
void gg_signal_chain_end(const struct gg_signal_chain_hook *hook);
