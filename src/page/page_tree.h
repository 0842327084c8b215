/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_tree - the call tree, without nodes that are too light to see.
 *
 * The whole tree is built once.  Trees that fit into the page are folded from it: the children of a
 * node that are too light become one nameless node.
 */
#pragma once

#include "base/json.h"
#include "page/page_run.h"

struct gg_page_node {
	uint32_t depth, frame, folded;
	uint32_t via; /* frame of a hidden function through which it allocated; 0: none */
	float light;  /* the largest share of a total that ends here; 0: folded */
};

/* One path to a node: the lines that call it (page_paths.h). */
struct gg_page_path {
	uint32_t node_delta; /* the difference to the previous path's node */
	uint32_t caller;     /* the number among the parent's paths */
	uint32_t line;       /* the number among the lines of the parent's function */
};

struct gg_page_line {
	uint32_t frame, line, file;
};

/* The numbers of paths and lines that fit into a cell.  If the tree has more, no cell has any. */
enum { GG_PAGE_PATHS_MAX = 1 << 20, GG_PAGE_LINES_MAX = 1 << 16 };

struct gg_page_tree {
	struct gg_page_node *nodes; /* the nodes in the page */
	size_t node_count;
	size_t all_count;   /* the number of nodes of the whole tree */
	uint32_t *node_of;  /* by stack of a pick (its top): the index in nodes */
	double least_share; /* folded nodes have smaller shares; 0: no node is folded */
	double folded_bytes, folded_count; /* shares of the allocated bytes and allocations */
	bool has_paths;                    /* the members below are set */
	uint32_t *path_of,
		*line_of; /* by stack of a pick: number among those of its node and function */
	struct gg_page_path *paths;
	struct gg_page_line *lines;
	size_t path_count, line_count;
};

/* The whole tree.  Trees that fit are folded from it. */
struct gg_page_whole;

GG_MUST_CHECK int gg_page_whole_build(struct gg_page_run *run, struct gg_page_whole **ret_whole);
void gg_page_whole_free(struct gg_page_whole *whole); /* NULL is fine */
/*
 * with_names: nodes have the page's frames.  Otherwise they have the model's functions, which is
 * enough to measure the size.
 */
GG_MUST_CHECK int gg_page_tree_fold(struct gg_page_whole *whole, bool with_names,
                                    struct gg_page_tree *tree);
void gg_page_tree_done(struct gg_page_tree *tree);
void gg_page_tree_write(const struct gg_page_tree *tree, struct gg_json *json);

/*
 * Returns the child of a node of the whole tree for a function.  UINT32_MAX: there is no such
 * child.
 */
uint32_t gg_page_whole_child(const struct gg_page_whole *whole, uint32_t node, uint32_t function);
/* Returns the node of the last folded tree that stands for a node of the whole tree. */
uint32_t gg_page_whole_shown(const struct gg_page_whole *whole, uint32_t node);
