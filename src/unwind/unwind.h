/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind - the call stack of the calling thread.
 *
 *   static __thread struct gg_unwind_thread thread;       all-zero is valid
 *   uint64_t pcs[GG_UNWIND_KEEP];
 *   struct gg_unwind_stack stack;
 *
 *   gg_unwind_init();                                     once, at start
 *   gg_unwind_capture(&thread, pcs, GG_UNWIND_KEEP, 0, &stack);
 *   stack.frames[0..count)                                return addresses, innermost first
 *
 * A frame is what its return address says: the instruction after the call (subtract 1 to name the
 * call).  frames[0] is where the caller of gg_unwind_capture() goes on, or the frame `skip`
 * further out.
 *
 * How         a step looks its pc up in a cache of compiled rules (rule_cache.h), adds an offset to the
 *             stack pointer and loads the return address.  Misses, odd rules, signal frames and
 *             the ends of what may be read go to functions of their own (step.c).
 * Safety      never allocates, locks, or raises a signal; keeps errno; may be called in signal
 *             handlers, also in one that interrupted it.  System calls: none on the thread's own
 *             stack once its pages are known; one per page on other stacks (stack_bounds.h).
 * Time        bounded: at most GG_UNWIND_WALK frames.
 * Endings     a walk that cannot go on says why; the frames up to there are right.
 * Depth       a stack of more frames than the array holds keeps the innermost half and the
 *             outermost half; the cut is marked.
 * Memo        with memory for it (thread->memo), a walk stops where it meets the last one (stack_cache.h,
 *             which has the argument that the result is the same).
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
	GG_UNWIND_WALK = 1 << 18 /* frames that one walk looks at; more: GG_UNWIND_TOO_DEEP */
};

enum gg_unwind_ending {
	GG_UNWIND_COMPLETE,      /* up to where the thread started */
	GG_UNWIND_NO_CFI,        /* no CFI there, and no frame pointer either */
	GG_UNWIND_BAD_FRAME,     /* CFA or a slot not in the stack, or no growth */
	GG_UNWIND_TOO_DEEP,      /* more than GG_UNWIND_WALK frames */
	GG_UNWIND_FOREIGN_STACK, /* the stack pointer is in no readable memory */
	GG_UNWIND_ENDINGS
};

/* "complete", "no-cfi"...; a static text. */
const char *gg_unwind_ending_text(enum gg_unwind_ending ending);

/* Sums over walks. */
struct gg_unwind_stats {
	uint64_t endings[GG_UNWIND_ENDINGS]; /* walks that ended so; their sum is the walks */
	uint64_t frames;                     /* walked or taken over */
	uint64_t reused_frames;              /* of these, taken over from the memo */
	uint64_t cut_walks;                  /* that left frames out */
	uint64_t careful_steps;              /* outside the loop, for any reason */
	uint64_t misses;                     /* rules compiled because the cache had none */
	uint64_t recompiled;                 /* rules compiled because they do not fit the cache */
	uint64_t general_steps;              /* by the whole row */
	uint64_t fallback_rules;             /* frame pointers for want of CFI (when compiled) */
	uint64_t signal_frames;
	uint64_t stack_searches; /* for the bounds of a stack */
	uint64_t foreign_walks;  /* entered a stack that is not the thread's own */
	uint64_t nested_walks;   /* in a signal handler that interrupted a walk */
};

/* One thread's; written by that thread alone.  All-zero is valid. */
struct gg_unwind_thread {
	struct gg_stack_bounds_own own; /* bounds of its stack, once found */
	struct gg_stack_cache *memo;    /* the caller's memory, all-zero at first; NULL: none */
	uint64_t busy_sp;               /* stack pointer of a walk under way; 0: none */
	struct gg_unwind_stats stats;   /* read by others with gg_unwind_stats_add() */
};

/* What a capture found. */
struct gg_unwind_stack {
	const uint64_t *frames; /* return addresses in the caller's array, innermost first */
	uint32_t count;
	uint32_t cut_at;        /* frames [0, cut_at) are the innermost, the rest the outermost;
				   == count: nothing was left out */
	uint32_t omitted_count; /* frames left out between them */
	enum gg_unwind_ending ending;
	/*
	 * The outermost reused_count frames are those of the stack that the memo held, to which
	 * gg_unwind_set_tag() gave this tag; 0: it had none.
	 */
	uint32_t reused_count;
	uint64_t reused_tag;
};

/*
 * Finds what the system offers: the loader's counters, the end of the main stack.  Call it once,
 * not for a sample: it takes the loader's lock.  Best on the main thread.  Walks before it find no
 * modules on an old libc and nothing else wrong.
 */
void gg_unwind_init(void);

/* The part of it that takes no lock: before that, walks in constructors may be cut short. */
void gg_unwind_init_early(void);

/* Modules were loaded or unloaded: for hooks of dlopen() and dlclose(), after the real call. */
void gg_unwind_modules_changed(void);

/*
 * Captures the stack of the caller into pcs[0..max), max >= GG_UNWIND_LEAST.  `skip` frames of it
 * are left out (at most 4): 0 begins with the return address into the caller.
 */
void gg_unwind_capture(struct gg_unwind_thread *thread, uint64_t *pcs, size_t max, unsigned skip,
                       struct gg_unwind_stack *ret_stack);

/*
 * Names the stack just captured, for reused_tag of the next: the caller's identifier for it, not 0.
 * Nothing happens if the memo did not take that stack up.
 */
void gg_unwind_set_tag(struct gg_unwind_thread *thread, uint64_t tag);

/* Adds a thread's counters, which it may be counting up meanwhile. */
void gg_unwind_stats_add(struct gg_unwind_stats *sum, const struct gg_unwind_thread *thread);
