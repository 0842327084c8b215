/* SPDX-License-Identifier: Apache-2.0 */
/* dump_signal - takes a signal and shares it with the program's handler. */
#include "runtime/dump/dump_signal.h"

#include <stddef.h>

#include "base/atomic.h"
#include "runtime/platform/real_functions.h"

static gg_signal_chain_handler on_signal;
static gg_dump_signal_handler *write_dump; /* set before the signal is taken */

struct gg_signal_chain gg_dump_signal_chain = { .ours = on_signal, .takes_ignored = true };

static void on_signal(int signal, siginfo_t *info, void *context)
{
	/* Not chain->signal, perhaps: an earlier signal may have been pending when it was given
	 * back.  That one asked for a dump as well. */
	(void)signal;
	write_dump();
	gg_signal_chain_call(&gg_dump_signal_chain, info, context);
}

void gg_dump_signal_take(int signal, gg_dump_signal_handler *handler)
{
	struct gg_signal_chain *chain = &gg_dump_signal_chain;

	if (chain->signal == signal)
		return;
	gg_store_release(&chain->is_on, 0);
	if (chain->signal != 0)
		gg_real.sigaction(chain->signal, &chain->theirs, NULL);
	chain->signal = signal;
	write_dump = handler;
	if (signal == 0)
		return;
	gg_signal_chain_take(chain);
	gg_store_release(&chain->is_on, 1);
}
