/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/signals/signal_mask.h"

#include <pthread.h>
#include <stddef.h>

#include "base/compiler.h"

void gg_signal_mask_block(sigset_t *ret_before)
{
	static const int faults[] = { SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS };
	sigset_t blocked;

	sigfillset(&blocked);
	for (size_t i = 0; i < GG_COUNT(faults); i++)
		sigdelset(&blocked, faults[i]);
	pthread_sigmask(SIG_BLOCK, &blocked, ret_before);
}
