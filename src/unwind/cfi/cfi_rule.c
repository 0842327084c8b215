/* SPDX-License-Identifier: Apache-2.0 */
/* cfi_rule - turns rows into the few kinds of rules of rule.h, or into GENERAL. */
#include <stddef.h>

#include "unwind/cfi/cfi.h"
#include "unwind/cfi/cfi_expression.h"
#include "unwind/cfi/cfi_read.h"

enum {
	RULE_WORD_BYTES = 8,
	CFA_BYTES_MAX = (1 << 23) - 1,
};

static struct gg_unwind_rule none(enum gg_rule_reason reason)
{
	return (struct gg_unwind_rule){ .cfa_bytes = (int32_t)reason, .kind = GG_RULE_NONE };
}

/* Converts bytes to words.  Returns false if they are not whole words, or too many. */
static bool to_words(int64_t bytes, int16_t *ret_words)
{
	int64_t words = bytes / RULE_WORD_BYTES;

	if (bytes % RULE_WORD_BYTES != 0 || words <= GG_RULE_SAME || words > INT16_MAX)
		return false;
	*ret_words = (int16_t)words;
	return true;
}

static bool is_kept(const struct gg_cfi_value *rule)
{
	return rule->how == GG_CFI_UNSPECIFIED || rule->how == GG_CFI_SAME;
}

/*
 * Finds the place relative to the CFA where a register was saved, or GG_RULE_SAME if it was not
 * saved.  Returns false if the rule has no field for the place.
 */
static bool fit_saved(const struct gg_cfi_value *rule, int16_t *ret_words)
{
	if (is_kept(rule)) {
		*ret_words = GG_RULE_SAME;
		return true;
	}
	return rule->how == GG_CFI_OFFSET && to_words(rule->value, ret_words);
}

/* Fits a row whose CFA is sp or fp, plus an offset. */
static bool fit_offset(const struct gg_cfi_row *row, const struct gg_cfi_machine *machine,
                       struct gg_unwind_rule *rule)
{
	const struct gg_cfi_value *cfa = &row->state.cfa;

	if (cfa->value > CFA_BYTES_MAX || cfa->value < -CFA_BYTES_MAX)
		return false;
	rule->cfa_bytes = cfa->value;
	rule->kind = cfa->base == machine->sp ? GG_RULE_SP : GG_RULE_FP;
	return (cfa->base == machine->sp || cfa->base == machine->fp) &&
	       fit_saved(&row->state.registers[machine->fp], &rule->fp_words);
}

/*
 * Fits the body of a function that realigned its stack (gcc, "DRAP"):
 *
 *   CFA  DW_OP_breg<fp> n, DW_OP_deref      fp  DW_OP_breg<fp> m
 */
static bool fit_deref(const struct gg_cfi_module *module, const struct gg_cfi_row *row,
                      const struct gg_cfi_machine *machine, struct gg_unwind_rule *rule)
{
	const struct gg_cfi_value *fp = &row->state.registers[machine->fp];
	struct cfi_reader r = gg_cfi_expression_at(module, row->state.cfa.value);
	uint8_t base = read_u8(&r);
	int64_t cfa_bytes = read_sleb(&r), fp_bytes;

	if (base != DW_OP_BREG0 + machine->fp || read_u8(&r) != DW_OP_DEREF || reader_left(&r) != 0)
		return false;
	if (r.failed || cfa_bytes > CFA_BYTES_MAX || cfa_bytes < -CFA_BYTES_MAX)
		return false;
	rule->kind = GG_RULE_FP_DEREF;
	rule->cfa_bytes = (int32_t)cfa_bytes;
	if (is_kept(fp)) {
		rule->fp_words = GG_RULE_SAME;
		return true;
	}
	if (fp->how != GG_CFI_EXPRESSION)
		return false;
	r = gg_cfi_expression_at(module, fp->value);
	base = read_u8(&r);
	fp_bytes = read_sleb(&r);
	return base == DW_OP_BREG0 + machine->fp && reader_left(&r) == 0 && !r.failed &&
	       to_words(fp_bytes, &rule->fp_words);
}

/*
 * Fits a PLT entry on x86-64, as ld writes it: 16 bytes of code whose second part has pushed a
 * word.  For a known pc, the CFA is a constant offset from sp within its part of the entry.  The
 * range is cut to that part, because the other part has another offset.
 *
 *   breg7 n, breg16 0, lit15, and, lit<first>, ge, lit3, shl, plus
 */
static bool fit_plt(const struct gg_cfi_module *module, const struct gg_cfi_row *row, uint64_t pc,
                    struct gg_unwind_rule *rule, struct gg_cfi_range *range)
{
	enum { ENTRY_BYTES = 16 };
	static const uint8_t before[] = { DW_OP_BREG0 + GG_X86_64_RA, 0, DW_OP_LIT0 + 15,
		                          DW_OP_AND };
	static const uint8_t behind[] = { DW_OP_GE, DW_OP_LIT0 + 3, DW_OP_SHL, DW_OP_PLUS };
	struct cfi_reader r = gg_cfi_expression_at(module, row->state.cfa.value);
	uint8_t base = read_u8(&r);
	int64_t offset = read_sleb(&r);
	const uint8_t *first = read_bytes(&r, sizeof(before));
	uint8_t threshold = (uint8_t)(read_u8(&r) - DW_OP_LIT0);
	const uint8_t *last = read_bytes(&r, sizeof(behind));
	uint64_t entry = pc & ~(uint64_t)(ENTRY_BYTES - 1);

	if (r.failed || reader_left(&r) != 0 || module->arch != GG_CFI_X86_64 ||
	    base != DW_OP_BREG0 + GG_X86_64_RSP || threshold >= ENTRY_BYTES || offset < 0 ||
	    offset > INT16_MAX)
		return false;
	for (size_t i = 0; i < sizeof(before); i++) {
		if (first[i] != before[i] || last[i] != behind[i])
			return false;
	}
	rule->kind = GG_RULE_SP;
	rule->cfa_bytes = (int32_t)offset + (pc - entry >= threshold ? RULE_WORD_BYTES : 0);
	if (pc - entry >= threshold) {
		entry += threshold;
		if (range->begin < entry)
			range->begin = entry;
		entry += ENTRY_BYTES - threshold;
	} else {
		if (range->begin < entry)
			range->begin = entry;
		entry += threshold;
	}
	if (range->end > entry)
		range->end = entry;
	return fit_saved(&row->state.registers[GG_X86_64_RBP], &rule->fp_words);
}

/* Fits the CFA and the frame register. */
static bool fit_frame(const struct gg_cfi_module *module, const struct gg_cfi_row *row,
                      const struct gg_cfi_machine *machine, uint64_t pc,
                      struct gg_unwind_rule *rule, struct gg_cfi_range *range)
{
	if (row->state.cfa.how == GG_CFI_VAL_OFFSET)
		return fit_offset(row, machine, rule);
	return fit_deref(module, row, machine, rule) || fit_plt(module, row, pc, rule, range);
}

/*
 * True if the caller's sp is the CFA.  It is by definition, unless the row defines another value.
 */
static bool is_cfa(const struct gg_cfi_value *sp)
{
	return sp->how == GG_CFI_UNSPECIFIED || (sp->how == GG_CFI_VAL_OFFSET && sp->value == 0);
}

struct gg_unwind_rule gg_cfi_rule_of_row(const struct gg_cfi_module *module,
                                         const struct gg_cfi_row *row, uint64_t pc,
                                         struct gg_cfi_range *ret_range)
{
	const struct gg_cfi_machine *machine = gg_cfi_machine_of(module->arch);
	const struct gg_cfi_value *ra = &row->state.registers[row->ra_register];
	const struct gg_unwind_rule general = { .kind = GG_RULE_GENERAL, .flags = row->flags };
	struct gg_unwind_rule rule = general;
	struct gg_cfi_range range = row->range;

	*ret_range = range;
	if (ra->how == GG_CFI_UNDEFINED)
		return (struct gg_unwind_rule){ .kind = GG_RULE_OUTERMOST, .flags = row->flags };
	if (row->state.cfa.how == GG_CFI_UNSPECIFIED)
		return none(GG_RULE_REASON_NO_CFA);
	if (is_kept(ra) && !machine->has_link_register)
		return none(GG_RULE_REASON_NO_RA);
	/*
	 * Interrupted code may need any register for its own step, and only the whole row restores
	 * them all.
	 */
	if ((row->flags & GG_RULE_SIGNAL) != 0 || row->ra_register != machine->ra ||
	    !is_cfa(&row->state.registers[machine->sp]) || !fit_saved(ra, &rule.ra_words) ||
	    !fit_frame(module, row, machine, pc, &rule, &range))
		return general;
	*ret_range = range;
	return rule;
}

struct gg_unwind_rule gg_cfi_rule_at(const struct gg_cfi_module *module, uint64_t pc,
                                     struct gg_cfi_range *ret_range)
{
	struct gg_cfi_range unused;
	struct gg_cfi_row row;
	enum gg_rule_reason reason = gg_cfi_row_at(module, pc, &row);

	if (ret_range == NULL)
		ret_range = &unused;
	if (reason == GG_RULE_REASON_UNKNOWN)
		return gg_cfi_rule_of_row(module, &row, pc, ret_range);
	*ret_range = (struct gg_cfi_range){ pc, pc + 1 };
	return none(reason);
}

const char *gg_rule_reason_text(enum gg_rule_reason reason)
{
	static const char *const texts[] = {
		[GG_RULE_REASON_UNKNOWN] = "no reason",
		[GG_RULE_REASON_NO_FDE] = "no function described contains it",
		[GG_RULE_REASON_TRUNCATED] = "a record leaves its section",
		[GG_RULE_REASON_BAD_CIE] = "unknown version or augmentation",
		[GG_RULE_REASON_BAD_POINTER] = "pointer encoding that code cannot have",
		[GG_RULE_REASON_BAD_OPCODE] = "unknown opcode",
		[GG_RULE_REASON_BAD_STATE] = "instructions in an impossible order",
		[GG_RULE_REASON_TOO_DEEP] = "states remembered too deep",
		[GG_RULE_REASON_TOO_LONG] = "too many records or instructions",
		[GG_RULE_REASON_RANGE] = "number out of range",
		[GG_RULE_REASON_NO_CFA] = "CFA not defined",
		[GG_RULE_REASON_NO_RA] = "return address not defined",
	};

	_Static_assert(GG_COUNT(texts) == GG_RULE_REASON_COUNT, "a text for every reason");
	return (unsigned)reason < GG_COUNT(texts) ? texts[reason] : "unknown reason";
}
