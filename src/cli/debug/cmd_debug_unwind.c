/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_debug_unwind - `geiger debug unwind`: shows the rules for walking a stack through a file.
 *
 * A rule says how to find the caller's frame at an instruction.  The agent compiles rules from the
 * call frame information (CFI) of each file.  With a symbol or an address the command shows rules;
 * with a file alone it counts them by kind, which shows how much of the code the fast path covers.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "cli/command.h"
#include "cli/debug/debug.h"
#include "cli/debug/unwind_demo.h"
#include "report/text_table.h"
#include "unwind/cfi/cfi_file.h"
#include "unwind/cfi/cfi_text.h"

/* --- unwind ------------------------------------------------------------------------------- */

static const char *arch_name(enum gg_cfi_arch arch)
{
	return arch == GG_CFI_AARCH64 ? "aarch64" : "x86-64";
}

static void add_columns(struct gg_text_table *table)
{
	gg_text_table_column(table, GG_ALIGN_LEFT, "from");
	gg_text_table_column(table, GG_ALIGN_LEFT, "to");
	gg_text_table_column(table, GG_ALIGN_LEFT, "kind");
	gg_text_table_column(table, GG_ALIGN_LEFT, "rule");
}

/*
 * Adds the rule at pc as a row of the table.  Returns the end of the range in which the rule is
 * valid.
 */
static uint64_t add_rule(struct gg_text_table *table, const struct gg_cfi_file *file, uint64_t pc)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_cfi_range range;
	struct gg_unwind_rule rule = gg_cfi_rule_at(&file->module, pc, &range);
	struct gg_cfi_row row;

	/* A general rule has no compact form, so the table shows its whole row of CFI. */
	if (rule.kind == GG_RULE_GENERAL && gg_cfi_row_at(&file->module, pc, &row) == 0)
		gg_cfi_text_row(&text, &file->module, &row);
	else
		gg_cfi_text_rule(&text, file->module.arch, rule);
	gg_text_table_cell(table, "%#" PRIx64, range.begin);
	gg_text_table_cell(table, "%#" PRIx64, range.end);
	gg_text_table_cell(table, "%s", gg_rule_kind_text((enum gg_rule_kind)rule.kind));
	gg_text_table_cell(table, "%s", gg_buf_text(&text));
	return range.end;
}

static int print_pc(const struct gg_invocation *invocation, const struct gg_cfi_file *file,
                    uint64_t pc)
{
	GG_CLEANUP(gg_text_table_done) struct gg_text_table table = { 0 };
	struct gg_cfi_symbol symbol;

	printf("%#" PRIx64, pc);
	if (gg_cfi_file_symbol_at(file, pc, &symbol) == 0)
		printf(" is %s + %#" PRIx64, GG_PRINTABLE(symbol.name), pc - symbol.range.begin);
	printf("\n");
	add_columns(&table);
	add_rule(&table, file, pc);
	return gg_text_table_print(&table, &invocation->style, stdout);
}

static int print_symbol(const struct gg_invocation *invocation, const struct gg_cfi_file *file,
                        const struct gg_cfi_symbol *symbol)
{
	GG_CLEANUP(gg_text_table_done) struct gg_text_table table = { 0 };
	uint64_t pc = symbol->range.begin, end = symbol->range.end;
	struct gg_cfi_row row;

	/*
	 * Assembler functions may have no size in the symbol table.  Then their CFI tells the end.
	 */
	if (end <= pc)
		end = gg_cfi_row_at(&file->module, pc, &row) == 0 ? row.function.end : pc + 1;
	printf("%s is %#" PRIx64 "..%#" PRIx64 "\n", GG_PRINTABLE(symbol->name), pc, end);
	add_columns(&table);
	while (pc < end) {
		bool has_row = gg_cfi_row_at(&file->module, pc, &row) == 0;

		pc = add_rule(&table, file, pc);
		if (!has_row) /* without CFI the end of the gap is unknown */
			break;
	}
	return gg_text_table_print(&table, &invocation->style, stdout);
}

struct summary {
	uint64_t functions, rows, kinds[GG_RULE_GENERAL + 1], reasons[GG_RULE_REASON_COUNT];
};

/*
 * Compiles all rules of the file and counts them.  The ranges of a function's rules follow one
 * another.
 */
static void count_rows(const struct gg_cfi_module *module, struct summary *summary)
{
	struct gg_cfi_range function, range;
	size_t position = 0;

	while (gg_cfi_next_function(module, &position, &function)) {
		summary->functions++;
		for (uint64_t pc = function.begin; pc < function.end; pc = range.end) {
			struct gg_unwind_rule rule = gg_cfi_rule_at(module, pc, &range);

			summary->rows++;
			summary->kinds[rule.kind]++;
			if (rule.kind == GG_RULE_NONE) {
				summary->reasons[rule.cfa_bytes]++;
				break; /* covers one pc; the rest of the function is lost */
			}
		}
	}
}

static int print_reasons(const struct gg_invocation *invocation, const struct summary *s)
{
	GG_CLEANUP(gg_text_table_done) struct gg_text_table table = { 0 };

	printf("\n");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "functions");
	gg_text_table_column(&table, GG_ALIGN_LEFT, "whose rules could not be compiled, and why");
	for (unsigned reason = 0; reason < GG_RULE_REASON_COUNT; reason++) {
		if (s->reasons[reason] == 0)
			continue;
		gg_text_table_cell(&table, "%" PRIu64, s->reasons[reason]);
		gg_text_table_cell(&table, "%s", gg_rule_reason_text((enum gg_rule_reason)reason));
	}
	return gg_text_table_print(&table, &invocation->style, stdout);
}

static int print_summary(const struct gg_invocation *invocation, const struct gg_cfi_file *file)
{
	GG_CLEANUP(gg_text_table_done) struct gg_text_table table = { 0 };
	struct summary s = { 0 };
	int status;

	count_rows(&file->module, &s);
	printf("%s, %" PRIu64 " functions, %" PRIu64 " rules\n", arch_name(file->module.arch),
	       s.functions, s.rows);
	gg_text_table_column(&table, GG_ALIGN_LEFT, "kind");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "rules");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "share");
	for (unsigned kind = GG_RULE_OUTERMOST; kind <= GG_RULE_GENERAL; kind++) {
		gg_text_table_cell(&table, "%s", gg_rule_kind_text((enum gg_rule_kind)kind));
		gg_text_table_cell(&table, "%" PRIu64, s.kinds[kind]);
		gg_text_table_cell(&table, "%.3f%%",
		                   s.rows > 0 ? 100.0 * (double)s.kinds[kind] / (double)s.rows : 0);
	}
	status = gg_text_table_print(&table, &invocation->style, stdout);
	return status == 0 && s.kinds[GG_RULE_NONE] > 0 ? print_reasons(invocation, &s) : status;
}

/* Parses a pc such as "0x1234".  Any other operand is the name of a symbol. */
static bool parse_pc(const char *text, uint64_t *ret_pc)
{
	char *end;

	if (strncmp(text, "0x", 2) != 0)
		return false;
	errno = 0;
	*ret_pc = strtoull(text, &end, 16);
	return errno == 0 && end != text + 2 && *end == '\0';
}

static int show_operand(const struct gg_invocation *invocation, const struct gg_cfi_file *file,
                        const char *operand)
{
	struct gg_cfi_symbol symbol;
	uint64_t pc;

	if (parse_pc(operand, &pc))
		return print_pc(invocation, file, pc);
	if (gg_cfi_file_find(file, operand, &symbol) < 0)
		return gg_error_set(invocation->error, -ENOENT, invocation->operands[0],
		                    "Give a name of its symbol table, or a pc such as 0x1234.",
		                    "it has no function '%s'", operand);
	return print_symbol(invocation, file, &symbol);
}

struct unwind_options {
	bool demo;
};

static const struct gg_option unwind_option_table[] = {
	{ "demo", 0, GG_OPTION_FLAG, offsetof(struct unwind_options, demo), NULL,
	  "walk a stack that has a bit of everything" },
	GG_OPTIONS_END,
};

static int run_unwind(struct gg_invocation *invocation)
{
	const struct unwind_options *options = invocation->options;
	GG_CLEANUP(gg_cfi_file_close) struct gg_cfi_file file = { 0 };
	int status;

	if (options->demo && invocation->operand_count > 0)
		return gg_error_set(invocation->error, -EINVAL, "debug unwind", NULL,
		                    "--demo looks at no file");
	if (options->demo)
		return gg_unwind_demo_run(invocation);
	if (invocation->operand_count == 0)
		return gg_error_set(invocation->error, -EINVAL, "debug unwind",
		                    "Name an ELF file, e.g. /bin/ls.", "no file given");
	status = gg_cfi_file_open(&file, invocation->operands[0], invocation->error);
	if (status < 0)
		return status;
	if (invocation->operand_count == 1)
		status = print_summary(invocation, &file);
	for (int i = 1; i < invocation->operand_count && status == 0; i++)
		status = show_operand(invocation, &file, invocation->operands[i]);
	if (status == -ENOMEM)
		gg_error_memory(invocation->error, "debug unwind");
	return status;
}

const struct gg_command gg_command_debug_unwind = {
	.name = "debug unwind",
	.summary = "show how the stack is walked through the code of a file",
	.usage = "FILE [SYMBOL|PC]... | --demo",
	.details =
		"Shows the rules to which the call frame information of an ELF file compiles: for\n"
		"each part of a function (SYMBOL), or at an address that the file was linked for\n"
		"(PC, as 0x1234).  With FILE alone: how many rules there are of each kind.\n"
		"\n"
		"  sp, fp     CFA = stack pointer or frame register + offset\n"
		"  fp-deref   the CFA is in a slot of the frame: the stack was realigned\n"
		"  outermost  the stack ends there\n"
		"  general    anything else, spelled out; walked by a slower path\n"
		"  none       no rule, and why\n"
		"\n"
		"The CFA is the value of the stack pointer before the call.\n",
	.options = unwind_option_table,
	.options_size = sizeof(struct unwind_options),
	.max_operands = -1,
	.run = run_unwind,
};

/* --- the family --------------------------------------------------------------------------- */
