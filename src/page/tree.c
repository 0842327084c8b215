/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree - the tree of calls, without what is too light to see.
 *
 * First the whole tree, a node for each function on each path, by one table of (parent, function):
 * parents have smaller numbers.  Then what each node holds of six sums (live, allocated, peak; bytes and
 * allocations), from the leaves up.  A node stays if its share of any of them is large enough; the
 * share is the one that leaves as many nodes as the page may have.  The others become one nameless node
 * a parent.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page/page_internal.h"
#include "stats/weight.h"

enum { SUM_COUNT = 6 };

struct whole_node {
	uint32_t parent, function;
	float sums[SUM_COUNT];
	float share;          /* the largest of its sums' shares of the whole */
	uint32_t first, next; /* children that stay, and siblings */
	uint32_t dropped;     /* children that do not */
	uint32_t number;      /* in the page */
};

struct building {
	struct gg_page_run *run;
	struct whole_node *nodes;
	size_t count, capacity;
	struct gg_map children; /* (parent, function) */
	uint32_t *node_of;      /* of each stack; UINT32_MAX: none yet */
	double totals[SUM_COUNT];
};

/* The child, made if there is none; UINT32_MAX when memory is out. */
static uint32_t child_of(struct building *building, uint32_t parent, uint32_t function)
{
	uint64_t key = (uint64_t)parent << 32 | function;
	uint64_t found = gg_map_get(&building->children, key);

	if (found != GG_MAP_NONE)
		return (uint32_t)found;
	if (building->count == building->capacity) {
		size_t capacity = building->capacity == 0 ? 1024 : building->capacity * 2;
		struct whole_node *more = reallocarray(building->nodes, capacity, sizeof(*more));

		if (more == NULL)
			return UINT32_MAX;
		building->nodes = more;
		building->capacity = capacity;
	}
	if (building->count > 0 && gg_map_put(&building->children, key, building->count) < 0)
		return UINT32_MAX;
	building->nodes[building->count] = (struct whole_node){ .parent = parent,
		                                                .function = function };
	return (uint32_t)building->count++;
}

/* The node of a stack that is its own top.  Callers are done first, without recursion. */
static uint32_t node_of(struct building *building, uint32_t stack)
{
	const struct gg_model *model = building->run->model;
	uint32_t chain[64], length = 0, at = stack, node;

	while (at != 0 && building->node_of[at] == UINT32_MAX && length < 64) {
		chain[length++] = at;
		at = gg_model_stack_parent(model, at);
	}
	if (at != 0 && building->node_of[at] == UINT32_MAX)
		node = node_of(building, at); /* 64 frames further out */
	else
		node = at != 0 ? building->node_of[at] : 0;
	if (stack == 0) /* an empty stack has the unknown place */
		return child_of(building, 0, 0);
	while (length > 0 && node != UINT32_MAX) {
		size_t count;
		const struct gg_model_place *places;

		places = gg_model_stack_places(model, chain[--length], &count);
		while (count > 0 && node != UINT32_MAX)
			node = child_of(building, node, places[--count].function);
		building->node_of[chain[length]] = node;
	}
	return node;
}

static bool is_live_at(const struct gg_page_pick *pick, int64_t time_ns)
{
	return pick->born_ns <= time_ns && pick->gone_ns > time_ns;
}

static void add_pick(struct building *building, const struct gg_page_pick *pick, uint32_t node)
{
	const struct gg_page_bins *bins = &building->run->bins;
	float *sums = building->nodes[node].sums;
	double values[SUM_COUNT] = { 0 }, bytes, count;

	if (pick->sample != NULL) {
		bytes = pick->sample->weighted_bytes;
		count = pick->sample->size_bytes > 0 ? bytes / (double)pick->sample->size_bytes
		                                     : gg_weight_of(&pick->sample->draw, 0).count;
	} else {
		bytes = gg_fixed_value(pick->coarse->sums.bytes);
		count = gg_fixed_value(pick->coarse->sums.count);
	}
	if (pick->is_kept)
		values[0] = bytes, values[1] = count;
	if (!pick->is_inherited)
		values[2] = bytes, values[3] = count;
	if (bins->peak_edge >= 0 && is_live_at(pick, bins->edges[bins->peak_edge]))
		values[4] = bytes, values[5] = count;
	for (int i = 0; i < SUM_COUNT; i++) {
		sums[i] += (float)values[i];
		building->totals[i] += values[i];
	}
}

static int build_whole(struct building *building)
{
	struct gg_page_run *run = building->run;
	size_t stacks = gg_model_stack_count(run->model);

	building->node_of = malloc((stacks + 1) * sizeof(uint32_t));
	if (building->node_of == NULL || child_of(building, 0, 0) == UINT32_MAX)
		return -ENOMEM;
	memset(building->node_of, 0xff, (stacks + 1) * sizeof(uint32_t));
	for (size_t i = 0; i < run->pick_count; i++) {
		uint32_t top = gg_model_stack_top(run->model, run->picks[i].stack);
		uint32_t node = building->node_of[top];

		if (node == UINT32_MAX)
			node = building->node_of[top] = node_of(building, top);
		if (node == UINT32_MAX)
			return -ENOMEM;
		add_pick(building, &run->picks[i], node);
	}
	return 0;
}

static float share_of(const struct building *building, const float *sums)
{
	double most = 0;

	for (int i = 0; i < SUM_COUNT; i++)
		if (building->totals[i] > 0)
			most = fmax(most, sums[i] / building->totals[i]);
	return (float)most;
}

/* `light` of the page's nodes is of what ends there, so it is taken before sums go up. */
static float *add_up(struct building *building)
{
	float *selfs = malloc(building->count * sizeof(*selfs));

	if (selfs == NULL)
		return NULL;
	for (size_t i = building->count; i-- > 0;)
		selfs[i] = share_of(building, building->nodes[i].sums);
	for (size_t i = building->count; i-- > 0;) {
		struct whole_node *node = &building->nodes[i];

		node->share = share_of(building, node->sums);
		for (int k = 0; i > 0 && k < SUM_COUNT; k++)
			building->nodes[node->parent].sums[k] += node->sums[k];
	}
	return selfs;
}

static int compare_shares(const void *a, const void *b)
{
	float left = *(const float *)a, right = *(const float *)b;

	return (left < right) - (left > right);
}

/* The least share that a node needs so that no more than the limit have it; 0: all may stay. */
static int choose_share(const struct building *building, double *ret_share)
{
	uint32_t limit = building->run->detail.node_limit;
	float *shares;

	*ret_share = 0;
	if (building->count <= limit)
		return 0;
	shares = malloc(building->count * sizeof(*shares));
	if (shares == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < building->count; i++)
		shares[i] = building->nodes[i].share;
	qsort(shares, building->count, sizeof(*shares), compare_shares);
	*ret_share = nextafterf(shares[limit], INFINITY);
	free(shares);
	return 0;
}

static bool stays(const struct gg_page_tree *tree, const struct whole_node *node)
{
	return node->share >= tree->least_share || node->parent == UINT32_MAX;
}

/* Children that stay are chained to their parents, in the order of their numbers; the others counted. */
static void link_children(struct building *building, struct gg_page_tree *tree)
{
	building->nodes[0].parent = UINT32_MAX;
	for (size_t i = building->count; i-- > 1;) {
		struct whole_node *node = &building->nodes[i];
		struct whole_node *parent = &building->nodes[node->parent];

		if (!stays(tree, parent))
			continue;
		if (stays(tree, node)) {
			node->next = parent->first;
			parent->first = (uint32_t)i;
			tree->node_count++;
			continue;
		}
		tree->node_count += parent->dropped++ == 0;
		if (building->totals[2] > 0)
			tree->folded_bytes += node->sums[2] / building->totals[2];
		if (building->totals[3] > 0)
			tree->folded_count += node->sums[3] / building->totals[3];
	}
	tree->node_count++; /* the root */
}

/* Numbers in depth-first order; a node's folded children are the node behind it. */
static void lay_out(struct building *building, const float *selfs, struct gg_page_tree *tree)
{
	struct gg_page_names *names = &building->run->names;
	uint32_t at = 0, depth = 0, number = 0;

	for (;;) {
		struct whole_node *node = &building->nodes[at];

		node->number = number;
		tree->nodes[number++] = (struct gg_page_node){
			.depth = depth,
			.frame = at == 0 ? 0 : gg_page_frame_of(names, node->function),
			.light = selfs[at],
		};
		if (node->dropped > 0)
			tree->nodes[number++] = (struct gg_page_node){ .depth = depth + 1,
				                                       .folded = node->dropped };
		if (node->first != 0) {
			at = node->first;
			depth++;
			continue;
		}
		while (at != 0 && building->nodes[at].next == 0) {
			at = building->nodes[at].parent;
			depth--;
		}
		if (at == 0)
			break;
		at = building->nodes[at].next;
	}
}

/* The node of the page that stands for a node of the whole tree. */
static uint32_t shown_as(const struct building *building, const struct gg_page_tree *tree,
                         uint32_t node)
{
	uint32_t at = node;

	while (!stays(tree, &building->nodes[at]))
		at = building->nodes[at].parent;
	return building->nodes[at].number + (at != node);
}

int gg_page_tree_build(struct gg_page_run *run, struct gg_page_tree *tree)
{
	struct building building = { .run = run };
	size_t stacks = gg_model_stack_count(run->model);
	float *selfs = NULL;
	int code = build_whole(&building);

	*tree = (struct gg_page_tree){ 0 };
	if (code == 0) {
		selfs = add_up(&building);
		code = selfs == NULL ? -ENOMEM : choose_share(&building, &tree->least_share);
	}
	if (code == 0) {
		link_children(&building, tree);
		tree->all_count = building.count;
		tree->nodes = calloc(tree->node_count, sizeof(*tree->nodes));
		code = tree->nodes == NULL ? -ENOMEM : 0;
	}
	if (code == 0) {
		lay_out(&building, selfs, tree);
		for (size_t i = 0; i < stacks; i++)
			if (building.node_of[i] != UINT32_MAX)
				building.node_of[i] = shown_as(&building, tree,
				                               building.node_of[i]);
		tree->node_of = building.node_of;
		building.node_of = NULL;
	}
	free(selfs);
	free(building.nodes);
	free(building.node_of);
	gg_map_done(&building.children);
	return code < 0 ? gg_page_out_of_memory(run) : 0;
}

void gg_page_tree_done(struct gg_page_tree *tree)
{
	free(tree->nodes);
	free(tree->node_of);
	*tree = (struct gg_page_tree){ 0 };
}

void gg_page_tree_write(const struct gg_page_tree *tree, struct gg_json *json)
{
	gg_json_open(json, "nodes", '{');
	GG_PAGE_INTEGERS(json, "depth", tree->nodes, tree->node_count, depth);
	GG_PAGE_INTEGERS(json, "frame", tree->nodes, tree->node_count, frame);
	GG_PAGE_INTEGERS(json, "folded", tree->nodes, tree->node_count, folded);
	gg_json_close(json);
}
