/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree - builds the tree by splitting groups of stacks.
 *
 * Stacks that share a path form a group.  The builder splits a group by the next function on the
 * path, and does not split parts that are too light.  The work is therefore proportional to what is
 * shown.
 */
#include "query/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "stats/estimate/plain_tally.h"

enum { TALLIES = 64 };

/* One stack: the functions of its path and its tally. */
struct branch {
	const uint32_t *path;
	uint32_t length;
	uint32_t via;   /* the hidden function through which it allocated; 0: none */
	uint32_t group; /* valid while its node is being split */
	double value;
	struct gg_plain_tally sums;
};

struct child_group {
	uint32_t function, count, order;
	double value;
};

/* Some of a tree's tallies; they never move. */
struct gg_tree_tallies {
	struct gg_tree_tallies *next;
	size_t count;
	struct gg_tally tallies[TALLIES];
};

struct builder {
	const struct gg_model *model;
	const struct gg_tree_options *options;
	GG_ARRAY(struct gg_tree_node) nodes;
	struct gg_tree_tallies *tallies;
	struct gg_tally *nothing; /* the own memory of all nodes without any */
	struct branch *branches;
	uint32_t *order, *other; /* of branches; the branches of a node are contiguous */
	uint32_t *paths;
	uint32_t *group_of; /* by function; UINT32_MAX: none; valid while a node is being split */
	double least;       /* lighter nodes are folded */
	enum gg_quantity unit;
};

static struct gg_tally *add_tally(struct gg_tree_tallies **tallies)
{
	struct gg_tree_tallies *first = *tallies;

	if (first == NULL || first->count == TALLIES) {
		first = malloc(sizeof(*first));
		if (first == NULL)
			return NULL;
		first->next = *tallies;
		first->count = 0;
		*tallies = first;
	}
	first->tallies[first->count] = (struct gg_tally){ 0 };
	return &first->tallies[first->count++];
}

static void free_tallies(struct gg_tree_tallies *tallies)
{
	while (tallies != NULL) {
		struct gg_tree_tallies *next = tallies->next;

		free(tallies);
		tallies = next;
	}
}

static struct gg_tree_node *add_node(struct builder *builder, uint32_t parent, uint32_t function)
{
	struct gg_tree_node *node = gg_array_add(&builder->nodes);

	if (node == NULL)
		return NULL;
	node->function = function;
	node->parent = parent;
	return node;
}

/*
 * Adds up branches[order[from..to)]: all of them, and those whose path ends at `depth`.  same: the
 * tally of a node with the same branches in the same order, or NULL.
 */
static int add_up(struct builder *builder, size_t from, size_t to, uint32_t depth,
                  struct gg_tally *same, struct gg_tree_node *node)
{
	struct gg_plain_tally total = { 0 }, self = { 0 };
	size_t ended_count = 0;
	double via_value = 0;

	for (size_t i = from; i < to; i++) {
		const struct branch *branch = &builder->branches[builder->order[i]];
		bool is_own = builder->options->inverted ? depth == 1 : branch->length == depth;

		if (same == NULL)
			gg_plain_tally_add(&total, &branch->sums);
		if (branch->length == depth) {
			gg_plain_tally_add(&self, &branch->sums);
			ended_count++;
		}
		if (is_own && branch->via != 0 && branch->value >= via_value) {
			node->via = branch->via;
			via_value = branch->value;
		}
	}
	node->total = same != NULL ? same : add_tally(&builder->tallies);
	node->self = ended_count == 0           ? builder->nothing
	             : ended_count == to - from ? node->total
	                                        : add_tally(&builder->tallies);
	if (node->total == NULL || node->self == NULL)
		return -ENOMEM;
	if (same == NULL)
		gg_plain_tally_tally(&total, node->total);
	if (node->self != node->total && node->self != builder->nothing)
		gg_plain_tally_tally(&self, node->self);
	return 0;
}

static int compare_groups(const void *a, const void *b)
{
	const struct child_group *left = a, *right = b;

	if (left->value != right->value)
		return left->value < right->value ? 1 : -1;
	return (left->function > right->function) - (left->function < right->function);
}

/*
 * Splits a range of branches by the function at `depth` of their paths.  Branches that end here
 * move to the front, and *ret_from follows them.  The others are sorted by group, the heaviest
 * group first.
 */
static int split(struct builder *builder, size_t *ret_from, size_t to, uint32_t depth,
                 struct child_group **ret_groups, uint32_t *ret_count)
{
	size_t from = *ret_from, ended = from;
	struct child_group *groups = malloc((to - from + 1) * sizeof(*groups));
	uint32_t count = 0, *starts;

	if (groups == NULL)
		return -ENOMEM;
	for (size_t i = from; i < to; i++) {
		uint32_t number = builder->order[i];
		struct branch *branch = &builder->branches[number];
		uint32_t function;

		if (branch->length == depth) {
			builder->order[i] = builder->order[ended];
			builder->order[ended++] = number;
			continue;
		}
		function = branch->path[depth];
		if (builder->group_of[function] == UINT32_MAX) {
			builder->group_of[function] = count;
			groups[count] = (struct child_group){ .function = function,
				                              .order = count };
			count++;
		}
		branch->group = builder->group_of[function];
		groups[branch->group].value += branch->value;
		groups[branch->group].count++;
	}
	for (uint32_t i = 0; i < count; i++)
		builder->group_of[groups[i].function] = UINT32_MAX;
	qsort(groups, count, sizeof(*groups), compare_groups);
	starts = malloc((count + 1) * sizeof(*starts));
	if (starts == NULL) {
		free(groups);
		return -ENOMEM;
	}
	for (uint32_t i = 0, start = (uint32_t)ended; i < count; i++) {
		starts[groups[i].order] = start;
		start += groups[i].count;
	}
	for (size_t i = ended; i < to; i++) {
		uint32_t number = builder->order[i];

		builder->other[starts[builder->branches[number].group]++] = number;
	}
	memcpy(&builder->order[ended], &builder->other[ended], (to - ended) * sizeof(uint32_t));
	free(starts);
	*ret_from = ended;
	*ret_groups = groups;
	*ret_count = count;
	return 0;
}

static double value_of(const struct builder *builder, const struct gg_tally *tally)
{
	return gg_tally_estimate(tally, builder->unit).value;
}

/*
 * Makes the child with the parent's own memory where it is not lighter than the next group.
 * Returns how many it made, 0 or 1, or -ENOMEM.
 */
static int add_self(struct builder *builder, uint32_t parent, double next, bool *is_done)
{
	struct gg_tree_node own = builder->nodes.items[parent];
	double value = value_of(builder, own.self);
	struct gg_tree_node *node;

	if (*is_done || value < next)
		return 0;
	*is_done = true;
	builder->nodes.items[parent].via = 0;
	if (parent == 0 || !(value > 0) || value < builder->least)
		return 0;
	node = add_node(builder, parent, own.function);
	if (node == NULL)
		return -ENOMEM;
	node->depth = own.depth + 1;
	node->is_self = true;
	node->via = own.via;
	node->total = node->self = own.self;
	return 1;
}

/* Makes the children of the node whose branches are order[from..to), and their descendants. */
static int grow(struct builder *builder, uint32_t parent, size_t from, size_t to)
{
	uint32_t depth = builder->nodes.items[parent].depth, count, shown = 0, own = 0;
	bool is_self_done = !builder->options->with_self || builder->options->inverted;
	bool is_heaviest = builder->nodes.items[parent].is_heaviest;
	/* The root's tally has more than the sum of all branches. */
	struct gg_tally *of_parent = parent != 0 ? builder->nodes.items[parent].total : NULL;
	size_t branch_count = to - from;
	struct gg_tree_node *node;
	struct child_group *groups;
	int status = split(builder, &from, to, depth, &groups, &count);

	if (status < 0)
		return status;
	is_self_done |= count == 0;
	for (; status == 0 && shown < count; shown++) {
		uint32_t child;

		status = add_self(builder, parent, groups[shown].value, &is_self_done);
		own += status > 0;
		if (status < 0)
			break;
		status = 0;
		child = (uint32_t)builder->nodes.count;
		if (groups[shown].value < builder->least && !(shown == 0 && is_heaviest))
			break;
		node = add_node(builder, parent, groups[shown].function);
		if (node == NULL) {
			status = -ENOMEM;
			break;
		}
		node->depth = depth + 1;
		node->is_heaviest = shown == 0 && is_heaviest;
		status = add_up(builder, from, from + groups[shown].count, depth + 1,
		                groups[shown].count == branch_count ? of_parent : NULL, node);
		if (status == 0)
			status = grow(builder, child, from, from + groups[shown].count);
		from += groups[shown].count;
	}
	if (status == 0) {
		status = add_self(builder, parent, 0, &is_self_done);
		own += status > 0;
		status = status < 0 ? status : 0;
	}
	if (status == 0 && shown < count) {
		node = add_node(builder, parent, 0);
		if (node != NULL) {
			node->depth = depth + 1;
			node->folded_count = count - shown;
			status = add_up(builder, from, to, depth + 1, NULL, node);
			node->via = 0;
		} else {
			status = -ENOMEM;
		}
	}
	free(groups);
	if (status == 0)
		builder->nodes.items[parent].child_count = shown + own + (shown < count);
	return status;
}

/* Collects the functions of all stacks, in the order in which the tree needs them. */
static int lay_paths(struct builder *builder, const struct gg_query_result *result)
{
	struct gg_code_location *places = malloc(GG_TREE_MAX_DEPTH * sizeof(*places));
	size_t used = 0;

	for (size_t i = 0; i < result->row_count; i++) {
		size_t length = gg_model_path(builder->model, result->rows[i].key, NULL, 0);

		used += length < GG_TREE_MAX_DEPTH ? length : GG_TREE_MAX_DEPTH;
	}
	builder->paths = malloc((used + 1) * sizeof(*builder->paths));
	if (places == NULL || builder->paths == NULL) {
		free(places);
		return -ENOMEM;
	}
	used = 0;
	for (size_t i = 0; i < result->row_count; i++) {
		struct branch *branch = &builder->branches[i];
		uint32_t *path = builder->paths + used;
		size_t length = gg_model_path(builder->model, result->rows[i].key, places,
		                              GG_TREE_MAX_DEPTH);

		if (length > GG_TREE_MAX_DEPTH)
			length = GG_TREE_MAX_DEPTH;
		for (size_t k = 0; k < length; k++)
			path[builder->options->inverted ? k : length - 1 - k] = places[k].function;
		used += length;
		branch->path = path;
		branch->length = (uint32_t)length;
		branch->via = result->rows[i].via;
		branch->value = gg_tally_estimate(result->rows[i].self, result->query.unit).value;
		gg_plain_tally_of(&branch->sums, result->rows[i].self);
		builder->order[i] = (uint32_t)i;
	}
	free(places);
	return 0;
}

static int build(struct builder *builder, const struct gg_query_result *result)
{
	size_t count = result->row_count, functions = builder->model->function_count;
	struct gg_tree_node *root;

	builder->branches = malloc((count + 1) * sizeof(*builder->branches));
	builder->order = malloc((count + 1) * sizeof(*builder->order));
	builder->other = malloc((count + 1) * sizeof(*builder->other));
	builder->group_of = malloc(functions * sizeof(*builder->group_of));
	if (builder->branches == NULL || builder->order == NULL || builder->other == NULL ||
	    builder->group_of == NULL)
		return -ENOMEM;
	memset(builder->group_of, 0xff, functions * sizeof(*builder->group_of));
	if (lay_paths(builder, result) < 0)
		return -ENOMEM;
	root = add_node(builder, 0, 0);
	builder->nothing = add_tally(&builder->tallies);
	if (root == NULL || builder->nothing == NULL)
		return -ENOMEM;
	root->is_heaviest = true;
	root->total = add_tally(&builder->tallies);
	root->self = builder->nothing;
	if (root->total == NULL)
		return -ENOMEM;
	*root->total = result->total;
	builder->unit = result->query.unit;
	builder->least = builder->options->fold * value_of(builder, &result->total);
	return grow(builder, 0, 0, count);
}

/* Every node was exposed to the same sampling intervals as the whole, and has its bounds. */
static void expose(struct gg_tree *tree)
{
	const struct gg_tally whole = *tree->nodes[0].total;

	for (struct gg_tree_tallies *some = tree->tallies; some != NULL; some = some->next)
		for (size_t i = 0; i < some->count; i++) {
			gg_tally_expose_like(&some->tallies[i], &whole);
			gg_tally_bound_like(&some->tallies[i], &whole);
		}
}

static bool copy_tally(struct gg_tree *tree, struct gg_tally **tally)
{
	struct gg_tally *copy = add_tally(&tree->tallies);

	if (copy == NULL)
		return false;
	*copy = **tally;
	*tally = copy;
	return true;
}

int gg_tree_separate(struct gg_tree *tree)
{
	for (size_t i = 0; i < tree->count; i++)
		if (!copy_tally(tree, &tree->nodes[i].total) ||
		    !copy_tally(tree, &tree->nodes[i].self))
			return -ENOMEM;
	return 0;
}

int gg_tree_build(struct gg_tree **ret_tree, const struct gg_model *model,
                  const struct gg_query *query, const struct gg_tree_options *options,
                  struct gg_error *error)
{
	struct builder builder = { .model = model, .options = options };
	struct gg_query by_stack = *query;
	struct gg_query_result *result;
	struct gg_tree *tree;
	int status;

	by_stack.by = GG_BY_STACK;
	status = gg_query_rows(model, &by_stack, &result, error);
	if (status < 0)
		return status;
	tree = calloc(1, sizeof(*tree));
	status = tree != NULL ? build(&builder, result) : -ENOMEM;
	free(builder.branches);
	free(builder.order);
	free(builder.other);
	free(builder.paths);
	free(builder.group_of);
	if (status < 0) {
		gg_array_done(&builder.nodes);
		free_tallies(builder.tallies);
		free(tree);
		gg_error_set_errno(error, -status, "tree", NULL);
	} else {
		tree->nodes = builder.nodes.items;
		tree->count = builder.nodes.count;
		tree->tallies = builder.tallies;
		tree->moment_ns = result->moment_ns;
		tree->unplaced = result->unplaced;
		tree->pinned = result->pinned;
		tree->query = *query;
		expose(tree);
		*ret_tree = tree;
	}
	gg_query_result_free(result);
	return status;
}

void gg_tree_free(struct gg_tree *tree)
{
	if (tree == NULL)
		return;
	free(tree->nodes);
	free_tallies(tree->tallies);
	free(tree);
}
