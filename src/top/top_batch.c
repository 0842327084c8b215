/* SPDX-License-Identifier: Apache-2.0 */
/* top_batch - looks, prints, and waits. */
#include "top/top_batch.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "base/time_units.h"
#include "top/top_frame.h"
#include "top/top_json.h"
#include "top/top_text.h"

static void append_text(const struct gg_top_batch *batch, const struct gg_top_snapshot *snapshot,
                        struct gg_buf *out)
{
	struct gg_top_state state = batch->state;
	struct gg_top_grid grid = { 0 };

	if (snapshot->has_why) {
		state.mode = GG_TOP_MODE_WHY;
		state.height = gg_top_text_height(&state, snapshot);
	} else {
		state.height = gg_top_frame_height(
			&state, snapshot, batch->rows_max > 0 ? batch->rows_max : SIZE_MAX);
	}
	gg_top_frame_draw(&grid, &state, snapshot);
	gg_top_grid_append(&grid, &batch->style, out);
	gg_top_grid_done(&grid);
}

static int print(const struct gg_top_batch *batch, const struct gg_top_snapshot *snapshot,
                 bool is_first, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };

	if (batch->json)
		gg_top_json(snapshot, &batch->state, batch->rows_max, &out);
	else {
		gg_buf_append_text(&out, is_first ? "" : "\n");
		append_text(batch, snapshot, &out);
	}
	if (out.failed)
		return gg_error_memory(error, "top");
	/* The reader of a pipe gets each frame at once. */
	if (fwrite(out.data, 1, out.length, batch->stream) != out.length ||
	    fflush(batch->stream) != 0)
		return gg_error_set_errno(error, errno, "top", NULL);
	return 0;
}

/* Waits until a moment of the monotonic clock; a signal does not make it shorter. */
static void wait_until(uint64_t until_ns)
{
	const struct timespec until = { .tv_sec = (time_t)(until_ns / GG_NS_PER_S),
		                        .tv_nsec = (long)(until_ns % GG_NS_PER_S) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

int gg_top_batch_run(const struct gg_top_batch *batch, struct gg_error *error)
{
	uint64_t delay_ns = (uint64_t)(batch->delay_seconds * (double)GG_NS_PER_S);
	uint64_t next_ns = gg_clock_monotonic_ns();
	struct gg_top_source *source;
	int status = gg_top_source_open(&source, batch->target, batch->view.confidence, error);

	if (status < 0)
		return status;
	for (uint64_t i = 0; status == 0 && (i < batch->frame_count || batch->frame_count == 0);
	     i++) {
		struct gg_top_snapshot *snapshot;

		if (i > 0) {
			if (!gg_top_source_is_live(source))
				break;
			/* After a look that took long, or a suspension, nothing is made up for. */
			next_ns += delay_ns;
			if (next_ns < gg_clock_monotonic_ns())
				next_ns = gg_clock_monotonic_ns();
			wait_until(next_ns);
		}
		status = gg_top_source_look(source, &batch->view, &snapshot, error);
		if (status < 0)
			break;
		status = print(batch, snapshot, i == 0, error);
		gg_top_snapshot_free(snapshot);
	}
	gg_top_source_free(source);
	return status;
}
