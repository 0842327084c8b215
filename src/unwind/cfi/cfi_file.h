/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi_file - reads the CFI and the function names of an ELF file, for tools and tests.
 *
 *   GG_CLEANUP(gg_cfi_file_close) struct gg_cfi_file file = { 0 };
 *
 *   if (gg_cfi_file_open(&file, "/usr/bin/python3", &error) < 0)
 *           ...
 *   rule = gg_cfi_rule_at(&file.module, pc, NULL);
 *
 * Only the host side uses it, never the agent: it opens, maps, and reads files.
 *
 * Lifetime  All-zero is a valid closed file.
 * Threads   Any number of threads may read an open file.
 */
#pragma once

#include "base/error.h"
#include "unwind/cfi/cfi.h"

struct gg_cfi_file {
	const uint8_t *bytes; /* the mapped file; NULL: closed */
	size_t size_bytes;
	/* Its pcs are the addresses for which the file was linked. */
	struct gg_cfi_module module;
	struct gg_cfi_section symbols, names; /* .symtab, or .dynsym without it, or empty */
};

/*
 * Returns 0, or -Exxx with the file closed: the error of open() or mmap(), -ENOEXEC if it is not an
 * ELF file for x86-64 or aarch64, or -ENOENT if it has no .eh_frame_hdr.
 */
GG_MUST_CHECK int gg_cfi_file_open(struct gg_cfi_file *file, const char *path,
                                   struct gg_error *error);
void gg_cfi_file_close(struct gg_cfi_file *file);

/* A function of the symbol table. */
struct gg_cfi_symbol {
	const char *name;          /* in the mapped file; valid until it is closed */
	struct gg_cfi_range range; /* empty if the symbol has no size */
};

/* Finds the first function of that name.  Returns 0 or -ENOENT. */
int gg_cfi_file_find(const struct gg_cfi_file *file, const char *name,
                     struct gg_cfi_symbol *ret_symbol);

/*
 * Finds the function that contains pc; a global symbol wins over a local one.  Returns 0 or
 * -ENOENT.
 */
int gg_cfi_file_symbol_at(const struct gg_cfi_file *file, uint64_t pc,
                          struct gg_cfi_symbol *ret_symbol);
