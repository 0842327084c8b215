/* SPDX-License-Identifier: Apache-2.0 */
/* test_query_row_detail - pieces of a row add up to the row, and equal nodes of the tree. */
#include "query/row_detail.h"

#include <math.h>
#include <stdlib.h>

#include "made_profile.h"
#include "query/tree.h"
#include "report/figure.h"
#include "test.h"

#define SECOND INT64_C(1000000000)

struct detailed {
	struct made_profile made;
	struct gg_model *model;
	struct gg_query query;
	struct gg_query_result *result;
	struct gg_row_detail detail;
};

static void detailed_setup(struct detailed *detailed)
{
	made_begin(&detailed->made, NULL, 4096, 5);
	detailed->made.process = made_process(&detailed->made, 4711, 0, GG_TIME_NONE);
	gg_query_init(&detailed->query);
}

static void detailed_teardown(struct detailed *detailed)
{
	gg_row_detail_done(&detailed->detail);
	gg_query_result_free(detailed->result);
	gg_model_free(detailed->model);
	gg_profile_close(detailed->made.profile);
}
FIXTURE(detailed)

static void add(struct detailed *detailed, const char *stack, uint64_t bytes, int64_t alloc_ns)
{
	made_sample(&detailed->made, made_stack(&detailed->made, stack), bytes, alloc_ns,
	            GG_TIME_NONE);
}

/* The row with that label. */
static const struct gg_query_row *find(struct detailed *detailed, const char *label)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_error error;

	if (detailed->model == NULL)
		REQUIRE(gg_model_load(&detailed->model, &detailed->made.profile, 1, NULL, &error) ==
		        0);
	gg_query_result_free(detailed->result);
	detailed->result = NULL;
	REQUIRE(gg_query_rows(detailed->model, &detailed->query, &detailed->result, &error) == 0);
	for (size_t i = 0; i < detailed->result->row_count; i++) {
		gg_buf_clear(&text);
		gg_query_row_label(detailed->model, detailed->result, &detailed->result->rows[i],
		                   &text);
		if (strcmp(gg_buf_text(&text), label) == 0)
			return &detailed->result->rows[i];
	}
	return NULL;
}

static const struct gg_query_row *open_row(struct detailed *detailed, const char *label)
{
	const struct gg_query_row *row = find(detailed, label);
	struct gg_error error;

	REQUIRE(row != NULL);
	gg_row_detail_done(&detailed->detail);
	REQUIRE(gg_row_detail_find(&detailed->detail, detailed->model, &detailed->query, row->key,
	                           100 * SECOND, &error) == 0);
	return row;
}

/* "label:bytes label:bytes", the largest first. */
static bool has(const struct detailed *detailed, enum gg_row_part part, const char *wanted)
{
	const struct gg_row_pieces *pieces = &detailed->detail.parts[part];
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	for (size_t i = 0; i < pieces->items.count; i++) {
		const struct gg_row_piece *piece = &pieces->items.items[i];

		gg_buf_append_text(&text, i > 0 ? ", " : "");
		gg_row_piece_label(detailed->model, part, piece->key, &text);
		gg_buf_printf(&text, ":%.0f",
		              gg_tally_estimate(&piece->tally, GG_BYTES).value / (1 << 20));
	}
	return CHECK_MSG(strcmp(gg_buf_text(&text), wanted) == 0, "%s", gg_buf_text(&text));
}

static void add_tree(struct detailed *detailed)
{
	enum { MIB = 1 << 20 };

	add(detailed, "main>load@a.c:9>parse@p.c:3", 6 * MIB, 99 * SECOND + 1);
	add(detailed, "main>load@a.c:8>parse@p.c:4", 1 * MIB, 95 * SECOND);
	add(detailed, "main>draw>parse@p.c:3", 2 * MIB, 50 * SECOND);
	add(detailed, "main>load@a.c:9", 3 * MIB, 50 * SECOND);
	add(detailed, "main>load@a.c:9>parse@p.c:3>grow", 4 * MIB, SECOND);
	add(detailed, "main>other", 5 * MIB, SECOND);
}

TEST_WITH(detailed, a_function_has_callers_callees_lines_and_ages)
{
	add_tree(detailed);
	open_row(detailed, "parse (made)");
	has(detailed, GG_PART_CALLERS, "load (made):11, draw (made):2");
	has(detailed, GG_PART_CALLEES, "(self):9, grow (made):4");
	has(detailed, GG_PART_LINES, "p.c:3 parse:12, p.c:4 parse:1");
	has(detailed, GG_PART_FUNCTIONS, "");
	has(detailed, GG_PART_AGES, "younger than 1 s:6, 1 s to 10 s:1, 10 s to 1 min:2");
	open_row(detailed, "main (made)");
	has(detailed, GG_PART_CALLERS, "(outermost):21");
	has(detailed, GG_PART_CALLEES, "load (made):14, other (made):5, draw (made):2");
	has(detailed, GG_PART_AGES, "");
}

TEST_WITH(detailed, rows_of_other_groupings_have_functions_and_lines)
{
	add_tree(detailed);
	detailed->query.by = GG_BY_LINE;
	open_row(detailed, "a.c:9 load");
	has(detailed, GG_PART_CALLEES, "parse (made):10, (self):3");
	has(detailed, GG_PART_LINES, "a.c:9 load:13");
	has(detailed, GG_PART_AGES, "10 s to 1 min:3");
	detailed->query.by = GG_BY_MODULE;
	open_row(detailed, "/usr/bin/made");
	has(detailed, GG_PART_CALLERS, "(outermost):21");
	has(detailed, GG_PART_CALLEES, "(self):21");
	has(detailed, GG_PART_FUNCTIONS,
	    "parse (made):9, other (made):5, grow (made):4, load (made):3");
	detailed->query.by = GG_BY_STACK;
	open_row(detailed, "main;load;parse");
	has(detailed, GG_PART_CALLERS, "");
	has(detailed, GG_PART_FUNCTIONS, "parse (made):6");
	detailed->query.by = GG_BY_KIND;
	open_row(detailed, "malloc");
	has(detailed, GG_PART_FUNCTIONS,
	    "parse (made):9, other (made):5, grow (made):4, load (made):3");
	has(detailed, GG_PART_AGES,
	    "younger than 1 s:6, 1 s to 10 s:1, 10 s to 1 min:5, 1 min to 10 min:9");
}

TEST_WITH(detailed, a_recursive_function_is_divided_at_its_innermost_call)
{
	enum { MIB = 1 << 20 };

	add(detailed, "main>walk>walk>leaf", 3 * MIB, SECOND);
	add(detailed, "main>walk>leaf", 2 * MIB, SECOND);
	open_row(detailed, "walk (made)");
	has(detailed, GG_PART_CALLERS, "walk (made):3, main (made):2");
	has(detailed, GG_PART_CALLEES, "leaf (made):5");
}

TEST_WITH(detailed, a_block_without_a_time_has_an_unknown_age)
{
	uint32_t stack = made_stack(&detailed->made, "main>keep");

	add(detailed, "main>keep", 1 << 20, 99 * SECOND);
	made_allocate(&detailed->made, stack, 1000, 10000, 10 * SECOND, 20 * SECOND);
	open_row(detailed, "keep (made)");
	has(detailed, GG_PART_AGES, "1 s to 10 s:1");
	detailed->query.metric = GG_METRIC_ALLOCATED;
	open_row(detailed, "keep (made)");
	has(detailed, GG_PART_AGES, "");
}

/* --- random stacks ------------------------------------------------------------------------ */

struct edge {
	double value;
	size_t count;               /* nodes of the tree */
	const struct gg_tally *one; /* of the last of them */
};

/* Adds up the tree's nodes that are called by, or that call, the function. */
static struct edge edge_of(const struct gg_tree *tree, uint32_t function, uint32_t other,
                           bool is_caller)
{
	struct edge edge = { 0 };

	for (size_t i = 1; i < tree->count; i++) {
		const struct gg_tree_node *node = &tree->nodes[i];
		const struct gg_tree_node *parent = &tree->nodes[node->parent];
		const struct gg_tree_node *inner = node, *outer = parent;
		bool is_outermost = node->parent == 0;
		uint32_t caller = is_outermost ? GG_PART_NONE : outer->function;

		if (is_caller ? inner->function != function || caller != other
		              : is_outermost || outer->function != function ||
		                        inner->function != other)
			continue;
		edge.value += gg_tally_estimate(node->total, GG_BYTES).value;
		edge.count++;
		edge.one = node->total;
	}
	return edge;
}

static void check_edge(const struct gg_row_piece *piece, const struct edge *edge)
{
	double value = gg_tally_estimate(&piece->tally, GG_BYTES).value;

	CHECK_MSG(fabs(value - edge->value) <= 1e-9 * edge->value, "%g and %g", value, edge->value);
	if (edge->count == 1) {
		struct gg_figure ours = gg_figure_of(&piece->tally, GG_BYTES, 0.95, true);
		struct gg_figure theirs = gg_figure_of(edge->one, GG_BYTES, 0.95, true);

		CHECK_MSG(fabs(ours.low - theirs.low) <= 1e-9 * theirs.low &&
		                  fabs(ours.high - theirs.high) <= 1e-9 * theirs.high,
		          "%g..%g and %g..%g", ours.low, ours.high, theirs.low, theirs.high);
	}
}

static double sum_of(const struct gg_row_pieces *pieces)
{
	double sum = 0;

	for (size_t i = 0; i < pieces->items.count; i++)
		sum += gg_tally_estimate(&pieces->items.items[i].tally, GG_BYTES).value;
	return sum;
}

static void check_row(struct detailed *detailed, const struct gg_tree *tree, size_t index)
{
	const struct gg_query_row *row = &detailed->result->rows[index];
	struct gg_row_detail detail;
	const struct gg_row_pieces *callers = &detail.parts[GG_PART_CALLERS];
	const struct gg_row_pieces *callees = &detail.parts[GG_PART_CALLEES];
	double total = gg_tally_estimate(row->total, GG_BYTES).value;
	double self = gg_tally_estimate(row->self, GG_BYTES).value;
	struct gg_error error;

	REQUIRE(gg_row_detail_find(&detail, detailed->model, &detailed->query, row->key,
	                           100 * SECOND, &error) == 0);
	CHECK(fabs(sum_of(callers) - total) <= 1e-9 * total);
	CHECK(fabs(sum_of(callees) - total) <= 1e-9 * total);
	CHECK(fabs(sum_of(&detail.parts[GG_PART_LINES]) - total) <= 1e-9 * total);
	CHECK(fabs(sum_of(&detail.parts[GG_PART_AGES]) - self) <= 1e-9 * total);
	for (size_t i = 0; i < callers->items.count; i++) {
		const struct gg_row_piece *piece = &callers->items.items[i];
		struct edge edge = edge_of(tree, row->key, piece->key, true);

		check_edge(piece, &edge);
	}
	for (size_t i = 0; i < callees->items.count; i++) {
		const struct gg_row_piece *piece = &callees->items.items[i];
		struct edge edge = edge_of(tree, row->key, piece->key, false);

		if (piece->key == GG_PART_SELF)
			edge = (struct edge){ .value = self, .count = 1, .one = row->self };
		check_edge(piece, &edge);
	}
	gg_row_detail_done(&detail);
}

/* Functions of a level call only those of deeper levels, so nothing is recursive. */
TEST_WITH(detailed, pieces_equal_the_nodes_of_the_tree)
{
	enum { SAMPLE_COUNT = 3000, DEPTH = 5, WIDTH = 4 };
	const struct gg_tree_options options = { 0 };
	struct gg_tree *tree;
	struct gg_error error;
	struct gg_rng rng;

	gg_rng_seed(&rng, 24, 2);
	for (int i = 0; i < SAMPLE_COUNT; i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf stack = { 0 };
		uint64_t depth = 1 + gg_rng_below(&rng, DEPTH);

		gg_buf_append_text(&stack, "main");
		for (uint64_t level = 0; level < depth; level++)
			gg_buf_printf(&stack, ">f%u_%u@f.c:%u", (unsigned)level,
			              (unsigned)gg_rng_below(&rng, WIDTH),
			              1 + (unsigned)gg_rng_below(&rng, 3));
		made_allocate(&detailed->made, made_stack(&detailed->made, gg_buf_text(&stack)),
		              100 + gg_rng_below(&rng, 10000), 1 + gg_rng_below(&rng, 20),
		              (int64_t)gg_rng_below(&rng, 90) * SECOND, GG_TIME_NONE);
	}
	find(detailed, "");
	REQUIRE(gg_tree_build(&tree, detailed->model, &detailed->query, &options, &error) == 0);
	CHECK_EQ_U64(detailed->result->row_count, 1 + DEPTH * WIDTH);
	for (size_t i = 0; i < detailed->result->row_count; i++)
		check_row(detailed, tree, i);
	gg_tree_free(tree);
}
