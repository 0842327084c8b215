/* SPDX-License-Identifier: Apache-2.0 */
/* top_source - the models behind snapshots: of a watch, or of a profile that is read again. */
#include "top/top_source.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/time_units.h"
#include "record/regions/change_region.h"
#include "record/regions/find_region.h"
#include "record/regions/region_profile.h"
#include "record/symbols/live_names.h"
#include "report/frame_selection.h"
#include "serve/watch.h"
#include "top/top_list.h"

/* After a new attach, a region that is still mapped may have a successor; searches are rare. */
#define SEARCH_NS (10 * GG_NS_PER_S)

/* Rates are means over the time between looks that covers this, or since the first look. */
#define RATE_NS (10 * GG_NS_PER_S)

enum { NEWS_LOOKS = 10 };

struct gg_top_source {
	struct gg_top_list *list; /* NULL: the source has one target, as follows */
	/* A watch of a process; or a profile, which is read again at each look. */
	bool is_watch;
	struct gg_watch watch;
	char *path;
	struct gg_live_names *names;
	struct gg_model *model;   /* of the profile */
	bool is_open_ended;       /* a recorder writes the profile */
	uint64_t searched_ns;     /* the last search of a new region; CLOCK_MONOTONIC */
	int64_t mark_ns, seen_ns; /* the moments of the mark, and of the last look */
	uint64_t look_count;      /* since the mark */
	uint64_t test_count;      /* tests of the whole run, which new marks do not reset */
	/* The rows of the last test; the mark is not the one of the next if has_new_mark. */
	enum gg_top_metric metric;
	enum gg_grouping by;
	char *focus;
	bool has_new_mark;
	double peak_bytes;
	/* The points of the watch, or one for each look at a growing profile; room for all. */
	struct gg_chart_column *columns;
	size_t column_count; /* of the profile */
	const char *news;    /* a static text; NULL: none */
	uint64_t news_count; /* looks that still have the news */
};

/* A profile is an SQLite file; the watch reports what is wrong with any other file. */
static bool is_profile(const char *path)
{
	static const char magic[] = "SQLite format 3";
	char begin[sizeof(magic)] = "";
	FILE *file = fopen(path, "re");
	bool is;

	if (file == NULL)
		return false;
	is = fread(begin, 1, sizeof(begin), file) == sizeof(begin) &&
	     memcmp(begin, magic, sizeof(magic)) == 0;
	fclose(file);
	return is;
}

/* Opens the list of processes. */
static int open_list(struct gg_top_source **ret_source, struct gg_top_source *source,
                     struct gg_error *error)
{
	source->list = gg_top_list_new();
	if (source->list == NULL) {
		free(source);
		return gg_error_memory(error, "top");
	}
	*ret_source = source;
	return 0;
}

int gg_top_source_open(struct gg_top_source **ret_source, const char *target, double confidence,
                       struct gg_error *error)
{
	struct gg_top_source *source = calloc(1, sizeof(*source));
	int status = 0;

	if (source == NULL)
		return gg_error_memory(error, "top");
	if (target == NULL)
		return open_list(ret_source, source, error);
	source->mark_ns = source->seen_ns = GG_TIME_NONE;
	source->peak_bytes = -1;
	source->is_watch = gg_find_region_is_pid(target) || !is_profile(target);
	if (source->is_watch)
		status = gg_watch_init(&source->watch, target, confidence, error);
	if (status < 0) {
		free(source);
		return status;
	}
	if (!source->is_watch)
		status = gg_live_names_new(&source->names, error);
	source->path = strdup(target);
	source->columns = calloc(GG_WATCH_POINTS_MAX, sizeof(*source->columns));
	if (status == 0 && (source->path == NULL || source->columns == NULL))
		status = gg_error_memory(error, "top");
	if (status < 0) {
		gg_top_source_free(source);
		return status;
	}
	*ret_source = source;
	return 0;
}

void gg_top_source_free(struct gg_top_source *source)
{
	if (source == NULL)
		return;
	gg_top_list_free(source->list);
	if (source->is_watch)
		gg_watch_done(&source->watch);
	gg_live_names_free(source->names);
	gg_model_free(source->model);
	free(source->path);
	free(source->focus);
	free(source->columns);
	free(source);
}

/* --- looks ---------------------------------------------------------------------------------- */

static int load_profile(struct gg_top_source *source, struct gg_profile *profile,
                        struct gg_error *error)
{
	const struct gg_frame_selection frames = { 0 };
	struct gg_model_options options = { 0 };
	struct gg_profile_session session;
	struct gg_model *model;
	int status;

	source->is_open_ended = gg_profile_session(profile, &session, NULL) == 0 &&
	                        session.end_ns == GG_TIME_NONE;
	if (source->is_open_ended && gg_live_names_learn(source->names, profile, NULL) == 0) {
		options.more_lines = gg_live_names_tell;
		options.context = source->names;
	}
	gg_frame_selection_options(&frames, &options);
	status = gg_model_load(&model, &profile, 1, &options, error);
	if (status < 0)
		return status;
	status = gg_frame_selection_apply(&frames, &model, 1, error);
	if (status < 0) {
		gg_model_free(model);
		return status;
	}
	gg_model_free(source->model);
	source->model = model;
	return 0;
}

/* A profile that nobody writes any more is read once. */
static int read_profile(struct gg_top_source *source, struct gg_error *error)
{
	struct gg_profile *profile;
	bool was_open_ended;
	int status;

	if (source->model != NULL && !source->is_open_ended)
		return 0;
	status = gg_region_profile_open_complete(&profile, source->path, NULL, error);
	if (status < 0)
		return status;
	was_open_ended = source->is_open_ended;
	status = load_profile(source, profile, error);
	gg_profile_close(profile);
	if (status == 0 && was_open_ended && !source->is_open_ended)
		source->news = "The recording has ended; this is its last state.";
	return status;
}

static void add_columns(struct gg_top_source *source, struct gg_top_process *process)
{
	const struct gg_watch *watch = &source->watch;

	for (size_t i = 0; i < watch->count; i++) {
		const struct gg_page_watch *point = &watch->points[i];

		source->columns[i] = (struct gg_chart_column){
			point->low, point->high, point->rss_bytes >= 0 ? point->rss_bytes : NAN
		};
	}
	process->columns = source->columns;
	process->column_count = watch->count;
}

/* How a process ended, behind "The process ". */
static void describe_end(const struct gg_watch *watch, char text[GG_TOP_END_MAX])
{
	int status = watch->exit_status;
	const char *name = status > 0 && WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status))
	                                                     : NULL;

	if (watch->is_lost)
		snprintf(text, GG_TOP_END_MAX, "runs on, but the file of its region was removed");
	else if (name != NULL)
		snprintf(text, GG_TOP_END_MAX, "was killed by SIG%s", name);
	else if (status > 0 && WIFEXITED(status))
		snprintf(text, GG_TOP_END_MAX, "has ended with status %d", WEXITSTATUS(status));
	else if (watch->has_end)
		snprintf(text, GG_TOP_END_MAX, "has ended");
	else
		snprintf(text, GG_TOP_END_MAX, "was killed, or ended without its exit handlers");
}

/* Describes the process as the look finds it.  News are of the next looks, and then are known. */
static void describe_watch(struct gg_top_source *source, struct gg_top_process *process)
{
	const struct gg_watch *watch = &source->watch;

	process->pid = watch->pid;
	process->is_process = true;
	process->is_alive = watch->is_alive;
	if (!watch->is_alive)
		describe_end(watch, process->end);
	process->is_active = watch->is_active;
	process->is_exact = source->model != NULL && gg_model_is_exact(source->model);
	process->interval_bytes = watch->interval_bytes;
	process->now_ns = watch->polled_ns;
	process->news = source->news_count > 0 ? source->news : NULL;
	add_columns(source, process);
	process->rss_bytes = watch->is_alive && watch->count > 0
	                             ? watch->points[watch->count - 1].rss_bytes
	                             : -1;
}

/* Adds a point for a look at a growing profile; of many looks, the latest have one. */
static void add_profile_column(struct gg_top_source *source, const struct gg_figure *live)
{
	if (source->is_watch || !source->is_open_ended)
		return;
	if (source->column_count == GG_WATCH_POINTS_MAX)
		memmove(source->columns, source->columns + 1,
		        --source->column_count * sizeof(*source->columns));
	source->columns[source->column_count++] = (struct gg_chart_column){ live->low, live->high,
		                                                            NAN };
}

static void describe_profile(const struct gg_top_source *source, struct gg_top_process *process)
{
	process->columns = source->columns;
	process->column_count = source->column_count;
	process->news = source->news;
	const struct gg_model *model = source->model;

	process->is_active = true;
	process->is_exact = gg_model_is_exact(model);
	process->interval_bytes = (uint64_t)gg_model_interval(model, 0);
	process->now_ns = model->end_ns;
	process->rss_bytes = -1;
	if (model->process_count == 2)
		process->pid = model->processes[1].pid;
}

/* True if both are regions of one process, and not of two that had the same pid. */
static bool is_same_process(const struct gg_watch *one, const struct gg_watch *other)
{
	return one->start_ticks == 0 || other->start_ticks == 0 ||
	       one->start_ticks == other->start_ticks;
}

static void follow(struct gg_top_source *source, const struct gg_watch *next)
{
	gg_watch_done(&source->watch);
	source->watch = *next;
	source->mark_ns = GG_TIME_NONE;
	source->look_count = 0;
	source->has_new_mark = true;
	source->peak_bytes = -1;
	source->news_count = NEWS_LOOKS;
	source->news =
		next->is_attached
			? "The agent was attached to the process, which has a new region."
			: "The process has executed another program; changes count from then.";
}

/*
 * A process that executes another program gets another region, and so does one to which the agent
 * is attached anew.  The watch then begins anew with it, and so does the mark.
 */
static void follow_region(struct gg_top_source *source)
{
	struct gg_watch next;
	char *path;

	if (!gg_find_region_is_pid(source->path) ||
	    (gg_clock_monotonic_ns() - source->searched_ns < SEARCH_NS &&
	     gg_find_region_is_mapped(source->watch.pid, source->watch.path)))
		return;
	source->searched_ns = gg_clock_monotonic_ns();
	if (gg_find_region(&path, source->path, NULL) < 0)
		return;
	if (strcmp(path, source->watch.path) != 0 &&
	    gg_watch_init(&next, source->path, source->watch.confidence, NULL) == 0) {
		if (is_same_process(&source->watch, &next))
			follow(source, &next);
		else
			gg_watch_done(&next);
	}
	free(path);
}

static int read_model(struct gg_top_source *source, struct gg_model **ret_model,
                      struct gg_error *error)
{
	int status;

	if (source->is_watch) {
		follow_region(source);
		gg_watch_poll(&source->watch);
		/* Old numbers must not look like new ones. */
		if (source->watch.status < 0) {
			*error = source->watch.error;
			return source->watch.status;
		}
		return gg_watch_model(&source->watch, ret_model, error);
	}
	status = read_profile(source, error);
	*ret_model = source->model;
	return status;
}

/*
 * The begin of the period of rates.  A watch knows amounts between its polls only, so the period
 * begins with a poll.  At the first poll, and in a finished profile, rates are means of the whole
 * run.
 */
static int64_t rate_begin(const struct gg_top_source *source, const struct gg_model *model)
{
	int64_t from_ns = model->end_ns - RATE_NS;

	if (source->is_watch)
		return gg_polling_view_before(source->watch.polling, RATE_NS);
	return source->is_open_ended && from_ns > 0 ? from_ns : GG_TIME_NONE;
}

static bool is_equal(const char *one, const char *other)
{
	return one == NULL || other == NULL ? one == other : strcmp(one, other) == 0;
}

/*
 * Counts the look, unless the last look tested the same rows at the same moments: the results are
 * the same.
 */
static int count_look(struct gg_top_source *source, const struct gg_top_view *view, int64_t now_ns)
{
	bool is_repeat = source->test_count > 0 && now_ns == source->seen_ns &&
	                 view->metric == source->metric && view->by == source->by &&
	                 is_equal(view->focus, source->focus) && !source->has_new_mark;

	if (is_repeat)
		return 0;
	free(source->focus);
	source->focus = view->focus != NULL ? strdup(view->focus) : NULL;
	if (view->focus != NULL && source->focus == NULL)
		return -ENOMEM;
	source->metric = view->metric;
	source->by = view->by;
	source->has_new_mark = false;
	source->look_count++;
	source->test_count++;
	return 0;
}

/* Looks at the one target of the source. */
static int look_at_target(struct gg_top_source *source, const struct gg_top_view *view,
                          struct gg_top_snapshot **ret_snapshot, struct gg_error *error)
{
	struct gg_top_request request = { .metric = view->metric,
		                          .by = view->by,
		                          .focus = view->focus,
		                          .opened = view->opened,
		                          .is_tree = view->is_tree,
		                          .has_why = view->has_why,
		                          .confidence = view->confidence };
	struct gg_top_process process = { 0 };
	struct gg_model *model;
	int status = read_model(source, &model, error);

	if (status < 0)
		return status;
	if (source->is_watch)
		describe_watch(source, &process);
	else
		describe_profile(source, &process);
	if (count_look(source, view, process.now_ns) < 0)
		return gg_error_memory(error, "top");
	source->seen_ns = process.now_ns;
	source->news_count -= source->news_count > 0;
	process.peak_bytes = source->peak_bytes;
	if (gg_top_source_is_live(source) || source->mark_ns != GG_TIME_NONE)
		request.mark_ns = source->mark_ns != GG_TIME_NONE ? source->mark_ns
		                                                  : source->seen_ns;
	else
		request.mark_ns = GG_TIME_NONE;
	request.look_count = source->look_count;
	request.test_count = source->test_count;
	request.rate_from_ns = rate_begin(source, model);
	request.aggregates_between = source->is_watch &&
	                             !gg_polling_is_compacted(source->watch.polling);
	status = gg_top_snapshot_make(ret_snapshot, model, &request, &process, error);
	if (status < 0)
		return status;
	source->mark_ns = request.mark_ns;
	if ((*ret_snapshot)->live.estimate > source->peak_bytes)
		source->peak_bytes = (*ret_snapshot)->live.estimate;
	(*ret_snapshot)->process.peak_bytes = source->peak_bytes;
	add_profile_column(source, &(*ret_snapshot)->live);
	return 0;
}

int gg_top_source_look(struct gg_top_source *source, const struct gg_top_view *view,
                       struct gg_top_snapshot **ret_snapshot, struct gg_error *error)
{
	return source->list != NULL ? gg_top_list_look(source->list, view->confidence,
	                                               view->lists_all, ret_snapshot, error)
	                            : look_at_target(source, view, ret_snapshot, error);
}

int gg_top_source_write(struct gg_top_source *source, const char *path, uint64_t *ret_sample_count,
                        struct gg_error *error)
{
	struct gg_salvage salvage;
	int status;

	if (!source->is_watch)
		return gg_error_set(error, -ENOTSUP, "top", NULL, "this is a profile already");
	status = gg_region_profile_salvage(&source->watch.path, 1, path, NULL, &salvage, error);
	if (status == 0)
		*ret_sample_count = salvage.sample_count;
	return status;
}

int gg_top_source_change(struct gg_top_source *source, const struct gg_region_change *change,
                         struct gg_error *error)
{
	struct gg_region_header header;

	if (!source->is_watch)
		return gg_error_set(error, -ENOTSUP, "top", NULL, "nothing samples here");
	return gg_change_region(source->watch.path, change, &header, error);
}

void gg_top_source_mark(struct gg_top_source *source)
{
	source->mark_ns = source->seen_ns;
	source->look_count = 0;
	source->has_new_mark = true;
}

bool gg_top_source_is_live(const struct gg_top_source *source)
{
	if (source->list != NULL)
		return true;
	return source->is_watch ? source->watch.is_alive
	                        : source->model == NULL || source->is_open_ended;
}
