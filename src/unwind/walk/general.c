/* SPDX-License-Identifier: Apache-2.0 */
/*
 * general - steps by the whole row, which needs all registers, and steps through signal frames.
 *
 * A walk carries only pc, sp, and fp.  If a row needs another register (a frame whose CFA is kept
 * in rbx, an interrupted prologue), the walk is repeated with all registers from the last frame
 * where they were known: the start, or the code that a signal interrupted.  That costs about 1 us a
 * frame.  It happens in the loader's lazy binding and in code interrupted at odd places.
 */
#include "base/compiler.h"
#include "unwind/walk/module_lookup.h"
#include "unwind/walk/walk.h"

/* Returns the registers that the walk knows without a repetition. */
static void known_registers(const struct gg_walk *w, struct gg_cfi_registers *ret_registers)
{
	ret_registers->value[GG_ARCH_SP] = w->sp;
	ret_registers->value[GG_ARCH_FP] = w->fp;
	ret_registers->known = UINT64_C(1) << GG_ARCH_SP | UINT64_C(1) << GG_ARCH_FP;
	ret_registers->pc = w->pc;
}

static struct gg_cfi_stack readable_stack(const struct gg_walk *w)
{
	return (struct gg_cfi_stack){ w->low, w->readable_end, (const uint8_t *)(uintptr_t)w->low };
}

/*
 * Steps over a frame without CFI.  Afterwards only the registers that frame pointers restore are
 * known.
 */
GG_RAW_STACK static bool step_fallback(struct gg_walk *w, struct gg_cfi_registers *registers)
{
	uint64_t fp = registers->value[GG_ARCH_FP];
	uint64_t cfa = fp + 8 * gg_arch_packed_cfa_words(GG_ARCH_FALLBACK);

	if (fp < registers->value[GG_ARCH_SP] || fp % 8 != 0 || cfa > w->readable_end || cfa < fp)
		return false;
	registers->pc = gg_stack_word(cfa - gg_arch_packed_ra_bytes(GG_ARCH_FALLBACK));
	registers->value[GG_ARCH_FP] = gg_stack_word(cfa -
	                                             gg_arch_packed_fp_bytes(GG_ARCH_FALLBACK));
	registers->value[GG_ARCH_SP] = cfa;
	registers->known = UINT64_C(1) << GG_ARCH_SP | UINT64_C(1) << GG_ARCH_FP;
	return true;
}

/*
 * Makes one step by the row at pc, and corrects one error of glibc: the first PLT entry of aarch64
 * pushes x30, but the rows of glibc's _dl_runtime_resolve (2.36) do not include that, so they find
 * the return address above their CFA.  No function has its return address there, so the right CFA
 * is above the pushed words.
 */
static enum gg_cfi_step step_row(const struct gg_cfi_module *module, uint64_t pc,
                                 const struct gg_cfi_stack *stack,
                                 struct gg_cfi_registers *registers, uint8_t *ret_flags)
{
	enum gg_cfi_step step = gg_cfi_step_general(module, pc, stack, registers, ret_flags);
	struct gg_unwind_rule rule;

	if (!GG_ARCH_LINK_REGISTER || step != GG_CFI_STEP_OK)
		return step;
	rule = gg_cfi_rule_at(module, pc, NULL);
	if ((rule.kind == GG_RULE_SP || rule.kind == GG_RULE_FP) && rule.ra_words >= 0)
		registers->value[GG_ARCH_SP] += 16 * (1 + (uint64_t)rule.ra_words / 2);
	return step;
}

/*
 * Brings w->full to the frame of the walk, which is the last in the output.  Returns false if a
 * step fails.
 */
static bool know_all(struct gg_walk *w)
{
	struct gg_cfi_stack stack = readable_stack(w);
	uint64_t frame = w->frame_count - 1;

	while (w->full_frame < frame) {
		uint64_t pc = w->full.pc - (w->full_is_interrupted ? 0 : 1);
		uint64_t sp = w->full.value[GG_ARCH_SP];
		struct gg_cfi_module module;
		enum gg_cfi_step step = GG_CFI_STEP_NO_CFI;
		uint8_t flags = 0;

		if (gg_module_lookup_find(pc, &module))
			step = step_row(&module, pc, &stack, &w->full, &flags);
		if (step == GG_CFI_STEP_NO_CFI && step_fallback(w, &w->full))
			step = GG_CFI_STEP_OK;
		if (step != GG_CFI_STEP_OK || w->full.value[GG_ARCH_SP] <= sp)
			return false;
		w->full.pc = gg_arch_strip(w->full.pc);
		w->full_is_interrupted = (flags & GG_RULE_SIGNAL) != 0;
		w->full_frame++;
	}
	return w->full_frame == frame && w->full.value[GG_ARCH_SP] == w->sp;
}

/* Continues the walk with the caller's `registers` after a step. */
static bool arrive(struct gg_walk *w, struct gg_cfi_registers *registers, bool is_signal)
{
	const uint64_t sp = w->sp;
	const bool was_interrupted = w->is_interrupted;

	registers->pc = gg_arch_strip(registers->pc);
	w->pc = registers->pc;
	w->sp = registers->value[GG_ARCH_SP];
	w->fp = registers->value[GG_ARCH_FP];
	w->is_interrupted = is_signal;
	if (is_signal) {
		gg_store_relaxed(&w->thread->stats.signal_frames,
		                 w->thread->stats.signal_frames + 1);
		w->full = *registers;
		w->full_frame = w->frame_count;
		w->full_is_interrupted = true;
		return gg_walk_enter_stack(w);
	}
	w->barrier = w->frame_count;
	/* An interrupted leaf function of aarch64 has no frame, so sp may stay the same. */
	if (w->sp < sp || (w->sp == sp && !was_interrupted) || w->sp % 8 != 0 ||
	    !gg_walk_may_read(w, w->sp)) {
		w->ending = GG_UNWIND_BAD_FRAME;
		return false;
	}
	return true;
}

bool gg_walk_step_general(struct gg_walk *w, const struct gg_cfi_module *module)
{
	uint64_t pc = w->pc - (w->is_interrupted ? 0 : 1);
	struct gg_cfi_registers registers;
	struct gg_cfi_stack stack;
	enum gg_cfi_step step;
	uint8_t flags = 0;

	gg_store_relaxed(&w->thread->stats.general_steps, w->thread->stats.general_steps + 1);
	/*
	 * A row may name any slot of its frame.  On a foreign stack, this call checks the next
	 * page, so that the row may read it.
	 */
	gg_walk_may_read(w, w->sp + GG_STACK_BOUNDS_PAGE);
	stack = readable_stack(w);
	known_registers(w, &registers);
	if (w->full_frame == w->frame_count - 1)
		registers = w->full;
	step = step_row(module, pc, &stack, &registers, &flags);
	if (step == GG_CFI_STEP_UNKNOWN && know_all(w)) {
		registers = w->full;
		step = step_row(module, pc, &stack, &registers, &flags);
	}
	if (step == GG_CFI_STEP_OK)
		return arrive(w, &registers, (flags & GG_RULE_SIGNAL) != 0);
	w->ending = step == GG_CFI_STEP_OUTERMOST ? GG_UNWIND_COMPLETE
	            : step == GG_CFI_STEP_NO_CFI  ? GG_UNWIND_NO_CFI
	                                          : GG_UNWIND_BAD_FRAME;
	return false;
}

GG_RAW_STACK bool gg_walk_step_stub(struct gg_walk *w, uint64_t pushed_words)
{
	struct gg_cfi_registers registers = w->full;
	uint64_t sp = w->sp + 8 * pushed_words;

	if (w->full_frame != w->frame_count - 1) {
		w->ending = GG_UNWIND_NO_CFI;
		return false;
	}
	if (GG_ARCH_LINK_REGISTER) {
		registers.pc = registers.value[GG_ARCH_RA];
		registers.known &= ~(UINT64_C(1) << GG_ARCH_RA);
	} else {
		if (!gg_walk_may_read(w, sp + 8)) {
			w->ending = GG_UNWIND_BAD_FRAME;
			return false;
		}
		registers.pc = gg_stack_word(sp);
		sp += 8;
	}
	registers.value[GG_ARCH_SP] = sp;
	w->full = registers; /* a stub keeps all other registers */
	w->full_frame = w->frame_count;
	w->full_is_interrupted = false;
	return arrive(w, &registers, false);
}

bool gg_walk_step_signal_code(struct gg_walk *w)
{
	struct gg_cfi_registers registers;

	if (!gg_walk_may_read(w, w->sp + GG_ARCH_SIGNAL_FRAME_BYTES)) {
		w->ending = GG_UNWIND_BAD_FRAME;
		return false;
	}
	gg_arch_signal_registers(w->sp, &registers);
	return arrive(w, &registers, true);
}
