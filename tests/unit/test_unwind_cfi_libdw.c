/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_unwind_cfi_libdw - compares the CFI compiler with elfutils, row by row.
 *
 * It does so on the largest programs of this machine.  For every row of every function, its range,
 * the CFA, and all 33 registers must be those of dwarf_cfi_addrframe().  Then both results are
 * applied to made-up registers and a made-up stack.  The compact rule, our general step, and an
 * evaluation of libdw's expressions that shares no code with ours must lead to the same caller.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hash.h"
#include "test.h"
#include "unwind/cfi/cfi_file.h"

/* A stack of words that point into its middle, so that what was read can be followed again. */
enum { STACK_WORDS = 1 << 15 };
static uint64_t stack_words[STACK_WORDS];
static const uint64_t stack_low = UINT64_C(0x7fff00000000);
static const struct gg_cfi_stack stack = { stack_low, stack_low + sizeof(stack_words),
	                                   (const uint8_t *)stack_words };

static uint64_t middle(uint64_t seed)
{
	return stack_low + sizeof(stack_words) / 4 +
	       8 * (gg_hash_integer(seed, 11) % (STACK_WORDS / 2));
}

static struct gg_cfi_registers made_up_registers(uint64_t pc)
{
	struct gg_cfi_registers registers = { .pc = pc };

	for (uint64_t i = 0; i < GG_CFI_REGISTERS; i++)
		registers.value[i] = middle(pc * GG_CFI_REGISTERS + i);
	registers.known = (UINT64_C(1) << GG_CFI_REGISTERS) - 1;
	return registers;
}

static bool load(uint64_t address, uint64_t *ret_word)
{
	uint64_t offset = address - stack_low;

	if (offset > sizeof(stack_words) - 8)
		return false;
	memcpy(ret_word, (const char *)stack_words + offset, 8);
	return true;
}

struct file_counts {
	uint64_t functions, rows, kinds[GG_RULE_GENERAL + 1], deepest, wrong;
};

/* --- libdw's side ------------------------------------------------------------------------- */

/* Evaluates libdw's operations; false if they read outside the stack. */
static bool evaluate(const Dwarf_Op *ops, size_t count, const struct gg_cfi_registers *registers,
                     enum gg_cfi_arch arch, uint64_t cfa, uint64_t *ret_value)
{
	uint64_t s[64] = { 0 };
	int top = -1;

	for (size_t i = 0; i < count; i++) {
		uint8_t atom = ops[i].atom;
		uint64_t number = atom == DW_OP_bregx ? ops[i].number
		                                      : (uint64_t)atom - DW_OP_breg0;
		uint64_t offset = atom == DW_OP_bregx ? ops[i].number2 : ops[i].number;

		if (top > 60)
			return false;
		if (atom == DW_OP_bregx || (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)) {
			bool is_pc = arch == GG_CFI_X86_64 && number == 16;

			s[++top] = (is_pc ? registers->pc : registers->value[number]) + offset;
		} else if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) {
			s[++top] = atom - DW_OP_lit0;
		} else if (atom == DW_OP_call_frame_cfa) {
			s[++top] = cfa;
		} else if (atom == DW_OP_plus_uconst) {
			s[top] += ops[i].number;
		} else if (atom == DW_OP_deref) {
			if (!load(s[top], &s[top]))
				return false;
		} else if (atom == DW_OP_stack_value) {
			continue;
		} else {
			uint64_t b = s[top--];

			if (atom == DW_OP_and)
				s[top] &= b;
			else if (atom == DW_OP_ge)
				s[top] = (int64_t)s[top] >= (int64_t)b;
			else if (atom == DW_OP_shl)
				s[top] <<= b;
			else if (atom == DW_OP_plus)
				s[top] += b;
			else if (atom == DW_OP_mul)
				s[top] *= b;
			else
				return CHECK_MSG(false, "operation 0x%x is new to this test", atom);
		}
	}
	*ret_value = s[top];
	return true;
}

/* The caller's value of a register by libdw: 1 known, 0 undefined, -1 outside the stack. */
static int recover(Dwarf_Frame *frame, int number, const struct gg_cfi_registers *registers,
                   enum gg_cfi_arch arch, uint64_t cfa, uint64_t *ret_value)
{
	Dwarf_Op memory[3], *ops;
	size_t count;

	if (dwarf_frame_register(frame, number, memory, &ops, &count) != 0)
		return 0;
	if (count == 0 && ops == NULL) {
		*ret_value = registers->value[number];
		return 1;
	}
	if (count == 0)
		return 0;
	if (ops[0].atom == DW_OP_regx) {
		*ret_value = registers->value[ops[0].number];
		return 1;
	}
	if (!evaluate(ops, count, registers, arch, cfa, ret_value))
		return -1;
	if (ops[count - 1].atom == DW_OP_stack_value)
		return 1;
	return load(*ret_value, ret_value) ? 1 : -1;
}

/* --- rows --------------------------------------------------------------------------------- */

/* Our block holds these operations, each where libdw found it. */
static bool same_block(const struct gg_cfi_module *module, const struct gg_cfi_value *rule,
                       const Dwarf_Op *ops, size_t count)
{
	const uint8_t *block = module->eh_frame.bytes + rule->value;
	size_t length = block[0];

	/* All blocks of real CFI are short: one byte of length. */
	if (length >= 0x80 || count == 0 || ops[count - 1].offset >= length)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (block[1 + ops[i].offset] != ops[i].atom)
			return false;
	}
	return true;
}

static bool same_register(const struct gg_cfi_module *module, const struct gg_cfi_value *rule,
                          Dwarf_Frame *frame, int number)
{
	Dwarf_Op memory[3], *ops;
	size_t count;
	bool is_undefined, is_same, is_value;
	int64_t offset;

	if (dwarf_frame_register(frame, number, memory, &ops, &count) != 0)
		return false;
	is_undefined = count == 0 && ops != NULL;
	is_same = count == 0 && ops == NULL;
	is_value = count > 0 && ops[count - 1].atom == DW_OP_stack_value;
	offset = count > 1 && ops[1].atom == DW_OP_plus_uconst ? (int64_t)ops[1].number : 0;
	switch (rule->how) {
	case GG_CFI_UNSPECIFIED: /* libdw fills in the ABI's default: kept, lost, sp = CFA */
		return is_undefined || is_same ||
		       (is_value && count == 2 && ops[0].atom == DW_OP_call_frame_cfa);
	case GG_CFI_UNDEFINED:
		return is_undefined;
	case GG_CFI_SAME:
		return is_same;
	case GG_CFI_OFFSET:
		return count > 0 && !is_value && ops[0].atom == DW_OP_call_frame_cfa &&
		       offset == rule->value;
	case GG_CFI_VAL_OFFSET:
		return is_value && ops[0].atom == DW_OP_call_frame_cfa && offset == rule->value;
	case GG_CFI_REGISTER:
		return count == 1 && ops[0].atom == DW_OP_regx &&
		       ops[0].number == (Dwarf_Word)rule->value;
	case GG_CFI_EXPRESSION:
		return !is_value && same_block(module, rule, ops + 1, count - 1);
	case GG_CFI_VAL_EXPRESSION:
		return is_value && same_block(module, rule, ops + 1, count - 2);
	}
	return false;
}

static bool same_cfa(const struct gg_cfi_module *module, const struct gg_cfi_value *cfa,
                     const Dwarf_Op *ops, size_t count)
{
	if (cfa->how == GG_CFI_VAL_EXPRESSION)
		return same_block(module, cfa, ops, count);
	return cfa->how == GG_CFI_VAL_OFFSET && count == 1 && ops[0].atom == DW_OP_bregx &&
	       ops[0].number == cfa->base && (int64_t)ops[0].number2 == cfa->value;
}

/* --- use ---------------------------------------------------------------------------------- */

struct caller {
	bool is_known;
	uint64_t pc, sp, fp;
};

static bool same_caller(const struct caller *a, const struct caller *b)
{
	return a->is_known == b->is_known &&
	       (!a->is_known || (a->pc == b->pc && a->sp == b->sp && a->fp == b->fp));
}

static struct caller caller_by_libdw(Dwarf_Frame *frame, int ra_column,
                                     const struct gg_cfi_registers *registers,
                                     enum gg_cfi_arch arch)
{
	bool is_arm = arch == GG_CFI_AARCH64;
	struct caller caller = { false, 0, 0, 0 };
	Dwarf_Op *ops;
	size_t count;
	uint64_t cfa;

	if (dwarf_frame_cfa(frame, &ops, &count) != 0 ||
	    !evaluate(ops, count, registers, arch, 0, &cfa))
		return caller;
	/* A column of its own (glibc's __clone for aarch64: x15) is lost by libdw's ABI table. */
	if (is_arm && ra_column != 30)
		caller.pc = registers->value[ra_column];
	else if (recover(frame, ra_column, registers, arch, cfa, &caller.pc) <= 0)
		return caller;
	caller.is_known = recover(frame, is_arm ? 31 : 7, registers, arch, cfa, &caller.sp) > 0 &&
	                  recover(frame, is_arm ? 29 : 6, registers, arch, cfa, &caller.fp) > 0;
	return caller;
}

static struct caller caller_by_step(const struct gg_cfi_module *module,
                                    const struct gg_cfi_row *row, struct gg_cfi_registers registers)
{
	bool is_arm = module->arch == GG_CFI_AARCH64;
	struct caller caller = { false, 0, 0, 0 };

	if (gg_cfi_step_row(module, row, &stack, &registers) != GG_CFI_STEP_OK)
		return caller;
	caller.is_known = true;
	caller.pc = registers.pc;
	caller.sp = registers.value[is_arm ? 31 : 7];
	caller.fp = registers.value[is_arm ? 29 : 6];
	return caller;
}

static struct caller caller_by_rule(struct gg_unwind_rule rule, enum gg_cfi_arch arch,
                                    const struct gg_cfi_registers *registers)
{
	bool is_arm = arch == GG_CFI_AARCH64;
	uint64_t sp = registers->value[is_arm ? 31 : 7], fp = registers->value[is_arm ? 29 : 6];
	struct caller caller = { true, registers->value[30], 0, fp };
	uint64_t fp_base;

	caller.sp = (rule.kind == GG_RULE_SP ? sp : fp) + (uint64_t)(int64_t)rule.cfa_bytes;
	if (rule.kind == GG_RULE_FP_DEREF)
		caller.is_known &= load(caller.sp, &caller.sp);
	fp_base = rule.kind == GG_RULE_FP_DEREF ? fp : caller.sp;
	if (rule.ra_words != GG_RULE_SAME)
		caller.is_known &= load(caller.sp + 8 * (uint64_t)(int64_t)rule.ra_words,
		                        &caller.pc);
	if (rule.fp_words != GG_RULE_SAME)
		caller.is_known &= load(fp_base + 8 * (uint64_t)(int64_t)rule.fp_words, &caller.fp);
	return caller;
}

/* --- files -------------------------------------------------------------------------------- */

/* Compares what holds at pc, and says where it ends; 0: wrong. */
static uint64_t compare_row(const struct gg_cfi_module *module, Dwarf_CFI *cfi, uint64_t pc,
                            struct file_counts *counts)
{
	struct gg_cfi_registers registers = made_up_registers(pc);
	struct caller by_libdw, by_step, by_rule;
	struct gg_cfi_range range;
	struct gg_unwind_rule rule;
	struct gg_cfi_row row;
	enum gg_rule_reason reason = gg_cfi_row_at(module, pc, &row);
	Dwarf_Frame *frame;
	Dwarf_Addr start, end;
	Dwarf_Op *ops;
	size_t count;
	bool is_signal;
	int ra_column;

	if (!CHECK_MSG(reason == GG_RULE_REASON_UNKNOWN, "%#" PRIx64 ": %s", pc,
	               gg_rule_reason_text(reason)) ||
	    !CHECK_MSG(dwarf_cfi_addrframe(cfi, pc, &frame) == 0, "%#" PRIx64 ": %s", pc,
	               dwarf_errmsg(-1)))
		return 0;
	ra_column = dwarf_frame_info(frame, &start, &end, &is_signal);
	/*
	 * After a restore_state, libdw's start is that of the remembered row.  Our rows still tile
	 * the function.
	 */
	CHECK_MSG(row.range.begin <= pc && row.range.begin >= start && row.range.end == end,
	          "%#" PRIx64 ": range", pc);
	CHECK_MSG(ra_column == row.ra_register, "%#" PRIx64 ": return address column", pc);
	CHECK_MSG(is_signal == ((row.flags & GG_RULE_SIGNAL) != 0), "%#" PRIx64 ": signal", pc);
	CHECK_MSG(dwarf_frame_cfa(frame, &ops, &count) == 0 &&
	                  same_cfa(module, &row.state.cfa, ops, count),
	          "%#" PRIx64 ": CFA", pc);
	for (int i = 0; i < GG_CFI_REGISTERS; i++)
		CHECK_MSG(same_register(module, &row.state.registers[i], frame, i),
		          "%#" PRIx64 ": register %d", pc, i);

	rule = gg_cfi_rule_of_row(module, &row, pc, &range);
	counts->rows++;
	counts->kinds[rule.kind]++;
	CHECK_MSG(rule.kind != GG_RULE_NONE, "%#" PRIx64 ": no rule", pc);
	CHECK_EQ_U64(gg_rule_to_word(gg_cfi_rule_at(module, pc, NULL)), gg_rule_to_word(rule));
	CHECK(range.begin <= pc && pc < range.end && range.begin >= start && range.end <= end);
	by_libdw = caller_by_libdw(frame, ra_column, &registers, module->arch);
	by_step = caller_by_step(module, &row, registers);
	CHECK_MSG(same_caller(&by_libdw, &by_step), "%#" PRIx64 ": general step", pc);
	if (rule.kind == GG_RULE_OUTERMOST) {
		CHECK_MSG(!by_libdw.is_known, "%#" PRIx64 ": outermost", pc);
	} else if (rule.kind != GG_RULE_GENERAL) {
		by_rule = caller_by_rule(rule, module->arch, &registers);
		CHECK_MSG(same_caller(&by_libdw, &by_rule), "%#" PRIx64 ": compact rule", pc);
	}
	free(frame);
	return range.end;
}

/* Compares the rows of every `stride`th function. */
static void compare_functions(const struct gg_cfi_module *module, Dwarf_CFI *cfi, unsigned stride,
                              struct file_counts *counts)
{
	struct gg_cfi_range function;
	size_t position = 0;

	while (gg_cfi_next_function(module, &position, &function)) {
		uint64_t pc = function.begin;

		if (counts->functions++ % stride != 0)
			continue;
		while (pc != 0 && pc < function.end)
			pc = compare_row(module, cfi, pc, counts);
		CHECK_EQ_U64(pc, function.end);
		if (test_failed && ++counts->wrong > 10)
			return;
	}
}

/* How many functions libdw finds in .eh_frame. */
static uint64_t count_functions(Elf *elf)
{
	uint64_t function_count = 0;
	Elf_Scn *section = NULL;
	size_t names;
	GElf_Shdr header;

	elf_getshdrstrndx(elf, &names);
	while ((section = elf_nextscn(elf, section)) != NULL) {
		Elf_Data *data = elf_getdata(section, NULL);
		Dwarf_Off offset = 0, next;
		Dwarf_CFI_Entry entry;

		if (gelf_getshdr(section, &header) == NULL ||
		    strcmp(elf_strptr(elf, names, header.sh_name), ".eh_frame") != 0)
			continue;
		while (dwarf_next_cfi((const unsigned char *)elf_getident(elf, NULL), data, true,
		                      offset, &next, &entry) == 0) {
			function_count += !dwarf_cfi_cie_p(&entry);
			offset = next;
		}
	}
	return function_count;
}

static void compare_file(const char *path, unsigned stride, struct file_counts *total)
{
	GG_CLEANUP(gg_cfi_file_close) struct gg_cfi_file file = { 0 };
	struct file_counts counts = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Dwarf_CFI *cfi = dwarf_getcfi_elf(elf);

	for (uint64_t i = 0; i < STACK_WORDS; i++)
		stack_words[i] = middle(i);
	if (CHECK_MSG(cfi != NULL, "%s: %s", path, dwarf_errmsg(-1)) &&
	    CHECK_EQ_I64(gg_cfi_file_open(&file, path, NULL), 0)) {
		compare_functions(&file.module, cfi, stride, &counts);
		CHECK_EQ_U64(counts.functions, count_functions(elf));
	}
	printf("%s: %" PRIu64 " functions, %" PRIu64 " rows%s: SP %" PRIu64 ", FP %" PRIu64
	       ", FP_DEREF %" PRIu64 ", outermost %" PRIu64 ", general %" PRIu64 "\n",
	       path, counts.functions, counts.rows, test_failed ? ", NOT all equal" : " equal",
	       counts.kinds[GG_RULE_SP], counts.kinds[GG_RULE_FP], counts.kinds[GG_RULE_FP_DEREF],
	       counts.kinds[GG_RULE_OUTERMOST], counts.kinds[GG_RULE_GENERAL]);
	total->functions += counts.functions;
	total->rows += counts.rows;
	dwarf_cfi_end(cfi);
	elf_end(elf);
	close(fd);
}

/* Compares the first file that matches a pattern; false if no file does. */
static bool compare_pattern(const char *pattern, unsigned stride, struct file_counts *total)
{
	glob_t found;
	bool is_there = glob(pattern, GLOB_TILDE, NULL, &found) == 0;

	elf_version(EV_CURRENT);
	if (is_there)
		compare_file(found.gl_pathv[0], stride, total);
	globfree(&found);
	return is_there;
}

#define COMPARE(pattern, stride)                                   \
	do {                                                       \
		struct file_counts total = { 0 };                  \
		if (!compare_pattern((pattern), (stride), &total)) \
			SKIP("no " pattern " here");               \
		CHECK(total.rows > 0);                             \
	} while (0)

TEST(sampled_rows_of_libc_are_those_of_libdw)
{
	COMPARE("/lib/*-linux-gnu/libc.so.6", 16);
}

TEST(every_row_of_libc_is_that_of_libdw)
{
	COMPARE("/lib/*-linux-gnu/libc.so.6", 1);
}

TEST(every_row_of_libstdcxx_is_that_of_libdw)
{
	COMPARE("/usr/lib/*-linux-gnu/libstdc++.so.6", 1);
}

TEST(every_row_of_libcrypto_is_that_of_libdw)
{
	COMPARE("/usr/lib/*-linux-gnu/libcrypto.so.3", 1);
}

TEST(every_row_of_python_is_that_of_libdw)
{
	COMPARE("/usr/bin/python3", 1);
}

TEST(every_row_of_the_c_compiler_is_that_of_libdw)
{
	COMPARE("/usr/l*/gcc/*-linux-gnu/*/cc1", 1);
}

/* clang 14 compiled it, with large stack frames and all that LLVM's own code is made of. */
TEST(every_row_of_llvm_is_that_of_libdw)
{
	COMPARE("/usr/lib/*-linux-gnu/libLLVM-*.so.1", 1);
}

/* gcc, with functions that realign their stack: FP_DEREF. */
TEST(every_row_of_a_video_codec_is_that_of_libdw)
{
	COMPARE("/usr/lib/*-linux-gnu/libx265.so.*", 1);
}

TEST(every_row_of_rustc_is_that_of_libdw)
{
	COMPARE("~/.rustup/toolchains/*/lib/librustc_driver-*.so", 1);
}

TEST(every_row_of_our_own_program_is_that_of_libdw)
{
	struct file_counts total = { 0 };
	const char *geiger = getenv("GEIGER");

	if (geiger == NULL)
		SKIP("GEIGER names no program");
	CHECK(compare_pattern(geiger, 1, &total) && total.rows > 0);
}

TEST(every_row_of_libc_for_aarch64_is_that_of_libdw)
{
	COMPARE("/usr/aarch64-linux-gnu/lib/libc.so.6", 1);
}

TEST(every_row_of_libstdcxx_for_aarch64_is_that_of_libdw)
{
	COMPARE("/usr/aarch64-linux-gnu/lib/libstdc++.so.6", 1);
}
