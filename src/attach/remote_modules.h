/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote_modules - lists the modules of another process and finds their symbols, in its memory.
 *
 *   struct gg_remote_modules modules;
 *   struct gg_remote_symbol symbol;
 *
 *   status = gg_remote_modules_read(&modules, &memory, error);
 *   if (gg_remote_modules_find(&modules, &memory, "malloc", &symbol))
 *           ... symbol.address, modules.items[symbol.module].path ...
 *   gg_remote_modules_done(&modules);
 *
 * Files on disk are not needed: the process may live in a container, and an upgrade may have
 * replaced its libraries.  /proc/PID/maps has the ranges, and the loader's list (struct r_debug)
 * has the order in which the loader looks symbols up.
 *
 * Hostile  The process may hold anything.  Each loop has a bound, and an unreadable or damaged
 *          table counts as empty.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/remote_memory.h"
#include "base/array.h"
#include "base/error.h"

enum { GG_REMOTE_PATH_MAX = 256, GG_REMOTE_MODULES_MAX = 1 << 16 };

/* The order of modules that the loader's list lacks, such as the vDSO. */
#define GG_REMOTE_UNLISTED UINT32_MAX

struct gg_remote_module {
	uint64_t begin, end; /* addresses of all its mappings; its ELF header is at `begin` */
	uint64_t bias;       /* address in memory less address in the file */
	uint32_t order;      /* in the loader's list, the program first; or GG_REMOTE_UNLISTED */
	uint64_t entry;      /* e_entry of the header, with the bias; 0: it has no entry */
	/* Addresses of its dynamic tables; 0: it has no such table. */
	uint64_t symbols, names, hash, versions;
	char path[GG_REMOTE_PATH_MAX]; /* as the kernel shows it, cut to fit */
};

struct gg_remote_modules {
	GG_ARRAY(struct gg_remote_module) list; /* by address */
	uint32_t program, loader;               /* positions in the list */
	bool is_changing;                       /* the loader was adding or removing a module */
};

struct gg_remote_symbol {
	uint64_t address, size_bytes;
	uint32_t module; /* position in the list */
};

/*
 * Reads the list.  Returns 0, or -Exxx with nothing to free: -EAGAIN: the loader has not started
 * the program yet; -ENOEXEC: the process has no dynamic loader.
 */
GG_MUST_CHECK int gg_remote_modules_read(struct gg_remote_modules *ret_modules,
                                         const struct gg_remote_memory *memory,
                                         struct gg_error *error);
void gg_remote_modules_done(struct gg_remote_modules *modules);

/* Returns the module that contains the address, or NULL. */
const struct gg_remote_module *gg_remote_modules_at(const struct gg_remote_modules *modules,
                                                    uint64_t address);

/* Finds a symbol that the module itself defines.  Returns false if it defines no such symbol. */
bool gg_remote_modules_find_in(const struct gg_remote_modules *modules, uint32_t module,
                               const struct gg_remote_memory *memory, const char *name,
                               struct gg_remote_symbol *ret_symbol);

/* Finds the first definition in the loader's order. */
bool gg_remote_modules_find(const struct gg_remote_modules *modules,
                            const struct gg_remote_memory *memory, const char *name,
                            struct gg_remote_symbol *ret_symbol);

/*
 * Returns the largest N of the versions PREFIX.N that the module defines, such as 36 for "GLIBC_2";
 * -1: it defines no such version.
 */
int gg_remote_modules_version(const struct gg_remote_module *module,
                              const struct gg_remote_memory *memory, const char *prefix);
