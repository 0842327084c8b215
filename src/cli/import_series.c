/* SPDX-License-Identifier: Apache-2.0 */
/* import_series - fetches snapshots at equal distances of time. */
#include "cli/import_series.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/printable.h"
#include "base/time_units.h"
#include "cli/import_fetch.h"
#include "format/import/snapshots.h"
#include "record/session/recorder_signals.h"

/* A server that does not answer so often in a row has ended. */
enum { FETCH_FAILURES_MAX = 3 };

struct series_run {
	const struct gg_import_series *series;
	struct gg_profile *profile;
	struct gg_snapshots *snapshots;
	struct gg_recorder_signals signals;
	uint64_t start_ns; /* of the first snapshot, by the monotonic clock */
	int64_t number, count, gap_count, failed_in_a_row;
	struct gg_error failure; /* of the last fetch that failed */
};

static bool is_stopped(struct series_run *run)
{
	bool from_terminal, is_stopped = false;
	int signal;

	while ((signal = gg_recorder_signals_next(&run->signals, &from_terminal)) != 0)
		is_stopped |= signal == SIGINT || signal == SIGTERM || signal == SIGHUP ||
		              signal == SIGQUIT;
	return is_stopped;
}

/* Waits for the time of the next snapshot.  False: the series is over. */
static bool wait_for_next(struct series_run *run)
{
	const struct gg_import_series *series = run->series;
	double spacing_ns = series->every_seconds * GG_NS_PER_S;
	double passed_ns = (double)(gg_clock_monotonic_ns() - run->start_ns);
	double due_ns;

	/* A fetch that took longer than a spacing leaves out the times that have passed. */
	run->number = (int64_t)fmax((double)run->number + 1, floor(passed_ns / spacing_ns) + 1);
	due_ns = (double)(run->number - 1) * spacing_ns;
	if (series->for_seconds > 0 && due_ns > series->for_seconds * GG_NS_PER_S * (1 + 1e-9))
		return false;
	while (passed_ns < due_ns) {
		struct pollfd ready = { .fd = run->signals.fd, .events = POLLIN };
		double milliseconds = fmin(ceil((due_ns - passed_ns) / 1e6), 1e6);

		poll(&ready, 1, (int)milliseconds);
		if (is_stopped(run))
			return false;
		passed_ns = (double)(gg_clock_monotonic_ns() - run->start_ns);
	}
	return true;
}

/* Fetches a snapshot and adds it.  The profile stays as it was if the server failed. */
static int add_one(struct series_run *run, struct gg_error *error)
{
	const struct gg_import_series *series = run->series;
	GG_CLEANUP(gg_buf_done) struct gg_buf fetched = { 0 };
	struct gg_input *input;
	int status = gg_cli_fetch(&input, series->url, &fetched, error);

	if (status < 0)
		return status;
	gg_input_limit(input, series->max_size_bytes);
	status = gg_snapshots_add(run->snapshots, input, run->number, error);
	gg_input_close(input);
	return status;
}

static int note_gaps(const struct series_run *run, struct gg_error *error)
{
	char text[200];

	if (run->gap_count == 0)
		return 0;
	snprintf(
		text, sizeof(text),
		"%lld of %lld fetches failed: what happened meanwhile has the time of the next one.",
		(long long)run->gap_count, (long long)(run->count + run->gap_count));
	return gg_profile_add_note(run->profile, text, error);
}

static int fetch_all(struct series_run *run, struct gg_error *error)
{
	int status = 0;

	run->number = 1;
	do {
		int added = add_one(run, &run->failure);

		if (added < 0 && run->count == 0) {
			*error = run->failure;
			return added;
		}
		if (added < 0) {
			run->failed_in_a_row++;
			continue;
		}
		run->count++;
		run->gap_count += run->failed_in_a_row;
		run->failed_in_a_row = 0;
	} while (run->failed_in_a_row < FETCH_FAILURES_MAX && !is_stopped(run) &&
	         wait_for_next(run));
	status = note_gaps(run, error);
	return status == 0 ? gg_profile_finish(run->profile, error) : status;
}

static void say_end(const struct series_run *run)
{
	const struct gg_import_series *series = run->series;

	if (series->quiet)
		return;
	if (run->failed_in_a_row >= FETCH_FAILURES_MAX)
		fprintf(stderr, "geiger: %s: %s\n", GG_PRINTABLE(run->failure.place),
		        GG_PRINTABLE(run->failure.message));
	fprintf(stderr, "geiger: wrote %s: %lld snapshot%s\n", GG_PRINTABLE(series->output),
	        (long long)run->count, run->count == 1 ? "" : "s");
}

static int begin(struct series_run *run, struct gg_error *error)
{
	const struct gg_import_series *series = run->series;
	int64_t spacing_ns = (int64_t)(series->every_seconds * GG_NS_PER_S);
	const struct gg_snapshots_options options = {
		.command = series->url,
		.labels = series->labels,
		.label_count = series->label_count,
		.spacing_ns = spacing_ns,
		.start_wall_ns = gg_clock_wall_ns() - (uint64_t)spacing_ns,
		.ignore_files = series->ignore_files,
	};

	run->start_ns = gg_clock_monotonic_ns();
	return gg_snapshots_new(&run->snapshots, run->profile, &options, error);
}

int gg_cli_import_series(const struct gg_import_series *series, struct gg_error *error)
{
	struct series_run run = { .series = series };
	int status = gg_recorder_signals_take(&run.signals, error);

	if (status < 0)
		return status;
	status = gg_profile_create(&run.profile, series->output, error);
	if (status == 0)
		status = gg_profile_try(run.profile, error);
	if (status == 0)
		status = begin(&run, error);
	if (status == 0 && !series->quiet)
		fprintf(stderr, "geiger: fetching %s every %g s; Ctrl-C ends it\n",
		        GG_PRINTABLE(series->url), series->every_seconds);
	if (status == 0)
		status = fetch_all(&run, error);
	if (status == 0)
		say_end(&run);
	gg_snapshots_free(run.snapshots);
	gg_profile_close(run.profile);
	gg_recorder_signals_give_back(&run.signals);
	return status;
}
