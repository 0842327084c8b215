/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol - finds the functions, lines and inlined calls of addresses in files.
 *
 *   uint64_t pcs[] = { 0x1139, 0x2040 };
 *   struct gg_symbol_module module = { .path = "/usr/bin/sqlite3",
 *                                      .build_id = id, .build_id_bytes = 20,
 *                                      .addresses = pcs, .address_count = 2 };
 *   struct gg_symbols *symbols;
 *
 *   status = gg_symbols_resolve(&symbols, &module, 1, NULL, error);
 *   count = gg_symbols_frames(symbols, 0, 1, &frames);       the frames of 0x2040, innermost first
 *   outcome = gg_symbols_outcome(symbols, 0);                the result for this file, and advice
 *   gg_symbols_free(symbols);
 *
 * A worker process reads each module; as many workers run at once as there are processors.  Debug
 * information may be damaged, hostile or huge.  So a worker that crashes, hangs or runs out of
 * memory costs only the names of its module, and the kernel frees everything that it used.  After
 * the first failure another worker tries the module without DWARF, which costs only the lines.
 *
 * Never wrong  A file is used only if its build-id is the module's.  A function without a name gets
 *              an address name (base/address_name.h) if the call frame information has its first
 *              address.  Any other address has no frames, and the caller makes its address name.
 *              In both cases the caller shows the advice of outcome.text once.
 * Cache        Answers from DWARF are cached by build-id (symbol/resolve/symbol_cache.h).  Answers
 *              from symbol tables are not, so that a debug package installed later takes effect.
 * Threads      any one thread at a time; it forks, so no other thread should be inside it.
 * Cost         docs/internals/SYMBOLS.md, "Speed".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/progress.h"

enum gg_symbol_kind {
	GG_SYMBOL_FILE,     /* an ELF file, or "[vdso]" */
	GG_SYMBOL_PERF_MAP, /* perf-PID.map or jit-PID.dump, which a JIT compiler wrote */
};

/* An address was in use within [from_ns, to_ns] of CLOCK_MONOTONIC. */
struct gg_symbol_window {
	uint64_t address, from_ns, to_ns;
};

/* A loaded file and the addresses in it to resolve. */
struct gg_symbol_module {
	const char *path; /* as the process saw it; a trailing " (deleted)" is ignored */
	enum gg_symbol_kind kind;

	/* of the loaded file; 0 bytes: neither it nor the file found may have a build-id */
	const uint8_t *build_id;
	size_t build_id_bytes;
	bool any_build; /* take the file as it is, whatever its build-id; never cached */

	/*
	 * In any order, with or without duplicates.  These are addresses that the file was linked
	 * for: pc - bias; for a perf map the pc itself.  Subtract 1 from a return address, because
	 * the call is before it.
	 */
	const uint64_t *addresses;
	size_t address_count;

	/*
	 * For a jitdump: when the addresses were in use, sorted by address.  An address without a
	 * window was in use at any time.
	 */
	const struct gg_symbol_window *windows;
	size_t window_count;
};

/* A text is NULL if it is unknown.  The texts live as long as the struct gg_symbols. */
struct gg_symbol_frame {
	const char *function;     /* short: ns::Class<...>::method, without arguments */
	const char *full_name;    /* with arguments, template arguments, clone suffixes */
	const char *linkage_name; /* the linker's name; NULL if it equals the full name */
	const char *file;
	uint32_t line; /* 0: unknown */
	bool inlined;  /* into the next frame */
	/* `function` is made of an address (address_name.h); the other names are NULL */
	bool is_unnamed;
};

enum gg_symbol_status {
	GG_SYMBOL_FULL,       /* functions, lines, inlined calls */
	GG_SYMBOL_NAMES,      /* functions alone, from a symbol table */
	GG_SYMBOL_STRIPPED,   /* the right file, but it names none of the addresses */
	GG_SYMBOL_NO_FILE,    /* neither the file nor its debug information was found */
	GG_SYMBOL_MISMATCH,   /* only files with another build-id were found */
	GG_SYMBOL_UNREADABLE, /* damaged, or it took the reader too much time or memory */
};

struct gg_symbol_outcome {
	enum gg_symbol_status status;
	const char *text;        /* advice for the user; "" if nothing is missing */
	size_t unresolved_count; /* given addresses without a name, including duplicates */
	bool from_cache;         /* every answer is from the cache; no file was opened */
	bool is_second_try;      /* without DWARF, as the first worker failed or took too long */
};

/* Limits of a run that fetches files by debuginfod, for build-ids that other machines chose. */
struct gg_symbol_fetch_limits {
	unsigned request_count; /* 0: the run sends none */
	unsigned seconds;       /* of one request */
	uint64_t bytes;         /* of one file */
};

struct gg_symbol_options {
	const char *sysroot; /* root directory for all paths and symbolic links; NULL: / */
	bool only_sysroot;   /* paths of modules lead to no file outside the sysroot */
	/* searched before /usr/lib/debug; ends with NULL; or NULL */
	const char *const *debug_dirs;
	const char *cache_dir; /* NULL: gg_symbol_cache_default_dir(); "": no cache */
	bool offline;          /* no debuginfod, even if DEBUGINFOD_URLS is set */
	const struct gg_symbol_fetch_limits *fetch_limits; /* NULL: none */
	unsigned workers;       /* maximum number at a time; 0: one for each processor */
	unsigned limit_seconds; /* for one module; 0: 300 */
	/*
	 * CLOCK_MONOTONIC at the start of the session that the addresses belong to, for code whose
	 * name depends on the time (record/symbols/symbolize.h); 0: unknown.
	 */
	uint64_t start_monotonic_ns;

	/* Gets the number of resolved addresses; at the end done equals total.  NULL: nobody. */
	const struct gg_progress *progress;
};

struct gg_symbols;

/*
 * Resolves all addresses of all modules; `options` may be NULL.  Fails only if the system refuses
 * memory or processes; a module's outcome has the errors of that module.  Free the result.
 */
GG_MUST_CHECK int gg_symbols_resolve(struct gg_symbols **ret_symbols,
                                     const struct gg_symbol_module *modules, size_t module_count,
                                     const struct gg_symbol_options *options,
                                     struct gg_error *error);
void gg_symbols_free(struct gg_symbols *symbols);

/* The requests of a run to debuginfod. */
struct gg_symbol_fetches {
	unsigned request_count, refused_count; /* refused: by the limits */
	uint64_t bytes;                        /* of the files that it fetched */
	bool has_failed;                       /* no server answered, so the run sent no more */
};

struct gg_symbol_fetches gg_symbols_fetches(const struct gg_symbols *symbols);

/* The memory that the answers take. */
size_t gg_symbols_bytes(const struct gg_symbols *symbols);

/*
 * Returns the number of frames of modules[module].addresses[index], innermost first.  The last
 * frame is the function that has the code; the other frames are inlined calls.  0: nothing is
 * known.
 */
size_t gg_symbols_frames(const struct gg_symbols *symbols, size_t module, size_t index,
                         const struct gg_symbol_frame **ret_frames);

const struct gg_symbol_outcome *gg_symbols_outcome(const struct gg_symbols *symbols, size_t module);

/* Returns "functions and lines", "no file" ... for reports. */
const char *gg_symbol_status_text(enum gg_symbol_status status);

/*
 * True for frames that reports trim from the top of a stack: frames of geiger's agent, and entry
 * points of an allocator (malloc, operator new, je_mallocx, __rust_alloc ...).  `function` is a
 * short, full or linkage name and `module` is a path; either may be NULL.
 */
bool gg_symbol_is_allocator_entry(const char *function, const char *module);

/*
 * True for functions that allocate on behalf of their callers, such as xmalloc() and
 * std::vector<T>::push_back().  `function` is a short or full name.
 */
bool gg_symbol_is_wrapper(const char *function);
/* Entry `index` of the list of wrappers: its name, and the program that has it; NULL: no more. */
const char *gg_symbol_wrapper(size_t index, const char **ret_origin);

/*
 * True for functions that start programs and threads, such as _start and __libc_start_main.
 * `function` is a short name.
 */
bool gg_symbol_is_start_code(const char *function);
