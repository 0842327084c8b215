/* SPDX-License-Identifier: Apache-2.0 */
/* test_unwind_cfi_row - runs handmade CFI programs, opcode by opcode. */
#include <sys/mman.h>

#include "cfi_build.h"
#include "test.h"
#include "unwind/cfi/cfi.h"

enum {
	RAX = 0,
	RBX = 3,
	RBP = 6,
	RSP = 7,
	R12 = 12,
	RA = 16,
	FUNCTION = 0x1000,
	FUNCTION_BYTES = 0x100,
};

struct result {
	enum gg_rule_reason reason;
	struct gg_cfi_row row;
};

/* Runs a program of the function at FUNCTION up to pc, from a section of exactly its size. */
static struct result run(enum gg_cfi_arch arch, uint64_t pc, const uint8_t *program, size_t bytes)
{
	static const struct cfi_cie x86_64 = CFI_CIE_X86_64, aarch64 = CFI_CIE_AARCH64;
	struct result result;
	struct cfi_build b;
	uint8_t *exact;

	cfi_build_init(&b, arch);
	cfi_build_cie(&b, arch == GG_CFI_X86_64 ? &x86_64 : &aarch64);
	cfi_build_fde(&b, FUNCTION, FUNCTION_BYTES, program, bytes);
	exact = malloc(b.frame_bytes);
	memcpy(exact, b.frame, b.frame_bytes);
	b.module.eh_frame.bytes = exact;
	result.reason = gg_cfi_row_at(&b.module, pc, &result.row);
	free(exact);
	return result;
}

/* The row that holds at the function's last byte, on x86-64. */
static struct result run_all(const uint8_t *program, size_t bytes)
{
	return run(GG_CFI_X86_64, FUNCTION + FUNCTION_BYTES - 1, program, bytes);
}

static bool cfa_is(const struct result *r, uint16_t base, int32_t offset)
{
	return r->reason == 0 && r->row.state.cfa.how == GG_CFI_VAL_OFFSET &&
	       r->row.state.cfa.base == base && r->row.state.cfa.value == offset;
}

static bool rule_is(const struct result *r, int number, enum gg_cfi_how how, int32_t value)
{
	const struct gg_cfi_value *rule = &r->row.state.registers[number];

	return r->reason == 0 && rule->how == how && rule->value == value;
}

TEST(without_instructions_the_initial_row_holds_for_the_whole_function)
{
	struct result r = run_all(NO_BYTES);

	CHECK(cfa_is(&r, RSP, 8) && rule_is(&r, RA, GG_CFI_OFFSET, -8));
	CHECK(r.row.range.begin == FUNCTION && r.row.range.end == FUNCTION + FUNCTION_BYTES);
	CHECK(r.row.function.begin == FUNCTION && r.row.function.end == FUNCTION + FUNCTION_BYTES);
	CHECK_EQ_I64(r.row.ra_register, RA);
	CHECK_EQ_I64(r.row.flags, 0);
	for (int i = 0; i < GG_CFI_REGISTERS; i++)
		CHECK(i == RA || rule_is(&r, i, GG_CFI_UNSPECIFIED, 0));
}

TEST(an_advance_of_every_width_ends_the_row)
{
	static const struct {
		uint8_t bytes[9];
		size_t size;
	} cases[] = {
		{ { 0x40 | 5 }, 1 },         { { 0x02, 5 }, 2 }, { { 0x03, 5, 0 }, 3 },
		{ { 0x04, 5, 0, 0, 0 }, 5 }, { { 0x1d, 5 }, 9 },
	};

	for (size_t i = 0; i < GG_COUNT(cases); i++) {
		uint8_t program[16] = { 0 };
		struct result before, behind;

		memcpy(program, cases[i].bytes, cases[i].size);
		memcpy(program + cases[i].size, "\x0e\x10", 2); /* def_cfa_offset 16 */
		before = run(GG_CFI_X86_64, FUNCTION + 4, program, sizeof(program));
		behind = run(GG_CFI_X86_64, FUNCTION + 5, program, sizeof(program));
		CHECK_MSG(cfa_is(&before, RSP, 8) && before.row.range.begin == FUNCTION &&
		                  before.row.range.end == FUNCTION + 5,
		          "case %zu", i);
		CHECK_MSG(cfa_is(&behind, RSP, 16) && behind.row.range.begin == FUNCTION + 5 &&
		                  behind.row.range.end == FUNCTION + FUNCTION_BYTES,
		          "case %zu", i);
	}
}

TEST(advances_count_in_the_units_of_the_cie)
{
	struct result r = run(GG_CFI_AARCH64, FUNCTION + 8, BYTES(0x40 | 2, 0x0e, 16, 0x40 | 1));

	CHECK(cfa_is(&r, GG_AARCH64_SP, 16));
	CHECK(r.row.range.begin == FUNCTION + 8 && r.row.range.end == FUNCTION + 12);
}

TEST(set_loc_takes_an_address)
{
	struct cfi_cie cie = CFI_CIE_X86_64;
	const uint64_t begin = FUNCTION, bytes = 256, loc = FUNCTION + 0x20;
	struct gg_cfi_row row;
	struct cfi_build b;
	size_t start;

	cie.data[0] = 0; /* absolute pointers */
	cfi_build_init(&b, GG_CFI_X86_64);
	cfi_build_cie(&b, &cie);
	start = cfi_begin_fde(&b, FUNCTION);
	cfi_put_number(&b, begin, 8);
	cfi_put_number(&b, bytes, 8);
	cfi_put(&b, "\0\x01", 2);
	cfi_put_number(&b, loc, 8);
	cfi_put(&b, "\x0e\x10", 2);
	cfi_end(&b, start);
	CHECK(gg_cfi_row_at(&b.module, loc - 1, &row) == 0 && row.state.cfa.value == 8);
	CHECK_EQ_U64(row.range.end, loc);
	CHECK(gg_cfi_row_at(&b.module, loc, &row) == 0 && row.state.cfa.value == 16);
}

TEST(a_location_never_goes_back)
{
	/* set_loc is pc-relative here: 1 MiB below the section's first bytes is below FUNCTION. */
	CHECK_EQ_U64(run_all(BYTES(0x01, 0, 0, 0xf0, 0xff)).reason, GG_RULE_REASON_BAD_STATE);
}

TEST(a_row_beyond_the_function_is_cut_at_its_end)
{
	struct result r = run_all(BYTES(0x03, 0xff, 0xff, 0x0e, 16));

	CHECK(cfa_is(&r, RSP, 8) && r.row.range.end == FUNCTION + FUNCTION_BYTES);
}

TEST(saved_registers_are_offsets_from_the_cfa)
{
	struct result r = run_all(BYTES(0x80 | RBX, 3,   /* offset */
	                                0x05, RBP, 2,    /* offset_extended */
	                                0x11, R12, 0x7f, /* offset_extended_sf: -1 */
	                                0x2f, RAX, 4,    /* GNU_negative_offset_extended */
	                                0x14, 1, 2,      /* val_offset */
	                                0x15, 2, 0x7e)); /* val_offset_sf: -2 */

	CHECK(rule_is(&r, RBX, GG_CFI_OFFSET, -24));
	CHECK(rule_is(&r, RBP, GG_CFI_OFFSET, -16));
	CHECK(rule_is(&r, R12, GG_CFI_OFFSET, 8));
	CHECK(rule_is(&r, RAX, GG_CFI_OFFSET, 32));
	CHECK(rule_is(&r, 1, GG_CFI_VAL_OFFSET, -16));
	CHECK(rule_is(&r, 2, GG_CFI_VAL_OFFSET, 16));
}

TEST(registers_are_undefined_the_same_or_in_another)
{
	struct result r = run_all(BYTES(0x07, RBX, 0x08, RBP, 0x09, R12, RAX));

	CHECK(rule_is(&r, RBX, GG_CFI_UNDEFINED, 0));
	CHECK(rule_is(&r, RBP, GG_CFI_SAME, 0));
	CHECK(rule_is(&r, R12, GG_CFI_REGISTER, RAX));
}

TEST(restore_gives_a_register_its_initial_rule)
{
	struct result r = run_all(BYTES(0x80 | RBX, 3, 0x80 | RBP, 2, 0x80 | RA, 9, /* offsets */
	                                0xc0 | RBX, 0x06, RA));

	CHECK(rule_is(&r, RBX, GG_CFI_UNSPECIFIED, 0));
	CHECK(rule_is(&r, RBP, GG_CFI_OFFSET, -16));
	CHECK(rule_is(&r, RA, GG_CFI_OFFSET, -8));
}

TEST(the_cfa_is_defined_whole_or_in_parts)
{
	struct result r = run_all(BYTES(0x0c, RBP, 16));

	CHECK(cfa_is(&r, RBP, 16));
	r = run_all(BYTES(0x0d, RBP));
	CHECK(cfa_is(&r, RBP, 8));
	r = run_all(BYTES(0x0e, 0x80, 0x01));
	CHECK(cfa_is(&r, RSP, 128));
	r = run_all(BYTES(0x12, RBX, 0x7e)); /* def_cfa_sf */
	CHECK(cfa_is(&r, RBX, 16));
	r = run_all(BYTES(0x13, 0x02)); /* def_cfa_offset_sf */
	CHECK(cfa_is(&r, RSP, -16));
}

TEST(a_part_of_the_cfa_cannot_change_while_it_is_an_expression)
{
	CHECK_EQ_U64(run_all(BYTES(0x0f, 1, 0x57, 0x0d, RBP)).reason, GG_RULE_REASON_BAD_STATE);
	CHECK_EQ_U64(run_all(BYTES(0x0f, 1, 0x57, 0x0e, 8)).reason, GG_RULE_REASON_BAD_STATE);
	CHECK_EQ_U64(run_all(BYTES(0x0f, 1, 0x57, 0x13, 8)).reason, GG_RULE_REASON_BAD_STATE);
}

TEST(remembered_states_come_back_in_reverse)
{
	static const uint8_t program[] = {
		0x0a, 0x0e, 16, 0x80 | RBX, 2, 0x41, /* row 1: 16, rbx saved */
		0x0a, 0x0e, 24, 0x80 | RBP, 3, 0x41, /* row 2: 24, also rbp */
		0x0b, 0x41,                          /* row 3: as row 1 */
		0x0b, 0x41,                          /* row 4: as it began */
	};
	struct result r = run(GG_CFI_X86_64, FUNCTION + 1, program, sizeof(program));

	CHECK(cfa_is(&r, RSP, 24) && rule_is(&r, RBP, GG_CFI_OFFSET, -24));
	r = run(GG_CFI_X86_64, FUNCTION + 2, program, sizeof(program));
	CHECK(cfa_is(&r, RSP, 16) && rule_is(&r, RBX, GG_CFI_OFFSET, -16));
	CHECK(rule_is(&r, RBP, GG_CFI_UNSPECIFIED, 0));
	r = run(GG_CFI_X86_64, FUNCTION + 3, program, sizeof(program));
	CHECK(cfa_is(&r, RSP, 8) && rule_is(&r, RBX, GG_CFI_UNSPECIFIED, 0));
}

TEST(states_nest_to_the_limit_and_not_beyond)
{
	uint8_t program[2 * GG_CFI_REMEMBER_MAX + 1];
	struct result r;

	for (int i = 0; i < GG_CFI_REMEMBER_MAX; i++) {
		program[i] = 0x0a;
		program[GG_CFI_REMEMBER_MAX + i] = 0x0b;
	}
	r = run_all(program, 2 * GG_CFI_REMEMBER_MAX);
	CHECK(cfa_is(&r, RSP, 8));
	memset(program, 0x0a, sizeof(program));
	CHECK_EQ_U64(run_all(program, GG_CFI_REMEMBER_MAX + 1).reason, GG_RULE_REASON_TOO_DEEP);
	CHECK_EQ_U64(run_all(BYTES(0x0b)).reason, GG_RULE_REASON_BAD_STATE);
	CHECK_EQ_U64(run_all(BYTES(0x0a, 0x0b, 0x0b)).reason, GG_RULE_REASON_BAD_STATE);
}

TEST(expressions_are_kept_by_their_place)
{
	struct result r = run_all(BYTES(0x0f, 2, 0x77, 8,         /* def_cfa_expression */
	                                0x10, RBX, 2, 0x77, 16,   /* expression */
	                                0x16, R12, 2, 0x77, 24)); /* val_expression */
	const struct gg_cfi_state *s = &r.row.state;

	CHECK(r.reason == 0 && s->cfa.how == GG_CFI_VAL_EXPRESSION);
	CHECK_EQ_I64(s->registers[RBX].how, GG_CFI_EXPRESSION);
	CHECK_EQ_I64(s->registers[R12].how, GG_CFI_VAL_EXPRESSION);
	CHECK_EQ_I64(s->registers[RBX].value - s->cfa.value, 5);
	CHECK_EQ_I64(s->registers[R12].value - s->registers[RBX].value, 5);
}

TEST(what_only_debuggers_and_exceptions_need_is_stepped_over)
{
	struct result r = run_all(BYTES(0x2e, 0x80, 0x01, /* GNU_args_size 128 */
	                                0x00,             /* nop */
	                                0x0e, 16));

	CHECK(cfa_is(&r, RSP, 16));
}

TEST(the_signed_state_of_a_return_address_toggles_and_is_remembered)
{
	struct result r = run(GG_CFI_AARCH64, FUNCTION, BYTES(0x2d));

	CHECK_EQ_U64(r.reason, 0);
	CHECK_EQ_I64(r.row.flags, GG_RULE_RA_SIGNED);
	r = run(GG_CFI_AARCH64, FUNCTION, BYTES(0x2d, 0x2d));
	CHECK_EQ_U64(r.reason, 0);
	CHECK_EQ_I64(r.row.flags, 0);
	r = run(GG_CFI_AARCH64, FUNCTION, BYTES(0x2d, 0x0a, 0x2c, 0x0b));
	CHECK_EQ_U64(r.reason, 0);
	CHECK_EQ_I64(r.row.flags, GG_RULE_RA_SIGNED);
	CHECK_EQ_U64(run(GG_CFI_X86_64, FUNCTION, BYTES(0x2d)).reason, GG_RULE_REASON_BAD_OPCODE);
}

TEST(vector_registers_are_skipped)
{
	struct result r = run(GG_CFI_AARCH64, FUNCTION,
	                      BYTES(0x05, 72, 2,         /* d8 */
	                            0x11, 0x80, 0x7f, 2, /* a register far off */
	                            0x07, 40, 0x08, 41,  /* undefined, same */
	                            0x06, 72, 0xc0 | 40, /* restore */
	                            0x09, 72, 73,        /* register */
	                            0x10, 72, 1, 0x30,   /* expression */
	                            0x80 | 29, 2));

	CHECK(rule_is(&r, 29, GG_CFI_OFFSET, -16));
	for (int i = 0; i < GG_CFI_REGISTERS; i++)
		CHECK(i == 29 || rule_is(&r, i, GG_CFI_UNSPECIFIED, 0));
}

TEST(numbers_that_a_row_cannot_hold_are_out_of_range)
{
	static const struct {
		uint8_t bytes[16];
		size_t size;
	} cases[] = {
		{ { 0x0c, 33, 8 }, 3 },                        /* CFA by register 33 */
		{ { 0x0d, 0x80, 0x01 }, 3 },                   /* by register 128 */
		{ { 0x09, RBX, 33 }, 3 },                      /* rbx is in register 33 */
		{ { 0x0e, 0x80, 0x80, 0x80, 0x80, 0x08 }, 6 }, /* CFA = rsp + 2^31 */
		{ { 0x83, 0xff, 0xff, 0xff, 0xff, 0x7f }, 6 }, /* 2^35 words away */
		{ { 0x11, 3, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0xc0, 0 }, 12 },
		{ { 0x1d, 0, 0xf0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, 9 }, /* wraps */
	};

	for (size_t i = 0; i < GG_COUNT(cases); i++)
		CHECK_MSG(run_all(cases[i].bytes, cases[i].size).reason == GG_RULE_REASON_RANGE,
		          "case %zu", i);
}

TEST(every_opcode_that_nobody_defines_is_refused)
{
	static const uint8_t known[] = {
		0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d,
		0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x1d, 0x2c, 0x2d, 0x2e, 0x2f,
	};

	for (uint8_t opcode = 0; opcode < 0x40; opcode++) {
		const uint8_t program[] = { opcode, 1, 1, 1, 1, 1, 1, 1, 1 };
		enum gg_rule_reason reason =
			run(GG_CFI_AARCH64, FUNCTION, program, sizeof(program)).reason;
		bool is_known = memchr(known, opcode, sizeof(known)) != NULL;

		CHECK_MSG((reason != GG_RULE_REASON_BAD_OPCODE) == is_known, "opcode %#x", opcode);
	}
}

TEST(an_operand_that_is_cut_short_is_noticed)
{
	static const struct {
		uint8_t bytes[10];
		size_t size;
	} cases[] = {
		{ { 0x01, 0, 0, 0 }, 4 },  { { 0x02 }, 1 },          { { 0x03, 1 }, 2 },
		{ { 0x04, 1, 1, 1 }, 4 },  { { 0x05 }, 1 },          { { 0x05, 3 }, 2 },
		{ { 0x06 }, 1 },           { { 0x07, 0x80 }, 2 },    { { 0x08 }, 1 },
		{ { 0x09, 3 }, 2 },        { { 0x0c, 7 }, 2 },       { { 0x0d }, 1 },
		{ { 0x0e, 0x80 }, 2 },     { { 0x0f }, 1 },          { { 0x0f, 2, 0x77 }, 3 },
		{ { 0x10, 3 }, 2 },        { { 0x10, 3, 5, 0 }, 4 }, { { 0x11, 3 }, 2 },
		{ { 0x12, 7, 0x80 }, 3 },  { { 0x13 }, 1 },          { { 0x14, 3 }, 2 },
		{ { 0x15, 3, 0xff }, 3 },  { { 0x16, 3, 1 }, 3 },    { { 0x1d, 1, 1, 1 }, 4 },
		{ { 0x2e }, 1 },           { { 0x2f, 3 }, 2 },       { { 0x80 | 3 }, 1 },
		{ { 0x80 | 3, 0x80 }, 2 },
	};

	for (size_t i = 0; i < GG_COUNT(cases); i++)
		CHECK_MSG(run_all(cases[i].bytes, cases[i].size).reason == GG_RULE_REASON_TRUNCATED,
		          "case %zu: opcode %#x", i, cases[i].bytes[0]);
}

TEST(a_number_longer_than_any_is_refused)
{
	CHECK_EQ_U64(
		run_all(BYTES(0x0e, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0))
			.reason,
		GG_RULE_REASON_TRUNCATED);
	/* Ten bytes are what 64 bits may take. */
	CHECK_EQ_U64(run_all(BYTES(0x0e, 0x90, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0))
	                     .reason,
	             0);
	CHECK_EQ_U64(
		run_all(BYTES(0x13, 0x90, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0))
			.reason,
		GG_RULE_REASON_TRUNCATED);
}

TEST(instructions_behind_the_row_do_not_matter)
{
	struct result r = run(GG_CFI_X86_64, FUNCTION, BYTES(0x41, 0x3f));

	CHECK(cfa_is(&r, RSP, 8));
	CHECK_EQ_U64(run(GG_CFI_X86_64, FUNCTION + 1, BYTES(0x41, 0x3f)).reason,
	             GG_RULE_REASON_BAD_OPCODE);
}

TEST(an_expression_beyond_2_GiB_of_a_section_is_out_of_range)
{
	static const struct cfi_cie cie = CFI_CIE_X86_64;
	const size_t before = (size_t)1 << 31, size = before + CFI_BUILD_MAX;
	uint8_t *section = mmap(NULL, size, PROT_READ | PROT_WRITE,
	                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct gg_cfi_row row;
	struct cfi_build b;

	if (section == MAP_FAILED)
		SKIP("no 2 GiB of address space");
	cfi_build_init(&b, GG_CFI_X86_64);
	cfi_build_cie(&b, &cie);
	cfi_build_fde(&b, FUNCTION, FUNCTION_BYTES, BYTES(0x0f, 1, 0x30));
	cfi_build_table(&b);
	CHECK_EQ_U64(gg_cfi_row_at(&b.module, FUNCTION, &row), 0);
	memcpy(section + before, b.frame, b.frame_bytes);
	b.module.eh_frame = (struct gg_cfi_section){ section, before + b.frame_bytes,
		                                     CFI_BUILD_FRAME_ADDRESS - before };
	CHECK_EQ_U64(gg_cfi_row_at(&b.module, FUNCTION, &row), GG_RULE_REASON_RANGE);
	munmap(section, size);
}

/* A function whose program is longer than anything real: built without the helper's bound. */
TEST(a_program_without_end_is_given_up)
{
	static const struct cfi_cie cie = CFI_CIE_X86_64;
	const size_t nop_bytes = GG_CFI_INSTRUCTIONS_MAX;
	struct gg_cfi_row row;
	struct cfi_build b;
	uint8_t *section;
	uint32_t length;

	cfi_build_init(&b, GG_CFI_X86_64);
	cfi_build_cie(&b, &cie);
	cfi_build_fde(&b, FUNCTION, FUNCTION_BYTES, NO_BYTES);
	section = calloc(1, b.frame_bytes + nop_bytes + 1);
	memcpy(section, b.frame, b.frame_bytes);
	b.module.eh_frame.bytes = section;
	for (size_t extra = nop_bytes; extra <= nop_bytes + 1; extra++) {
		size_t fde = (size_t)(b.entries[0].fde - CFI_BUILD_FRAME_ADDRESS);

		length = (uint32_t)(b.frame_bytes - fde - 4 + extra);
		memcpy(section + fde, &length, 4);
		b.module.eh_frame.size_bytes = b.frame_bytes + extra;
		CHECK_EQ_U64(gg_cfi_row_at(&b.module, FUNCTION, &row),
		             extra > nop_bytes ? GG_RULE_REASON_TOO_LONG : 0);
	}
	free(section);
}
