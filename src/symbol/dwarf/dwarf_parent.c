/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_parent - finds the enclosing scopes of C++ functions by one walk through each unit. */
#include "symbol/dwarf/dwarf_parent.h"

#include <dwarf.h>
#include <string.h>

/* The walk does not enter deeper levels, and skips scopes with longer prefixes. */
enum { PARENT_DEPTH_MAX = 64, PREFIX_MAX = 8192 };

void gg_dwarf_parents_done(struct gg_dwarf_parents *parents)
{
	gg_map_done(&parents->prefix_of_die);
	gg_map_done(&parents->seen_units);
	gg_blob_builder_done(&parents->prefixes);
}

static uint64_t key_of(const Dwarf_Die *die)
{
	return (uint64_t)(uintptr_t)die->addr;
}

/*
 * Appends the name of a namespace or class as demanglers write it, and "::".  Other functions of
 * the same scope have linkage names, whose demangled names must begin with the same text.
 */
static void append_name(struct gg_buf *prefix, Dwarf_Die *die)
{
	static const char lambda[] = "<lambda(";
	const char *name = dwarf_diename(die);
	size_t length = name != NULL ? strlen(name) : 0;

	if (dwarf_tag(die) == DW_TAG_namespace && name == NULL) {
		gg_buf_append_text(prefix, "(anonymous namespace)::");
	} else if (length > strlen(lambda) && strncmp(name, lambda, strlen(lambda)) == 0) {
		gg_buf_append_text(prefix, "{"); /* gcc writes <lambda(int)> */
		gg_buf_append(prefix, name + 1, length - 2);
		gg_buf_append_text(prefix, "}::");
	} else if (name != NULL) {
		gg_buf_append(prefix, name, length);
		gg_buf_append_text(prefix, "::");
	}
}

static bool has_members(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_structure_type ||
	       tag == DW_TAG_class_type || tag == DW_TAG_union_type || tag == DW_TAG_module;
}

/* Stores the prefix of each function below `parent`.  The prefix ends in the name of `parent`. */
static void walk(struct gg_dwarf_parents *parents, Dwarf_Die *parent, struct gg_buf *prefix,
                 unsigned depth)
{
	const size_t length = prefix->length;
	uint32_t offset = 0;
	Dwarf_Die die;

	if (depth > PARENT_DEPTH_MAX || length > PREFIX_MAX || dwarf_child(parent, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram && length > 0) {
			if (offset == 0)
				offset = gg_blob_intern(&parents->prefixes, gg_buf_text(prefix));
			if (gg_map_put(&parents->prefix_of_die, key_of(&die), offset) < 0)
				return;
		} else if (has_members(tag)) {
			append_name(prefix, &die);
			walk(parents, &die, prefix, depth + 1);
			if (prefix->failed)
				return;
			/*
			 * Removes the name of this scope before the walk goes on to its siblings.
			 */
			prefix->length = length;
			if (prefix->data != NULL)
				prefix->data[length] = '\0';
		}
	} while (dwarf_siblingof(&die, &die) == 0);
}

const char *gg_dwarf_parents_prefix(struct gg_dwarf_parents *parents, Dwarf_Die *declaration)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf prefix = { 0 };
	Dwarf_Die unit;
	uint64_t offset;

	if (dwarf_diecu(declaration, &unit, NULL, NULL) == NULL)
		return "";
	if (gg_map_get(&parents->seen_units, key_of(&unit)) == GG_MAP_NONE) {
		if (gg_map_put(&parents->seen_units, key_of(&unit), 1) < 0)
			return "";
		walk(parents, &unit, &prefix, 0);
	}
	offset = gg_map_get(&parents->prefix_of_die, key_of(declaration));
	return offset != GG_MAP_NONE && parents->prefixes.strings.data != NULL
	               ? parents->prefixes.strings.data + offset
	               : "";
}
