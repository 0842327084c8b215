/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_parent - the namespaces and classes around a function of C++.
 *
 * Compilers leave the linkage name out of functions that they inlined everywhere.  Then the whole
 * name is that of the function behind those of what it is declared in, and DWARF's trees have no way
 * up.  So a unit where this is needed is walked once, and each function noted with what is around it.
 *
 * Lifetime  all-zero is valid and empty.  Clear it whenever the Dwarf is closed: it knows DIEs by
 *           where they are in memory.
 */
#pragma once

#include <elfutils/libdw.h>

#include "symbol/resolve/blob.h"

struct gg_dwarf_parents {
	struct gg_map prefix_of_die;     /* address of a DIE -> offset in prefixes */
	struct gg_map seen_units;        /* address of a unit's DIE -> 1 */
	struct gg_blob_builder prefixes; /* just its strings: "std::vector<int>::" */
};

void gg_dwarf_parents_done(struct gg_dwarf_parents *parents);

/* What stands in front of the name of a function's declaration: "ns::Class::", or "". */
const char *gg_dwarf_parents_prefix(struct gg_dwarf_parents *parents, Dwarf_Die *declaration);
