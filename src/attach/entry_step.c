/* SPDX-License-Identifier: Apache-2.0 */
/* entry_step - the few instructions that begin functions (attach/entry_step.h). */
#include "attach/entry_step.h"

#include <string.h>

#if defined(__x86_64__)

enum {
	REX_B = 1,
	REX_R = 4,
	REX_W = 8,
	FLAG_CARRY = 1 << 0,
	FLAG_PARITY = 1 << 2,
	FLAG_ADJUST = 1 << 4,
	FLAG_ZERO = 1 << 6,
	FLAG_SIGN = 1 << 7,
	FLAG_OVERFLOW = 1 << 11,
	FLAGS_ALL = FLAG_CARRY | FLAG_PARITY | FLAG_ADJUST | FLAG_ZERO | FLAG_SIGN | FLAG_OVERFLOW,
	RSP = 4,
};

/* A decoded instruction: its prefix, opcode, and the registers of its second byte. */
struct instruction {
	unsigned rex, opcode, reg, rm;
	bool has_registers; /* reg and rm are registers, not memory */
	size_t length;      /* up to reg and rm */
};

static unsigned long long *register_of(struct user_regs_struct *r, unsigned number)
{
	unsigned long long *const all[] = { &r->rax, &r->rcx, &r->rdx, &r->rbx, &r->rsp, &r->rbp,
		                            &r->rsi, &r->rdi, &r->r8,  &r->r9,  &r->r10, &r->r11,
		                            &r->r12, &r->r13, &r->r14, &r->r15 };

	return all[number & 15];
}

/* The flags of a result, without carry and overflow. */
static uint64_t flags_of(uint64_t result, bool is_wide)
{
	uint64_t sign = is_wide ? result >> 63 : result >> 31 & 1;

	return (result == 0 ? FLAG_ZERO : 0) | (sign != 0 ? FLAG_SIGN : 0) |
	       (__builtin_parityll(result & 0xff) == 0 ? FLAG_PARITY : 0);
}

static void set_flags(struct user_regs_struct *r, uint64_t flags)
{
	r->eflags = (r->eflags & ~(uint64_t)FLAGS_ALL) | flags;
}

static bool push(struct user_regs_struct *r, const struct gg_remote_memory *memory, unsigned number)
{
	uint64_t value = *register_of(r, number), place = r->rsp - sizeof(value);

	if (gg_remote_memory_write(memory, place, &value, sizeof(value)) < 0)
		return false;
	r->rsp = place;
	return true;
}

/* sub $amount, %rsp */
static void lower_stack(struct user_regs_struct *r, int64_t amount)
{
	uint64_t before = r->rsp, after = before - (uint64_t)amount;
	uint64_t flags = flags_of(after, true);

	if (before < (uint64_t)amount)
		flags |= FLAG_CARRY;
	if (((before ^ (uint64_t)amount) & (before ^ after)) >> 63 != 0)
		flags |= FLAG_OVERFLOW;
	if (((before ^ (uint64_t)amount ^ after) & 0x10) != 0)
		flags |= FLAG_ADJUST;
	r->rsp = after;
	set_flags(r, flags);
}

static struct instruction decode(const uint8_t *code)
{
	struct instruction in = { 0 };

	if ((code[0] & 0xf0) == 0x40)
		in.rex = code[in.length++];
	in.opcode = code[in.length++];
	in.reg = (code[in.length] >> 3 & 7) | ((in.rex & REX_R) != 0 ? 8 : 0);
	in.rm = (code[in.length] & 7) | ((in.rex & REX_B) != 0 ? 8 : 0);
	in.has_registers = code[in.length] >> 6 == 3;
	return in;
}

/* Between two registers.  Returns false for other instructions. */
static bool move_or_test(struct user_regs_struct *r, const struct instruction *in)
{
	bool is_wide = (in->rex & REX_W) != 0;
	uint64_t mask = is_wide ? UINT64_MAX : UINT32_MAX;
	uint64_t reg = *register_of(r, in->reg), rm = *register_of(r, in->rm);

	if (!in->has_registers)
		return false;
	switch (in->opcode) {
	case 0x85: /* test */
		set_flags(r, flags_of(reg & rm & mask, is_wide));
		return true;
	case 0x89: /* mov */
		*register_of(r, in->rm) = reg & mask;
		return true;
	case 0x8b: /* mov, in the other direction */
		*register_of(r, in->reg) = rm & mask;
		return true;
	case 0x31: /* xor */
	case 0x33:
		if (in->reg != in->rm)
			return false;
		*register_of(r, in->rm) = 0;
		set_flags(r, FLAG_ZERO | FLAG_PARITY);
		return true;
	default:
		return false;
	}
}

bool gg_entry_step(struct user_regs_struct *registers, const struct gg_remote_memory *memory,
                   const uint8_t *code, size_t count)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	enum { LONGEST = 7 };
	struct instruction in;
	size_t length;
	int32_t wide;

	if (count < LONGEST)
		return false;
	in = decode(code);
	length = in.length + 1;
	if (memcmp(code, endbr64, sizeof(endbr64)) == 0) {
		length = sizeof(endbr64);
	} else if (in.opcode >= 0x50 && in.opcode <= 0x57) {
		if (!push(registers, memory, (in.opcode & 7) | ((in.rex & REX_B) != 0 ? 8 : 0)))
			return false;
		length = in.length;
	} else if ((in.opcode == 0x83 || in.opcode == 0x81) && (in.rex & REX_W) != 0 &&
	           in.has_registers && (in.reg & 7) == 5 && in.rm == RSP) {
		length += in.opcode == 0x83 ? 1 : sizeof(wide);
		memcpy(&wide, code + in.length + 1, sizeof(wide));
		lower_stack(registers, in.opcode == 0x83 ? (int8_t)code[in.length + 1] : wide);
	} else if (!move_or_test(registers, &in)) {
		return false;
	}
	registers->rip += length;
	return true;
}

#else

/* Other architectures have no borrowed threads yet. */
bool gg_entry_step(struct user_regs_struct *registers, const struct gg_remote_memory *memory,
                   const uint8_t *code, size_t count)
{
	(void)registers, (void)memory, (void)code, (void)count;
	return false;
}

#endif
