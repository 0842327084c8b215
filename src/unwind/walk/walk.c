/* SPDX-License-Identifier: Apache-2.0 */
/* walk - runs the loop of a walk, its beginning, and its end. */
#include <string.h>

#include "base/assert.h"
#include "base/compiler.h"
#include "unwind/walk/module_lookup.h"
#include "unwind/walk/walk.h"

/*
 * Takes steps while they are plain: a packed rule at the home slot of the cache, a CFA below
 * `stop`, and room in the output.
 *
 * Each step waits for the one before it, so the shortest chain from pc to pc decides the speed:
 * load the entry, add its offset to sp, load the return address.  The processor does everything
 * that is not on this chain in parallel: it checks whether the entry belongs to this pc, checks the
 * bounds, and fills the stack cache and the output.  Only a frame with a frame pointer costs a
 * jump.  A restored fp costs no jump, so varying call paths do not confuse the branch predictor.
 * Cost: bench/bench_unwind.c, docs/internals/UNWINDING.md.
 */
GG_RAW_STACK __attribute__((always_inline)) static inline void loop(
	struct gg_walk *w, struct gg_stack_cache_frame *walked)
{
	uint64_t pc = w->pc, sp = w->sp, fp = w->fp, frame = w->frame_count;
	const uint64_t stop = w->stop, epoch = w->cache_epoch, limit = w->frame_limit;
	uint64_t *const pcs = w->pcs - w->shift;

	while (frame < limit) {
		uint64_t key = gg_rule_cache_key(pc);
		uint64_t entry = gg_load_relaxed(&gg_rule_cache_entries[gg_rule_cache_home(key)]);
		uint64_t base = sp, cfa, saved_fp;

		if (gg_unlikely(gg_arch_packed_uses_fp(entry))) {
			base = fp;
			if (gg_unlikely(base < sp || base >= stop || base % 8 != 0))
				break;
		}
		cfa = base + 8 * gg_arch_packed_cfa_words(entry);
		if (gg_unlikely(!gg_rule_cache_is_rule(entry, key, epoch) || cfa >= stop))
			break;
		if (walked != NULL) {
			struct gg_stack_cache_frame *f = &walked[frame % GG_STACK_CACHE_FRAMES];

			f->pc = pc;
			f->sp = sp;
			f->fp = fp;
			f->rule = entry;
		}
		pcs[frame] = pc;
		frame++;
		pc = gg_arch_strip(gg_stack_word(cfa - gg_arch_packed_ra_bytes(entry)));
		saved_fp = gg_stack_word(cfa - gg_arch_packed_fp_bytes(entry));
		fp = gg_arch_packed_saves_fp(entry) ? saved_fp : fp;
		sp = cfa;
	}
	w->pc = pc;
	w->sp = sp;
	w->fp = fp;
	w->frame_count = frame;
}

GG_RAW_STACK static void walk(struct gg_walk *w)
{
	do {
		if (w->is_interrupted)
			continue;
		if (w->stack_cache != NULL)
			loop(w, w->stack_cache->walked);
		else
			loop(w, NULL);
	} while (gg_walk_step(w));
}

/*
 * Makes room in a full output: the next frames overwrite its outer half from the beginning.  At the
 * end, this half is a ring of the outermost frames.
 */
GG_COLD void gg_walk_make_room(struct gg_walk *w)
{
	uint64_t outer = w->max - w->max / 2;

	gg_assert(outer > 0 && w->frame_count == w->frame_limit);
	w->shift += outer;
	w->frame_limit += outer;
}

static void reverse(uint64_t *from, uint64_t *to)
{
	while (from < to && from < --to) {
		uint64_t value = *from;

		*from++ = *to;
		*to = value;
	}
}

/* Rotates the ring so that its frames are in order, and returns how many frames were lost. */
GG_COLD static uint64_t mend_cut(struct gg_walk *w)
{
	uint64_t *outer = w->pcs + w->max / 2, *end = w->pcs + w->max;
	uint64_t *oldest = w->pcs + (w->frame_count - w->shift);

	gg_assert(oldest >= outer && oldest <= end);
	reverse(outer, oldest);
	reverse(oldest, end);
	reverse(outer, end);
	return w->frame_count - w->max;
}

static void begin(struct gg_walk *w, struct gg_unwind_thread *thread, uint64_t *pcs, size_t max)
{
	gg_assert(max >= GG_UNWIND_LEAST);
	w->thread = thread;
	w->pc = w->full.pc;
	w->sp = w->full.value[GG_ARCH_SP];
	w->fp = w->full.value[GG_ARCH_FP];
	w->full_frame = 0;
	w->full_is_interrupted = false;
	w->is_interrupted = false;
	w->pcs = pcs;
	w->max = max;
	w->frame_count = 0;
	w->frame_limit = max;
	w->shift = 0;
	w->stack_count = 0;
	w->barrier = 0;
	w->reused_count = 0;
	w->ending = GG_UNWIND_FOREIGN_STACK;
	w->stack_cache = thread->stack_cache;
	w->modules_epoch = gg_module_lookup_epoch();
	w->cache_epoch = gg_module_lookup_cache_epoch(w->modules_epoch);
}

static void finish(struct gg_walk *w, unsigned skip, struct gg_unwind_stack *ret_stack)
{
	struct gg_unwind_stats *stats = &w->thread->stats;
	uint64_t omitted = 0, count = w->frame_count, skipped = skip;

	if (gg_unlikely(count > w->max)) {
		omitted = mend_cut(w);
		count = w->max;
		gg_store_relaxed(&stats->cut_walks, stats->cut_walks + 1);
	}
	if (skipped > count)
		skipped = count;
	gg_assert(w->reused_count <= w->frame_count);
	gg_assert((unsigned)w->ending < GG_UNWIND_ENDINGS);
	gg_assert(omitted + count == w->frame_count && count <= w->max);
	ret_stack->frames = w->pcs + skipped;
	ret_stack->count = (uint32_t)(count - skipped);
	ret_stack->cut_at = omitted == 0 ? ret_stack->count : (uint32_t)(w->max / 2 - skipped);
	ret_stack->omitted_count = (uint32_t)omitted;
	ret_stack->ending = w->ending;
	ret_stack->reused_count = w->reused_count < ret_stack->count ? w->reused_count
	                                                             : ret_stack->count;
	gg_store_relaxed(&stats->endings[w->ending], stats->endings[w->ending] + 1);
	gg_store_relaxed(&stats->frames, stats->frames + w->frame_count);
	gg_store_relaxed(&stats->reused_frames, stats->reused_frames + w->reused_count);
}

/*
 * True for the walk of a signal handler that interrupted a walk of its own thread: it must not
 * touch the state that the interrupted walk is changing.  If a handler leaves a walk by longjmp(),
 * that walk never ends.  Its frames are then below those of this walk, and the result is false.
 */
GG_COLD static bool is_nested(struct gg_unwind_thread *thread, uint64_t sp)
{
	const struct gg_stack_bounds_own *own = &thread->own;

	return !(sp > thread->busy_sp && thread->busy_sp - own->low < own->high - own->low &&
	         sp - own->low < own->high - own->low);
}

GG_COLD static void capture_nested(struct gg_unwind_thread *outer, struct gg_walk *w, uint64_t *pcs,
                                   size_t max, unsigned skip, struct gg_unwind_stack *ret_stack)
{
	struct gg_unwind_thread thread = { 0 };

	begin(w, &thread, pcs, max);
	if (gg_walk_enter_stack(w))
		walk(w);
	finish(w, skip, ret_stack);
	ret_stack->reused_tag = 0;
	ret_stack->is_repeated = false;
	gg_store_relaxed(&outer->stats.nested_walks, outer->stats.nested_walks + 1);
}

/*
 * True if the walk repeats the last one from its first frame on, as in a loop that allocates.  Then
 * the trace is in the output, and the stack cache needs no change.
 */
static inline bool repeats(struct gg_walk *w)
{
	const struct gg_stack_cache *cache = w->stack_cache;
	uint32_t at = w->cached_index;

	return cache != NULL && w->is_own && cache->is_latest && at < GG_STACK_CACHE_FRAMES &&
	       at + cache->count == GG_STACK_CACHE_FRAMES && cache->sps[at] == w->sp &&
	       gg_stack_cache_meet(w);
}

/*
 * True if this walk would repeat the whole remembered stack, and the caller needs no frames of it.
 * It compares what gg_stack_cache_compare() and gg_stack_cache_meet() compare, from the innermost
 * frame outwards, because stacks that differ mostly do so near the allocation.  All slots are above
 * the sp, which is that of a walk on the thread's own stack.
 */
GG_RAW_STACK static inline bool is_known(const struct gg_unwind_thread *thread,
                                         const struct gg_cfi_registers *here)
{
	const struct gg_stack_cache *cache = thread->stack_cache;
	uint32_t at;

	if (cache == NULL || thread->known_tag == 0 || cache->tag != thread->known_tag ||
	    !cache->is_latest || cache->count == 0)
		return false;
	at = GG_STACK_CACHE_FRAMES - cache->count;
	if (cache->sps[at] != here->value[GG_ARCH_SP] || cache->pcs[at] != here->pc ||
	    (cache->fps[at] != here->value[GG_ARCH_FP] &&
	     (cache->rules[at] & GG_STACK_CACHE_FP_MATTERS) != 0))
		return false;
	for (at++; at < GG_STACK_CACHE_FRAMES; at++) {
		uint64_t cfa = cache->sps[at], rule = cache->rules[at - 1];

		if (gg_arch_strip(gg_stack_word(cfa - gg_arch_packed_ra_bytes(rule))) !=
		    cache->pcs[at])
			return false;
		if (gg_unlikely((rule & GG_STACK_CACHE_COMPARE_FP) != 0) &&
		    gg_stack_word(cfa - gg_arch_packed_fp_bytes(rule)) != cache->fps[at])
			return false;
	}
	return cache->epoch == gg_module_lookup_epoch();
}

static void repeat_known(struct gg_unwind_thread *thread, const uint64_t *pcs,
                         struct gg_unwind_stack *ret_stack)
{
	const struct gg_stack_cache *cache = thread->stack_cache;
	struct gg_unwind_stats *stats = &thread->stats;
	uint64_t count = cache->count;

	*ret_stack = (struct gg_unwind_stack){
		.frames = pcs,
		.ending = (enum gg_unwind_ending)cache->ending,
		.reused_tag = cache->tag,
		.is_repeated = true,
	};
	gg_store_relaxed(&stats->endings[cache->ending], stats->endings[cache->ending] + 1);
	gg_store_relaxed(&stats->frames, stats->frames + count);
	gg_store_relaxed(&stats->reused_frames, stats->reused_frames + count);
}

__attribute__((noinline)) void gg_unwind_capture(struct gg_unwind_thread *thread, uint64_t *pcs,
                                                 size_t max, unsigned skip,
                                                 struct gg_unwind_stack *ret_stack)
{
	struct gg_walk w;

	gg_arch_registers_here(&w.full);
	skip++; /* the frame of this function */
	if (gg_unlikely(thread->busy_sp != 0) && is_nested(thread, w.full.value[GG_ARCH_SP])) {
		capture_nested(thread, &w, pcs, max, skip, ret_stack);
		return;
	}
	thread->busy_sp = w.full.value[GG_ARCH_SP];
	gg_fence_signal(); /* A handler that sees half-changed data also sees busy_sp set. */
	if (is_known(thread, &w.full)) {
		repeat_known(thread, pcs, ret_stack);
		gg_fence_signal();
		thread->busy_sp = 0;
		return;
	}
	begin(&w, thread, pcs, max);
	ret_stack->reused_tag = w.stack_cache != NULL ? w.stack_cache->tag : 0;
	ret_stack->is_repeated = false;
	if (gg_walk_enter_stack(&w)) {
		if (repeats(&w))
			ret_stack->is_repeated = ret_stack->reused_tag != 0;
		else
			walk(&w);
	}
	finish(&w, skip, ret_stack);
	if (w.stack_cache != NULL && !ret_stack->is_repeated)
		gg_stack_cache_remember(&w);
	gg_fence_signal();
	thread->busy_sp = 0;
}
