/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_trigger - when a dump is due, and who writes it.
 *
 * The thread that finds it due writes the dump, at the end of its sample, as jemalloc's and gperftools'
 * threads do; the others go on.  What is to be noticed is noticed exactly once:
 *
 *   allocated   all samples add to one counter; whose addition passes a multiple of the amount dumps.
 *               One that passes several at once is one dump.
 *   freed       the same, of the samples that are freed: a dump stands at the end of such a free.
 *   growth      who moves the mark from below what is live now to above it (compare and exchange).
 *   time, RSS   likewise, by the time of the next look: RSS and control group are asked for ten
 *               times a second at most, and only when there is a sample.
 *   signal      the handler writes it, wherever the thread is, so also in a program that does not allocate any
 *               more; only on the sample path it leaves it to whoever leaves that next.
 *   exit        the agent's destructor.
 *
 * Where GG_DUMPS_AT_ONCE dumps are under way, one more is left out.
 *
 * Cost     nothing on the path of what is no sample; a sample looks at one word.  With a trigger set it adds to a
 *          counter that all threads share.
 * Fork     a child goes on with the counters that it inherits, under names of its own.
 * Threads  any; gg_dump_trigger_set() and gg_dump_trigger_dump() are not for handlers that interrupt the sample path.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "abi/dump_triggers.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "stats/sampling/scheme.h"

enum {
	GG_DUMP_TRIGGER_SAMPLES = 1, /* there is something to look at, at each sample */
	GG_DUMP_TRIGGER_PENDING = 2  /* a signal has come, and its dump is not written yet */
};

extern uint32_t gg_dump_trigger_watch __attribute__((visibility("hidden")));

/* Replaces all settings; before the start of recording, too.  0, -EINVAL, -EBUSY. */
GG_COLD int gg_dump_trigger_set(const struct gg_agent_triggers *triggers);
/* 0 or -EBUSY. */
GG_COLD int gg_dump_trigger_look(struct gg_agent_triggers *ret_triggers);

/* Recording has begun, or goes on in a forked child. */
GG_COLD void gg_dump_trigger_begin(void);

/* On the sample path, after a sample was recorded. */
GG_COLD void gg_dump_trigger_sampled(const struct gg_draw *draw, uint64_t size_bytes,
                                     uint64_t now_ns);

static inline bool gg_dump_trigger_is_on(void)
{
	/* Relaxed: the word alone; settings are read by words of their own. */
	return gg_unlikely(gg_load_relaxed(&gg_dump_trigger_watch) != 0);
}

/* The same after a sample was freed. */
GG_COLD void gg_dump_trigger_freed(const struct gg_draw *draw, uint64_t size_bytes);

/* What a handler could not do. */
GG_COLD void gg_dump_trigger_serve(void);

/* After the sample path is left. */
static inline void gg_dump_trigger_left(void)
{
	if (gg_unlikely((gg_load_relaxed(&gg_dump_trigger_watch) & GG_DUMP_TRIGGER_PENDING) != 0))
		gg_dump_trigger_serve();
}

/* Writes a dump under the next name: kind 'i', 'u', 'm' or 'f'.  On the sample path.  0 or -Exxx; -EINVAL:
 * there is no prefix. */
GG_COLD int gg_dump_trigger_dump(char kind);

/* On the sample path, when the program ends.  True: it is to end with status 1. */
GG_COLD bool gg_dump_trigger_exit(void);

/* The signal that asks for dumps; 0: none. */
static inline int gg_dump_trigger_signal(void)
{
	extern int32_t gg_dump_trigger_signal_number __attribute__((visibility("hidden")));

	return gg_load_relaxed(&gg_dump_trigger_signal_number);
}
