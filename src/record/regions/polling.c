/* SPDX-License-Identifier: Apache-2.0 */
/*
 * polling - a profile of a process that no recorder records, from repeated views of its region.
 *
 * A target without a ring (process/target.h) turns the difference between its samples and each new
 * view into samples, ends and aggregates.  The spans of aggregates and the end of the session are
 * rounded up to the grid, so that aggregates of different views fit into the same seconds.
 */
#include "record/regions/polling.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/time_units.h"
#include "record/dotnet/managed_watch.h"
#include "record/dotnet/unrecorded_runtime.h"
#include "record/look/target_look.h"
#include "record/process/aggregates.h"
#include "record/process/exact_history.h"
#include "record/process/inherited.h"
#include "record/process/process_tables.h"
#include "record/process/reconcile.h"
#include "record/regions/process_alive.h"
#include "record/regions/region_profile.h"
#include "record/regions/view_times.h"

/* Compaction begins at that many samples, at every 64th view, with at most 200 calls. */
enum { COMPACT_FROM = 100000, COMPACT_EVERY = 64, COMPACT_CALLS = 200 };
/*
 * A look reads the events of a session anew, in the thread that serves pages.  These take about
 * a second of a processor; then another session begins.
 */
#define RUNTIME_BYTES_MAX (UINT64_C(64) << 20)
/* Processor time of a look, and beside it of a walk through the heap: callers wait for both. */
enum { WATCH_LOOK_MS = 50, WATCH_WALK_MS = 500 };

/*
 * Samples that ended less than a minute ago stay whole.  Older ones are joined; the times of an
 * aggregate are 1/128 of its age wide at most, and at least one step of the grid.
 */
static const struct gg_compaction_rule compaction_rule = {
	.keep_ns = 60 * GG_POLLING_GRID_NS,
	.bucket_ns = GG_POLLING_GRID_NS,
	.age_buckets = 128,
	.row_max = 4 * COMPACT_FROM,
	.batch_count = 20000,
};

struct gg_polling {
	struct gg_profile *profile;
	struct gg_profile_writer writer;
	struct gg_target_set set;
	struct gg_target *target;
	struct gg_profile_session session;
	struct gg_error error; /* of the first failure; the writer fills it in */
	int64_t first_ns;      /* the first view, on the grid */
	uint64_t count;        /* views so far */
	struct gg_view_times view_times;
	bool is_compacted;
	bool has_runtime;                 /* of .NET, which a note says */
	struct gg_managed_watch *managed; /* NULL: nobody follows a runtime */
};

static int64_t to_grid(int64_t time_ns)
{
	return (time_ns + GG_POLLING_GRID_NS - 1) / GG_POLLING_GRID_NS * GG_POLLING_GRID_NS;
}

static int begin(struct gg_polling *polling, const char *path, struct gg_error *error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), status;
	struct gg_region_header header;

	if (fd < 0)
		return gg_error_set_errno(error, errno, path, NULL);
	status = gg_region_header_read(&header, fd, path, error);
	if (status == 0)
		status = gg_profile_create(&polling->profile, NULL, error);
	if (status == 0)
		status = gg_profile_writer_init(&polling->writer, polling->profile,
		                                header.start_monotonic_ns, &polling->error);
	if (status < 0) {
		close(fd);
		return status;
	}
	status = gg_target_open(&polling->target, &polling->set, &polling->writer, fd, 0, 0, false,
	                        error);
	if (status == 0)
		status = gg_inherited_take(polling->target, error);
	if (status < 0)
		return status;
	polling->session = (struct gg_profile_session){
		.command = polling->target->record.command,
		.geiger = GG_VERSION,
		.start_wall_ns = header.start_wall_ns,
		.interval_bytes = (double)header.control.interval_bytes,
		.exit_status = -1,
		.scheme = polling->target->record.scheme == GG_SCHEME_EXACT ? GG_SCHEME_EXACT
		                                                            : GG_SCHEME_POISSON,
	};
	return gg_region_profile_note(&polling->writer, polling->target);
}

int gg_polling_open(struct gg_polling **ret_polling, const char *path, struct gg_error *error)
{
	struct gg_polling *polling = calloc(1, sizeof(*polling));
	int status;

	if (polling == NULL)
		return gg_error_memory(error, path);
	status = begin(polling, path, error);
	if (status < 0)
		gg_polling_free(polling);
	else
		*ret_polling = polling;
	return status;
}

void gg_polling_free(struct gg_polling *polling)
{
	if (polling == NULL)
		return;
	gg_managed_watch_free(polling->managed);
	gg_target_set_done(&polling->set);
	gg_profile_writer_done(&polling->writer);
	gg_profile_close(polling->profile);
	free(polling);
}

/* Keeps the profile small.  Small profiles need no compaction, which costs time at each call. */
static void compact(struct gg_polling *polling)
{
	int more = 1;

	if (polling->writer.counts.sample_count + polling->writer.counts.lost_count <
	            COMPACT_FROM ||
	    polling->count % COMPACT_EVERY != 0)
		return;
	polling->is_compacted = true;
	for (int i = 0; i < COMPACT_CALLS && more == 1; i++)
		more = gg_profile_compact(polling->profile, &compaction_rule,
		                          polling->writer.now_ns, &polling->error);
	gg_profile_writer_keep(&polling->writer, more < 0 ? more : 0);
}

/*
 * Adds the samples of the view that are new since the last view, and ends the samples that are
 * missing in it.  Blocks that came and went between two views become sums with that span.
 */
static int apply_view(struct gg_target *target, const struct gg_region_view *view,
                      const struct gg_span *span, bool is_first)
{
	struct gg_profile_writer *writer = target->writer;
	uint64_t lost_count = writer->counts.lost_count;

	gg_stack_map_update(&target->stack_map, &target->reader, target->writer);
	gg_reconcile_samples(
		target, view, UINT64_MAX,
		target->writer->now_ns); /* every known sample comes from an earlier view */
	if (writer->counts.lost_count != lost_count) {
		gg_profile_writer_event(writer, target->id, target->complete_ns, "lost",
		                        "what was freed from here on was found at the next look");
		gg_profile_writer_event(writer, target->id, writer->now_ns, "reconciled", "a look");
	}
	target->complete_ns = span->to_ns;
	if (target->exact != NULL) {
		gg_exact_history_take(target, view, span->to_ns);
		gg_exact_history_put_live(target);
	} else if (is_first && gg_aggregates_rest_is_inherited(target, view)) {
		/* Its ancestor allocated these.  Later views know each inherited block. */
		gg_aggregates_leave_out(target, view);
	} else {
		gg_aggregates_write(target, view, span);
	}
	gg_process_tables_threads(target, view, GG_TIME_NONE);
	gg_process_tables_counters(target, view);
	return target->writer->status;
}

int gg_polling_take(struct gg_polling *polling, const struct gg_region_view *view,
                    struct gg_error *error)
{
	struct gg_profile_writer *writer = &polling->writer;
	struct gg_span span = { 0 };

	writer->now_ns = (int64_t)(gg_clock_monotonic_ns() - writer->start_ns);
	span.to_ns = polling->session.end_ns = to_grid(writer->now_ns);
	/*
	 * Blocks that came and went since the last view belong to the second that ends with this
	 * one.  At the first view, they belong to the whole time since the process began.
	 */
	if (polling->count > 0) {
		span.from_ns = span.to_ns - GG_POLLING_GRID_NS;
		span.bucket_ns = GG_POLLING_GRID_NS;
	}
	polling->set.round_count++;
	apply_view(polling->target, view, &span, polling->count == 0);
	if (polling->managed != NULL)
		gg_managed_watch_take(polling->managed, writer, polling->target->id);
	gg_profile_writer_keep(
		writer, gg_profile_set_session(polling->profile, &polling->session, writer->error));
	gg_profile_writer_commit(writer);
	gg_view_times_add(&polling->view_times, writer->now_ns);
	if (polling->count++ == 0)
		polling->first_ns = span.to_ns;
	if (writer->status == 0)
		compact(polling);
	if (writer->status < 0 && error != NULL)
		*error = polling->error;
	return writer->status;
}

bool gg_polling_look(struct gg_polling *polling)
{
	struct gg_profile_writer *writer = &polling->writer;
	struct gg_target *target = polling->target;
	struct gg_target_look_options options = {
		.seed = polling->count,
		.budget_ns = WATCH_LOOK_MS * GG_NS_PER_MS,
		.heap_walk_budget_ns = WATCH_WALK_MS * GG_NS_PER_MS,
	};
	struct gg_target_look_result result;
	struct gg_error error = { 0 };
	int status;

	writer->now_ns = (int64_t)(gg_clock_monotonic_ns() - writer->start_ns);
	options.pid = (pid_t)gg_process_alive_pid_here(&target->reader.header, target->reader.fd);
	if (!polling->has_runtime && polling->managed == NULL) /* it may start late */
		polling->has_runtime = gg_unrecorded_runtime_note(writer, options.pid);
	status = gg_target_look_take(target, &options, &result, &error);
	gg_profile_writer_commit(writer);
	return status == 0;
}

/* Exact counts leave runtimes alone: nobody counts every managed allocation. */
int gg_polling_follow_runtime(struct gg_polling *polling, struct gg_error *error)
{
	const struct gg_region_reader *reader = &polling->target->reader;
	pid_t pid = (pid_t)gg_process_alive_pid_here(&reader->header, reader->fd);

	if (pid == 0 || polling->target->exact != NULL || polling->managed != NULL)
		return 0;
	return gg_managed_watch_new(&polling->managed, pid, RUNTIME_BYTES_MAX, error);
}

bool gg_polling_has_managed(const struct gg_polling *polling)
{
	return polling->managed != NULL && gg_managed_watch_follows(polling->managed);
}

void gg_polling_tally_managed(const struct gg_polling *polling, struct gg_tally *live,
                              double *allocated_bytes)
{
	if (polling->managed != NULL)
		gg_managed_watch_tally(polling->managed, live, allocated_bytes);
}

struct gg_profile *gg_polling_profile(const struct gg_polling *polling)
{
	return polling->profile;
}

int gg_polling_put_mappings(struct gg_polling *polling, struct gg_error *error)
{
	int status = gg_stack_map_write(&polling->target->stack_map, &polling->writer);

	if (status == 0)
		status = gg_profile_writer_commit(&polling->writer);
	if (status < 0 && error != NULL)
		*error = polling->error;
	return status;
}

uint32_t gg_polling_stack(struct gg_polling *polling, uint32_t node)
{
	struct gg_target *target = polling->target;

	return gg_stack_map_stack(&target->stack_map, &target->reader, &polling->writer, node,
	                          UINT64_MAX);
}

bool gg_polling_is_compacted(const struct gg_polling *polling)
{
	return polling->is_compacted;
}

int64_t gg_polling_first_ns(const struct gg_polling *polling)
{
	return polling->first_ns;
}

void gg_polling_set_start_wall(struct gg_polling *polling, uint64_t start_wall_ns)
{
	polling->session.start_wall_ns = start_wall_ns;
}

int64_t gg_polling_view_ns(const struct gg_polling *polling)
{
	const struct gg_view_times *times = &polling->view_times;

	return times->count > 0 ? times->items[times->count - 1] : 0;
}

int64_t gg_polling_view_before(const struct gg_polling *polling, int64_t length_ns)
{
	return gg_view_times_before(&polling->view_times, length_ns);
}
