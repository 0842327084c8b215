/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi_row - runs the CFI program of a function up to a pc.
 *
 * The opcodes are those of DWARF 5 section 6.4.2 and 7.24.  The vendors' opcodes are those of the
 * LSB (GNU_*) and of "DWARF for the Arm 64-bit Architecture" (AARCH64_*).
 */
#include <stddef.h>

#include "unwind/cfi/cfi.h"
#include "unwind/cfi/cfi_record.h"

enum {
	/* Two bits of opcode, six bits of operand. */
	CFA_ADVANCE_LOC = 1,
	CFA_OFFSET = 2,
	CFA_RESTORE = 3,

	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_MIPS_ADVANCE_LOC8 = 0x1d,
	CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	CFA_AARCH64_NEGATE_RA_STATE = 0x2d, /* on SPARC this opcode is GNU_window_save */
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

struct machine {
	const struct gg_cfi_module *module;
	const struct gg_cfi_fde *fde;
	uint64_t pc;       /* the program runs up to this pc */
	uint64_t at, next; /* the current row holds for [at, next) */
	bool in_cie;       /* true while the initial instructions run */
	bool is_done;      /* `next` is beyond pc: the current row is the result */
	unsigned remembered_count;
	struct gg_cfi_state now, initial;
	struct gg_cfi_state remembered[GG_CFI_REMEMBER_MAX];
};

/* Sets the rule of a register.  Rules of registers that rows do not keep are dropped. */
static void set_register(struct machine *m, uint64_t number, struct gg_cfi_value rule)
{
	if (number < GG_CFI_REGISTERS)
		m->now.registers[number] = rule;
}

/* Computes number * unit in bytes, or RANGE if a rule cannot hold the result. */
static enum gg_rule_reason scale(int64_t number, int64_t unit, int32_t *ret_bytes)
{
	int64_t bytes;

	if (__builtin_mul_overflow(number, unit, &bytes) || bytes < INT32_MIN || bytes > INT32_MAX)
		return GG_RULE_REASON_RANGE;
	*ret_bytes = (int32_t)bytes;
	return GG_RULE_REASON_UNKNOWN;
}

/* Sets the rule of a register to "at" or "is" CFA + factored * data_align. */
static enum gg_rule_reason set_offset(struct machine *m, uint64_t number, enum gg_cfi_how how,
                                      int64_t factored)
{
	struct gg_cfi_value rule = { .how = (uint8_t)how };
	enum gg_rule_reason reason = scale(factored, m->fde->cie.data_align, &rule.value);

	if (reason == GG_RULE_REASON_UNKNOWN)
		set_register(m, number, rule);
	return reason;
}

/*
 * Makes a rule with an expression: it keeps the offset of the block, and the reader skips the
 * block.
 */
static enum gg_rule_reason read_expression(struct machine *m, struct cfi_reader *r,
                                           enum gg_cfi_how how, struct gg_cfi_value *ret_rule)
{
	ptrdiff_t offset = r->at - m->module->eh_frame.bytes;

	read_bytes(r, read_uleb(r));
	if (offset > INT32_MAX)
		return GG_RULE_REASON_RANGE;
	*ret_rule = (struct gg_cfi_value){ .value = (int32_t)offset, .how = (uint8_t)how };
	return GG_RULE_REASON_UNKNOWN;
}

static enum gg_rule_reason set_expression(struct machine *m, struct cfi_reader *r,
                                          enum gg_cfi_how how)
{
	uint64_t number = read_uleb(r);
	struct gg_cfi_value rule;
	enum gg_rule_reason reason = read_expression(m, r, how, &rule);

	if (reason == GG_RULE_REASON_UNKNOWN)
		set_register(m, number, rule);
	return reason;
}

static enum gg_rule_reason set_from_register(struct machine *m, uint64_t number, uint64_t source)
{
	if (source >= GG_CFI_REGISTERS && number < GG_CFI_REGISTERS)
		return GG_RULE_REASON_RANGE;
	set_register(m, number,
	             (struct gg_cfi_value){ .value = (int32_t)source, .how = GG_CFI_REGISTER });
	return GG_RULE_REASON_UNKNOWN;
}

/* Gives a register the rule that it had after the initial instructions. */
static void restore_register(struct machine *m, uint64_t number)
{
	if (number < GG_CFI_REGISTERS)
		m->now.registers[number] = m->initial.registers[number];
}

/* Sets the CFA to register + offset * unit. */
static enum gg_rule_reason set_cfa(struct machine *m, uint64_t number, int64_t offset, int64_t unit)
{
	if (number >= GG_CFI_REGISTERS)
		return GG_RULE_REASON_RANGE;
	m->now.cfa.how = GG_CFI_VAL_OFFSET;
	m->now.cfa.base = (uint16_t)number;
	return scale(offset, unit, &m->now.cfa.value);
}

/*
 * Changes the register of the CFA, or its offset, and keeps the other part.  Both need a CFA of
 * that form; without one, a hostile program would combine a number with an expression.
 */
static enum gg_rule_reason change_cfa_register(struct machine *m, uint64_t number)
{
	if (m->now.cfa.how != GG_CFI_VAL_OFFSET)
		return GG_RULE_REASON_BAD_STATE;
	return set_cfa(m, number, m->now.cfa.value, 1);
}

static enum gg_rule_reason change_cfa_offset(struct machine *m, int64_t offset, int64_t unit)
{
	if (m->now.cfa.how != GG_CFI_VAL_OFFSET)
		return GG_RULE_REASON_BAD_STATE;
	return set_cfa(m, m->now.cfa.base, offset, unit);
}

/* Pushes the whole state, with the CFA.  The bound keeps the machine small. */
static enum gg_rule_reason remember(struct machine *m)
{
	if (m->remembered_count == GG_CFI_REMEMBER_MAX)
		return GG_RULE_REASON_TOO_DEEP;
	m->remembered[m->remembered_count++] = m->now;
	return GG_RULE_REASON_UNKNOWN;
}

static enum gg_rule_reason restore(struct machine *m)
{
	if (m->remembered_count == 0)
		return GG_RULE_REASON_BAD_STATE;
	m->now = m->remembered[--m->remembered_count];
	return GG_RULE_REASON_UNKNOWN;
}

/*
 * Ends the current row at `next`.  If `next` is beyond pc, the current row is the result.  The
 * initial instructions belong to no place, and places must ascend, so anything else is BAD_STATE.
 */
static enum gg_rule_reason move_to(struct machine *m, uint64_t next)
{
	if (m->in_cie || next < m->at)
		return GG_RULE_REASON_BAD_STATE;
	if (next > m->pc) {
		m->next = next;
		m->is_done = true;
	} else {
		m->at = next;
	}
	return GG_RULE_REASON_UNKNOWN;
}

static enum gg_rule_reason advance(struct machine *m, uint64_t count)
{
	uint64_t bytes, next;

	if (__builtin_mul_overflow(count, m->fde->cie.code_align, &bytes) ||
	    __builtin_add_overflow(m->at, bytes, &next))
		return GG_RULE_REASON_RANGE;
	return move_to(m, next);
}

static enum gg_rule_reason set_loc(struct machine *m, struct cfi_reader *r)
{
	const struct bases bases = { m->module->text_base, m->module->data_base,
		                     m->fde->function.begin };
	uint64_t next;

	if (!read_encoded(r, m->fde->cie.fde_encoding, &bases, &next))
		return GG_RULE_REASON_BAD_POINTER;
	return move_to(m, next);
}

static enum gg_rule_reason negate_ra_state(struct machine *m)
{
	if (m->module->arch != GG_CFI_AARCH64)
		return GG_RULE_REASON_BAD_OPCODE;
	m->now.ra_signed = !m->now.ra_signed;
	return GG_RULE_REASON_UNKNOWN;
}

/*
 * Runs an opcode of a whole byte.  An opcode with two operands reads the first one into a variable:
 * C leaves the order in which arguments are evaluated to the compiler.
 */
static enum gg_rule_reason run_extended(struct machine *m, struct cfi_reader *r, uint8_t opcode)
{
	const int64_t data_align = m->fde->cie.data_align;
	uint64_t number;

	switch (opcode) {
	case CFA_NOP:
		return GG_RULE_REASON_UNKNOWN;
	case CFA_SET_LOC:
		return set_loc(m, r);
	case CFA_ADVANCE_LOC1:
		return advance(m, read_u8(r));
	case CFA_ADVANCE_LOC2:
		return advance(m, read_u16(r));
	case CFA_ADVANCE_LOC4:
		return advance(m, read_u32(r));
	case CFA_MIPS_ADVANCE_LOC8:
		return advance(m, read_u64(r));
	case CFA_OFFSET_EXTENDED:
		number = read_uleb(r);
		return set_offset(m, number, GG_CFI_OFFSET, (int64_t)read_uleb(r));
	case CFA_OFFSET_EXTENDED_SF:
		number = read_uleb(r);
		return set_offset(m, number, GG_CFI_OFFSET, read_sleb(r));
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		number = read_uleb(r);
		return set_offset(m, number, GG_CFI_OFFSET, (int64_t)(0 - read_uleb(r)));
	case CFA_VAL_OFFSET:
		number = read_uleb(r);
		return set_offset(m, number, GG_CFI_VAL_OFFSET, (int64_t)read_uleb(r));
	case CFA_VAL_OFFSET_SF:
		number = read_uleb(r);
		return set_offset(m, number, GG_CFI_VAL_OFFSET, read_sleb(r));
	case CFA_RESTORE_EXTENDED:
		restore_register(m, read_uleb(r));
		return GG_RULE_REASON_UNKNOWN;
	case CFA_UNDEFINED:
		set_register(m, read_uleb(r), (struct gg_cfi_value){ .how = GG_CFI_UNDEFINED });
		return GG_RULE_REASON_UNKNOWN;
	case CFA_SAME_VALUE:
		set_register(m, read_uleb(r), (struct gg_cfi_value){ .how = GG_CFI_SAME });
		return GG_RULE_REASON_UNKNOWN;
	case CFA_REGISTER:
		number = read_uleb(r);
		return set_from_register(m, number, read_uleb(r));
	case CFA_REMEMBER_STATE:
		return remember(m);
	case CFA_RESTORE_STATE:
		return restore(m);
	case CFA_DEF_CFA:
		number = read_uleb(r);
		return set_cfa(m, number, (int64_t)read_uleb(r), 1);
	case CFA_DEF_CFA_SF:
		number = read_uleb(r);
		return set_cfa(m, number, read_sleb(r), data_align);
	case CFA_DEF_CFA_REGISTER:
		return change_cfa_register(m, read_uleb(r));
	case CFA_DEF_CFA_OFFSET:
		return change_cfa_offset(m, (int64_t)read_uleb(r), 1);
	case CFA_DEF_CFA_OFFSET_SF:
		return change_cfa_offset(m, read_sleb(r), data_align);
	case CFA_DEF_CFA_EXPRESSION:
		return read_expression(m, r, GG_CFI_VAL_EXPRESSION, &m->now.cfa);
	case CFA_EXPRESSION:
		return set_expression(m, r, GG_CFI_EXPRESSION);
	case CFA_VAL_EXPRESSION:
		return set_expression(m, r, GG_CFI_VAL_EXPRESSION);
	case CFA_AARCH64_NEGATE_RA_STATE:
	case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
		return negate_ra_state(m);
	case CFA_GNU_ARGS_SIZE: /* bytes pushed for a call; the CFA includes them already */
		read_uleb(r);
		return GG_RULE_REASON_UNKNOWN;
	default:
		return GG_RULE_REASON_BAD_OPCODE;
	}
}

/*
 * Runs instructions until they end or the row of pc is complete.  A reader that has failed returns
 * zeros, so each instruction is checked once, after it ran: an operand beyond the section never
 * counts.
 */
static enum gg_rule_reason run(struct machine *m, struct cfi_reader r)
{
	for (int i = 0; r.at < r.end && !m->is_done; i++) {
		uint8_t byte = read_u8(&r), operand = byte & 0x3f;
		enum gg_rule_reason reason = GG_RULE_REASON_UNKNOWN;

		if (gg_unlikely(i == GG_CFI_INSTRUCTIONS_MAX))
			return GG_RULE_REASON_TOO_LONG;
		switch (byte >> 6) {
		case CFA_ADVANCE_LOC:
			reason = advance(m, operand);
			break;
		case CFA_OFFSET:
			reason = set_offset(m, operand, GG_CFI_OFFSET, (int64_t)read_uleb(&r));
			break;
		case CFA_RESTORE:
			restore_register(m, operand);
			break;
		default:
			reason = run_extended(m, &r, byte);
		}
		if (gg_unlikely(r.failed))
			return GG_RULE_REASON_TRUNCATED;
		if (gg_unlikely(reason != GG_RULE_REASON_UNKNOWN))
			return reason;
	}
	return GG_RULE_REASON_UNKNOWN;
}

enum gg_rule_reason gg_cfi_row_at(const struct gg_cfi_module *module, uint64_t pc,
                                  struct gg_cfi_row *ret_row)
{
	struct gg_cfi_fde fde;
	struct machine m; /* it is large, so it is not cleared as a whole */
	enum gg_rule_reason reason = gg_cfi_find_fde(module, pc, &fde);

	if (reason != GG_RULE_REASON_UNKNOWN)
		return reason;
	if (fde.cie.ra_register >= GG_CFI_REGISTERS)
		return GG_RULE_REASON_RANGE;
	m.module = module;
	m.fde = &fde;
	m.pc = pc;
	m.at = fde.function.begin;
	m.next = fde.function.end;
	m.is_done = false;
	m.remembered_count = 0;
	memset(&m.now, 0, sizeof(m.now));

	/*
	 * The initial instructions make the state of the function's first row.  DW_CFA_restore
	 * returns to this state, so it is kept apart.
	 */
	m.in_cie = true;
	reason = run(&m, fde.cie.instructions);
	if (reason != GG_RULE_REASON_UNKNOWN)
		return reason;
	m.in_cie = false;
	m.initial = m.now;
	reason = run(&m, fde.instructions);
	if (reason != GG_RULE_REASON_UNKNOWN)
		return reason;

	ret_row->range.begin = m.at;
	ret_row->range.end = m.next < fde.function.end ? m.next : fde.function.end;
	ret_row->function = fde.function;
	ret_row->state = m.now;
	ret_row->ra_register = (uint16_t)fde.cie.ra_register;
	ret_row->flags = (uint8_t)((fde.cie.is_signal ? GG_RULE_SIGNAL : 0) |
	                           (m.now.ra_signed ? GG_RULE_RA_SIGNED : 0));
	return GG_RULE_REASON_UNKNOWN;
}
