/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree - the selection of a query as a tree of callers and callees.
 *
 *   struct gg_tree *tree;
 *
 *   if (gg_tree_build(&tree, model, &query, &(struct gg_tree_options){ .fold = 0.01 }, error) < 0)
 *           return error->status;
 *   for (size_t i = 0; i < tree->count; i++)           parents precede their children
 *           gg_interval_of(&tree->nodes[i].total, ...)
 *   gg_tree_free(tree);
 *
 * A node is a function called along one path.  Calls from different lines of a function are one
 * node. In an inverted tree the paths begin at the top, so the children of a node are its callers.
 *
 * Self     With with_self, the children of a node of the upright tree add up to the node.
 * Folding  The children of a node with less than `fold` of the whole become one nameless node,
 *          except on the heaviest path, which follows the largest child from the root on.
 * Cost     Proportional to stacks times depth of unfolded paths; 16 MB for 100 000 stacks of 40
 *          frames.  Nodes with the same memory share a tally, so there are at most some four
 *          tallies for each stack, however deep the paths are.
 * Threads  Any number of threads may build trees.  One thread owns a tree.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "query/query.h"

/* Deeper stacks lose their outermost frames. */
enum { GG_TREE_MAX_DEPTH = 2048 };

struct gg_tree_options {
	bool inverted;
	double fold; /* share of the whole, 0 to 1; 0: fold nothing */
	/* A function that allocates and calls others gets a child for its own memory. */
	bool with_self;
};

struct gg_tree_node {
	uint32_t function;    /* number in the model; 0 for the root and folded nodes */
	uint32_t parent;      /* index of a node; the root is its own parent, 0 */
	uint32_t depth;       /* 0 for the root */
	uint32_t child_count; /* number of children */
	uint32_t
		folded_count; /* not 0: the node stands for this many functions, without children */
	bool is_heaviest;     /* on the heaviest path */
	bool is_self;         /* the parent's own memory; has the parent's function */
	/*
	 * The hidden function through which most of the node's own memory was allocated; 0: none.
	 * With with_self, the child for that memory has it.  In an inverted tree only the nodes
	 * below the root have it.
	 */
	uint32_t via;
	/*
	 * Sums of all stacks on this path, and of stacks that end here (inverted: begin here).
	 * Nodes may share them: gg_tree_separate().
	 */
	struct gg_tally *total, *self;
};

struct gg_tree_tallies; /* tree.c */

struct gg_tree {
	struct gg_tree_node *nodes; /* depth first, heavier siblings first, folded ones last */
	size_t count;
	struct gg_tree_tallies *tallies;  /* the nodes point to them */
	int64_t moment_ns;                /* as in gg_query_result */
	struct gg_pinned_coverage pinned; /* as in gg_query_result */
	struct gg_tally unplaced;
	struct gg_query query;
};

/* Ignores query->by.  Fails as gg_query_rows() does. */
GG_MUST_CHECK int gg_tree_build(struct gg_tree **ret_tree, const struct gg_model *model,
                                const struct gg_query *query, const struct gg_tree_options *options,
                                struct gg_error *error);
/* Gives each node tallies of its own, for a caller that changes them.  -ENOMEM. */
GG_MUST_CHECK int gg_tree_separate(struct gg_tree *tree);
void gg_tree_free(struct gg_tree *tree); /* NULL is fine */
