/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arch_x86_64 - describes x86-64 to the walker (arch.h); empty on other processors.
 *
 * The return address is always at CFA - 8.  A packed rule:
 *
 *   bits  0..15   CFA - base register, in words                  8 bytes .. 512 KiB
 *   bit   16      1: the base register is rbp; 0: rsp
 *   bits 17..21   CFA - slot of the saved rbp, in words; 0: rbp still holds the caller's value.
 *                 Five bits suffice because prologues push rbp among the first registers.
 */
#pragma once

#if defined(__x86_64__)

#include "unwind/arch/arch_common.h"

enum {
	GG_ARCH_FP = GG_X86_64_RBP,
	GG_ARCH_SP = GG_X86_64_RSP,
	GG_ARCH_RA = GG_X86_64_RA,
	GG_ARCH_LINK_REGISTER = 0, /* 1: a call leaves the return address in a register */
	GG_ARCH_SIGNAL_CODE_BYTES = 9,
	GG_ARCH_CODE_SHIFT = 0, /* an instruction may begin at any byte */
};

/* push %rbp; mov %rsp, %rbp: CFA = rbp + 16, rbp saved at CFA - 16. */
#define GG_ARCH_FALLBACK (UINT64_C(2) | UINT64_C(1) << 16 | UINT64_C(2) << 17)

/* Reads the registers of the function into which the compiler inlines this one. */
__attribute__((always_inline)) static inline void gg_arch_registers_here(
	struct gg_cfi_registers *ret_registers)
{
	uint64_t *value = ret_registers->value;

	/*
	 * pc is the byte after this instruction, as if the instruction were a call that has
	 * returned.
	 */
	__asm__ volatile("lea 1f(%%rip), %0\n1:" : "=r"(ret_registers->pc));
	__asm__ volatile("movq %%rbx, %0" : "=m"(value[3]));
	__asm__ volatile("movq %%rbp, %0" : "=m"(value[GG_X86_64_RBP]));
	__asm__ volatile("movq %%r12, %0" : "=m"(value[12]));
	__asm__ volatile("movq %%r13, %0" : "=m"(value[13]));
	__asm__ volatile("movq %%r14, %0" : "=m"(value[14]));
	__asm__ volatile("movq %%r15, %0" : "=m"(value[15]));
	__asm__ volatile("movq %%rsp, %0" : "=r"(value[GG_X86_64_RSP]));
	ret_registers->known = UINT64_C(1) << 3 | UINT64_C(1) << GG_X86_64_RBP |
	                       UINT64_C(1) << GG_X86_64_RSP | UINT64_C(0xf) << 12;
}

static inline uint64_t gg_arch_thread_pointer(void)
{
	uint64_t pointer;

	__asm__("movq %%fs:0, %0" : "=r"(pointer)); /* the ABI keeps a copy of itself there */
	return pointer;
}

/*
 * Calls rt_sigprocmask(-1, address, NULL, 8).  Returns -EFAULT if the address is unreadable,
 * otherwise -EINVAL, because no operation has this number.
 */
static inline long gg_arch_probe(uint64_t address)
{
	register uint64_t size __asm__("r10") = 8;
	long result = 14;

	__asm__ volatile("syscall"
	                 : "+a"(result)
	                 : "D"(-1L), "S"(address), "d"(0L), "r"(size)
	                 : "rcx", "r11", "memory");
	return result;
}

static inline uint64_t gg_arch_strip(uint64_t pc)
{
	return pc;
}

static inline bool gg_arch_pack(struct gg_unwind_rule rule, uint32_t *ret_packed)
{
	int32_t cfa_words = rule.cfa_bytes / 8;
	int32_t fp_words = rule.fp_words == GG_RULE_SAME ? 0 : -rule.fp_words;

	if ((rule.kind != GG_RULE_SP && rule.kind != GG_RULE_FP) || rule.flags != 0 ||
	    rule.ra_words != -1 || rule.cfa_bytes % 8 != 0)
		return false;
	if (cfa_words < 1 || cfa_words > 0xffff || fp_words < 0 || fp_words > 0x1f ||
	    fp_words > cfa_words || (rule.fp_words != GG_RULE_SAME && fp_words == 0))
		return false;
	*ret_packed = (uint32_t)cfa_words | (rule.kind == GG_RULE_FP ? 1u << 16 : 0) |
	              (uint32_t)fp_words << 17;
	return true;
}

static inline bool gg_arch_packed_uses_fp(uint64_t packed)
{
	return packed >> 16 & 1;
}

static inline uint64_t gg_arch_packed_cfa_words(uint64_t packed)
{
	return packed & 0xffff;
}

static inline bool gg_arch_packed_saves_fp(uint64_t packed)
{
	return (packed >> 17 & 0x1f) != 0;
}

/*
 * Returns CFA - slot of the saved frame register.  If the register was not saved, the result is any
 * slot within the frame: the loop of walk.c loads it without a branch and drops the value.
 */
static inline uint64_t gg_arch_packed_fp_bytes(uint64_t packed)
{
	return (packed >> 17 & 0x1f) * 8;
}

static inline uint64_t gg_arch_packed_ra_bytes(uint64_t packed)
{
	(void)packed;
	return 8;
}

/* Recognizes jmp *slot(%rip).  Both jumps may have the prefix bnd (0xf2). */
static inline bool gg_arch_is_slot_jump(const uint8_t *code)
{
	code += code[0] == 0xf2;
	return code[0] == 0xff && code[1] == 0x25;
}

static inline bool gg_arch_is_near_jump(const uint8_t *code)
{
	return code[code[0] == 0xf2] == 0xe9;
}

/*
 * Checks whether interrupted code without CFI at `at` is an entry of a PLT.  Returns how many words
 * it has pushed onto the return address, or -1 if it is no such entry.  GNU ld writes CFI for its
 * entries; other linkers do not.
 *
 *   entry   [endbr64]; [jmp *slot(%rip)]; push $index; jmp first
 *   first   push slot(%rip); jmp *slot(%rip)
 */
static inline int gg_arch_stub_words(const uint8_t *at)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	if (gg_arch_is_slot_jump(at))
		return at[-6] == 0xff && at[-5] == 0x35 ? 2 : 0;
	if (gg_arch_is_near_jump(at))
		return at[-5] == 0x68 ? 1 : -1;
	if (at[0] == 0xff && at[1] == 0x35)
		return gg_arch_is_slot_jump(at + 6) ? 1 : -1;
	if (memcmp(at, endbr, sizeof(endbr)) == 0)
		at += sizeof(endbr);
	if (gg_arch_is_slot_jump(at) || (at[0] == 0x68 && gg_arch_is_near_jump(at + 5)))
		return 0;
	return -1;
}

/*
 * Recognizes mov $__NR_rt_sigreturn, %eax or %rax; syscall.  A libc may have no CFI for its
 * trampoline.
 */
static inline bool gg_arch_is_signal_return(const uint8_t *code)
{
	static const uint8_t wide[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	static const uint8_t narrow[] = { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 };

	return memcmp(code, wide, sizeof(wide)) == 0 || memcmp(code, narrow, sizeof(narrow)) == 0;
}

enum {
	/* From the start of the ucontext to the end of rip. */
	GG_ARCH_SIGNAL_FRAME_BYTES = 40 + 18 * 8,
};

/*
 * Reads the registers that a signal interrupted.  At the trampoline the handler has returned, so sp
 * points to the ucontext.  Its general registers start at byte 40 in the order r8..r15, rdi, rsi,
 * rbp, rbx, rdx, rax, rcx, rsp, rip (<sys/ucontext.h>; test_unwind_arch asserts that).
 */
GG_RAW_STACK static inline void gg_arch_signal_registers(uint64_t sp,
                                                         struct gg_cfi_registers *registers)
{
	static const uint8_t number[] = { 8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7 };

	for (unsigned i = 0; i < sizeof(number); i++)
		registers->value[number[i]] = gg_stack_word(sp + 40 + 8 * i);
	registers->pc = gg_stack_word(sp + 40 + 8 * 16);
	registers->known = 0xffff;
}

#endif
