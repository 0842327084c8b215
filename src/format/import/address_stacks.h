/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address_stacks - rows with stacks of absolute addresses, which become frames when the list of mappings that
 * follows them in the file is known.
 *
 *   struct gg_address_stacks stacks = { 0 };
 *
 *   gg_address_stacks_read(&stacks, import, &line, &node);        return addresses, innermost first
 *   gg_mapping_list_add(&stacks.maps, line);                      lines of /proc/PID/maps
 *   gg_address_stacks_settle(&stacks, import);                    from here on the profile's ids are known
 *   stacks.nodes.items[node].stack
 *   gg_address_stacks_done(&stacks);
 *
 * Memory   16 bytes a node of the tree of stacks and 24 an address, and the maps that find them.
 * Threads  one owner.
 */
#pragma once

#include "base/array.h"
#include "format/import/import.h"
#include "format/import/mapping_list.h"

struct gg_address_stacks_node {
	uint32_t parent; /* 0: outermost; smaller than the node's own number */
	uint32_t address;
	uint32_t stack; /* id, once settled */
};

struct gg_address_stacks_address {
	uint64_t address;
	uint32_t frame;      /* id, once settled */
	uint32_t named_in;   /* number of the stack behind which the names stand */
	uint32_t name_count; /* that the file has for it: of inlined calls, innermost first */
	uint64_t first_name; /* number of the first, the rest follow */
};

struct gg_address_stacks_name {
	size_t function, file; /* where its texts begin */
	uint32_t line;
};

struct gg_address_stacks {
	struct gg_mapping_list maps;
	GG_ARRAY(struct gg_address_stacks_node) nodes; /* number 0 is no stack */
	GG_ARRAY(struct gg_address_stacks_address) addresses;
	struct gg_map node_map, address_map;
	uint64_t *line;      /* room for the addresses of one */
	uint32_t read_count; /* stacks that were read */
	struct gg_buf texts; /* each with its end */
	struct gg_buf names; /* struct gg_address_stacks_name */
};

void gg_address_stacks_done(struct gg_address_stacks *stacks);
/* The hexadecimal numbers of the line, all that is left of it, are a stack; -EBADMSG where they are none, or
 * more than 65536. */
GG_MUST_CHECK int gg_address_stacks_read(struct gg_address_stacks *stacks, struct gg_import *import,
                                         struct gg_text_line *line, uint32_t *ret_node);
/*
 * A remark of Go's: "#\t0x4c6b68\tmain.grow+0x108\t/src/main.go:7", a name of an address that a row had.  Any other
 * remark is passed over, and so is a name behind another stack than that which named the address first.
 */
GG_MUST_CHECK int gg_address_stacks_name(struct gg_address_stacks *stacks, struct gg_import *import,
                                         struct gg_text_line line);
GG_MUST_CHECK int gg_address_stacks_settle(struct gg_address_stacks *stacks,
                                           struct gg_import *import);
/* Says how many of the files in stacks were not found as they were, if any. */
GG_MUST_CHECK int gg_address_stacks_note(const struct gg_address_stacks *stacks,
                                         struct gg_import *import);
