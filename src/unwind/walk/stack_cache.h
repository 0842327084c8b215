/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_cache - the last stack of a thread, so that the next walk need not repeat its outer part.
 *
 * A walk is a chain of states S = (pc, sp, fp), from the innermost frame outwards.  One step:
 *
 *   rule = what is compiled for pc          depends on pc and on the loaded modules, no more
 *   CFA  = sp or fp, plus a constant        the rule says which
 *   S'   = (word at CFA - ra, CFA, fp or the word at CFA - f)        likewise
 *
 * The memo holds the states of the last walk of this thread with the rules that led from each to
 * the next.  Claim: if a new walk comes to a state with the same pc and sp as remembered state m,
 * and the same fp where fp matters, in the same epoch of the modules, and the slots that the
 * remembered steps m, m+1, ... read hold the same words now, then the new walk would go through
 * exactly the remembered states from there on and end in the same way.
 * Proof by induction over the steps.  Equal pc and equal epoch: equal rule.  Equal sp, and fp if
 * the rule uses it: equal CFA, hence the same slots; equal words in them: equal next state.
 * fp matters in a state if a later rule computes a CFA from it before any restores it; while it
 * does not, it may differ without any pc or sp becoming different, and so a slot that restores an
 * fp that does not matter need not be compared.  The end: `complete` is a rule of the last pc,
 * `no-cfi` also looks at fp, which therefore matters up to such an end; walks that ended in
 * another way (a return address of 0 among them) are not remembered.
 * Nothing is assumed about which calls were made in between, and nothing is hashed: the program
 * may have returned, thrown, jumped with longjmp() or switched stacks as it liked.
 *
 * What the proof needs, and how it is kept:
 *   Steps read two words at most    frames whose step is not a packed rule (signal frames, the
 *                                   interrupted frame, general rows) are not remembered, nor any
 *                                   frame inside them: the memo begins outside of the outermost.
 *   Slots can be read               only the thread's own stack is remembered, whose memory stays;
 *                                   slots below the new walk's sp are not looked at.
 *   Bounds are the same             the own stack's end never moves.
 *
 * Comparing goes from the outermost frame inwards and stops at the first slot that differs, before
 * the walk starts; the loads do not depend on each other, so they cost what they are, not a chain.
 *
 * Identifier  the caller gives the remembered stack a tag (its interned id), and is told with the
 *             next stack how many of the outermost frames are those of that one.
 * Depth       GG_STACK_CACHE_FRAMES outermost frames.  Deeper ones are walked each time.
 * Memory      of the caller, all-zero at first; only as much is touched as stacks are deep.
 * Threads     one thread's.  A walk in a signal handler that interrupts a walk does without.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { GG_STACK_CACHE_FRAMES = 512 };

/* A frame that the present walk has gone through: its state, and the cache entry that led on. */
struct gg_stack_cache_frame {
	uint64_t pc, sp, fp;
	uint64_t rule; /* packed, in the bits of GG_CACHE_RULE_MASK */
};

/* In gg_stack_cache.rules, above the packed rule. */
enum {
	GG_STACK_CACHE_FP_MATTERS = 1 << 30, /* in the state of this frame */
	GG_STACK_CACHE_COMPARE_FP =
		(int)(1u << 31), /* the step from here restores an fp that matters */
};

struct gg_stack_cache {
	uint64_t tag;    /* the caller's for the stack remembered; 0: none yet */
	uint64_t epoch;  /* of the modules */
	uint32_t count;  /* frames remembered; 0: none */
	bool is_latest;  /* the stack remembered is that of the latest capture */
	uint32_t ending; /* enum gg_unwind_ending of that walk: COMPLETE or NO_CFI */
	/* The states, in the last `count` places, the outermost last; apart, as they are compared. */
	uint64_t pcs[GG_STACK_CACHE_FRAMES];
	uint64_t sps[GG_STACK_CACHE_FRAMES];
	uint32_t rules[GG_STACK_CACHE_FRAMES]; /* the packed rule that led on, and flags */
	uint64_t fps[GG_STACK_CACHE_FRAMES];
	struct gg_stack_cache_frame
		walked[GG_STACK_CACHE_FRAMES]; /* of the walk under way, a ring */
};
