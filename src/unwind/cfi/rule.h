/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule - how to get from one frame to its caller, in 8 bytes.
 *
 * Call frame information is a small program per function; run to a pc it gives a row: how to
 * compute the CFA (the value of the stack pointer before the call) and where each register was
 * saved.  A walk needs three of them only: pc, stack pointer and frame register (rbp, x29).
 * Nearly all rows fit these kinds (docs/internals/UNWINDING.md has the counts); the rest is GENERAL.
 *
 *   kind       CFA                     saved frame register at      return address at
 *   SP         sp + cfa_bytes          CFA + 8 * fp_words           CFA + 8 * ra_words
 *   FP         fp + cfa_bytes          CFA + 8 * fp_words           CFA + 8 * ra_words
 *   FP_DEREF   *(fp + cfa_bytes)       fp  + 8 * fp_words           CFA + 8 * ra_words
 *
 *   caller's sp = CFA;   fp_words == GG_RULE_SAME: the register still holds its caller's value;
 *   ra_words == GG_RULE_SAME: the return address is still in the link register (aarch64 leaves).
 *
 * FP_DEREF is the body of a function that realigned its stack: gcc keeps the CFA in a slot.
 * A rule of a PLT entry is an SP rule: its CFA depends on pc alone, and pc is known.
 *
 * Invariant  all-zero is a valid rule: NONE, without a reason.
 * Threads    a plain value; 8 bytes aligned to 8, so that one atomic access moves it whole.
 */
#pragma once

#include <stdint.h>
#include <string.h>

enum gg_rule_kind {
	GG_RULE_NONE,      /* no usable CFI; cfa_bytes is the enum gg_rule_reason */
	GG_RULE_OUTERMOST, /* return address undefined: the stack ends here (_start, clone) */
	GG_RULE_SP,
	GG_RULE_FP,
	GG_RULE_FP_DEREF,
	GG_RULE_GENERAL, /* evaluate the whole row: gg_cfi_step_general() */
};

/* Why there is no rule. */
enum gg_rule_reason {
	GG_RULE_REASON_UNKNOWN,
	GG_RULE_REASON_NO_FDE,      /* no function that the module describes contains pc */
	GG_RULE_REASON_TRUNCATED,   /* a record, table or operand leaves its section */
	GG_RULE_REASON_BAD_CIE,     /* version or augmentation that nobody defines */
	GG_RULE_REASON_BAD_POINTER, /* encoding that an FDE cannot have */
	GG_RULE_REASON_BAD_OPCODE,
	GG_RULE_REASON_BAD_STATE, /* restore without remember, offset without CFA register, ... */
	GG_RULE_REASON_TOO_DEEP,  /* states remembered in each other: GG_CFI_REMEMBER_MAX */
	GG_RULE_REASON_TOO_LONG,  /* more records or instructions than are looked at */
	GG_RULE_REASON_RANGE,     /* an offset or register number beyond what a row holds */
	GG_RULE_REASON_NO_CFA,    /* the row does not define one */
	GG_RULE_REASON_NO_RA,     /* nor where the return address is */
	GG_RULE_REASON_COUNT
};

/* Flags. */
enum {
	/*
	 * A signal trampoline: what it returns to was interrupted, not calling.  Look that pc up as
	 * it is; behind any other frame look up pc - 1, since a call may be a function's last byte.
	 */
	GG_RULE_SIGNAL = 1,
	GG_RULE_RA_SIGNED = 2, /* aarch64: strip the authentication code of the return address */
};

/* In ra_words and fp_words: not saved. */
#define GG_RULE_SAME INT16_MIN

struct gg_unwind_rule {
	int16_t ra_words;       /* in 8 bytes, from the CFA; or GG_RULE_SAME */
	int16_t fp_words;       /* in 8 bytes, from what the kind says; or GG_RULE_SAME */
	int32_t cfa_bytes : 24; /* within +-8 MiB; NONE: the reason */
	uint32_t kind : 4;      /* enum gg_rule_kind */
	uint32_t flags : 4;
} __attribute__((aligned(8)));

_Static_assert(sizeof(struct gg_unwind_rule) == 8, "one rule is one atomic word");

/* The rule as a word and back, for tables that store it atomically. */
static inline uint64_t gg_rule_to_word(struct gg_unwind_rule rule)
{
	uint64_t word;

	memcpy(&word, &rule, sizeof(word));
	return word;
}

static inline struct gg_unwind_rule gg_rule_from_word(uint64_t word)
{
	struct gg_unwind_rule rule;

	memcpy(&rule, &word, sizeof(rule));
	return rule;
}
