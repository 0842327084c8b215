/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_scope - finds the function and the inlined calls that contain an address.
 *
 * It walks through the tree of one unit for symbol/dwarf/dwarf.h.
 */
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/dwarf/dwarf_parent.h"
#include "symbol/resolve/module_symbols.h"

/* A function (no parent), or an inlined call in its parent. */
struct gg_dwarf_scope {
	struct gg_dwarf_scope *parent;
	Dwarf_Die die;
	struct gg_symbol_answer_name name;
	bool is_named;               /* name is filled in */
	struct gg_dwarf_scope *next; /* list of all scopes of the unit */
};

struct gg_dwarf_scopes {
	const uint64_t *addresses; /* ascending */
	size_t count;
	struct gg_dwarf_scope **of_address; /* the innermost scope so far; NULL: no scope yet */
	struct gg_dwarf_scope *all;

	/* Set for each unit: the walk searches the marked ones of addresses[low..high). */
	size_t low, high;
	const bool *marked;

	bool everywhere; /* the second walk, which enters every DIE */
	bool failed;     /* out of memory: some have no scope */
};

/* 0 or -ENOMEM. */
GG_MUST_CHECK int gg_dwarf_scopes_init(struct gg_dwarf_scopes *scopes, const uint64_t *addresses,
                                       size_t count);
void gg_dwarf_scopes_done(struct gg_dwarf_scopes *scopes);

/* Walks the unit's tree; `everywhere`: for addresses that the usual walk left without a scope. */
void gg_dwarf_scopes_walk(struct gg_dwarf_scopes *scopes, Dwarf_Die *unit, bool everywhere);

/* Forgets the unit's scopes. */
void gg_dwarf_scopes_clear(struct gg_dwarf_scopes *scopes, size_t low, size_t high);

/* Returns the names of a scope's function; the first call finds them. */
struct gg_symbol_answer_name gg_dwarf_scope_name(struct gg_dwarf_scope *scope,
                                                 struct gg_module_symbols *answers,
                                                 struct gg_dwarf_parents *parents);

/* Returns the index of the first address that is not below `from`. */
size_t gg_dwarf_scopes_lower_bound(const uint64_t *addresses, size_t count, uint64_t from);

/* Linkers keep the ranges of discarded code, but move them to 0, 1 or the last addresses. */
static inline bool gg_dwarf_scopes_is_real_range(uint64_t begin, uint64_t end)
{
	return begin > 1 && begin < end;
}
