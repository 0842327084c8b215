/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_trigger - decides when a dump is due, and which thread writes it.
 *
 * The thread that finds a dump due writes it at the end of its sample, as jemalloc's and
 * gperftools' threads do; other threads continue.  Exactly one thread notices each event:
 *
 *   allocated   All samples add to one counter; the thread whose addition crosses a multiple of the
 *               threshold writes the dump.  Crossing several multiples at once is one dump.
 *   freed       The same for samples that are freed; the dump is written at the end of such a free.
 *   growth      The thread that moves the high-water mark above the live bytes.
 *   time, RSS   The thread that moves the time of the next check.  RSS and the control group are
 *               read at most ten times a second, and only when there is a sample.
 *   signal      The handler writes the dump on its thread, so a program that no longer allocates
 *               can dump as well.  If its thread is on the sample path, the next thread that leaves
 *               that path writes it.
 *   exit        The agent's destructor.
 *
 * If GG_DUMPS_AT_ONCE dumps are in progress, a further one is skipped.
 *
 * Cost     nothing for allocations that are not sampled; a sample reads one word.  With a trigger
 *          it adds to a counter that all threads share.
 * Fork     A child continues its parent's counters, and its dumps have names of their own.
 * Threads  any; handlers that interrupt the sample path must not call gg_dump_trigger_set() or
 *          gg_dump_trigger_dump().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "abi/dump_triggers.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "stats/sampling/scheme.h"

enum {
	GG_DUMP_TRIGGER_SAMPLES = 1, /* a trigger checks each sample */
	GG_DUMP_TRIGGER_PENDING = 2  /* a signal came, and its dump is still due */
};

extern uint32_t gg_dump_trigger_flags __attribute__((visibility("hidden")));

/* Replaces all settings, also before the start of recording.  0, -EINVAL or -EBUSY. */
GG_COLD int gg_dump_trigger_set(const struct gg_agent_triggers *triggers);
/* Copies the settings.  0 or -EBUSY. */
GG_COLD int gg_dump_trigger_get(struct gg_agent_triggers *ret_triggers);

/*
 * Once recording has begun: takes the signal, and lets the region meter its live bytes if needed.
 */
GG_COLD void gg_dump_trigger_begin(void);

/* On the sample path, after a sample was recorded: checks all triggers. */
GG_COLD void gg_dump_trigger_sampled(const struct gg_draw *draw, uint64_t size_bytes,
                                     uint64_t now_ns);

static inline bool gg_dump_trigger_is_on(void)
{
	/* Relaxed: the word stands alone; each setting is a word as well. */
	return gg_unlikely(gg_load_relaxed(&gg_dump_trigger_flags) != 0);
}

/* On the sample path, after a sample was freed. */
GG_COLD void gg_dump_trigger_freed(const struct gg_draw *draw, uint64_t size_bytes);

/* Writes the dump that a signal handler deferred. */
GG_COLD void gg_dump_trigger_run_pending(void);

/* After the thread has left the sample path. */
static inline void gg_dump_trigger_check_pending(void)
{
	if (gg_unlikely((gg_load_relaxed(&gg_dump_trigger_flags) & GG_DUMP_TRIGGER_PENDING) != 0))
		gg_dump_trigger_run_pending();
}

/*
 * On the sample path: writes a dump under the next name of kind 'i', 'u', 'm' or 'f'.  0 or -Exxx;
 * -EINVAL without a prefix.
 */
GG_COLD int gg_dump_trigger_dump(char kind);

/* On the sample path, when the program ends.  True: the program must end with status 1. */
GG_COLD bool gg_dump_trigger_exit(void);

/* The signal that requests dumps; 0: none. */
static inline int gg_dump_trigger_signal(void)
{
	extern int32_t gg_dump_trigger_signal_number __attribute__((visibility("hidden")));

	return gg_load_relaxed(&gg_dump_trigger_signal_number);
}
