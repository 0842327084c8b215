/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk - a walk under way; shared by the loop (walk.c), the careful steps (step.c) and the memo.
 *
 * The state (pc, sp, fp) is that of frame number `frame_count`, which is not in the output yet.
 * Frame f goes to pcs[f - shift]; a full array makes `shift` larger, see gg_walk_make_room().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "unwind/unwind.h"
#include "unwind/walk/rule_cache.h"

struct gg_walk {
	/* What the loop uses. */
	uint64_t pc, sp, fp;
	uint64_t stop;        /* the loop leaves a step to others if its CFA is not below this */
	uint64_t frame_count; /* frames in the output, cut ones included */
	uint64_t frame_limit; /* the loop stops there: no room */
	uint64_t shift;
	uint64_t cache_epoch; /* as in cache entries */
	uint64_t *pcs;
	struct gg_stack_cache *memo; /* NULL: none */

	/* The stack that sp is on. */
	uint64_t low;          /* nothing below is read */
	uint64_t readable_end; /* [low, this) can be read */
	uint64_t high;         /* no step goes beyond; own stack: == readable_end */
	bool is_own;
	bool is_interrupted;  /* pc was interrupted, not calling */
	unsigned stack_count; /* entered so far */

	/* Output. */
	size_t max;
	uint64_t lost_count; /* frames that later ones have overwritten */

	/* Memo. */
	uint64_t modules_epoch;
	uint64_t barrier; /* frames before this one are not to be remembered */
	uint32_t memo_at; /* memo->frames[this] may be met next; GG_STACK_CACHE_FRAMES: none */
	uint32_t reused_count;

	struct gg_unwind_thread *thread;
	enum gg_unwind_ending ending;

	/* All registers as they were in frame full_frame, whose pc was interrupted or not. */
	uint64_t full_frame;
	bool full_is_interrupted;
	struct gg_cfi_registers full;
};

/* step.c */

/* One step, or the end of the walk: false, with the ending set. */
bool gg_walk_step(struct gg_walk *w);

/* The walk is at a new stack: finds its bounds.  False: it cannot be read. */
bool gg_walk_enter_stack(struct gg_walk *w);

/* general.c */

/* A step by the whole row; out of a stub that has pushed so many words; through a signal frame without CFI. */
bool gg_walk_step_general(struct gg_walk *w, const struct gg_cfi_module *module);
bool gg_walk_step_stub(struct gg_walk *w, uint64_t pushed_words);
bool gg_walk_step_signal_code(struct gg_walk *w);

/* output, walk.c */

void gg_walk_make_room(struct gg_walk *w);

/* stack_cache.c */

/* Finds what part of the memo still holds, for a walk that is at the own stack. */
void gg_stack_cache_compare(struct gg_walk *w);

/* The walk is at or above memo->frames[memo_at]: takes the rest from the memo and is true, or not. */
bool gg_stack_cache_meet(struct gg_walk *w);

/* Remembers the walk that has ended. */
void gg_stack_cache_remember(struct gg_walk *w);

/* Can [.., end) be read?  Asks for the pages of a foreign stack. */
bool gg_walk_may_read(struct gg_walk *w, uint64_t end);

/* One frame's pc into the output. */
static inline void gg_walk_push(struct gg_walk *w, uint64_t pc)
{
	if (w->frame_count == w->frame_limit)
		gg_walk_make_room(w);
	w->pcs[w->frame_count - w->shift] = pc;
	w->frame_count++;
}
