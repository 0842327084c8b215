/* SPDX-License-Identifier: Apache-2.0 */
/* test_unwind_arch - tests the parts of the unwinder that depend on the processor. */
#include "unwind/arch/arch.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "base/compiler.h"
#include "test.h"
#include "unwind/walk/rule_cache.h"
#include "unwind/walk/stack_bounds.h"

/* The rule that a packed one stands for. */
static struct gg_unwind_rule unpack(uint32_t packed)
{
	return (struct gg_unwind_rule){
		.ra_words = (int16_t) - (int64_t)(gg_arch_packed_ra_bytes(packed) / 8),
		.fp_words = gg_arch_packed_saves_fp(packed)
		                    ? (int16_t) - (int64_t)(gg_arch_packed_fp_bytes(packed) / 8)
		                    : (int16_t)GG_RULE_SAME,
		.cfa_bytes = (int32_t)(8 * gg_arch_packed_cfa_words(packed)),
		.kind = gg_arch_packed_uses_fp(packed) ? GG_RULE_FP : GG_RULE_SP,
	};
}

static bool is_equal(struct gg_unwind_rule a, struct gg_unwind_rule b)
{
	return a.ra_words == b.ra_words && a.fp_words == b.fp_words && a.cfa_bytes == b.cfa_bytes &&
	       a.kind == b.kind;
}

TEST(a_packed_rule_says_what_the_rule_said)
{
	unsigned packed_count = 0;

	for (int kind = GG_RULE_NONE; kind <= GG_RULE_GENERAL; kind++)
		for (int32_t cfa = -32; cfa < 20000; cfa += cfa < 200 ? 4 : 1112)
			for (int fp = -70; fp <= 2; fp++)
				for (int ra = -70; ra <= 2; ra++) {
					struct gg_unwind_rule rule = {
						.ra_words = (int16_t)(ra == 2 ? GG_RULE_SAME : ra),
						.fp_words = (int16_t)(fp == 2 ? GG_RULE_SAME : fp),
						.cfa_bytes = cfa,
						.kind = (unsigned)kind & 15,
					};
					uint32_t packed;

					if (!gg_arch_pack(rule, &packed))
						continue;
					packed_count++;
					if (!CHECK(is_equal(unpack(packed), rule)) ||
					    !CHECK_EQ_U64(packed & ~GG_RULE_CACHE_RULE_MASK, 0))
						return;
					/* The walk's loop relies on these limits. */
					CHECK(gg_arch_packed_ra_bytes(packed) <= (uint64_t)cfa);
					CHECK(gg_arch_packed_fp_bytes(packed) <= (uint64_t)cfa);
					CHECK(gg_arch_packed_ra_bytes(packed) >= 8);
				}
	CHECK_MSG(packed_count > 500, "%u", packed_count);
}

TEST(the_fallback_is_the_usual_frame_with_a_frame_pointer)
{
	CHECK(gg_arch_packed_uses_fp(GG_ARCH_FALLBACK));
	CHECK_EQ_U64(gg_arch_packed_cfa_words(GG_ARCH_FALLBACK), 2);
	CHECK_EQ_U64(gg_arch_packed_ra_bytes(GG_ARCH_FALLBACK), 8);
	CHECK(gg_arch_packed_saves_fp(GG_ARCH_FALLBACK));
	CHECK_EQ_U64(gg_arch_packed_fp_bytes(GG_ARCH_FALLBACK), 16);
}

TEST(a_signal_frame_is_laid_out_as_the_headers_say)
{
	static uint64_t memory[200];
	struct gg_cfi_registers registers = { 0 };
	uint64_t first, pc, sp, fp;

	for (size_t i = 0; i < GG_COUNT(memory); i++)
		memory[i] = 1000 + i;
#if defined(__x86_64__)
	first = offsetof(ucontext_t, uc_mcontext.gregs) / 8;
	pc = first + REG_RIP, sp = first + REG_RSP, fp = first + REG_RBP;
	CHECK(GG_ARCH_SIGNAL_FRAME_BYTES >= (int)(pc * 8 + 8));
#else
	first = 128 + offsetof(ucontext_t, uc_mcontext.regs);
	CHECK_EQ_I64(GG_ARCH_SIGNAL_CONTEXT, (int)first);
	pc = (128 + offsetof(ucontext_t, uc_mcontext.pc)) / 8;
	sp = (128 + offsetof(ucontext_t, uc_mcontext.sp)) / 8;
	fp = first / 8 + 29;
	CHECK_EQ_I64(GG_ARCH_SIGNAL_FRAME_BYTES, (int)(pc * 8 + 8));
#endif
	gg_arch_signal_registers((uintptr_t)memory, &registers);
	CHECK_EQ_U64(registers.pc, 1000 + pc);
	CHECK_EQ_U64(registers.value[GG_ARCH_SP], 1000 + sp);
	CHECK_EQ_U64(registers.value[GG_ARCH_FP], 1000 + fp);
}

TEST(the_kernel_says_what_can_be_read)
{
	char *pages = mmap(NULL, 3 * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(gg_stack_bounds_is_readable((uintptr_t)pages));
	CHECK(gg_stack_bounds_is_readable((uintptr_t)pages + 4088));
	mprotect(pages + 4096, 4096, PROT_NONE);
	munmap(pages + 2 * 4096, 4096);
	CHECK(!gg_stack_bounds_is_readable((uintptr_t)pages + 4096));
	CHECK(!gg_stack_bounds_is_readable((uintptr_t)pages + 2 * 4096));
	CHECK(!gg_stack_bounds_is_readable(0));
	CHECK(!gg_stack_bounds_is_readable(UINT64_MAX - 4095));
	munmap(pages, 2 * 4096);
}

TEST(plain_addresses_have_no_authentication_code_to_strip)
{
	static int object;

	CHECK(gg_arch_strip((uintptr_t)&object) == (uintptr_t)&object);
	CHECK_EQ_U64(gg_arch_strip(0), 0);
	CHECK(gg_arch_thread_pointer() != 0);
}
