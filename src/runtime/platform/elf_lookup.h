/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol - finds the definition of a function that comes after ours in the loader's order.
 *
 * What dlsym(RTLD_NEXT, name) does, without its lock and its allocations: the loader's list of
 * objects (r_debug, the debugger's interface of every ELF loader) is walked from us on, and each
 * object's own hash table is asked.
 *
 * Threads  any; also before constructors ran.  The list is not locked: an object that is being
 *          unloaded by another thread must not be met, which holds for those loaded at start.
 */
#pragma once

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What look-ups need of an object's dynamic section. */
struct gg_elf_lookup_tables {
	const struct link_map *map;
	const Elf64_Sym *symbols;
	const char *names;
	const uint16_t *versions; /* of each symbol; NULL: none */
	const uint32_t *gnu_hash; /* NULL: none */
	const uint32_t *sysv_hash;
	const Elf64_Rela *relocations; /* NULL: none; of data */
	size_t relocation_count;
	const Elf64_Rela *calls; /* NULL: none; of the procedure linkage table */
	size_t call_count;
	Elf64_Addr base;
};

struct gg_elf_lookup {
	void *address;
	size_t bytes; /* of its code; 0: not known */
	const struct link_map *map;
};

/* The address of the next definition; `instead` if there is none. */
void *gg_elf_lookup_next(const char *name, void *instead);
bool gg_elf_lookup_find_next(const char *name, struct gg_elf_lookup *ret_symbol);

/* The first definition that the loader has, wherever; NULL: none. */
void *gg_elf_lookup_any(const char *name);

/* A name, and the address of its next definition; NULL: there is none. */
struct gg_elf_lookup_wanted {
	const char *name;
	void *address;
};

/* The next definitions of many: each object's tables are found once. */
void gg_elf_lookup_next_all(struct gg_elf_lookup_wanted *wanted, size_t count);

bool gg_elf_lookup_tables(const struct link_map *map, struct gg_elf_lookup_tables *ret_tables);

/* The definition in the object of these tables. */
bool gg_elf_lookup_look(const struct gg_elf_lookup_tables *tables, const char *name,
                        struct gg_elf_lookup *ret_symbol);

/* This library; NULL where the loader has no list. */
const struct link_map *gg_elf_lookup_our_map(void);

/* Where this library's table has the version of a symbol of a hidden version; NULL: there is none. */
const uint16_t *gg_elf_lookup_hidden(const char *name, void **ret_address);
