/* SPDX-License-Identifier: Apache-2.0 */
/*
 * function_bounds - finds where the function of an address begins and ends, without any symbol.
 *
 *   struct gg_function_bounds bounds;
 *   struct gg_cfi_range function;
 *
 *   gg_function_bounds_init(&bounds, elf);
 *   if (gg_function_bounds_find(&bounds, address, &function))
 *           function.begin <= address and address < function.end
 *
 * Every program that can be unwound has call frame information (.eh_frame), which stripping leaves
 * in place.  It has one entry (FDE) a function; the search table of .eh_frame_hdr finds it.
 *
 * Parts     A function that the compiler split has an FDE for each part (f and f.cold), and nothing
 *           in the file says that they belong together.  So each part counts as a function.
 * PLT       One FDE covers the whole .plt section.
 * Steady    The result depends on the file and the address alone, even if FDEs overlap.
 * Cost      a binary search in the table, and parsing one FDE.
 * Lifetime  It refers to the bytes of `elf`, so close that later.
 * Threads   any number may search.
 */
#pragma once

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi/cfi.h"

struct gg_function_bounds {
	struct gg_cfi_module module;
	bool has_cfi;           /* false: the file has no search table, so nothing is found */
	uint64_t entry_address; /* where the kernel or the loader enters the file; 0: nowhere */
};

/* Prepares a file, which may be NULL or have no call frame information. */
void gg_function_bounds_init(struct gg_function_bounds *bounds, Elf *elf);

/* Returns false if no function contains the address.  *ret_function is then untouched. */
bool gg_function_bounds_find(const struct gg_function_bounds *bounds, uint64_t address,
                             struct gg_cfi_range *ret_function);
