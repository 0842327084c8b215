/* SPDX-License-Identifier: Apache-2.0 */
/* cfi_step - makes one step with all registers, by the whole row. */
#include <stddef.h>

#include "unwind/cfi/cfi.h"
#include "unwind/cfi/cfi_expression.h"

struct cfi_frame {
	const struct gg_cfi_module *module;
	const struct gg_cfi_stack *stack;
	const struct gg_cfi_registers *registers; /* the callee's registers */
	uint64_t cfa;
};

/* Computes the CFA.  Every other rule of the row may refer to it, so it comes first. */
static enum gg_cfi_step compute_cfa(struct cfi_frame *f, const struct gg_cfi_value *rule)
{
	uint64_t base;

	switch (rule->how) {
	case GG_CFI_VAL_OFFSET:
		if (!gg_cfi_register_value(f->module, f->registers, rule->base, &base))
			return GG_CFI_STEP_UNKNOWN;
		f->cfa = base + (uint64_t)(int64_t)rule->value;
		return GG_CFI_STEP_OK;
	case GG_CFI_VAL_EXPRESSION:
		return gg_cfi_evaluate(f->module, gg_cfi_expression_at(f->module, rule->value),
		                       f->registers, f->stack, NULL, &f->cfa);
	default:
		return GG_CFI_STEP_NO_CFI;
	}
}

/* Computes the caller's value of register `number`.  UNKNOWN: the value is lost. */
static enum gg_cfi_step recover(const struct cfi_frame *f, uint64_t number,
                                const struct gg_cfi_value *rule, uint64_t *ret_value)
{
	uint64_t address = f->cfa + (uint64_t)(int64_t)rule->value;
	enum gg_cfi_step step = GG_CFI_STEP_OK;

	switch (rule->how) {
	case GG_CFI_UNSPECIFIED:
	case GG_CFI_SAME:
		return gg_cfi_register_value(f->module, f->registers, number, ret_value)
		               ? GG_CFI_STEP_OK
		               : GG_CFI_STEP_UNKNOWN;
	case GG_CFI_REGISTER:
		return gg_cfi_register_value(f->module, f->registers, (uint64_t)rule->value,
		                             ret_value)
		               ? GG_CFI_STEP_OK
		               : GG_CFI_STEP_UNKNOWN;
	case GG_CFI_VAL_OFFSET:
		*ret_value = address;
		return GG_CFI_STEP_OK;
	case GG_CFI_EXPRESSION:
	case GG_CFI_VAL_EXPRESSION:
		step = gg_cfi_evaluate(f->module, gg_cfi_expression_at(f->module, rule->value),
		                       f->registers, f->stack, &f->cfa, &address);
		if (step != GG_CFI_STEP_OK)
			return step;
		if (rule->how == GG_CFI_VAL_EXPRESSION) {
			*ret_value = address;
			return GG_CFI_STEP_OK;
		}
		break;
	case GG_CFI_OFFSET:
		break;
	default: /* undefined */
		return GG_CFI_STEP_UNKNOWN;
	}
	return gg_cfi_read_stack(f->stack, address, 8, ret_value) ? GG_CFI_STEP_OK
	                                                          : GG_CFI_STEP_BAD_READ;
}

/* Computes the return address.  Without it there is no step. */
static enum gg_cfi_step recover_pc(const struct cfi_frame *f, const struct gg_cfi_row *row,
                                   uint64_t *ret_pc)
{
	const struct gg_cfi_value *rule = &row->state.registers[row->ra_register];
	bool is_kept = rule->how == GG_CFI_UNSPECIFIED || rule->how == GG_CFI_SAME;

	/*
	 * On x86-64 this column is the pc itself, so an unchanged one would lead to the same frame
	 * again.
	 */
	if (is_kept && !gg_cfi_machine_of(f->module->arch)->has_link_register)
		return GG_CFI_STEP_NO_CFI;
	return recover(f, row->ra_register, rule, ret_pc);
}

enum gg_cfi_step gg_cfi_step_row(const struct gg_cfi_module *module, const struct gg_cfi_row *row,
                                 const struct gg_cfi_stack *stack,
                                 struct gg_cfi_registers *registers)
{
	const struct gg_cfi_machine *machine = gg_cfi_machine_of(module->arch);
	struct cfi_frame f = { module, stack, registers, 0 };
	struct gg_cfi_registers caller = *registers;
	enum gg_cfi_step step;

	/* An undefined return address marks the outermost frame (_start, clone). */
	if (row->state.registers[row->ra_register].how == GG_CFI_UNDEFINED)
		return GG_CFI_STEP_OUTERMOST;
	step = compute_cfa(&f, &row->state.cfa);
	if (step == GG_CFI_STEP_OK)
		step = recover_pc(&f, row, &caller.pc);
	if (step != GG_CFI_STEP_OK)
		return step;
	/*
	 * A call has overwritten the link register, so its earlier value is known only if it was
	 * saved.
	 */
	if (machine->has_link_register)
		caller.known &= ~(UINT64_C(1) << row->ra_register);
	caller.value[machine->sp] = f.cfa;
	caller.known |= UINT64_C(1) << machine->sp;
	for (unsigned i = 0; i < GG_CFI_REGISTERS; i++) {
		const struct gg_cfi_value *rule = &row->state.registers[i];

		if (rule->how == GG_CFI_UNSPECIFIED || rule->how == GG_CFI_SAME)
			continue;
		step = recover(&f, i, rule, &caller.value[i]);
		if (step != GG_CFI_STEP_OK && i == machine->sp)
			return step;
		/* A failure matters only if a later row needs the register. */
		if (step != GG_CFI_STEP_OK) {
			caller.known &= ~(UINT64_C(1) << i);
			continue;
		}
		caller.known |= UINT64_C(1) << i;
	}
	*registers = caller;
	return GG_CFI_STEP_OK;
}

enum gg_cfi_step gg_cfi_step_general(const struct gg_cfi_module *module, uint64_t lookup_pc,
                                     const struct gg_cfi_stack *stack,
                                     struct gg_cfi_registers *registers, uint8_t *ret_flags)
{
	struct gg_cfi_row row;
	enum gg_cfi_step step;

	if (gg_cfi_row_at(module, lookup_pc, &row) != GG_RULE_REASON_UNKNOWN)
		return GG_CFI_STEP_NO_CFI;
	step = gg_cfi_step_row(module, &row, stack, registers);
	if (step == GG_CFI_STEP_OK && ret_flags != NULL)
		*ret_flags = row.flags;
	return step;
}
