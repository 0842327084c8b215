/* SPDX-License-Identifier: Apache-2.0 */
/* test_unwind_cfi_record - parses handmade CIEs, FDEs, pointer encodings and search tables. */
#include "cfi_build.h"
#include "test.h"
#include "unwind/cfi/cfi.h"

static const struct cfi_cie usual = CFI_CIE_X86_64;

/* A module with one function [0x1000, 0x1100) that has this CIE. */
static void build_one(struct cfi_build *b, const struct cfi_cie *cie)
{
	cfi_build_init(b, GG_CFI_X86_64);
	cfi_build_cie(b, cie);
	cfi_build_fde(b, 0x1000, 0x100, BYTES(0x0e, 16));
	cfi_build_table(b);
}

static enum gg_rule_reason reason_at(const struct cfi_build *b, uint64_t pc)
{
	struct gg_unwind_rule rule = gg_cfi_rule_at(&b->module, pc, NULL);

	return rule.kind == GG_RULE_NONE ? (enum gg_rule_reason)rule.cfa_bytes
	                                 : GG_RULE_REASON_UNKNOWN;
}

static bool is_sp_16(const struct cfi_build *b, uint64_t pc)
{
	struct gg_unwind_rule rule = gg_cfi_rule_at(&b->module, pc, NULL);

	return rule.kind == GG_RULE_SP && rule.cfa_bytes == 16 && rule.ra_words == -1;
}

/* --- CIE ---------------------------------------------------------------------------------- */

TEST(versions_1_3_and_4_are_read_and_no_other)
{
	for (unsigned version = 0; version < 8; version++) {
		bool is_known = version == 1 || version == 3 || version == 4;
		struct cfi_cie cie = usual;
		struct cfi_build b;

		cie.version = (uint8_t)version;
		build_one(&b, &cie);
		CHECK_MSG(is_known ? is_sp_16(&b, 0x1000)
		                   : reason_at(&b, 0x1000) == GG_RULE_REASON_BAD_CIE,
		          "version %u", version);
	}
}

TEST(augmentations_of_every_kind_are_read)
{
	static const struct {
		const char *letters;
		uint8_t data[16], data_bytes;
	} cases[] = {
		{ "zR", { 0x1b }, 1 },
		{ "zPLR", { 0x9b, 1, 2, 3, 4, 0x1b, 0x1b }, 7 },       /* personality, LSDA */
		{ "zPR", { 0x00, 1, 2, 3, 4, 5, 6, 7, 8, 0x1b }, 10 }, /* absolute personality */
		{ "zPR", { 0x01, 0x80, 0x80, 1, 0x1b }, 5 },           /* LEB128 personality */
		{ "zPR", { 0xff, 0x1b }, 2 },                          /* omitted personality */
		{ "zRS", { 0x1b }, 1 },
		{ "zRB", { 0x1b }, 1 },
		{ "zRG", { 0x1b }, 1 },
		{ "zPLRSBG", { 0x9b, 1, 2, 3, 4, 0x1b, 0x1b }, 7 },
		{ "zR?", { 0x1b, 9, 9, 9 }, 4 }, /* letters behind 'R' may be unknown */
		{ "zR", { 0x1b, 9, 9 }, 3 },     /* and data may be left over */
	};

	for (size_t i = 0; i < GG_COUNT(cases); i++) {
		struct cfi_cie cie = usual;
		struct gg_cfi_row row;
		struct cfi_build b;

		cie.augmentation = cases[i].letters;
		cie.data_bytes = cases[i].data_bytes;
		memcpy(cie.data, cases[i].data, sizeof(cie.data));
		build_one(&b, &cie);
		CHECK_MSG(gg_cfi_row_at(&b.module, 0x1000, &row) == 0 && row.state.cfa.value == 16,
		          "case %zu, %s", i, cases[i].letters);
		CHECK_EQ_I64(row.flags, strchr(cases[i].letters, 'S') != NULL ? GG_RULE_SIGNAL : 0);
	}
}

TEST(a_personality_may_be_aligned)
{
	struct cfi_cie cie = usual;
	struct cfi_build b;

	/*
	 * The data start at 17: an encoding, 6 bytes of padding, a pointer of 8 bytes, the encoding
	 * of FDEs.
	 */
	cie.augmentation = "zPR";
	cie.data[0] = 0x50;
	cie.data[15] = 0x1b;
	cie.data_bytes = 16;
	build_one(&b, &cie);
	CHECK(b.frame[17] == 0x50 && is_sp_16(&b, 0x1000));
}

TEST(augmentations_that_hide_where_the_instructions_start_are_refused)
{
	static const char *const letters[] = { "R", "P", "x", "armcc+", "zRzzzzzzzzzzzzzzzzz" };

	for (size_t i = 0; i < GG_COUNT(letters); i++) {
		struct cfi_cie cie = usual;
		struct cfi_build b;

		cie.augmentation = letters[i];
		build_one(&b, &cie);
		CHECK_MSG(reason_at(&b, 0x1000) != 0, "%s", letters[i]);
	}
}

/* An FDE with absolute pointers and no augmentation data. */
static void build_plain(struct cfi_build *b, const struct cfi_cie *cie)
{
	size_t start;

	cfi_build_init(b, GG_CFI_X86_64);
	cfi_build_cie(b, cie);
	start = cfi_begin_fde(b, 0x1000);
	cfi_put_number(b, 0x1000, 8);
	cfi_put_number(b, 0x100, 8);
	cfi_put(b, "\x0e\x10", 2);
	cfi_end(b, start);
}

TEST(without_an_augmentation_pointers_are_absolute)
{
	struct cfi_cie cie = usual;
	struct cfi_build b;

	cie.augmentation = "";
	build_plain(&b, &cie);
	CHECK(is_sp_16(&b, 0x1000) && is_sp_16(&b, 0x10ff));
	CHECK_EQ_U64(reason_at(&b, 0x1100), GG_RULE_REASON_NO_FDE);
}

TEST(the_pointer_that_gcc_2_put_into_the_cie_is_skipped)
{
	struct cfi_cie cie = usual;
	struct cfi_build b;

	cie.augmentation = "eh";
	build_plain(&b, &cie);
	CHECK(is_sp_16(&b, 0x1000));
}

TEST(a_cie_may_initialise_nothing)
{
	struct cfi_cie cie = usual;
	struct cfi_build b;

	cie.instruction_bytes = 0;
	build_one(&b, &cie);
	CHECK_EQ_U64(reason_at(&b, 0x1000),
	             GG_RULE_REASON_BAD_STATE); /* an offset without a register */
	cfi_build_init(&b, GG_CFI_X86_64);
	cfi_build_cie(&b, &cie);
	cfi_build_fde(&b, 0x1000, 0x100, NO_BYTES);
	CHECK_EQ_U64(reason_at(&b, 0x1000), GG_RULE_REASON_NO_CFA);
	cfi_build_init(&b, GG_CFI_X86_64);
	cfi_build_cie(&b, &cie);
	cfi_build_fde(&b, 0x1000, 0x100, BYTES(0x0c, 7, 8));
	CHECK_EQ_U64(reason_at(&b, 0x1000), GG_RULE_REASON_NO_RA);
}

TEST(initial_instructions_have_no_location)
{
	struct cfi_cie cie = usual;
	struct cfi_build b;

	cie.instructions[0] = 0x41;
	cie.instruction_bytes = 1;
	build_one(&b, &cie);
	CHECK_EQ_U64(reason_at(&b, 0x1000), GG_RULE_REASON_BAD_STATE);
}

/* A function by a CIE of "z" and no more; absolute pointers. */
static enum gg_rule_reason reason_by_cie(const struct cfi_cie *cie)
{
	struct cfi_build b;
	size_t start;

	cfi_build_init(&b, GG_CFI_X86_64);
	cfi_build_cie(&b, cie);
	start = cfi_begin_fde(&b, 0x1000);
	cfi_put_number(&b, 0x1000, 8);
	cfi_put_number(&b, 0x100, 8);
	cfi_put_number(&b, 0, 1);
	cfi_end(&b, start);
	cfi_build_table(&b);
	return reason_at(&b, 0x1000);
}

TEST(the_return_address_column_is_a_byte_in_version_1_and_leb128_later)
{
	struct cfi_cie cie = { .augmentation = "z", .code_align = 1, .data_align = 0x78 };

	/* 0x90 is column 144; as LEB128 with the 0 behind it, which is a length else, column 16. */
	cie.ra = 0x90;
	memcpy(cie.instructions, "\x0c\x07\x08\x90\x01", 5);
	cie.instruction_bytes = 5;
	cie.version = 1;
	CHECK_EQ_U64(reason_by_cie(&cie), GG_RULE_REASON_RANGE);
	memcpy(cie.instructions, "\0\x0c\x07\x08\x90\x01", 6); /* the length comes one later */
	cie.instruction_bytes = 6;
	cie.version = 3;
	CHECK_EQ_U64(reason_by_cie(&cie), 0);
}

TEST(a_return_address_column_beyond_the_row_is_out_of_range)
{
	struct cfi_cie cie = usual;
	struct cfi_build b;

	cie.ra = 33;
	build_one(&b, &cie);
	CHECK_EQ_U64(reason_at(&b, 0x1000), GG_RULE_REASON_RANGE);
}

/* --- FDE ---------------------------------------------------------------------------------- */

TEST(records_may_have_64_bit_lengths)
{
	struct cfi_build b;

	cfi_build_init(&b, GG_CFI_X86_64);
	b.is_64_bit = true;
	cfi_build_cie(&b, &usual);
	cfi_build_fde(&b, 0x1000, 0x100, BYTES(0x0e, 16));
	CHECK(is_sp_16(&b, 0x1000));
	cfi_build_table(&b);
	CHECK(is_sp_16(&b, 0x1000));
}

/* A function [0x1000, 0x1040) by pointers of that encoding, `raw` as they are written. */
static void build_encoded(struct cfi_build *b, uint8_t encoding, uint64_t raw, size_t size)
{
	struct cfi_cie cie = usual;
	size_t start;

	cie.data[0] = encoding;
	cfi_build_init(b, GG_CFI_X86_64);
	b->module.text_base = 0x800;
	b->module.data_base = 0xf00;
	cfi_build_cie(b, &cie);
	start = cfi_begin_fde(b, 0x1000);
	if ((encoding & 0x70) == 0x50) {
		while (b->frame_bytes % 8 != 0)
			cfi_put_number(b, 0xee, 1);
	}
	if ((encoding & 0x70) == 0x10)
		raw -= CFI_BUILD_FRAME_ADDRESS + b->frame_bytes;
	cfi_put_number(b, raw, size);
	cfi_put_number(b, 0x40, size);
	cfi_put_number(b, 0, 1);
	cfi_put(b, "\x0e\x10", 2);
	cfi_end(b, start);
}

TEST(pointers_of_every_encoding_are_read)
{
	static const struct {
		uint8_t encoding;
		uint64_t raw;
		size_t size;
	} cases[] = {
		{ 0x00, 0x1000, 8 }, /* absptr */
		{ 0x02, 0x1000, 2 }, /* udata2 */
		{ 0x03, 0x1000, 4 }, /* udata4 */
		{ 0x04, 0x1000, 8 }, /* udata8 */
		{ 0x0a, 0x1000, 2 }, /* sdata2 */
		{ 0x0b, 0x1000, 4 }, /* sdata4 */
		{ 0x0c, 0x1000, 8 }, /* sdata8 */
		{ 0x10, 0x1000, 8 }, /* pcrel, absptr */
		{ 0x1b, 0x1000, 4 }, /* pcrel, sdata4 */
		{ 0x1c, 0x1000, 8 }, /* pcrel, sdata8 */
		{ 0x23, 0x0800, 4 }, /* textrel */
		{ 0x33, 0x0100, 4 }, /* datarel */
		{ 0x40, 0x1000, 8 }, /* funcrel: of a function that has not begun, 0 */
		{ 0x50, 0x1000, 8 }, /* aligned */
	};

	for (size_t i = 0; i < GG_COUNT(cases); i++) {
		struct cfi_build b;

		build_encoded(&b, cases[i].encoding, cases[i].raw, cases[i].size);
		CHECK_MSG(reason_at(&b, 0xfff) == GG_RULE_REASON_NO_FDE && is_sp_16(&b, 0x1000) &&
		                  is_sp_16(&b, 0x103f) &&
		                  reason_at(&b, 0x1040) == GG_RULE_REASON_NO_FDE,
		          "encoding %#x", cases[i].encoding);
	}
}

TEST(pointers_may_be_leb128)
{
	/* 0x1000 is 80 20, 0x40 is 40 unsigned and c0 00 signed. */
	static const struct {
		uint8_t encoding, bytes[4], size;
	} cases[] = { { 0x01, { 0x80, 0x20, 0x40 }, 3 }, { 0x09, { 0x80, 0x20, 0xc0, 0 }, 4 } };

	for (size_t i = 0; i < GG_COUNT(cases); i++) {
		struct cfi_cie cie = usual;
		struct cfi_build b;
		size_t start;

		cie.data[0] = cases[i].encoding;
		cfi_build_init(&b, GG_CFI_X86_64);
		cfi_build_cie(&b, &cie);
		start = cfi_begin_fde(&b, 0x1000);
		cfi_put(&b, cases[i].bytes, cases[i].size);
		cfi_put(&b, "\0\x0e\x10", 3);
		cfi_end(&b, start);
		CHECK(is_sp_16(&b, 0x103f) && !is_sp_16(&b, 0x1040));
	}
}

TEST(pointers_that_code_cannot_have_are_refused)
{
	static const uint8_t encodings[] = { 0x05, 0x07, 0x0d, 0x0f, 0x60, 0x70, 0x80, 0x9b, 0xff };

	for (size_t i = 0; i < GG_COUNT(encodings); i++) {
		struct cfi_build b;

		build_encoded(&b, encodings[i], 0x1000, 8);
		cfi_build_table(&b);
		CHECK_MSG(reason_at(&b, 0x1000) == GG_RULE_REASON_BAD_POINTER, "encoding %#x",
		          encodings[i]);
	}
}

TEST(a_function_that_the_linker_dropped_is_nowhere)
{
	struct gg_cfi_range function;
	struct cfi_build b;
	size_t position = 0;

	build_encoded(&b, 0x00, 0, 8);
	CHECK_EQ_U64(reason_at(&b, 0), GG_RULE_REASON_NO_FDE);
	CHECK(!gg_cfi_next_function(&b.module, &position, &function));
	/* A relative pointer of 0 is the null pointer too: here to its own place. */
	cfi_build_init(&b, GG_CFI_X86_64);
	cfi_build_cie(&b, &usual);
	cfi_build_fde(&b, CFI_BUILD_FRAME_ADDRESS + b.frame_bytes + 8, 0x100, NO_BYTES);
	position = 0;
	CHECK(!gg_cfi_next_function(&b.module, &position, &function));
}

TEST(a_function_that_wraps_around_is_out_of_range)
{
	struct cfi_build b;

	build_encoded(&b, 0x04, UINT64_MAX - 8, 8);
	cfi_build_table(&b);
	CHECK_EQ_U64(reason_at(&b, 0x1000), GG_RULE_REASON_RANGE);
}

TEST(a_section_cut_anywhere_gives_no_rule_and_no_read_beyond)
{
	struct cfi_build b;
	size_t whole;

	build_one(&b, &usual);
	whole = b.frame_bytes;
	for (size_t size = 0; size < whole; size++) {
		uint8_t *exact = malloc(size + 1);

		memcpy(exact + 1, b.frame, size);
		b.module.eh_frame.bytes = exact + 1;
		b.module.eh_frame.size_bytes = size;
		CHECK_MSG(reason_at(&b, 0x1000) == GG_RULE_REASON_TRUNCATED, "%zu bytes", size);
		free(exact);
	}
}

TEST(a_cie_pointer_that_leads_nowhere_is_noticed)
{
	static const uint32_t ids[] = { 1, 3, 25, 100, 0x7fffffff, 0xffffffff };

	for (size_t i = 0; i < GG_COUNT(ids); i++) {
		struct cfi_build b;

		build_one(&b, &usual);
		memcpy(b.frame + (b.entries[0].fde - CFI_BUILD_FRAME_ADDRESS) + 4, &ids[i], 4);
		CHECK_MSG(reason_at(&b, 0x1000) != 0, "id %u", ids[i]);
	}
}

TEST(functions_are_walked_in_the_order_of_the_section_up_to_its_end_mark)
{
	struct gg_cfi_range function;
	struct cfi_build b;
	size_t position = 0;

	cfi_build_init(&b, GG_CFI_X86_64);
	cfi_build_cie(&b, &usual);
	cfi_build_fde(&b, 0x3000, 0x10, NO_BYTES);
	cfi_build_cie(&b, &usual);
	cfi_build_fde(&b, 0x1000, 0x20, NO_BYTES);
	cfi_build_fde(&b, 0x2000, 0, NO_BYTES); /* empty: skipped */
	cfi_put_number(&b, 0, 4);
	cfi_build_fde(&b, 0x4000, 0x20, NO_BYTES); /* behind the end mark */
	CHECK(gg_cfi_next_function(&b.module, &position, &function));
	CHECK_EQ_U64(function.begin, 0x3000);
	CHECK_EQ_U64(function.end, 0x3010);
	CHECK(gg_cfi_next_function(&b.module, &position, &function));
	CHECK_EQ_U64(function.begin, 0x1000);
	CHECK_EQ_U64(function.end, 0x1020);
	CHECK(!gg_cfi_next_function(&b.module, &position, &function));
	CHECK_EQ_U64(reason_at(&b, 0x4000), GG_RULE_REASON_NO_FDE);
}

/* --- the table ---------------------------------------------------------------------------- */

/* `count` functions of 16 bytes every 32 bytes from 0x1000; the one of index i has CFA rsp + 8i. */
static void build_many(struct cfi_build *b, unsigned count)
{
	cfi_build_init(b, GG_CFI_X86_64);
	cfi_build_cie(b, &usual);
	for (unsigned i = 0; i < count; i++)
		cfi_build_fde(b, 0x1000 + 32 * i, 16, BYTES(0x0e, (uint8_t)(8 * i)));
}

static bool all_are_found(const struct cfi_build *b, unsigned count)
{
	bool all = reason_at(b, 0xfff) == GG_RULE_REASON_NO_FDE;

	for (unsigned i = 0; i < count; i++) {
		uint64_t begin = 0x1000 + 32 * i;
		struct gg_unwind_rule first = gg_cfi_rule_at(&b->module, begin, NULL);
		struct gg_unwind_rule last = gg_cfi_rule_at(&b->module, begin + 15, NULL);

		all &= first.kind == GG_RULE_SP && first.cfa_bytes == (int32_t)(8 * i) &&
		       last.kind == GG_RULE_SP && last.cfa_bytes == (int32_t)(8 * i) &&
		       reason_at(b, begin + 16) == GG_RULE_REASON_NO_FDE &&
		       reason_at(b, begin + 31) == GG_RULE_REASON_NO_FDE;
	}
	return all;
}

TEST(tables_of_every_size_find_every_function_and_every_gap)
{
	for (unsigned count = 1; count <= 15; count++) {
		struct cfi_build b;

		build_many(&b, count);
		CHECK_MSG(all_are_found(&b, count), "%u functions, no table", count);
		cfi_build_table(&b);
		CHECK_MSG(all_are_found(&b, count), "%u functions", count);
	}
}

/* Rewrites the table with entries of another encoding. */
static void encode_table(struct cfi_build *b, uint8_t encoding, size_t size)
{
	b->hdr[3] = encoding;
	b->hdr_bytes = 12;
	for (size_t i = 0; i < 2 * b->entry_count; i++) {
		uint64_t value = i % 2 == 0 ? b->entries[i / 2].pc : b->entries[i / 2].fde;

		if ((encoding & 0x70) == 0x30)
			value -= CFI_BUILD_HDR_ADDRESS;
		if ((encoding & 0x70) == 0x10)
			value -= CFI_BUILD_HDR_ADDRESS + b->hdr_bytes;
		memcpy(b->hdr + b->hdr_bytes, &value, size);
		b->hdr_bytes += size;
	}
	b->module.eh_frame_hdr.size_bytes = b->hdr_bytes;
}

TEST(tables_of_every_encoding_are_searched)
{
	static const struct {
		uint8_t encoding;
		size_t size;
	} cases[] = { { 0x00, 8 }, { 0x03, 4 }, { 0x04, 8 }, { 0x0b, 4 }, { 0x0c, 8 },
		      { 0x3b, 4 }, { 0x3c, 8 }, { 0x1b, 4 }, { 0x30, 8 } };

	for (size_t i = 0; i < GG_COUNT(cases); i++) {
		struct cfi_build b;

		build_many(&b, 7);
		cfi_build_table(&b);
		encode_table(&b, cases[i].encoding, cases[i].size);
		CHECK_MSG(all_are_found(&b, 7), "encoding %#x", cases[i].encoding);
	}
}

TEST(the_table_is_what_is_searched)
{
	struct cfi_build b;

	build_many(&b, 3);
	b.entry_count = 2; /* the third is in the section only */
	cfi_build_table(&b);
	CHECK_EQ_U64(reason_at(&b, 0x1020), 0);
	CHECK_EQ_U64(reason_at(&b, 0x1040), GG_RULE_REASON_NO_FDE);
}

TEST(without_a_usable_table_the_section_is_walked)
{
	static const struct {
		size_t offset;
		uint8_t value;
	} changes[] = {
		{ 0, 2 },    /* version */
		{ 1, 0x0f }, /* encoding of the pointer to .eh_frame */
		{ 2, 0xff }, /* no count */
		{ 2, 0x0e }, /* encoding of the count */
		{ 3, 0xff }, /* no table */
		{ 3, 0x01 }, /* entries of no fixed size cannot be searched */
		{ 8, 0 },    /* empty */
		{ 8, 6 },    /* more entries than there are bytes */
		{ 11, 0x80 },
	};

	for (size_t i = 0; i < GG_COUNT(changes); i++) {
		struct cfi_build b;

		build_many(&b, 5);
		cfi_build_table(&b);
		b.hdr[changes[i].offset] = changes[i].value;
		CHECK_MSG(all_are_found(&b, 5), "byte %zu", changes[i].offset);
	}
	for (size_t size = 0; size < 12 + 5 * 8; size++) {
		struct cfi_build b;

		build_many(&b, 5);
		cfi_build_table(&b);
		b.module.eh_frame_hdr.size_bytes = size;
		CHECK_MSG(all_are_found(&b, 5), "%zu bytes", size);
	}
}

TEST(a_table_that_points_elsewhere_gives_a_reason)
{
	static const uint32_t elsewhere[] = { 0, 0x80000000, 0x7fffffff, 0xffffffff, 0x1000 };

	for (size_t i = 0; i < GG_COUNT(elsewhere); i++) {
		struct cfi_build b;

		build_many(&b, 1);
		cfi_build_table(&b);
		memcpy(b.hdr + 16, &elsewhere[i], 4);
		CHECK_MSG(reason_at(&b, 0x1000) == GG_RULE_REASON_TRUNCATED, "%#x", elsewhere[i]);
	}
}

TEST(a_table_in_disorder_ends_the_search_and_finds_no_wrong_function)
{
	struct cfi_build b;

	build_many(&b, 15);
	for (size_t i = 0; i < 7; i++) {
		uint64_t pc = b.entries[i].pc, fde = b.entries[i].fde;

		b.entries[i].pc = b.entries[14 - i].pc;
		b.entries[i].fde = b.entries[14 - i].fde;
		b.entries[14 - i].pc = pc;
		b.entries[14 - i].fde = fde;
	}
	cfi_build_table(&b);
	for (unsigned i = 0; i < 15; i++) {
		struct gg_unwind_rule rule = gg_cfi_rule_at(&b.module, 0x1000 + 32 * i, NULL);

		CHECK(rule.kind == GG_RULE_NONE || rule.cfa_bytes == (int32_t)(8 * i));
	}
}

/* The first address of the function that contains pc; 0: no function does. */
static uint64_t function_begin_at(const struct cfi_build *b, uint64_t pc)
{
	struct gg_cfi_range function = { 0, 0 };
	bool is_found = gg_cfi_function_at(&b->module, pc, &function);

	CHECK(!is_found || (function.begin <= pc && pc < function.end));
	CHECK_EQ_I64(is_found, function.end != 0);
	return function.begin;
}

TEST(the_table_gives_the_bounds_of_functions)
{
	struct cfi_build b;

	build_many(&b, 15);
	CHECK_EQ_U64(function_begin_at(&b, 0x1000), 0); /* no table yet */
	cfi_build_table(&b);
	for (unsigned i = 0; i < 15; i++) {
		uint64_t begin = 0x1000 + 32 * i;

		CHECK_EQ_U64(function_begin_at(&b, begin), begin);
		CHECK_EQ_U64(function_begin_at(&b, begin + 15), begin);
		CHECK_EQ_U64(function_begin_at(&b, begin + 16), 0);
	}
	CHECK_EQ_U64(function_begin_at(&b, 0), 0);
	CHECK_EQ_U64(function_begin_at(&b, 0xfff), 0);
	CHECK_EQ_U64(function_begin_at(&b, UINT64_MAX), 0);
}

TEST(of_functions_that_overlap_the_one_that_begins_last_has_the_address)
{
	struct cfi_build b;

	cfi_build_init(&b, GG_CFI_X86_64);
	cfi_build_cie(&b, &usual);
	cfi_build_fde(&b, 0x1000, 0x100, NO_BYTES);
	cfi_build_fde(&b, 0x1040, 0x10, NO_BYTES); /* inside the first one */
	cfi_build_fde(&b, 0x1080, 0, NO_BYTES);    /* empty */
	cfi_build_table(&b);
	CHECK_EQ_U64(function_begin_at(&b, 0x103f), 0x1000);
	CHECK_EQ_U64(function_begin_at(&b, 0x1048), 0x1040);
	CHECK_EQ_U64(function_begin_at(&b, 0x1060), 0);
	CHECK_EQ_U64(function_begin_at(&b, 0x1090), 0);
}

TEST(an_empty_module_has_no_function)
{
	const struct gg_cfi_module module = { .arch = GG_CFI_HOST_ARCH };
	struct gg_cfi_range range = { 0, 0 };
	size_t position = 0;
	struct gg_unwind_rule rule = gg_cfi_rule_at(&module, 0x1000, &range);

	CHECK_EQ_I64(rule.kind, GG_RULE_NONE);
	CHECK_EQ_I64(rule.cfa_bytes, GG_RULE_REASON_NO_FDE);
	CHECK_EQ_U64(range.begin, 0x1000);
	CHECK_EQ_U64(range.end, 0x1001);
	CHECK(!gg_cfi_next_function(&module, &position, &range));
	CHECK(!gg_cfi_function_at(&module, 0x1000, &range));
}

TEST(every_reason_has_a_text)
{
	for (unsigned reason = 0; reason < GG_RULE_REASON_COUNT; reason++)
		CHECK(gg_rule_reason_text((enum gg_rule_reason)reason)[0] != '\0');
	CHECK_EQ_STR(gg_rule_reason_text(GG_RULE_REASON_COUNT), "unknown reason");
}
