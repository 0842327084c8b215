/* SPDX-License-Identifier: Apache-2.0 */
/* signal_chain - keeps the program's action while ours is installed. */
#include "runtime/signals/signal_chain.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "runtime/platform/real_functions.h"
#include "runtime/process.h"

typedef void plain_handler(int);

struct gg_signal_chain *gg_signal_chain_of_segv;

static bool is_default(gg_signal_chain_handler *handler)
{
	return (plain_handler *)(void *)handler == SIG_DFL ||
	       (plain_handler *)(void *)handler == SIG_IGN;
}

static bool is_ours(const struct gg_signal_chain *chain, const struct sigaction *action)
{
	return action->sa_sigaction == chain->ours;
}

/* Adds all signals that no fault raises to our mask. */
static void block_others(sigset_t *mask)
{
	static const int of_faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS };
	sigset_t theirs = *mask;

	sigfillset(mask);
	for (size_t i = 0; i < GG_COUNT(of_faults); i++)
		if (sigismember(&theirs, of_faults[i]) != 1)
			sigdelset(mask, of_faults[i]);
}

/* Sets the mask that their handler would have, were it the kernel's. */
static void set_their_mask(const struct gg_signal_chain *chain, const ucontext_t *context)
{
	sigset_t mask;

	/* The kernel has filled its own 64 bits of uc_sigmask alone. */
	sigemptyset(&mask);
	memcpy(&mask, &context->uc_sigmask, sizeof(uint64_t));
	for (int signal = 1; signal < NSIG; signal++)
		if (sigismember(&chain->theirs.sa_mask, signal) == 1)
			sigaddset(&mask, signal);
	if ((chain->theirs.sa_flags & (int)SA_NODEFER) == 0)
		sigaddset(&mask, chain->signal);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

void gg_signal_chain_take(struct gg_signal_chain *chain)
{
	struct sigaction ours;

	gg_assert(chain->signal > 0 && chain->ours != NULL);
	if (gg_real.sigaction(chain->signal, NULL, &ours) < 0 || is_ours(chain, &ours))
		return;
	chain->theirs = ours;
	/* Release: pairs with gg_signal_chain_call(). */
	gg_store_release(&chain->their_handler, ours.sa_sigaction);
	if (ours.sa_handler == SIG_IGN && !chain->takes_ignored)
		return;
	/*
	 * A default action has no flags, so ours asks for the alternate stack: the thread's may be
	 * small.
	 */
	if (is_default(ours.sa_sigaction))
		ours.sa_flags |= SA_ONSTACK | SA_RESTART;
	ours.sa_flags = (ours.sa_flags | SA_SIGINFO) & ~(int)SA_RESETHAND;
	ours.sa_sigaction = chain->ours;
	if (chain->blocks_others)
		block_others(&ours.sa_mask);
	gg_real.sigaction(chain->signal, &ours, NULL);
}

void gg_signal_chain_give_back(struct gg_signal_chain *chain)
{
	struct sigaction now;

	if (gg_real.sigaction(chain->signal, NULL, &now) == 0 && is_ours(chain, &now))
		gg_real.sigaction(chain->signal, &chain->theirs, NULL);
}

bool gg_signal_chain_call(struct gg_signal_chain *chain, siginfo_t *info, void *context)
{
	gg_signal_chain_handler *handler = gg_load_acquire(&chain->their_handler);

	if (is_default(handler))
		return false;
	if ((chain->theirs.sa_flags & (int)SA_RESETHAND) != 0) {
		gg_store_release(&chain->their_handler, (gg_signal_chain_handler *)(void *)SIG_DFL);
		chain->theirs.sa_handler = SIG_DFL; /* flags and mask stay, as in the kernel */
	}
	if (chain->blocks_others)
		set_their_mask(chain, context);
	handler(chain->signal, info, context);
	return true;
}

struct gg_signal_chain_hook gg_signal_chain_begin(struct gg_signal_chain *chain)
{
	struct gg_signal_chain_hook hook = { .chain = gg_load_acquire(&chain->is_on) != 0 ? chain
		                                                                          : NULL };

	if (hook.chain != NULL)
		hook.before = chain->theirs;
	return hook;
}

void gg_signal_chain_replace_old(const struct gg_signal_chain_hook *hook, struct sigaction *old)
{
	if (hook->chain != NULL && is_ours(hook->chain, old))
		*old = hook->before;
}

void (*gg_signal_chain_replace_old_handler(const struct gg_signal_chain_hook *hook,
                                           void (*old)(int)))(int)
{
	return hook->chain != NULL && (gg_signal_chain_handler *)(void *)old == hook->chain->ours
	               ? hook->before.sa_handler
	               : old;
}

void gg_signal_chain_end(const struct gg_signal_chain_hook *hook)
{
	int saved_errno = errno;

	/* A vfork child has actions of its own, but the chain is in its parent's memory. */
	if (hook->chain != NULL && !gg_process_is_vforked())
		gg_signal_chain_take(hook->chain);
	errno = saved_errno;
}
