/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread - the state that the agent keeps for each thread.
 *
 * gg_thread is all that the hot path touches.  It is thread-local at a fixed distance from the
 * thread pointer (initial-exec), and valid when it is all zero.  State that only samples need is in
 * a block, which is mapped at the thread's first sample.  A thread that ends hands its block on to
 * the next one, so a program has as many blocks as it had threads at once.
 *
 * Ending     A destructor of thread-specific data gives the block back.  Destructors that run later
 *            may still allocate: from then on a sample borrows a block and gives it back at once.
 * Fork       In the child all blocks are free (gg_thread_forked).  The thread that forked may still
 *            point to its old block, and another thread of the child may take that block first.  So
 *            each thread also remembers in which process it took its block.
 * Attach     In an attached agent each thread whose sampler has started keeps a block, which names
 *            its owner.  A later attach wants the samplers of all owners to restart, because their
 *            next sample points were drawn with the interval of an earlier attach.  It makes the
 *            owner's next allocation due, and the owner restarts its sampler there by itself.
 * Threads    gg_thread belongs to its thread and to the signal handlers on it; `inside` tells
 *            handlers that the other members are being changed.  An attach stores what the comment
 *            at `wants_restart` says, while the thread runs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "abi/agent_functions.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "base/fast_clock.h"
#include "region/writer/region.h"
#include "runtime/process.h"
#include "stats/sampling/sampler.h"
#include "unwind/unwind.h"

/*
 * A frame of a language runtime that was interned recently.  It has a copy of the texts, because
 * the runtime may reuse their memory.  It stays valid in children: frames keep their numbers there.
 */
enum { GG_THREAD_FRAMES = 64, GG_THREAD_TEXT = 96 };

struct gg_thread_cached_frame {
	uint64_t pc; /* 0: none */
	uint32_t line;
	uint16_t function_bytes, file_bytes;
	char text[GG_THREAD_TEXT]; /* the function, then the file */
};

/* Room for a stack of malloc with the frames of a language runtime (runtime_frames.h). */
enum { GG_THREAD_MERGE_FRAMES = 128, GG_THREAD_MERGE_TEXT_BYTES = 4096 };

struct gg_thread_merge {
	struct gg_agent_frame frames[GG_THREAD_MERGE_FRAMES];  /* of the runtime, innermost first */
	const void *natives[GG_THREAD_MERGE_FRAMES];           /* their addresses on the stack */
	uint32_t targets[GG_THREAD_MERGE_FRAMES];              /* native frames that they precede */
	uint64_t pcs[GG_UNWIND_KEEP + GG_THREAD_MERGE_FRAMES]; /* the merged stack */
	char texts[GG_THREAD_MERGE_TEXT_BYTES];                /* names that the source copies */
};

/*
 * The state of one thread's samples.  Zero when mapped; its counters survive the change of owner.
 */
struct gg_thread_block {
	struct gg_thread_block *next_free; /* valid while the block is free */
	struct gg_thread_block *next;      /* in the list of all blocks that were ever mapped */
	uint32_t in_use;
	/*
	 * The struct gg_thread that keeps the block, until its thread ends; 0: none.  An odd number
	 * is twice the pid plus 1 of a process in which an attach restarts that thread's sampler.
	 */
	uint64_t owner;
	struct gg_thread *held; /* the owner, while an attach holds the block; or NULL */
	uint32_t owner_tid;
	uint64_t sample_count;
	/* With exact counts: the block that the thread allocated last; 0: freed, or none. */
	uint64_t last_address;
	uint64_t exact_count; /* blocks that the thread has counted */
	struct gg_fast_clock clock;
	uint64_t stack_tag;  /* the unwinder's tag of the stack interned last; others are older */
	uint32_t last_stack; /* the id of that stack */
	struct gg_region_thread record;
	struct gg_unwind_thread unwind;
	struct gg_stack_cache stack_cache;
	uint64_t pcs[GG_UNWIND_KEEP];
	struct gg_thread_cached_frame frames[GG_THREAD_FRAMES]; /* only where a runtime has any */
	struct gg_thread_merge merge;                           /* likewise */
};

enum gg_thread_sampling { GG_THREAD_NEW, GG_THREAD_OFF, GG_THREAD_ON };

struct gg_thread {
	struct gg_sampler sampler;
	struct gg_thread_block *block; /* NULL: not taken yet, or given back */
	uint32_t block_generation;     /* generation of the process in which it took the block */
	uint32_t inside;               /* 1: on the sample path; a handler must not enter it */
	uint32_t seen_change;          /* gg_process.change_count that the sampler has applied */
	uint32_t generation;           /* gg_process.generation that the sampler was seeded in */
	uint32_t fork_number;          /* the number of the child that it forks next */
	uint32_t fork_pid;             /* of the process that forked last in it; 0: unknown */
	uint64_t fork_ns;              /* CLOCK_MONOTONIC just before or after that fork */
	uint64_t interval_bytes; /* by geiger_thread_interval(); 0: the interval of the process */
	uint32_t busy_count;     /* allocations and frees of handlers that found it inside */
	/* These members serve compat_calls.h. */
	uint64_t byte_counts
		[2]; /* bytes allocated up to counted_left_bytes; bytes freed, estimated */
	int64_t counted_left_bytes; /* the sampler's left_bytes when byte_counts[0] was updated */
	uint8_t sampling;           /* enum gg_thread_sampling */
	bool is_counted;            /* in gg_process.inside_count */
	bool ending;                /* true: the block was given back for good */
	bool has_thread_index;      /* true: `thread_index` is its record in the region */
	uint16_t thread_index;      /* in the region's table of threads */
	/*
	 * An attach sets both in another thread, and left_bytes and left_count of its sampler to 0:
	 * the next allocation is due, and restarts the sampler.
	 */
	uint32_t wants_restart;
	int64_t dropped_left_bytes; /* left_bytes before that */
	/* Not 0 while geiger_upstream_begin() hides blocks from libgeiger-malloc.so. */
	int64_t upstream_left_bytes;
};

extern _Thread_local struct gg_thread gg_thread
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

/* Once, before any thread has a block.  Without this call threads never give their blocks back. */
void gg_thread_init(void);

/*
 * Returns the calling thread's block, or NULL without memory.  Each use ends with
 * gg_thread_put_block(), which gives the block back if the thread is ending.
 */
struct gg_thread_block *gg_thread_block(struct gg_thread *t);
void gg_thread_put_block(struct gg_thread *t, struct gg_thread_block *block);

/* Takes a block without a sample, so that a later attach finds the thread's sampler. */
void gg_thread_take_block(struct gg_thread *t);

/*
 * In a forked child, before gg_process.generation changes: frees all blocks.  No other thread may
 * be on its sample path.
 */
void gg_thread_forked(void);

/* Count the threads on the sample path, for a detach. */
GG_COLD void gg_thread_count_in(struct gg_thread *t);
GG_COLD void gg_thread_count_out(struct gg_thread *t);

/*
 * In a forked child, while it has one thread: the threads that were counted in the parent do not
 * exist here.
 */
GG_COLD void gg_thread_count_forked(void);

/*
 * For a new region, with the state STARTING: no thread has a block any more, and the next
 * allocation of each owner is due.  is_child: the owners of blocks were threads of the parent, so
 * only the calling thread counts.
 */
void gg_thread_forget_blocks(bool is_child);

/* Restarts the sampler of the calling thread: gg_thread_restart_if_wanted(). */
GG_COLD void gg_thread_restart(struct gg_thread *t);

/* Puts the thread on the sample path until gg_thread_leave().  False: it is on it already. */
static inline bool gg_thread_enter(struct gg_thread *t)
{
	if (gg_load_relaxed(&t->inside) != 0) {
		t->busy_count++;
		return false;
	}
	gg_store_relaxed(&t->inside, 1);
	/*
	 * Handlers run on the same thread, so a fence of the compiler is enough: a handler that
	 * reads 0 finds the other members unchanged.
	 */
	gg_fence_signal();
	if (gg_unlikely(gg_load_relaxed(&gg_process.counts_threads) != 0))
		gg_thread_count_in(t);
	return true;
}

static inline void gg_thread_leave(struct gg_thread *t)
{
	if (gg_unlikely(t->is_counted))
		gg_thread_count_out(t);
	gg_fence_signal();
	gg_store_relaxed(&t->inside, 0);
}

/* gg_thread_block() and gg_thread_put_block() for a path that most often has its block. */
static inline struct gg_thread_block *gg_thread_block_at_hand(struct gg_thread *t)
{
	struct gg_thread_block *block = t->block;

	/* Relaxed: gg_process_ensure_current() has acquired the generation. */
	if (gg_likely(block != NULL && block->record.begun &&
	              t->block_generation == gg_load_relaxed(&gg_process.generation)))
		return block;
	return gg_thread_block(t);
}

static inline void gg_thread_put_block_at_hand(struct gg_thread *t, struct gg_thread_block *block)
{
	if (gg_unlikely(t->block != block))
		gg_thread_put_block(t, block);
}

/*
 * True if the thread is not sampled.  The first call for a thread applies the setting for new ones.
 */
static inline bool gg_thread_is_off(struct gg_thread *t, bool new_ones_are)
{
	if (gg_unlikely(t->sampling == GG_THREAD_NEW))
		t->sampling = new_ones_are ? GG_THREAD_OFF : GG_THREAD_ON;
	return t->sampling == GG_THREAD_OFF;
}

/*
 * On the sample path of the thread, before anything else uses its sampler.  Then a new sample point
 * is drawn by gg_sampler_take(), or with the next allocation.
 */
static inline bool gg_thread_restart_if_wanted(struct gg_thread *t)
{
	/* Acquire: pairs with the attach, whose settings are then visible. */
	if (gg_likely(gg_load_acquire(&t->wants_restart) == 0))
		return false;
	gg_thread_restart(t);
	return true;
}

/* Adds the bytes since the last call to byte_counts[0].  Before each change of left_bytes. */
static inline void gg_thread_count(struct gg_thread *t)
{
	t->byte_counts[0] += (uint64_t)(t->counted_left_bytes - t->sampler.left_bytes);
	t->counted_left_bytes = t->sampler.left_bytes;
}
