/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi_file - the CFI and the function names of an ELF file, for tools and tests.
 *
 *   GG_CLEANUP(gg_cfi_file_close) struct gg_cfi_file file = { 0 };
 *
 *   if (gg_cfi_file_open(&file, "/usr/bin/python3", &error) < 0)
 *           ...
 *   rule = gg_cfi_rule_at(&file.module, pc, NULL);
 *
 * Host side: opens, maps and reads files.  Never part of the agent.
 *
 * Lifetime  all-zero is a valid closed file.
 * Threads   any number of readers of an open file.
 */
#pragma once

#include "base/error.h"
#include "unwind/cfi/cfi.h"

struct gg_cfi_file {
	const uint8_t *bytes; /* the mapped file; NULL: closed */
	size_t size_bytes;
	struct gg_cfi_module module;          /* pcs are those that the file was linked for */
	struct gg_cfi_section symbols, names; /* .symtab if there is one, else .dynsym; or empty */
};

/*
 * 0, or -Exxx with the file closed: what open or mmap say, -ENOEXEC (not an ELF file for x86-64 or
 * aarch64), -ENOENT (it has no .eh_frame_hdr).
 */
GG_MUST_CHECK int gg_cfi_file_open(struct gg_cfi_file *file, const char *path,
                                   struct gg_error *error);
void gg_cfi_file_close(struct gg_cfi_file *file);

/* A function of the symbol table. */
struct gg_cfi_symbol {
	const char *name;          /* in the mapped file; valid until it is closed */
	struct gg_cfi_range range; /* empty for one without a size */
};

/* The first function of that name.  0, or -ENOENT. */
int gg_cfi_file_find(const struct gg_cfi_file *file, const char *name,
                     struct gg_cfi_symbol *ret_symbol);

/* The function that pc is in, global ones before local ones.  0, or -ENOENT. */
int gg_cfi_file_symbol_at(const struct gg_cfi_file *file, uint64_t pc,
                          struct gg_cfi_symbol *ret_symbol);
