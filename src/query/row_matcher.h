/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_matcher - numbers the rows of several query results, so that rows with equal labels
 * (gg_query_row_label) have one number.
 *
 *   struct gg_row_matcher matcher;
 *   uint32_t number;
 *   char *texts;
 *
 *   gg_row_matcher_init(&matcher);
 *   gg_row_matcher_begin(&matcher, model, result);        for each result
 *   number = gg_row_matcher_find(&matcher, &result->rows[i]);
 *   texts = gg_row_matcher_take_labels(&matcher, offsets);
 *   gg_row_matcher_done(&matcher);
 *
 * The label of a stack is long: the names of all its functions, joined by semicolons.  Stacks share
 * their callers, so the matcher does not compare these texts.  It numbers the names, and keeps a
 * tree whose nodes are a caller's node and a name; stacks with one label lead to one node.
 *
 * Cost      One look-up for each frame of the model's tree of stacks; 40 bytes a node.
 * Threads   One owner at a time.
 */
#pragma once

#include "base/array.h"
#include "base/map.h"
#include "query/query.h"

#define GG_ROW_UNMATCHED UINT32_MAX

/* A node stands for a path of names from the outermost on.  Node 0 is the empty path. */
struct gg_label_node {
	uint32_t parent, name;
	uint32_t row; /* the number of the rows with this path; GG_ROW_UNMATCHED: none */
	uint32_t first_child, next_sibling; /* 0: none */
	uint32_t child_count;
	size_t label_bytes;
};

/* A name without semicolons; it belongs to a model. */
struct gg_label_name {
	const char *text;
	size_t length;
};

struct gg_row_matcher {
	uint32_t row_count; /* numbers are [0, row_count) */
	const struct gg_model *model;
	const struct gg_query_result *result;
	/* Stacks: the tree, and what the current result has found already. */
	GG_ARRAY(struct gg_label_node) nodes;
	GG_ARRAY(struct gg_label_name) names;
	struct gg_map node_map;           /* by parent and name */
	struct gg_map name_map;           /* by text */
	GG_ARRAY(uint32_t) node_of_stack; /* by stack of the model; 0: not found yet */
	GG_ARRAY(uint32_t) name_of;       /* by function: 1 + its name; 0: not found yet */
	GG_ARRAY(uint32_t) pending;       /* stacks whose nodes are being found */
	GG_ARRAY(uint32_t) row_nodes;     /* by row number */
	/* Other groupings: each label ends with a 0 byte. */
	struct gg_map rows; /* by label */
	struct gg_buf labels;
	GG_ARRAY(size_t) label_offsets; /* by row number */
};

void gg_row_matcher_init(struct gg_row_matcher *matcher);
void gg_row_matcher_done(struct gg_row_matcher *matcher);

/*
 * The following rows belong to this result, which has the same grouping as earlier ones.  Models
 * must live until the labels are taken.  -ENOMEM.
 */
GG_MUST_CHECK int gg_row_matcher_begin(struct gg_row_matcher *matcher, const struct gg_model *model,
                                       const struct gg_query_result *result);

/*
 * Returns the number of the row: that of an earlier row with its label, or a new one.
 * GG_ROW_UNMATCHED: out of memory.
 */
uint32_t gg_row_matcher_find(struct gg_row_matcher *matcher, const struct gg_query_row *row);

/*
 * Returns the labels of all rows, each with a 0 byte at its end, and writes where the label of each
 * number begins.  The caller frees the text.  NULL: out of memory.
 */
char *gg_row_matcher_take_labels(struct gg_row_matcher *matcher, size_t *offsets);
