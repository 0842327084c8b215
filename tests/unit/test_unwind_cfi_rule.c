/* SPDX-License-Identifier: Apache-2.0 */
/* test_unwind_cfi_rule - shows which rows become which compact rules. */
#include <ucontext.h>

#include "cfi_build.h"
#include "test.h"
#include "unwind/cfi/cfi.h"

enum {
	FUNCTION = 0x1000,
	FUNCTION_BYTES = 0x100,
};

static struct gg_unwind_rule rule_of(enum gg_cfi_arch arch, const char *augmentation, uint64_t pc,
                                     struct gg_cfi_range *range, const uint8_t *program,
                                     size_t bytes)
{
	struct cfi_cie x86_64 = CFI_CIE_X86_64, aarch64 = CFI_CIE_AARCH64;
	struct cfi_cie *cie = arch == GG_CFI_X86_64 ? &x86_64 : &aarch64;
	struct cfi_build b;

	cie->augmentation = augmentation;
	cfi_build_init(&b, arch);
	cfi_build_cie(&b, cie);
	cfi_build_fde(&b, FUNCTION, FUNCTION_BYTES, program, bytes);
	return gg_cfi_rule_at(&b.module, pc, range);
}

/* At the function's start, without a signal. */
static struct gg_unwind_rule x86_64(const uint8_t *program, size_t bytes)
{
	return rule_of(GG_CFI_X86_64, "zR", FUNCTION, NULL, program, bytes);
}

static struct gg_unwind_rule aarch64(const uint8_t *program, size_t bytes)
{
	return rule_of(GG_CFI_AARCH64, "zR", FUNCTION, NULL, program, bytes);
}

static bool is(struct gg_unwind_rule rule, enum gg_rule_kind kind, int32_t cfa, int ra, int fp)
{
	return rule.kind == kind && rule.cfa_bytes == cfa && rule.ra_words == ra &&
	       rule.fp_words == fp;
}

TEST(an_empty_rule_is_no_rule)
{
	struct gg_unwind_rule zero = gg_rule_from_word(0);

	CHECK_EQ_I64(zero.kind, GG_RULE_NONE);
	CHECK_EQ_I64(zero.cfa_bytes, GG_RULE_REASON_UNKNOWN);
	CHECK_EQ_I64(zero.flags, 0);
}

TEST(a_rule_survives_its_way_through_a_word)
{
	struct gg_unwind_rule rule = { -1, GG_RULE_SAME, -8388607, GG_RULE_GENERAL, 15 };
	struct gg_unwind_rule back = gg_rule_from_word(gg_rule_to_word(rule));

	CHECK(is(back, GG_RULE_GENERAL, -8388607, -1, GG_RULE_SAME) && back.flags == 15);
}

TEST(a_frame_by_the_stack_pointer_is_compact)
{
	CHECK(is(x86_64(NO_BYTES), GG_RULE_SP, 8, -1, GG_RULE_SAME));
	CHECK(is(x86_64(BYTES(0x0e, 48, 0x86, 2)), GG_RULE_SP, 48, -1, -2));
	CHECK(is(aarch64(NO_BYTES), GG_RULE_SP, 0, GG_RULE_SAME, GG_RULE_SAME));
	CHECK(is(aarch64(BYTES(0x0e, 48, 0x9d, 6, 0x9e, 5)), GG_RULE_SP, 48, -5, -6));
}

TEST(a_frame_by_the_frame_register_is_compact)
{
	CHECK(is(x86_64(BYTES(0x0c, 6, 16, 0x86, 2)), GG_RULE_FP, 16, -1, -2));
	CHECK(is(aarch64(BYTES(0x0c, 29, 32, 0x9d, 4, 0x9e, 3)), GG_RULE_FP, 32, -3, -4));
}

TEST(a_realigned_frame_is_compact)
{
	CHECK(is(x86_64(BYTES(0x0f, 3, 0x76, 0x78, 0x06, /* CFA = *(rbp - 8) */
	                      0x10, 6, 2, 0x76, 0x00)),  /* rbp at rbp + 0 */
	         GG_RULE_FP_DEREF, -8, -1, 0));
	CHECK(is(x86_64(BYTES(0x0f, 3, 0x76, 0x78, 0x06)), GG_RULE_FP_DEREF, -8, -1, GG_RULE_SAME));
}

TEST(expressions_that_only_look_like_a_realigned_frame_are_general)
{
	CHECK_EQ_I64(x86_64(BYTES(0x0f, 3, 0x77, 0x78, 0x06)).kind, GG_RULE_GENERAL); /* by rsp */
	CHECK_EQ_I64(x86_64(BYTES(0x0f, 2, 0x76, 0x78)).kind, GG_RULE_GENERAL);       /* no deref */
	CHECK_EQ_I64(x86_64(BYTES(0x0f, 4, 0x76, 0x78, 0x06, 0x06)).kind, GG_RULE_GENERAL);
	CHECK_EQ_I64(x86_64(BYTES(0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x77, 0)).kind,
	             GG_RULE_GENERAL);
	CHECK_EQ_I64(x86_64(BYTES(0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 4)).kind,
	             GG_RULE_GENERAL);
	CHECK_EQ_I64(x86_64(BYTES(0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 3, 0x76, 0, 0x96)).kind,
	             GG_RULE_GENERAL);
	CHECK_EQ_I64(x86_64(BYTES(0x0f, 3, 0x76, 0x78, 0x06, 0x86, 2)).kind, GG_RULE_GENERAL);
	CHECK_EQ_I64(x86_64(BYTES(0x0f, 6, 0x76, 0x80, 0x80, 0x80, 0x04, 0x06)).kind,
	             GG_RULE_GENERAL);
	CHECK_EQ_I64(x86_64(BYTES(0x0f, 0)).kind, GG_RULE_GENERAL);
}

TEST(a_plt_entry_is_two_rules_by_the_place_in_it)
{
	static const uint8_t program[] = { 0x0f, 11,   0x77, 8,    0x80, 0,   0x3f,
		                           0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22 };
	struct gg_cfi_range range;

	for (uint64_t pc = FUNCTION; pc < FUNCTION + FUNCTION_BYTES; pc++) {
		struct gg_unwind_rule rule = rule_of(GG_CFI_X86_64, "zR", pc, &range, program,
		                                     sizeof(program));
		bool has_pushed = (pc & 15) >= 11;

		CHECK(is(rule, GG_RULE_SP, has_pushed ? 16 : 8, -1, GG_RULE_SAME));
		CHECK_EQ_U64(range.begin, (pc & ~UINT64_C(15)) + (has_pushed ? 11 : 0));
		CHECK_EQ_U64(range.end, (pc & ~UINT64_C(15)) + (has_pushed ? 16 : 11));
	}
}

TEST(the_rules_of_a_plt_stay_within_their_row)
{
	static const uint8_t program[] = { 0x42, 0x0f, 11,   0x77, 8,    0x80, 0,    0x3f, 0x1a,
		                           0x3b, 0x2a, 0x33, 0x24, 0x22, 0x42, 0x0c, 7,    8 };
	struct gg_cfi_range range;

	rule_of(GG_CFI_X86_64, "zR", FUNCTION + 3, &range, program, sizeof(program));
	CHECK(range.begin == FUNCTION + 2 && range.end == FUNCTION + 4);
}

TEST(expressions_that_only_look_like_a_plt_are_general)
{
	static const uint8_t plt[] = { 0x0f, 11,   0x77, 8,    0x80, 0,   0x3f,
		                       0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22 };

	/* Any byte but the offset and the threshold makes it another expression. */
	for (size_t i = 2; i < sizeof(plt); i++) {
		uint8_t changed[sizeof(plt)];

		memcpy(changed, plt, sizeof(plt));
		changed[i] ^= i == 3 || i == 8 ? 0x70 : 1;
		CHECK_MSG(x86_64(changed, sizeof(changed)).kind == GG_RULE_GENERAL, "byte %zu", i);
	}
}

TEST(an_undefined_return_address_is_the_outermost_frame)
{
	CHECK_EQ_I64(x86_64(BYTES(0x07, 16)).kind, GG_RULE_OUTERMOST);
	CHECK_EQ_I64(aarch64(BYTES(0x07, 30)).kind, GG_RULE_OUTERMOST);
}

TEST(a_return_address_that_nobody_saved_is_no_rule_on_x86_64)
{
	struct gg_unwind_rule rule = x86_64(BYTES(0x08, 16));

	CHECK_EQ_I64(rule.kind, GG_RULE_NONE);
	CHECK_EQ_I64(rule.cfa_bytes, GG_RULE_REASON_NO_RA);
	CHECK(is(aarch64(BYTES(0x08, 30)), GG_RULE_SP, 0, GG_RULE_SAME, GG_RULE_SAME));
}

TEST(signal_frames_are_general_and_say_so)
{
	struct gg_unwind_rule rule = rule_of(GG_CFI_X86_64, "zRS", FUNCTION, NULL, BYTES(0x0e, 16));

	CHECK_EQ_I64(rule.kind, GG_RULE_GENERAL);
	CHECK_EQ_I64(rule.flags, GG_RULE_SIGNAL);
}

TEST(a_signed_return_address_is_flagged)
{
	struct gg_unwind_rule rule = aarch64(BYTES(0x2d, 0x0e, 16, 0x9e, 1));

	CHECK(is(rule, GG_RULE_SP, 16, -1, GG_RULE_SAME) && rule.flags == GG_RULE_RA_SIGNED);
}

TEST(what_does_not_fit_is_general)
{
	CHECK_EQ_I64(x86_64(BYTES(0x0c, 10, 0)).kind, GG_RULE_GENERAL); /* CFA by r10 */
	CHECK_EQ_I64(x86_64(BYTES(0x14, 6, 2)).kind, GG_RULE_GENERAL);  /* rbp = CFA - 16 */
	CHECK_EQ_I64(x86_64(BYTES(0x07, 6)).kind, GG_RULE_GENERAL);     /* rbp lost */
	CHECK_EQ_I64(x86_64(BYTES(0x09, 6, 3)).kind, GG_RULE_GENERAL);  /* rbp in rbx */
	CHECK_EQ_I64(x86_64(BYTES(0x09, 16, 3)).kind, GG_RULE_GENERAL); /* pc in rbx */
	CHECK_EQ_I64(x86_64(BYTES(0x10, 16, 2, 0x77, 0)).kind, GG_RULE_GENERAL);
	CHECK_EQ_I64(x86_64(BYTES(0x87, 2)).kind, GG_RULE_GENERAL);    /* rsp saved */
	CHECK_EQ_I64(x86_64(BYTES(0x14, 7, 2)).kind, GG_RULE_GENERAL); /* rsp = CFA - 16 */
	CHECK_EQ_I64(x86_64(BYTES(0x14, 7, 0)).kind, GG_RULE_SP);      /* rsp = CFA, as usual */
}

TEST(offsets_up_to_the_fields_limits_are_compact_and_beyond_general)
{
	/* CFA: 2^23 - 1 and 2^23. */
	CHECK(is(x86_64(BYTES(0x0e, 0xff, 0xff, 0xff, 0x03)), GG_RULE_SP, 8388607, -1,
	         GG_RULE_SAME));
	CHECK_EQ_I64(x86_64(BYTES(0x0e, 0x80, 0x80, 0x80, 0x04)).kind, GG_RULE_GENERAL);
	/* rbp: 32767 and 32768 words below. */
	CHECK(is(x86_64(BYTES(0x86, 0xff, 0xff, 0x01)), GG_RULE_SP, 8, -1, -32767));
	CHECK_EQ_I64(x86_64(BYTES(0x86, 0x80, 0x80, 0x02)).kind, GG_RULE_GENERAL);
	/* The return address likewise. */
	CHECK(is(x86_64(BYTES(0x90, 0xff, 0xff, 0x01)), GG_RULE_SP, 8, -32767, GG_RULE_SAME));
	CHECK_EQ_I64(x86_64(BYTES(0x90, 0x80, 0x80, 0x02)).kind, GG_RULE_GENERAL);
}

TEST(saved_registers_between_words_are_general)
{
	struct cfi_cie cie = CFI_CIE_X86_64;
	struct cfi_build b;

	cie.data_align = 0x7c; /* -4 */
	cie.instructions[4] = 2;
	cfi_build_init(&b, GG_CFI_X86_64);
	cfi_build_cie(&b, &cie);
	cfi_build_fde(&b, FUNCTION, 0x10, BYTES(0x86, 4));
	cfi_build_fde(&b, FUNCTION + 0x10, 0x10, BYTES(0x86, 3));
	CHECK(is(gg_cfi_rule_at(&b.module, FUNCTION, NULL), GG_RULE_SP, 8, -1, -2));
	CHECK_EQ_I64(gg_cfi_rule_at(&b.module, FUNCTION + 0x10, NULL).kind, GG_RULE_GENERAL);
}

TEST(another_return_address_column_is_general)
{
	struct cfi_cie cie = CFI_CIE_AARCH64;
	struct cfi_build b;

	cie.ra = 15; /* as glibc's __clone has it */
	cfi_build_init(&b, GG_CFI_AARCH64);
	cfi_build_cie(&b, &cie);
	cfi_build_fde(&b, FUNCTION, 0x10, NO_BYTES);
	CHECK_EQ_I64(gg_cfi_rule_at(&b.module, FUNCTION, NULL).kind, GG_RULE_GENERAL);
}

/* --- the stack that it takes -------------------------------------------------------------- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

static ucontext_t test_context, painted_context;
static struct cfi_build painted_build;

static void compile_and_step(void)
{
	static uint64_t words[64];
	const struct gg_cfi_stack stack = { 0x8000, 0x8000 + sizeof(words),
		                            (const uint8_t *)words };
	struct gg_cfi_registers registers = { .known = UINT64_MAX >> 31 };

	for (int i = 0; i < GG_CFI_REGISTERS; i++)
		registers.value[i] = 0x8100;
	gg_cfi_rule_at(&painted_build.module, FUNCTION + 1, NULL);
	gg_cfi_step_general(&painted_build.module, FUNCTION + 1, &stack, &registers, NULL);
}

static void do_nothing(void)
{
}

/* Bytes of stack that a function writes, by painting it first. */
static size_t stack_used_by(void (*function)(void))
{
	static uint8_t painted[1 << 16] __attribute__((aligned(16)));
	size_t untouched = 0;

	memset(painted, 0xa5, sizeof(painted));
	getcontext(&painted_context);
	painted_context.uc_stack.ss_sp = painted;
	painted_context.uc_stack.ss_size = sizeof(painted);
	painted_context.uc_link = &test_context;
	makecontext(&painted_context, function, 0);
	swapcontext(&test_context, &painted_context);
	while (painted[untouched] == 0xa5)
		untouched++;
	return sizeof(painted) - untouched;
}

TEST(a_rule_and_a_step_take_less_than_4_KiB_of_stack)
{
	static const struct cfi_cie cie = CFI_CIE_X86_64;
	size_t bytes;

	if (IS_SANITIZED)
		SKIP("sanitizers enlarge stack frames");
	cfi_build_init(&painted_build, GG_CFI_X86_64);
	cfi_build_cie(&painted_build, &cie);
	cfi_build_fde(&painted_build, FUNCTION, FUNCTION_BYTES,
	              BYTES(0x0a, 0x0b, 0x0f, 2, 0x77, 8, 0x10, 6, 2, 0x77, 8));
	bytes = stack_used_by(compile_and_step) - stack_used_by(do_nothing);
	printf("a rule and a general step: %zu bytes of stack\n", bytes);
	CHECK(bytes < 4 * 1024);
}
