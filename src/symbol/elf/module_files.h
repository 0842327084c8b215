/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_files - opens the module's own file, its debug file, and the files that these refer to.
 *
 *   main    the file that was loaded, or the vDSO of this process
 *   debug   a separate file with its DWARF: by build-id, by .gnu_debuglink, from debuginfod
 *   mini    the compressed symbol table in .gnu_debugdata
 *   alt     the parts that dwz moved out of several debug files, by .gnu_debugaltlink
 *
 * The module searches these places, in this order:
 *
 *   main    sysroot/PATH; PATH, if a build-id identifies it; DIR/PATH and DIR/NAME
 *   debug   DIR/.build-id/xx/yyy.debug; then the debuglink's name beside the main file, in .debug/
 *           beside it, in DIR/FOLDER-OF-PATH and in DIR; then debuginfod
 *   alt     DIR/.build-id/xx/yyy.debug; the name in the link, from the debug file's folder; then
 *           debuginfod
 *
 * DIR is each of debug_dirs, then sysroot/usr/lib/debug, then /usr/lib/debug.
 *
 * Invariant  A file stays open only if its build-id is the module's (alt: the link's).  A file
 *            from a debuglink must also have the right CRC.
 * Threads    One owner.  The module runs in a worker (symbol/resolve/worker.h), because libelf may
 *            crash on hostile files.
 */
#pragma once

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "symbol/resolve/worker.h"
#include "symbol/symbol.h"

struct gg_module_file {
	Elf *elf; /* NULL: not found */
	int fd;   /* -1: the file is in memory */
	void *memory;
	struct gg_buf path; /* the path by which it was opened */
};

struct gg_module_files {
	struct gg_module_file main, debug, mini, alt;

	/* The build-id of the files: the module's or, if any build will do, that of `main`. */
	const uint8_t *build_id;
	size_t build_id_bytes;

	/* The reasons why files are missing. */
	bool saw_other_build;      /* a file at the module's path has another build-id */
	bool saw_damaged;          /* a file at that path is not a complete ELF file */
	bool network_failed;       /* debuginfod did not answer */
	bool is_too_large;         /* the file of debuginfod is larger than the limit */
	bool is_too_slow;          /* the file of debuginfod took longer than the limit */
	bool has_no_request_left;  /* the limits allowed no request to debuginfod */
	struct gg_buf other_build; /* that build-id in hexadecimal; "": the file has no build-id */
};

/*
 * Finds the files of the task's module.  Returns GG_SYMBOL_FULL if there is DWARF, GG_SYMBOL_NAMES
 * if there is only the main file, and GG_SYMBOL_NO_FILE, _MISMATCH or _UNREADABLE if there is no
 * file.  Call gg_module_files_close() in any case.
 */
enum gg_symbol_status gg_module_files_open(struct gg_module_files *files,
                                           const struct gg_worker_task *task);
void gg_module_files_close(struct gg_module_files *files);

/*
 * Opens the file that .gnu_debugaltlink of `debug` names, as files->alt.  Returns false if there is
 * a link but not its file: then names are missing.
 */
bool gg_module_files_open_alt(struct gg_module_files *files, const struct gg_worker_task *task,
                              Elf *debug);
