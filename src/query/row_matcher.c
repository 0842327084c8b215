/* SPDX-License-Identifier: Apache-2.0 */
/* row_matcher - numbers rows by their labels, and stacks without making their labels. */
#include "query/row_matcher.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* In name_of: the function's name has semicolons, so it is several names. */
#define SEVERAL_NAMES UINT32_MAX

/*
 * Most nodes have few children, which a list finds without a miss of the cache.  Further children
 * of a node are in the map.
 */
enum { LISTED_CHILDREN = 8 };

void gg_row_matcher_init(struct gg_row_matcher *matcher)
{
	*matcher = (struct gg_row_matcher){ 0 };
}

void gg_row_matcher_done(struct gg_row_matcher *matcher)
{
	gg_array_done(&matcher->nodes);
	gg_array_done(&matcher->names);
	gg_map_done(&matcher->node_map);
	gg_map_done(&matcher->name_map);
	gg_array_done(&matcher->node_of_stack);
	gg_array_done(&matcher->name_of);
	gg_array_done(&matcher->row_nodes);
	gg_map_done(&matcher->rows);
	gg_buf_done(&matcher->labels);
	gg_array_done(&matcher->label_offsets);
}

static bool matches_stacks(const struct gg_row_matcher *matcher)
{
	return matcher->result->query.by == GG_BY_STACK;
}

/* --- labels of stacks ----------------------------------------------------------------------- */

struct wanted_name {
	const struct gg_row_matcher *matcher;
	struct gg_label_name name;
};

static bool is_wanted_name(uint64_t number, const void *context)
{
	const struct wanted_name *wanted = context;
	const struct gg_label_name *name = &wanted->matcher->names.items[number];

	return name->length == wanted->name.length &&
	       memcmp(name->text, wanted->name.text, name->length) == 0;
}

/* Finds or adds a name.  UINT32_MAX: out of memory. */
static uint32_t find_name(struct gg_row_matcher *matcher, struct gg_label_name name)
{
	struct wanted_name wanted = { matcher, name };
	uint64_t hash = gg_hash_bytes(name.text, name.length, gg_map_seed(&matcher->name_map));
	uint64_t number = gg_map_find(&matcher->name_map, hash, is_wanted_name, &wanted);

	if (number != GG_MAP_NONE)
		return (uint32_t)number;
	if (!gg_array_push(&matcher->names, name) ||
	    gg_map_insert(&matcher->name_map, hash, matcher->names.count - 1) < 0)
		return UINT32_MAX;
	return (uint32_t)matcher->names.count - 1;
}

/* Finds the child with that name.  Returns 0 if it is missing. */
static uint32_t get_child(const struct gg_row_matcher *matcher, uint32_t parent, uint32_t name)
{
	const struct gg_label_node *nodes = matcher->nodes.items;
	uint64_t number;

	for (uint32_t child = nodes[parent].first_child; child != 0;
	     child = nodes[child].next_sibling)
		if (nodes[child].name == name)
			return child;
	if (nodes[parent].child_count <= LISTED_CHILDREN)
		return 0;
	number = gg_map_get(&matcher->node_map, (uint64_t)parent << 32 | name);
	return number != GG_MAP_NONE ? (uint32_t)number : 0;
}

/* Adds the number of a new child to its parent's list or to the map. */
static int link_child(struct gg_row_matcher *matcher, uint32_t number)
{
	struct gg_label_node *child = &matcher->nodes.items[number];
	struct gg_label_node *parent = &matcher->nodes.items[child->parent];

	if (parent->child_count++ >= LISTED_CHILDREN)
		return gg_map_put(&matcher->node_map, (uint64_t)child->parent << 32 | child->name,
		                  number);
	child->next_sibling = parent->first_child;
	parent->first_child = number;
	return 0;
}

/* Finds or adds the node of a path that is longer by one name.  0: out of memory. */
static uint32_t find_child(struct gg_row_matcher *matcher, uint32_t parent, uint32_t name)
{
	struct gg_label_node node = { .parent = parent, .name = name, .row = GG_ROW_UNMATCHED };
	uint32_t number;

	if (name == UINT32_MAX)
		return 0;
	number = get_child(matcher, parent, name);
	if (number != 0)
		return number;
	node.label_bytes = matcher->nodes.items[parent].label_bytes +
	                   matcher->names.items[name].length + (parent != 0 ? 1 : 0);
	if (matcher->nodes.count >= UINT32_MAX || !gg_array_push(&matcher->nodes, node))
		return 0;
	number = (uint32_t)matcher->nodes.count - 1;
	return link_child(matcher, number) == 0 ? number : 0;
}

/*
 * Lengthens a path by the name of a function.  A name with semicolons counts as several names: then
 * two paths have the same text only if they have the same names.  0: out of memory.
 */
static uint32_t add_function(struct gg_row_matcher *matcher, uint32_t node, uint32_t function)
{
	const char *text = matcher->model->functions[function].name;
	uint32_t *known = &matcher->name_of.items[function];
	struct gg_label_name name = { text, strcspn(text, ";") };

	if (*known == 0) {
		uint32_t number = find_name(matcher, name);

		if (number == UINT32_MAX)
			return 0;
		*known = text[name.length] == '\0' ? number + 1 : SEVERAL_NAMES;
	}
	if (*known != SEVERAL_NAMES)
		return find_child(matcher, node, *known - 1);
	for (;;) {
		node = find_child(matcher, node, find_name(matcher, name));
		if (node == 0 || name.text[name.length] == '\0')
			return node;
		name.text += name.length + 1;
		name.length = strcspn(name.text, ";");
	}
}

/* The node of a stack whose caller has the node `node`.  0: out of memory. */
static uint32_t add_stack(struct gg_row_matcher *matcher, uint32_t node, uint32_t stack)
{
	const struct gg_model *model = matcher->model;
	const struct gg_model_frame *frame = &model->frames[model->stacks[stack].frame];
	const struct gg_code_location *locations = model->locations + frame->first_location;

	gg_assert(frame->location_count > 0);
	for (uint32_t i = frame->location_count; i > 0; i--) {
		node = add_function(matcher, node, locations[i - 1].function);
		if (node == 0)
			return 0;
	}
	return node;
}

/* Marks the stacks of the rows, and all their callers, with 1. */
static void mark_stacks(struct gg_row_matcher *matcher)
{
	const struct gg_model_stack *stacks = matcher->model->stacks;
	uint32_t *needed = matcher->node_of_stack.items;

	for (size_t i = 0; i < matcher->result->row_count; i++)
		needed[stacks[matcher->result->rows[i].key].top] = 1;
	for (size_t i = matcher->model->stack_count; i-- > 1;) /* a caller's number is smaller */
		if (needed[i] != 0)
			needed[stacks[i].parent] = 1;
}

/* Replaces the marks by nodes, from callers to callees.  Stack 0 is nobody's caller. */
static int find_nodes(struct gg_row_matcher *matcher)
{
	const struct gg_model_stack *stacks = matcher->model->stacks;
	uint32_t *nodes = matcher->node_of_stack.items;

	for (uint32_t i = 0; i < matcher->model->stack_count; i++) {
		uint32_t parent = stacks[i].parent;

		if (nodes[i] == 0)
			continue;
		gg_assert(parent < i || i == 0);
		nodes[i] = add_stack(matcher, parent != 0 ? nodes[parent] : 0, i);
		if (nodes[i] == 0)
			return -ENOMEM;
	}
	return 0;
}

int gg_row_matcher_begin(struct gg_row_matcher *matcher, const struct gg_model *model,
                         const struct gg_query_result *result)
{
	gg_assert(matcher->result == NULL || matcher->result->query.by == result->query.by);
	matcher->model = model;
	matcher->result = result;
	if (!matches_stacks(matcher))
		return 0;
	matcher->node_of_stack.count = matcher->name_of.count = 0;
	if (!gg_array_extend(&matcher->node_of_stack, model->stack_count) ||
	    !gg_array_extend(&matcher->name_of, model->function_count))
		return -ENOMEM;
	if (matcher->nodes.count == 0 &&
	    !gg_array_push(&matcher->nodes, (struct gg_label_node){ .row = GG_ROW_UNMATCHED }))
		return -ENOMEM;
	mark_stacks(matcher);
	return find_nodes(matcher);
}

static uint32_t find_stack_row(struct gg_row_matcher *matcher, uint32_t stack)
{
	uint32_t number = matcher->node_of_stack.items[matcher->model->stacks[stack].top];
	struct gg_label_node *node = &matcher->nodes.items[number];

	gg_assert(number != 0);
	if (node->row == GG_ROW_UNMATCHED) {
		if (!gg_array_push(&matcher->row_nodes, number))
			return GG_ROW_UNMATCHED;
		node->row = matcher->row_count++;
	}
	return node->row;
}

/* Writes the label of a node; its end is known, so the names come from the innermost on. */
static void write_label(const struct gg_row_matcher *matcher, uint32_t number, char *label)
{
	const struct gg_label_node *node = &matcher->nodes.items[number];
	char *at = label + node->label_bytes;

	*at = '\0';
	while (number != 0) {
		const struct gg_label_name *name;

		node = &matcher->nodes.items[number];
		name = &matcher->names.items[node->name];
		at -= name->length;
		memcpy(at, name->text, name->length);
		number = node->parent;
		if (number != 0)
			*--at = ';';
	}
	gg_assert(at == label);
}

static char *write_stack_labels(const struct gg_row_matcher *matcher, size_t *offsets)
{
	const uint32_t *nodes = matcher->row_nodes.items;
	size_t bytes = 0;
	char *texts;

	gg_assert(matcher->row_nodes.count == matcher->row_count);
	for (size_t i = 0; i < matcher->row_count; i++) {
		offsets[i] = bytes;
		bytes += matcher->nodes.items[nodes[i]].label_bytes + 1;
	}
	texts = malloc(bytes + 1);
	for (size_t i = 0; i < matcher->row_count && texts != NULL; i++)
		write_label(matcher, nodes[i], texts + offsets[i]);
	return texts;
}

/* --- other labels ---------------------------------------------------------------------------- */

struct wanted_label {
	const struct gg_row_matcher *matcher;
	const char *label;
};

static bool is_wanted_label(uint64_t row, const void *context)
{
	const struct wanted_label *wanted = context;
	const struct gg_row_matcher *matcher = wanted->matcher;

	return strcmp(matcher->labels.data + matcher->label_offsets.items[row], wanted->label) == 0;
}

/* Appends the label first, and takes it back if an earlier row has it. */
static uint32_t find_labeled_row(struct gg_row_matcher *matcher, const struct gg_query_row *row)
{
	size_t offset = matcher->labels.length;
	struct wanted_label wanted = { .matcher = matcher };
	uint64_t hash, found;

	gg_query_row_label(matcher->model, matcher->result, row, &matcher->labels);
	gg_buf_append(&matcher->labels, "", 1);
	if (matcher->labels.failed)
		return GG_ROW_UNMATCHED;
	wanted.label = matcher->labels.data + offset;
	hash = gg_hash_bytes(wanted.label, matcher->labels.length - offset - 1,
	                     gg_map_seed(&matcher->rows));
	found = gg_map_find(&matcher->rows, hash, is_wanted_label, &wanted);
	if (found != GG_MAP_NONE) {
		matcher->labels.length = offset;
		return (uint32_t)found;
	}
	if (!gg_array_push(&matcher->label_offsets, offset) ||
	    gg_map_insert(&matcher->rows, hash, matcher->row_count) < 0)
		return GG_ROW_UNMATCHED;
	return matcher->row_count++;
}

uint32_t gg_row_matcher_find(struct gg_row_matcher *matcher, const struct gg_query_row *row)
{
	return matches_stacks(matcher) ? find_stack_row(matcher, row->key)
	                               : find_labeled_row(matcher, row);
}

char *gg_row_matcher_take_labels(struct gg_row_matcher *matcher, size_t *offsets)
{
	char *texts;

	if (matcher->result != NULL && matches_stacks(matcher))
		return write_stack_labels(matcher, offsets);
	for (size_t i = 0; i < matcher->row_count; i++)
		offsets[i] = matcher->label_offsets.items[i];
	texts = matcher->labels.data;
	matcher->labels = (struct gg_buf){ 0 };
	return texts != NULL ? texts : calloc(1, 1);
}
