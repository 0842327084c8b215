/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal_mask - keeps handlers away from steps that none may interrupt.
 *
 * Threads  any; each blocks signals for itself.
 */
#pragma once

#include <signal.h>

/*
 * Blocks all signals but those that the thread itself causes: a blocked one would end the program.
 * The caller restores *ret_before by pthread_sigmask().
 */
void gg_signal_mask_block(sigset_t *ret_before);
