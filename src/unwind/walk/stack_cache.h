/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_cache - remembers the last stack of a thread, so that the next walk can reuse its outer
 * part.
 *
 * A walk is a chain of states S = (pc, sp, fp), from the innermost frame outwards.  One step:
 *
 *   rule = the compiled rule of pc          depends only on pc and on the loaded modules
 *   CFA  = sp or fp, plus a constant        the rule has the register and the constant
 *   S'   = (word at CFA - ra, CFA, fp or the word at CFA - f)        the rule has ra and f
 *
 * The stack cache holds the states of this thread's last walk, with the rules that led from each to
 * the next.
 *
 * Claim: a new walk goes through exactly the remembered states from m on, and ends in the same way,
 * if
 *
 * - it comes to a state with the same pc and sp as remembered state m, and with the same fp where
 *   fp matters,
 * - the modules are in the same epoch, and
 * - the slots that the remembered steps m, m+1, ... read hold the same words now.
 *
 * Proof by induction over the steps.  Equal pc and equal epoch: equal rule.  Equal sp, and equal fp
 * if the rule uses it: equal CFA, hence the same slots.  Equal words in the slots: equal next
 * state.
 *
 * fp matters in a state if a later rule computes a CFA from it before any rule restores it.  While
 * fp does not matter, it may differ without changing any pc or sp, so a slot that restores such an
 * fp need not be compared.  The end: `complete` is a rule of the last pc.  `no-cfi` also depends on
 * fp, which therefore matters up to such an end.  Walks with another end (among them a return
 * address of 0) are not remembered.
 *
 * The proof assumes nothing about the calls in between, and nothing is hashed: the program may have
 * returned, thrown, jumped with longjmp(), or switched stacks.
 *
 * The premises of the proof, and how the code keeps them:
 *
 * - Each step reads at most two words.  The stack cache leaves out frames whose step is not a
 *   packed rule (signal frames, the interrupted frame, general rows), and all frames inside them:
 *   it begins outside of the outermost such frame.
 * - Slots are readable.  The stack cache holds only the thread's own stack, whose memory stays.
 *   Slots below the new walk's sp are not compared.
 * - Bounds are the same.  The end of the own stack never moves.
 *
 * The comparison goes from the outermost frame inwards and stops at the first slot that differs,
 * before the walk starts.  Its loads do not depend on each other, so they do not form a chain.
 *
 * Identifier  The caller gives the remembered stack a tag (its interned id).  With the next stack
 *             it gets the count of outermost frames that are those of the tagged stack.
 * Depth       The GG_STACK_CACHE_FRAMES outermost frames.  A walk repeats deeper ones each time.
 * Memory      It belongs to the caller and is all-zero at first.  The pages touched depend on the
 *             depth of the stacks.
 * Threads     It belongs to one thread.  A walk in a signal handler that interrupts a walk does not
 *             use it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { GG_STACK_CACHE_FRAMES = 512 };

/* A frame of the walk under way: its state, and the cache entry of the step from it. */
struct gg_stack_cache_frame {
	uint64_t pc, sp, fp;
	uint64_t rule; /* packed, in the bits of GG_RULE_CACHE_RULE_MASK */
};

/* Flags in gg_stack_cache.rules, above the packed rule. */
enum {
	GG_STACK_CACHE_FP_MATTERS = 1 << 30, /* fp matters in the state of this frame */
	/* The step from here restores an fp that matters. */
	GG_STACK_CACHE_COMPARE_FP = (int)(1u << 31),
};

struct gg_stack_cache {
	uint64_t tag;    /* the caller's tag of the remembered stack; 0: no tag yet */
	uint64_t epoch;  /* epoch of the modules */
	uint32_t count;  /* remembered frames */
	bool is_latest;  /* the remembered stack is that of the latest capture */
	uint32_t ending; /* enum gg_unwind_ending of that walk: COMPLETE or NO_CFI */
	/*
	 * The states, in the last `count` places, the outermost last.  The comparison reads one
	 * field of many frames, so each field has its own array.
	 */
	uint64_t pcs[GG_STACK_CACHE_FRAMES];
	uint64_t sps[GG_STACK_CACHE_FRAMES];
	/* The packed rule of the step from the frame, and flags. */
	uint32_t rules[GG_STACK_CACHE_FRAMES];
	uint64_t fps[GG_STACK_CACHE_FRAMES];
	/* Frames of the walk under way, a ring. */
	struct gg_stack_cache_frame walked[GG_STACK_CACHE_FRAMES];
};
