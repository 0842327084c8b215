/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf - reads the DWARF of a file unit by unit, and answers the addresses of each. */
#include "symbol/dwarf/dwarf.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/binary_search.h"
#include "symbol/dwarf/dwarf_scope.h"

/* The limit of libdw's memory, counted in lines: libdw frees nothing before it is closed. */
enum { REOPEN_AFTER_LINES = 1 << 21 };

/* The state while one file's DWARF is read. */
struct reader {
	Elf *elf, *alt_elf;
	Dwarf *dwarf, *alt;
	size_t lines_read; /* since libdw was opened */
	struct gg_module_symbols *answers;
	struct gg_dwarf_scopes scopes;
	struct gg_dwarf_parents parents;
	bool *has_function; /* for each address: its function is known, so it needs no other unit */
	bool is_incomplete;
	bool saw_unit_without_ranges;
	uint64_t *done_count;
};

static bool open_dwarf(struct reader *reader)
{
	reader->dwarf = dwarf_begin_elf(reader->elf, DWARF_C_READ, NULL);
	if (reader->dwarf == NULL)
		return false;
	if (reader->alt_elf != NULL) {
		reader->alt = dwarf_begin_elf(reader->alt_elf, DWARF_C_READ, NULL);
		if (reader->alt == NULL) { /* else libdw would search for another file by itself */
			dwarf_end(reader->dwarf);
			reader->dwarf = NULL;
			return false;
		}
		dwarf_setalt(reader->dwarf, reader->alt);
	}
	reader->lines_read = 0;
	return true;
}

static void close_dwarf(struct reader *reader)
{
	gg_dwarf_parents_done(&reader->parents);
	dwarf_end(reader->dwarf);
	dwarf_end(reader->alt);
	reader->dwarf = reader->alt = NULL;
}

/* --- one address -------------------------------------------------------------------------- */

/* A unit while its addresses get their answers. */
struct dwarf_unit {
	Dwarf_Lines *lines;
	size_t line_count;
	Dwarf_Files *files;      /* files of the line table */
	Dwarf_Files *call_files; /* of DW_AT_call_file; split DWARF has its own */
};

/* True if line `index` begins at or before the address. */
static bool begins_until(const struct dwarf_unit *unit, size_t index, uint64_t address)
{
	Dwarf_Addr begin;

	return dwarf_lineaddr(dwarf_onesrcline(unit->lines, index), &begin) == 0 &&
	       begin <= address;
}

/*
 * Returns the last line that begins at or before the address, or NULL if the line's sequence has
 * ended there.
 */
static Dwarf_Line *find_line(const struct dwarf_unit *unit, uint64_t address)
{
	size_t next;
	Dwarf_Line *line;
	bool is_end;

	next = gg_lower_bound(0, unit->line_count, i, begins_until(unit, i, address));
	if (next == 0)
		return NULL;
	line = dwarf_onesrcline(unit->lines, next - 1);
	if (dwarf_lineendsequence(line, &is_end) < 0 || is_end)
		return NULL;
	return line;
}

static void set_line(struct reader *reader, const Dwarf_Line *line, struct gg_blob_frame *frame)
{
	int number;

	if (line == NULL)
		return;
	frame->file = gg_blob_intern(&reader->answers->builder,
	                             dwarf_linesrc((Dwarf_Line *)line, NULL, NULL));
	if (dwarf_lineno((Dwarf_Line *)line, &number) == 0 && number > 0)
		frame->line = (uint32_t)number;
}

/* Sets the file and line at which the caller of an inlined function calls it. */
static void set_call_site(struct reader *reader, const struct dwarf_unit *unit,
                          struct gg_dwarf_scope *scope, struct gg_blob_frame *frame)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (unit->call_files != NULL &&
	    dwarf_formudata(dwarf_attr(&scope->die, DW_AT_call_file, &attribute), &value) == 0)
		frame->file = gg_blob_intern(&reader->answers->builder,
		                             dwarf_filesrc(unit->call_files, value, NULL, NULL));
	if (dwarf_formudata(dwarf_attr(&scope->die, DW_AT_call_line, &attribute), &value) == 0 &&
	    value <= UINT32_MAX)
		frame->line = (uint32_t)value;
}

/*
 * Builds the frames of one address, from the innermost scope outward.  The line table gives the
 * place of the innermost frame.  The place of each further frame is the call site that the inlined
 * scope inside it has.
 */
static void answer(struct reader *reader, const struct dwarf_unit *unit, size_t index)
{
	struct gg_module_symbols *answers = reader->answers;
	Dwarf_Line *line = find_line(unit, answers->addresses[index]);
	struct gg_dwarf_scope *scope = reader->scopes.of_address[index];
	struct gg_blob_frame frame = { 0 };

	/*
	 * Without a scope, a line alone must not replace an earlier answer.  If there is no answer
	 * yet, the loop is skipped and the frame has only a line; the symbol table may add the
	 * function.
	 */
	if (scope == NULL && (line == NULL || answers->answers[index].frame_count > 0))
		return;
	gg_module_symbols_begin(answers, index);
	set_line(reader, line, &frame);
	for (; scope != NULL; scope = scope->parent) {
		struct gg_symbol_answer_name name = gg_dwarf_scope_name(scope, answers,
		                                                        &reader->parents);

		frame.function = name.function;
		frame.full_name = name.full_name;
		frame.linkage_name = name.linkage_name;
		frame.inlined = scope->parent != NULL;
		gg_module_symbols_add(answers, index, &frame);
		reader->has_function[index] = true;
		if (scope->parent == NULL)
			return;
		frame = (struct gg_blob_frame){ 0 };
		set_call_site(reader, unit, scope, &frame);
	}
	gg_module_symbols_add(answers, index, &frame);
}

/* --- one unit ----------------------------------------------------------------------------- */

/*
 * Marks the addresses in [begin, end) that still need a function.  Widens [low, high) to the
 * indices of all marked addresses, so that later loops skip the rest of the array.  Returns true if
 * it marked any.
 */
static bool mark_range(const struct gg_module_symbols *answers, const bool *has_function,
                       uint64_t begin, uint64_t end, bool *marked, size_t *low, size_t *high)
{
	bool any = false;

	for (size_t i = gg_dwarf_scopes_lower_bound(answers->addresses, answers->count, begin);
	     i < answers->count && answers->addresses[i] < end; i++) {
		if (has_function[i])
			continue;
		marked[i] = any = true;
		if (i < *low)
			*low = i;
		if (i + 1 > *high)
			*high = i + 1;
	}
	return any;
}

/*
 * Finds the tree of a unit.  Split DWARF keeps it in a .dwo file; the skeleton in the main file has
 * only the ranges and the lines.  Returns false if that file is missing.
 */
static bool find_tree(struct reader *reader, Dwarf_Die *die, Dwarf_Die *ret_tree)
{
	Dwarf_Die split = { 0 };
	uint8_t type = 0;

	*ret_tree = *die;
	if (dwarf_cu_info(die->cu, NULL, &type, NULL, &split, NULL, NULL, NULL) != 0 ||
	    type != DW_UT_skeleton)
		return true;
	if (split.addr == NULL) {
		reader->is_incomplete = true;
		return false;
	}
	*ret_tree = split;
	return true;
}

/* True if the first walk left marked addresses without a scope. */
static bool wants_second_walk(const struct reader *reader, const bool *marked, size_t low,
                              size_t high)
{
	for (size_t i = low; i < high; i++)
		if (marked[i] && reader->scopes.of_address[i] == NULL)
			return true;
	return false;
}

/* Answers the marked addresses of one unit, and clears their marks for the next unit. */
static void read_unit(struct reader *reader, Dwarf_Die *die, bool *marked, size_t low, size_t high)
{
	struct dwarf_unit unit = { 0 };
	Dwarf_Die tree;
	size_t file_count, done_count = 0;

	gg_assert(low < high && high <= reader->answers->count);
	reader->scopes.low = low;
	reader->scopes.high = high;
	reader->scopes.marked = marked;
	if (dwarf_getsrclines(die, &unit.lines, &unit.line_count) < 0)
		unit.line_count = 0;
	reader->lines_read += unit.line_count;
	if (find_tree(reader, die, &tree)) {
		if (dwarf_getsrcfiles(&tree, &unit.call_files, &file_count) < 0)
			unit.call_files = NULL;
		gg_dwarf_scopes_walk(&reader->scopes, &tree, false);
		if (wants_second_walk(reader, marked, low, high))
			gg_dwarf_scopes_walk(&reader->scopes, &tree, true);
	}
	for (size_t i = low; i < high; i++) {
		if (marked[i]) {
			answer(reader, &unit, i);
			done_count += reader->has_function[i];
		}
		marked[i] = false;
	}
	gg_dwarf_scopes_clear(&reader->scopes, low, high);
	gg_add_relaxed(reader->done_count, done_count); /* see worker.h */
}

/*
 * Reads the unit at `die` if it covers addresses that need an answer.  A unit without ranges does
 * not say where its code is.  Such units are read only if `blindly`, and then for all remaining
 * addresses.
 */
static void try_unit(struct reader *reader, Dwarf_Die *die, bool *marked, bool blindly)
{
	const struct gg_module_symbols *answers = reader->answers;
	size_t low = SIZE_MAX, high = 0;
	Dwarf_Addr base, begin, end;
	ptrdiff_t offset = 0;
	int tag = dwarf_tag(die);
	bool has_ranges = false;

	if (tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit)
		return;
	while ((offset = dwarf_ranges(die, offset, &base, &begin, &end)) > 0) {
		has_ranges = true;
		if (!blindly && gg_dwarf_scopes_is_real_range(begin, end))
			mark_range(answers, reader->has_function, begin, end, marked, &low, &high);
	}
	if (!has_ranges && dwarf_haschildren(die) == 1) {
		reader->saw_unit_without_ranges = true;
		if (blindly)
			mark_range(answers, reader->has_function, 0, UINT64_MAX, marked, &low,
			           &high);
	}
	if (low < high)
		read_unit(reader, die, marked, low, high);
}

/* --- all units ---------------------------------------------------------------------------- */

static void walk_units(struct reader *reader, bool *marked, bool blindly)
{
	Dwarf_Off at = 0, next;
	size_t header_bytes;
	Dwarf_Die die;

	while (dwarf_next_unit(reader->dwarf, at, &next, &header_bytes, NULL, NULL, NULL, NULL,
	                       NULL, NULL) == 0) {
		if (dwarf_offdie(reader->dwarf, at + header_bytes, &die) != NULL)
			try_unit(reader, &die, marked, blindly);
		/* A damaged header may point backward; the walk must end. */
		if (next <= at)
			break;
		at = next;
		/*
		 * Bounds the memory.  Offsets of units stay valid in the reopened file, but no
		 * pointer into it does.
		 */
		if (reader->lines_read >= REOPEN_AFTER_LINES) {
			close_dwarf(reader);
			if (!open_dwarf(reader))
				break;
		}
	}
}

static bool all_have_functions(const struct reader *reader)
{
	return memchr(reader->has_function, 0, reader->answers->count) == NULL;
}

struct gg_dwarf_result gg_dwarf_resolve(Elf *elf, Elf *alt, struct gg_module_symbols *answers,
                                        uint64_t *done_count)
{
	struct reader reader = {
		.elf = elf, .alt_elf = alt, .answers = answers, .done_count = done_count
	};
	struct gg_dwarf_result result = { 0 };
	bool *marked = calloc(answers->count + 1, sizeof(*marked));

	reader.has_function = calloc(answers->count + 1, sizeof(*reader.has_function));
	if (marked == NULL || reader.has_function == NULL ||
	    gg_dwarf_scopes_init(&reader.scopes, answers->addresses, answers->count) < 0) {
		answers->builder.failed = true;
	} else if (open_dwarf(&reader)) {
		result.has_dwarf = true;
		walk_units(&reader, marked, false);
		/*
		 * The second pass is expensive: each such unit is walked for all addresses that
		 * have no function yet.
		 */
		if (reader.dwarf != NULL && reader.saw_unit_without_ranges &&
		    !all_have_functions(&reader))
			walk_units(&reader, marked, true);
		if (reader.dwarf != NULL)
			close_dwarf(&reader);
	}
	result.is_incomplete = reader.is_incomplete;
	gg_dwarf_scopes_done(&reader.scopes);
	free(reader.has_function);
	free(marked);
	return result;
}
