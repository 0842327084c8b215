/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sigaction(), signal() and their relatives.  For every signal but SIGBUS these are jumps to libc; of
 * that one the program hears what it set itself (guard.h).
 */
#include <signal.h>
#include <stddef.h>

#include "agent/guard.h"
#include "agent/real.h"
#include "base/compiler.h"

GG_EXPORT int sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	struct gg_guard_call call;
	int status;

	if (gg_likely(signal != SIGBUS))
		return gg_real.sigaction(signal, action, old);
	call = gg_guard_begin(signal);
	status = gg_real.sigaction(signal, action, old);
	if (status == 0 && old != NULL)
		gg_guard_tell(&call, old);
	if (status == 0 && action != NULL)
		gg_guard_end(&call);
	return status;
}

static GG_COLD gg_real_handler *set(int signal, gg_real_handler *new, gg_real_set_handler *real)
{
	struct gg_guard_call call = gg_guard_begin(signal);
	gg_real_handler *old = real(signal, new);

	if (old == SIG_ERR)
		return old;
	gg_guard_end(&call);
	return gg_guard_tell_handler(&call, old);
}

#define RELATIVE(name, real)                                                         \
	GG_EXPORT gg_real_handler *name(int signal, gg_real_handler *new);           \
	GG_EXPORT gg_real_handler *name(int signal, gg_real_handler *new)            \
	{                                                                            \
		return gg_likely(signal != SIGBUS) ? gg_real.real(signal, new)       \
		                                   : set(signal, new, gg_real.real); \
	}

RELATIVE(signal, signal)
RELATIVE(bsd_signal, signal)
RELATIVE(ssignal, signal)
RELATIVE(sysv_signal, sysv_signal)
RELATIVE(__sysv_signal, sysv_signal)
