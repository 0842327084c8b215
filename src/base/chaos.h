/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chaos - what a busy machine does to threads, at every atomic operation, for tests.
 *
 * Where GG_CHAOS is defined, each word of atomic.h first calls gg_chaos(): mostly nothing, sometimes the
 * processor is given up, a moment is spent, or, seldom, a millisecond.  So a thread stands still between
 * any two operations on shared memory sooner or later, which takes weeks elsewhere.
 *
 * Seed      each thread draws its own delays, from GG_CHAOS_SEED (1) and its number in the order of first
 *           use.  What other threads do meanwhile is the system's affair: a seed gives the same delays, not
 *           the same run.
 * Threads   any; also in signal handlers.  errno is kept.
 */
#pragma once

void gg_chaos(void);
