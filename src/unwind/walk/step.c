/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step - takes the steps that the loop of walk.c leaves out.
 *
 * These are: a miss of the rule cache, a rule that is not packed, a page of a foreign stack that
 * was not checked yet, the end of the stack, and the frame where the stack cache begins.
 */
#include <stdlib.h>

#include "base/compiler.h"
#include "unwind/walk/code_rule.h"
#include "unwind/walk/module_lookup.h"
#include "unwind/walk/walk.h"

enum {
	/* Stacks of one walk, such as that of a handler that another handler interrupted. */
	STACKS_MAX = 8,
	/*
	 * A rule may name words below sp: registers that an interrupted epilogue has just popped.
	 * Signals on x86-64 leave 128 bytes alone.
	 */
	RED_ZONE_BYTES = 128,
	/* The frames of libc below the arguments of the process, without those of main(). */
	START_BYTES = 256,
};

static void count(uint64_t *counter)
{
	gg_store_relaxed(counter, *counter + 1);
}

static bool end(struct gg_walk *w, enum gg_unwind_ending ending)
{
	w->ending = ending;
	return false;
}

bool gg_walk_may_read(struct gg_walk *w, uint64_t end)
{
	if (end > w->high)
		return false;
	while (w->readable_end < end) {
		if (!gg_stack_bounds_is_readable(w->readable_end))
			return false;
		w->readable_end += GG_STACK_BOUNDS_PAGE;
	}
	return true;
}

/* The loop runs to the end of readable memory, or to the next frame that the stack cache has. */
static void set_stop(struct gg_walk *w)
{
	w->stop = w->readable_end;
	if (w->cached_index < GG_STACK_CACHE_FRAMES &&
	    w->stack_cache->sps[w->cached_index] < w->stop)
		w->stop = w->stack_cache->sps[w->cached_index];
}

bool gg_walk_enter_stack(struct gg_walk *w)
{
	struct gg_unwind_thread *thread = w->thread;
	struct gg_stack_bounds_own *own = &thread->own;

	if (w->sp % 8 != 0 || ++w->stack_count > STACKS_MAX)
		return end(w, GG_UNWIND_BAD_FRAME);
	/* The page of sp is readable; the pages below it may not be. */
	w->low = w->sp & -(uint64_t)GG_STACK_BOUNDS_PAGE;
	if (w->low < w->sp - RED_ZONE_BYTES)
		w->low = w->sp - RED_ZONE_BYTES;
	w->barrier = w->frame_count;
	w->cached_index = GG_STACK_CACHE_FRAMES;
	w->is_own = gg_likely(w->sp - own->low < own->high - own->low);
	if (!w->is_own) {
		w->is_own = gg_stack_bounds_is_own(own, w->sp);
		count(&thread->stats.stack_searches);
	}
	if (w->is_own) {
		w->readable_end = w->high = own->high;
		if (w->stack_cache != NULL)
			gg_stack_cache_compare(w);
	} else {
		w->readable_end = w->sp & -(uint64_t)GG_STACK_BOUNDS_PAGE;
		w->high = w->sp + GG_STACK_BOUNDS_FOREIGN_BYTES;
		count(&thread->stats.foreign_walks);
		if (!gg_walk_may_read(w, w->sp + 8))
			return end(w, GG_UNWIND_FOREIGN_STACK);
	}
	set_stop(w);
	return true;
}

static uint64_t key_of(const struct gg_walk *w)
{
	return gg_rule_cache_key(w->pc) + (w->is_interrupted ? 1 : 0);
}

/* Compiling. */

/*
 * True at the first instruction of a signal trampoline.  A damaged stack may lead to a pc that is
 * not even readable, so the pages are checked first.
 */
static bool is_signal_code(uint64_t pc)
{
	uint8_t code[GG_ARCH_SIGNAL_CODE_BYTES];

	if (!gg_stack_bounds_is_readable(pc) || !gg_stack_bounds_is_readable(pc + sizeof(code) - 8))
		return false;
	for (unsigned i = 0; i < sizeof(code); i++)
		code[i] = ((const uint8_t *)(uintptr_t)pc)[i];
	return gg_arch_is_signal_return(code);
}

/* Copies the code around pc, with 0 for bytes that cannot be read. */
static void read_code(uint64_t pc, uint8_t code[2 * GG_ARCH_STUB_BYTES])
{
	const bool has_pc = gg_stack_bounds_is_readable(
		pc); /* executable code need not be readable */
	const bool has_before = has_pc && gg_stack_bounds_is_readable(pc - GG_ARCH_STUB_BYTES);
	const bool has_after = has_pc && gg_stack_bounds_is_readable(pc + GG_ARCH_STUB_BYTES - 8);

	for (int i = 0; i < 2 * GG_ARCH_STUB_BYTES; i++) {
		const uint8_t *from = (const uint8_t *)(uintptr_t)(pc - GG_ARCH_STUB_BYTES) + i;

		code[i] = (i < GG_ARCH_STUB_BYTES ? has_before : has_after) ? *from : 0;
	}
}

/* True if the interrupted code at pc, which has no CFI, is a stub of the linker. */
static bool is_stub(uint64_t pc, uint64_t *ret_entry)
{
	uint8_t code[2 * GG_ARCH_STUB_BYTES];
	int words;

	read_code(pc, code);
	words = gg_arch_stub_words(code + GG_ARCH_STUB_BYTES);
	if (words < 0)
		return false;
	*ret_entry = GG_RULE_CACHE_ODD | GG_ODD_STUB | (uint64_t)words << GG_ODD_KIND_BITS;
	return true;
}

/*
 * Packs the rule of a realigned frame, whose CFA is in a slot.  Nearly all such frames have their
 * slots right below rbp, so 8 bits are enough for each offset.
 */
static bool pack_deref(struct gg_unwind_rule rule, uint64_t *ret_entry)
{
	const int32_t limit = 1 << (GG_ODD_OFFSET_BITS - 1);
	int32_t cfa_words = rule.cfa_bytes / 8;

	if (rule.kind != GG_RULE_FP_DEREF || rule.flags != 0 || rule.ra_words != -1 ||
	    rule.cfa_bytes % 8 != 0 || cfa_words < -limit || cfa_words >= limit ||
	    rule.fp_words < -limit || rule.fp_words >= limit)
		return false;
	*ret_entry = GG_RULE_CACHE_ODD | GG_ODD_FP_DEREF |
	             (uint64_t)(cfa_words + limit) << GG_ODD_KIND_BITS |
	             (uint64_t)(rule.fp_words + limit) << (GG_ODD_KIND_BITS + GG_ODD_OFFSET_BITS);
	return true;
}

/* Makes the cache entry of a key: a packed rule, or GG_RULE_CACHE_ODD and an enum gg_odd. */
static uint64_t compile(struct gg_walk *w, uint64_t key)
{
	struct gg_unwind_rule rule = { 0 };
	struct gg_cfi_module module;
	uint64_t entry;
	uint32_t packed;
	bool has_module = gg_module_lookup_find(gg_rule_cache_lookup_pc(key), &module);

	if (has_module)
		rule = gg_cfi_rule_at(&module, gg_rule_cache_lookup_pc(key), NULL);
	if (gg_arch_pack(rule, &packed))
		return packed;
	if (pack_deref(rule, &entry))
		return entry;
	if (rule.kind == GG_RULE_OUTERMOST)
		return GG_RULE_CACHE_ODD | GG_ODD_OUTERMOST;
	if (rule.kind != GG_RULE_NONE)
		return GG_RULE_CACHE_ODD | GG_ODD_RECOMPILE;
	if (w->pc - gg_module_lookup_start.begin <
	    gg_module_lookup_start.end - gg_module_lookup_start.begin)
		return GG_RULE_CACHE_ODD | GG_ODD_OUTERMOST;
	/* A stub calls nothing, so it can only be interrupted. */
	if (has_module && w->is_interrupted && is_stub(w->pc, &entry))
		return entry;
	if (!w->is_interrupted && is_signal_code(w->pc))
		return GG_RULE_CACHE_ODD | GG_ODD_SIGNAL_CODE;
	/*
	 * No function ends at pc, but one begins there.  So no call has pushed this return address:
	 * makecontext() or the like has put it at the beginning of a stack.
	 */
	if (has_module && !w->is_interrupted &&
	    gg_cfi_rule_at(&module, w->pc, NULL).kind != GG_RULE_NONE)
		return GG_RULE_CACHE_ODD | GG_ODD_OUTERMOST;
	if (gg_module_lookup_has(w->pc) && gg_code_rule(w, &rule) && gg_arch_pack(rule, &packed))
		return packed;
	count(&w->thread->stats.fallback_rules);
	return GG_ARCH_FALLBACK;
}

/* Returns the rule of a key from the cache, or compiles and inserts it. */
static uint64_t rule_bits(struct gg_walk *w, uint64_t key)
{
	uint64_t entry, *slot;

	if (!gg_rule_cache_find(key, w->cache_epoch, &entry, &slot)) {
		uint64_t seen = entry;

		count(&w->thread->stats.misses);
		entry = compile(w, key);
		gg_rule_cache_insert(key, w->cache_epoch, entry, seen, slot);
	}
	return entry;
}

/* Stepping. */

/* Goes on to the caller.  The frame is in the output, and its caller was not interrupted. */
static bool advance(struct gg_walk *w, uint64_t pc, uint64_t sp, uint64_t fp, bool remembered)
{
	w->pc = gg_arch_strip(pc);
	w->sp = sp;
	w->fp = fp;
	if (w->is_interrupted || !remembered)
		w->barrier = w->frame_count;
	w->is_interrupted = false;
	return true;
}

/*
 * True if the code at pc begins a thread.  The code of musl that calls main(), or a thread's
 * function, has no CFI.  The first lies right below the arguments of the process; the second is
 * libc's, and has cleared the frame pointer.
 */
static bool begins_thread(const struct gg_walk *w, uint64_t pc)
{
#ifdef GG_MUSL
	struct gg_module_lookup_row libc;

	return gg_module_lookup_arguments - w->sp < START_BYTES ||
	       (w->fp == 0 && gg_module_lookup_table_find((uintptr_t)exit, &libc) &&
	        pc - libc.begin < libc.end - libc.begin);
#else
	(void)w;
	(void)pc;
	return false;
#endif
}

/* Ends a walk whose step did not lead to a frame, and tells wrong CFI from missing CFI. */
static bool end_badly(struct gg_walk *w, uint64_t rule)
{
	struct gg_cfi_module module;
	uint64_t pc = gg_rule_cache_lookup_pc(key_of(w));

	if (rule == GG_ARCH_FALLBACK && !w->is_interrupted && begins_thread(w, pc))
		return end(w, GG_UNWIND_COMPLETE);
	if (rule == GG_ARCH_FALLBACK && (!gg_module_lookup_find(pc, &module) ||
	                                 gg_cfi_rule_at(&module, pc, NULL).kind == GG_RULE_NONE))
		return end(w, GG_UNWIND_NO_CFI);
	return end(w, GG_UNWIND_BAD_FRAME);
}

GG_RAW_STACK static bool step_packed(struct gg_walk *w, uint64_t rule)
{
	uint64_t base = gg_arch_packed_uses_fp(rule) ? w->fp : w->sp;
	uint64_t cfa = base + 8 * gg_arch_packed_cfa_words(rule);
	uint64_t fp = w->fp;

	if (w->stack_cache != NULL) {
		struct gg_stack_cache_frame *f =
			&w->stack_cache->walked[w->frame_count % GG_STACK_CACHE_FRAMES];

		*f = (struct gg_stack_cache_frame){ w->pc, w->sp, w->fp, rule };
	}
	gg_walk_push(w, w->pc);
	if (base < w->sp || base % 8 != 0 || cfa <= w->sp || !gg_walk_may_read(w, cfa))
		return end_badly(w, rule);
	if (gg_arch_packed_saves_fp(rule))
		fp = gg_stack_word(cfa - gg_arch_packed_fp_bytes(rule));
	return advance(w, gg_stack_word(cfa - gg_arch_packed_ra_bytes(rule)), cfa, fp, true);
}

/* Reads a word of the stack at any address, for a rule that is not packed. */
GG_RAW_STACK static bool read_word(struct gg_walk *w, uint64_t address, uint64_t *ret_word)
{
	if (address < w->low || address >= w->high || address % 8 != 0 ||
	    !gg_walk_may_read(w, address + 8))
		return false;
	*ret_word = gg_stack_word(address);
	return true;
}

static bool step_deref(struct gg_walk *w, uint64_t entry)
{
	const uint64_t mask = (1 << GG_ODD_OFFSET_BITS) - 1, limit = (mask + 1) / 2;
	uint64_t cfa_words = (entry >> GG_ODD_KIND_BITS & mask) - limit;
	uint64_t fp_words = (entry >> (GG_ODD_KIND_BITS + GG_ODD_OFFSET_BITS) & mask) - limit;
	uint64_t cfa, fp, pc;

	gg_walk_push(w, w->pc);
	if (!read_word(w, w->fp + 8 * cfa_words, &cfa) || cfa <= w->sp || cfa % 8 != 0 ||
	    !read_word(w, cfa - 8, &pc) || !read_word(w, w->fp + 8 * fp_words, &fp))
		return end(w, GG_UNWIND_BAD_FRAME);
	return advance(w, pc, cfa, fp, false);
}

/* A rule that the cache could not hold. */
static bool step_recompiled(struct gg_walk *w)
{
	struct gg_cfi_module module;

	count(&w->thread->stats.recompiled);
	gg_walk_push(w, w->pc);
	if (!gg_module_lookup_find(gg_rule_cache_lookup_pc(key_of(w)), &module))
		return end(w, GG_UNWIND_NO_CFI); /* the module was unloaded a moment ago */
	return gg_walk_step_general(w, &module);
}

static bool step(struct gg_walk *w)
{
	uint64_t rule;

	if (w->pc == 0) {
		w->barrier = w->frame_count; /* the slot with the 0 is in no remembered frame */
		return end(w, GG_UNWIND_COMPLETE);
	}
	if (w->frame_count >= w->frame_limit) {
		if (w->frame_count >= GG_UNWIND_WALK)
			return end(w, GG_UNWIND_TOO_DEEP);
		gg_walk_make_room(w);
	}
	rule = rule_bits(w, key_of(w));
	if ((rule & GG_RULE_CACHE_ODD) == 0)
		return step_packed(w, rule);
	switch (rule & ((1 << GG_ODD_KIND_BITS) - 1)) {
	case GG_ODD_FP_DEREF:
		return step_deref(w, rule);
	case GG_ODD_OUTERMOST:
		if (w->stack_cache != NULL)
			w->stack_cache->walked[w->frame_count % GG_STACK_CACHE_FRAMES] =
				(struct gg_stack_cache_frame){ w->pc, w->sp, w->fp, 0 };
		gg_walk_push(w, w->pc);
		return end(w, GG_UNWIND_COMPLETE);
	case GG_ODD_STUB:
		gg_walk_push(w, w->pc);
		return gg_walk_step_stub(w, (rule & GG_RULE_CACHE_RULE_MASK) >> GG_ODD_KIND_BITS);
	case GG_ODD_SIGNAL_CODE:
		gg_walk_push(w, w->pc);
		return gg_walk_step_signal_code(w);
	default:
		return step_recompiled(w);
	}
}

bool gg_walk_step(struct gg_walk *w)
{
	do {
		if (w->cached_index < GG_STACK_CACHE_FRAMES &&
		    w->sp >= w->stack_cache->sps[w->cached_index] && gg_stack_cache_meet(w))
			return false;
		count(&w->thread->stats.careful_steps);
		if (!step(w))
			return false;
		set_stop(w);
	} while (w->sp >= w->stop);
	return true;
}
