/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/walk/stack_cache.h"

#include <string.h>

#include "base/compiler.h"
#include "unwind/walk/walk.h"

GG_RAW_STACK void gg_stack_cache_compare(struct gg_walk *w)
{
	const struct gg_stack_cache *memo = w->memo;
	const uint64_t lowest = w->sp;
	uint32_t first = GG_STACK_CACHE_FRAMES - memo->count, at = GG_STACK_CACHE_FRAMES - 1;
	uint64_t cfa = memo->sps[at];

	w->memo_at = GG_STACK_CACHE_FRAMES;
	if (memo->count == 0 || memo->epoch != w->modules_epoch || cfa < lowest)
		return;
	while (memo->sps[first] < lowest)
		first++;
	/* That the steps from `at` on would be made again is known; now the one from at - 1 to at. */
	for (; at > first; at--) {
		uint64_t rule = memo->rules[at - 1];

		if (gg_arch_strip(gg_stack_word(cfa - gg_arch_packed_ra_bytes(rule))) !=
		    memo->pcs[at])
			break;
		if (gg_unlikely((rule & GG_STACK_CACHE_COMPARE_FP) != 0) &&
		    gg_stack_word(cfa - gg_arch_packed_fp_bytes(rule)) != memo->fps[at])
			break;
		cfa = memo->sps[at - 1];
	}
	w->memo_at = at;
}

/* Appends the remembered frames from `at` on to the output. */
static void take_over(struct gg_walk *w, uint32_t at)
{
	uint32_t count = GG_STACK_CACHE_FRAMES - at;

	if (gg_likely(w->frame_limit - w->frame_count >= count)) {
		memcpy(w->pcs + (w->frame_count - w->shift), &w->memo->pcs[at],
		       count * sizeof(*w->pcs));
		w->frame_count += count;
		return;
	}
	for (; at < GG_STACK_CACHE_FRAMES; at++)
		gg_walk_push(w, w->memo->pcs[at]);
}

bool gg_stack_cache_meet(struct gg_walk *w)
{
	const struct gg_stack_cache *memo = w->memo;
	uint32_t at = w->memo_at;

	while (at < GG_STACK_CACHE_FRAMES && memo->sps[at] < w->sp)
		at++;
	w->memo_at = at;
	if (at == GG_STACK_CACHE_FRAMES || memo->sps[at] != w->sp)
		return false;
	if (memo->pcs[at] != w->pc ||
	    (memo->fps[at] != w->fp && (memo->rules[at] & GG_STACK_CACHE_FP_MATTERS) != 0)) {
		w->memo_at++;
		return false;
	}
	w->reused_count = GG_STACK_CACHE_FRAMES - at;
	w->ending = (enum gg_unwind_ending)memo->ending;
	take_over(w, at);
	return true;
}

/*
 * Puts the walked frames [end - count, end) before the remembered frame `at`, outermost first: whether
 * fp matters in a frame is known when it is known of the next.
 */
static void put_before(struct gg_stack_cache *memo, uint32_t at, uint64_t end, uint64_t count,
                       bool matters)
{
	while (count-- > 0) {
		const struct gg_stack_cache_frame *f = &memo->walked[--end % GG_STACK_CACHE_FRAMES];
		uint32_t rule = (uint32_t)(f->rule & GG_RULE_CACHE_RULE_MASK);
		bool saves = gg_arch_packed_saves_fp(rule);

		if (saves && matters)
			rule |= (uint32_t)GG_STACK_CACHE_COMPARE_FP;
		matters = gg_arch_packed_uses_fp(rule) | (matters & !saves);
		if (matters)
			rule |= GG_STACK_CACHE_FP_MATTERS;
		at--;
		memo->pcs[at] = f->pc;
		memo->sps[at] = f->sp;
		memo->fps[at] = f->fp;
		memo->rules[at] = rule;
	}
}

void gg_stack_cache_remember(struct gg_walk *w)
{
	struct gg_stack_cache *memo = w->memo;
	uint32_t reused = w->reused_count, at = GG_STACK_CACHE_FRAMES - reused;
	uint64_t walked_end = w->frame_count - reused;
	uint64_t walked = walked_end > w->barrier ? walked_end - w->barrier : 0;
	bool matters = w->ending != GG_UNWIND_COMPLETE;

	/* Frames of another stack are not remembered, and push out none of this one's. */
	memo->is_latest = w->is_own;
	if (!w->is_own)
		return;
	memo->tag = 0;
	if (w->ending != GG_UNWIND_COMPLETE && w->ending != GG_UNWIND_NO_CFI) {
		memo->count = 0;
		return;
	}
	if (reused > 0)
		matters = (memo->rules[at] & GG_STACK_CACHE_FP_MATTERS) != 0;
	if (walked > at)
		walked = at;
	put_before(memo, at, walked_end, walked, matters);
	memo->count = reused + (uint32_t)walked;
	memo->ending = w->ending;
	memo->epoch = w->modules_epoch;
}
