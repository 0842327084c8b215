/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_model_wrappers - shows which functions count as wrappers by the shape of their stacks.
 *
 * Each test changes one property of a program in which my_alloc() is a wrapper.
 */
#include <stdio.h>

#include "model/model.h"

#include "made_profile.h"
#include "test.h"

static struct gg_error error;

enum { SIDES = 2 };

/* Profiles with an interval of 1 and their models; most tests use the first. */
struct scene {
	struct made_profile made[SIDES];
	struct gg_model *models[SIDES];
};

static void scene_setup(struct scene *scene)
{
	for (size_t i = 0; i < SIDES; i++)
		made_begin(&scene->made[i], NULL, 1, 1);
}

static void scene_teardown(struct scene *scene)
{
	for (size_t i = 0; i < SIDES; i++) {
		gg_profile_close(scene->made[i].profile);
		gg_model_free(scene->models[i]);
	}
}

FIXTURE(scene)

static bool is_entry(const char *function, const char *module)
{
	(void)module;
	return function != NULL && strcmp(function, "malloc") == 0;
}

static bool is_wrapper(const char *function)
{
	return strcmp(function, "xmalloc") == 0;
}

static void put(struct made_profile *made, const char *stack, uint64_t bytes)
{
	made_sample(made, made_stack(made, stack), bytes, 5, GG_TIME_NONE);
}

/* Puts `count` samples of ascending sizes.  Each "%d" of the stack becomes the sample's number. */
static void put_many(struct made_profile *made, const char *stack, int count, uint64_t first_bytes,
                     uint64_t step_bytes)
{
	for (int i = 0; i < count; i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf numbered = { 0 };
		const char *rest = stack;

		for (const char *at; (at = strstr(rest, "%d")) != NULL; rest = at + 2) {
			gg_buf_append(&numbered, rest, (size_t)(at - rest));
			gg_buf_printf(&numbered, "%d", i);
		}
		gg_buf_append_text(&numbered, rest);
		put(made, gg_buf_text(&numbered), first_bytes + (uint64_t)i * step_bytes);
	}
}

/* The functions that are found in a model, as "a b ", in the order of their numbers. */
static const char *found_in(struct scene *scene, size_t side)
{
	static struct gg_buf text;
	const struct gg_model *model = scene->models[side];

	gg_buf_done(&text);
	for (size_t i = 1; i < model->function_count; i++)
		if (model->functions[i].is_found_wrapper) {
			CHECK(model->functions[i].is_wrapper);
			gg_buf_printf(&text, "%s ", model->functions[i].name);
		}
	return gg_buf_text(&text);
}

static void find(struct scene *scene, size_t side_count)
{
	const struct gg_model_options options = { .is_entry = is_entry, .is_wrapper = is_wrapper };

	for (size_t i = 0; i < side_count; i++)
		REQUIRE(gg_model_load(&scene->models[i], &scene->made[i].profile, 1, &options,
		                      &error) == 0);
	REQUIRE(gg_model_find_wrappers(scene->models, side_count, &error) == 0);
}

static const char *found(struct scene *scene)
{
	find(scene, 1);
	return found_in(scene, 0);
}

TEST_WITH(scene, a_leaf_with_most_bytes_and_many_callers_is_a_wrapper)
{
	put_many(scene->made, "main>use%d>my_alloc>malloc", 10, 100, 10);
	put(scene->made, "main>load>malloc", 900);
	CHECK_EQ_STR(found(scene), "my_alloc ");
}

TEST_WITH(scene, blocks_of_one_size_do_not_matter_without_recursion)
{
	put_many(scene->made, "main>use%d>my_alloc>malloc", 10, 100, 0);
	CHECK_EQ_STR(found(scene), "my_alloc ");
}

TEST_WITH(scene, seven_callers_are_too_few)
{
	put_many(scene->made, "main>use%d>my_alloc>malloc", 7, 100, 10);
	put(scene->made, "main>use6>my_alloc>my_alloc>malloc", 100);
	CHECK_EQ_STR(found(scene), "");
}

TEST_WITH(scene, callers_of_functions_that_pass_a_wrapper_on_count)
{
	put_many(scene->made, "main>use%d>my_malloc>my_alloc>malloc", 5, 100, 10);
	put_many(scene->made, "main>do%d>my_calloc>my_alloc>malloc", 3, 100, 10);
	CHECK_EQ_STR(found(scene), "my_alloc ");
}

TEST_WITH(scene, seven_callers_of_functions_that_pass_it_on_are_too_few)
{
	put_many(scene->made, "main>use%d>my_malloc>my_alloc>malloc", 4, 100, 10);
	put_many(scene->made, "main>use%d>my_calloc>my_alloc>malloc", 7, 100, 10);
	CHECK_EQ_STR(found(scene), "");
}

TEST_WITH(scene, a_function_that_allocates_in_another_way_passes_nothing_on)
{
	put_many(scene->made, "main>use%d>load>my_alloc>malloc", 10, 100, 10);
	put_many(scene->made, "main>use%d>load>read>malloc", 10, 20, 10);
	CHECK_EQ_STR(found(scene), "");
}

TEST_WITH(scene, half_of_the_bytes_is_not_most)
{
	put_many(scene->made, "main>use%d>my_alloc>malloc", 10, 100, 0);
	put(scene->made, "main>load>malloc", 1000);
	CHECK_EQ_STR(found(scene), "");
}

TEST_WITH(scene, most_bytes_that_were_never_freed_suffice)
{
	uint32_t load = made_stack(scene->made, "main>load>malloc");

	put_many(scene->made, "main>use%d>my_alloc>malloc", 10, 100, 0);
	made_sample(scene->made, load, 5000, 5, 10);
	CHECK_EQ_STR(found(scene), "my_alloc ");
}

TEST_WITH(scene, most_bytes_of_one_process_suffice)
{
	put_many(scene->made, "main>use%d>my_alloc>malloc", 10, 100, 0);
	made_process(scene->made, 4712, 0, 1000000000);
	put_many(scene->made, "main>do%d>[/usr/bin/other]other_alloc>malloc", 10, 500, 0);
	CHECK_EQ_STR(found(scene), "my_alloc other_alloc ");
}

TEST_WITH(scene, a_function_whose_callees_allocate_as_well_is_no_leaf)
{
	put_many(scene->made, "main>use%d>my_load>malloc", 10, 100, 10);
	put_many(scene->made, "main>use%d>my_load>read>malloc", 10, 10, 10);
	CHECK_EQ_STR(found(scene), "");
}

TEST_WITH(scene, a_function_that_allocates_at_many_lines_does_more_than_that)
{
	put_many(scene->made, "main>use%d>load_row@row.c:%d>malloc", 10, 100, 10);
	CHECK_EQ_STR(found(scene), "");
}

TEST_WITH(scene, a_wrapper_may_try_twice)
{
	put_many(scene->made, "main>use%d>my_alloc@a.c:1>malloc", 10, 100, 10);
	put_many(scene->made, "main>use%d>my_alloc@a.c:2>malloc", 10, 100, 10);
	CHECK_EQ_STR(found(scene), "my_alloc ");
}

TEST_WITH(scene, the_node_maker_of_a_recursive_parser_is_no_wrapper)
{
	put_many(scene->made, "main>parse%d>expression>parse%d>new_node>malloc", 10, 64, 0);
	put_many(scene->made, "main>parse%d>new_name>malloc", 3, 5, 1);
	CHECK_EQ_STR(found(scene), "");
}

TEST_WITH(scene, a_wrapper_of_a_recursive_parser_takes_sizes_from_its_callers)
{
	put_many(scene->made, "main>parse%d>expression>parse%d>my_alloc>malloc", 10, 64, 8);
	CHECK_EQ_STR(found(scene), "my_alloc ");
}

TEST_WITH(scene, wrappers_behind_wrappers_are_found)
{
	put_many(scene->made, "main>use%d>my_strdup>my_alloc>xmalloc>malloc", 10, 100, 10);
	put_many(scene->made, "main>make%d>my_alloc>xmalloc>malloc", 10, 50, 3);
	CHECK_EQ_STR(found(scene), "my_strdup my_alloc ");
}

TEST_WITH(scene, an_inlined_wrapper_is_found)
{
	put_many(scene->made, "main>use%d+my_alloc>malloc", 10, 100, 10);
	CHECK_EQ_STR(found(scene), "my_alloc ");
}

TEST_WITH(scene, a_wrapper_without_a_name_is_found)
{
	put_many(scene->made, "main>use%d>[/lib/libdb.so]0xa7503>malloc", 10, 100, 10);
	CHECK_EQ_STR(found(scene), "libdb.so+0xa7503 ");
}

TEST_WITH(scene, a_function_without_a_name_is_a_wrapper_if_a_named_one_calls_it)
{
	put_many(scene->made, "main>use%d>[/lib/libdb.so]xmalloc>[/lib/libdb.so]0xa7503>malloc", 2,
	         950, 0);
	put(scene->made, "main>load>[/lib/libdb.so]0xa7503>malloc", 100);
	CHECK_EQ_STR(found(scene), "libdb.so+0xa7503 ");
}

TEST_WITH(scene, a_function_without_a_name_is_none_if_others_call_it)
{
	put_many(scene->made, "main>use%d>[/lib/libdb.so]xmalloc>[/lib/libdb.so]0xa7503>malloc", 2,
	         400, 0);
	put(scene->made, "main>[/lib/libdb.so]load>[/lib/libdb.so]0xa7503>malloc", 200);
	CHECK_EQ_STR(found(scene), "");
}

TEST_WITH(scene, a_wrapper_of_another_module_says_nothing_of_a_function_without_a_name)
{
	put_many(scene->made, "main>use%d>xmalloc>[/lib/libdb.so]0xa7503>malloc", 2, 950, 0);
	CHECK_EQ_STR(found(scene), "");
}

TEST_WITH(scene, a_function_with_a_name_is_none_because_a_wrapper_calls_it)
{
	put_many(scene->made, "main>use%d>[/lib/libdb.so]xmalloc>[/lib/libdb.so]collect>malloc", 2,
	         950, 0);
	CHECK_EQ_STR(found(scene), "");
}

TEST_WITH(scene, a_tenth_of_the_bytes_is_most_for_a_function_without_a_name)
{
	put_many(scene->made, "main>use%d>[/lib/libdb.so]0xa7503>malloc", 10, 100, 10);
	put_many(scene->made, "main>do%d>my_calloc>malloc", 10, 200, 10);
	put(scene->made, "main>load>malloc", 9000);
	CHECK_EQ_STR(found(scene), "libdb.so+0xa7503 ");
}

TEST_WITH(scene, less_than_a_tenth_is_not)
{
	put_many(scene->made, "main>use%d>[/lib/libdb.so]0xa7503>malloc", 10, 100, 0);
	put(scene->made, "main>load>malloc", 9001);
	CHECK_EQ_STR(found(scene), "");
}

TEST_WITH(scene, memory_that_a_fork_inherited_counts_once)
{
	put_many(scene->made, "main>use%d>my_alloc>malloc", 10, 100, 0);
	put(scene->made, "main>load>malloc", 1100);
	for (uint64_t i = 0; i < 10; i++) {
		made_process(scene->made, (uint32_t)(4712 + i), 0, 1000000000);
		made_inherited(scene->made, made_stack(scene->made, "main>use0>my_alloc>malloc"),
		               100, 5, GG_TIME_NONE, 1);
	}
	CHECK_EQ_STR(found(scene), "");
}

TEST_WITH(scene, an_empty_profile_has_no_wrappers)
{
	CHECK_EQ_STR(found(scene), "");
}

TEST_WITH(scene, a_wrapper_of_one_model_is_a_wrapper_of_both)
{
	put_many(&scene->made[0], "main>use%d>my_alloc>malloc", 10, 100, 10);
	put(&scene->made[1], "main>use1>my_alloc>malloc", 100);
	put(&scene->made[1], "main>load>malloc", 10);
	find(scene, 2);
	CHECK_EQ_STR(found_in(scene, 0), "my_alloc ");
	CHECK_EQ_STR(found_in(scene, 1), "my_alloc ");
}

TEST_WITH(scene, an_address_means_another_function_in_another_build)
{
	scene->made[0].has_build_ids = true;
	put_many(&scene->made[0], "main>use%d>[/lib/libdb.so]0xa7503>malloc", 10, 100, 10);
	put(&scene->made[1], "main>use1>[/lib/libdb.so]0xa7503>malloc", 100);
	find(scene, 2);
	CHECK_EQ_STR(found_in(scene, 0), "libdb.so+0xa7503 ");
	CHECK_EQ_STR(found_in(scene, 1), "");
}

TEST_WITH(scene, functions_inside_named_wrappers_are_told_from_others)
{
	const struct gg_model *model;
	size_t inside = 0;

	put_many(scene->made, "main>use%d>[/lib/libdb.so]xmalloc>[/lib/libdb.so]0x90>malloc", 3,
	         100, 10);
	put_many(scene->made, "main>do%d>my_alloc>malloc", 10, 100, 10);
	CHECK_EQ_STR(found(scene), "my_alloc libdb.so+0x90 ");
	model = scene->models[0];
	for (size_t i = 1; i < model->function_count; i++)
		if (model->functions[i].is_inside_wrapper) {
			CHECK_EQ_STR(model->functions[i].name, "libdb.so+0x90");
			inside++;
		}
	CHECK(inside == 1);
}
