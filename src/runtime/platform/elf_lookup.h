/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_lookup - finds the definition of a function that follows ours in the loader's order.
 *
 * It does what dlsym(RTLD_NEXT, name) does, without its lock and its allocations.  It walks the
 * loader's list of objects (r_debug, which every ELF loader keeps for debuggers) from this library
 * on, and looks the name up in each object's own hash table.
 *
 * Late     A library that was loaded into a running process is the last one in the list.  Then the
 *          search begins with the program, as the loader's own does, and leaves this library out.
 * Threads  any, also before constructors run.  The list is not locked, so a look-up must not meet
 *          an object that another thread is loading or unloading.  That holds while the program
 *          starts, and for objects that are loaded at the start.  gg_elf_lookup_any() visits all
 *          objects, so it takes the loader's lock in a process that geiger attached to
 *          (preload/attach/loader_lock.h); callers of the other functions do so there.
 */
#pragma once

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The parts of an object's dynamic section that look-ups read. */
struct gg_elf_lookup_tables {
	const struct link_map *map;
	const Elf64_Sym *symbols;
	const char *names;
	/* A table is NULL if the object does not have it. */
	const uint16_t *versions; /* one for each symbol */
	const uint32_t *gnu_hash;
	const uint32_t *sysv_hash;
	const Elf64_Rela *relocations; /* of data */
	size_t relocation_count;
	const Elf64_Rela *calls; /* of the procedure linkage table */
	size_t call_count;
	Elf64_Addr base;
	bool is_symbolic; /* the loader binds its names to its own definitions first */
};

struct gg_elf_lookup {
	void *address;
	size_t bytes; /* size of its code; 0: unknown */
	const struct link_map *map;
};

/* Returns the address of the next definition, or `instead` without one. */
void *gg_elf_lookup_next(const char *name, void *instead);
bool gg_elf_lookup_find_next(const char *name, struct gg_elf_lookup *ret_symbol);

/* Returns the first definition in any loaded object.  NULL: no object defines the name. */
void *gg_elf_lookup_any(const char *name);

/* A name, the address of its next definition, or NULL, and the object that has it. */
struct gg_elf_lookup_name {
	const char *name;
	void *address;
	const struct link_map *map;
};

/* Looks up many names and finds each object's tables only once. */
void gg_elf_lookup_next_all(struct gg_elf_lookup_name *wanted, size_t count);

bool gg_elf_lookup_tables(const struct link_map *map, struct gg_elf_lookup_tables *ret_tables);

/* Looks the name up in the object that has these tables. */
bool gg_elf_lookup_find(const struct gg_elf_lookup_tables *tables, const char *name,
                        struct gg_elf_lookup *ret_symbol);

/*
 * Returns the address that an object gives to a function which it calls and does not define: that
 * of its procedure linkage table, in a program at fixed addresses that compares pointers to the
 * function.  0: it gives none.
 */
Elf64_Addr gg_elf_lookup_undefined(const struct gg_elf_lookup_tables *tables, const char *name);

/* True if this library was loaded by dlopen(), and not with the program. */
bool gg_elf_lookup_is_late(void);

/* This library; NULL: the loader has no list. */
const struct link_map *gg_elf_lookup_our_map(void);

/* Finds the version of a symbol with a hidden version in this library's table, and its address.
 * NULL: there is no such symbol. */
const uint16_t *gg_elf_lookup_hidden(const char *name, void **ret_address);
