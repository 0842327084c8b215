/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal_hooks - the hooks of sigaction(), signal() and their relatives.
 *
 * For SIGBUS, for the signal that requests dumps, and for SIGSEGV while blocks are guarded, the
 * program sees only its own actions (signals/signal_chain.h).  For all other signals the hooks are
 * jumps to libc.
 */
#include <signal.h>
#include <stddef.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "runtime/dump/dump_signal.h"
#include "runtime/dump/dump_trigger.h"
#include "runtime/platform/real_functions.h"
#include "runtime/signals/sigbus_guard.h"

static inline bool is_chained(int signal)
{
	return gg_unlikely(
		signal == SIGBUS ||
		(signal == SIGSEGV && gg_load_acquire(&gg_signal_chain_of_segv) != NULL) ||
		(signal == gg_dump_trigger_signal() && signal != 0));
}

static struct gg_signal_chain *chain_of(int signal)
{
	if (signal == SIGSEGV && gg_signal_chain_of_segv != NULL)
		return gg_signal_chain_of_segv;
	return signal == SIGBUS ? &gg_sigbus_guard_chain : &gg_dump_signal_chain;
}

GG_EXPORT int sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	struct gg_signal_chain_hook hook;
	int status;

	if (!is_chained(signal))
		return gg_real.sigaction(signal, action, old);
	hook = gg_signal_chain_begin(chain_of(signal));
	status = gg_real.sigaction(signal, action, old);
	if (status == 0 && old != NULL)
		gg_signal_chain_replace_old(&hook, old);
	if (status == 0 && action != NULL)
		gg_signal_chain_end(&hook);
	return status;
}

static GG_COLD gg_real_handler *set(int signal, gg_real_handler *new, gg_real_set_handler *real)
{
	struct gg_signal_chain_hook hook = gg_signal_chain_begin(chain_of(signal));
	gg_real_handler *old = real(signal, new);

	if (old == SIG_ERR)
		return old;
	gg_signal_chain_end(&hook);
	return gg_signal_chain_replace_old_handler(&hook, old);
}

#define RELATIVE(name, real)                                               \
	GG_EXPORT gg_real_handler *name(int signal, gg_real_handler *new); \
	GG_EXPORT gg_real_handler *name(int signal, gg_real_handler *new)  \
	{                                                                  \
		return is_chained(signal) ? set(signal, new, gg_real.real) \
		                          : gg_real.real(signal, new);     \
	}

RELATIVE(signal, signal)
RELATIVE(bsd_signal, signal)
RELATIVE(ssignal, signal)
RELATIVE(sysv_signal, sysv_signal)
RELATIVE(__sysv_signal, sysv_signal)
