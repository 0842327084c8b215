/* SPDX-License-Identifier: Apache-2.0 */
/* test_top_views - tests an open row of `geiger top`, and the keys that lead there. */
#include <stdlib.h>

#include "query/tree.h"
#include "report/text_cells.h"
#include "top/top_cost.h"
#include "top/top_detail.h"
#include "top/top_frame.h"
#include "top/top_keys.h"
#include "top/top_prompt.h"
#include "top/top_tree.h"
#include "top_look.h"

FIXTURE(look)

static void add_server(struct look *look)
{
	add(look, "main>serve@s.c:7>cache_fill@c.c:3", 32, SECOND, GG_TIME_NONE);
	add(look, "main>serve@s.c:7>cache_fill@c.c:9>grow", 8, 5 * SECOND, GG_TIME_NONE);
	add(look, "main>warm_up>cache_fill@c.c:3", 4, 9 * SECOND + 1, GG_TIME_NONE);
	add(look, "main>load", 9, SECOND, 4 * SECOND);
	add(look, "main>load", 1, SECOND, GG_TIME_NONE);
	look->state.height = 16;
	look->state.ascii = true;
}

/* The next look, with the view that the state asks for. */
static void take_view(struct look *look)
{
	look->request.by = look->state.by;
	look->request.metric = look->state.metric;
	look->request.opened = look->state.opened;
	look->request.is_tree = look->state.is_tree;
	take(look);
	gg_top_state_update(&look->state, look->snapshot);
}

static void press(struct look *look, int key)
{
	gg_top_keys_press(&look->state, look->snapshot, key);
}

TEST_WITH(look, enter_opens_the_row_of_the_cursor)
{
	add_server(look);
	take_view(look);
	press(look, GG_TOP_KEY_ENTER);
	CHECK_EQ_STR(look->state.opened, "cache_fill (made)");
	CHECK_CONTAINS(draw(look), "The next look ...");
	take_view(look);
	CHECK_EQ_STR(
		draw(look),
		"4711 made --by test  recorded for 10 s  one sample per 4.00 KiB  54 samples\n"
		"live 45.0 MiB +- 0.1 %  RSS 80.0 MiB  highest 70.0 MiB  allocates 5.40 MiB/s\n"
		"cache_fill (made)  36.0 MiB +- 0.1 %, with callees 44.0 MiB +- 0.1 %\n"
		"\n"
		"callers\n"
		"40.0 MiB +- 0.1 %    91 %  serve (made)\n"
		" 4.0 MiB +- 0.4 %   9.1 %  warm_up (made)\n"
		"\n"
		"callees\n"
		"36.0 MiB +- 0.1 %    82 %  (self)\n"
		" 8.0 MiB +- 0.2 %    18 %  grow (made)\n"
		"\n"
		"lines\n"
		"36.0 MiB +- 0.1 %    82 %  c.c:3 cache_fill\n"
		" 8.0 MiB +- 0.2 %    18 %  c.c:9 cache_fill\n"
		"Esc back  Enter opens a function  q quit  ? keys\n");
	press(look, GG_TOP_KEY_END);
	CHECK_CONTAINS(draw(look), "ages of live blocks that the row allocated itself\n"
	                           " 4.0 MiB +- 0.4 %    11 %  younger than 1 s\n"
	                           "32.0 MiB +- 0.1 %    89 %  1 s to 10 s\n");
	press(look, GG_TOP_KEY_ESCAPE);
	CHECK(look->state.opened == NULL);
	CHECK_CONTAINS(draw(look), "1 of 3");
}

TEST_WITH(look, enter_on_a_callee_opens_it)
{
	add_server(look);
	take_view(look);
	press(look, GG_TOP_KEY_ENTER);
	take_view(look);
	for (int i = 0; i < 2; i++)
		press(look, 'j');
	press(look, GG_TOP_KEY_ENTER); /* (self) is open already */
	CHECK_EQ_STR(look->state.opened, "cache_fill (made)");
	press(look, 'j');
	press(look, GG_TOP_KEY_ENTER);
	CHECK_EQ_STR(look->state.opened, "grow (made)");
	take_view(look);
	CHECK_CONTAINS(draw(look), "grow (made)  8.00 MiB +- 0.2 %\n");
	press(look, GG_TOP_KEY_ESCAPE);
	CHECK_EQ_STR(look->state.followed, "grow (made)");
	CHECK_EQ_U64(look->state.cursor, 1);
}

TEST_WITH(look, an_open_row_may_lose_everything)
{
	add_server(look);
	add(look, "main>emptied", 9, SECOND, 4 * SECOND);
	take_view(look);
	press(look, GG_TOP_KEY_END);
	press(look, GG_TOP_KEY_ENTER);
	CHECK_EQ_STR(look->state.opened, "emptied (made)");
	take_view(look);
	CHECK_CONTAINS(draw(look), "emptied (made)  holds nothing now\n");
	press(look, 'j');
	press(look, GG_TOP_KEY_ENTER);
	CHECK_CONTAINS(draw(look), "emptied (made)  holds nothing now\n");
}

TEST_WITH(look, the_help_leads_back_to_the_open_row)
{
	add_server(look);
	take_view(look);
	press(look, GG_TOP_KEY_ENTER);
	take_view(look);
	press(look, '?');
	CHECK_CONTAINS(draw(look), "open the row");
	press(look, ' ');
	CHECK(!look->state.is_paused);
	CHECK_CONTAINS(draw(look), "callers");
	press(look, 'm');
	CHECK_EQ_U64(look->state.metric, GG_TOP_GROWTH);
}

TEST_WITH(look, the_tree_opens_and_closes_and_the_cursor_follows_its_row)
{
	add_server(look);
	take_view(look);
	press(look, 't');
	take_view(look);
	look->state.height = 12;
	CHECK_EQ_STR(
		draw(look),
		"4711 made --by test  recorded for 10 s  one sample per 4.00 KiB  54 samples\n"
		"live 45.0 MiB +- 0.1 %  RSS 80.0 MiB  highest 70.0 MiB  allocates 5.40 MiB/s\n"
		"     live                  blocks  tree\n"
		" 45.0 MiB +- 0.1 % ####        45  - main (made)\n"
		" 40.0 MiB +- 0.1 % ####        40   - serve (made)\n"
		" 40.0 MiB +- 0.1 % ####        40    - cache_fill (made)\n"
		" 32.0 MiB +- 0.1 % ###         32       (self)\n"
		"  8.0 MiB +- 0.2 % #            8       grow (made)\n"
		"  4.0 MiB +- 0.4 %              4   + warm_up (made)\n"
		"  1.0 MiB +- 2 %                1     load (made)\n"
		"\n"
		"1 of 7  t table  right/+ left/- open, close  Enter detail  q quit  ? keys\n");
	press(look, 'G');
	press(look, 'k');
	press(look, '+');
	CHECK_CONTAINS(draw(look),
	               "- warm_up (made)\n  4.0 MiB +- 0.4 %              4      cache_fill");
	press(look, GG_TOP_KEY_LEFT);
	press(look, GG_TOP_KEY_LEFT);
	CHECK_EQ_STR(look->state.followed, "main (made)");
	press(look, 'r'); /* the smallest first; the cursor stays on its row */
	take_view(look);
	CHECK_EQ_U64(look->state.cursor, 0);
	CHECK_CONTAINS(draw(look), "  load (made)\n  4.0 MiB");
	press(look, GG_TOP_KEY_LEFT);
	CHECK_CONTAINS(draw(look), "1 of 1 ");
	press(look, GG_TOP_KEY_RIGHT);
	press(look, 'j');
	press(look, 'j');
	press(look, GG_TOP_KEY_ENTER);
	CHECK_EQ_STR(look->state.opened, "warm_up (made)");
	take_view(look);
	CHECK_CONTAINS(draw(look), "callers");
	press(look, GG_TOP_KEY_ESCAPE);
	take_view(look);
	CHECK_CONTAINS(draw(look), "3 of 7");
	press(look, '2');
	CHECK(!look->state.is_tree);
}

TEST_WITH(look, a_filter_shows_rows_of_the_tree_with_their_callers)
{
	add_server(look);
	take_view(look);
	press(look, 't');
	take_view(look);
	for (const char *key = "fgrow"; *key != '\0'; key++)
		press(look, *key);
	press(look, GG_TOP_KEY_ENTER);
	CHECK_CONTAINS(draw(look), "1 of 4 with 'grow'");
	CHECK_CONTAINS(draw(look), "grow (made)\n");
	CHECK(strstr(draw(look), "warm_up") == NULL);
}

TEST_WITH(look, rows_of_the_tree_have_the_figures_of_geiger_tree)
{
	const struct gg_tree_options options = { .fold = GG_TOP_TREE_FOLD, .with_self = true };
	struct gg_query query;
	struct gg_tree *tree;
	struct gg_error error;

	add_server(look);
	look->state.is_tree = true;
	take_view(look);
	gg_query_init(&query);
	REQUIRE(gg_tree_build(&tree, look->model, &query, &options, &error) == 0);
	REQUIRE(look->snapshot->row_count == tree->count - 1);
	for (size_t i = 0; i < look->snapshot->row_count; i++) {
		struct gg_figure wanted = gg_figure_of(tree->nodes[i + 1].total, GG_BYTES, 0.95,
		                                       true);

		CHECK_EQ_DOUBLE(look->snapshot->rows[i].self.estimate, wanted.estimate);
		CHECK_EQ_DOUBLE(look->snapshot->rows[i].self.low, wanted.low);
		CHECK_EQ_DOUBLE(look->snapshot->rows[i].self.high, wanted.high);
	}
	gg_tree_free(tree);
}

static void press_all(struct look *look, const char *keys)
{
	for (; *keys != '\0'; keys++)
		press(look, *keys);
}

TEST_WITH(look, a_profile_is_written_after_its_name_and_replaced_after_a_yes)
{
	add_server(look);
	take_view(look);
	press_all(look, "wa.geiger");
	CHECK_CONTAINS(draw(look), "write a profile to the file: a.geiger_");
	CHECK_EQ_U64(look->state.wish, GG_TOP_NOTHING);
	press(look, GG_TOP_KEY_ENTER);
	CHECK_EQ_U64(look->state.wish, GG_TOP_WRITE);
	look->state.wish = GG_TOP_NOTHING;
	gg_top_prompt_ask_to_replace(&look->state);
	CHECK_CONTAINS(draw(look), "a.geiger exists. Replace it?  y yes");
	press(look, 'n');
	CHECK_EQ_U64(look->state.wish, GG_TOP_NOTHING);
	CHECK_CONTAINS(draw(look), "Nothing was changed.");
	gg_top_prompt_ask_to_replace(&look->state);
	press(look, 'y');
	CHECK_EQ_U64(look->state.wish, GG_TOP_REPLACE);
	look->process.is_process = false;
	take_view(look);
	press(look, 'w');
	CHECK_CONTAINS(draw(look), "This is a profile already.");
}

TEST_WITH(look, changes_of_sampling_ask_first)
{
	add_server(look);
	take_view(look);
	press(look, 'o');
	CHECK_CONTAINS(draw(look), "Switch sampling off in process 4711?");
	press(look, GG_TOP_KEY_ENTER); /* not a yes */
	CHECK_EQ_U64(look->state.wish, GG_TOP_NOTHING);
	press_all(look, "oy");
	CHECK(look->state.wish == GG_TOP_SWITCH && !look->state.switches_on);
	look->state.wish = GG_TOP_NOTHING;
	press_all(look, "i64k");
	CHECK_CONTAINS(draw(look), "bytes per sample, now 4 KiB: 64k_");
	press(look, GG_TOP_KEY_ENTER);
	CHECK_CONTAINS(draw(look), "One sample per 64 KiB in process 4711?");
	CHECK_EQ_U64(look->state.wish, GG_TOP_NOTHING);
	press(look, 'y');
	CHECK(look->state.wish == GG_TOP_SET_INTERVAL && look->state.interval_bytes == 65536);
	look->state.wish = GG_TOP_NOTHING;
	press_all(look, "imuch");
	press(look, GG_TOP_KEY_ENTER);
	CHECK_CONTAINS(draw(look), "Give a size such as");
	look->state.is_readonly = true;
	press(look, 'o');
	CHECK_CONTAINS(draw(look), "Not with --readonly");
	press_all(look, "iy");
	CHECK_EQ_U64(look->state.wish, GG_TOP_NOTHING);
	look->state.is_readonly = false;
	look->process.is_alive = false;
	take_view(look);
	press_all(look, "oy");
	CHECK_EQ_U64(look->state.wish, GG_TOP_NOTHING);
}

TEST_WITH(look, the_time_between_looks_is_typed)
{
	add_server(look);
	take_view(look);
	press_all(look, "d0.5");
	press(look, GG_TOP_KEY_ENTER);
	CHECK_CONTAINS(draw(look), "at least 1 s");
	press_all(look, "d10");
	press(look, GG_TOP_KEY_ENTER);
	CHECK_EQ_U64(look->state.wish, GG_TOP_SET_DELAY);
	CHECK_EQ_DOUBLE(look->state.delay_seconds, 10);
}

TEST_WITH(look, looks_use_a_fifth_of_a_processor_and_say_when_they_become_rarer)
{
	static const uint64_t ms = 1000000;

	CHECK_EQ_U64(gg_top_cost_rest_ns(9 * ms, 9 * ms), 41 * ms);
	/* Two threads ran: 360 ms of processors in a period of 2 s. */
	CHECK_EQ_U64(gg_top_cost_rest_ns(180 * ms, 360 * ms), 1820 * ms);
	/* It mostly waited for the disk. */
	CHECK_EQ_U64(gg_top_cost_rest_ns(900 * ms, 100 * ms), 0);
	add_server(look);
	look->process.look_every_ns = 6.5e9;
	take_view(look);
	CHECK_CONTAINS(draw(look), "Looks take long, so one comes every 6.5 s");
	look->process.look_every_ns = 0;
	take_view(look);
	CHECK(strstr(draw(look), "Looks take long") == NULL);
}

/* --- processes, pinned memory, and the output of a command ----------------------------------- */

TEST_WITH(look, the_processes_of_a_profile_are_rows_and_others_are_a_list)
{
	add_server(look);
	take_view(look);
	press(look, '0');
	CHECK(look->state.wants_list);
	look->state.wants_list = false;
	look->process.is_process = false;
	take_view(look);
	press(look, '0');
	CHECK(!look->state.wants_list);
	CHECK_EQ_U64(look->state.by, GG_BY_PROCESS);
	take_view(look);
	CHECK_EQ_U64(look->snapshot->row_count, 1);
	CHECK_CONTAINS(draw(look), "4711");
}

TEST_WITH(look, without_a_look_at_memory_pinned_says_so)
{
	add_server(look);
	take_view(look);
	press(look, GG_TOP_KEY_ENTER);
	take_view(look);
	CHECK(look->snapshot->detail != NULL);
	press(look, 'M'); /* the last metric, whose rows have no parts */
	CHECK_EQ_U64(look->state.metric, GG_TOP_PINNED);
	CHECK_EQ_U64(look->state.mode, GG_TOP_MODE_TABLE);
	take_view(look);
	CHECK_EQ_U64(look->snapshot->row_count, 0);
	CHECK_CONTAINS(draw(look), "Pinned memory is not known");
	press(look, GG_TOP_KEY_ENTER);
	CHECK_CONTAINS(draw(look), "no parts to show");
}

TEST_WITH(look, the_output_of_a_command_is_followed_at_its_end)
{
	add_server(look);
	take_view(look);
	press(look, 'v');
	CHECK_EQ_U64(look->state.mode, GG_TOP_MODE_TABLE); /* nothing was recorded here */
	look->state.output = "";
	CHECK_CONTAINS(draw(look), "output (v shows more): none yet\n");
	look->state.output = "one\n\ntwo\x1b[2J\n3\n4\n5\n6\n7\n8\n";
	CHECK_CONTAINS(draw(look), "output (v shows more): 8\n");
	look->state.height = 8;
	press(look, 'v');
	CHECK_CONTAINS(draw(look), "6\n7\n8\n");
	look->state.output = "one\n\ntwo\x1b[2J\n3\n4\n5\n6\n7\n8\n9\n";
	CHECK_CONTAINS(draw(look), "7\n8\n9\n");
	press(look, 'g');
	CHECK_CONTAINS(draw(look), "one\n\ntwo");
	CHECK(strchr(draw(look), '\x1b') == NULL);
	look->state.output = "one\n\ntwo\x1b[2J\n3\n4\n5\n6\n7\n8\n9\n10\n";
	CHECK_CONTAINS(draw(look), "one\n\ntwo");
	press(look, 'G');
	CHECK_CONTAINS(draw(look), "8\n9\n10\n");
	press(look, 'x');
	CHECK_EQ_U64(look->state.mode, GG_TOP_MODE_TABLE);
}

TEST_WITH(look, a_screen_without_a_look_has_its_prompt_and_its_pages)
{
	gg_top_prompt_ask_to_attach(&look->state, 4711);
	gg_top_frame_draw_waiting(&look->grid, &look->state, "4711: it runs without the agent");
	CHECK_EQ_STR(gg_top_grid_cell(&look->grid, 0, 0)->text, "4");
	CHECK_EQ_STR(gg_top_grid_cell(&look->grid, 23, 0)->text, "P"); /* "Process 4711 has ..." */
	gg_top_keys_press(&look->state, NULL, 'y');
	CHECK_EQ_U64(look->state.wish, GG_TOP_ATTACH);
	look->state.output = "printed\n";
	gg_top_keys_press(&look->state, NULL, 'v');
	gg_top_frame_draw_waiting(&look->grid, &look->state, "");
	CHECK_EQ_STR(gg_top_grid_cell(&look->grid, 2, 0)->text, "p");
	for (size_t width = 1; width < 100; width += 7)
		for (size_t height = 1; height < 30; height += 3) {
			look->state.width = width;
			look->state.height = height;
			gg_top_frame_draw_waiting(&look->grid, &look->state, "A text of words");
			CHECK(!look->grid.failed);
		}
}

/* --- random keys -------------------------------------------------------------------------- */

static int random_key(struct gg_rng *rng)
{
	static const char often[] = "jkgGr<>/fnN?mz0123456789 tt++-woidyv";
	uint64_t kind = gg_rng_below(rng, 4);

	if (kind == 0)
		return GG_TOP_KEY_UP + (int)gg_rng_below(rng, GG_TOP_KEY_NONE - GG_TOP_KEY_UP);
	if (kind == 1)
		return (int)gg_rng_below(rng, 300);
	return often[gg_rng_below(rng, sizeof(often) - 1)];
}

static void check_frame(struct look *look)
{
	const char *frame = draw(look);

	REQUIRE(!look->grid.failed && look->grid.width == look->state.width &&
	        look->grid.height == look->state.height);
	for (const char *line = frame; *line != '\0';) {
		size_t length = strcspn(line, "\n");

		CHECK(gg_text_cells(line, length) <= look->state.width);
		line += length + 1;
	}
	for (const char *c = frame; *c != '\0'; c++)
		CHECK_MSG((unsigned char)*c >= 0x20 || *c == '\n', "byte %02x", (unsigned char)*c);
}

TEST_WITH(look, random_keys_and_looks_fit_every_size)
{
	enum { STEP_COUNT = 100000, DRAW_EVERY = 20, LOOK_EVERY = 50 };
	struct gg_rng rng;

	gg_rng_seed(&rng, 24, 3);
	add_server(look);
	add(look, "main>\x1b[2J\xe6\x97\xa5@\x1b[31m.c:3>\xe2\x80\xae \xff\x07", 2, SECOND,
	    GG_TIME_NONE);
	take_view(look);
	for (int i = 0; i < STEP_COUNT; i++) {
		press(look, random_key(&rng));
		CHECK((look->state.mode == GG_TOP_MODE_DETAIL) <= (look->state.opened != NULL));
		look->state.wish = GG_TOP_NOTHING;
		if (gg_rng_below(&rng, LOOK_EVERY) == 0)
			take_view(look);
		if (i % DRAW_EVERY != 0)
			continue;
		look->state.width = 1 + gg_rng_below(&rng, 300);
		look->state.height = 1 + gg_rng_below(&rng, 100);
		look->state.ascii = gg_rng_below(&rng, 2) == 0;
		check_frame(look);
	}
}
