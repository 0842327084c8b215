/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_scope - walks the tree of a unit and assigns addresses to functions and inlined calls.
 *
 * The task: for each address, find the function that contains it, and the chain of calls that were
 * inlined there.  A unit may have a hundred thousand DIEs, and most contain no wanted address.
 *
 *   1. The addresses are sorted, so the addresses in a range are a slice of the array, and two
 *      binary searches find it.
 *   2. of_address[i] is the innermost scope that covers address i so far; first, it is NULL.
 *   3. The walk visits a function.  The function claims the addresses in its ranges that have no
 *      scope yet: of_address[i] becomes the function.  A function that claims nothing is not
 *      entered, which skips most of the unit.
 *   4. Inside the function, an inlined call claims addresses from its parent alone: those where
 *      of_address[i] is still the scope that it is inlined into.  So each claim makes the scope of
 *      an address one level deeper, and two siblings whose ranges overlap, as in damaged files,
 *      cannot take addresses from each other.
 *   5. At the end, of_address[i] is the innermost scope, and its parents are the frames outward.
 *
 * A scope may have several ranges, so its slice is the smallest one that contains all addresses
 * that it claimed.  Addresses of other scopes between them stay untouched, by rule 4.
 */
#include "symbol/dwarf/dwarf_scope.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/binary_search.h"

/*
 * Bounds against hostile files: the walk ignores deeper trees and longer chains of references.  In
 * files of compilers, these stay below 100 and 4.
 */
enum { SCOPE_DEPTH_MAX = 400, REFERENCES_MAX = 16 };

int gg_dwarf_scopes_init(struct gg_dwarf_scopes *scopes, const uint64_t *addresses, size_t count)
{
	*scopes = (struct gg_dwarf_scopes){ .addresses = addresses, .count = count };
	scopes->of_address = calloc(count > 0 ? count : 1, sizeof(*scopes->of_address));
	return scopes->of_address != NULL ? 0 : -ENOMEM;
}

void gg_dwarf_scopes_clear(struct gg_dwarf_scopes *scopes, size_t low, size_t high)
{
	for (size_t i = low; i < high; i++)
		scopes->of_address[i] = NULL;
	for (struct gg_dwarf_scope *scope = scopes->all, *next; scope != NULL; scope = next) {
		next = scope->next;
		free(scope);
	}
	scopes->all = NULL;
}

void gg_dwarf_scopes_done(struct gg_dwarf_scopes *scopes)
{
	gg_dwarf_scopes_clear(scopes, 0, 0);
	free(scopes->of_address);
	*scopes = (struct gg_dwarf_scopes){ 0 };
}

size_t gg_dwarf_scopes_lower_bound(const uint64_t *addresses, size_t count, uint64_t from)
{
	return gg_lower_bound(0, count, i, addresses[i] < from);
}

/* --- claiming ----------------------------------------------------------------------------- */

/* A part of the addresses: [low, high) contains all addresses that a DIE covers. */
struct slice {
	size_t low, high;
};

static struct gg_dwarf_scope *new_scope(struct gg_dwarf_scopes *scopes,
                                        struct gg_dwarf_scope *parent, const Dwarf_Die *die)
{
	struct gg_dwarf_scope *scope = calloc(1, sizeof(*scope));

	if (scope == NULL) {
		scopes->failed = true;
		return NULL;
	}
	scope->parent = parent;
	scope->die = *die;
	scope->next = scopes->all;
	scopes->all = scope;
	return scope;
}

/*
 * Makes a scope for the DIE if it covers addresses that belong to its parent (no parent: addresses
 * without a scope), and assigns these addresses to it.  Returns NULL if it covers no such address.
 * A DIE can have many ranges, so the slice that it returns may also contain addresses of other
 * scopes.
 */
static struct gg_dwarf_scope *claim(struct gg_dwarf_scopes *scopes, struct gg_dwarf_scope *parent,
                                    Dwarf_Die *die, struct slice in, struct slice *ret_slice)
{
	struct gg_dwarf_scope *scope = NULL;
	Dwarf_Addr base, begin, end;
	ptrdiff_t offset = 0;

	gg_assert(in.low <= in.high && in.high <= scopes->count);
	*ret_slice = (struct slice){ SIZE_MAX, 0 };
	while ((offset = dwarf_ranges(die, offset, &base, &begin, &end)) > 0) {
		size_t i = in.low;

		if (!gg_dwarf_scopes_is_real_range(begin, end))
			continue;
		i += gg_dwarf_scopes_lower_bound(scopes->addresses + in.low, in.high - in.low,
		                                 begin);
		for (; i < in.high && scopes->addresses[i] < end; i++) {
			if (!scopes->marked[i] || scopes->of_address[i] != parent)
				continue;
			if (scope == NULL && (scope = new_scope(scopes, parent, die)) == NULL)
				return NULL;
			scopes->of_address[i] = scope;
			if (i < ret_slice->low)
				ret_slice->low = i;
			if (i + 1 > ret_slice->high)
				ret_slice->high = i + 1;
		}
	}
	return scope;
}

/*
 * True if the walk can skip a block of statements, because none of its ranges has an address.  A
 * block without ranges does not say where its code is, so the walk enters it.
 */
static bool is_elsewhere(const struct gg_dwarf_scopes *scopes, Dwarf_Die *die, struct slice in)
{
	Dwarf_Addr base, begin, end;
	ptrdiff_t offset = 0;
	bool has_ranges = false;

	while ((offset = dwarf_ranges(die, offset, &base, &begin, &end)) > 0) {
		size_t i = in.low + gg_dwarf_scopes_lower_bound(scopes->addresses + in.low,
		                                                in.high - in.low, begin);

		has_ranges = true;
		if (i < in.high && scopes->addresses[i] < end)
			return false;
	}
	return has_ranges;
}

/* --- walking ------------------------------------------------------------------------------ */

static void walk(struct gg_dwarf_scopes *scopes, struct gg_dwarf_scope *scope, Dwarf_Die *parent,
                 struct slice in, unsigned depth);

static void visit(struct gg_dwarf_scopes *scopes, struct gg_dwarf_scope *scope, Dwarf_Die *die,
                  struct slice in, unsigned depth)
{
	const struct slice whole = { scopes->low, scopes->high };
	struct gg_dwarf_scope *inner;
	struct slice slice;

	/*
	 * A function starts anew with all addresses of the unit, because it is no part of its
	 * lexical parent.  An inlined call only takes addresses of the scope that it is inlined
	 * into.
	 */
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		inner = claim(scopes, NULL, die, whole, &slice);
		if (inner != NULL)
			walk(scopes, inner, die, slice, depth);
		if (scopes->everywhere) /* functions inside it */
			walk(scopes, NULL, die, whole, depth);
		break;
	case DW_TAG_inlined_subroutine:
		if (scope == NULL)
			break;
		inner = claim(scopes, scope, die, in, &slice);
		if (inner != NULL)
			walk(scopes, inner, die, slice, depth);
		break;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		if (scopes->everywhere || (scope != NULL && !is_elsewhere(scopes, die, in)))
			walk(scopes, scope, die, in, depth);
		break;
	case DW_TAG_namespace:
	case DW_TAG_module:
		if (scope == NULL)
			walk(scopes, NULL, die, whole, depth);
		break;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_variant_part:
		if (scopes->everywhere)
			walk(scopes, NULL, die, whole, depth);
		break;
	default:
		break;
	}
}

static void walk(struct gg_dwarf_scopes *scopes, struct gg_dwarf_scope *scope, Dwarf_Die *parent,
                 struct slice in, unsigned depth)
{
	Dwarf_Die die;

	if (depth >= SCOPE_DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return;
	do
		visit(scopes, scope, &die, in, depth + 1);
	while (dwarf_siblingof(&die, &die) == 0);
}

void gg_dwarf_scopes_walk(struct gg_dwarf_scopes *scopes, Dwarf_Die *unit, bool everywhere)
{
	scopes->everywhere = everywhere;
	walk(scopes, NULL, unit, (struct slice){ scopes->low, scopes->high }, 0);
}

/* --- names -------------------------------------------------------------------------------- */

static bool is_cxx(Dwarf_Die *die)
{
	Dwarf_Die unit;

	if (dwarf_diecu(die, &unit, NULL, NULL) == NULL)
		return false;
	switch (dwarf_srclang(&unit)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
		return true;
	default:
		return false;
	}
}

/*
 * Returns the DIE that has the name.  An inlined or concrete function refers to its abstract
 * origin, and a definition outside its class refers to its declaration.
 */
static Dwarf_Die declaration_of(Dwarf_Die *die)
{
	Dwarf_Die at = *die, next;
	Dwarf_Attribute attribute;

	for (unsigned i = 0; i < REFERENCES_MAX; i++) {
		Dwarf_Attribute *found = dwarf_attr(&at, DW_AT_abstract_origin, &attribute);

		if (found == NULL)
			found = dwarf_attr(&at, DW_AT_specification, &attribute);
		if (found == NULL || dwarf_formref_die(found, &next) == NULL)
			break;
		at = next;
	}
	return at;
}

/* Composes the name of a C++ function that has no linkage name. */
static struct gg_symbol_answer_name qualified_name(struct gg_dwarf_scope *scope, const char *name,
                                                   struct gg_module_symbols *answers,
                                                   struct gg_dwarf_parents *parents)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	Dwarf_Die declaration = declaration_of(&scope->die);

	gg_buf_append_text(&text, gg_dwarf_parents_prefix(parents, &declaration));
	gg_buf_append_text(&text, name);
	return gg_module_symbols_qualified(answers, gg_buf_text(&text));
}

struct gg_symbol_answer_name gg_dwarf_scope_name(struct gg_dwarf_scope *scope,
                                                 struct gg_module_symbols *answers,
                                                 struct gg_dwarf_parents *parents)
{
	Dwarf_Attribute attribute;
	const char *text = NULL;

	/* Many addresses share a scope, so the scope keeps its names. */
	if (scope->is_named)
		return scope->name;
	scope->is_named = true;
	if (dwarf_attr_integrate(&scope->die, DW_AT_linkage_name, &attribute) != NULL ||
	    dwarf_attr_integrate(&scope->die, DW_AT_MIPS_linkage_name, &attribute) != NULL)
		text = dwarf_formstring(&attribute);
	if (text != NULL) {
		scope->name = gg_module_symbols_demangle(answers, text);
		return scope->name;
	}
	text = dwarf_diename(&scope->die);
	if (text != NULL && is_cxx(&scope->die))
		scope->name = qualified_name(scope, text, answers, parents);
	else if (text != NULL)
		scope->name = gg_module_symbols_demangle(answers, text);
	return scope->name;
}
