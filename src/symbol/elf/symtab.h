/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symtab - which symbol an address belongs to, by the symbol tables of a module's files.
 *
 * A symbol with a size covers just that; one without (assembler) goes up to the next symbol, or to
 * the end of its section, where no other covers.  Of several names at one place the linker's most
 * visible one is taken: global before weak before local, then the fewest underscores in front.
 *
 * Lifetime  all-zero is valid and empty.  Names point into the files: close those later.
 */
#pragma once

#include <gelf.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct gg_symtab {
	struct gg_buf entries;  /* struct entry, sorted by gg_symtab_sort() */
	struct gg_buf max_ends; /* uint64_t: the largest end of it and those before it */
};

/* Adds what the file's .symtab names, or its .dynsym if it has no other. */
void gg_symtab_add(struct gg_symtab *symtab, Elf *elf);

/* To be called after the last gg_symtab_add() and before the first gg_symtab_find(). */
void gg_symtab_sort(struct gg_symtab *symtab);

/* The name, or NULL. */
const char *gg_symtab_find(const struct gg_symtab *symtab, uint64_t address);

void gg_symtab_done(struct gg_symtab *symtab);
