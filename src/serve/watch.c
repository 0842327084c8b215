/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/watch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/time_units.h"
#include "record/process/proc_file.h"
#include "record/regions/find_region.h"
#include "record/regions/process_alive.h"
#include "region/reader/view.h"
#include "report/figure.h"
#include "report/frame_selection.h"

#define EVERY_NS GG_NS_PER_S

/* The watch rests this many times as long as the last poll took. */
enum { POLL_REST_FACTOR = 10 };

/* The time between looks, and how many times as long as the last one took. */
#define LOOK_EVERY_NS (10 * GG_NS_PER_S)
enum { LOOK_REST_FACTOR = 500 };

static struct gg_page_watch point_of(const struct gg_watch *watch,
                                     const struct gg_region_view *view)
{
	struct gg_region_totals totals = gg_region_view_totals(view);
	struct gg_tally tally = { 0 };
	double managed_bytes = 0;
	struct gg_figure live;

	gg_tally_expose(&tally, (double)view->header.control.interval_bytes);
	if (gg_region_is_lacking(&view->header))
		tally.incomplete = 1;
	for (uint32_t i = 0; i < view->live_count; i++) {
		struct gg_draw draw = gg_region_sample_draw(&view->live[i]);

		if (gg_draw_is_valid(&draw))
			gg_tally_add(&tally, &draw, view->live[i].size_bytes);
	}
	gg_polling_tally_managed(watch->polling, &tally, &managed_bytes);
	live = gg_figure_of(&tally, GG_BYTES, watch->confidence, false);
	return (struct gg_page_watch){
		.time_ns = (int64_t)(gg_clock_monotonic_ns() - view->header.start_monotonic_ns),
		.live_bytes = live.estimate,
		.low = live.low,
		.high = live.high,
		.rss_bytes = (double)gg_proc_file_rss_bytes(watch->pid),
		.allocated_bytes = gg_fixed_value(totals.allocated.bytes) + managed_bytes,
	};
}

/* Drops every other point and doubles their distance, so that the rest are evenly spaced. */
static void thin_out(struct gg_watch *watch)
{
	size_t kept = 0;

	for (size_t i = 0; i < watch->count; i += 2)
		watch->points[kept++] = watch->points[i];
	watch->count = kept;
	watch->point_every_ns *= 2;
}

/*
 * Adds a point if the last one is old enough.  A point that comes half a poll early is in time:
 * polls come a little late each.
 */
static void add_point(struct gg_watch *watch, const struct gg_region_view *view, uint64_t now_ns)
{
	if (watch->count > 0 &&
	    now_ns - watch->last_point_ns + EVERY_NS / 2 < watch->point_every_ns)
		return;
	if (watch->count == GG_WATCH_POINTS_MAX)
		thin_out(watch);
	watch->points[watch->count++] = point_of(watch, view);
	watch->last_point_ns = now_ns;
}

/* Looks at the process if it is time.  A process that may not be read has no looks. */
static void look(struct gg_watch *watch)
{
	uint64_t now_ns = gg_clock_monotonic_ns();

	if (watch->look_ns != 0 &&
	    (now_ns - watch->look_ns < LOOK_EVERY_NS ||
	     now_ns - watch->look_ns < LOOK_REST_FACTOR * watch->look_took_ns))
		return;
	gg_polling_look(watch->polling);
	watch->look_ns = now_ns;
	watch->look_took_ns = gg_clock_monotonic_ns() - now_ns;
}

/* Ends the watch, and notes how the process ended while its parent has not waited for it. */
static void end(struct gg_watch *watch)
{
	watch->is_alive = false;
	watch->exit_status = gg_process_alive_exit_status(watch->pid, watch->start_ticks);
}

void gg_watch_poll(struct gg_watch *watch)
{
	uint64_t now_ns = gg_clock_monotonic_ns();
	struct gg_region_view view;

	if (!watch->is_alive || now_ns - watch->last_ns < EVERY_NS ||
	    now_ns - watch->last_ns < POLL_REST_FACTOR * watch->took_ns)
		return;
	watch->last_ns = now_ns;
	if (gg_region_view_open(&view, watch->path, NULL) < 0) {
		watch->is_lost = gg_process_alive(watch->pid, watch->start_ticks);
		end(watch);
		return;
	}
	watch->is_active = view.header.control.active != 0;
	watch->interval_bytes = view.header.control.interval_bytes;
	watch->is_alive = view.header.end_monotonic_ns == 0 &&
	                  gg_process_alive(watch->pid, view.header.pid == watch->pid
	                                                       ? view.header.process_start_ticks
	                                                       : 0);
	if (!watch->is_alive) {
		watch->has_end = view.header.end_monotonic_ns != 0;
		end(watch);
	}
	if (watch->is_alive)
		add_point(watch, &view, now_ns);
	if (watch->status == 0)
		watch->status = gg_polling_take(watch->polling, &view, &watch->error);
	watch->polled_ns = gg_polling_view_ns(watch->polling);
	watch->has_news = true;
	gg_region_view_done(&view);
	watch->took_ns = gg_clock_monotonic_ns() - now_ns;
	if (watch->is_alive && watch->status == 0)
		look(watch);
}

static int read_header(struct gg_watch *watch, struct gg_error *error)
{
	struct gg_region_view view;
	int status = gg_region_view_open(&view, watch->path, error);

	if (status < 0)
		return status;
	watch->pid = view.header.pid;
	watch->start_ticks = view.header.process_start_ticks;
	watch->is_attached = view.header.attach.attached_ns != 0;
	gg_region_view_done(&view);
	return 0;
}

int gg_watch_init(struct gg_watch *watch, const char *process, double confidence,
                  struct gg_error *error)
{
	int status;

	*watch = (struct gg_watch){ .is_alive = true,
		                    .exit_status = -1,
		                    .point_every_ns = EVERY_NS,
		                    .confidence = confidence };
	status = gg_find_region(&watch->path, process, error);
	if (status == 0)
		status = read_header(watch, error);
	if (status == 0)
		status = gg_polling_open(&watch->polling, watch->path, error);
	if (status == 0)
		status = gg_live_names_new(&watch->names, error);
	if (status < 0) {
		gg_watch_done(watch);
		return status;
	}
	if (gg_find_region_is_pid(process))
		watch->pid = (uint32_t)strtoul(
			process, NULL, 10); /* the region has the pid of another pid namespace */
	status = gg_polling_follow_runtime(watch->polling, error);
	if (status < 0) {
		gg_watch_done(watch);
		return status;
	}
	gg_watch_poll(watch);
	return 0;
}

void gg_watch_done(struct gg_watch *watch)
{
	free(watch->path);
	gg_model_free(watch->model);
	gg_polling_free(watch->polling);
	gg_live_names_free(watch->names);
	*watch = (struct gg_watch){ 0 };
}

/* Loads the profile, and adds names to frames that lack one. */
static int load(struct gg_watch *watch, const struct gg_frame_selection *frames,
                struct gg_model **ret_model, struct gg_error *error)
{
	struct gg_profile *profile = gg_polling_profile(watch->polling);
	struct gg_model_options options = { 0 };

	if (gg_live_names_learn(watch->names, profile, NULL) == 0) {
		options.more_lines = gg_live_names_tell;
		options.context = watch->names;
	}
	gg_frame_selection_options(frames, &options);
	return gg_model_load(ret_model, &profile, 1, &options, error);
}

int gg_watch_read(struct gg_watch *watch, const struct gg_frame_selection *frames,
                  struct gg_model **ret_model, struct gg_error *error)
{
	if (watch->status == 0 && !watch->has_mappings) {
		watch->status = gg_polling_put_mappings(watch->polling, &watch->error);
		watch->has_mappings = true;
	}
	if (watch->status < 0) {
		*error = watch->error;
		return watch->status;
	}
	return load(watch, frames, ret_model, error);
}

int gg_watch_model(struct gg_watch *watch, struct gg_model **ret_model, struct gg_error *error)
{
	const struct gg_frame_selection frames = { 0 };
	struct gg_model *model;
	int status = watch->status;

	if (status < 0) {
		*error = watch->error;
	} else if (watch->has_news || watch->model == NULL) {
		status = load(watch, &frames, &model, error);
		if (status == 0) {
			status = gg_frame_selection_apply(&frames, &model, 1, error);
			if (status < 0)
				gg_model_free(model);
		}
		if (status == 0) {
			gg_model_free(watch->model);
			watch->model = model;
			watch->has_news = false;
		}
	}
	if (status < 0 && watch->model == NULL)
		return status;
	*ret_model = watch->model;
	return 0;
}
