/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi_expression - evaluates DWARF expressions on a stack machine of 64-bit words.
 *
 * Arithmetic wraps.  Comparison, division, and shra are signed, as in DWARF 5 section 2.5.1.4.  An
 * evaluation is bounded by GG_CFI_EXPRESSION_STEPS_MAX steps and OPERANDS_MAX words.
 */
#include "unwind/cfi/cfi_expression.h"

#include <stddef.h>

enum { OPERANDS_MAX = 32 }; /* words; a deeper stack is BAD_EXPRESSION */

enum {
	DW_OP_ADDR = 0x03,
	DW_OP_CONST1U = 0x08,
	DW_OP_CONST8S = 0x0f,
	DW_OP_CONSTU = 0x10,
	DW_OP_CONSTS = 0x11,
	DW_OP_DUP = 0x12,
	DW_OP_DROP = 0x13,
	DW_OP_OVER = 0x14,
	DW_OP_PICK = 0x15,
	DW_OP_SWAP = 0x16,
	DW_OP_ROT = 0x17,
	DW_OP_ABS = 0x19,
	DW_OP_DIV = 0x1b,
	DW_OP_MINUS = 0x1c,
	DW_OP_MOD = 0x1d,
	DW_OP_MUL = 0x1e,
	DW_OP_NEG = 0x1f,
	DW_OP_NOT = 0x20,
	DW_OP_OR = 0x21,
	DW_OP_PLUS_UCONST = 0x23,
	DW_OP_SHR = 0x25,
	DW_OP_SHRA = 0x26,
	DW_OP_XOR = 0x27,
	DW_OP_BRA = 0x28,
	DW_OP_EQ = 0x29,
	DW_OP_GT = 0x2b,
	DW_OP_LE = 0x2c,
	DW_OP_LT = 0x2d,
	DW_OP_NE = 0x2e,
	DW_OP_SKIP = 0x2f,
	DW_OP_LIT31 = 0x4f,
	DW_OP_BREG31 = 0x8f,
	DW_OP_BREGX = 0x92,
	DW_OP_DEREF_SIZE = 0x94,
	DW_OP_NOP = 0x96,
};

struct evaluation {
	const struct gg_cfi_module *module;
	const struct gg_cfi_registers *registers;
	const struct gg_cfi_stack *stack;
	const uint8_t *start; /* start of the expression */
	struct cfi_reader r;
	unsigned depth;
	enum gg_cfi_step result; /* not OK: the evaluation has ended */
	uint64_t words[OPERANDS_MAX];
};

/*
 * Column 16 of x86-64 is the pc.  Registers that no step has recovered are unknown, so expressions
 * with them fail.
 */
bool gg_cfi_register_value(const struct gg_cfi_module *module,
                           const struct gg_cfi_registers *registers, uint64_t number,
                           uint64_t *ret_value)
{
	if (module->arch == GG_CFI_X86_64 && number == GG_X86_64_RA) {
		*ret_value = registers->pc;
		return true;
	}
	if (number >= GG_CFI_REGISTERS || (registers->known >> number & 1) == 0)
		return false;
	*ret_value = registers->value[number];
	return true;
}

/* The bounds are compared without an addition, which could overflow for a hostile address. */
bool gg_cfi_read_stack(const struct gg_cfi_stack *stack, uint64_t address, unsigned size,
                       uint64_t *ret_value)
{
	uint64_t value = 0;

	if (address < stack->low || address > stack->high || stack->high - address < size)
		return false;
	memcpy(&value, stack->bytes + (address - stack->low), size);
	*ret_value = value;
	return true;
}

/* Ends the evaluation.  The first failure counts, because it causes the later ones. */
static void fail(struct evaluation *e, enum gg_cfi_step why)
{
	if (e->result == GG_CFI_STEP_OK)
		e->result = why;
}

static void push(struct evaluation *e, uint64_t word)
{
	if (e->depth == OPERANDS_MAX)
		fail(e, GG_CFI_STEP_BAD_EXPRESSION);
	else
		e->words[e->depth++] = word;
}

static uint64_t pop(struct evaluation *e)
{
	if (e->depth > 0)
		return e->words[--e->depth];
	fail(e, GG_CFI_STEP_BAD_EXPRESSION);
	return 0;
}

/* Pushes a copy of the word that is `index` words below the top. */
static void pick(struct evaluation *e, unsigned index)
{
	if (index >= e->depth)
		fail(e, GG_CFI_STEP_BAD_EXPRESSION);
	else
		push(e, e->words[e->depth - 1 - index]);
}

/* Rotates the top `count` words: the top word moves below the other words. */
static void turn(struct evaluation *e, unsigned count)
{
	uint64_t *top;

	if (e->depth < count) {
		fail(e, GG_CFI_STEP_BAD_EXPRESSION);
		return;
	}
	top = &e->words[e->depth - 1];
	for (unsigned i = 0; i + 1 < count; i++) {
		uint64_t word = top[-(int)i];

		top[-(int)i] = top[-(int)i - 1];
		top[-(int)i - 1] = word;
	}
}

/*
 * Pushes register + offset.  Without a value of the register the result is UNKNOWN, not
 * BAD_EXPRESSION: the caller may find more registers and try again.
 */
static void push_register(struct evaluation *e, uint64_t number, int64_t offset)
{
	uint64_t value;

	if (gg_cfi_register_value(e->module, e->registers, number, &value))
		push(e, value + (uint64_t)offset);
	else
		fail(e, GG_CFI_STEP_UNKNOWN);
}

/*
 * Replaces an address by the `size` bytes there.  Only addresses of the stack can be read: an
 * expression of a hostile module cannot read other memory.
 */
static void dereference(struct evaluation *e, unsigned size)
{
	uint64_t value = 0;

	if (size == 0 || size > 8)
		fail(e, GG_CFI_STEP_BAD_EXPRESSION);
	else if (!gg_cfi_read_stack(e->stack, pop(e), size, &value))
		fail(e, GG_CFI_STEP_BAD_READ);
	else
		push(e, value);
}

/* Jumps `distance` bytes from the end of the operand, within the expression. */
static void jump(struct evaluation *e, int64_t distance)
{
	/*
	 * `left` and `size - left` are the bytes after and before the current place: the two
	 * limits.
	 */
	int64_t left = (int64_t)reader_left(&e->r), size = e->r.end - e->start;

	if (distance > left || left - distance > size)
		fail(e, GG_CFI_STEP_BAD_EXPRESSION);
	else
		e->r.at += distance;
}

/* Reads the operand of const1u, const1s, const2u, ... const8s: eight consecutive opcodes. */
static uint64_t read_const(struct cfi_reader *r, uint8_t opcode)
{
	unsigned size = 1u << ((opcode - DW_OP_CONST1U) / 2);

	return (opcode - DW_OP_CONST1U) % 2 == 0 ? read_unsigned(r, size)
	                                         : (uint64_t)read_signed(r, size);
}

/* Divides signed words.  The hardware traps on INT64_MIN / -1, so -1 is a negation. */
static uint64_t divide(struct evaluation *e, int64_t a, int64_t b)
{
	if (b == 0)
		fail(e, GG_CFI_STEP_BAD_EXPRESSION);
	else if (b == -1)
		return 0 - (uint64_t)a;
	else
		return (uint64_t)(a / b);
	return 0;
}

/*
 * Divides unsigned words: DWARF's arithmetic is unsigned unless it defines an operation as signed,
 * as it does DW_OP_div.
 */
static uint64_t modulo(struct evaluation *e, uint64_t a, uint64_t b)
{
	if (b != 0)
		return a % b;
	fail(e, GG_CFI_STEP_BAD_EXPRESSION);
	return 0;
}

/* Shifts unsigned words, because C leaves the shift of a negative number to the compiler. */
static uint64_t shift_arithmetically(uint64_t a, uint64_t b)
{
	uint64_t sign = a >> 63 != 0 ? UINT64_MAX : 0;

	if (b >= 64)
		return sign;
	return b == 0 ? a : a >> b | sign << (64 - b);
}

/* Replaces the two top words by one; `a` was below `b`. */
static void combine(struct evaluation *e, uint8_t opcode)
{
	uint64_t b = pop(e), a = pop(e);
	int64_t signed_a = (int64_t)a, signed_b = (int64_t)b;

	switch (opcode) {
	case DW_OP_AND:
		return push(e, a & b);
	case DW_OP_DIV:
		return push(e, divide(e, signed_a, signed_b));
	case DW_OP_MINUS:
		return push(e, a - b);
	case DW_OP_MOD:
		return push(e, modulo(e, a, b));
	case DW_OP_MUL:
		return push(e, a * b);
	case DW_OP_OR:
		return push(e, a | b);
	case DW_OP_PLUS:
		return push(e, a + b);
	case DW_OP_SHL:
		return push(e, b < 64 ? a << b : 0);
	case DW_OP_SHR:
		return push(e, b < 64 ? a >> b : 0);
	case DW_OP_SHRA:
		return push(e, shift_arithmetically(a, b));
	case DW_OP_XOR:
		return push(e, a ^ b);
	case DW_OP_EQ:
		return push(e, a == b);
	case DW_OP_GE:
		return push(e, signed_a >= signed_b);
	case DW_OP_GT:
		return push(e, signed_a > signed_b);
	case DW_OP_LE:
		return push(e, signed_a <= signed_b);
	case DW_OP_LT:
		return push(e, signed_a < signed_b);
	case DW_OP_NE:
		return push(e, a != b);
	default:
		return fail(e, GG_CFI_STEP_BAD_EXPRESSION);
	}
}

/* Runs an operation that moves words, or changes one word. */
static void rearrange(struct evaluation *e, uint8_t opcode)
{
	uint64_t word;

	switch (opcode) {
	case DW_OP_DUP:
		return pick(e, 0);
	case DW_OP_DROP:
		pop(e);
		return;
	case DW_OP_OVER:
		return pick(e, 1);
	case DW_OP_PICK:
		return pick(e, read_u8(&e->r));
	case DW_OP_SWAP:
		return turn(e, 2);
	case DW_OP_ROT:
		return turn(e, 3);
	case DW_OP_ABS:
		word = pop(e);
		return push(e, (int64_t)word < 0 ? 0 - word : word);
	case DW_OP_NEG:
		return push(e, 0 - pop(e));
	case DW_OP_NOT:
		return push(e, ~pop(e));
	case DW_OP_PLUS_UCONST:
		word = pop(e);
		return push(e, word + read_uleb(&e->r));
	default:
		return combine(e, opcode);
	}
}

static void run_operation(struct evaluation *e, uint8_t opcode)
{
	struct cfi_reader *r = &e->r;
	uint64_t number;
	int64_t distance;

	if (opcode >= DW_OP_LIT0 && opcode <= DW_OP_LIT31)
		return push(e, (uint64_t)(opcode - DW_OP_LIT0));
	if (opcode >= DW_OP_BREG0 && opcode <= DW_OP_BREG31)
		return push_register(e, (uint64_t)(opcode - DW_OP_BREG0), read_sleb(r));
	if (opcode >= DW_OP_CONST1U && opcode <= DW_OP_CONST8S)
		return push(e, read_const(r, opcode));
	switch (opcode) {
	case DW_OP_NOP:
		return;
	case DW_OP_ADDR:
		return push(e, read_u64(r));
	case DW_OP_CONSTU:
		return push(e, read_uleb(r));
	case DW_OP_CONSTS:
		return push(e, (uint64_t)read_sleb(r));
	case DW_OP_BREGX:
		number = read_uleb(r);
		return push_register(e, number, read_sleb(r));
	case DW_OP_DEREF:
		return dereference(e, 8);
	case DW_OP_DEREF_SIZE:
		return dereference(e, read_u8(r));
	case DW_OP_SKIP:
		return jump(e, read_signed(r, 2));
	case DW_OP_BRA:
		distance = read_signed(r, 2);
		if (pop(e) != 0)
			jump(e, distance);
		return;
	default:
		return rearrange(e, opcode);
	}
}

enum gg_cfi_step gg_cfi_evaluate(const struct gg_cfi_module *module, struct cfi_reader expression,
                                 const struct gg_cfi_registers *registers,
                                 const struct gg_cfi_stack *stack, const uint64_t *first,
                                 uint64_t *ret_value)
{
	struct evaluation e; /* no operation reads words above `depth`, so they are not cleared */
	uint64_t value;

	e.module = module;
	e.registers = registers;
	e.stack = stack;
	e.start = expression.at;
	e.r = expression;
	e.depth = 0;
	e.result = GG_CFI_STEP_OK;
	if (first != NULL)
		push(&e, *first);
	/* A block may jump backwards, so the number of steps is bounded as well as its length. */
	for (int i = 0; e.r.at < e.r.end && e.result == GG_CFI_STEP_OK; i++) {
		if (i == GG_CFI_EXPRESSION_STEPS_MAX)
			return GG_CFI_STEP_BAD_EXPRESSION;
		run_operation(&e, read_u8(&e.r));
	}
	/*
	 * An operand beyond the end of the block has left zeros on the stack, so the result is
	 * void.
	 */
	if (e.r.failed)
		return GG_CFI_STEP_BAD_EXPRESSION;
	value = pop(&e);
	if (e.result == GG_CFI_STEP_OK)
		*ret_value = value;
	return e.result;
}
