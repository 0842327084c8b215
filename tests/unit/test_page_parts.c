/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_page_parts - shows how the page's data get their bins, tree, paths and cells.
 *
 * The profiles have few stacks of known sizes at a sampling interval of 1, so that each number of a
 * part is known.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "made_profile.h"
#include "page/page_bins.h"
#include "page/page_cells.h"
#include "page/page_paths.h"
#include "page/page_picks.h"
#include "page/page_tree.h"
#include "page/page_why.h"
#include "test.h"

static const struct gg_page_options options = { .title = "made", .confidence = 0.95 };

/* The parts of one run, as page_data.c builds them. */
struct parts {
	struct gg_model *model;
	struct gg_page_run run;
	struct gg_page_whole *whole;
	struct gg_page_paths *paths;
	struct gg_page_tree tree;
	struct gg_error error;
};

static void begin(struct parts *parts, struct made_profile *made, uint32_t node_limit)
{
	struct gg_page_run *run = &parts->run;

	*parts = (struct parts){ 0 };
	REQUIRE(gg_model_load(&parts->model, &made->profile, 1, NULL, &parts->error) == 0);
	gg_profile_close(made->profile);
	*run = (struct gg_page_run){ .model = parts->model,
		                     .options = &options,
		                     .detail = { .node_limit = node_limit, .bins = 10 },
		                     .error = &parts->error };
	REQUIRE(gg_page_collect(run) == 0);
	REQUIRE(gg_page_find_peaks(run) == 0);
	gg_page_choose_bins(run);
	REQUIRE(gg_page_names_init(&run->names, parts->model) == 0);
	REQUIRE(gg_page_whole_build(run, &parts->whole) == 0);
	REQUIRE(gg_page_paths_build(run, parts->whole, &parts->paths) == 0);
	REQUIRE(gg_page_tree_fold(parts->whole, true, &parts->tree) == 0);
	REQUIRE(gg_page_paths_fold(parts->paths, true, &parts->tree) == 0);
}

static void done(struct parts *parts)
{
	gg_page_tree_done(&parts->tree);
	gg_page_paths_free(parts->paths);
	gg_page_whole_free(parts->whole);
	gg_page_names_done(&parts->run.names);
	gg_page_collect_done(&parts->run);
	gg_model_free(parts->model);
}

static void make(struct made_profile *made)
{
	made_begin(made, NULL, 1, 1);
	made_sample(made, made_stack(made, "main>load@a.c:3>parse@b.c:7"), 600, 10, GG_TIME_NONE);
	made_sample(made, made_stack(made, "main>load@a.c:9>parse@b.c:7"), 100, 20, 90);
	made_sample(made, made_stack(made, "main>draw@a.c:20"), 300, 30, 100);
}

/* "depth depth ...", in the order of the nodes; "+N" follows a node that stands for N functions. */
static void check_depths(const struct gg_page_tree *tree, const char *wanted)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	for (size_t i = 0; i < tree->node_count; i++) {
		gg_buf_printf(&text, "%s%u", i > 0 ? " " : "", tree->nodes[i].depth);
		if (tree->nodes[i].folded > 0)
			gg_buf_printf(&text, "+%u", tree->nodes[i].folded);
	}
	CHECK_EQ_STR(gg_buf_text(&text), wanted);
}

static size_t count_of(const struct gg_buf *text, const char *part)
{
	size_t count = 0;

	for (const char *at = gg_buf_text(text); (at = strstr(at, part)) != NULL; at++)
		count++;
	return count;
}

TEST(bins_cover_the_run_and_the_peak_is_an_edge)
{
	struct made_profile made;
	struct parts parts;

	make(&made);
	begin(&parts, &made, 100);
	CHECK_EQ_I64(parts.run.bins.edges[0], 0);
	CHECK_EQ_I64(parts.run.bins.edges[parts.run.bins.count], parts.model->end_ns);
	CHECK(parts.run.bins.peak_edge > 0);
	CHECK_EQ_I64(parts.run.bins.edges[parts.run.bins.peak_edge], parts.run.peak_ns);
	for (uint32_t i = 0; i < parts.run.bins.count; i++) {
		CHECK(parts.run.bins.edges[i] < parts.run.bins.edges[i + 1]);
		CHECK_EQ_U64(gg_page_bin(&parts.run.bins, parts.run.bins.edges[i + 1]), i);
	}
	done(&parts);
}

TEST(a_tree_that_fits_has_a_node_for_each_path_of_functions)
{
	struct made_profile made;
	struct parts parts;

	make(&made);
	begin(&parts, &made, 100);
	CHECK_EQ_U64(parts.tree.node_count, 5); /* the root, main, load, parse, draw */
	CHECK_EQ_U64(parts.tree.all_count, 5);
	check_depths(&parts.tree, "0 1 2 3 2");
	done(&parts);
}

TEST(light_nodes_are_folded_into_one)
{
	struct made_profile made;
	struct parts parts;

	make(&made);
	for (int i = 0; i < 50; i++) {
		char stack[32];

		snprintf(stack, sizeof(stack), "main>light%d", i);
		made_sample(&made, made_stack(&made, stack), 1, 40, 50);
	}
	begin(&parts, &made, 6);
	CHECK(parts.tree.least_share > 0);
	CHECK_EQ_U64(parts.tree.all_count, 55);
	check_depths(&parts.tree, "0 1 2+50 2 3 2"); /* folded nodes come first */
	done(&parts);
}

TEST(two_lines_of_a_caller_are_two_paths_to_one_node)
{
	struct made_profile made;
	struct parts parts;
	size_t to_parse = 0;
	uint32_t node = 0;

	make(&made);
	begin(&parts, &made, 100);
	CHECK(parts.tree.has_paths);
	for (size_t i = 0; i < parts.tree.path_count; i++) {
		node += parts.tree.paths[i].node_delta;
		to_parse += node < parts.tree.node_count && parts.tree.nodes[node].depth == 3;
	}
	CHECK_EQ_U64(to_parse, 2);
	done(&parts);
}

TEST(samples_that_differ_are_cells_of_their_own)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_json json = { .out = &text };
	struct made_profile made;
	struct parts parts;

	make(&made);
	begin(&parts, &made, 100);
	gg_json_open(&json, NULL, '{');
	CHECK_EQ_I64(gg_page_cells_write(&parts.run, &parts.tree, 0, &json), 0);
	gg_json_close(&json);
	CHECK_MSG(count_of(&text, "\"n\":[1,1,1]") == 1, "%s", gg_buf_text(&text));
	done(&parts);
}

TEST(equal_samples_are_one_cell)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_json json = { .out = &text };
	struct made_profile made;
	struct parts parts;

	made_begin(&made, NULL, 1, 1);
	for (int i = 0; i < 5; i++)
		made_sample(&made, made_stack(&made, "main>load"), 64, 10, GG_TIME_NONE);
	begin(&parts, &made, 100);
	gg_json_open(&json, NULL, '{');
	CHECK_EQ_I64(gg_page_cells_write(&parts.run, &parts.tree, 0, &json), 0);
	gg_json_close(&json);
	CHECK_MSG(count_of(&text, "\"n\":[5]") == 1, "%s", gg_buf_text(&text));
	done(&parts);
}

/* It held a block at its end, between 400 and 800 ms of 1000. */
TEST(what_a_killed_process_held_ends_between_the_bounds_of_its_end)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	const struct gg_profile_process killed = {
		.pid = 1, .end_ns = 800000000, .end_range_ns = 400000000, .interval_bytes = 1
	};
	struct gg_json json = { .out = &text };
	struct made_profile made;
	struct parts parts;

	made_begin(&made, NULL, 1, 1);
	made_process(&made, 1, 0, 800000000);
	made_sample(&made, made_stack(&made, "main>load"), 64, 10, GG_TIME_NONE);
	REQUIRE(gg_profile_update_process(made.profile, made.process, &killed, NULL) == 0);
	made_process(&made, 2, 0, 1000000000);
	begin(&parts, &made, 100);
	gg_json_open(&json, NULL, '{');
	CHECK_EQ_I64(gg_page_cells_write(&parts.run, &parts.tree, 0, &json), 0);
	gg_json_close(&json);
	CHECK_MSG(count_of(&text, "\"later\":[4]") == 1, "%s", gg_buf_text(&text));
	CHECK_MSG(count_of(&text, "\"left\"") == 0, "%s", gg_buf_text(&text));
	done(&parts);
}

TEST(too_many_cells_are_refused_before_they_are_written)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_json json = { .out = &text };
	struct made_profile made;
	struct parts parts;

	make(&made);
	begin(&parts, &made, 100);
	CHECK_EQ_I64(gg_page_cells_write(&parts.run, &parts.tree, 2, &json), -E2BIG);
	CHECK_EQ_U64(text.length, 0);
	done(&parts);
}

/* --- why RSS is what it is ------------------------------------------------------------------- */

static struct gg_why_table table_of(uint32_t process, int64_t time_ns, struct gg_why_row *row)
{
	return (struct gg_why_table){
		.process = process,
		.pid = 4700 + process,
		.why = { .process = process,
		         .time_ns = time_ns,
		         .rss_bytes = (int64_t)row->bytes,
		         .rows = { .items = row, .count = 1 } },
	};
}

TEST(a_look_that_is_the_last_and_the_largest_is_in_the_page_once)
{
	struct gg_why_row row = { "files", 4096, 4096, 4096, GG_WHY_EXACT, NULL, NULL, NAN };
	struct gg_why_table last[] = { table_of(2, 90, &row), table_of(1, 80, &row) };
	struct gg_why_table peak[] = { table_of(1, 80, &row), table_of(2, 50, &row) };
	const struct gg_page_run none = { .options = &options };
	const struct gg_page_run run = { .options = &options,
		                         .why = { .last = { .tables = last, .table_count = 2 },
		                                  .peak = { .tables = peak, .table_count = 2 } } };
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_json json = { .out = &text };

	gg_json_open(&json, NULL, '{');
	gg_page_why_write(&run, &json);
	gg_json_close(&json);
	CHECK_CONTAINS(gg_buf_text(&text),
	               "{\"why\":[{\"moments\":[\"last\",\"peak\"],\"pid\":4701,");
	CHECK_CONTAINS(gg_buf_text(&text), "{\"moments\":[\"last\"],\"pid\":4702,");
	CHECK_CONTAINS(gg_buf_text(&text), "{\"moments\":[\"peak\"],\"pid\":4702,");
	CHECK_EQ_U64(count_of(&text, "\"moments\""), 3);
	gg_buf_clear(&text);
	json = (struct gg_json){ .out = &text };
	gg_json_open(&json, NULL, '{');
	gg_page_why_write(&none, &json);
	gg_json_close(&json);
	CHECK_EQ_STR(gg_buf_text(&text),
	             "{\"why\":[],\"why_missed\":{\"process_count\":0,\"highest_bytes\":null}}");
}
