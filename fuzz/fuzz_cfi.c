/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile call frame information: no crash, no read outside the sections, no endless loop.
 *
 * An input is
 *
 *   1 byte    bit 0: aarch64; bit 1: the rest is an ELF file; bit 2: loaded memory, not a file
 *   2 bytes   size of .eh_frame_hdr (cut to what there is)
 *   8 bytes   a pc to look up
 *   the rest  .eh_frame_hdr, then .eh_frame; or the file
 *
 * Each section is copied to a block of exactly its size, so that the address sanitizer sees any
 * read beyond it.  The results must also agree with each other; otherwise the target calls abort().
 */
#include <stdlib.h>
#include <string.h>

#include "unwind/cfi/cfi.h"

enum {
	HEADER_BYTES = 11,
	FRAME_ADDRESS = 0x100000,
	HDR_ADDRESS = 0x200000,
	FUNCTIONS_MAX = 64,
	ROWS_MAX = 64,
	STACK_BYTES = 256,
	STACK_ADDRESS = 0x10000,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

/* A copy whose end is the end of its block; never NULL. */
static uint8_t *exact_copy(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = malloc(size > 0 ? size : 1);

	require(copy != NULL);
	memcpy(copy, bytes, size);
	return copy;
}

static void step(const struct gg_cfi_module *module, uint64_t pc)
{
	uint8_t bytes[STACK_BYTES] = { 0 }, *copy = exact_copy(bytes, sizeof(bytes));
	const struct gg_cfi_stack stack = { STACK_ADDRESS, STACK_ADDRESS + STACK_BYTES, copy };
	struct gg_cfi_registers registers = { .known = UINT64_C(0x1fffffeff), .pc = pc };
	struct gg_cfi_registers before;
	uint8_t flags = 0;

	/* Words that lead back into the stack, so that expressions have something to follow. */
	for (size_t i = 0; i < STACK_BYTES; i += 8) {
		uint64_t word = STACK_ADDRESS + (i * 5) % STACK_BYTES;

		memcpy(copy + i, &word, sizeof(word));
	}
	for (uint64_t i = 0; i < GG_CFI_REGISTERS; i++)
		registers.value[i] = STACK_ADDRESS + (i * 24) % STACK_BYTES;
	before = registers;
	if (gg_cfi_step_general(module, pc, &stack, &registers, &flags) != GG_CFI_STEP_OK)
		require(memcmp(&before, &registers, sizeof(before)) == 0 && flags == 0);
	free(copy);
}

/* The rule of a row holds for the whole range that comes with it. */
static void check_range(const struct gg_cfi_module *module, uint64_t pc)
{
	struct gg_cfi_range range, unused;
	struct gg_unwind_rule rule, first, last;
	struct gg_cfi_row row;

	if (gg_cfi_row_at(module, pc, &row) != GG_RULE_REASON_UNKNOWN)
		return;
	rule = gg_cfi_rule_of_row(module, &row, pc, &range);
	first = gg_cfi_rule_of_row(module, &row, range.begin, &unused);
	last = gg_cfi_rule_of_row(module, &row, range.end - 1, &unused);
	require(range.begin <= pc && pc < range.end);
	require(row.range.begin <= range.begin && range.end <= row.range.end);
	require(row.function.begin <= row.range.begin && row.range.end <= row.function.end);
	require(gg_rule_to_word(rule) == gg_rule_to_word(first));
	require(gg_rule_to_word(rule) == gg_rule_to_word(last));
}

/* The bounds of a function contain the pc, and are those of its row. */
static void check_function(const struct gg_cfi_module *module, uint64_t pc)
{
	struct gg_cfi_range function = { 1, 0 };
	struct gg_cfi_row row;

	if (!gg_cfi_function_at(module, pc, &function)) {
		require(function.begin == 1 && function.end == 0);
		return;
	}
	require(function.begin <= pc && pc < function.end);
	if (gg_cfi_row_at(module, pc, &row) == GG_RULE_REASON_UNKNOWN)
		require(row.function.begin == function.begin && row.function.end == function.end);
}

static struct gg_cfi_range look_up(const struct gg_cfi_module *module, uint64_t pc)
{
	struct gg_cfi_range range = { 0, 0 };
	struct gg_unwind_rule rule = gg_cfi_rule_at(module, pc, &range);

	require(range.begin <= pc && (pc < range.end || pc == UINT64_MAX));
	require(rule.kind <= GG_RULE_GENERAL);
	if (rule.kind == GG_RULE_NONE)
		require(rule.cfa_bytes > 0 && rule.cfa_bytes < GG_RULE_REASON_COUNT);
	check_range(module, pc);
	check_function(module, pc);
	step(module, pc);
	return range;
}

static void explore(const struct gg_cfi_module *module, uint64_t pc)
{
	struct gg_cfi_range function;
	size_t position = 0;

	look_up(module, pc);
	for (int i = 0; i < FUNCTIONS_MAX && gg_cfi_next_function(module, &position, &function);
	     i++) {
		pc = function.begin;
		look_up(module, function.end - 1);
		look_up(module, function.begin + (function.end - function.begin) / 2);
		for (int j = 0; j < ROWS_MAX && pc < function.end; j++) {
			uint64_t next = look_up(module, pc).end;

			require(next > pc);
			pc = next;
		}
	}
}

static void explore_elf(const uint8_t *bytes, size_t size, bool is_file, uint64_t pc)
{
	uint8_t *copy = exact_copy(bytes, size);
	struct gg_cfi_module module;
	int status = is_file ? gg_cfi_module_from_file(&module, copy, size)
	                     : gg_cfi_module_from_memory(&module, copy, size);

	if (status == 0)
		explore(&module, pc);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gg_cfi_module module = { 0 };
	uint8_t *hdr, *frame;
	uint16_t hdr_bytes;
	uint64_t pc;

	if (size < HEADER_BYTES)
		return 0;
	memcpy(&hdr_bytes, data + 1, sizeof(hdr_bytes));
	memcpy(&pc, data + 3, sizeof(pc));
	module.arch = (data[0] & 1) != 0 ? GG_CFI_AARCH64 : GG_CFI_X86_64;
	if ((data[0] & 2) != 0) {
		explore_elf(data + HEADER_BYTES, size - HEADER_BYTES, (data[0] & 4) == 0, pc);
		return 0;
	}
	data += HEADER_BYTES;
	size -= HEADER_BYTES;
	if (hdr_bytes > size)
		hdr_bytes = (uint16_t)size;
	hdr = exact_copy(data, hdr_bytes);
	frame = exact_copy(data + hdr_bytes, size - hdr_bytes);
	module.eh_frame_hdr = (struct gg_cfi_section){ hdr, hdr_bytes, HDR_ADDRESS };
	module.eh_frame = (struct gg_cfi_section){ frame, size - hdr_bytes, FRAME_ADDRESS };
	explore(&module, pc);
	free(hdr);
	free(frame);
	return 0;
}
