/* SPDX-License-Identifier: Apache-2.0 */
/* address_stacks - a tree of addresses that becomes frames and stacks. */
#include "format/import/address_stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "format/codec/line_parser.h"

enum { LINE_MAX = 65536 }; /* of addresses in a stack; longer ones are refused */

void gg_address_stacks_done(struct gg_address_stacks *stacks)
{
	gg_mapping_list_done(&stacks->maps);
	gg_array_done(&stacks->nodes);
	gg_array_done(&stacks->addresses);
	free(stacks->line);
	gg_buf_done(&stacks->texts);
	gg_buf_done(&stacks->names);
	gg_map_done(&stacks->node_map);
	gg_map_done(&stacks->address_map);
}

static int find_address(struct gg_address_stacks *stacks, uint64_t address, uint32_t *ret_number)
{
	uint64_t number = gg_map_get(&stacks->address_map, address);

	if (number == GG_MAP_NONE) {
		struct gg_address_stacks_address added = { .address = address };

		number = stacks->addresses.count;
		if (number >= UINT32_MAX || !gg_array_push(&stacks->addresses, added) ||
		    gg_map_put(&stacks->address_map, address, number) < 0)
			return -ENOMEM;
	}
	*ret_number = (uint32_t)number;
	return 0;
}

static int find_node(struct gg_address_stacks *stacks, uint32_t parent, uint32_t address,
                     uint32_t *ret_node)
{
	uint64_t key = (uint64_t)parent << 32 | address;
	uint64_t number = gg_map_get(&stacks->node_map, key);

	if (number == GG_MAP_NONE) {
		struct gg_address_stacks_node added = { parent, address, 0 };

		if (!gg_array_extend(&stacks->nodes, 1)) /* number 0 is no stack */
			return -ENOMEM;
		number = stacks->nodes.count;
		if (number >= UINT32_MAX || !gg_array_push(&stacks->nodes, added) ||
		    gg_map_put(&stacks->node_map, key, number) < 0)
			return -ENOMEM;
	}
	*ret_node = (uint32_t)number;
	return 0;
}

/* Adds a stack to the tree; returns 0 or -ENOMEM. */
static int add(struct gg_address_stacks *stacks, const uint64_t *addresses, size_t count,
               uint32_t *ret_node)
{
	uint32_t node = 0, number;
	int status = 0;

	for (size_t i = count; i-- > 0 && status == 0;) {
		/* The call is before the address that it returns to. */
		status = find_address(stacks, addresses[i] > 0 ? addresses[i] - 1 : 0, &number);
		if (status == 0)
			status = find_node(stacks, node, number, &node);
	}
	*ret_node = node;
	return status;
}

int gg_address_stacks_read(struct gg_address_stacks *stacks, struct gg_import *import,
                           struct gg_text_line *line, uint32_t *ret_node)
{
	size_t count = 0;

	stacks->read_count++;
	if (stacks->line == NULL)
		stacks->line = malloc(LINE_MAX * sizeof(*stacks->line));
	if (stacks->line == NULL)
		return gg_import_no_memory(import);
	for (gg_text_line_skip_blanks(line); line->length > 0; gg_text_line_skip_blanks(line)) {
		if (count == LINE_MAX)
			return gg_import_wrong(import, "a stack has more than 65536 addresses");
		if (!gg_text_line_hexadecimal(line, &stacks->line[count++]))
			return gg_import_wrong(import, "a word of the stack is no address");
	}
	if (add(stacks, stacks->line, count, ret_node) < 0)
		return gg_import_no_memory(import);
	return 0;
}

/* --- names ------------------------------------------------------------------------------------ */

enum { ADDRESS_NAMES_MAX = 64 }; /* of one address; deeper inlining is truncated */

static struct gg_address_stacks_address *named_address(struct gg_address_stacks *stacks,
                                                       uint64_t address)
{
	/*
	 * Go names the address of the call, which is the stored one; for raw addresses it names the
	 * next one.
	 */
	uint64_t number = gg_map_get(&stacks->address_map, address);

	if (number == GG_MAP_NONE && address > 0)
		number = gg_map_get(&stacks->address_map, address - 1);
	return number != GG_MAP_NONE ? &stacks->addresses.items[number] : NULL;
}

static size_t keep_text(struct gg_address_stacks *stacks, const char *text, size_t length)
{
	size_t at = stacks->texts.length;

	gg_buf_append(&stacks->texts, text, length);
	gg_buf_append(&stacks->texts, "", 1);
	return at;
}

/* Returns the position of the last such character in the text, or the text's length. */
static size_t find_last(const struct gg_text_line *text, char c)
{
	const char *at = text->length > 0 ? memrchr(text->at, c, text->length) : NULL;

	return at != NULL ? (size_t)(at - text->at) : text->length;
}

int gg_address_stacks_name(struct gg_address_stacks *stacks, struct gg_import *import,
                           struct gg_text_line line)
{
	size_t count = stacks->names.length / sizeof(struct gg_address_stacks_name);
	struct gg_address_stacks_name name = { 0 };
	struct gg_address_stacks_address *of;
	struct gg_text_line function, number;
	const char *tab;
	uint64_t address, value;

	if (!gg_text_line_literal(&line, "#"))
		return 0;
	gg_text_line_skip_blanks(&line);
	if (!gg_text_line_begins(&line, "0x") || !gg_text_line_hexadecimal(&line, &address) ||
	    !gg_text_line_literal(&line, "\t"))
		return 0;
	tab = memchr(line.at, '\t', line.length);
	function = line;
	function.length = tab != NULL ? (size_t)(tab - line.at) : line.length;
	line.at += function.length;
	line.length -= function.length;
	gg_text_line_skip_blanks(&line);
	function.length = find_last(&function, '+');
	of = named_address(stacks, address);
	if (of == NULL || function.length == 0 || of->name_count == ADDRESS_NAMES_MAX ||
	    (of->name_count > 0 &&
	     (of->named_in != stacks->read_count || of->first_name + of->name_count != count)))
		return 0;
	name.function = keep_text(stacks, function.at, function.length);
	number = line;
	line.length = find_last(&line, ':');
	number.at += line.length;
	number.length -= line.length;
	name.file = keep_text(stacks, line.at, line.length);
	if (gg_text_line_literal(&number, ":") && gg_text_line_decimal(&number, &value) &&
	    value <= INT32_MAX)
		name.line = (uint32_t)value;
	if (of->name_count++ == 0)
		of->first_name = count;
	of->named_in = stacks->read_count;
	gg_buf_append(&stacks->names, &name, sizeof(name));
	return stacks->texts.failed || stacks->names.failed ? gg_import_no_memory(import) : 0;
}

static int intern_named(const struct gg_address_stacks *stacks, struct gg_import *import,
                        struct gg_address_stacks_address *at,
                        const struct gg_mapping_list_address *found)
{
	const struct gg_address_stacks_name *names =
		(const struct gg_address_stacks_name *)(const void *)stacks->names.data +
		at->first_name;
	struct gg_profile_line lines[ADDRESS_NAMES_MAX] = { 0 };

	for (uint32_t i = 0; i < at->name_count; i++) {
		const char *file = stacks->texts.data + names[i].file;

		lines[i].linkage_name = stacks->texts.data + names[i].function;
		lines[i].file = file[0] != '\0' ? file : NULL;
		lines[i].line = names[i].line;
	}
	return gg_import_frame(import, found->module, found->address, lines, at->name_count,
	                       &at->frame);
}

int gg_address_stacks_read_maps(struct gg_address_stacks *stacks, struct gg_import *import)
{
	struct gg_text_line line;
	int status;

	while ((status = gg_input_line(import->input, &line, import->error)) > 0)
		gg_mapping_list_add(&stacks->maps, &line);
	return status;
}

int gg_address_stacks_intern(struct gg_address_stacks *stacks, struct gg_import *import)
{
	int status = gg_mapping_list_sort(&stacks->maps, import);

	for (size_t i = 0; i < stacks->addresses.count && status == 0; i++) {
		struct gg_address_stacks_address *at = &stacks->addresses.items[i];
		struct gg_mapping_list_address found;

		status = gg_mapping_list_find(&stacks->maps, import, at->address, &found);
		if (status == 0 && at->name_count > 0)
			status = intern_named(stacks, import, at, &found);
		else if (status == 0)
			status = gg_profile_intern_frame(import->profile, found.module,
			                                 found.address, &at->frame, import->error);
	}
	for (size_t i = 1; i < stacks->nodes.count && status == 0; i++) {
		struct gg_address_stacks_node *node = &stacks->nodes.items[i];

		gg_assert(node->parent < i && node->address < stacks->addresses.count);
		status = gg_profile_intern_stack(
			import->profile, stacks->nodes.items[node->parent].stack,
			stacks->addresses.items[node->address].frame, &node->stack, import->error);
	}
	return status;
}

int gg_address_stacks_note(const struct gg_address_stacks *stacks, struct gg_import *import)
{
	if (stacks->maps.unknown_file_count == 0)
		return 0;
	return gg_import_note(
		import,
		stacks->maps.unknown_file_count == 1
			? "%u file of the stacks is missing or has changed: its frames "
			  "have no names."
			: "%u files of the stacks are missing or have changed: their frames "
			  "have no names.",
		stacks->maps.unknown_file_count);
}
