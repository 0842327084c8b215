/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_tree - the call tree, without nodes that are too light to see.
 *
 * The whole tree comes first.  It has a node for each function on each path, found by one table of
 * (parent, function), and parents have smaller numbers than their children.  Then each node gets
 * ten sums, added up from the leaves: live, allocated, peak and left memory, each in bytes and in
 * allocations, and pinned memory at two moments.  A node stays if its share of any sum is large
 * enough.  The required share is the one that leaves as many nodes as the page may have.  The other
 * children of a parent become one nameless node.
 */
#include "page/page_tree.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/json.h"
#include "base/map.h"
#include "model/model.h"
#include "page/page_columns.h"
#include "page/page_names.h"
#include "page/page_run.h"
#include "query/tree.h"
#include "stats/sampling/weight.h"

/* Bytes and counts: live at the end, allocated, at the peak, left; bytes: pinned at each look. */
enum { PINNED_SUM = 8, SUM_COUNT = PINNED_SUM + GG_PAGE_LOOKS_MAX };

struct whole_node {
	uint32_t parent, function, depth;
	float sums[SUM_COUNT];
	float share;          /* the largest of its sums' shares of the total */
	uint32_t first, next; /* the children that stay, and the siblings */
	uint32_t dropped;     /* the number of folded children */
	uint32_t number;      /* its number in the page */
	uint32_t via;         /* a hidden function through which it allocated; 0: none */
};

/* The whole tree.  It is built once, and folded as often as needed. */
struct gg_page_whole {
	struct gg_page_run *run;
	GG_ARRAY(struct whole_node) nodes;
	struct gg_map children;   /* by (parent, function) */
	uint32_t *node_of;        /* by stack; UINT32_MAX: not yet known */
	uint32_t *shown;          /* by node: the node that stands for it in the last tree */
	float *selfs;             /* by node: the largest share that ends there */
	GG_ARRAY(uint32_t) chain; /* stacks that still need their nodes */
	double totals[SUM_COUNT];
};

/* Returns the child, and creates it if necessary.  UINT32_MAX: memory ran out. */
static uint32_t child_of(struct gg_page_whole *whole, uint32_t parent, uint32_t function)
{
	uint64_t key = (uint64_t)parent << 32 | function;
	uint64_t found = gg_map_get(&whole->children, key);
	struct whole_node *child;

	if (found != GG_MAP_NONE)
		return (uint32_t)found;
	if (whole->nodes.count > 0 && gg_map_put(&whole->children, key, whole->nodes.count) < 0)
		return UINT32_MAX;
	child = gg_array_add(&whole->nodes);
	if (child == NULL)
		return UINT32_MAX;
	child->parent = parent;
	child->function = function;
	child->depth = whole->nodes.count == 1 ? 0 : whole->nodes.items[parent].depth + 1;
	return (uint32_t)whole->nodes.count - 1;
}

/*
 * Lists the stacks between this one and the nearest caller that already has a node, the innermost
 * first.
 */
static bool find_chain(struct gg_page_whole *whole, uint32_t stack, uint32_t *ret_caller)
{
	const struct gg_model *model = whole->run->model;

	whole->chain.count = 0;
	for (; stack != 0 && whole->node_of[stack] == UINT32_MAX;
	     stack = model->stacks[stack].parent)
		if (!gg_array_push(&whole->chain, stack))
			return false;
	*ret_caller = stack;
	return true;
}

/*
 * Returns the node of a stack that is its own top, and creates it with all its callers.  Calls from
 * the deepest possible node count as that node's own.  UINT32_MAX: memory ran out.
 */
static uint32_t node_of(struct gg_page_whole *whole, uint32_t stack)
{
	const struct gg_model *model = whole->run->model;
	uint32_t caller, node;

	if (stack == 0) /* an empty stack belongs to the unknown place */
		return child_of(whole, 0, 0);
	if (!find_chain(whole, stack, &caller))
		return UINT32_MAX;
	node = caller != 0 ? whole->node_of[caller] : 0;
	while (whole->chain.count > 0 && node != UINT32_MAX) {
		size_t count;
		const struct gg_code_location *places;

		stack = whole->chain.items[--whole->chain.count];
		places = gg_model_stack_locations(model, stack, &count);
		while (count > 0 && node != UINT32_MAX &&
		       whole->nodes.items[node].depth < GG_TREE_MAX_DEPTH)
			node = child_of(whole, node, places[--count].function);
		whole->node_of[stack] = node;
	}
	return node;
}

static bool is_live_at(const struct gg_page_pick *pick, int64_t time_ns)
{
	return pick->born_ns <= time_ns && pick->gone_ns > time_ns;
}

static double bytes_of(const struct gg_page_pick *pick)
{
	return pick->sample != NULL ? pick->sample->weighted_bytes
	                            : gg_fixed_value(pick->aggregate->sums.bytes);
}

static void add_pick(struct gg_page_whole *whole, const struct gg_page_pick *pick, uint32_t node)
{
	int64_t peak_ns = whole->run->peak_ns;
	float *sums = whole->nodes.items[node].sums;
	double values[SUM_COUNT] = { 0 }, bytes, count;

	bytes = bytes_of(pick);
	if (pick->sample == NULL)
		count = gg_fixed_value(pick->aggregate->sums.count);
	else
		count = pick->sample->size_bytes > 0 ? bytes / (double)pick->sample->size_bytes
		                                     : gg_weight_of(&pick->sample->draw, 0).count;
	if (pick->gone_ns == GG_TIME_NONE)
		values[0] = bytes, values[1] = count;
	if (!pick->is_inherited)
		values[2] = bytes, values[3] = count;
	if (peak_ns >= 0 && is_live_at(pick, peak_ns))
		values[4] = bytes, values[5] = count;
	if (pick->is_left)
		values[6] = bytes, values[7] = count;
	for (int i = 0; i < SUM_COUNT; i++) {
		sums[i] += (float)values[i];
		whole->totals[i] += values[i];
	}
}

/* Returns the node of a top.  UINT32_MAX: memory ran out. */
static uint32_t node_of_top(struct gg_page_whole *whole, uint32_t top)
{
	uint32_t node = whole->node_of[top];

	if (node == UINT32_MAX)
		node = whole->node_of[top] = node_of(whole, top);
	return node;
}

/* Adds what the blocks of looks keep, so that nodes stay which keep much and hold little. */
static int add_looks(struct gg_page_whole *whole)
{
	const struct gg_page_run *run = whole->run;

	for (uint32_t k = 0; k < run->look_count; k++)
		for (size_t i = 0; i < run->looks[k].pinned.blocks.count; i++) {
			const struct gg_pinned_block *block = &run->looks[k].pinned.blocks.items[i];
			const struct gg_model_sample *sample = &run->model->samples[block->sample];
			uint32_t node = node_of_top(whole, run->model->stacks[sample->stack].top);
			double weight = gg_weight_of(&sample->draw, sample->size_bytes).count;

			if (node == UINT32_MAX)
				return -ENOMEM;
			if (!block->is_first || !block->is_known)
				continue;
			whole->nodes.items[node].sums[PINNED_SUM + k] +=
				(float)(weight * block->looked.value);
			whole->totals[PINNED_SUM + k] += weight * block->looked.value;
		}
	return 0;
}

/* For each node, the stack with most memory decides through which function it allocated. */
static int find_vias(struct gg_page_whole *whole)
{
	const struct gg_page_run *run = whole->run;
	const uint32_t *vias = run->model->stack_vias;
	size_t stacks = run->model->stack_count;
	double *bytes, *most;
	int status = -ENOMEM;

	if (vias == NULL)
		return 0;
	bytes = calloc(stacks + 1, sizeof(*bytes));
	most = calloc(whole->nodes.count, sizeof(*most));
	if (bytes != NULL && most != NULL) {
		for (size_t i = 0; i < run->pick_count; i++)
			bytes[run->picks[i].top] += bytes_of(&run->picks[i]);
		for (size_t i = 0; i < stacks; i++) {
			uint32_t node = whole->node_of[i];

			if (vias[i] == 0 || node == UINT32_MAX ||
			    (whole->nodes.items[node].via != 0 && bytes[i] <= most[node]))
				continue;
			whole->nodes.items[node].via = vias[i];
			most[node] = bytes[i];
		}
		status = 0;
	}
	free(bytes);
	free(most);
	return status;
}

static int build_whole(struct gg_page_whole *whole)
{
	struct gg_page_run *run = whole->run;
	size_t stacks = run->model->stack_count;

	whole->node_of = malloc((stacks + 1) * sizeof(uint32_t));
	if (whole->node_of == NULL || child_of(whole, 0, 0) == UINT32_MAX)
		return -ENOMEM;
	memset(whole->node_of, 0xff, (stacks + 1) * sizeof(uint32_t));
	for (size_t i = 0; i < run->pick_count; i++) {
		uint32_t node = node_of_top(whole, run->picks[i].top);

		if (node == UINT32_MAX)
			return -ENOMEM;
		add_pick(whole, &run->picks[i], node);
	}
	for (size_t i = 0; i < run->held_count; i++) /* held parts are in no sum */
		if (node_of_top(whole, run->held[i].top) == UINT32_MAX)
			return -ENOMEM;
	if (add_looks(whole) < 0)
		return -ENOMEM;
	return find_vias(whole);
}

uint32_t gg_page_whole_child(const struct gg_page_whole *whole, uint32_t node, uint32_t function)
{
	uint64_t found = gg_map_get(&whole->children, (uint64_t)node << 32 | function);

	return found != GG_MAP_NONE && whole->nodes.items[node].depth < GG_TREE_MAX_DEPTH
	               ? (uint32_t)found
	               : UINT32_MAX;
}

static float share_of(const struct gg_page_whole *whole, const float *sums)
{
	double most = 0;

	for (int i = 0; i < SUM_COUNT; i++)
		if (whole->totals[i] > 0)
			most = fmax(most, sums[i] / whole->totals[i]);
	return (float)most;
}

/*
 * A node's own share has only the memory allocated in it directly, so it is computed before sums
 * are added to parents.
 */
static int add_up(struct gg_page_whole *whole)
{
	whole->selfs = malloc(whole->nodes.count * sizeof(*whole->selfs));
	whole->shown = calloc(whole->nodes.count, sizeof(*whole->shown));
	if (whole->selfs == NULL || whole->shown == NULL)
		return -ENOMEM;
	for (size_t i = whole->nodes.count; i-- > 0;)
		whole->selfs[i] = share_of(whole, whole->nodes.items[i].sums);
	for (size_t i = whole->nodes.count; i-- > 0;) {
		struct whole_node *node = &whole->nodes.items[i];

		node->share = share_of(whole, node->sums);
		for (int k = 0; i > 0 && k < SUM_COUNT; k++)
			whole->nodes.items[node->parent].sums[k] += node->sums[k];
	}
	return 0;
}

static int compare_shares(const void *a, const void *b)
{
	float left = *(const float *)a, right = *(const float *)b;

	return (left < right) - (left > right);
}

/*
 * Finds the least share that a node needs so that no more than the limit have it.  0: all nodes may
 * stay.
 */
static int choose_share(const struct gg_page_whole *whole, double *ret_share)
{
	uint32_t limit = whole->run->detail.node_limit;
	float *shares;

	*ret_share = 0;
	if (whole->nodes.count <= limit)
		return 0;
	shares = malloc(whole->nodes.count * sizeof(*shares));
	if (shares == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < whole->nodes.count; i++)
		shares[i] = whole->nodes.items[i].share;
	qsort(shares, whole->nodes.count, sizeof(*shares), compare_shares);
	*ret_share = nextafterf(shares[limit], INFINITY);
	free(shares);
	return 0;
}

static bool stays(const struct gg_page_tree *tree, const struct whole_node *node)
{
	return node->share >= tree->least_share || node->parent == UINT32_MAX;
}

/*
 * Links the children that stay to their parents, in the order of their numbers, and counts the
 * others.
 */
static void link_children(struct gg_page_whole *whole, struct gg_page_tree *tree)
{
	whole->nodes.items[0].parent = UINT32_MAX;
	for (size_t i = 0; i < whole->nodes.count; i++)
		whole->nodes.items[i].first = whole->nodes.items[i].next =
			whole->nodes.items[i].dropped = 0;
	for (size_t i = whole->nodes.count; i-- > 1;) {
		struct whole_node *node = &whole->nodes.items[i];
		struct whole_node *parent = &whole->nodes.items[node->parent];

		if (!stays(tree, parent))
			continue;
		if (stays(tree, node)) {
			node->next = parent->first;
			parent->first = (uint32_t)i;
			tree->node_count++;
			continue;
		}
		tree->node_count += parent->dropped++ == 0;
		if (whole->totals[2] > 0)
			tree->folded_bytes += node->sums[2] / whole->totals[2];
		if (whole->totals[3] > 0)
			tree->folded_count += node->sums[3] / whole->totals[3];
	}
	tree->node_count++; /* count the root */
}

/*
 * Numbers the nodes in depth-first order.  The node after a parent stands for its folded children.
 */
static void lay_out(struct gg_page_whole *whole, bool with_names, struct gg_page_tree *tree)
{
	struct gg_page_names *names = &whole->run->names;
	uint32_t at = 0, depth = 0, number = 0;

	for (;;) {
		struct whole_node *node = &whole->nodes.items[at];

		node->number = number;
		tree->nodes[number++] = (struct gg_page_node){
			.depth = depth,
			.frame = at == 0      ? 0
			         : with_names ? gg_page_frame_of(names, node->function)
			                      : node->function,
			.via = node->via != 0 && with_names ? gg_page_frame_of(names, node->via)
			                                    : node->via,
			.light = whole->selfs[at],
		};
		if (node->dropped > 0)
			tree->nodes[number++] = (struct gg_page_node){ .depth = depth + 1,
				                                       .folded = node->dropped };
		if (node->first != 0) {
			at = node->first;
			depth++;
			continue;
		}
		while (at != 0 && whole->nodes.items[at].next == 0) {
			at = whole->nodes.items[at].parent;
			depth--;
		}
		if (at == 0)
			break;
		at = whole->nodes.items[at].next;
	}
}

/*
 * Sets the page's node for each node of the whole tree.  A folded node stands for all nodes below
 * it.
 */
static void show(struct gg_page_whole *whole, const struct gg_page_tree *tree)
{
	whole->shown[0] = whole->nodes.items[0].number;
	for (size_t i = 1; i < whole->nodes.count; i++) {
		const struct whole_node *node = &whole->nodes.items[i];

		gg_assert(node->parent < i);
		const struct whole_node *parent = &whole->nodes.items[node->parent];

		whole->shown[i] = stays(tree, node)     ? node->number
		                  : stays(tree, parent) ? parent->number + 1
		                                        : whole->shown[node->parent];
	}
}

uint32_t gg_page_whole_shown(const struct gg_page_whole *whole, uint32_t node)
{
	gg_assert(whole->shown != NULL && node < whole->nodes.count);
	return whole->shown[node];
}

int gg_page_whole_build(struct gg_page_run *run, struct gg_page_whole **ret_whole)
{
	struct gg_page_whole *whole = calloc(1, sizeof(*whole));
	int status = -ENOMEM;

	if (whole != NULL) {
		whole->run = run;
		status = build_whole(whole);
	}
	if (status == 0)
		status = add_up(whole);
	if (status < 0) {
		gg_page_whole_free(whole);
		return gg_page_out_of_memory(run);
	}
	*ret_whole = whole;
	return 0;
}

void gg_page_whole_free(struct gg_page_whole *whole)
{
	if (whole == NULL)
		return;
	gg_array_done(&whole->nodes);
	free(whole->node_of);
	free(whole->selfs);
	free(whole->shown);
	gg_array_done(&whole->chain);
	gg_map_done(&whole->children);
	free(whole);
}

int gg_page_tree_fold(struct gg_page_whole *whole, bool with_names, struct gg_page_tree *tree)
{
	size_t stacks = whole->run->model->stack_count;

	*tree = (struct gg_page_tree){ .all_count = whole->nodes.count };
	if (choose_share(whole, &tree->least_share) < 0)
		return gg_page_out_of_memory(whole->run);
	link_children(whole, tree);
	tree->nodes = calloc(tree->node_count, sizeof(*tree->nodes));
	tree->node_of = malloc((stacks + 1) * sizeof(*tree->node_of));
	if (tree->nodes == NULL || tree->node_of == NULL) {
		gg_page_tree_done(tree);
		return gg_page_out_of_memory(whole->run);
	}
	lay_out(whole, with_names, tree);
	show(whole, tree);
	gg_assert(tree->node_count <= 2 * tree->all_count && tree->nodes[0].depth == 0);
	for (size_t i = 0; i < stacks; i++)
		tree->node_of[i] = whole->node_of[i] == UINT32_MAX
		                           ? UINT32_MAX
		                           : whole->shown[whole->node_of[i]];
	return 0;
}

void gg_page_tree_done(struct gg_page_tree *tree)
{
	free(tree->nodes);
	free(tree->node_of);
	free(tree->path_of);
	free(tree->line_of);
	free(tree->paths);
	free(tree->lines);
	*tree = (struct gg_page_tree){ 0 };
}

void gg_page_tree_write(const struct gg_page_tree *tree, struct gg_json *json)
{
	bool has_via = false;

	gg_json_open(json, "nodes", '{');
	GG_PAGE_INTEGERS(json, "depth", tree->nodes, tree->node_count, depth);
	GG_PAGE_INTEGERS(json, "frame", tree->nodes, tree->node_count, frame);
	GG_PAGE_INTEGERS(json, "folded", tree->nodes, tree->node_count, folded);
	for (size_t i = 0; i < tree->node_count && !has_via; i++)
		has_via = tree->nodes[i].via != 0;
	if (has_via)
		GG_PAGE_INTEGERS(json, "via", tree->nodes, tree->node_count, via);
	gg_json_close(json);
}
