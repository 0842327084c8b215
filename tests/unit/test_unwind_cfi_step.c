/* SPDX-License-Identifier: Apache-2.0 */
/* test_unwind_cfi_step - tests expressions and the general step on a handmade stack. */
#include "cfi_build.h"
#include "test.h"
#include "unwind/cfi/cfi.h"

enum {
	RBX = 3,
	RBP = 6,
	RSP = 7,
	R10 = 10,
	R12 = 12,
	FUNCTION = 0x1000,
	STACK_WORDS = 32,
	STACK = 0x70000000, /* its address; word i holds STACK + 8 * i + 0x1000000 */
};

struct walk {
	uint64_t words[STACK_WORDS];
	struct gg_cfi_registers registers;
	enum gg_cfi_step step;
	uint8_t flags;
};

static uint64_t word(int index)
{
	return STACK + 8 * (uint64_t)index + 0x1000000;
}

static uint64_t bit(int number)
{
	return UINT64_C(1) << number;
}

/* Steps once at FUNCTION; sp is at word 4, register n else is 1000 + n; all are known but r10. */
static struct walk step_with(enum gg_cfi_arch arch, const struct cfi_cie *cie,
                             const uint8_t *program, size_t bytes)
{
	struct walk w = { .flags = 0xee };
	struct gg_cfi_stack stack = { STACK, STACK + sizeof(w.words), (const uint8_t *)w.words };
	struct cfi_build b;

	for (int i = 0; i < STACK_WORDS; i++)
		w.words[i] = word(i);
	for (int i = 0; i < GG_CFI_REGISTERS; i++)
		w.registers.value[i] = 1000 + (uint64_t)i;
	w.registers.value[arch == GG_CFI_X86_64 ? RSP : GG_AARCH64_SP] = STACK + 32;
	w.registers.known = (bit(GG_CFI_REGISTERS) - 1) & ~bit(R10);
	w.registers.pc = FUNCTION + 5;
	cfi_build_init(&b, arch);
	cfi_build_cie(&b, cie);
	cfi_build_fde(&b, FUNCTION, 0x100, program, bytes);
	w.step = gg_cfi_step_general(&b.module, FUNCTION, &stack, &w.registers, &w.flags);
	return w;
}

static struct walk step_by(const uint8_t *program, size_t bytes)
{
	static const struct cfi_cie cie = CFI_CIE_X86_64;

	return step_with(GG_CFI_X86_64, &cie, program, bytes);
}

TEST(a_step_gives_the_callers_registers)
{
	/* CFA = rsp + 40; rbp at -16, rbx at -24, r12 kept. */
	struct walk w = step_by(BYTES(0x0e, 40, 0x86, 2, 0x83, 3));

	CHECK_EQ_U64(w.step, GG_CFI_STEP_OK);
	CHECK_EQ_I64(w.flags, 0);
	CHECK(w.registers.value[RSP] == STACK + 72 && w.registers.pc == word(8));
	CHECK(w.registers.value[RBP] == word(7) && w.registers.value[RBX] == word(6));
	CHECK_EQ_U64(w.registers.value[R12], 1000 + R12);
	CHECK_EQ_U64(w.registers.known, (bit(GG_CFI_REGISTERS) - 1) & ~bit(R10));
}

TEST(every_way_to_find_a_register_is_taken)
{
	struct walk w = step_by(BYTES(0x07, 0,                /* rax lost */
	                              0x08, 1,                /* rdx the same */
	                              0x09, 2, R12,           /* rcx in r12 */
	                              0x14, RBX, 2,           /* rbx is CFA - 16 */
	                              0x10, RBP, 2, 0x77, 16, /* rbp at rsp + 16 */
	                              0x16, 13, 2, 0x77, 16,  /* r13 is rsp + 16 */
	                              0x09, 14, R10));        /* r14 in r10, which is not known */

	CHECK(w.step == GG_CFI_STEP_OK && w.registers.value[RSP] == STACK + 40);
	CHECK((w.registers.known & bit(0)) == 0 && (w.registers.known & bit(14)) == 0);
	CHECK(w.registers.value[1] == 1001 && w.registers.value[2] == 1000 + R12);
	CHECK_EQ_U64(w.registers.value[RBX], STACK + 40 - 16);
	CHECK_EQ_U64(w.registers.value[RBP], word(6));
	CHECK_EQ_U64(w.registers.value[13], STACK + 48);
}

TEST(a_register_that_cannot_be_recovered_is_lost_and_the_step_goes_on)
{
	static const struct {
		uint8_t program[8];
		size_t size;
	} cases[] = {
		{ { 0x83, 100 }, 2 },             /* outside the stack */
		{ { 0x09, RBX, R10 }, 3 },        /* in a register that is not known */
		{ { 0x10, RBX, 1, 0xff }, 4 },    /* an expression that is wrong */
		{ { 0x16, RBX, 2, 0x7a, 0 }, 5 }, /* or needs that register */
		{ { 0x10, RBX, 2, 0x70, 0 }, 5 }, /* or leads outside */
	};

	for (size_t i = 0; i < GG_COUNT(cases); i++) {
		struct walk w = step_by(cases[i].program, cases[i].size);

		CHECK_MSG(w.step == GG_CFI_STEP_OK && (w.registers.known & bit(RBX)) == 0,
		          "case %zu", i);
		CHECK(w.registers.pc == word(4) && w.registers.value[RSP] == STACK + 40);
	}
}

TEST(registers_are_taken_from_the_callee_not_from_each_other)
{
	struct walk w = step_by(BYTES(0x09, RBX, R12, 0x09, R12, RBX)); /* swapped */

	CHECK(w.registers.value[RBX] == 1000 + R12 && w.registers.value[R12] == 1000 + RBX);
}

TEST(a_register_that_was_lost_is_known_again_where_it_was_saved)
{
	struct walk w = step_by(BYTES(0x0e, 40, 0x8a, 2));

	CHECK((w.registers.known & bit(R10)) != 0 && w.registers.value[R10] == word(7));
}

TEST(a_frame_by_another_register_makes_the_stack_pointer_known)
{
	static const struct cfi_cie cie = CFI_CIE_X86_64;
	uint64_t words[2] = { 0, 77 };
	const struct gg_cfi_stack stack = { STACK, STACK + sizeof(words), (const uint8_t *)words };
	struct gg_cfi_registers registers = { .known = bit(RBP) };
	struct cfi_build b;

	registers.value[RBP] = STACK;
	cfi_build_init(&b, GG_CFI_X86_64);
	cfi_build_cie(&b, &cie);
	cfi_build_fde(&b, FUNCTION, 0x100, BYTES(0x0c, RBP, 16));
	CHECK_EQ_U64(gg_cfi_step_general(&b.module, FUNCTION, &stack, &registers, NULL),
	             GG_CFI_STEP_OK);
	CHECK(registers.pc == 77 && registers.value[RSP] == STACK + 16);
	CHECK((registers.known & bit(RSP)) != 0);
}

TEST(the_stack_pointer_is_the_cfa_unless_the_row_says_otherwise)
{
	CHECK_EQ_U64(step_by(BYTES(0x87, 2)).registers.value[RSP], word(3));
	CHECK_EQ_U64(step_by(BYTES(0x14, RSP, 2)).registers.value[RSP], STACK + 40 - 16);
}

TEST(a_signal_trampoline_is_stepped_by_its_expressions)
{
	struct cfi_cie cie = CFI_CIE_X86_64;
	struct walk w;

	/* As in glibc, the context above rsp has everything, also the CFA. */
	cie.augmentation = "zRS";
	w = step_with(GG_CFI_X86_64, &cie,
	              BYTES(0x0f, 4, 0x77, 0xa0, 0, 0x06, 0x10, RBP, 3, 0x77, 0xf8, 0, 0x10, 16, 3,
	                    0x77, 0xa8, 1, 0x10, R10, 2, 0x77, 40));
	CHECK_EQ_U64(w.step, GG_CFI_STEP_OK);
	CHECK_EQ_I64(w.flags, GG_RULE_SIGNAL);
	CHECK(w.registers.value[RSP] == word(4 + 4) && w.registers.value[RBP] == word(4 + 15));
	CHECK(w.registers.pc == word(4 + 21) && w.registers.value[R10] == word(4 + 5));
}

TEST(a_leaf_of_aarch64_returns_by_its_link_register_once)
{
	static const struct cfi_cie cie = CFI_CIE_AARCH64;
	struct walk w = step_with(GG_CFI_AARCH64, &cie, NO_BYTES);

	CHECK_EQ_U64(w.step, GG_CFI_STEP_OK);
	CHECK_EQ_U64(w.registers.pc, 1030);
	CHECK_EQ_U64(w.registers.value[GG_AARCH64_SP], STACK + 32);
	CHECK_EQ_U64(w.registers.known & bit(GG_AARCH64_X30), 0); /* the call overwrote it */
	w = step_with(GG_CFI_AARCH64, &cie, BYTES(0x0e, 16, 0x9e, 1, 0x9d, 2));
	CHECK(w.step == GG_CFI_STEP_OK && w.registers.pc == word(5));
	CHECK(w.registers.value[29] == word(4) && w.registers.value[30] == word(5));
	CHECK((w.registers.known & bit(30)) != 0);
}

TEST(a_step_that_cannot_be_made_says_why_and_changes_nothing)
{
	static const struct {
		uint8_t program[8];
		size_t size;
		enum gg_cfi_step step;
	} cases[] = {
		{ { 0x07, 16 }, 2, GG_CFI_STEP_OUTERMOST },
		{ { 0x08, 16 }, 2, GG_CFI_STEP_NO_CFI },           /* pc kept */
		{ { 0x0c, R10, 8 }, 3, GG_CFI_STEP_UNKNOWN },      /* CFA by r10 */
		{ { 0x09, 16, R10 }, 3, GG_CFI_STEP_UNKNOWN },     /* pc in r10 */
		{ { 0x0f, 2, 0x7a, 0 }, 4, GG_CFI_STEP_UNKNOWN },  /* expression of r10 */
		{ { 0x0c, RBX, 8 }, 3, GG_CFI_STEP_BAD_READ },     /* pc at 1003 */
		{ { 0x0e, 0xf8, 0x01 }, 3, GG_CFI_STEP_BAD_READ }, /* CFA behind the stack */
		{ { 0x87, 0x06 }, 2, GG_CFI_STEP_BAD_READ },       /* rsp below the stack */
		{ { 0x0f, 3, 0x70, 0, 0x06 }, 5, GG_CFI_STEP_BAD_READ },
		{ { 0x0f, 0 }, 2, GG_CFI_STEP_BAD_EXPRESSION },
		{ { 0x10, 16, 1, 0xff }, 4, GG_CFI_STEP_BAD_EXPRESSION },
		{ { 0x3f }, 1, GG_CFI_STEP_NO_CFI },
	};

	for (size_t i = 0; i < GG_COUNT(cases); i++) {
		struct walk w = step_by(cases[i].program, cases[i].size);

		CHECK_MSG(w.step == cases[i].step, "case %zu: %d", i, w.step);
		CHECK_MSG(w.registers.value[RSP] == STACK + 32 && w.registers.pc == FUNCTION + 5 &&
		                  w.flags == 0xee,
		          "case %zu", i);
	}
}

TEST(reads_reach_from_the_stacks_first_byte_to_its_last)
{
	/* rsp is at word 4 of 32: the word of the return address is the last, and beyond. */
	CHECK_EQ_U64(step_by(BYTES(0x0e, 0xe0, 0x01)).step, GG_CFI_STEP_OK);
	CHECK_EQ_U64(step_by(BYTES(0x0e, 0xe1, 0x01)).step, GG_CFI_STEP_BAD_READ);
	/* CFA = rsp + 8 = word 5; rbx 5 and 6 words below. */
	CHECK((step_by(BYTES(0x83, 5)).registers.known & bit(RBX)) != 0);
	CHECK_EQ_U64(step_by(BYTES(0x83, 6)).registers.known & bit(RBX), 0);
}

TEST(addresses_at_the_ends_of_memory_are_outside_the_stack)
{
	/* CFA = -8, 0 and 8 by constants: the return address wraps around or is at 0. */
	CHECK_EQ_U64(step_by(BYTES(0x0f, 2, 0x09, 0xf8)).step, GG_CFI_STEP_BAD_READ);
	CHECK_EQ_U64(step_by(BYTES(0x0f, 1, 0x30)).step, GG_CFI_STEP_BAD_READ);
	CHECK_EQ_U64(step_by(BYTES(0x0f, 1, 0x38)).step, GG_CFI_STEP_BAD_READ);
}

/* --- expressions -------------------------------------------------------------------------- */

/* Evaluates an expression: pc by val_expression, which starts with the CFA on its stack. */
static struct walk evaluate(const uint8_t *expression, size_t size)
{
	uint8_t program[64] = { 0x16, 16, (uint8_t)size };

	memcpy(program + 3, expression, size);
	return step_by(program, size + 3);
}

TEST(operations_compute_what_dwarf_says)
{
	static const struct {
		uint8_t expression[16];
		uint8_t size;
		uint64_t value;
	} cases[] = {
		{ { 0x96 }, 1, STACK + 40 }, /* nop: the CFA */
		{ { 0x30 }, 1, 0 },
		{ { 0x4f }, 1, 31 },
		{ { 0x03, 1, 2, 3, 4, 5, 6, 7, 8 }, 9, UINT64_C(0x0807060504030201) }, /* addr */
		{ { 0x08, 0xff }, 2, 255 },
		{ { 0x09, 0xff }, 2, UINT64_MAX },
		{ { 0x0a, 0xfe, 0xff }, 3, 65534 },
		{ { 0x0b, 0xfe, 0xff }, 3, (uint64_t)-2 },
		{ { 0x0c, 0xfd, 0xff, 0xff, 0xff }, 5, UINT64_C(0xfffffffd) },
		{ { 0x0d, 0xfd, 0xff, 0xff, 0xff }, 5, (uint64_t)-3 },
		{ { 0x0e, 1, 0, 0, 0, 0, 0, 0, 0x80 }, 9, UINT64_C(0x8000000000000001) },
		{ { 0x0f, 1, 0, 0, 0, 0, 0, 0, 0x80 }, 9, UINT64_C(0x8000000000000001) },
		{ { 0x10, 0x80, 0x01 }, 3, 128 },
		{ { 0x11, 0x80, 0x7f }, 3, (uint64_t)-128 },
		{ { 0x11, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40 },
		  10,
		  UINT64_C(0xc000000000000000) },                 /* the sign is bit 62 */
		{ { 0x32, 0x12, 0x1e }, 3, 4 },                   /* 2 dup mul */
		{ { 0x32, 0x33, 0x13 }, 3, 2 },                   /* drop */
		{ { 0x32, 0x33, 0x14 }, 3, 2 },                   /* over */
		{ { 0x32, 0x33, 0x34, 0x15, 2 }, 5, 2 },          /* pick */
		{ { 0x32, 0x33, 0x16 }, 3, 2 },                   /* swap */
		{ { 0x31, 0x32, 0x33, 0x17, 0x13, 0x13 }, 6, 3 }, /* rot: 3 is the third now */
		{ { 0x31, 0x32, 0x33, 0x17 }, 4, 2 },             /* and 2 the first */
		{ { 0x31, 0x32, 0x33, 0x17, 0x13 }, 5, 1 },
		{ { 0x77, 8, 0x06 }, 3, STACK + 40 + 0x1000000 },             /* deref */
		{ { 0x77, 8, 0x94, 1 }, 4, (STACK + 40 + 0x1000000) & 0xff }, /* deref_size */
		{ { 0x77, 8, 0x94, 4 }, 4, (STACK + 40 + 0x1000000) & 0xffffffff },
		{ { 0x92, 7, 8 }, 3, STACK + 40 }, /* bregx */
		{ { 0x80, 0 }, 2, FUNCTION + 5 },  /* breg16 is the pc */
		{ { 0x09, 0xfb, 0x19 }, 3, 5 },    /* abs of -5 */
		{ { 0x35, 0x19 }, 2, 5 },
		{ { 0x3f, 0x08, 0xfe, 0x1a }, 4, 14 },           /* and */
		{ { 0x09, 0xf9, 0x32, 0x1b }, 4, (uint64_t)-3 }, /* div of -7 */
		{ { 0x0e, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x09, 0xff, 0x1b },
		  12,
		  UINT64_C(0x8000000000000000) },          /* the quotient that overflows */
		{ { 0x33, 0x35, 0x1c }, 3, (uint64_t)-2 }, /* minus */
		{ { 0x37, 0x34, 0x1d }, 3, 3 },            /* mod */
		{ { 0x35, 0x1f }, 2, (uint64_t)-5 },       /* neg */
		{ { 0x35, 0x20 }, 2, ~UINT64_C(5) },       /* not */
		{ { 0x35, 0x38, 0x21 }, 3, 13 },           /* or */
		{ { 0x35, 0x38, 0x22 }, 3, 13 },           /* plus */
		{ { 0x35, 0x23, 0x80, 0x01 }, 4, 133 },    /* plus_uconst */
		{ { 0x31, 0x34, 0x24 }, 3, 16 },           /* shl */
		{ { 0x31, 0x08, 64, 0x24 }, 4, 0 },
		{ { 0x09, 0xff, 0x08, 60, 0x25 }, 5, 15 }, /* shr */
		{ { 0x09, 0xff, 0x08, 64, 0x25 }, 5, 0 },
		{ { 0x09, 0xf0, 0x32, 0x26 }, 4, (uint64_t)-4 }, /* shra */
		{ { 0x09, 0xf0, 0x08, 200, 0x26 }, 5, UINT64_MAX },
		{ { 0x38, 0x08, 200, 0x26 }, 4, 0 },
		{ { 0x09, 0xf0, 0x30, 0x26 }, 4, (uint64_t)-16 },
		{ { 0x48, 0x32, 0x26 }, 3, 6 },
		{ { 0x35, 0x36, 0x27 }, 3, 3 },                   /* xor */
		{ { 0x31, 0x32, 0x31, 0x28, 1, 0, 0x13 }, 7, 2 }, /* bra over the drop */
		{ { 0x31, 0x32, 0x30, 0x28, 1, 0, 0x13 }, 7, 1 }, /* not taken */
		{ { 0x31, 0x2f, 1, 0, 0x32 }, 5, 1 },             /* skip */
		{ { 0x31, 0x2f, 0, 0 }, 4, 1 },                   /* to the very end */
		/* 8, and 1 subtracted until 3 is left: a loop by a jump back. */
		{ { 0x38, 0x31, 0x1c, 0x12, 0x33, 0x2e, 0x28, 0xf8, 0xff }, 9, 3 },
	};
	static const uint8_t compare[] = { 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e };
	static const uint64_t less[] = { 0, 0, 0, 1, 1, 1 }, same[] = { 1, 1, 0, 1, 0, 0 };

	for (size_t i = 0; i < GG_COUNT(cases); i++) {
		struct walk w = evaluate(cases[i].expression, cases[i].size);

		CHECK_MSG(w.step == GG_CFI_STEP_OK && w.registers.pc == cases[i].value,
		          "case %zu: %d, %#jx", i, w.step, (uintmax_t)w.registers.pc);
	}
	for (size_t i = 0; i < GG_COUNT(compare); i++) {
		struct walk w = evaluate(BYTES(0x09, 0xff, 0x31, compare[i])); /* -1 and 1 */

		CHECK_MSG(w.registers.pc == less[i], "comparison %#x", compare[i]);
		w = evaluate(BYTES(0x31, 0x31, compare[i]));
		CHECK_MSG(w.registers.pc == same[i], "comparison %#x", compare[i]);
	}
}

TEST(expressions_that_are_wrong_end_with_a_reason)
{
	static const struct {
		uint8_t expression[8];
		uint8_t size;
		enum gg_cfi_step step;
	} cases[] = {
		{ { 0x13 }, 1, GG_CFI_STEP_BAD_EXPRESSION },                   /* nothing left */
		{ { 0x13, 0x13 }, 2, GG_CFI_STEP_BAD_EXPRESSION },             /* drop of nothing */
		{ { 0x22 }, 1, GG_CFI_STEP_BAD_EXPRESSION },                   /* plus of one */
		{ { 0x13, 0x12 }, 2, GG_CFI_STEP_BAD_EXPRESSION },             /* dup of nothing */
		{ { 0x14 }, 1, GG_CFI_STEP_BAD_EXPRESSION },                   /* over of one */
		{ { 0x15, 1 }, 2, GG_CFI_STEP_BAD_EXPRESSION },                /* pick too deep */
		{ { 0x16 }, 1, GG_CFI_STEP_BAD_EXPRESSION },                   /* swap of one */
		{ { 0x31, 0x17 }, 2, GG_CFI_STEP_BAD_EXPRESSION },             /* rot of two */
		{ { 0x31, 0x30, 0x1b }, 3, GG_CFI_STEP_BAD_EXPRESSION },       /* division by 0 */
		{ { 0x31, 0x30, 0x1d }, 3, GG_CFI_STEP_BAD_EXPRESSION },       /* modulo 0 */
		{ { 0x12, 0x2f, 0xfc, 0xff }, 4, GG_CFI_STEP_BAD_EXPRESSION }, /* fills the stack */
		{ { 0x2f, 0xfd, 0xff }, 3, GG_CFI_STEP_BAD_EXPRESSION }, /* goes round for ever */
		{ { 0x2f, 0xfc, 0xff }, 3, GG_CFI_STEP_BAD_EXPRESSION }, /* to before the start */
		{ { 0x2f, 1, 0 }, 3, GG_CFI_STEP_BAD_EXPRESSION },       /* beyond the end */
		{ { 0x31, 0x28, 0xff, 0x7f }, 4, GG_CFI_STEP_BAD_EXPRESSION },
		{ { 0x77, 8, 0x94, 0 }, 4, GG_CFI_STEP_BAD_EXPRESSION }, /* deref of 0 bytes */
		{ { 0x77, 8, 0x94, 9 }, 4, GG_CFI_STEP_BAD_EXPRESSION }, /* and of 9 */
		{ { 0x30, 0x06 }, 2, GG_CFI_STEP_BAD_READ },
		{ { 0x50 }, 1, GG_CFI_STEP_BAD_EXPRESSION },    /* reg0 is a place, not a value */
		{ { 0x91, 0 }, 2, GG_CFI_STEP_BAD_EXPRESSION }, /* fbreg */
		{ { 0x9c }, 1, GG_CFI_STEP_BAD_EXPRESSION },    /* call_frame_cfa: not in CFI */
		{ { 0x08 }, 1, GG_CFI_STEP_BAD_EXPRESSION },    /* operand missing */
		{ { 0x03, 1, 2, 3 }, 4, GG_CFI_STEP_BAD_EXPRESSION },
		{ { 0x77, 0x80 }, 2, GG_CFI_STEP_BAD_EXPRESSION },
	};

	static const uint8_t before_the_start[48] = { 0x28, 0xfc, 0xff, 0x31, [4 ... 47] = 0x96 };

	for (size_t i = 0; i < GG_COUNT(cases); i++) {
		struct walk w = evaluate(cases[i].expression, cases[i].size);

		CHECK_MSG(w.step == cases[i].step, "case %zu: %d", i, w.step);
	}
	/* 48 bytes: their length, before them, would be the operation "0" if it were jumped to. */
	CHECK_EQ_U64(evaluate(before_the_start, sizeof(before_the_start)).step,
	             GG_CFI_STEP_BAD_EXPRESSION);
	CHECK_EQ_U64(evaluate(BYTES(0x7a, 0)).step, GG_CFI_STEP_UNKNOWN);
	CHECK_EQ_U64(evaluate(BYTES(0x92, 40, 0)).step, GG_CFI_STEP_UNKNOWN);
}
