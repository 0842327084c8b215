/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_parent - finds the namespaces and classes that enclose a C++ function.
 *
 * Compilers omit the linkage name of functions that they inlined everywhere.  Then the full name is
 * composed of the names of the enclosing scopes and of the function itself.  DWARF's trees have no
 * links to parents.  So the module walks a unit that needs this once, and stores each function's
 * prefix.
 *
 * Lifetime  An all-zero object is valid and empty.  Clear it whenever the Dwarf is closed, because
 *           the addresses of DIEs in memory are the keys.
 */
#pragma once

#include <elfutils/libdw.h>

#include "symbol/resolve/blob.h"

struct gg_dwarf_parents {
	struct gg_map prefix_of_die;     /* address of a DIE -> offset in prefixes */
	struct gg_map seen_units;        /* address of a unit's DIE -> 1 */
	struct gg_blob_builder prefixes; /* only its strings are used: "std::vector<int>::" */
};

void gg_dwarf_parents_done(struct gg_dwarf_parents *parents);

/* Returns the prefix of the name of a function's declaration: "ns::Class::", or "". */
const char *gg_dwarf_parents_prefix(struct gg_dwarf_parents *parents, Dwarf_Die *declaration);
