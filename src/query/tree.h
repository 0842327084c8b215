/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree - what a query selects as a tree of callers and callees.
 *
 *   struct gg_tree *tree;
 *
 *   if (gg_tree_build(&tree, model, &query, &(struct gg_tree_options){ .fold = 0.01 }, error) < 0)
 *           return error->code;
 *   for (size_t i = 0; i < tree->count; i++)           parents come before their children
 *           gg_interval_of(&tree->nodes[i].total, ...)
 *   gg_tree_free(tree);
 *
 * A node is a function called along one path; calls from different lines of a function are one node.
 * Inverted, the paths begin at the top: children of a node are its callers.
 *
 * Folding  Nodes with less than `fold` of the whole are one node without a name for each parent, unless
 *          the path to them is the heaviest one: from the root on always the largest child.
 * Cost     stacks times depth of what is not folded; 16 MB for 100 000 stacks of 40 frames.
 * Threads  any number of builders; a tree has one owner.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "query/query.h"

/* Deeper stacks are cut at their outer end. */
enum { GG_TREE_MAX_DEPTH = 2048 };

struct gg_tree_options {
	bool inverted;
	double fold; /* share of the whole, 0..1; 0: nothing is folded */
};

struct gg_tree_node {
	uint32_t function;     /* number in the model; of the root and of folded nodes 0 */
	uint32_t parent;       /* index of a node; the root's is its own, 0 */
	uint32_t depth;        /* the root's is 0 */
	uint32_t child_count;  /* nodes below it, one level */
	uint32_t folded_count; /* not 0: it stands for so many functions, and has no children */
	bool is_heaviest;      /* on the heaviest path */
	/* Of everything on the path; of what ends there.  Inverted: self is what has no further caller. */
	struct gg_tally total, self;
};

struct gg_tree {
	struct gg_tree_node *nodes; /* depth first, heavier siblings first, folded ones last */
	size_t count;
	int64_t moment_ns; /* as in gg_query_result */
	struct gg_tally unplaced;
	struct gg_query query;
};

/* query->by is not looked at.  As gg_query_rows() fails. */
GG_MUST_CHECK int gg_tree_build(struct gg_tree **ret_tree, const struct gg_model *model,
                                const struct gg_query *query, const struct gg_tree_options *options,
                                struct gg_error *error);
void gg_tree_free(struct gg_tree *tree); /* NULL is fine */
