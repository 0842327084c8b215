/* SPDX-License-Identifier: Apache-2.0 */
/* test_query_tree - shows how call trees are built, folded and inverted. */
#include "query/tree.h"

#include <stdlib.h>

#include "made_profile.h"
#include "test.h"

static struct gg_error error;
static struct gg_model *model;

static struct gg_tree *build(struct made_profile *made, bool inverted, double fold)
{
	const struct gg_tree_options options = { .inverted = inverted, .fold = fold };
	struct gg_tree *tree = NULL;
	struct gg_query query;

	gg_query_init(&query);
	CHECK_EQ_I64(gg_model_load(&model, &made->profile, 1, NULL, &error), 0);
	gg_profile_close(made->profile);
	CHECK_EQ_I64(gg_tree_build(&tree, model, &query, &options, &error), 0);
	return tree;
}

static void done(struct gg_tree *tree)
{
	gg_tree_free(tree);
	gg_model_free(model);
}

/* "depth:function:total:self", one node after the other. */
static bool looks(const struct gg_tree *tree, const char *wanted)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	for (size_t i = 0; i < tree->count; i++) {
		const struct gg_tree_node *node = &tree->nodes[i];

		gg_buf_printf(&text, "%s%u:", i > 0 ? " " : "", node->depth);
		if (node->folded_count > 0)
			gg_buf_printf(&text, "(%u)", node->folded_count);
		else
			gg_buf_append_text(&text,
			                   i == 0 ? "all" : model->functions[node->function].name);
		gg_buf_printf(&text, ":%g:%g", gg_tally_estimate(node->total, GG_BYTES).value,
		              gg_tally_estimate(node->self, GG_BYTES).value);
		CHECK(i == 0 || node->parent < i);
	}
	return CHECK_MSG(strcmp(gg_buf_text(&text), wanted) == 0, "%s", gg_buf_text(&text));
}

static void make(struct made_profile *made)
{
	made_begin(made, NULL, 1, 1);
	made_sample(made, made_stack(made, "main>load>parse"), 600, 1, GG_TIME_NONE);
	made_sample(made, made_stack(made, "main>load@a.c:9>parse"), 100, 1, GG_TIME_NONE);
	made_sample(made, made_stack(made, "main>load"), 200, 1, GG_TIME_NONE);
	made_sample(made, made_stack(made, "main>draw>parse"), 90, 1, GG_TIME_NONE);
	made_sample(made, made_stack(made, "main>a"), 4, 1, GG_TIME_NONE);
	made_sample(made, made_stack(made, "main>b"), 6, 1, GG_TIME_NONE);
}

TEST(callees_stand_below_their_caller_heaviest_first)
{
	struct made_profile made;
	struct gg_tree *tree;

	make(&made);
	tree = build(&made, false, 0);
	looks(tree, "0:all:1000:0 1:main:1000:0 2:load:900:200 3:parse:700:700 2:draw:90:0 "
	            "3:parse:90:90 2:b:6:6 2:a:4:4");
	done(tree);
}

TEST(what_is_light_is_put_together)
{
	struct made_profile made;
	struct gg_tree *tree;

	make(&made);
	tree = build(&made, false, 0.01);
	looks(tree, "0:all:1000:0 1:main:1000:0 2:load:900:200 3:parse:700:700 2:draw:90:0 "
	            "3:parse:90:90 2:(2):10:10");
	CHECK(tree->nodes[1].child_count == 3 && tree->nodes[0].child_count == 1);
	done(tree);
}

TEST(the_heaviest_path_is_shown_to_its_end)
{
	struct made_profile made;
	struct gg_tree *tree;

	make(&made);
	tree = build(&made, false, 0.95);
	looks(tree, "0:all:1000:0 1:main:1000:0 2:load:900:200 3:parse:700:700 2:(3):100:10");
	CHECK(tree->nodes[3].is_heaviest);
	done(tree);
}

TEST(inverted_it_goes_from_callees_to_callers)
{
	struct made_profile made;
	struct gg_tree *tree;

	make(&made);
	tree = build(&made, true, 0.05);
	looks(tree, "0:all:1000:0 1:parse:790:0 2:load:700:0 3:main:700:700 2:draw:90:0 "
	            "3:main:90:90 1:load:200:0 2:main:200:200 1:(2):10:0");
	done(tree);
}

TEST(recursion_is_a_path_like_any_other)
{
	struct made_profile made;
	struct gg_tree *tree;

	made_begin(&made, NULL, 1, 1);
	made_sample(&made, made_stack(&made, "main>walk>walk"), 10, 1, GG_TIME_NONE);
	made_sample(&made, made_stack(&made, "main>walk>walk>walk"), 1, 1, GG_TIME_NONE);
	made_sample(&made, 0, 5, 1, GG_TIME_NONE);
	tree = build(&made, false, 0);
	looks(tree, "0:all:16:0 1:main:11:0 2:walk:11:0 3:walk:11:10 4:walk:1:1 1:[unknown]:5:5");
	done(tree);
}

TEST(nothing_makes_a_tree_of_its_root_alone)
{
	struct made_profile made;
	struct gg_tree *tree;

	made_begin(&made, NULL, 1, 1);
	tree = build(&made, false, 0.01);
	looks(tree, "0:all:0:0");
	done(tree);
}

static int compare_pointers(const void *a, const void *b)
{
	const struct gg_tally *const *left = a, *const *right = b;

	return (*left > *right) - (*left < *right);
}

/* The number of different tallies of a tree's nodes. */
static size_t tally_count(const struct gg_tree *tree)
{
	const struct gg_tally **all = calloc(2 * tree->count, sizeof(const struct gg_tally *));
	size_t count = 0;

	REQUIRE(all != NULL);
	for (size_t i = 0; i < tree->count; i++) {
		all[2 * i] = tree->nodes[i].total;
		all[2 * i + 1] = tree->nodes[i].self;
	}
	qsort(all, 2 * tree->count, sizeof(*all), compare_pointers);
	for (size_t i = 0; i < 2 * tree->count; i++)
		count += i == 0 || all[i] != all[i - 1];
	free(all);
	return count;
}

TEST(deep_paths_share_their_tallies_until_a_caller_separates_them)
{
	enum { STACKS = 50, FRAMES = 40 };

	for (int inverted = 0; inverted < 2; inverted++) {
		struct made_profile made;
		struct gg_tree *tree;
		double value;

		made_begin(&made, NULL, 1, 1);
		for (int i = 0; i < STACKS; i++) {
			GG_CLEANUP(gg_buf_done) struct gg_buf path = { 0 };

			gg_buf_append_text(&path, "main");
			for (int k = 2; k < FRAMES; k++)
				gg_buf_printf(&path, ">f%d_%d", i, k);
			gg_buf_append_text(&path, ">allocate");
			made_sample(&made, made_stack(&made, gg_buf_text(&path)), 100, 1,
			            GG_TIME_NONE);
		}
		tree = build(&made, inverted != 0, 0);
		CHECK(tree->count > STACKS * (FRAMES - 2));
		CHECK(tally_count(tree) <= 4 * STACKS);
		value = gg_tally_estimate(tree->nodes[tree->count - 1].total, GG_BYTES).value;
		CHECK_EQ_DOUBLE(value, 100);
		CHECK_EQ_I64(gg_tree_separate(tree), 0);
		CHECK(tally_count(tree) == 2 * tree->count);
		value = gg_tally_estimate(tree->nodes[tree->count - 1].total, GG_BYTES).value;
		CHECK_EQ_DOUBLE(value, 100);
		done(tree);
	}
}
