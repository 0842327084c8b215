/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi - compiles call frame information (.eh_frame) into rules.
 *
 *   struct gg_cfi_module module;
 *
 *   if (gg_cfi_module_from_memory(&module, elf_header, map_bytes) == 0) {
 *           struct gg_unwind_rule rule = gg_cfi_rule_at(&module, pc, NULL);
 *           ...
 *   }
 *
 * This code runs inside the profiled program, on the sample path.  It never allocates, locks, or
 * calls the system; it imports only memcpy and memset; and all its state is on the stack, less than
 * 4 KiB (tests/unit/test_unwind_cfi_rule.c checks that).  Its time is bounded by log2 of the number
 * of functions (without a search table: by GG_CFI_RECORDS_MAX records) and by
 * GG_CFI_INSTRUCTIONS_MAX.
 *
 * The sections may be hostile.  Every read is checked against the bounds of the module before it is
 * made, and every loop has a bound.  CFI that cannot be understood becomes a rule of kind NONE with
 * a reason.
 *
 * Two addresses  `bytes` is the place where a section can be read; `address` is the address that
 *                the module itself gives to the first byte.  In a running program both are the
 *                same.  In a file, the addresses are those for which the file was linked.  All pcs
 *                here are addresses of the second kind.
 * Formats        docs/internals/UNWINDING.md; the opcodes are those of DWARF 5 section 6.4, the
 *                sections those of the LSB.
 * Threads        Any thread may call it, also in a signal handler.  Nothing writes a module after
 *                it was filled.
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

/*
 * The architecture of this machine.  On any other architecture than these two, no module in memory
 * matches it, and gg_cfi_module_from_memory() returns -ENOEXEC.
 */
#ifdef __aarch64__
#define GG_CFI_HOST_ARCH GG_CFI_AARCH64
#else
#define GG_CFI_HOST_ARCH GG_CFI_X86_64
#endif

/* The DWARF register numbers of both architectures that matter here. */
enum {
	GG_X86_64_RBP = 6,
	GG_X86_64_RSP = 7,
	GG_X86_64_RA = 16,
	GG_AARCH64_X29 = 29,
	GG_AARCH64_X30 = 30,
	GG_AARCH64_SP = 31,
};

enum {
	/* Rows keep registers 0 to 32; vector registers are skipped. */
	GG_CFI_REGISTERS = 33,
	GG_CFI_REMEMBER_MAX = 4,      /* nesting depth of DW_CFA_remember_state */
	GG_CFI_RECORDS_MAX = 1 << 20, /* the most records searched in a module without a table */
	GG_CFI_INSTRUCTIONS_MAX = 1 << 18, /* of the program of one function, or of its CIE */
	GG_CFI_EXPRESSION_STEPS_MAX = 256,
};

/* Readable bytes, and their address in the module. */
struct gg_cfi_section {
	const uint8_t *bytes;
	size_t size_bytes;
	uint64_t address;
};

struct gg_cfi_module {
	struct gg_cfi_section eh_frame; /* it may extend to the end of its segment */
	/* Size 0: the module has no table, and every look-up is linear. */
	struct gg_cfi_section eh_frame_hdr;
	uint64_t text_base; /* base of DW_EH_PE_textrel pointers; 0: none */
	uint64_t data_base; /* base of DW_EH_PE_datarel pointers in FDEs; 0: none */
	enum gg_cfi_arch arch;
};

/* A half-open range of pcs. */
struct gg_cfi_range {
	uint64_t begin, end;
};

/*
 * Fills the module from the ELF header and program headers of a module in memory, for example from
 * dlfo_map_start of _dl_find_object() or from AT_SYSINFO_EHDR.  map_bytes is the size of the
 * module's mapping from there on; later reads stay within its readable segments.  Returns 0;
 * -ENOEXEC if the memory has no ELF file of this architecture, or a damaged one; or -ENOENT if the
 * file has no .eh_frame_hdr.  On an error *ret_module is untouched.
 */
int gg_cfi_module_from_memory(struct gg_cfi_module *ret_module, const void *elf_header,
                              size_t map_bytes);

/*
 * Does the same for a copy of such memory.  `address` is that of the first byte in the process from
 * which the copy was made.  It may have gaps outside of the headers, .eh_frame_hdr and .eh_frame.
 */
int gg_cfi_module_from_copy(struct gg_cfi_module *ret_module, const void *copy, size_t bytes,
                            uint64_t address);

/*
 * Fills the module from a whole ELF file in memory, of either architecture.  Its pcs are the
 * addresses for which the file was linked.
 */
int gg_cfi_module_from_file(struct gg_cfi_module *ret_module, const void *file, size_t file_bytes);

/*
 * Returns the rule that holds at pc.  The call never fails: the kind of the rule tells the result.
 * *ret_range (may be NULL) is the range of pcs around it with the same rule; for NONE it is pc
 * alone.
 */
struct gg_unwind_rule gg_cfi_rule_at(const struct gg_cfi_module *module, uint64_t pc,
                                     struct gg_cfi_range *ret_range);

/* How a row computes one value of the caller: a register or the CFA. */
enum gg_cfi_how {
	GG_CFI_UNSPECIFIED,    /* no rule; the same as SAME for registers that calls preserve */
	GG_CFI_UNDEFINED,      /* lost */
	GG_CFI_SAME,           /* unchanged */
	GG_CFI_OFFSET,         /* saved at CFA + value */
	GG_CFI_VAL_OFFSET,     /* is CFA + value; for the CFA itself: register + value */
	GG_CFI_REGISTER,       /* is in register `value` */
	GG_CFI_EXPRESSION,     /* saved at the expression's result */
	GG_CFI_VAL_EXPRESSION, /* is the expression's result */
};

struct gg_cfi_value {
	/* Bytes, or a register, or the offset of an expression's block in .eh_frame. */
	int32_t value;
	uint16_t base;   /* the register of the CFA, for VAL_OFFSET */
	uint8_t how;     /* enum gg_cfi_how */
	uint8_t padding; /* 0 */
};

/* The result of a CFI program: one line of its table. */
struct gg_cfi_state {
	struct gg_cfi_value cfa; /* VAL_OFFSET, VAL_EXPRESSION or UNSPECIFIED */
	struct gg_cfi_value registers[GG_CFI_REGISTERS];
	bool ra_signed; /* aarch64: DW_CFA_AARCH64_negate_ra_state */
};

/* Everything that the CFI describes at a pc. */
struct gg_cfi_row {
	struct gg_cfi_range range;    /* the pcs with this row */
	struct gg_cfi_range function; /* the pcs of the FDE */
	struct gg_cfi_state state;
	uint16_t ra_register; /* column of the return address; < GG_CFI_REGISTERS */
	uint8_t flags;        /* GG_RULE_SIGNAL, GG_RULE_RA_SIGNED */
};

/*
 * Computes the row that holds at pc.  Returns GG_RULE_REASON_UNKNOWN (0) if there is one.
 * Otherwise it returns the reason, and *ret_row is undefined.
 */
enum gg_rule_reason gg_cfi_row_at(const struct gg_cfi_module *module, uint64_t pc,
                                  struct gg_cfi_row *ret_row);

/* Returns the rule that is equivalent to the row, or GENERAL if no rule is. */
struct gg_unwind_rule gg_cfi_rule_of_row(const struct gg_cfi_module *module,
                                         const struct gg_cfi_row *row, uint64_t pc,
                                         struct gg_cfi_range *ret_range);

/* The registers of one frame, by their DWARF numbers. */
struct gg_cfi_registers {
	uint64_t value[GG_CFI_REGISTERS];
	uint64_t known; /* bit r: value[r] is known */
	uint64_t pc;
};

/*
 * The only memory that a step may read: the addresses [low, high), whose contents are at `bytes`.
 */
struct gg_cfi_stack {
	uint64_t low, high;
	const uint8_t *bytes; /* (const uint8_t *)low, unless the stack is a copy */
};

enum gg_cfi_step {
	GG_CFI_STEP_OK,        /* the registers are the caller's */
	GG_CFI_STEP_OUTERMOST, /* there is no caller */
	GG_CFI_STEP_NO_CFI,    /* the module has no row at that pc */
	GG_CFI_STEP_UNKNOWN,   /* the row needs a register whose value is unknown */
	GG_CFI_STEP_BAD_READ,  /* the row needs memory outside the stack */
	GG_CFI_STEP_BAD_EXPRESSION,
};

/*
 * Makes one step by the whole row at lookup_pc: registers->pc, or pc - 1 after a call.  On OK,
 * `registers` are those of the caller: value[sp] is the CFA unless the row defines another value,
 * pc is the return address as it was saved (including an authentication code), and *ret_flags (may
 * be NULL) are the flags of the row.  Registers that the row does not mention keep their values, as
 * in other unwinders.  A register that cannot be recovered becomes unknown; only CFA, sp, and pc
 * must be recoverable.  Without OK the registers are untouched.  The function does not check that
 * the CFA grows, because signal frames change stacks.
 */
enum gg_cfi_step gg_cfi_step_general(const struct gg_cfi_module *module, uint64_t lookup_pc,
                                     const struct gg_cfi_stack *stack,
                                     struct gg_cfi_registers *registers, uint8_t *ret_flags);

/* Makes the step of gg_cfi_step_general() by a row that the caller already has. */
enum gg_cfi_step gg_cfi_step_row(const struct gg_cfi_module *module, const struct gg_cfi_row *row,
                                 const struct gg_cfi_stack *stack,
                                 struct gg_cfi_registers *registers);

/*
 * Walks the functions in the order of the section, for tools and tests.  *position starts at 0.
 * The walk skips functions that are empty, that the linker dropped, or whose record cannot be read.
 * Returns false at the end of the section, at its end mark, or if lengths do not add up.
 */
bool gg_cfi_next_function(const struct gg_cfi_module *module, size_t *position,
                          struct gg_cfi_range *ret_function);

/*
 * Finds the function that contains pc by the search table.  Returns false if no function contains
 * it, or if the module has no table.  *ret_function is then untouched.
 */
bool gg_cfi_function_at(const struct gg_cfi_module *module, uint64_t pc,
                        struct gg_cfi_range *ret_function);

/* Returns a static text, such as "unknown opcode". */
const char *gg_rule_reason_text(enum gg_rule_reason reason);
