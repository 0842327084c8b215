/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi_expression - evaluates the DWARF expressions of CFI (DWARF 5 sections 2.5 and 6.4.2).
 *
 * Internal to src/unwind.
 */
#pragma once

#include "unwind/cfi/cfi.h"
#include "unwind/cfi/cfi_read.h"

/*
 * The operations of the patterns that cfi_rule.c recognizes.  cfi_expression.c has the other
 * operations.
 */
enum {
	DW_OP_DEREF = 0x06,
	DW_OP_AND = 0x1a,
	DW_OP_PLUS = 0x22,
	DW_OP_SHL = 0x24,
	DW_OP_GE = 0x2a,
	DW_OP_LIT0 = 0x30,
	DW_OP_BREG0 = 0x70,
};

/* The numbers of an architecture's registers. */
struct gg_cfi_machine {
	uint8_t sp, fp, ra;
	bool has_link_register; /* calls put the return address into the register `ra` */
};

static inline const struct gg_cfi_machine *gg_cfi_machine_of(enum gg_cfi_arch arch)
{
	static const struct gg_cfi_machine x86_64 = { GG_X86_64_RSP, GG_X86_64_RBP, GG_X86_64_RA,
		                                      false };
	static const struct gg_cfi_machine aarch64 = { GG_AARCH64_SP, GG_AARCH64_X29,
		                                       GG_AARCH64_X30, true };

	return arch == GG_CFI_AARCH64 ? &aarch64 : &x86_64;
}

/* Returns a reader of the operations of the block at an offset of .eh_frame, without its length. */
static inline struct cfi_reader gg_cfi_expression_at(const struct gg_cfi_module *module,
                                                     int32_t offset)
{
	const struct gg_cfi_section *section = &module->eh_frame;
	struct cfi_reader r;
	uint64_t size_bytes;

	if (offset < 0 || (size_t)offset > section->size_bytes)
		return reader_of(section, UINT64_MAX, 0);
	r = reader_of(section, (uint64_t)offset, section->size_bytes - (uint64_t)offset);
	size_bytes = read_uleb(&r);
	if (r.failed)
		return r;
	return reader_of(section, section->size_bytes - reader_left(&r), size_bytes);
}

/*
 * Evaluates a block.  *first (may be NULL) is on the expression's stack at the start.  Returns OK,
 * UNKNOWN (a register), BAD_READ, or BAD_EXPRESSION.  Without OK, *ret_value is untouched.
 */
enum gg_cfi_step gg_cfi_evaluate(const struct gg_cfi_module *module, struct cfi_reader expression,
                                 const struct gg_cfi_registers *registers,
                                 const struct gg_cfi_stack *stack, const uint64_t *first,
                                 uint64_t *ret_value);

/*
 * Reads a register by the number that expressions and rows use.  The column RA of x86-64 is the pc.
 */
bool gg_cfi_register_value(const struct gg_cfi_module *module,
                           const struct gg_cfi_registers *registers, uint64_t number,
                           uint64_t *ret_value);

/* Reads the little-endian number of 1 to 8 bytes at an address of the stack. */
bool gg_cfi_read_stack(const struct gg_cfi_stack *stack, uint64_t address, unsigned size,
                       uint64_t *ret_value);
