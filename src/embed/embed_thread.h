/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embed_thread - the state that libgeiger keeps for each thread: its sampler, and room for one
 * stack.
 *
 * The state is mapped at the thread's first slow call.  A thread that ends hands its state on, so a
 * program has as many states as it had threads at once.
 *
 * Threads  Each has its own state; `inside` tells signal handlers that it is in use.
 * Fork     The child's thread keeps its state.  The states of other threads are lost; they cost
 *          nothing as long as neither process writes to them.
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
	GG_EMBED_FRAMES_MAX =
		512, /* frames of a runtime that are kept of a stack: the innermost ones */
	GG_EMBED_STACK_FRAMES_MAX = GG_UNWIND_KEEP + GG_EMBED_FRAMES_MAX,
	GG_EMBED_FRAME_CACHE_TEXT_BYTES = 88,
	GG_EMBED_FRAME_CACHE_BITS = 6,
	GG_EMBED_FRAME_CACHE_ENTRIES = 1 << GG_EMBED_FRAME_CACHE_BITS
};

/* A frame of a merged stack: a native one or one of the runtime, by its index there. */
struct gg_embed_merged_frame {
	bool is_native;
	uint32_t index;
};

/*
 * A frame of a runtime that was looked up recently.  The addresses of its texts identify it within
 * one sample, in which recursion may show the same frame many times.  The runtime may reuse that
 * memory later, so the next sample compares the texts first.  Another generation of the recording
 * may have another region, where frames have other numbers.
 */
struct gg_embed_cached_frame {
	const char *function, *file;
	uint32_t line;
	uint32_t file_at; /* position of the file in text */
	uint64_t pc;      /* 0: the entry is empty, or its texts were too long */
	uint64_t sample;  /* number of the sample that compared the texts last */
	char text[GG_EMBED_FRAME_CACHE_TEXT_BYTES]; /* function and file, each with its 0 byte */
};

struct gg_embed_thread {
	struct gg_embed_thread *next_free; /* valid while no thread has the state */
	uint32_t inside;                   /* 1: the thread is in the library */

	/* Serves geiger_due().  While the thread is outside, geiger_left_bytes has its count. */
	struct gg_sampler sampler;
	uint64_t interval_bytes; /* the thread's own; 0: the interval of the process */
	uint32_t seen_change;    /* the settings' change count that the sampler has applied */
	uint32_t fork_count;     /* of the process in which the sampler was seeded */

	struct gg_unwind_thread unwind;
	struct gg_stack_cache stack_cache;
	uint64_t native_pcs[GG_UNWIND_KEEP];
	struct geiger_frame frames[GG_EMBED_FRAMES_MAX]; /* of the runtime */
	const void *natives[GG_EMBED_FRAMES_MAX];        /* their addresses on the stack */
	uint32_t targets[GG_EMBED_FRAMES_MAX];           /* native frames that they precede */
	struct gg_embed_merged_frame
		merged_frames[GG_EMBED_STACK_FRAMES_MAX]; /* the merged stack, for listeners */
	uint64_t pcs[GG_EMBED_STACK_FRAMES_MAX];          /* the merged stack, for the region */
	uint64_t sample_count;                            /* samples whose frames were looked up */
	uint32_t frame_generation; /* of the recording in which the cached frames were looked up */
	struct gg_embed_cached_frame frame_cache[GG_EMBED_FRAME_CACHE_ENTRIES];
	struct geiger_event_frame event_frames[GG_EMBED_STACK_FRAMES_MAX];
};

/* Returns the calling thread's state, and maps it first if necessary.  NULL: memory ran out. */
struct gg_embed_thread *gg_embed_thread(void);

/* Returns the calling thread's state.  NULL: the thread has no state yet. */
struct gg_embed_thread *gg_embed_own_thread(void);

/* Call it in a forked child: draws the sample point again to which geiger_due() counts down. */
void gg_embed_sampler_forked(void);

/* Applies changed settings to the calling thread now.  Other threads check within 8 MiB. */
void gg_embed_settings_apply_now(void);

/* False: the thread is inside already, and a counter records the nested call. */
bool gg_embed_enter(struct gg_embed_thread *t);

static inline void gg_embed_leave(struct gg_embed_thread *t)
{
	gg_fence_signal();
	gg_store_relaxed(&t->inside, 0);
}
