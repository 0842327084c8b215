/* SPDX-License-Identifier: Apache-2.0 */
/* stack_cache - compares a new walk with the last one, and remembers its frames. */
#include "unwind/walk/stack_cache.h"

#include <string.h>

#include "base/assert.h"
#include "base/compiler.h"
#include "unwind/walk/walk.h"

GG_RAW_STACK void gg_stack_cache_compare(struct gg_walk *w)
{
	const struct gg_stack_cache *cache = w->stack_cache;
	const uint64_t lowest = w->sp;
	uint32_t first = GG_STACK_CACHE_FRAMES - cache->count, at = GG_STACK_CACHE_FRAMES - 1;
	uint64_t cfa = cache->sps[at];

	w->cached_index = GG_STACK_CACHE_FRAMES;
	if (cache->count == 0 || cache->epoch != w->modules_epoch || cfa < lowest)
		return;
	while (cache->sps[first] < lowest)
		first++;
	/*
	 * Goes inwards from the outermost frame.  Invariant: a walk that reaches frame `at` with
	 * the remembered registers would repeat all remembered steps from there on.  The step from
	 * at - 1 to `at` depends on the return address, and for some rules on the saved fp.  Both
	 * are compared with the stack as it is now.
	 */
	for (; at > first; at--) {
		uint64_t rule = cache->rules[at - 1];

		if (gg_arch_strip(gg_stack_word(cfa - gg_arch_packed_ra_bytes(rule))) !=
		    cache->pcs[at])
			break;
		if (gg_unlikely((rule & GG_STACK_CACHE_COMPARE_FP) != 0) &&
		    gg_stack_word(cfa - gg_arch_packed_fp_bytes(rule)) != cache->fps[at])
			break;
		cfa = cache->sps[at - 1];
	}
	w->cached_index = at;
}

/* Appends the remembered frames from `at` on to the output. */
static void take_over(struct gg_walk *w, uint32_t at)
{
	uint32_t count = GG_STACK_CACHE_FRAMES - at;

	gg_assert(at < GG_STACK_CACHE_FRAMES && count <= w->stack_cache->count);
	if (gg_likely(w->frame_limit - w->frame_count >= count)) {
		memcpy(w->pcs + (w->frame_count - w->shift), &w->stack_cache->pcs[at],
		       count * sizeof(*w->pcs));
		w->frame_count += count;
		return;
	}
	for (; at < GG_STACK_CACHE_FRAMES; at++)
		gg_walk_push(w, w->stack_cache->pcs[at]);
}

bool gg_stack_cache_meet(struct gg_walk *w)
{
	const struct gg_stack_cache *cache = w->stack_cache;
	uint32_t at = w->cached_index;

	/*
	 * The walk may have passed remembered frames that it did not meet; only those at or above
	 * its sp can still match.
	 */
	while (at < GG_STACK_CACHE_FRAMES && cache->sps[at] < w->sp)
		at++;
	w->cached_index = at;
	if (at == GG_STACK_CACHE_FRAMES || cache->sps[at] != w->sp)
		return false;
	if (cache->pcs[at] != w->pc ||
	    (cache->fps[at] != w->fp && (cache->rules[at] & GG_STACK_CACHE_FP_MATTERS) != 0)) {
		w->cached_index++;
		return false;
	}
	w->reused_count = GG_STACK_CACHE_FRAMES - at;
	w->ending = (enum gg_unwind_ending)cache->ending;
	take_over(w, at);
	return true;
}

/*
 * Puts the walked frames [end - count, end) before the remembered frame `at`.  It goes from the
 * outermost frame inwards, because whether the fp of a frame matters depends on the frame outside
 * it.  fp matters if this frame's rule uses it, or if the rule leaves it unchanged for a frame
 * where it matters.
 */
static void put_before(struct gg_stack_cache *cache, uint32_t at, uint64_t end, uint64_t count,
                       bool matters)
{
	while (count-- > 0) {
		const struct gg_stack_cache_frame *f =
			&cache->walked[--end % GG_STACK_CACHE_FRAMES];
		uint32_t rule = (uint32_t)(f->rule & GG_RULE_CACHE_RULE_MASK);
		bool saves = gg_arch_packed_saves_fp(rule);

		if (saves && matters)
			rule |= (uint32_t)GG_STACK_CACHE_COMPARE_FP;
		matters = gg_arch_packed_uses_fp(rule) | (matters & !saves);
		if (matters)
			rule |= GG_STACK_CACHE_FP_MATTERS;
		at--;
		cache->pcs[at] = f->pc;
		cache->sps[at] = f->sp;
		cache->fps[at] = f->fp;
		cache->rules[at] = rule;
	}
}

void gg_stack_cache_remember(struct gg_walk *w)
{
	struct gg_stack_cache *cache = w->stack_cache;
	uint32_t reused = w->reused_count, at = GG_STACK_CACHE_FRAMES - reused;
	uint64_t walked_end = w->frame_count - reused;
	/*
	 * The stack cache holds only frames outside the barrier: not all steps inside it are packed
	 * rules.
	 */
	uint64_t walked = walked_end > w->barrier ? walked_end - w->barrier : 0;
	bool matters = w->ending != GG_UNWIND_COMPLETE;

	gg_assert(reused <= cache->count && reused <= w->frame_count);
	/* Frames of a foreign stack are not remembered, so they replace no frames of this one. */
	cache->is_latest = w->is_own;
	if (!w->is_own)
		return;
	cache->tag = 0;
	if (w->ending != GG_UNWIND_COMPLETE && w->ending != GG_UNWIND_NO_CFI) {
		cache->count = 0;
		return;
	}
	/*
	 * The reused frames stay in their places, and the frames just walked go directly before
	 * them.
	 */
	if (reused > 0)
		matters = (cache->rules[at] & GG_STACK_CACHE_FP_MATTERS) != 0;
	if (walked > at)
		walked = at;
	put_before(cache, at, walked_end, walked, matters);
	cache->count = reused + (uint32_t)walked;
	gg_assert(cache->count <= GG_STACK_CACHE_FRAMES);
	cache->ending = w->ending;
	cache->epoch = w->modules_epoch;
}
