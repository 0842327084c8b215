/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk - holds the state of a walk under way, which the loop (walk.c), the careful steps (step.c),
 * and the stack cache share.
 *
 * The state (pc, sp, fp) is that of frame number `frame_count`, which is not in the output yet.
 * Frame f goes to pcs[f - shift].  When the array is full, gg_walk_make_room() increases `shift`.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "unwind/unwind.h"
#include "unwind/walk/rule_cache.h"

struct gg_walk {
	/* Fields that the loop uses. */
	uint64_t pc, sp, fp;
	uint64_t stop;        /* the loop ends before a step whose CFA is not below `stop` */
	uint64_t frame_count; /* frames in the output, with those that were cut */
	uint64_t frame_limit; /* the loop ends there: the output has no room */
	uint64_t shift;
	uint64_t cache_epoch; /* the epoch as in cache entries */
	uint64_t *pcs;
	struct gg_stack_cache *stack_cache; /* NULL: the walk reuses nothing */

	/* The stack that sp is on. */
	uint64_t low;          /* no step reads below it */
	uint64_t readable_end; /* [low, readable_end) can be read */
	uint64_t high;         /* no step goes beyond it; on the own stack == readable_end */
	bool is_own;
	bool is_interrupted;  /* a signal interrupted the code at pc, so pc is no return address */
	unsigned stack_count; /* stacks entered so far */

	/* Output. */
	size_t max;
	uint64_t lost_count; /* frames that later ones have overwritten */

	/* Stack cache. */
	uint64_t modules_epoch;
	uint64_t barrier; /* the stack cache must not hold frames before this one */
	/*
	 * Index of the next cached frame that may match; GG_STACK_CACHE_FRAMES: no frame is left.
	 */
	uint32_t cached_index;
	uint32_t reused_count;

	struct gg_unwind_thread *thread;
	enum gg_unwind_ending ending;

	/* All registers as they were in frame full_frame, and whether its pc was interrupted. */
	uint64_t full_frame;
	bool full_is_interrupted;
	struct gg_cfi_registers full;
};

/* step.c */

/* Makes one step.  Returns false at the end of the walk, with the ending set. */
bool gg_walk_step(struct gg_walk *w);

/*
 * Finds the bounds of a stack that the walk has just entered.  Returns false if it cannot be read.
 */
bool gg_walk_enter_stack(struct gg_walk *w);

/* general.c */

/*
 * Make one step: by the whole row; out of a stub that has pushed `pushed_words` words; through a
 * signal frame without CFI.
 */
bool gg_walk_step_general(struct gg_walk *w, const struct gg_cfi_module *module);
bool gg_walk_step_stub(struct gg_walk *w, uint64_t pushed_words);
bool gg_walk_step_signal_code(struct gg_walk *w);

/* output, walk.c */

void gg_walk_make_room(struct gg_walk *w);

/* stack_cache.c */

/* Finds the part of the stack cache that still holds, for a walk on the thread's own stack. */
void gg_stack_cache_compare(struct gg_walk *w);

/*
 * Call it when the walk is at or above the cached frame cached_index.  Returns true if the walk
 * meets a remembered frame: the rest of the stack is then in the output.
 */
bool gg_stack_cache_meet(struct gg_walk *w);

/* Remembers the walk that has ended. */
void gg_stack_cache_remember(struct gg_walk *w);

/* True if the stack can be read up to `end`.  Checks the pages of a foreign stack. */
bool gg_walk_may_read(struct gg_walk *w, uint64_t end);

/* Appends the pc of a frame to the output. */
static inline void gg_walk_push(struct gg_walk *w, uint64_t pc)
{
	if (w->frame_count == w->frame_limit)
		gg_walk_make_room(w);
	w->pcs[w->frame_count - w->shift] = pc;
	w->frame_count++;
}
