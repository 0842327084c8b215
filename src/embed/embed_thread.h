/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embed_thread - the state that libgeiger keeps for each thread: its sampler, and room for one
 * stack.
 *
 * It is mapped at the thread's first slow call.  A thread that ends hands it on, so a program has
 * as many as it had threads at once.
 *
 * Threads  each has its own; `inside` tells signal handlers that it is in use.
 * Fork     The child's thread keeps its own.  Those of other threads are lost, and cost nothing as
 *          long as neither process writes to them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "embed/public.h"
#include "stats/sampling/sampler.h"
#include "unwind/unwind.h"

enum {
	GG_EMBED_FRAMES = 512, /* of a runtime, that are kept of a stack: the innermost */
	GG_EMBED_STACK = GG_UNWIND_KEEP + GG_EMBED_FRAMES,
	GG_EMBED_MET_TEXT = 88,
	GG_EMBED_MET_BITS = 6,
	GG_EMBED_MET = 1 << GG_EMBED_MET_BITS
};

/* A frame of a stack: one of the native ones, or one of the runtime's. */
struct gg_embed_recording {
	bool is_native;
	uint32_t index;
};

/*
 * A frame of a runtime that was met, by where its texts are.  They stay as they are while a sample
 * is taken, in which recursion shows the same ones many times; at the next sample they are compared
 * first, because the runtime may use that memory again.  It holds in children too: frames keep
 * their numbers.
 */
struct gg_embed_met {
	const char *function, *file;
	uint32_t line;
	uint32_t file_at;             /* in text */
	uint64_t pc;                  /* 0: none, or the texts are too long to be kept */
	uint64_t sample;              /* in which it was compared last */
	char text[GG_EMBED_MET_TEXT]; /* both, each with its 0 byte */
};

struct gg_embed_thread {
	struct gg_embed_thread *next_free; /* while nobody has it */
	uint32_t inside;                   /* 1: in the library */

	/* Of geiger_due(); its count is geiger_left_bytes while the thread is outside. */
	struct gg_sampler sampler;
	uint64_t interval_bytes; /* the thread's own; 0: that of the process */
	uint32_t seen_change;    /* of the settings */
	uint32_t fork_count;     /* of the process that it was seeded in */

	struct gg_unwind_thread unwind;
	struct gg_stack_cache memo;
	uint64_t native_pcs[GG_UNWIND_KEEP];
	struct geiger_frame frames[GG_EMBED_FRAMES];      /* of the runtime */
	uint32_t targets[GG_EMBED_FRAMES];                /* frames.c: where they go */
	struct gg_embed_recording places[GG_EMBED_STACK]; /* both in order */
	uint64_t pcs[GG_EMBED_STACK];                     /* ... as the region takes them */
	uint64_t sample_count;                            /* whose frames were looked up */
	struct gg_embed_met met[GG_EMBED_MET];
	struct geiger_event_frame event_frames[GG_EMBED_STACK];
};

/* The calling thread's; NULL: no memory. */
struct gg_embed_thread *gg_embed_thread(void);

/* The same; NULL: it has none yet. */
struct gg_embed_thread *gg_embed_own_thread(void);

/* In a forked child: the mark that geiger_due() counts down to is drawn anew. */
void gg_embed_due_forked(void);

/* What was set holds for the calling thread at once; others look within 8 MiB. */
void gg_embed_look_now(void);

/* False: the thread is inside already, which is counted. */
bool gg_embed_enter(struct gg_embed_thread *t);

static inline void gg_embed_leave(struct gg_embed_thread *t)
{
	gg_fence_signal();
	gg_store_relaxed(&t->inside, 0);
}
