/* SPDX-License-Identifier: Apache-2.0 */
/* top_batch - looks, prints, and waits. */
#include "top/top_batch.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "base/time_units.h"
#include "top/top_cost.h"
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

enum { BEGIN_POLL_MS = 50 };

/* Waits until a moment of the monotonic clock; a signal does not make it shorter. */
static void wait_until(uint64_t until_ns)
{
	const struct timespec until = { .tv_sec = (time_t)(until_ns / GG_NS_PER_S),
		                        .tv_nsec = (long)(until_ns % GG_NS_PER_S) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

/* Opens the target.  A command gets its region soon; one that ends at once has only a profile. */
static int open_target(struct gg_top_source **ret_source, const struct gg_top_batch *batch,
                       struct gg_error *error)
{
	const struct timespec pause = { .tv_nsec = BEGIN_POLL_MS * GG_NS_PER_MS };
	double confidence = batch->view.confidence;
	char pid[16];
	bool has_ended;
	int status;

	if (batch->command == NULL)
		return gg_top_source_open(ret_source, batch->target, confidence, error);
	snprintf(pid, sizeof(pid), "%d", (int)gg_top_command_pid(batch->command));
	for (;;) {
		has_ended = gg_top_command_has_ended(batch->command);
		status = gg_top_source_open(
			ret_source, has_ended ? gg_top_command_profile(batch->command) : pid,
			confidence, error);
		if (status == 0 || has_ended)
			return status;
		nanosleep(&pause, NULL);
	}
}

/* Waits for the next frame.  After a long look or a suspension, nothing is made up for. */
static void wait_for_frame(uint64_t *next_ns, uint64_t delay_ns, uint64_t rest_until_ns)
{
	uint64_t now_ns = gg_clock_monotonic_ns();

	*next_ns += delay_ns;
	if (*next_ns < rest_until_ns)
		*next_ns = rest_until_ns;
	if (*next_ns < now_ns)
		*next_ns = now_ns;
	wait_until(*next_ns);
}

static int print_frames(const struct gg_top_batch *batch, struct gg_top_source *source,
                        struct gg_error *error)
{
	uint64_t delay_ns = (uint64_t)(batch->delay_seconds * (double)GG_NS_PER_S);
	uint64_t next_ns = gg_clock_monotonic_ns(), rest_until_ns = 0;
	int status = 0;

	for (uint64_t i = 0; status == 0 && (i < batch->frame_count || batch->frame_count == 0);
	     i++) {
		struct gg_top_snapshot *snapshot;
		struct gg_top_cost cost;

		if (i > 0 && !gg_top_source_is_live(source))
			break;
		if (i > 0)
			wait_for_frame(&next_ns, delay_ns, rest_until_ns);
		cost = gg_top_cost_begin();
		status = gg_top_source_look(source, &batch->view, &snapshot, error);
		if (status < 0)
			break;
		rest_until_ns = gg_top_cost_end(&cost, delay_ns, snapshot);
		if (batch->command != NULL && gg_top_command_has_ended(batch->command))
			gg_top_command_describe_end(batch->command, &snapshot->process);
		status = print(batch, snapshot, i == 0, error);
		gg_top_snapshot_free(snapshot);
	}
	return status;
}

int gg_top_batch_run(const struct gg_top_batch *batch, struct gg_error *error)
{
	struct gg_top_source *source;
	int status, exit_status;

	if (batch->command != NULL)
		gg_top_command_pass_signals(batch->command);
	status = open_target(&source, batch, error);
	if (status == 0) {
		status = print_frames(batch, source, error);
		gg_top_source_free(source);
	}
	if (batch->command == NULL)
		return status;
	exit_status = gg_top_command_finish(batch->command, NULL);
	return status < 0 ? status : exit_status;
}
