/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image - the files that tell of a module: itself, its debug file, and what that refers to.
 *
 *   main    the file that was loaded, or the vDSO of this process
 *   debug   a separate file with its DWARF: by build-id, by .gnu_debuglink, from debuginfod
 *   mini    the symbol table that .gnu_debugdata holds, compressed
 *   alt     what dwz moved out of several debug files, by .gnu_debugaltlink
 *
 * Where they are looked for, in this order:
 *
 *   main    sysroot/PATH; PATH, if a build-id can tell it from another; DIR/PATH and DIR/NAME
 *   debug   DIR/.build-id/xx/yyy.debug; then the debuglink's name beside the main file, in .debug/
 *           beside it, in DIR/FOLDER-OF-PATH and in DIR; then debuginfod
 *   alt     DIR/.build-id/xx/yyy.debug; the name that the link gives, from the debug file's folder
 *
 * with DIR each of debug_dirs, sysroot/usr/lib/debug, /usr/lib/debug.
 *
 * Invariant  a file is kept only if its build-id is the module's (alt: the link's).  A debuglink is
 *            followed only if the CRC is right, too.
 * Threads    one owner; runs in a worker (symbol/resolve/worker.h), for libelf may fail on hostile files.
 */
#pragma once

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "symbol/resolve/worker.h"
#include "symbol/symbol.h"

struct gg_image_file {
	Elf *elf; /* NULL: not found */
	int fd;   /* -1: in memory */
	void *memory;
	struct gg_buf path; /* as it was opened */
};

struct gg_image {
	struct gg_image_file main, debug, mini, alt;

	/* What the files must have: the module's or, if it takes any, what `main` has. */
	const uint8_t *build_id;
	size_t build_id_bytes;

	/* Why there is none, or less than there could be. */
	bool saw_other_build;      /* a file at the module's path has another build-id */
	bool saw_damaged;          /* a file there is not a whole ELF file */
	bool network_failed;       /* debuginfod did not answer */
	struct gg_buf other_build; /* that build-id in hexadecimal; "" : it has none */
};

/*
 * Finds what there is for the task's module; GG_SYMBOL_NO_FILE, _MISMATCH or _UNREADABLE if that is
 * nothing, else GG_SYMBOL_FULL if there is DWARF and GG_SYMBOL_NAMES if not.  Call
 * gg_image_close() in any case.
 */
enum gg_symbol_status gg_image_open(struct gg_image *image, const struct gg_worker_task *task);
void gg_image_close(struct gg_image *image);

/*
 * Opens the file that `debug`'s .gnu_debugaltlink names, into image->alt.  False if there is a link
 * but not its file: then names are missing.
 */
bool gg_image_open_alt(struct gg_image *image, const struct gg_worker_task *task, Elf *debug);
