/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread - what the agent keeps of each thread.
 *
 * gg_thread is all that the hot path touches: thread-local, at a fixed distance from the thread's
 * own pointer (initial-exec), valid when all is zero.  What only samples need is in a block of its
 * own, mapped at the thread's first sample and handed on to the next thread when it ends, so a
 * program has as many as it had threads at once.
 *
 * Ending     a destructor of thread-specific data gives the block back.  Destructors that run later
 *            may allocate too: from then on a sample borrows a block and gives it back at once.
 * Fork       in the child all blocks are free: gg_thread_forked().  The thread that forked may still
 *            point to one, and need not be the first to ask for one, so a thread also knows which
 *            process it had its block in.
 * Threads    gg_thread belongs to its thread and the signal handlers on it; `inside` says to them
 *            that the rest is being changed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "region/writer/region.h"
#include "stats/sampling/sampler.h"
#include "unwind/unwind.h"

/*
 * A runtime's frame that was interned a short while ago, with its texts, because a runtime may use the
 * memory of its own again.  It holds in children too: frames keep their numbers.
 */
enum { GG_THREAD_FRAMES = 64, GG_THREAD_TEXT = 96 };

struct gg_thread_frame {
	uint64_t pc; /* 0: none */
	uint32_t line;
	uint16_t function_bytes, file_bytes;
	char text[GG_THREAD_TEXT]; /* the function, then the file */
};

/* One thread's, for its samples.  Zero when mapped; counters go on when it is handed on. */
struct gg_thread_block {
	struct gg_thread_block *next_free; /* while nobody has it */
	struct gg_thread_block *next;      /* of all that were ever mapped */
	uint32_t in_use;
	uint64_t sample_count;
	uint64_t
		stack_tag; /* that the unwinder has for the stack interned last; others are older */
	struct gg_region_thread record;
	struct gg_unwind_thread unwind;
	struct gg_stack_cache memo;
	uint64_t pcs[GG_UNWIND_KEEP];
	struct gg_thread_frame frames[GG_THREAD_FRAMES]; /* untouched without such heaps */
};

enum gg_thread_wish { GG_THREAD_NEW, GG_THREAD_OFF, GG_THREAD_ON };

struct gg_thread {
	struct gg_sampler sampler;
	struct gg_thread_block *block; /* NULL: none yet, or no more */
	uint32_t block_generation; /* process that it had the block in; else it has it no more */
	uint32_t inside;           /* 1: on the sample path; a handler must not enter it */
	uint32_t seen_change;      /* settings of the process that the sampler has */
	uint32_t generation;       /* process that it was seeded in: gg_process.generation */
	uint32_t fork_number;      /* of the child that it forks next */
	uint64_t interval_bytes; /* of its own (geiger_thread_interval()); 0: that of the process */
	uint32_t busy_count;     /* allocations and frees of handlers that found it inside */
	/* Of compat_calls.h: */
	uint64_t words[2]; /* bytes allocated up to left_then, and freed, as far as is known */
	int64_t left_then; /* of the sampler's left_bytes */
	uint8_t wish;      /* enum gg_thread_wish */
	bool ending;       /* the block was given back for good */
	bool has_row;      /* ... and this is its row in the region: */
	uint16_t row;
};

extern _Thread_local struct gg_thread gg_thread
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

/* Once, before any thread has a block.  Without it blocks are never given back. */
void gg_thread_init(void);

/*
 * The calling thread's block, or NULL: no memory for one.  gg_thread_put_block() after each use; it
 * does something for threads that are ending only.
 */
struct gg_thread_block *gg_thread_block(struct gg_thread *t);
void gg_thread_put_block(struct gg_thread *t, struct gg_thread_block *block);

/* In a forked child, before its gg_process.generation counts: all blocks are free.  No other thread may
 * be on its sample path. */
void gg_thread_forked(void);

/* On the sample path until gg_thread_leave().  False: it is there already. */
static inline bool gg_thread_enter(struct gg_thread *t)
{
	if (gg_load_relaxed(&t->inside) != 0) {
		t->busy_count++;
		return false;
	}
	gg_store_relaxed(&t->inside, 1);
	/* A handler that sees 0 sees everything as it was before; the same thread, so no more. */
	gg_fence_signal();
	return true;
}

static inline void gg_thread_leave(struct gg_thread *t)
{
	gg_fence_signal();
	gg_store_relaxed(&t->inside, 0);
}

/* Is it not to be sampled?  A thread is as new ones are when it is first asked for. */
static inline bool gg_thread_is_off(struct gg_thread *t, bool new_ones_are)
{
	if (gg_unlikely(t->wish == GG_THREAD_NEW))
		t->wish = new_ones_are ? GG_THREAD_OFF : GG_THREAD_ON;
	return t->wish == GG_THREAD_OFF;
}

/* Counts what was allocated since the last time; before left_bytes is set to anything. */
static inline void gg_thread_count(struct gg_thread *t)
{
	t->words[0] += (uint64_t)(t->left_then - t->sampler.left_bytes);
	t->left_then = t->sampler.left_bytes;
}
