/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file - combines DWARF and symbol tables of a file, and writes advice about missing files.
 *
 * DWARF gives functions, inlined calls and lines.  Symbol tables cover code without DWARF, such as
 * libraries that were linked in statically, and give the linkage names that DWARF lacks.  The
 * tables of all files of the module are merged, because a stripped file, its debug file and
 * .gnu_debugdata have different symbols.  Call frame information covers functions without a symbol.
 */
#include "symbol/resolve/file.h"

#include <string.h>

#include "base/address_name.h"
#include "base/path.h"
#include "symbol/dwarf/dwarf.h"
#include "symbol/elf/debuginfod.h"
#include "symbol/elf/function_bounds.h"
#include "symbol/elf/module_files.h"
#include "symbol/elf/symtab.h"
#include "symbol/elf/sysroot_path.h"

/* --- advice ------------------------------------------------------------------------------- */

/* Appends the wanted build-id or, if any build will do, the build-id of the file that was found. */
static void append_build_id(struct gg_buf *advice, const struct gg_module_files *files)
{
	if (files->build_id_bytes == 0) {
		gg_buf_append_text(advice, "without build-id");
		return;
	}
	gg_buf_append_text(advice, "build-id ");
	gg_sysroot_path_append_hex(advice, files->build_id, files->build_id_bytes);
}

/* True if the file probably comes from a package of the system. */
static bool is_of_system(const char *path)
{
	static const char *const dirs[] = { "/usr/", "/lib", "/bin/", "/sbin/" };

	if (strncmp(path, "/usr/local/", strlen("/usr/local/")) == 0)
		return false;
	for (size_t i = 0; i < GG_COUNT(dirs); i++)
		if (strncmp(path, dirs[i], strlen(dirs[i])) == 0)
			return true;
	return false;
}

/* Says what debuginfod did, or that it could help.  Without a build-id it cannot. */
static void append_network(struct gg_buf *advice, const struct gg_worker_task *task,
                           const struct gg_module_files *files)
{
	if (files->network_failed)
		gg_buf_append_text(advice, " (debuginfod did not answer)");
	else if (files->is_too_large)
		gg_buf_append_text(advice, " (the file of debuginfod is larger than the limit)");
	else if (files->is_too_slow)
		gg_buf_append_text(advice, " (the file of debuginfod came too slowly)");
	else if (files->has_no_request_left)
		gg_buf_append_text(advice, " (geiger has no request left for debuginfod)");
	else if (task->options->offline || files->build_id_bytes == 0)
		return;
	else if (gg_debuginfod_is_wanted())
		gg_buf_append_text(advice, " (debuginfod does not have it)");
	else
		gg_buf_append_text(advice, ", or set DEBUGINFOD_URLS");
}

/* Advises on a file that was found but has no debug information. */
static void advise_debug(struct gg_buf *advice, const struct gg_worker_task *task,
                         const struct gg_module_files *files)
{
	const char *path = task->module->path;

	if (is_of_system(path))
		gg_buf_printf(advice, "install the debug symbols of %s (", gg_path_base(path));
	else
		gg_buf_printf(advice, "build %s with -g, or give its debug file by --debug-dir (",
		              gg_path_base(path));
	append_build_id(advice, files);
	gg_buf_append_text(advice, ")");
	append_network(advice, task, files);
}

/* Advises on a module whose file is missing, damaged or replaced by another build. */
static void advise_missing(struct gg_buf *advice, const struct gg_worker_task *task,
                           const struct gg_module_files *files, enum gg_symbol_status status)
{
	const struct gg_symbol_module *module = task->module;

	if (status == GG_SYMBOL_UNREADABLE) {
		gg_buf_printf(advice, "%s is not a whole ELF file", module->path);
		return;
	}
	if (status == GG_SYMBOL_MISMATCH) {
		gg_buf_printf(advice, "%s was replaced: it has ", module->path);
		gg_buf_printf(advice, "%s%s, and ",
		              files->other_build.length > 0 ? "build-id " : "no build-id",
		              gg_buf_text(&files->other_build));
		gg_buf_append_text(advice, "one ");
		append_build_id(advice, files);
		gg_buf_append_text(advice, " was loaded");
	} else {
		gg_buf_printf(advice, "%s is not here (", module->path);
		append_build_id(advice, files);
		gg_buf_append_text(advice, ")");
	}
	gg_buf_append_text(advice, "; name a folder that has it by --sysroot or --debug-dir");
	append_network(advice, task, files);
}

/* --- names -------------------------------------------------------------------------------- */

/*
 * True for the mangled name of a C++ or Rust function.  DWARF may lack the linkage name of such a
 * function, but the symbol table has it.
 */
static bool is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

/* The sources of names for functions that DWARF does not name. */
struct name_sources {
	const char *path; /* of the module */
	struct gg_symtab symtab;
	struct gg_function_bounds bounds;
	/* The last address name.  Addresses ascend, so the next one is often of that function. */
	uint64_t last_begin;
	uint32_t last_name; /* string of the answers; 0: none yet */
};

static void set_name(struct gg_blob_frame *frame, struct gg_symbol_answer_name name)
{
	frame->function = name.function;
	frame->full_name = name.full_name;
	frame->linkage_name = name.linkage_name;
}

/*
 * Improves a name from DWARF that has no linkage name.  A C++ function gets its linkage name.  A C
 * function whose name is reserved for libc gets the name by which programs call it.  Any other name
 * of C stays, because the symbol table cannot improve it.
 */
static void improve(struct gg_module_symbols *answers, const struct name_sources *sources,
                    uint64_t address, struct gg_blob_frame *frame)
{
	const char *name = gg_blob_interned(&answers->builder, frame->function);
	const char *symbol = gg_symtab_find(&sources->symtab, address, 0);

	if (symbol != NULL && !is_mangled(symbol))
		symbol = name[0] == '_'
		                 ? gg_symtab_find_public_name(&sources->symtab, address, name)
		                 : NULL;
	if (symbol != NULL)
		set_name(frame, gg_module_symbols_demangle(answers, symbol));
}

/* Returns the address name of a function, interned. */
static uint32_t name_by_address(struct gg_module_symbols *answers, struct name_sources *sources,
                                uint64_t begin)
{
	if (sources->last_name == 0 || sources->last_begin != begin) {
		gg_buf_clear(&answers->full);
		gg_address_name_append(sources->path, begin, &answers->full);
		sources->last_begin = begin;
		sources->last_name = gg_blob_intern(&answers->builder, gg_buf_text(&answers->full));
	}
	return sources->last_name;
}

/* Names a function by its symbol or, without one, by its first address.  False: it has neither. */
static bool find_name(struct gg_module_symbols *answers, struct name_sources *sources,
                      uint64_t address, struct gg_blob_frame *frame)
{
	struct gg_cfi_range function = { 0 };
	bool is_bounded = gg_function_bounds_find(&sources->bounds, address, &function);
	const char *symbol = gg_symtab_find(&sources->symtab, address, function.begin);

	if (symbol == NULL && is_bounded && function.begin != 0 &&
	    function.begin == sources->bounds.entry_address)
		symbol = "_start"; /* the linker's default; the ELF header names no other symbol */
	if (symbol != NULL) {
		set_name(frame, gg_module_symbols_demangle(answers, symbol));
	} else if (is_bounded) {
		frame->function = name_by_address(answers, sources, function.begin);
		frame->is_unnamed = 1;
	}
	return symbol != NULL || is_bounded;
}

/* Names the functions for which DWARF has no name, or only a name without its linkage name. */
static void use_names(struct gg_module_symbols *answers, struct name_sources *sources)
{
	for (size_t i = 0; i < answers->count; i++) {
		struct gg_blob_frame *outermost = gg_module_symbols_outermost(answers, i),
				     frame = { 0 };

		if (outermost != NULL && outermost->linkage_name != 0)
			continue;
		if (outermost != NULL && outermost->function != 0) {
			improve(answers, sources, answers->addresses[i], outermost);
		} else if (outermost != NULL) {
			find_name(answers, sources, answers->addresses[i], outermost);
		} else if (find_name(answers, sources, answers->addresses[i], &frame)) {
			gg_module_symbols_begin(answers, i);
			gg_module_symbols_add(answers, i, &frame);
		}
	}
}

static bool use_dwarf(const struct gg_worker_task *task, struct gg_module_files *files,
                      struct gg_module_symbols *answers, struct gg_buf *advice,
                      bool *ret_is_complete)
{
	Elf *elf = files->debug.elf != NULL ? files->debug.elf : files->main.elf;
	bool has_alt = gg_module_files_open_alt(files, task, elf);
	struct gg_dwarf_result result = { 0 };

	/* Without the alt file, libdw would take any file of that name, whatever its build-id. */
	if (has_alt)
		result = gg_dwarf_resolve(elf, files->alt.elf, answers, task->done_count);
	*ret_is_complete = result.has_dwarf && !result.is_incomplete;
	if (!has_alt)
		gg_buf_printf(advice,
		              "the debug information of %s refers to a file of dwz that is not "
		              "here; it is part of the debug symbols",
		              gg_path_base(task->module->path));
	else if (!result.has_dwarf)
		gg_buf_printf(advice,
		              "libdw cannot read the debug information of %s; compressed by zstd?",
		              gg_path_base(task->module->path));
	else if (result.is_incomplete)
		gg_buf_printf(advice, "%s was built with -gsplit-dwarf and a .dwo file is missing",
		              gg_path_base(task->module->path));
	return result.has_dwarf;
}

enum gg_symbol_status gg_file_resolve(const struct gg_worker_task *task,
                                      struct gg_module_symbols *answers, struct gg_buf *advice,
                                      bool *ret_is_complete)
{
	struct gg_module_files files;
	struct name_sources sources = { .path = task->module->path };
	struct gg_symtab *symtab = &sources.symtab;
	enum gg_symbol_status status = gg_module_files_open(&files, task);

	*ret_is_complete = false;
	if (status == GG_SYMBOL_FULL &&
	    (task->without_dwarf || !use_dwarf(task, &files, answers, advice, ret_is_complete)))
		status = GG_SYMBOL_NAMES;
	else if (status == GG_SYMBOL_NAMES && strcmp(task->module->path, "[vdso]") != 0)
		advise_debug(advice, task, &files);
	else if (status != GG_SYMBOL_FULL && status != GG_SYMBOL_NAMES)
		advise_missing(advice, task, &files, status);
	/* The first worker died of the DWARF, so advice about missing files would not help. */
	if (task->without_dwarf) {
		gg_buf_clear(advice);
		gg_buf_printf(advice, "the debug information of %s could not be read",
		              gg_path_base(task->module->path));
	}
	if (files.main.elf != NULL)
		gg_symtab_add(symtab, files.main.elf);
	if (files.debug.elf != NULL)
		gg_symtab_add(symtab, files.debug.elf);
	if (files.mini.elf != NULL)
		gg_symtab_add(symtab, files.mini.elf);
	gg_symtab_sort(symtab);
	gg_function_bounds_init(&sources.bounds, files.main.elf);
	use_names(answers, &sources);
	gg_symtab_done(symtab);
	gg_module_files_close(&files);
	return status;
}
