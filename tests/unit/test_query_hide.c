/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_query_hide - shows who gets the memory of hidden functions, and that nothing gets lost.
 *
 * With an interval of 1 every allocation is a sample, so the sums are exact.
 */
#include "model/model.h"
#include "query/diff.h"
#include "query/leaks.h"
#include "query/query.h"
#include "query/tree.h"
#include "report/frame_selection.h"

#include "made_profile.h"
#include "test.h"

static struct gg_error error;

static bool is_entry(const char *function, const char *module)
{
	(void)module;
	return function != NULL && strcmp(function, "malloc") == 0;
}

static bool is_wrapper(const char *function)
{
	return strcmp(function, "xmalloc") == 0 || strcmp(function, "xstrdup") == 0 ||
	       strncmp(function, "std::", 5) == 0;
}

/* A profile with an interval of 1, and its model. */
struct scene {
	struct made_profile made;
	struct gg_model *model;
};

static void scene_setup(struct scene *scene)
{
	made_begin(&scene->made, NULL, 1, 1);
}

static void scene_teardown(struct scene *scene)
{
	gg_profile_close(scene->made.profile);
	gg_model_free(scene->model);
}

FIXTURE(scene)

static void put(struct scene *scene, const char *stack, uint64_t bytes)
{
	made_sample(&scene->made, made_stack(&scene->made, stack), bytes, 5, GG_TIME_NONE);
}

static void hide(struct scene *scene, const struct gg_model_hiding *what)
{
	REQUIRE(gg_model_hide_functions(scene->model, what, &error) == 0);
	REQUIRE_MSG(gg_model_validate(scene->model, &error) == 0, "%s", error.message);
}

static void load(struct scene *scene, bool with_wrappers)
{
	const struct gg_model_options options = { .is_entry = is_entry,
		                                  .is_wrapper = with_wrappers ? NULL : is_wrapper };
	int status = gg_model_load(&scene->model, &scene->made.profile, 1, &options, &error);

	REQUIRE_MSG(status == 0, "%s: %s", error.place, error.message);
	hide(scene, &(struct gg_model_hiding){ 0 });
}

static void leave_out(struct scene *scene, const char *expression)
{
	uint8_t *is_hidden = calloc(scene->model->function_count, 1);

	REQUIRE(is_hidden != NULL);
	REQUIRE(gg_query_match_functions(scene->model, expression, "--hide", 1, is_hidden,
	                                 &error) == 0);
	hide(scene, &(struct gg_model_hiding){ .is_hidden = is_hidden });
	free(is_hidden);
}

/* Self belongs to modules that match; `hidden` may be NULL. */
static void choose_modules(struct scene *scene, const char *expression, const char *hidden)
{
	uint8_t *is_own = calloc(scene->model->module_count, 1);
	uint8_t *is_hidden = calloc(scene->model->function_count, 1);

	REQUIRE(is_own != NULL && is_hidden != NULL);
	REQUIRE(gg_query_match_modules(scene->model, expression, "--module", is_own, &error) == 0);
	REQUIRE(gg_query_match_functions(scene->model, hidden, "--hide", 1, is_hidden, &error) ==
	        0);
	hide(scene, &(struct gg_model_hiding){ .is_hidden = is_hidden,
	                                       .is_own_module = is_own,
	                                       .no_own_frame = "[no frame]" });
	free(is_own);
	free(is_hidden);
}

/* The bytes of a query for stacks with, or without, functions that match. */
static double bytes_of(struct scene *scene, const char *focus, const char *ignore)
{
	struct gg_query_result *result;
	struct gg_query query;
	double bytes;

	gg_query_init(&query);
	query.focus = focus;
	query.ignore = ignore;
	REQUIRE(gg_query_rows(scene->model, &query, &result, &error) == 0);
	bytes = gg_tally_estimate(&result->total, GG_BYTES).value;
	gg_query_result_free(result);
	return bytes;
}

/* All rows as "label self/total via; ...", in the order of the result. */
static const char *rows(struct scene *scene, enum gg_grouping by)
{
	static struct gg_buf text;
	struct gg_query_result *result;
	struct gg_query query;

	gg_query_init(&query);
	query.by = by;
	REQUIRE_MSG(gg_query_rows(scene->model, &query, &result, &error) == 0, "%s", error.message);
	gg_buf_done(&text);
	for (size_t i = 0; i < result->row_count; i++) {
		const struct gg_query_row *row = &result->rows[i];

		if (by == GG_BY_FUNCTION)
			gg_buf_append_text(&text, scene->model->functions[row->key].name);
		else
			gg_query_row_label(scene->model, result, row, &text);
		gg_buf_printf(&text, " %.0f/%.0f", gg_tally_estimate(row->self, GG_BYTES).value,
		              gg_tally_estimate(row->total, GG_BYTES).value);
		if (row->via != 0)
			gg_buf_printf(&text, " via %s", scene->model->functions[row->via].name);
		gg_buf_append_text(&text, "; ");
	}
	gg_query_result_free(result);
	return gg_buf_text(&text);
}

TEST_WITH(scene, the_caller_of_a_wrapper_has_its_memory)
{
	put(scene, "main>parse>xmalloc>malloc", 8);
	put(scene, "main>parse>xstrdup>xmalloc>malloc", 4);
	put(scene, "main>read>xmalloc>malloc", 2);
	load(scene, false);
	CHECK_EQ_STR(rows(scene, GG_BY_FUNCTION),
	             "parse 12/12 via xmalloc; read 2/2 via xmalloc; main 0/14; ");
	CHECK_EQ_STR(rows(scene, GG_BY_STACK),
	             "main;parse 12/12 via xmalloc; main;read 2/2 via xmalloc; ");
}

TEST_WITH(scene, with_all_frames_wrappers_have_rows)
{
	put(scene, "main>parse>xmalloc>malloc", 8);
	load(scene, true);
	CHECK_EQ_STR(rows(scene, GG_BY_FUNCTION), "xmalloc 8/8; main 0/8; parse 0/8; ");
}

TEST_WITH(scene, a_wrapper_that_was_inlined_is_hidden_as_well)
{
	put(scene, "main>load+std::push_back+std::allocate>malloc", 8);
	put(scene, "main>load+std::push_back>std::grow>malloc", 4);
	load(scene, false);
	CHECK_EQ_STR(rows(scene, GG_BY_FUNCTION), "load 12/12 via std::push_back; main 0/12; ");
}

TEST_WITH(scene, a_library_that_calls_back_keeps_its_frames)
{
	put(scene, "main>std::sort>compare>std::string>malloc", 8);
	load(scene, false);
	CHECK_EQ_STR(rows(scene, GG_BY_FUNCTION),
	             "compare 8/8 via std::string; main 0/8; std::sort 0/8; ");
}

TEST_WITH(scene, a_stack_of_wrappers_alone_keeps_them)
{
	put(scene, "std::start>std::run>malloc", 8);
	load(scene, false);
	CHECK_EQ_STR(rows(scene, GG_BY_FUNCTION), "std::run 8/8; std::start 0/8; ");
}

TEST_WITH(scene, functions_that_the_user_hides_vanish_everywhere)
{
	put(scene, "main>spawn>run>spawn>parse>malloc", 8);
	put(scene, "main>run>parse>malloc", 4);
	load(scene, false);
	leave_out(scene, "^(spawn|run)$");
	CHECK_EQ_STR(rows(scene, GG_BY_FUNCTION), "parse 12/12; main 0/12; ");
}

/* As `geiger report` does, with Python's frames as the agent merges them. */
static void select_frames(struct scene *scene, const struct gg_frame_selection *frames)
{
	REQUIRE(gg_frame_selection_apply(frames, &scene->model, 1, &error) == 0);
	REQUIRE_MSG(gg_model_validate(scene->model, &error) == 0, "%s", error.message);
}

#define LOOP "main>[/lib/libpython3.12.so]_PyEval_EvalFrameDefault>"

static void put_python(struct scene *scene)
{
	put(scene, LOOP "[/a.py]work@/a.py:3>[/lib/libpython3.12.so]call>[/np.so]npy_alloc>malloc",
	    8);
	put(scene, LOOP "[/lib/libpython3.12.so]import>[/np.so]init>malloc", 4);
	load(scene, false);
}

TEST_WITH(scene, an_interpreter_vanishes_from_stacks_with_python_functions_alone)
{
	put_python(scene);
	select_frames(scene, &(struct gg_frame_selection){ 0 });
	CHECK_EQ_STR(rows(scene, GG_BY_FUNCTION),
	             "npy_alloc 8/8; init 4/4; main 0/12; work 0/8; _PyEval_EvalFrameDefault 0/4; "
	             "import 0/4; ");
}

TEST_WITH(scene, a_user_may_see_the_interpreter)
{
	put_python(scene);
	select_frames(scene, &(struct gg_frame_selection){ .native = true });
	CHECK_EQ_STR(rows(scene, GG_BY_FUNCTION),
	             "npy_alloc 8/8; init 4/4; main 0/12; _PyEval_EvalFrameDefault 0/12; "
	             "work 0/8; call 0/8; import 0/4; ");
}

TEST_WITH(scene, a_user_may_see_python_functions_only)
{
	put_python(scene);
	select_frames(scene, &(struct gg_frame_selection){ .only_python = true });
	CHECK_EQ_STR(rows(scene, GG_BY_FUNCTION),
	             "work 8/8; init 4/4; main 0/4; _PyEval_EvalFrameDefault 0/4; import 0/4; ");
	select_frames(scene, &(struct gg_frame_selection){ .only_python = true, .hide = "init" });
	CHECK_EQ_STR(rows(scene, GG_BY_FUNCTION),
	             "work 8/8; import 4/4; main 0/4; _PyEval_EvalFrameDefault 0/4; ");
}

TEST_WITH(scene, stacks_that_were_recorded_with_the_interpreter_keep_it)
{
	REQUIRE(gg_profile_intern_name(scene->made.profile, GG_NAME_HEAP, "python.obj",
	                               &scene->made.heap, &error) == 0);
	put_python(scene);
	select_frames(scene, &(struct gg_frame_selection){ 0 });
	CHECK_EQ_STR(rows(scene, GG_BY_FUNCTION),
	             "npy_alloc 8/8; init 4/4; main 0/12; _PyEval_EvalFrameDefault 0/12; "
	             "work 0/8; call 0/8; import 0/4; ");
}

TEST_WITH(scene, a_user_may_hide_parts_of_frames)
{
	put(scene, "main+helper>parse+helper>xmalloc>malloc", 8);
	load(scene, false);
	leave_out(scene, "helper");
	CHECK_EQ_STR(rows(scene, GG_BY_FUNCTION), "parse 8/8 via xmalloc; main 0/8; ");
}

TEST_WITH(scene, the_last_choice_of_hidden_functions_counts)
{
	put(scene, "main>spawn>parse>xmalloc>malloc", 8);
	load(scene, false);
	leave_out(scene, "parse");
	CHECK_EQ_STR(rows(scene, GG_BY_FUNCTION), "spawn 8/8 via xmalloc; main 0/8; ");
	leave_out(scene, "spawn");
	CHECK_EQ_STR(rows(scene, GG_BY_FUNCTION), "parse 8/8 via xmalloc; main 0/8; ");
}

TEST_WITH(scene, hiding_everything_hides_nothing)
{
	put(scene, "main>parse>xmalloc>malloc", 8);
	load(scene, false);
	leave_out(scene, ".");
	CHECK_EQ_STR(rows(scene, GG_BY_FUNCTION), "parse 8/8 via xmalloc; main 0/8; ");
}

TEST_WITH(scene, a_library_gives_its_memory_to_the_modules_that_called_it)
{
	put(scene, "main>load>[/lib/libz.so]inflate>[/lib/libz.so]zcalloc>malloc", 8);
	put(scene, "main>load>xmalloc>malloc", 4);
	load(scene, false);
	choose_modules(scene, "made$", NULL);
	CHECK_EQ_STR(rows(scene, GG_BY_FUNCTION), "load 12/12 via inflate; main 0/12; ");
	CHECK_EQ_STR(rows(scene, GG_BY_MODULE), "/usr/bin/made 12/12; ");
}

TEST_WITH(scene, stacks_without_a_chosen_module_have_one_row)
{
	put(scene, "main>load>malloc", 8);
	put(scene, "main>[/lib/libz.so]inflate>malloc", 4);
	put(scene, "main>read>malloc", 2);
	put(scene, "malloc", 1);
	load(scene, false);
	choose_modules(scene, "libz", NULL);
	CHECK_EQ_STR(rows(scene, GG_BY_FUNCTION), "[no frame] 11/11; inflate 4/4; main 0/4; ");
	CHECK_EQ_STR(rows(scene, GG_BY_STACK), "[no frame] 11/11; main;inflate 4/4; ");
	CHECK_EQ_STR(rows(scene, GG_BY_MODULE),
	             "[no frame] 11/11; /lib/libz.so 4/4; /usr/bin/made 0/4; ");
	choose_modules(scene, "no such module", NULL);
	CHECK_EQ_STR(rows(scene, GG_BY_FUNCTION), "[no frame] 15/15; ");
}

TEST_WITH(scene, a_wrapper_of_a_chosen_module_is_better_than_no_frame)
{
	put(scene, "[/lib/libc.so]start>xmalloc>malloc", 8);
	put(scene, "[/lib/libc.so]start>malloc", 4);
	load(scene, false);
	choose_modules(scene, "made$", NULL);
	CHECK_EQ_STR(rows(scene, GG_BY_FUNCTION), "xmalloc 8/8; [no frame] 4/4; start 0/8; ");
}

TEST_WITH(scene, modules_and_hidden_functions_may_be_chosen_together)
{
	put(scene, "main>load>helper>[/lib/libz.so]inflate>malloc", 8);
	load(scene, false);
	choose_modules(scene, "made$", "helper");
	CHECK_EQ_STR(rows(scene, GG_BY_FUNCTION), "load 8/8 via inflate; main 0/8; ");
	choose_modules(scene, "made$", "main|load|helper");
	CHECK_EQ_STR(rows(scene, GG_BY_FUNCTION), "helper 8/8 via inflate; main 0/8; load 0/8; ");
}

TEST_WITH(scene, expressions_match_hidden_functions_but_not_the_allocator)
{
	put(scene, "main>parse>xmalloc>malloc", 8);
	put(scene, "main>read>malloc", 4);
	put(scene, "malloc", 2);
	load(scene, false);
	CHECK(bytes_of(scene, "^xmalloc$", NULL) == 8);
	CHECK(bytes_of(scene, NULL, "^xmalloc$") == 6);
	CHECK(bytes_of(scene, "malloc", NULL) == 8);
	CHECK(bytes_of(scene, ".", NULL) == 14);
	leave_out(scene, "parse");
	CHECK(bytes_of(scene, "parse", NULL) == 8);
}

/* --- via in other results ------------------------------------------------------------------- */

/* All nodes below the root as "depth name total via; ...". */
static const char *tree(struct scene *scene, const struct gg_tree_options *options)
{
	static struct gg_buf text;
	struct gg_query query;
	struct gg_tree *tree;

	gg_query_init(&query);
	REQUIRE(gg_tree_build(&tree, scene->model, &query, options, &error) == 0);
	gg_buf_done(&text);
	for (size_t i = 1; i < tree->count; i++) {
		const struct gg_tree_node *node = &tree->nodes[i];

		gg_buf_printf(&text, "%u %s %.0f", node->depth,
		              node->is_self ? "(self)"
		              : node->folded_count > 0
		                      ? "(more)"
		                      : scene->model->functions[node->function].name,
		              gg_tally_estimate(node->total, GG_BYTES).value);
		if (node->via != 0)
			gg_buf_printf(&text, " via %s", scene->model->functions[node->via].name);
		gg_buf_append_text(&text, "; ");
	}
	gg_tree_free(tree);
	return gg_buf_text(&text);
}

TEST_WITH(scene, the_children_of_a_node_add_up_to_it)
{
	put(scene, "main>parse>xmalloc>malloc", 8);
	put(scene, "main>parse>xstrdup>malloc", 2);
	put(scene, "main>parse>node>malloc", 16);
	put(scene, "main>parse>name>xstrdup>malloc", 4);
	load(scene, false);
	CHECK_EQ_STR(tree(scene, &(struct gg_tree_options){ .with_self = true }),
	             "1 main 30; 2 parse 30; 3 node 16; 3 (self) 10 via xmalloc; "
	             "3 name 4 via xstrdup; ");
	CHECK_EQ_STR(tree(scene, &(struct gg_tree_options){ 0 }),
	             "1 main 30; 2 parse 30 via xmalloc; 3 node 16; 3 name 4 via xstrdup; ");
}

TEST_WITH(scene, a_light_self_has_no_node)
{
	put(scene, "main>parse>xmalloc>malloc", 1);
	put(scene, "main>parse>node>malloc", 900);
	put(scene, "main>parse>name>xstrdup>malloc", 1);
	load(scene, false);
	CHECK_EQ_STR(tree(scene, &(struct gg_tree_options){ .with_self = true, .fold = 0.01 }),
	             "1 main 902; 2 parse 902; 3 node 900; 3 (more) 1; ");
}

TEST_WITH(scene, an_inverted_tree_begins_with_the_callers_of_wrappers)
{
	put(scene, "main>load>parse>xmalloc>malloc", 8);
	put(scene, "main>read>parse>xstrdup>malloc", 2);
	load(scene, false);
	CHECK_EQ_STR(tree(scene, &(struct gg_tree_options){ .inverted = true, .with_self = true }),
	             "1 parse 10 via xmalloc; 2 load 8; 3 main 8; 2 read 2; 3 main 2; ");
}

TEST_WITH(scene, leaks_name_the_wrapper)
{
	struct gg_leaks *leaks;

	put(scene, "main>parse>xmalloc>malloc", 8);
	put(scene, "main>read>malloc", 4);
	load(scene, false);
	REQUIRE(gg_leaks_run(scene->model, &(struct gg_leaks_query){ .confidence = 0.95 }, &leaks,
	                     &error) == 0);
	REQUIRE(leaks->row_count == 2);
	CHECK_EQ_STR(scene->model->functions[leaks->rows[0].via].name, "xmalloc");
	CHECK_EQ_I64(leaks->rows[1].via, 0);
	gg_leaks_free(leaks);
}

TEST_WITH(scene, differences_name_the_wrapper_of_self)
{
	struct gg_query_result *before, *after;
	const struct gg_diff_query how = { .scale = 1,
		                           .confidence = 0.95,
		                           .false_discovery_rate = 0.05 };
	struct gg_query query;
	struct gg_diff *diff;

	put(scene, "main>parse>xmalloc>malloc", 8);
	put(scene, "main>read>malloc", 4);
	load(scene, false);
	gg_query_init(&query);
	for (int by_total = 0; by_total < 2; by_total++) {
		query.sort_by_total = by_total;
		REQUIRE(gg_diff_query_both(scene->model, scene->model, &query, &before, &after,
		                           &error) == 0);
		REQUIRE(gg_diff_run(scene->model, before, scene->model, after, &how, &diff,
		                    &error) == 0);
		for (size_t i = 0; i < diff->row_count; i++) {
			bool has_via = !by_total && strncmp(diff->rows[i].label, "parse", 5) == 0;

			CHECK_EQ_STR(diff->rows[i].via != NULL ? diff->rows[i].via : "",
			             has_via ? "xmalloc" : "");
		}
		gg_diff_free(diff);
		gg_query_result_free(before);
		gg_query_result_free(after);
	}
}
