/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/dump/dump_signal.h"

#include <stddef.h>

#include "base/atomic.h"
#include "runtime/dump/dump_trigger.h"
#include "runtime/platform/real_functions.h"

static gg_signal_chain_handler on_signal;

struct gg_signal_chain gg_dump_signal_chain = { .ours = on_signal, .takes_ignored = true };

static void on_signal(int signal, siginfo_t *info, void *context)
{
	/* It may be an earlier one, that was pending when it was given back. */
	(void)signal;
	gg_dump_trigger_signalled();
	gg_signal_chain_call(&gg_dump_signal_chain, info, context);
}

void gg_dump_signal_take(int signal)
{
	struct gg_signal_chain *chain = &gg_dump_signal_chain;

	if (chain->signal == signal)
		return;
	gg_store_release(&chain->is_on, 0);
	if (chain->signal != 0)
		gg_real.sigaction(chain->signal, &chain->theirs, NULL);
	chain->signal = signal;
	if (signal == 0)
		return;
	gg_signal_chain_take(chain);
	gg_store_release(&chain->is_on, 1);
}
