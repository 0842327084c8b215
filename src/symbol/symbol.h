/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol - from addresses in files to functions and lines, inlined ones included.
 *
 *   uint64_t pcs[] = { 0x1139, 0x2040 };
 *   struct gg_symbol_module module = { .path = "/usr/bin/sqlite3",
 *                                      .build_id = id, .build_id_bytes = 20,
 *                                      .addresses = pcs, .address_count = 2 };
 *   struct gg_symbols *symbols;
 *
 *   code = gg_symbols_resolve(&symbols, &module, 1, NULL, error);
 *   count = gg_symbols_frames(symbols, 0, 1, &frames);       the frames of 0x2040, innermost first
 *   outcome = gg_symbols_outcome(symbols, 0);                how it went with this file, and advice
 *   gg_symbols_free(symbols);
 *
 * Each module is read by a process of its own, as many at once as there are processors.  Debug
 * information may be damaged, hostile or huge: a reader that crashes, hangs or runs out of memory
 * costs the names of its module (first the lines only: it is tried again without DWARF), and all
 * that it took is gone with it.
 *
 * Never wrong  A file is used only if its build-id is the module's.  What cannot be named has no
 *              frames: the caller shows module+0xoffset and, once, what outcome.text advises.
 * Cache        What DWARF told is kept by build-id (symbol/resolve/symbol_cache.h); what less told is not, so that
 *              a debug package that is installed later is used.
 * Threads      any one thread at a time; it forks, so no other thread should be inside it.
 * Cost         docs/internals/SYMBOLS.md, "Speed".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum gg_symbol_kind {
	GG_SYMBOL_FILE,     /* an ELF file, or "[vdso]" */
	GG_SYMBOL_PERF_MAP, /* /tmp/perf-PID.map: what a JIT compiler says of its code */
};

/* A file as it was loaded, and the addresses in it that are asked for. */
struct gg_symbol_module {
	const char *path; /* as the process saw it; a " (deleted)" at its end is ignored */
	enum gg_symbol_kind kind;

	const uint8_t *build_id; /* of the loaded file; 0 bytes: it had none, nor may the file */
	size_t build_id_bytes;
	bool any_build; /* take the file as it is, whatever its build-id; never cached */

	/*
	 * In any order, repeated or not.  Addresses that the file was linked for: pc - bias (for a
	 * perf map the pc itself).  Of a return address take 1 first: the call is before it.
	 */
	const uint64_t *addresses;
	size_t address_count;
};

/* A texts' NULL means that it is not known.  The texts live as long as the struct gg_symbols. */
struct gg_symbol_frame {
	const char *function;     /* short: ns::Class<...>::method, without arguments */
	const char *full_name;    /* with arguments, template arguments, clone suffixes */
	const char *linkage_name; /* as the linker sees it; NULL if that is the full name */
	const char *file;
	uint32_t line; /* 0: not known */
	bool inlined;  /* into the frame that follows */
};

enum gg_symbol_status {
	GG_SYMBOL_FULL,       /* functions, lines, inlined calls */
	GG_SYMBOL_NAMES,      /* from a symbol table: functions alone */
	GG_SYMBOL_STRIPPED,   /* the right file, but it names none of the addresses */
	GG_SYMBOL_NO_FILE,    /* neither it nor its debug information was found */
	GG_SYMBOL_MISMATCH,   /* only files with another build-id were found */
	GG_SYMBOL_UNREADABLE, /* damaged, or it took the reader too much time or memory */
};

struct gg_symbol_outcome {
	enum gg_symbol_status status;
	const char *text;        /* what would help, for people; "" if nothing is missing */
	size_t unresolved_count; /* of the addresses asked for, repeated ones counted again */
	bool from_cache;         /* no file was opened for it */
};

struct gg_symbol_options {
	const char *sysroot; /* paths are looked up below it, symbolic links too; NULL: / */
	const char *const *debug_dirs; /* like /usr/lib/debug, asked first; ends in NULL; or NULL */
	const char *cache_dir;         /* NULL: gg_symbol_cache_dir(); "": no cache */
	bool offline;                  /* no debuginfod, even if DEBUGINFOD_URLS is set */
	unsigned workers;              /* processes at a time; 0: one for each processor */
	unsigned limit_seconds;        /* for one module; 0: 300 */

	/* Called now and then with how many addresses are done, in the end with done == total. */
	void (*progress)(void *context, uint64_t done_count, uint64_t total_count);
	void *progress_context;
};

struct gg_symbols;

/*
 * Resolves all addresses of all modules.  options may be NULL.  Fails only if the system refuses
 * memory or processes; whatever is wrong with a module is in its outcome.  Free the result.
 */
GG_MUST_CHECK int gg_symbols_resolve(struct gg_symbols **ret_symbols,
                                     const struct gg_symbol_module *modules, size_t module_count,
                                     const struct gg_symbol_options *options,
                                     struct gg_error *error);
void gg_symbols_free(struct gg_symbols *symbols);

/*
 * The frames of modules[module].addresses[index], innermost first; the last one is the function
 * whose code it is, the others are inlined.  0 if nothing is known.
 */
size_t gg_symbols_frames(const struct gg_symbols *symbols, size_t module, size_t index,
                         const struct gg_symbol_frame **ret_frames);

const struct gg_symbol_outcome *gg_symbols_outcome(const struct gg_symbols *symbols, size_t module);

/* "functions and lines", "no file" ... for people. */
const char *gg_symbol_status_text(enum gg_symbol_status status);

/*
 * Is it a frame that reports trim from the top of a stack: one of geiger's agent, or an entry point
 * of an allocator (malloc, operator new, je_mallocx, __rust_alloc ...)?  `function` is a short, full
 * or linkage name, `module` a path; either may be NULL.
 */
bool gg_symbol_is_allocator_entry(const char *function, const char *module);
