/* SPDX-License-Identifier: Apache-2.0 */
/* test_top - tests snapshots, their order, and the frames that are drawn of them. */
#include "top/top_frame.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "made_profile.h"
#include "query/change_since.h"
#include "report/screen_text.h"
#include "report/text_cells.h"
#include "test.h"
#include "top/top_json.h"
#include "top/top_keys.h"
#include "top/top_snapshot.h"
#include "top_look.h"

FIXTURE(look)

/* A server: one row that stays, one that grew, one that shrank. */
static void add_server(struct look *look)
{
	add(look, "main>serve>cache_fill", 32, SECOND, GG_TIME_NONE);
	add(look, "main>serve>session_new", 12, 5 * SECOND, GG_TIME_NONE);
	add(look, "main>load", 9, SECOND, 4 * SECOND);
	add(look, "main>load", 1, SECOND, GG_TIME_NONE);
}

static const struct gg_top_row *row_called(const struct look *look, const char *label)
{
	for (size_t i = 0; i < look->snapshot->row_count; i++)
		if (strcmp(look->snapshot->rows[i].label, label) == 0)
			return &look->snapshot->rows[i];
	return NULL;
}

TEST_WITH(look, figures_of_a_snapshot_are_those_of_a_query)
{
	struct gg_query_result *result;
	struct gg_query query;
	struct gg_error error;
	size_t shown = 0;

	add_server(look);
	made_allocate(&look->made, made_stack(&look->made, "main>serve>parse"), 100, 100000, SECOND,
	              GG_TIME_NONE);
	take(look);
	gg_query_init(&query);
	REQUIRE(gg_query_rows(look->model, &query, &result, &error) == 0);
	for (size_t i = 0; i < result->row_count; i++) {
		const struct gg_tally *self = result->rows[i].self;
		struct gg_figure figure = gg_figure_of(self, GG_BYTES, 0.95, true);

		if (self->sample_count == 0)
			continue;
		REQUIRE(shown < look->snapshot->row_count);
		CHECK_EQ_DOUBLE(look->snapshot->rows[shown].self.estimate, figure.estimate);
		CHECK_EQ_DOUBLE(look->snapshot->rows[shown].self.low, figure.low);
		CHECK_EQ_DOUBLE(look->snapshot->rows[shown].self.high, figure.high);
		shown++;
	}
	CHECK_EQ_U64(shown, 4);
	CHECK_EQ_U64(look->snapshot->row_count, 4);
	gg_query_result_free(result);
}

TEST_WITH(look, only_significant_changes_have_a_sign)
{
	const struct gg_top_row *row;
	const char *frame;

	add_server(look);
	take(look);
	row = row_called(look, "session_new (made)");
	REQUIRE(row != NULL);
	CHECK(row->is_significant && fabs(row->change.estimate / (12 << 20) - 1) < 1e-9);
	row = row_called(look, "load (made)");
	REQUIRE(row != NULL);
	CHECK(row->is_significant && fabs(row->change.estimate / (9 << 20) + 1) < 1e-9);
	row = row_called(look, "cache_fill (made)");
	REQUIRE(row != NULL);
	CHECK(row->has_change && !row->is_significant && row->change.estimate == 0);
	frame = draw(look);
	CHECK_CONTAINS(frame, "+12.0 MiB");
	CHECK_CONTAINS(frame, "-9.00 MiB");
	look->request.mark_ns = GG_TIME_NONE; /* without a mark nothing has changed */
	take(look);
	CHECK(strstr(draw(look), "change") == NULL);
}

TEST_WITH(look, a_row_that_lost_all_of_its_memory_stays_visible)
{
	const struct gg_top_row *row;

	add_server(look);
	add(look, "main>emptied", 9, SECOND, 4 * SECOND);
	take(look);
	row = row_called(look, "emptied (made)");
	REQUIRE(row != NULL);
	CHECK_EQ_U64(look->snapshot->row_count, 4);
	CHECK(row->self.estimate == 0 && row->self.high > 0 && row->blocks.estimate == 0);
	CHECK(row->is_significant && fabs(row->change.estimate / (9 << 20) + 1) < 1e-9);
	CHECK(row->allocated_per_second > 0);
	CHECK_CONTAINS(draw(look), "-9.00 MiB");
	look->request.mark_ns = GG_TIME_NONE;
	take(look);
	CHECK(row_called(look, "emptied (made)") == NULL);
}

TEST_WITH(look, the_levels_of_all_looks_add_up_to_the_share_of_false_runs)
{
	double sum = 0;

	for (uint64_t k = 1; k <= 1000000; k++)
		sum += 2 *
		       gg_changes_since_level(GG_TOP_FALSE_SHARE, k); /* the rows, and the total */
	CHECK(sum < GG_TOP_FALSE_SHARE && sum > 0.999 * GG_TOP_FALSE_SHARE);
	(void)look;
}

TEST_WITH(look, rows_are_sorted_by_the_chosen_column)
{
	static const char *const first[GG_TOP_COLUMN_COUNT] = {
		[GG_TOP_BY_SELF] = "cache_fill (made)", [GG_TOP_BY_CHANGE] = "session_new (made)",
		[GG_TOP_BY_RATE] = "cache_fill (made)", [GG_TOP_BY_BLOCKS] = "cache_fill (made)",
		[GG_TOP_BY_AGE] = "cache_fill (made)",  [GG_TOP_BY_NAME] = "cache_fill (made)",
	};
	static const char *const last[GG_TOP_COLUMN_COUNT] = {
		[GG_TOP_BY_SELF] = "load (made)",       [GG_TOP_BY_CHANGE] = "load (made)",
		[GG_TOP_BY_RATE] = "load (made)",       [GG_TOP_BY_BLOCKS] = "load (made)",
		[GG_TOP_BY_AGE] = "session_new (made)", [GG_TOP_BY_NAME] = "session_new (made)",
	};
	size_t order[8], count;

	add_server(look);
	take(look);
	for (int column = 0; column < GG_TOP_COLUMN_COUNT; column++) {
		look->state.sort = (enum gg_top_column)column;
		look->state.is_reversed = false;
		count = gg_top_state_order(&look->state, look->snapshot, order);
		REQUIRE(count == 3);
		CHECK_EQ_STR(look->snapshot->rows[order[0]].label, first[column]);
		CHECK_EQ_STR(look->snapshot->rows[order[2]].label, last[column]);
		look->state.is_reversed = true;
		gg_top_state_order(&look->state, look->snapshot, order);
		CHECK_EQ_STR(look->snapshot->rows[order[0]].label, last[column]);
	}
	strcpy(look->state.filter, "SESS");
	CHECK_EQ_U64(gg_top_state_order(&look->state, look->snapshot, order), 1);
	CHECK_EQ_STR(look->snapshot->rows[order[0]].label, "session_new (made)");
}

TEST_WITH(look, a_frame_has_head_and_table)
{
	add_server(look);
	look->state.height = 6;
	look->state.is_batch = true;
	look->state.ascii = true;
	take(look);
	CHECK_EQ_STR(
		draw(look),
		"4711 made --by test  recorded for 10 s  one sample per 4.00 KiB  54 samples\n"
		"live 45.0 MiB +- 0.1 %  RSS 80.0 MiB  highest 70.0 MiB  allocates 5.40 MiB/s\n"
		"     live               change    allocates      age  function\n"
		" 32.0 MiB +- 0.1 %           .   3.20 MiB/s    9.0 s  cache_fill (made)\n"
		" 12.0 MiB +- 0.2 %   +12.0 MiB   1.20 MiB/s    5.0 s  session_new (made)\n"
		"  1.0 MiB +- 2 %     -9.00 MiB   1.00 MiB/s    9.0 s  load (made)\n");
}

TEST_WITH(look, a_screen_has_bars_of_the_share_and_marks_the_column_that_sorts)
{
	add_server(look);
	look->state.height = 8;
	take(look);
	CHECK_CONTAINS(
		draw(look),
		"     live                   change    allocates      age  function\n"
		" 32.0 MiB \xc2\xb1 0.1 % \xe2\x96\x88\xe2\x96\x88\xe2\x96\x89            "
		"\xc2\xb7   3.20 MiB/s    9.0 s  cache_fill (made)\n"
		" 12.0 MiB \xc2\xb1 0.2 % \xe2\x96\x88\xe2\x96\x8f     +12.0 MiB   1.20 MiB/s    "
		"5.0 s  session_new (made)\n"
		"  1.0 MiB \xc2\xb1 2 %   \xe2\x96\x8f      -9.00 MiB   1.00 MiB/s    9.0 s  load "
		"(made)\n");
	CHECK_EQ_U64(gg_top_grid_cell(&look->grid, 2, 5)->style, GG_TOP_SORTED);
	CHECK_EQ_U64(gg_top_grid_cell(&look->grid, 2, 33)->style, GG_TOP_HEADING);
	look->state.sort = GG_TOP_BY_CHANGE;
	draw(look);
	CHECK_EQ_U64(gg_top_grid_cell(&look->grid, 2, 5)->style, GG_TOP_HEADING);
	CHECK_EQ_U64(gg_top_grid_cell(&look->grid, 2, 33)->style, GG_TOP_SORTED);
}

TEST_WITH(look, a_name_that_does_not_fit_loses_its_module_first)
{
	add(look, "main>operator_of_22_cells_", 1, SECOND, GG_TIME_NONE);
	take(look);
	CHECK_CONTAINS(draw(look), "  operator_of_22_cells_\n");
	look->state.width = 100;
	CHECK_CONTAINS(draw(look), "  operator_of_22_cells_ (made)\n");
}

TEST_WITH(look, an_ended_process_and_a_note_are_lines_of_their_own)
{
	struct gg_error error;

	add_server(look);
	REQUIRE(gg_model_load(&look->model, &look->made.profile, 1, NULL, &error) == 0);
	look->process.is_alive = false;
	take(look);
	CHECK_CONTAINS(draw(look), "\nThe process has ended; this is its last state.\n");
	strcpy(look->process.end, "was killed by SIGSEGV");
	take(look);
	CHECK_CONTAINS(draw(look),
	               "\nThe process was killed by SIGSEGV; this is its last state.\n");
	CHECK_EQ_U64(gg_top_frame_height(&look->state, look->snapshot, SIZE_MAX), 7);
	CHECK_EQ_U64(gg_top_frame_height(&look->state, look->snapshot, 2), 6);
}

TEST_WITH(look, hostile_names_are_cut_and_cleaned_at_every_size)
{
	static const char *const names[] = {
		"main>\x1b[2J\x1b]0;owned\x07",
		"main>\xe2\x80\xae reversed",
		"main>\xff\xfe\x9b 31m",
		"main>\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e",
		"main>e\xcc\x81\xcc\x81\xcc\x81\xcc\x81",
		"main>very_long_name_of_a_function_that_fills_a_line_and_more_than_that",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		add(look, names[i], 1 + (int)i, SECOND, GG_TIME_NONE);
	take(look);
	for (size_t width = 1; width <= 300; width += width < 130 ? 1 : 17)
		for (size_t height = 1; height <= 100; height += height < 12 ? 1 : 11) {
			size_t lines = 0;
			const char *frame;

			look->state.width = width;
			look->state.height = height;
			look->state.is_batch = width % 2 == 0;
			frame = draw(look);
			CHECK(!look->grid.failed);
			for (const char *line = frame; *line != '\0'; lines++) {
				size_t length = strcspn(line, "\n");

				CHECK_MSG(gg_text_cells(line, length) <= width, "%zu x %zu: %.*s",
				          width, height, (int)length, line);
				line += length + 1;
			}
			CHECK_EQ_U64(lines, height);
			for (const char *c = frame; *c != '\0'; c++)
				CHECK_MSG((unsigned char)*c >= 0x20 || *c == '\n',
				          "%zu x %zu: byte %02x", width, height, (unsigned char)*c);
			CHECK(strstr(frame, "\xe2\x80\xae") == NULL);
		}
}

TEST_WITH(look, json_has_every_number_of_a_row)
{
	add_server(look);
	take(look);
	gg_top_json(look->snapshot, &look->state, 1, &look->text);
	CHECK_CONTAINS(gg_buf_text(&look->text),
	               "\"name\":\"cache_fill (made)\",\"self\":{\"estimate\":33554432,");
	CHECK_CONTAINS(gg_buf_text(&look->text), "\"median_age_ns\":9000000000}]}\n");
	CHECK_CONTAINS(gg_buf_text(&look->text), "\"significant\":false}");
}

/* --- keys ----------------------------------------------------------------------------------- */

static void press(struct look *look, const char *keys)
{
	for (; *keys != '\0'; keys++)
		gg_top_keys_press(&look->state, look->snapshot, *keys);
}

TEST_WITH(look, the_cursor_follows_its_row_when_the_order_changes)
{
	size_t order[8];

	add_server(look);
	take(look);
	press(look, "j");
	CHECK_EQ_STR(look->state.followed, "session_new (made)");
	CHECK_EQ_U64(look->state.cursor, 1);
	look->state.sort = GG_TOP_BY_CHANGE;
	gg_top_state_update(&look->state, look->snapshot);
	CHECK_EQ_U64(look->state.cursor, 0);
	gg_top_state_order(&look->state, look->snapshot, order);
	CHECK_EQ_STR(look->snapshot->rows[order[0]].label, "session_new (made)");
}

TEST_WITH(look, a_search_moves_to_the_next_row_and_a_filter_hides_rows)
{
	add_server(look);
	take(look);
	press(look, "/load");
	CHECK_CONTAINS(draw(look), "search: load_");
	gg_top_keys_press(&look->state, look->snapshot, GG_TOP_KEY_ENTER);
	CHECK_EQ_STR(look->state.followed, "load (made)");
	press(look, "fsessX");
	gg_top_keys_press(&look->state, look->snapshot, GG_TOP_KEY_BACKSPACE);
	gg_top_keys_press(&look->state, look->snapshot, GG_TOP_KEY_ENTER);
	CHECK_CONTAINS(draw(look), "1 of 1 with 'sess'");
	CHECK(strstr(draw(look), "cache_fill") == NULL);
	gg_top_keys_press(&look->state, look->snapshot, GG_TOP_KEY_ESCAPE);
	CHECK_CONTAINS(draw(look), "cache_fill");
}

TEST_WITH(look, keys_choose_rows_metrics_and_marks)
{
	add_server(look);
	take(look);
	press(look, "2");
	CHECK_EQ_U64(look->state.by, GG_BY_LINE);
	press(look, "m");
	CHECK_EQ_U64(look->state.metric, GG_TOP_GROWTH);
	CHECK_EQ_U64(look->state.sort, GG_TOP_BY_CHANGE);
	press(look, "z ");
	CHECK(look->state.wants_mark && look->state.is_paused && !look->state.wants_quit);
	CHECK_CONTAINS(draw(look), "PAUSED");
	press(look, "?");
	CHECK_CONTAINS(draw(look), "q, F10");
	press(look, "q"); /* closes the help alone */
	CHECK(!look->state.wants_quit);
	press(look, "q");
	CHECK(look->state.wants_quit);
}

/* Scrolls through the help; adds every screen to the text. */
static void read_help(struct look *look, size_t width, size_t height, struct gg_buf *text)
{
	look->state.width = width;
	look->state.height = height;
	press(look, "?");
	gg_buf_append_text(text, draw(look));
	for (size_t last = SIZE_MAX;
	     look->state.mode == GG_TOP_MODE_HELP && last != look->state.first_text_line;) {
		last = look->state.first_text_line;
		press(look, "j");
		gg_buf_append_text(text, draw(look));
	}
	gg_top_keys_press(&look->state, look->snapshot, GG_TOP_KEY_ESCAPE);
	CHECK_EQ_U64(look->state.mode, GG_TOP_MODE_TABLE);
}

TEST_WITH(look, the_help_scrolls_and_no_line_of_it_is_cut)
{
	static const struct {
		size_t width, height;
	} sizes[] = { { 80, 24 }, { 80, 8 }, { 60, 10 }, { 59, 24 }, { 40, 8 }, { 120, 60 } };
	/* The ends of the longest lines, and the last line. */
	static const char *const ends[] = { "heaps,",      "types\n",     "paused\n",
		                            "ask first\n", "closes it\n", "Ctrl-L, Ctrl-Z",
		                            "suspend\n" };

	add_server(look);
	take(look);
	for (size_t i = 0; i < GG_COUNT(sizes); i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

		read_help(look, sizes[i].width, sizes[i].height, &text);
		for (size_t j = 0; j < GG_COUNT(ends); j++)
			if (sizes[i].width >= 60)
				CHECK_CONTAINS(gg_buf_text(&text), ends[j]);
			else /* words of a narrow screen may be on two lines */
				CHECK(strstr(gg_buf_text(&text), "types\n") != NULL &&
				      strstr(gg_buf_text(&text), "suspend\n") != NULL);
	}
}

TEST_WITH(look, the_end_of_the_help_does_not_scroll_away)
{
	add_server(look);
	take(look);
	look->state.height = 10;
	press(look, "?jGjjj");
	CHECK_CONTAINS(draw(look), "Ctrl-L, Ctrl-Z");
	press(look, "g");
	CHECK_CONTAINS(draw(look), "q, F10");
	press(look, "Gk");
	CHECK(strstr(draw(look), "Ctrl-L, Ctrl-Z") == NULL);
	look->state.height = 60; /* the whole help fits now */
	CHECK_CONTAINS(draw(look), "q, F10");
	press(look, "j");
	CHECK_EQ_U64(look->state.mode, GG_TOP_MODE_TABLE);
}

TEST_WITH(look, a_paused_screen_says_which_state_is_written)
{
	add_server(look);
	take(look);
	press(look, "w");
	CHECK_CONTAINS(draw(look), "write a profile to the file: _");
	gg_top_keys_press(&look->state, look->snapshot, GG_TOP_KEY_ESCAPE);
	press(look, " w");
	CHECK_CONTAINS(draw(look), "as of now, not of the paused display, to the file: _");
}

TEST_WITH(look, random_keys_and_sizes_leave_the_cursor_on_a_row)
{
	enum { STEP_COUNT = 100000, DRAW_EVERY = 20 };
	struct gg_rng rng;

	gg_rng_seed(&rng, 24, 1);
	add_server(look);
	add(look, "main>\x1b[2J\xe6\x97\xa5", 2, SECOND, GG_TIME_NONE);
	take(look);
	look->process.columns = (struct gg_chart_column[]){ { 1, 2, 3 }, { 2, 3, 4 } };
	look->process.column_count = 2;
	take(look);
	for (int i = 0; i < STEP_COUNT; i++) {
		size_t order[8], count;
		int key = gg_rng_below(&rng, 3) == 0
		                  ? GG_TOP_KEY_UP +
		                            (int)gg_rng_below(&rng,
		                                              GG_TOP_KEY_NONE - GG_TOP_KEY_UP + 1)
		                  : (int)gg_rng_below(&rng, 300);

		gg_top_keys_press(&look->state, look->snapshot, key);
		count = gg_top_state_order(&look->state, look->snapshot, order);
		CHECK_MSG(look->state.cursor < count || look->state.cursor == 0,
		          "step %d: key %d: place %zu of %zu", i, key, look->state.cursor, count);
		if (i % DRAW_EVERY != 0)
			continue;
		look->state.width = 1 + gg_rng_below(&rng, 300);
		look->state.height = 1 + gg_rng_below(&rng, 100);
		draw(look);
		REQUIRE(!look->grid.failed && look->grid.width == look->state.width &&
		        look->grid.height == look->state.height);
	}
}

TEST_WITH(look, a_key_shows_all_notes_and_scrolls_them)
{
	const char *notes[] = { "the first note",
		                "the second note, which is longer than forty characters",
		                "the third \x1b[2J note" };
	char **own;
	size_t own_count;

	add_server(look);
	take(look);
	own = look->snapshot->notes;
	own_count = look->snapshot->note_count;
	look->snapshot->notes = (char **)(uintptr_t)notes;
	look->snapshot->note_count = 3;
	CHECK_CONTAINS(draw(look), "note: (1 of 3, ! shows all) the first note\n");
	press(look, "!");
	CHECK_CONTAINS(draw(look), "1. the first note\n2. the second note");
	CHECK(strchr(draw(look), '\x1b') == NULL);
	look->state.width = 40;
	look->state.height = 8;
	CHECK_CONTAINS(draw(look), "\nany key goes back");
	notes[0] = "one of a long list of notes that takes several of the narrow lines, "
		   "so that the last one cannot be seen";
	CHECK(strstr(draw(look), "3. the third") == NULL);
	press(look, "jjjjjjjj");
	CHECK_CONTAINS(draw(look), "3. the third");
	press(look, "x");
	CHECK_EQ_U64(look->state.mode, GG_TOP_MODE_TABLE);
	look->snapshot->notes = own;
	look->snapshot->note_count = own_count;
}
