/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chaos - delays threads at every atomic operation, as a busy machine would, for tests.
 *
 * In builds that define GG_CHAOS, each operation of atomic.h first calls gg_chaos().  Most calls do
 * nothing; some yield the processor or spin for a moment, and a few sleep for up to a millisecond.
 * So sooner or later a thread stops between any two operations on shared memory.  Without the
 * delays, such an interleaving may take weeks to occur.
 *
 * Seed      Each thread draws its own delays from GG_CHAOS_SEED (default 1) and from its number in
 *           the order of first use.  A seed reproduces the delays of a thread but not the run,
 *           because the system schedules the other threads.
 * Threads   Any; also in signal handlers.  gg_chaos() keeps errno.
 */
#pragma once

void gg_chaos(void);
