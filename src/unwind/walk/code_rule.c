/* SPDX-License-Identifier: Apache-2.0 */
/* code_rule - decodes x86-64 code forwards to the end of its function. */
#include "unwind/walk/code_rule.h"

#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "unwind/walk/module_lookup.h"
#include "unwind/walk/walk.h"

#ifndef __x86_64__

bool gg_code_rule(struct gg_walk *w, struct gg_unwind_rule *ret_rule)
{
	(void)w;
	(void)ret_rule;
	return false;
}

#else

enum {
	INSTRUCTION_BYTES_MAX = 15,
	CODE_BYTES = 2 * INSTRUCTION_BYTES_MAX, /* that decoding may look at */
	CALL_BYTES_MAX = 7,
	STEPS_MAX = 2000,    /* instructions of all paths */
	CODE_PATHS_MAX = 16, /* conditional jumps that are still to be taken */
	JUMPS_MAX = 32,      /* targets of jumps, which a path does not visit twice */
	OFFSET_MAX = 1 << 19,
	CODE_PAGE_BYTES = 4096,
	CODE_RBP = 5, /* in the encoding of instructions */
	CODE_RSP = 4,
};

/* --- decoding --- */

enum effect {
	NOTHING, /* the stack pointer stays; also calls, which come back */
	PUSH,    /* of 8 bytes */
	PUSH_RBP,
	POP,
	POP_RBP,
	ADD,      /* `value` to rsp */
	FROM_RBP, /* rsp = rbp + value */
	TO_RBP,   /* rbp = rsp + value */
	LEAVE,
	JUMP,        /* to `target` */
	CONDITIONAL, /* to `target`, or on */
	RETURN,
	CALL,
	STOP, /* does not go on, or is not understood */
};

struct code_instruction {
	enum effect effect;
	uint32_t bytes;
	int64_t value;
	uint64_t target;
};

/*
 * Reads code, page after page.  All that it reads is near addresses in modules: what looks like an
 * address elsewhere may lead to memory that another thread unmaps between test and reading.
 */
struct code_bytes {
	uint64_t begin, end; /* known to be readable */
};

static bool may_read(struct code_bytes *code, uint64_t from, uint64_t to)
{
	if (from < code->begin || from > code->end) {
		code->begin = from & -(uint64_t)CODE_PAGE_BYTES;
		code->end = code->begin;
	}
	while (code->end < to) {
		if (!gg_stack_bounds_is_readable(code->end))
			return false;
		code->end += CODE_PAGE_BYTES;
	}
	return true;
}

static int64_t signed_at(const uint8_t *at, unsigned bytes)
{
	int32_t word;

	if (bytes == 1)
		return (int8_t)at[0];
	memcpy(&word, at, sizeof(word));
	return word;
}

/* Instructions with one opcode byte that have a byte ModRM. */
static bool has_modrm(uint8_t opcode)
{
	if (opcode < 0x40)
		return (opcode & 7) < 4;
	return opcode == 0x63 || opcode == 0x69 || opcode == 0x6b || opcode == 0x62 ||
	       (opcode >= 0x80 && opcode <= 0x8f) || opcode == 0xc0 || opcode == 0xc1 ||
	       opcode == 0xc6 || opcode == 0xc7 || (opcode >= 0xd0 && opcode <= 0xd3) ||
	       (opcode >= 0xd8 && opcode <= 0xdf) || opcode == 0xf6 || opcode == 0xf7 ||
	       opcode >= 0xfe;
}

/* The bytes of an immediate operand; `reg` is that field of ModRM. */
static unsigned immediate_bytes(uint8_t opcode, unsigned reg, unsigned wide, bool is_64)
{
	if (opcode < 0x40)
		return (opcode & 7) == 4 ? 1 : (opcode & 7) == 5 ? wide : 0;
	if ((opcode >= 0x70 && opcode <= 0x7f) || (opcode >= 0xb0 && opcode <= 0xb7) ||
	    (opcode >= 0xe0 && opcode <= 0xe7))
		return 1;
	if (opcode >= 0xb8 && opcode <= 0xbf)
		return is_64 ? 8 : wide;
	switch (opcode) {
	case 0x6a:
	case 0x6b:
	case 0x80:
	case 0x83:
	case 0xa8:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xcd:
	case 0xeb:
		return 1;
	case 0xc2:
	case 0xca:
		return 2;
	case 0xc8:
		return 3;
	case 0x68:
	case 0x69:
	case 0x81:
	case 0xa9:
	case 0xc7:
		return wide;
	case 0xe8:
	case 0xe9:
		return 4;
	case 0xa0:
	case 0xa1:
	case 0xa2:
	case 0xa3:
		return 8;
	case 0xf6:
		return reg < 2 ? 1 : 0;
	case 0xf7:
		return reg < 2 ? wide : 0;
	default:
		return 0;
	}
}

static bool is_invalid(uint8_t opcode)
{
	if (opcode < 0x40)
		return (opcode & 7) >= 6 && opcode != 0x26 && opcode != 0x2e && opcode != 0x36 &&
		       opcode != 0x3e && opcode != 0x0f;
	return opcode == 0x60 || opcode == 0x61 || opcode == 0x82 || opcode == 0x9a ||
	       opcode == 0xd4 || opcode == 0xd5 || opcode == 0xd6 || opcode == 0xea ||
	       opcode == 0xce;
}

/* Says the same about opcodes behind 0x0f. */
static bool has_modrm_0f(uint8_t opcode)
{
	return !((opcode >= 0x80 && opcode <= 0x8f) || (opcode >= 0xc8 && opcode <= 0xcf) ||
	         (opcode >= 0x30 && opcode <= 0x37) || (opcode >= 0x05 && opcode <= 0x0b) ||
	         opcode == 0x0e || opcode == 0x77 || (opcode >= 0xa0 && opcode <= 0xa2) ||
	         (opcode >= 0xa8 && opcode <= 0xaa));
}

static unsigned immediate_bytes_0f(uint8_t opcode)
{
	if (opcode >= 0x80 && opcode <= 0x8f)
		return 4;
	return (opcode >= 0x70 && opcode <= 0x73) || opcode == 0xa4 || opcode == 0xac ||
	       opcode == 0xba || opcode == 0xc2 || (opcode >= 0xc4 && opcode <= 0xc6);
}

/* The bytes behind an opcode: ModRM, SIB, and the displacement. */
struct operands {
	unsigned mod, reg, rm; /* with the bits of REX */
	bool has_index;
	int64_t displacement;
	unsigned bytes; /* of ModRM, SIB and displacement */
};

static struct operands read_operands(const uint8_t *at, unsigned rex)
{
	struct operands o = {
		at[0] >> 6, (at[0] >> 3 & 7) | (rex & 4) << 1, at[0] & 7, false, 0, 1
	};
	unsigned base = o.rm;

	if (o.mod != 3 && o.rm == 4) {
		base = at[1] & 7;
		o.has_index = (at[1] >> 3 & 7) != 4 || (rex & 2) != 0;
		o.bytes = 2;
	}
	if (o.mod == 1) {
		o.displacement = signed_at(at + o.bytes, 1);
		o.bytes += 1;
	} else if (o.mod == 2 || (o.mod == 0 && base == 5)) {
		o.displacement = signed_at(at + o.bytes, 4);
		o.bytes += 4;
	}
	o.rm = base | (rex & 1) << 3;
	return o;
}

/* The effect of an instruction of one opcode byte that has operands. */
static void decode_operands(uint8_t opcode, const struct operands *o, const uint8_t *immediate,
                            struct code_instruction *ret)
{
	const bool is_register = o->mod == 3;
	const bool from_slot = !is_register && o->mod == 0 && o->rm == 5;

	switch (opcode) {
	case 0x81:
	case 0x83:
		if (!is_register || o->rm != CODE_RSP || (o->reg & 7) == 7)
			return;
		ret->value = signed_at(immediate, opcode == 0x81 ? 4 : 1);
		ret->effect = (o->reg & 7) == 0 || (o->reg & 7) == 5 ? ADD : STOP;
		if ((o->reg & 7) == 5)
			ret->value = -ret->value;
		return;
	case 0x89: /* mov reg, rm */
	case 0x8b: /* mov rm, reg */
		if (!is_register)
			break;
		if ((opcode == 0x89 ? o->rm : o->reg) == CODE_RSP)
			ret->effect = (opcode == 0x89 ? o->reg : o->rm) == CODE_RBP ? FROM_RBP
			                                                            : STOP;
		if ((opcode == 0x89 ? o->rm : o->reg) == CODE_RBP &&
		    (opcode == 0x89 ? o->reg : o->rm) == CODE_RSP)
			ret->effect = TO_RBP;
		return;
	case 0x8d: /* lea */
		ret->value = o->displacement;
		if (o->reg == CODE_RSP) {
			bool based = (o->mod == 1 || o->mod == 2) && !o->has_index;

			ret->effect = based && o->rm == CODE_RBP           ? FROM_RBP
			              : !o->has_index && o->rm == CODE_RSP ? ADD
			                                                   : STOP;
		} else if (o->reg == CODE_RBP && o->rm == CODE_RSP && !o->has_index) {
			ret->effect = TO_RBP;
		}
		return;
	case 0x8f:
		ret->effect = is_register && o->rm == CODE_RSP ? STOP : POP;
		return;
	case 0xff:
		if ((o->reg & 7) == 2)
			ret->effect = CALL;
		else if ((o->reg & 7) == 4)
			ret->effect = from_slot ? RETURN : STOP;
		else if ((o->reg & 7) == 6)
			ret->effect = PUSH;
		else if ((o->reg & 7) == 3 || (o->reg & 7) == 5)
			ret->effect = STOP;
		return;
	default:
		break;
	}
	/* Arithmetic, loads and exchanges whose result is rsp. */
	if (opcode < 0x38 && (opcode & 7) < 4 &&
	    ((opcode & 2) != 0 ? o->reg == CODE_RSP : is_register && o->rm == CODE_RSP))
		ret->effect = STOP;
	if ((opcode == 0x8b || opcode == 0x63 || opcode == 0x87) && o->reg == CODE_RSP)
		ret->effect = STOP;
}

/* Instructions of one opcode byte without operands. */
static void decode_plain(uint8_t opcode, unsigned rex, struct code_instruction *ret)
{
	const unsigned reg = (opcode & 7) | (rex & 1) << 3;

	if (opcode >= 0x50 && opcode <= 0x57)
		ret->effect = reg == CODE_RBP ? PUSH_RBP : PUSH;
	else if (opcode >= 0x58 && opcode <= 0x5f)
		ret->effect = reg == CODE_RBP ? POP_RBP : reg == CODE_RSP ? STOP : POP;
	else if (opcode == 0x68 || opcode == 0x6a || opcode == 0x9c)
		ret->effect = PUSH;
	else if (opcode == 0x9d)
		ret->effect = POP;
	else if (opcode == 0xc9)
		ret->effect = LEAVE;
	else if (opcode == 0xc3)
		ret->effect = RETURN;
	else if (opcode == 0xe8)
		ret->effect = CALL;
	else if (opcode == 0xe9 || opcode == 0xeb)
		ret->effect = JUMP;
	else if ((opcode >= 0x70 && opcode <= 0x7f) || (opcode >= 0xe0 && opcode <= 0xe3))
		ret->effect = CONDITIONAL;
	else if (opcode == 0xf4 || opcode == 0xcc || opcode == 0xc2 || opcode == 0xc8 ||
	         opcode == 0xca || opcode == 0xcb || opcode == 0xcf || opcode == 0x94)
		ret->effect = STOP;
}

/* Behind the prefix VEX or EVEX of these bytes: opcode, operands, perhaps a byte. */
static uint32_t vector_bytes(const uint8_t *at)
{
	unsigned prefix = at[0] == 0xc5 ? 2 : at[0] == 0xc4 ? 3 : 4;
	unsigned map = at[0] == 0xc5 ? 1 : at[1] & (at[0] == 0xc4 ? 0x1f : 7);
	uint8_t opcode = at[prefix];
	struct operands o;

	if (map == 1 && opcode == 0x77)
		return prefix + 1;
	o = read_operands(at + prefix + 1, 0);
	return prefix + 1 + o.bytes + (map == 3 || (map == 1 && immediate_bytes_0f(opcode) == 1));
}

static bool is_prefix(uint8_t byte)
{
	return byte == 0x66 || byte == 0x67 || byte == 0xf2 || byte == 0xf3 || byte == 0xf0 ||
	       byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 ||
	       byte == 0x65;
}

/* A wild stack may take anything for code, also the red zones of a sanitizer. */
GG_RAW_STACK static void copy_code(uint8_t *to, uint64_t from, unsigned bytes)
{
	const volatile uint8_t *code = (const volatile uint8_t *)(uintptr_t)from;

	for (unsigned i = 0; i < bytes; i++)
		to[i] = code[i];
}

/* Decodes the instruction at `pc`, of which CODE_BYTES can be read. */
static struct code_instruction decode(uint64_t pc)
{
	uint8_t start[CODE_BYTES], *at = start;
	struct code_instruction i = { NOTHING, 0, 0, 0 };
	struct operands o = { 0 };
	unsigned rex = 0, immediate;
	bool is_narrow = false, is_0f;
	uint8_t opcode;

	copy_code(start, pc, CODE_BYTES);
	for (; is_prefix(*at) && at < start + INSTRUCTION_BYTES_MAX; at++)
		is_narrow |= *at == 0x66;
	if ((*at & 0xf0) == 0x40)
		rex = *at++ & 15;
	if (*at == 0xc4 || *at == 0xc5 || *at == 0x62) {
		i.bytes = (uint32_t)(at - start) + vector_bytes(at);
		return i;
	}
	is_0f = *at == 0x0f;
	at += is_0f;
	opcode = *at++;
	if (is_0f && (opcode == 0x38 || opcode == 0x3a)) {
		at++;
		o = read_operands(at, rex);
		i.bytes = (uint32_t)(at - start) + o.bytes + (opcode == 0x3a);
		return i;
	}
	if (is_0f ? has_modrm_0f(opcode) : has_modrm(opcode)) {
		o = read_operands(at, rex);
		at += o.bytes;
	}
	immediate = is_0f ? immediate_bytes_0f(opcode)
	                  : immediate_bytes(opcode, o.reg & 7, is_narrow ? 2 : 4, (rex & 8) != 0);
	i.bytes = (uint32_t)(at - start) + immediate;
	if (is_0f && opcode == 0x0b)
		i.effect = STOP;
	else if (is_0f)
		i.effect = opcode >= 0x80 && opcode <= 0x8f ? CONDITIONAL : NOTHING;
	else if (is_invalid(opcode))
		i.effect = STOP;
	else if (has_modrm(opcode))
		decode_operands(opcode, &o, at, &i);
	else
		decode_plain(opcode, rex, &i);
	if (i.effect == JUMP || i.effect == CONDITIONAL)
		i.target = pc + i.bytes + (uint64_t)signed_at(at, immediate == 1 ? 1 : 4);
	return i;
}

/* --- paths --- */

/* A register as one of those at the walk's pc, and what was added to it. */
struct value {
	enum { OF_SP, OF_FP, SAVED, LOST } kind; /* SAVED: the word at sp + offset */
	int64_t offset;
};

struct code_path {
	uint64_t pc;
	struct value rsp, rbp;
	/* The last word that this path itself has pushed from rbp. */
	struct value pushed_at, pushed;
	bool has_pushed;
};

struct code_search {
	struct code_bytes code;
	struct code_path others[CODE_PATHS_MAX];
	uint64_t jumps[JUMPS_MAX];
	unsigned other_count, jump_count, steps;
};

static bool is_same(struct value a, struct value b)
{
	return a.kind == b.kind && a.offset == b.offset;
}

/*
 * A path may push rbp itself, if pc is in a prologue, or in a function that is called in place of
 * the end.  All other words are in the frame: at sp or above it, or at fp by leave.
 */
static void pop_rbp(struct code_path *p)
{
	if (p->has_pushed && is_same(p->rsp, p->pushed_at))
		p->rbp = p->pushed;
	else if ((p->rsp.kind == OF_SP && p->rsp.offset >= 0) ||
	         (p->rsp.kind == OF_FP && p->rsp.offset == 0))
		p->rbp = (struct value){ SAVED, p->rsp.offset };
	else
		p->rbp.kind = LOST;
	p->rsp.offset += 8;
}

static void set_rsp_from_rbp(struct code_path *p, int64_t value)
{
	p->rsp = p->rbp;
	p->rsp.offset += value;
}

/* True while the path goes on. */
static bool follow(struct code_search *s, struct code_path *p, const struct code_instruction *i)
{
	switch (i->effect) {
	case PUSH:
	case PUSH_RBP:
		p->rsp.offset -= 8;
		if (i->effect == PUSH_RBP) {
			p->pushed_at = p->rsp;
			p->pushed = p->rbp;
			p->has_pushed = true;
		} else if (is_same(p->rsp, p->pushed_at)) {
			p->has_pushed = false;
		}
		break;
	case POP:
		p->rsp.offset += 8;
		break;
	case LEAVE:
		set_rsp_from_rbp(p, 0);
		pop_rbp(p);
		break;
	case POP_RBP:
		pop_rbp(p);
		break;
	case ADD:
		p->rsp.offset += i->value;
		break;
	case FROM_RBP:
		set_rsp_from_rbp(p, i->value);
		break;
	case TO_RBP:
		p->rbp = p->rsp;
		p->rbp.offset += i->value;
		break;
	case JUMP:
		for (unsigned j = 0; j < s->jump_count; j++)
			if (s->jumps[j] == i->target)
				return false;
		if (s->jump_count == JUMPS_MAX || !gg_module_lookup_has(i->target))
			return false;
		s->jumps[s->jump_count++] = i->target;
		p->pc = i->target;
		return true;
	case CONDITIONAL:
		if (s->other_count < CODE_PATHS_MAX && gg_module_lookup_has(i->target)) {
			s->others[s->other_count] = *p;
			s->others[s->other_count++].pc = i->target;
		}
		break;
	case STOP:
		return false;
	default:
		break;
	}
	p->pc += i->bytes;
	return (p->rsp.kind == OF_SP || p->rsp.kind == OF_FP) && p->rsp.offset > -OFFSET_MAX &&
	       p->rsp.offset < OFFSET_MAX;
}

/* True if the word there is a return address: a call stands before it. */
GG_RAW_STACK static bool is_behind_call(struct gg_walk *w, struct code_bytes *code, uint64_t slot)
{
	uint8_t before[CALL_BYTES_MAX + CODE_BYTES] = { 0 };
	const uint8_t *pc = before + CALL_BYTES_MAX;
	uint64_t word;

	if (slot < w->sp || slot % 8 != 0 || slot > UINT64_MAX - 8 ||
	    !gg_walk_may_read(w, slot + 8))
		return false;
	word = gg_stack_word(slot);
	if (word < CODE_PAGE_BYTES || !gg_module_lookup_has(word) ||
	    !may_read(code, word - CALL_BYTES_MAX, word))
		return false;
	copy_code(before, word - CALL_BYTES_MAX, CALL_BYTES_MAX);
	if (pc[-5] == 0xe8)
		return true;
	/* call *reg, *(reg), *disp8(reg), *disp32(reg) or *slot(%rip), each perhaps with SIB */
	for (unsigned bytes = 2; bytes <= CALL_BYTES_MAX; bytes++)
		if (pc[-(int)bytes] == 0xff && (pc[1 - (int)bytes] >> 3 & 7) == 2 &&
		    1 + read_operands(pc + 1 - bytes, 0).bytes == bytes)
			return true;
	return false;
}

static bool make_rule(struct gg_walk *w, struct code_search *s, const struct code_path *p,
                      struct gg_unwind_rule *ret_rule)
{
	int64_t cfa_bytes = p->rsp.offset + 8;
	uint64_t base = p->rsp.kind == OF_SP ? w->sp : w->fp;
	bool is_fp_same = p->rbp.kind == OF_FP && p->rbp.offset == 0;
	/* From the CFA to the saved frame pointer, which lies in the frame of the same register. */
	int64_t fp_bytes = p->rbp.kind == SAVED ? p->rbp.offset - cfa_bytes : 0;

	if (cfa_bytes < 8 || (!is_fp_same && (p->rbp.kind != SAVED || fp_bytes >= 0)) ||
	    !is_behind_call(w, &s->code, base + (uint64_t)cfa_bytes - 8))
		return false;
	*ret_rule = (struct gg_unwind_rule){
		.kind = p->rsp.kind == OF_SP ? GG_RULE_SP : GG_RULE_FP,
		.cfa_bytes = (int32_t)cfa_bytes,
		.ra_words = -1,
		.fp_words = (int16_t)(is_fp_same ? GG_RULE_SAME : fp_bytes / 8),
	};
	return true;
}

bool gg_code_rule(struct gg_walk *w, struct gg_unwind_rule *ret_rule)
{
	struct code_search s = { .other_count = 1 };

	if (!gg_module_lookup_has(w->pc))
		return false;
	s.others[0] = (struct code_path){ .pc = w->pc, .rsp = { OF_SP, 0 }, .rbp = { OF_FP, 0 } };
	while (s.other_count > 0) {
		struct code_path p = s.others[--s.other_count];

		for (;;) {
			struct code_instruction i;

			if (++s.steps > STEPS_MAX)
				return false;
			if (!may_read(&s.code, p.pc, p.pc + CODE_BYTES))
				break;
			i = decode(p.pc);
			if (i.effect == RETURN) {
				if (make_rule(w, &s, &p, ret_rule))
					return true;
				break;
			}
			if (!follow(&s, &p, &i))
				break;
		}
	}
	return false;
}

#endif
