/* SPDX-License-Identifier: Apache-2.0 */
#include "format/stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "format/text.h"

enum { LINE_MAX = 65536 }; /* addresses; of more a file is refused */

void gg_stacks_done(struct gg_stacks *stacks)
{
	gg_maps_done(&stacks->maps);
	free(stacks->nodes);
	free(stacks->addresses);
	free(stacks->line);
	gg_map_done(&stacks->node_map);
	gg_map_done(&stacks->address_map);
}

/* Room for one more; numbers are of 32 bits. */
static bool has_room(void **items, size_t count, size_t *capacity, size_t item_bytes)
{
	size_t more = 2 * *capacity + 1024;
	void *moved;

	if (count < *capacity)
		return true;
	if (count >= UINT32_MAX)
		return false;
	moved = reallocarray(*items, more, item_bytes);
	if (moved == NULL)
		return false;
	*items = moved;
	*capacity = more;
	return true;
}

static int find_address(struct gg_stacks *stacks, uint64_t address, uint32_t *ret_number)
{
	uint64_t number = gg_map_get(&stacks->address_map, address);

	if (number == GG_MAP_NONE) {
		number = stacks->address_count;
		if (!has_room((void **)&stacks->addresses, stacks->address_count,
		              &stacks->address_capacity, sizeof(*stacks->addresses)) ||
		    gg_map_put(&stacks->address_map, address, number) < 0)
			return -ENOMEM;
		stacks->addresses[stacks->address_count++] = (struct gg_stacks_address){ address,
			                                                                 0 };
	}
	*ret_number = (uint32_t)number;
	return 0;
}

static int find_node(struct gg_stacks *stacks, uint32_t parent, uint32_t address,
                     uint32_t *ret_node)
{
	uint64_t key = (uint64_t)parent << 32 | address;
	uint64_t number = gg_map_get(&stacks->node_map, key);

	if (number == GG_MAP_NONE) {
		if (stacks->node_count == 0)
			stacks->node_count = 1; /* 0 is no stack */
		number = stacks->node_count;
		if (!has_room((void **)&stacks->nodes, stacks->node_count, &stacks->node_capacity,
		              sizeof(*stacks->nodes)) ||
		    gg_map_put(&stacks->node_map, key, number) < 0)
			return -ENOMEM;
		stacks->nodes[stacks->node_count++] = (struct gg_stacks_node){ parent, address, 0 };
	}
	*ret_node = (uint32_t)number;
	return 0;
}

/* 0 or -ENOMEM. */
static int add(struct gg_stacks *stacks, const uint64_t *addresses, size_t count,
               uint32_t *ret_node)
{
	uint32_t node = 0, number;
	int code = 0;

	for (size_t i = count; i-- > 0 && code == 0;) {
		/* The call is before the address that it returns to. */
		code = find_address(stacks, addresses[i] > 0 ? addresses[i] - 1 : 0, &number);
		if (code == 0)
			code = find_node(stacks, node, number, &node);
	}
	*ret_node = node;
	return code;
}

int gg_stacks_read(struct gg_stacks *stacks, struct gg_import *import, struct gg_text *line,
                   uint32_t *ret_node)
{
	size_t count = 0;

	if (stacks->line == NULL)
		stacks->line = malloc(LINE_MAX * sizeof(*stacks->line));
	if (stacks->line == NULL)
		return gg_import_no_memory(import);
	for (gg_text_skip_blanks(line); line->length > 0; gg_text_skip_blanks(line)) {
		if (count == LINE_MAX)
			return gg_import_wrong(import, "a stack of more than 65536 addresses");
		if (!gg_text_hexadecimal(line, &stacks->line[count++]))
			return gg_import_wrong(import, "an address was expected");
	}
	if (add(stacks, stacks->line, count, ret_node) < 0)
		return gg_import_no_memory(import);
	return 0;
}

int gg_stacks_settle(struct gg_stacks *stacks, struct gg_import *import)
{
	int code = gg_maps_settle(&stacks->maps, import);

	for (size_t i = 0; i < stacks->address_count && code == 0; i++) {
		struct gg_stacks_address *at = &stacks->addresses[i];
		struct gg_maps_place place;

		code = gg_maps_find(&stacks->maps, import, at->address, &place);
		if (code == 0)
			code = gg_profile_intern_frame(import->profile, place.module, place.address,
			                               &at->frame, import->error);
	}
	if (stacks->node_count > 0)
		stacks->nodes[0].stack = 0;
	for (size_t i = 1; i < stacks->node_count && code == 0; i++) {
		struct gg_stacks_node *node = &stacks->nodes[i];

		code = gg_profile_intern_stack(import->profile, stacks->nodes[node->parent].stack,
		                               stacks->addresses[node->address].frame, &node->stack,
		                               import->error);
	}
	return code;
}

int gg_stacks_note(const struct gg_stacks *stacks, struct gg_import *import)
{
	if (stacks->maps.unknown_file_count == 0)
		return 0;
	return gg_import_note(import,
	                      "%u of the files in stacks are not here as they were: their "
	                      "frames have no names.",
	                      stacks->maps.unknown_file_count);
}
