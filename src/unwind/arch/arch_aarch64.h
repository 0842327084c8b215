/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arch_aarch64 - describes aarch64 to the walker (arch.h); empty on other processors.
 *
 * The return address is in x30 until the function saves it, nearly always beside x29.  It may carry
 * a pointer authentication code.  A packed rule:
 *
 *   bits  0..8    CFA - base register, in 16 bytes               16 bytes .. 8 KiB
 *   bit   9       1: the base register is x29; 0: sp
 *   bits 10..19   CFA - slot of the return address, in words
 *   bits 20..21   0: x29 still holds the caller's value; 1: x29 is saved one word below the return
 *                 address; 2: one word above
 */
#pragma once

#if defined(__aarch64__)

#include "unwind/arch/arch_common.h"

enum {
	GG_ARCH_FP = GG_AARCH64_X29,
	GG_ARCH_SP = GG_AARCH64_SP,
	GG_ARCH_RA = GG_AARCH64_X30,
	GG_ARCH_LINK_REGISTER = 1, /* 1: a call leaves the return address in a register */
	GG_ARCH_SIGNAL_CODE_BYTES = 8,
	GG_ARCH_CODE_SHIFT = 2, /* instructions are 4 bytes */
};

/*
 * stp x29, x30, [sp, #-N]!; mov x29, sp: the pair lies at x29.  The size of the frame is unknown.
 */
#define GG_ARCH_FALLBACK (UINT64_C(1) | UINT64_C(1) << 9 | UINT64_C(1) << 10 | UINT64_C(1) << 20)

/* Reads the registers of the function into which the compiler inlines this one. */
__attribute__((always_inline)) static inline void gg_arch_registers_here(
	struct gg_cfi_registers *ret_registers)
{
	uint64_t *value = ret_registers->value;

	/* pc is the instruction after this one, as if this one were a call that has returned. */
	__asm__ volatile("adr %0, 1f\n1:" : "=r"(ret_registers->pc));
	__asm__ volatile("stp x19, x20, [%0]\n"
	                 "stp x21, x22, [%0, #16]\n"
	                 "stp x23, x24, [%0, #32]\n"
	                 "stp x25, x26, [%0, #48]\n"
	                 "stp x27, x28, [%0, #64]\n"
	                 "stp x29, x30, [%0, #80]\n"
	                 :
	                 : "r"(&value[19])
	                 : "memory");
	__asm__ volatile("mov %0, sp" : "=r"(value[GG_AARCH64_SP]));
	ret_registers->known = UINT64_C(0x1fff) << 19; /* x19..x30 and sp */
}

static inline uint64_t gg_arch_thread_pointer(void)
{
	uint64_t pointer;

	__asm__("mrs %0, tpidr_el0" : "=r"(pointer));
	return pointer;
}

/*
 * Calls rt_sigprocmask(-1, address, NULL, 8).  Returns -EFAULT if the address is unreadable,
 * otherwise -EINVAL, because no operation has this number.
 */
static inline long gg_arch_probe(uint64_t address)
{
	register uint64_t number __asm__("x8") = 135;
	register uint64_t x0 __asm__("x0") = (uint64_t)-1;
	register uint64_t x1 __asm__("x1") = address;
	register uint64_t x2 __asm__("x2") = 0;
	register uint64_t x3 __asm__("x3") = 8;

	__asm__ volatile("svc #0" : "+r"(x0) : "r"(number), "r"(x1), "r"(x2), "r"(x3) : "memory");
	return (long)x0;
}

/* xpaclri strips x30; on processors without authentication it is a hint that does nothing. */
static inline uint64_t gg_arch_strip(uint64_t pc)
{
	register uint64_t x30 __asm__("x30") = pc;

	__asm__("hint #7" : "+r"(x30));
	return x30;
}

static inline bool gg_arch_pack(struct gg_unwind_rule rule, uint32_t *ret_packed)
{
	int32_t cfa_units = rule.cfa_bytes / 16, ra_words = -rule.ra_words;
	int32_t fp_words = -rule.fp_words;
	uint32_t fp_mode = 0;

	if ((rule.kind != GG_RULE_SP && rule.kind != GG_RULE_FP) ||
	    (rule.flags & GG_RULE_SIGNAL) != 0 || rule.ra_words == GG_RULE_SAME ||
	    rule.cfa_bytes % 16 != 0)
		return false;
	if (rule.fp_words != GG_RULE_SAME) {
		if (fp_words == ra_words + 1)
			fp_mode = 1;
		else if (fp_words == ra_words - 1 && fp_words >= 1)
			fp_mode = 2;
		else
			return false;
	}
	if (cfa_units < 1 || cfa_units > 0x1ff || ra_words < 1 || ra_words > 0x3ff ||
	    ra_words + (fp_mode == 1) > 2 * cfa_units)
		return false;
	*ret_packed = (uint32_t)cfa_units | (rule.kind == GG_RULE_FP ? 1u << 9 : 0) |
	              (uint32_t)ra_words << 10 | fp_mode << 20;
	return true;
}

static inline bool gg_arch_packed_uses_fp(uint64_t packed)
{
	return packed >> 9 & 1;
}

static inline uint64_t gg_arch_packed_cfa_words(uint64_t packed)
{
	return (packed & 0x1ff) * 2;
}

static inline bool gg_arch_packed_saves_fp(uint64_t packed)
{
	return (packed >> 20 & 3) != 0;
}

static inline uint64_t gg_arch_packed_ra_bytes(uint64_t packed)
{
	return (packed >> 10 & 0x3ff) * 8;
}

/*
 * Returns CFA - slot of the saved frame register.  If the register was not saved, the result is any
 * slot within the frame: the loop of walk.c loads it without a branch and drops the value.
 */
static inline uint64_t gg_arch_packed_fp_bytes(uint64_t packed)
{
	uint64_t ra_bytes = gg_arch_packed_ra_bytes(packed);
	uint64_t mode = packed >> 20 & 3;

	return ra_bytes + (mode == 1 ? 8 : 0) - (mode == 2 ? 8 : 0);
}

/*
 * Returns how many words interrupted code without CFI at `at` has pushed, under the assumption that
 * it is a stub of the linker; the return address is in x30.  Nothing distinguishes a stub from
 * other code without a frame.  Only the first entry of a PLT pushes words: stp x16, x30, [sp,
 * #-16]!; ...; br x17.
 */
static inline int gg_arch_stub_words(const uint8_t *at)
{
	for (int i = 1; i <= GG_ARCH_STUB_BYTES / 4; i++) {
		uint32_t instruction;

		memcpy(&instruction, at - 4 * i, sizeof(instruction));
		if (instruction == 0xa9bf7bf0)
			return 2;
		if (instruction == 0xd61f0220)
			break;
	}
	return 0;
}

/*
 * Recognizes mov x8, #__NR_rt_sigreturn; svc #0.  Kernels before 6.x gave their trampoline no CFI.
 */
static inline bool gg_arch_is_signal_return(const uint8_t *code)
{
	static const uint8_t want[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 };

	return memcmp(code, want, sizeof(want)) == 0;
}

enum {
	/* siginfo, then the ucontext up to its 184 bytes before x0, then x0..x30, sp, pc. */
	GG_ARCH_SIGNAL_CONTEXT = 128 + 184,
	GG_ARCH_SIGNAL_FRAME_BYTES = GG_ARCH_SIGNAL_CONTEXT + 33 * 8,
};

/*
 * Reads the registers that a signal interrupted.  At the trampoline sp points to the siginfo.  The
 * offsets are those of <sys/ucontext.h>; test_unwind_arch asserts that.
 */
GG_RAW_STACK static inline void gg_arch_signal_registers(uint64_t sp,
                                                         struct gg_cfi_registers *registers)
{
	for (unsigned i = 0; i < 32; i++)
		registers->value[i] = gg_stack_word(sp + GG_ARCH_SIGNAL_CONTEXT + 8 * i);
	registers->pc = gg_stack_word(sp + GG_ARCH_SIGNAL_CONTEXT + 8 * 32);
	registers->known = UINT64_C(0xffffffff);
}

#endif
