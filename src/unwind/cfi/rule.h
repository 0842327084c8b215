/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule - describes in 8 bytes how to get from a frame to its caller.
 *
 * Call frame information is a small program for each function.  Run up to a pc, it gives a row: how
 * to compute the CFA (the value of the stack pointer before the call), and where each register was
 * saved.  A walk needs only pc, stack pointer, and frame register (rbp, x29).  Nearly all rows fit
 * these kinds (docs/internals/UNWINDING.md has the counts); the remaining rows are GENERAL.
 *
 *   kind       CFA                     saved frame register at      return address at
 *   SP         sp + cfa_bytes          CFA + 8 * fp_words           CFA + 8 * ra_words
 *   FP         fp + cfa_bytes          CFA + 8 * fp_words           CFA + 8 * ra_words
 *   FP_DEREF   *(fp + cfa_bytes)       fp  + 8 * fp_words           CFA + 8 * ra_words
 *
 * The caller's sp is the CFA.  fp_words == GG_RULE_SAME: the register still holds its caller's
 * value. ra_words == GG_RULE_SAME: the return address is still in the link register (leaf functions
 * of aarch64).
 *
 * FP_DEREF describes the body of a function that realigned its stack: gcc keeps the CFA in a slot.
 * A PLT entry has an SP rule: its CFA depends only on pc, and pc is known.
 *
 * Invariant  All-zero is a valid rule: NONE, without a reason.
 * Threads    A plain value.  It has 8 bytes and is aligned to 8, so that one atomic access moves it
 *            whole.
 */
#pragma once

#include <stdint.h>
#include <string.h>

enum gg_rule_kind {
	GG_RULE_NONE,      /* no usable CFI; cfa_bytes has the enum gg_rule_reason */
	GG_RULE_OUTERMOST, /* return address undefined: the stack ends here (_start, clone) */
	GG_RULE_SP,
	GG_RULE_FP,
	GG_RULE_FP_DEREF,
	GG_RULE_GENERAL, /* evaluate the whole row: gg_cfi_step_general() */
};

/* The reason of a rule NONE. */
enum gg_rule_reason {
	GG_RULE_REASON_UNKNOWN,
	GG_RULE_REASON_NO_FDE,      /* no function that the module describes contains pc */
	GG_RULE_REASON_TRUNCATED,   /* a record, table or operand leaves its section */
	GG_RULE_REASON_BAD_CIE,     /* a version or augmentation that no standard defines */
	GG_RULE_REASON_BAD_POINTER, /* an encoding that an FDE cannot have */
	GG_RULE_REASON_BAD_OPCODE,
	/* Such as restore without remember, or an offset without a CFA register. */
	GG_RULE_REASON_BAD_STATE,
	GG_RULE_REASON_TOO_DEEP, /* more than GG_CFI_REMEMBER_MAX nested states */
	GG_RULE_REASON_TOO_LONG, /* more than GG_CFI_RECORDS_MAX or GG_CFI_INSTRUCTIONS_MAX */
	GG_RULE_REASON_RANGE,    /* an offset or register number that a row cannot hold */
	GG_RULE_REASON_NO_CFA,   /* the row does not define a CFA */
	GG_RULE_REASON_NO_RA,    /* the row does not define the return address */
	GG_RULE_REASON_COUNT
};

/* Flags. */
enum {
	/*
	 * A signal trampoline.  It returns to an interrupted instruction, whose pc must be looked
	 * up as it is.  After any other frame, look up pc - 1, because a call may be the last bytes
	 * of a function.
	 */
	GG_RULE_SIGNAL = 1,
	GG_RULE_RA_SIGNED = 2, /* aarch64: the return address has an authentication code to strip */
};

/* In ra_words and fp_words: the register was not saved. */
#define GG_RULE_SAME INT16_MIN

struct gg_unwind_rule {
	int16_t ra_words; /* in 8 bytes, from the CFA; or GG_RULE_SAME */
	/* In 8 bytes, from the CFA or fp (see the table above); or GG_RULE_SAME. */
	int16_t fp_words;
	int32_t cfa_bytes : 24; /* within +-8 MiB; for NONE: the reason */
	uint32_t kind : 4;      /* enum gg_rule_kind */
	uint32_t flags : 4;
} __attribute__((aligned(8)));

_Static_assert(sizeof(struct gg_unwind_rule) == 8, "one rule is one atomic word");

/* Converts a rule to a word and back, for tables that store it atomically. */
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
