/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_look - a made profile, a look at it, and the frame of that look, for tests of `geiger top`.
 *
 *   FIXTURE(look)
 *
 *   add(look, "main>load", 3, SECOND, GG_TIME_NONE);
 *   take(look);
 *   CHECK_CONTAINS(draw(look), "load");
 */
#pragma once

#include "made_profile.h"
#include "test.h"
#include "top/top_frame.h"
#include "top/top_snapshot.h"
#include "top/top_state.h"

#define SECOND INT64_C(1000000000)

struct look {
	struct made_profile made;
	struct gg_model *model;
	struct gg_top_request request;
	struct gg_top_process process;
	struct gg_top_snapshot *snapshot;
	struct gg_top_state state;
	struct gg_top_grid grid;
	struct gg_buf text;
};

static inline void look_setup(struct look *look)
{
	made_begin(&look->made, NULL, 4096, 7);
	look->made.process = made_process(&look->made, 4711, 0, GG_TIME_NONE);
	look->request = (struct gg_top_request){ .by = GG_BY_FUNCTION,
		                                 .confidence = 0.95,
		                                 .mark_ns = 2 * SECOND,
		                                 .look_count = 3,
		                                 .test_count = 3,
		                                 .rate_from_ns = GG_TIME_NONE };
	look->process = (struct gg_top_process){ .pid = 4711,
		                                 .is_process = true,
		                                 .is_alive = true,
		                                 .is_active = true,
		                                 .interval_bytes = 4096,
		                                 .rss_bytes = 80 << 20,
		                                 .now_ns = 10 * SECOND,
		                                 .peak_bytes = 70 << 20 };
	gg_top_state_init(&look->state, 80, 24);
}

static inline void look_teardown(struct look *look)
{
	gg_top_grid_done(&look->grid);
	gg_top_state_done(&look->state);
	gg_buf_done(&look->text);
	gg_top_snapshot_free(look->snapshot);
	gg_model_free(look->model);
	gg_profile_close(look->made.profile);
}

/* Adds blocks of a MiB, which are samples for certain. */
static inline void add(struct look *look, const char *stack, int count, int64_t alloc_ns,
                       int64_t free_ns)
{
	uint32_t id = made_stack(&look->made, stack);

	for (int i = 0; i < count; i++)
		made_sample(&look->made, id, 1 << 20, alloc_ns, free_ns);
}

static inline void take(struct look *look)
{
	struct gg_error error;

	if (look->model == NULL)
		REQUIRE(gg_model_load(&look->model, &look->made.profile, 1, NULL, &error) == 0);
	gg_top_snapshot_free(look->snapshot);
	look->snapshot = NULL;
	REQUIRE(gg_top_snapshot_make(&look->snapshot, look->model, &look->request, &look->process,
	                             &error) == 0);
}

static inline const char *draw(struct look *look)
{
	const struct gg_style plain = { "", "", "", "" };

	gg_top_frame_draw(&look->grid, &look->state, look->snapshot);
	gg_buf_clear(&look->text);
	gg_top_grid_append(&look->grid, &plain, &look->text);
	return gg_buf_text(&look->text);
}
