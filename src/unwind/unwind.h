/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind - captures the stack trace of the calling thread.
 *
 *   static __thread struct gg_unwind_thread thread;       all-zero is valid
 *   uint64_t pcs[GG_UNWIND_KEEP];
 *   struct gg_unwind_stack stack;
 *
 *   gg_unwind_init();                                     once, at the start
 *   gg_unwind_capture(&thread, pcs, GG_UNWIND_KEEP, 0, &stack);
 *   stack.frames[0..count)                                return addresses, innermost first
 *
 * A frame is its return address: the instruction after the call.  Subtract 1 to find the call.
 * frames[0] is the place where the caller of gg_unwind_capture() continues, or the frame that is
 * `skip` frames further out.
 *
 * How      A step looks its pc up in a cache of compiled rules (rule_cache.h), adds an offset to
 *          the stack pointer, and loads the return address.  Cache misses, odd rules, signal
 *          frames, and the ends of readable memory have functions of their own (step.c).
 * Safety   A walk never allocates, locks, or raises a signal, and it keeps errno.  It may run in a
 *          signal handler, even in one that interrupted another walk.  On the thread's own stack it
 *          makes no system calls once the pages of that stack are known; on other stacks it makes
 *          one for each page (stack_bounds.h).
 * Time     Bounded by GG_UNWIND_WALK frames.
 * Endings  A walk that cannot continue reports the reason.  The frames up to that point are right.
 * Depth    If a stack has more frames than the array holds, the array keeps the innermost half and
 *          the outermost half, and the result marks the cut.
 * Cache    If the caller provides memory (thread->stack_cache), a walk stops at the first frame
 *          that the previous walk of this thread also had.  stack_cache.h proves that the result is
 *          the same.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/walk/stack_bounds.h"
#include "unwind/walk/stack_cache.h"

enum {
	GG_UNWIND_KEEP = 1024,   /* an array of this size keeps stacks of that depth whole */
	GG_UNWIND_LEAST = 16,    /* the smallest array */
	GG_UNWIND_WALK = 1 << 18 /* the most frames of one walk; beyond: GG_UNWIND_TOO_DEEP */
};

enum gg_unwind_ending {
	GG_UNWIND_COMPLETE, /* the walk reached the start of the thread */
	GG_UNWIND_NO_CFI,   /* the code has neither CFI nor a frame pointer */
	/* The CFA or a slot is outside the stack, or the CFA does not grow. */
	GG_UNWIND_BAD_FRAME,
	GG_UNWIND_TOO_DEEP,      /* the stack has more than GG_UNWIND_WALK frames */
	GG_UNWIND_FOREIGN_STACK, /* the stack pointer points to unreadable memory */
	GG_UNWIND_ENDINGS
};

/* Returns a static text: "complete", "no-cfi", and so on. */
const char *gg_unwind_ending_text(enum gg_unwind_ending ending);

/* Counters, summed over walks. */
struct gg_unwind_stats {
	/* Walks by their ending; the sum is the number of walks. */
	uint64_t endings[GG_UNWIND_ENDINGS];
	uint64_t frames; /* frames that were walked or reused */
	/* Frames that were reused from the stack cache; `frames` counts them as well. */
	uint64_t reused_frames;
	uint64_t cut_walks;     /* walks that left frames out */
	uint64_t careful_steps; /* steps outside the loop of walk.c, for any reason */
	/* Rules compiled because the cache did not have them. */
	uint64_t misses;
	uint64_t recompiled;    /* rules compiled because they do not fit the cache */
	uint64_t general_steps; /* steps that evaluated the whole row */
	/* Rules compiled for code without CFI: they assume a frame pointer. */
	uint64_t fallback_rules;
	uint64_t signal_frames;
	uint64_t stack_searches; /* searches for the bounds of a stack */
	uint64_t foreign_walks;  /* walks that entered a stack other than the thread's own */
	uint64_t nested_walks;   /* walks in a signal handler that interrupted a walk */
};

/* The state of one thread.  Only that thread writes it.  All-zero is valid. */
struct gg_unwind_thread {
	struct gg_stack_bounds_own own; /* bounds of the thread's stack, once they are found */
	/* The caller's memory, all-zero at first; NULL: walks have no memo. */
	struct gg_stack_cache *stack_cache;
	/*
	 * The tag of the stack whose frames the caller does not need again: a capture that repeats
	 * it returns no frames.  The caller sets it; 0: every capture returns its frames.
	 */
	uint64_t known_tag;
	uint64_t busy_sp;             /* stack pointer of the walk under way; 0: no walk */
	struct gg_unwind_stats stats; /* other threads read it with gg_unwind_stats_add() */
};

/* The stack trace that a capture found. */
struct gg_unwind_stack {
	const uint64_t *frames; /* return addresses in the caller's array, innermost first */
	uint32_t count;
	/*
	 * Frames [0, cut_at) are the innermost, the rest are the outermost; == count: no frame was
	 * left out.
	 */
	uint32_t cut_at;
	uint32_t omitted_count; /* frames left out at the cut */
	enum gg_unwind_ending ending;
	/*
	 * The outermost reused_count frames are those of the stack in the stack cache.  reused_tag
	 * is the tag that gg_unwind_set_tag() gave that stack; 0: the stack had no tag.
	 */
	uint32_t reused_count;
	uint64_t reused_tag;
	/*
	 * The whole trace is the one with that tag, which it keeps.  If that is the known_tag, the
	 * capture leaves the frames out: the count is 0.
	 */
	bool is_repeated;
};

/*
 * Finds the loader's counters and the end of the main stack.  Call it once, best on the main
 * thread, and not for a sample: it takes the loader's lock.  Earlier walks are right; only with a
 * libc that lacks _dl_find_object() they find no modules.
 */
void gg_unwind_init(void);

/*
 * Does the part of gg_unwind_init() that takes no lock.  Before this call, walks in constructors
 * may end too early.
 */
void gg_unwind_init_early(void);

/*
 * Reports that modules were loaded or unloaded.  Hooks of dlopen() and dlclose() call it after the
 * real call.
 */
void gg_unwind_modules_changed(void);

/*
 * Captures the stack trace of the caller into pcs[0..max), where max >= GG_UNWIND_LEAST.  The trace
 * leaves out the innermost `skip` frames (at most 4); with 0 it begins with the return address into
 * the caller.
 */
void gg_unwind_capture(struct gg_unwind_thread *thread, uint64_t *pcs, size_t max, unsigned skip,
                       struct gg_unwind_stack *ret_stack);

/*
 * Gives the stack just captured a tag: the caller's identifier for it, not 0.  The next capture
 * returns the tag as reused_tag.  The call has no effect if the stack cache did not remember that
 * stack.
 */
void gg_unwind_set_tag(struct gg_unwind_thread *thread, uint64_t tag);

/* Adds the counters of a thread to a sum.  The thread may increment them meanwhile. */
void gg_unwind_stats_add(struct gg_unwind_stats *sum, const struct gg_unwind_thread *thread);
