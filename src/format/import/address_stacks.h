/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address_stacks - collects stacks of absolute addresses until the list of mappings is known.
 *
 * In the file, the list follows the rows.  Only the list tells which frame an address belongs to.
 *
 *   struct gg_address_stacks stacks = { 0 };
 *
 *   gg_address_stacks_read(&stacks, import, &line, &node);    return addresses, innermost first
 *   gg_address_stacks_read_maps(&stacks, import);             lines of /proc/PID/maps
 *   gg_address_stacks_intern(&stacks, import);                makes the profile's ids
 *   stack = gg_address_stacks_stack(&stacks, node);
 *   gg_address_stacks_done(&stacks);
 *
 * Memory   16 bytes for each node of the tree of stacks, 24 for each address, and the maps that
 *          find them.
 * Threads  one owner.
 */
#pragma once

#include "base/array.h"
#include "base/assert.h"
#include "format/import/import.h"
#include "format/import/mapping_list.h"

struct gg_address_stacks_node {
	uint32_t parent; /* 0: outermost; always smaller than the node's own number */
	uint32_t address;
	uint32_t stack; /* id, once it is interned */
};

struct gg_address_stacks_address {
	uint64_t address;
	uint32_t frame;      /* id, once it is interned */
	uint32_t named_in;   /* number of the stack that has the names */
	uint32_t name_count; /* names in the file: inlined calls, innermost first */
	uint64_t first_name; /* number of the first name; the rest follow */
};

struct gg_address_stacks_name {
	size_t function, file; /* offsets of its texts */
	uint32_t line;
};

struct gg_address_stacks {
	struct gg_mapping_list maps;
	GG_ARRAY(struct gg_address_stacks_node) nodes; /* number 0 means no stack */
	GG_ARRAY(struct gg_address_stacks_address) addresses;
	struct gg_map node_map, address_map;
	uint64_t *line;      /* addresses of one line */
	uint32_t read_count; /* number of stacks so far */
	struct gg_buf texts; /* each with its end */
	struct gg_buf names; /* struct gg_address_stacks_name */
};

void gg_address_stacks_done(struct gg_address_stacks *stacks);
/*
 * Reads the rest of the line, hexadecimal numbers, as a stack.  Returns -EBADMSG for other text or
 * more than 65536 numbers.
 */
GG_MUST_CHECK int gg_address_stacks_read(struct gg_address_stacks *stacks, struct gg_import *import,
                                         struct gg_text_line *line, uint32_t *ret_node);
/*
 * Reads a comment of Go such as "#\t0x4c6b68\tmain.grow+0x108\t/src/main.go:7", which names an
 * address of a row.  The function ignores other comments, and names of addresses that an earlier
 * stack already named.
 */
GG_MUST_CHECK int gg_address_stacks_name(struct gg_address_stacks *stacks, struct gg_import *import,
                                         struct gg_text_line line);
/* Reads the rest of the file as lines of /proc/PID/maps; skips other lines. */
GG_MUST_CHECK int gg_address_stacks_read_maps(struct gg_address_stacks *stacks,
                                              struct gg_import *import);
/* Makes the modules, frames and stacks of all nodes. */
GG_MUST_CHECK int gg_address_stacks_intern(struct gg_address_stacks *stacks,
                                           struct gg_import *import);
/* Returns the id of a node's stack; 0 for node 0. */
static inline uint32_t gg_address_stacks_stack(const struct gg_address_stacks *stacks,
                                               uint32_t node)
{
	gg_assert(node == 0 || node < stacks->nodes.count);
	return node > 0 ? stacks->nodes.items[node].stack : 0;
}
/* Notes how many files of the stacks are missing or have changed, if any. */
GG_MUST_CHECK int gg_address_stacks_note(const struct gg_address_stacks *stacks,
                                         struct gg_import *import);
