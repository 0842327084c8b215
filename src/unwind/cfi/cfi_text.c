/* SPDX-License-Identifier: Apache-2.0 */
/* cfi_text - prints rows and rules as text. */
#include "unwind/cfi/cfi_text.h"

#include <inttypes.h>
#include <stddef.h>

#include "unwind/cfi/cfi_expression.h"

/* Returns a static text: "rsp", "x29", "sp". */
static const char *register_name(enum gg_cfi_arch arch, unsigned number)
{
	static const char *const x86_64[] = { "rax", "rdx", "rcx", "rbx", "rsi", "rdi",
		                              "rbp", "rsp", "r8",  "r9",  "r10", "r11",
		                              "r12", "r13", "r14", "r15", "rip" };
	static const char *const aarch64[] = { "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",
		                               "x7",  "x8",  "x9",  "x10", "x11", "x12", "x13",
		                               "x14", "x15", "x16", "x17", "x18", "x19", "x20",
		                               "x21", "x22", "x23", "x24", "x25", "x26", "x27",
		                               "x28", "x29", "x30", "sp",  "pc" };

	if (arch == GG_CFI_AARCH64)
		return number < GG_COUNT(aarch64) ? aarch64[number] : "?";
	return number < GG_COUNT(x86_64) ? x86_64[number] : "?";
}

const char *gg_rule_kind_text(enum gg_rule_kind kind)
{
	static const char *const texts[] = {
		"none", "outermost", "sp", "fp", "fp-deref", "general"
	};

	return (unsigned)kind < GG_COUNT(texts) ? texts[kind] : "?";
}

/*
 * Appends "rsp", "rsp + 8", or "rsp - 8".  The sum is negated as an unsigned number, because
 * INT64_MIN has no positive counterpart.
 */
static void put_sum(struct gg_buf *text, const char *name, int64_t bytes)
{
	if (bytes == 0)
		gg_buf_append_text(text, name);
	else
		gg_buf_printf(text, "%s %c %" PRIu64, name, bytes < 0 ? '-' : '+',
		              bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes);
}

/* Appends the flags, each after a semicolon, as the registers before them. */
static void put_flags(struct gg_buf *text, unsigned flags)
{
	if ((flags & GG_RULE_SIGNAL) != 0)
		gg_buf_append_text(text, "; signal frame");
	if ((flags & GG_RULE_RA_SIGNED) != 0)
		gg_buf_append_text(text, "; return address signed");
}

void gg_cfi_text_rule(struct gg_buf *text, enum gg_cfi_arch arch, struct gg_unwind_rule rule)
{
	const struct gg_cfi_machine *machine = gg_cfi_machine_of(arch);
	const char *sp = register_name(arch, machine->sp);
	const char *fp = register_name(arch, machine->fp);
	const char *ra = register_name(arch, machine->ra);

	switch (rule.kind) {
	case GG_RULE_NONE:
		gg_buf_append_text(text, gg_rule_reason_text((enum gg_rule_reason)rule.cfa_bytes));
		return;
	case GG_RULE_OUTERMOST:
		gg_buf_append_text(text, "the stack ends here");
		return;
	case GG_RULE_GENERAL:
		gg_buf_append_text(text, "by the whole row");
		put_flags(text, rule.flags);
		return;
	default:
		break;
	}
	gg_buf_append_text(text, rule.kind == GG_RULE_FP_DEREF ? "CFA = *(" : "CFA = ");
	put_sum(text, rule.kind == GG_RULE_SP ? sp : fp, rule.cfa_bytes);
	gg_buf_append_text(text, rule.kind == GG_RULE_FP_DEREF ? ")" : "");
	gg_buf_append_text(text, "; return address ");
	if (rule.ra_words == GG_RULE_SAME) {
		gg_buf_printf(text, "in %s", ra);
	} else {
		gg_buf_append_text(text, "at ");
		put_sum(text, "CFA", 8 * rule.ra_words);
	}
	if (rule.fp_words != GG_RULE_SAME) {
		gg_buf_printf(text, "; %s at ", fp);
		put_sum(text, rule.kind == GG_RULE_FP_DEREF ? fp : "CFA", 8 * rule.fp_words);
	}
	put_flags(text, rule.flags);
}

/* Returns the name of an operation without operands, or of one whose operand follows the name. */
static const char *operation_name(uint8_t opcode)
{
	static const char *const names[] = {
		[0x06] = "deref", [0x12] = "dup",  [0x13] = "drop",  [0x14] = "over",
		[0x15] = "pick",  [0x16] = "swap", [0x17] = "rot",   [0x19] = "abs",
		[0x1a] = "and",   [0x1b] = "div",  [0x1c] = "minus", [0x1d] = "mod",
		[0x1e] = "mul",   [0x1f] = "neg",  [0x20] = "not",   [0x21] = "or",
		[0x22] = "plus",  [0x23] = "add",  [0x24] = "shl",   [0x25] = "shr",
		[0x26] = "shra",  [0x27] = "xor",  [0x28] = "bra",   [0x29] = "eq",
		[0x2a] = "ge",    [0x2b] = "gt",   [0x2c] = "le",    [0x2d] = "lt",
		[0x2e] = "ne",    [0x2f] = "skip", [0x94] = "deref", [0x96] = "nop",
	};

	return opcode < GG_COUNT(names) ? names[opcode] : NULL;
}

/*
 * Appends one operation.  Returns false if CFI has no such operation, or if the block ends within
 * it.
 */
static bool put_operation(struct gg_buf *text, enum gg_cfi_arch arch, struct cfi_reader *r)
{
	uint8_t opcode = read_u8(r);
	const char *name = operation_name(opcode);
	unsigned number, size;

	if (opcode >= DW_OP_LIT0 && opcode < DW_OP_LIT0 + 32) {
		gg_buf_printf(text, "%d", opcode - DW_OP_LIT0);
	} else if (opcode >= DW_OP_BREG0 && opcode < DW_OP_BREG0 + 32) {
		put_sum(text, register_name(arch, (unsigned)(opcode - DW_OP_BREG0)), read_sleb(r));
	} else if (opcode >= 0x08 && opcode <= 0x0f) {
		size = 1u << ((opcode - 0x08) / 2);
		gg_buf_printf(text, "%" PRId64,
		              (opcode & 1) != 0 ? read_signed(r, size)
		                                : (int64_t)read_unsigned(r, size));
	} else if (opcode == 0x03) {
		gg_buf_printf(text, "%#" PRIx64, read_u64(r));
	} else if (opcode == 0x10) {
		gg_buf_printf(text, "%" PRIu64, read_uleb(r));
	} else if (opcode == 0x11) {
		gg_buf_printf(text, "%" PRId64, read_sleb(r));
	} else if (opcode == 0x92) {
		number = (unsigned)read_uleb(r);
		put_sum(text, register_name(arch, number), read_sleb(r));
	} else if (name == NULL) {
		gg_buf_printf(text, "operation %#x", opcode);
		return false;
	} else {
		gg_buf_append_text(text, name);
		if (opcode == 0x15 || opcode == 0x94)
			gg_buf_printf(text, " %u", read_u8(r));
		else if (opcode == 0x23)
			gg_buf_printf(text, " %" PRIu64, read_uleb(r));
		else if (opcode == 0x28 || opcode == 0x2f)
			gg_buf_printf(text, " %+d", (int)read_signed(r, 2));
	}
	return !r->failed;
}

/*
 * Appends the operations of a block.  It stops at the first unknown one, whose length is unknown.
 */
static void put_expression(struct gg_buf *text, const struct gg_cfi_module *module, int32_t offset)
{
	struct cfi_reader r = gg_cfi_expression_at(module, offset);
	const char *between = "";

	gg_buf_append_text(text, "[");
	while (r.at < r.end) {
		gg_buf_append_text(text, between);
		if (!put_operation(text, module->arch, &r))
			break;
		between = ", ";
	}
	gg_buf_append_text(text, "]");
}

/* Appends one register of a row.  The majority of registers have no rule, and are left out. */
static void put_register(struct gg_buf *text, const struct gg_cfi_module *module, unsigned number,
                         const struct gg_cfi_value *rule)
{
	const char *name = register_name(module->arch, number);

	switch (rule->how) {
	case GG_CFI_UNDEFINED:
		gg_buf_printf(text, "; %s lost", name);
		break;
	case GG_CFI_SAME:
		gg_buf_printf(text, "; %s kept", name);
		break;
	case GG_CFI_OFFSET:
		gg_buf_printf(text, "; %s at ", name);
		put_sum(text, "CFA", rule->value);
		break;
	case GG_CFI_VAL_OFFSET:
		gg_buf_printf(text, "; %s = ", name);
		put_sum(text, "CFA", rule->value);
		break;
	case GG_CFI_REGISTER:
		gg_buf_printf(text, "; %s in %s", name,
		              register_name(module->arch, (unsigned)rule->value));
		break;
	case GG_CFI_EXPRESSION:
		gg_buf_printf(text, "; %s at ", name);
		put_expression(text, module, rule->value);
		break;
	case GG_CFI_VAL_EXPRESSION:
		gg_buf_printf(text, "; %s = ", name);
		put_expression(text, module, rule->value);
		break;
	default:
		break;
	}
}

void gg_cfi_text_row(struct gg_buf *text, const struct gg_cfi_module *module,
                     const struct gg_cfi_row *row)
{
	const struct gg_cfi_value *cfa = &row->state.cfa;

	gg_buf_append_text(text, "CFA = ");
	if (cfa->how == GG_CFI_VAL_OFFSET)
		put_sum(text, register_name(module->arch, cfa->base), cfa->value);
	else if (cfa->how == GG_CFI_VAL_EXPRESSION)
		put_expression(text, module, cfa->value);
	else
		gg_buf_append_text(text, "undefined");
	for (unsigned i = 0; i < GG_CFI_REGISTERS; i++)
		put_register(text, module, i, &row->state.registers[i]);
	/* A row may return through another register than usual, which is worth a note. */
	if (row->ra_register != gg_cfi_machine_of(module->arch)->ra)
		gg_buf_printf(text, "; returns to %s",
		              register_name(module->arch, row->ra_register));
	put_flags(text, row->flags);
}
