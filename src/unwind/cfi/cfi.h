/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi - call frame information (.eh_frame) compiled into rules.
 *
 *   struct gg_cfi_module module;
 *
 *   if (gg_cfi_module_from_memory(&module, elf_header, map_bytes) == 0) {
 *           struct gg_unwind_rule rule = gg_cfi_rule_at(&module, pc, NULL);
 *           ...
 *   }
 *
 * Runs inside the profiled program on the sample path.  Never allocates, locks, or calls the
 * system; imports memcpy and memset alone; all state is on the stack, under 4 KiB (checked by
 * tests/unit/test_unwind_cfi_rule.c).  Time is bounded by log2 of the
 * number of functions (without a search table: GG_CFI_RECORDS_MAX records) and
 * GG_CFI_INSTRUCTIONS_MAX.
 *
 * The sections may be hostile: every read is checked against the module's bounds before it is
 * made, every loop has a bound, and what cannot be understood is a rule of kind NONE with a reason.
 *
 * Two addresses  `bytes` is where a section can be read, `address` what the module itself calls its
 *                first byte.  In a running program both are the same; for a file the addresses are
 *                those it was linked for.  All pcs here are of the second kind.
 * Formats        docs/internals/UNWINDING.md; opcodes by DWARF 5 section 6.4, sections by the LSB.
 * Threads        any; also in signal handlers.  A module is never written after it was filled.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cfi/rule.h"

enum gg_cfi_arch {
	GG_CFI_X86_64,
	GG_CFI_AARCH64,
};

/* This machine's.  (On any other than the two, no module in memory is of it: -ENOEXEC.) */
#ifdef __aarch64__
#define GG_CFI_HOST_ARCH GG_CFI_AARCH64
#else
#define GG_CFI_HOST_ARCH GG_CFI_X86_64
#endif

/* DWARF register numbers of both architectures that matter here. */
enum {
	GG_X86_64_RBP = 6,
	GG_X86_64_RSP = 7,
	GG_X86_64_RA = 16,
	GG_AARCH64_X29 = 29,
	GG_AARCH64_X30 = 30,
	GG_AARCH64_SP = 31,
};

enum {
	GG_CFI_REGISTERS = 33,        /* rows keep registers 0..32; vector registers are skipped */
	GG_CFI_REMEMBER_MAX = 4,      /* DW_CFA_remember_state in each other */
	GG_CFI_RECORDS_MAX = 1 << 20, /* looked at in a module without a table */
	GG_CFI_INSTRUCTIONS_MAX = 1 << 18, /* of one function's program, or of its CIE's */
	GG_CFI_EXPRESSION_STEPS_MAX = 256,
};

/* Readable bytes and the address that they have in the module. */
struct gg_cfi_section {
	const uint8_t *bytes;
	size_t size_bytes;
	uint64_t address;
};

struct gg_cfi_module {
	struct gg_cfi_section eh_frame;     /* its end may be that of the segment that holds it */
	struct gg_cfi_section eh_frame_hdr; /* size 0: none, every look-up is linear */
	uint64_t text_base;                 /* of DW_EH_PE_textrel pointers; 0: none */
	uint64_t data_base;                 /* of DW_EH_PE_datarel in FDEs; 0: none */
	enum gg_cfi_arch arch;
};

/* A half-open range of pcs. */
struct gg_cfi_range {
	uint64_t begin, end;
};

/*
 * Fills the module from the ELF header and program headers of a module as it lies in memory, e.g.
 * dlfo_map_start of _dl_find_object() or AT_SYSINFO_EHDR.  map_bytes: how much from there is the
 * module's; nothing outside its readable segments is read later.  0, or -ENOEXEC (no ELF file of
 * this architecture, or damaged), or -ENOENT (it has no .eh_frame_hdr); *ret_module untouched then.
 */
int gg_cfi_module_from_memory(struct gg_cfi_module *ret_module, const void *elf_header,
                              size_t map_bytes);

/* The same from a whole ELF file in memory, of either architecture; pcs are those it was linked for. */
int gg_cfi_module_from_file(struct gg_cfi_module *ret_module, const void *file, size_t file_bytes);

/*
 * The rule that holds at pc.  Never fails: the kind says what was found.  *ret_range (may be NULL):
 * the pcs around it that have the same rule; pc alone for NONE.
 */
struct gg_unwind_rule gg_cfi_rule_at(const struct gg_cfi_module *module, uint64_t pc,
                                     struct gg_cfi_range *ret_range);

/* How a row gives one value of the caller: a register's, or the CFA. */
enum gg_cfi_how {
	GG_CFI_UNSPECIFIED,    /* no rule: as SAME for registers that calls preserve */
	GG_CFI_UNDEFINED,      /* lost */
	GG_CFI_SAME,           /* unchanged */
	GG_CFI_OFFSET,         /* saved at CFA + value */
	GG_CFI_VAL_OFFSET,     /* is CFA + value; of the CFA itself: register + value */
	GG_CFI_REGISTER,       /* is in register `value` */
	GG_CFI_EXPRESSION,     /* saved at the expression's result */
	GG_CFI_VAL_EXPRESSION, /* is the expression's result */
};

struct gg_cfi_value {
	int32_t value;   /* bytes, a register; expressions: offset of their block in .eh_frame */
	uint16_t base;   /* the CFA's register, for VAL_OFFSET */
	uint8_t how;     /* enum gg_cfi_how */
	uint8_t padding; /* 0 */
};

/* What the CFI program computes: one line of its table. */
struct gg_cfi_state {
	struct gg_cfi_value cfa; /* VAL_OFFSET, VAL_EXPRESSION or UNSPECIFIED */
	struct gg_cfi_value registers[GG_CFI_REGISTERS];
	bool ra_signed; /* aarch64: DW_CFA_AARCH64_negate_ra_state */
};

/* All that is known at a pc. */
struct gg_cfi_row {
	struct gg_cfi_range range;    /* of the row */
	struct gg_cfi_range function; /* of the FDE */
	struct gg_cfi_state state;
	uint16_t ra_register; /* column of the return address; < GG_CFI_REGISTERS */
	uint8_t flags;        /* GG_RULE_SIGNAL, GG_RULE_RA_SIGNED */
};

/* The row that holds at pc.  GG_RULE_REASON_UNKNOWN (0): found; else why not, *ret_row undefined. */
enum gg_rule_reason gg_cfi_row_at(const struct gg_cfi_module *module, uint64_t pc,
                                  struct gg_cfi_row *ret_row);

/* The rule that says the same as the row; GENERAL if none does. */
struct gg_unwind_rule gg_cfi_rule_of_row(const struct gg_cfi_module *module,
                                         const struct gg_cfi_row *row, uint64_t pc,
                                         struct gg_cfi_range *ret_range);

/* Registers of one frame by their DWARF numbers. */
struct gg_cfi_registers {
	uint64_t value[GG_CFI_REGISTERS];
	uint64_t known; /* bit r: value[r] is known */
	uint64_t pc;
};

/* The only memory that a step may read: addresses [low, high), to be found at bytes. */
struct gg_cfi_stack {
	uint64_t low, high;
	const uint8_t *bytes; /* (const uint8_t *)low, unless the stack is a copy */
};

enum gg_cfi_step {
	GG_CFI_STEP_OK,        /* the registers are the caller's */
	GG_CFI_STEP_OUTERMOST, /* there is no caller */
	GG_CFI_STEP_NO_CFI,    /* no row at that pc */
	GG_CFI_STEP_UNKNOWN,   /* the row needs a register that is not known */
	GG_CFI_STEP_BAD_READ,  /* it needs memory outside the stack */
	GG_CFI_STEP_BAD_EXPRESSION,
};

/*
 * One step by the whole row at lookup_pc (registers->pc, or pc - 1 behind a call).  On OK the
 * registers are those of the caller: value[sp] is the CFA unless the row says otherwise, pc the
 * return address as it was saved (authentication code and all), *ret_flags (may be NULL) that of
 * the row.  Registers that the row does not mention keep their values, as unwinders have it; one
 * that cannot be recovered is not known from then on: only CFA, sp and pc must be.  Unless OK the
 * registers are untouched.  Does not check that the CFA grows: signal frames change stacks.
 */
enum gg_cfi_step gg_cfi_step_general(const struct gg_cfi_module *module, uint64_t lookup_pc,
                                     const struct gg_cfi_stack *stack,
                                     struct gg_cfi_registers *registers, uint8_t *ret_flags);

/* The same by a row that is already at hand. */
enum gg_cfi_step gg_cfi_step_row(const struct gg_cfi_module *module, const struct gg_cfi_row *row,
                                 const struct gg_cfi_stack *stack,
                                 struct gg_cfi_registers *registers);

/*
 * Walks the functions in the order of the section, for tools and tests; *position starts at 0.
 * Those that are empty, dropped by the linker, or described by a record that cannot be read are
 * passed over.  False at the end of the section, at its end mark, or where lengths do not add up.
 */
bool gg_cfi_next_function(const struct gg_cfi_module *module, size_t *position,
                          struct gg_cfi_range *ret_function);

/* "no function contains it" and so on; a static text. */
const char *gg_rule_reason_text(enum gg_rule_reason reason);
