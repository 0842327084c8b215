/* SPDX-License-Identifier: Apache-2.0 */
/* test_top_mouse - tests what the wheel and clicks do to the state of `geiger top`. */
#include "top/top_mouse.h"

#include <stdlib.h>

#include "test.h"
#include "top/top_keys.h"
#include "top_look.h"

FIXTURE(look)

/* Rows r00, r01, ... of fewer blocks each, below a chart. */
static void take_rows(struct look *look, int count)
{
	static const struct gg_chart_column column = { 1 << 20, 1 << 20, 1 << 20 };
	char stack[16];

	look->process.columns = &column;
	look->process.column_count = 1;
	for (int i = 0; i < count; i++) {
		snprintf(stack, sizeof(stack), "main>r%02d", i);
		add(look, stack, count - i, SECOND, GG_TIME_NONE);
	}
	take(look);
}

static void press_mouse(struct look *look, enum gg_top_mouse_kind kind, size_t row, size_t column)
{
	const struct gg_top_mouse mouse = { .kind = kind, .row = row, .column = column };

	draw(look);
	gg_top_mouse_press(&look->state, look->snapshot, &look->grid, &mouse);
}

static void click(struct look *look, size_t row, size_t column)
{
	press_mouse(look, GG_TOP_MOUSE_CLICK, row, column);
}

TEST_WITH(look, the_wheel_moves_the_cursor)
{
	take_rows(look, 40);
	press_mouse(look, GG_TOP_MOUSE_WHEEL_DOWN, 0, 0);
	CHECK_EQ_U64(look->state.cursor, 3);
	for (int i = 0; i < 20; i++)
		press_mouse(look, GG_TOP_MOUSE_WHEEL_DOWN, 5, 5);
	CHECK_EQ_U64(look->state.cursor, 39);
	press_mouse(look, GG_TOP_MOUSE_WHEEL_UP, 0, 0);
	CHECK_EQ_U64(look->state.cursor, 36);
}

TEST_WITH(look, the_wheel_scrolls_the_help_and_does_not_close_one_that_fits)
{
	take_rows(look, 4);
	gg_top_keys_press(&look->state, look->snapshot, '?');
	look->state.height = 12;
	press_mouse(look, GG_TOP_MOUSE_WHEEL_DOWN, 0, 0);
	CHECK_EQ_U64(look->state.mode, GG_TOP_MODE_HELP);
	CHECK_EQ_U64(look->state.first_text_line, 3);
	look->state.height = 60;
	press_mouse(look, GG_TOP_MOUSE_WHEEL_UP, 0, 0);
	CHECK_EQ_U64(look->state.mode, GG_TOP_MODE_HELP);
}

TEST_WITH(look, a_click_on_a_heading_sorts_and_a_second_one_reverses)
{
	/* "     live                   change    allocates      age  function", line 5 of 24. */
	static const struct {
		size_t column;
		enum gg_top_column sort;
	} headings[] = { { 5, GG_TOP_BY_SELF },
		         { 30, GG_TOP_BY_CHANGE },
		         { 40, GG_TOP_BY_RATE },
		         { 54, GG_TOP_BY_AGE },
		         { 65, GG_TOP_BY_NAME } };

	take_rows(look, 4);
	look->state.sort = GG_TOP_BY_BLOCKS;
	for (size_t i = 0; i < GG_COUNT(headings); i++) {
		click(look, 5, headings[i].column);
		CHECK_EQ_U64(look->state.sort, headings[i].sort);
		CHECK(!look->state.is_reversed);
		click(look, 5, headings[i].column);
		CHECK_EQ_U64(look->state.sort, headings[i].sort);
		CHECK(look->state.is_reversed);
	}
	click(look, 5, 12); /* between two headings */
	CHECK_EQ_U64(look->state.sort, GG_TOP_BY_NAME);
	CHECK_EQ_U64(look->state.cursor, 0);
}

TEST_WITH(look, a_click_on_a_row_moves_the_cursor_there)
{
	take_rows(look, 40);
	click(look, 8, 70);
	CHECK_EQ_U64(look->state.cursor, 2);
	CHECK_EQ_STR(look->state.followed, "r02 (made)");
	gg_top_keys_press(&look->state, look->snapshot, GG_TOP_KEY_END);
	click(look, 6, 0); /* the first of the rows that are visible now */
	CHECK_EQ_U64(look->state.cursor, 23);
	click(look, 0, 0);
	click(look, 23, 0);
	click(look, 200, 700);
	CHECK_EQ_U64(look->state.cursor, 23);
}

TEST_WITH(look, random_clicks_leave_the_cursor_on_a_row)
{
	static const char keys[] = "?!1230tvwm<G/x\x0d";
	struct gg_rng rng;

	gg_rng_seed(&rng, 24, 5);
	take_rows(look, 12);
	for (int i = 0; i < 20000; i++) {
		struct gg_top_mouse mouse = { .kind = (enum gg_top_mouse_kind)gg_rng_below(&rng, 3),
			                      .row = gg_rng_below(&rng, 40),
			                      .column = gg_rng_below(&rng, 120) };

		if (gg_rng_below(&rng, 3) == 0)
			gg_top_keys_press(&look->state, look->snapshot,
			                  keys[gg_rng_below(&rng, sizeof(keys) - 1)]);
		if (i % 8 == 0) {
			look->state.width = 1 + gg_rng_below(&rng, 120);
			look->state.height = 1 + gg_rng_below(&rng, 40);
		}
		draw(look);
		gg_top_mouse_press(&look->state,
		                   gg_rng_below(&rng, 50) == 0 ? NULL : look->snapshot, &look->grid,
		                   &mouse);
		REQUIRE(look->state.cursor < 12);
	}
}
