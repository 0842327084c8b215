/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symtab - finds the symbol that an address belongs to in the symbol tables of a module's files.
 *
 * A symbol with a size covers exactly that range.  A symbol without a size (assembler) extends to
 * the next symbol or to the end of its section, where no other symbol covers the address, but not
 * into another function of the call frame information.  If several symbols have the same address,
 * that of the public interface wins: first the visible ones, then those with the fewest leading
 * underscores, then global before weak.  So libc's __GI___strdup and __strdup are "strdup".
 *
 * Lifetime  all-zero is valid and empty.  Names point into the files, so close the files later.
 */
#pragma once

#include <gelf.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct gg_symtab {
	struct gg_buf entries; /* struct symtab_entry, sorted by gg_symtab_sort() */
	/* uint64_t: the largest end of an entry and all entries before it */
	struct gg_buf max_ends;
};

/* Adds the symbols of the file's .symtab, or of its .dynsym if it has no .symtab. */
void gg_symtab_add(struct gg_symtab *symtab, Elf *elf);

/* Call it after the last gg_symtab_add() and before the first gg_symtab_find(). */
void gg_symtab_sort(struct gg_symtab *symtab);

/*
 * Returns the name of the symbol at an address, or NULL.  `function_begin` is the first address of
 * its function, or 0 if unknown: a symbol without a size that begins earlier names another one.
 */
const char *gg_symtab_find(const struct gg_symtab *symtab, uint64_t address,
                           uint64_t function_begin);

/*
 * Returns the best name of the function that has the code at `address` and is called `name`, or
 * NULL if no visible symbol begins where a symbol of that name does.
 */
const char *gg_symtab_find_public_name(const struct gg_symtab *symtab, uint64_t address,
                                       const char *name);

void gg_symtab_done(struct gg_symtab *symtab);
