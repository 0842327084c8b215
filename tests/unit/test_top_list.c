/* SPDX-License-Identifier: Apache-2.0 */
/* test_top_list - tests how a list of processes is ordered and drawn, and what its keys do. */
#include "top/top_list_frame.h"

#include <math.h>
#include <stdlib.h>

#include "report/text_cells.h"
#include "stats/sampling/rng.h"
#include "test.h"
#include "top/top_age.h"
#include "top/top_frame.h"
#include "top/top_json.h"
#include "top/top_keys.h"

enum { ENTRY_COUNT = 5 };

struct list {
	struct gg_top_snapshot snapshot;
	struct gg_top_entry entries[ENTRY_COUNT];
	struct gg_top_row rows[ENTRY_COUNT];
	struct gg_top_state state;
	struct gg_top_grid grid;
	struct gg_buf text;
};

static void add(struct list *list, const char *label, const char *state, double live_bytes,
                double rss_bytes)
{
	size_t i = list->snapshot.row_count++;

	list->entries[i] = (struct gg_top_entry){ .pid = (uint32_t)atoi(label),
		                                  .has_region = strcmp(state, "no agent") != 0,
		                                  .has_live = strcmp(state, "no agent") != 0,
		                                  .is_alive = strcmp(state, "dead") != 0,
		                                  .state = state,
		                                  .rss_bytes = rss_bytes };
	list->rows[i] = (struct gg_top_row){
		.label = (char *)(uintptr_t)label,
		.self = gg_figure_between(live_bytes, live_bytes * 0.9, live_bytes * 1.1, GG_BYTES),
		.age_ns = 90e9,
	};
}

static void list_setup(struct list *list)
{
	list->snapshot.entries = list->entries;
	list->snapshot.rows = list->rows;
	list->snapshot.hidden_count = 3;
	add(list, "70 ended", "dead", 900 << 20, -1);
	add(list, "8 small", "alive", 2 << 20, 30 << 20);
	add(list, "9 bare", "no agent", 0, 500 << 20);
	add(list, "10 \x1b[2J\xe6\x97\xa5\xff", "inherited", 40 << 20, 60 << 20);
	add(list, "11 bare and small", "no agent", 0, 5 << 20);
	gg_top_state_init(&list->state, 80, 24);
}

static void list_teardown(struct list *list)
{
	gg_top_grid_done(&list->grid);
	gg_top_state_done(&list->state);
	gg_buf_done(&list->text);
}
FIXTURE(list)

static const char *draw(struct list *list)
{
	const struct gg_style plain = { "", "", "", "" };

	gg_top_frame_draw(&list->grid, &list->state, &list->snapshot);
	gg_buf_clear(&list->text);
	gg_top_grid_append(&list->grid, &plain, &list->text);
	return gg_buf_text(&list->text);
}

/* Checks the pids in the order of a column. */
static void check_order(struct list *list, enum gg_top_column column, const char *expected)
{
	size_t order[ENTRY_COUNT];
	GG_CLEANUP(gg_buf_done) struct gg_buf pids = { 0 };

	list->state.sort = column;
	gg_top_state_order(&list->state, &list->snapshot, order);
	for (size_t i = 0; i < ENTRY_COUNT; i++)
		gg_buf_printf(&pids, "%u ", list->entries[order[i]].pid);
	CHECK_EQ_STR(gg_buf_text(&pids), expected);
}

TEST_WITH(list, running_processes_with_an_agent_come_first)
{
	check_order(list, GG_TOP_BY_SELF, "10 8 9 11 70 ");
	check_order(list, GG_TOP_BY_RATE, "9 10 8 11 70 ");
	list->state.is_reversed = true;
	check_order(list, GG_TOP_BY_SELF, "70 11 9 8 10 ");
}

TEST_WITH(list, a_narrow_list_has_fewer_columns)
{
	list->state.is_batch = true;
	list->state.ascii = true;
	list->state.height = 3;
	CHECK_CONTAINS(draw(list), "2 processes run under the agent, 4 have ended, 2 without it\n");
	CHECK_CONTAINS(draw(list), "RSS       up      state      pid  command\n");
	CHECK_CONTAINS(draw(list), "40.0 MiB +- 10 %   60.0 MiB     90 s  inherited       10  ");
	list->state.width = 41;
	CHECK_CONTAINS(draw(list), "     live              pid  command\n");
}

TEST_WITH(list, every_size_holds_its_frame)
{
	for (size_t width = 1; width <= 300; width += width < 130 ? 1 : 17)
		for (size_t height = 1; height <= 100; height += height < 12 ? 1 : 11) {
			const char *frame;

			list->state.width = width;
			list->state.height = height;
			list->state.is_batch = width % 2 == 0;
			frame = draw(list);
			REQUIRE(!list->grid.failed && list->grid.height == height);
			for (const char *line = frame; *line != '\0';) {
				size_t length = strcspn(line, "\n");

				CHECK_MSG(gg_text_cells(line, length) <= width, "%zu x %zu: %.*s",
				          width, height, (int)length, line);
				line += length + 1;
			}
			CHECK(strpbrk(frame, "\x1b\xff") == NULL);
		}
}

TEST_WITH(list, keys_open_a_process_and_show_all)
{
	gg_top_keys_press(&list->state, &list->snapshot, 'j');
	gg_top_keys_press(&list->state, &list->snapshot, GG_TOP_KEY_ENTER);
	CHECK(list->state.wants_open && list->state.cursor == 1);
	CHECK_EQ_STR(list->state.followed, "8 small");
	gg_top_keys_press(&list->state, &list->snapshot, 'a');
	CHECK(list->state.lists_all);
	gg_top_keys_press(&list->state, &list->snapshot, GG_TOP_KEY_LEFT);
	CHECK(!list->state.wants_back);
	list->snapshot.entries = NULL; /* the rows of a process */
	list->state.wants_open = false;
	gg_top_keys_press(&list->state, &list->snapshot, GG_TOP_KEY_LEFT);
	CHECK(list->state.wants_back);
}

TEST_WITH(list, random_keys_leave_the_cursor_on_a_row)
{
	enum { STEP_COUNT = 20000 };
	struct gg_rng rng;

	gg_rng_seed(&rng, 24, 2);
	for (int i = 0; i < STEP_COUNT; i++) {
		size_t order[ENTRY_COUNT], count;
		int key = (int)gg_rng_below(&rng, 300);

		if (gg_rng_below(&rng, 3) == 0)
			key = GG_TOP_KEY_UP +
			      (int)gg_rng_below(&rng, GG_TOP_KEY_QUIT - GG_TOP_KEY_UP + 1);
		gg_top_keys_press(&list->state, &list->snapshot, key);
		count = gg_top_state_order(&list->state, &list->snapshot, order);
		REQUIRE(list->state.cursor < count || list->state.cursor == 0);
		if (i % 20 == 0)
			draw(list);
	}
}

TEST_WITH(list, json_has_a_line_for_each_list)
{
	gg_top_json(&list->snapshot, &list->state, 1, &list->text);
	CHECK_CONTAINS(gg_buf_text(&list->text), "\"processes\":[{\"pid\":10,\"command\":");
	CHECK_CONTAINS(gg_buf_text(&list->text), "\"state\":\"inherited\",\"alive\":true,"
	                                         "\"up_ns\":90000000000,\"rss_bytes\":62914560");
	CHECK_CONTAINS(gg_buf_text(&list->text), "]}\n");
}

static void check_age(double seconds, enum gg_top_age detail, const char *expected)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	gg_top_age_append(seconds * 1e9, detail, &text);
	CHECK_EQ_STR(gg_buf_text(&text), expected);
}

TEST(an_age_has_one_unit)
{
	check_age(4.21, GG_TOP_AGE_TENTHS, "4.2 s");
	check_age(4.21, GG_TOP_AGE_SECONDS, "4 s");
	check_age(9.96, GG_TOP_AGE_TENTHS, "10 s");
	check_age(99.4, GG_TOP_AGE_SECONDS, "99 s");
	check_age(99.6, GG_TOP_AGE_SECONDS, "2 min");
	check_age(99.4 * 60, GG_TOP_AGE_TENTHS, "99 min");
	check_age(100 * 60, GG_TOP_AGE_TENTHS, "2 h");
	check_age(48 * 3600, GG_TOP_AGE_SECONDS, "2 d");
	check_age(1e300, GG_TOP_AGE_SECONDS, "99999 d");
	check_age(NAN, GG_TOP_AGE_SECONDS, "");
}
