/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_report - how long a report takes on a profile of a million samples and 100 000 stacks, and
 * how much memory: one process for each grouping, as a user starts it.
 *
 *   bench_report [SAMPLES [STACKS [FILE]]]     keeps the profile in FILE, or takes the one there
 *
 * The profile is that of large_profile.h, of 32 threads.  Half of the samples are read by a second
 * thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "large_profile.h"
#include "query/diff.h"
#include "query/leaks.h"
#include "query/pinned_neighbors.h"
#include "query/query.h"
#include "query/timeline.h"

static struct gg_error error;

static void must(int status)
{
	char line[GG_ERROR_LINE_MAX];

	if (status >= 0)
		return;
	gg_error_format(&error, line, sizeof(line));
	fprintf(stderr, "bench_report: %s\n", line);
	exit(1);
}

static double now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* One kind of report; `ask` computes it and returns the number of its rows. */
struct asking {
	const char *name;
	size_t (*ask)(const struct gg_model *model, const struct asking *asking);
	enum gg_grouping by;
	enum gg_metric metric;
};

static struct gg_query question_of(const struct asking *asking)
{
	struct gg_query question;

	gg_query_init(&question);
	question.by = asking->by;
	question.metric = asking->metric;
	return question;
}

static size_t report(const struct gg_model *model, const struct asking *asking)
{
	const struct gg_query question = question_of(asking);
	struct gg_query_result *result;

	must(gg_query_rows(model, &question, &result, &error));
	return result->row_count;
}

/*
 * Compares a profile with itself, as `geiger diff` does: both queries run at the same time.  The
 * profile is loaded once; the command loads two at the same time.
 */
static size_t compare(const struct gg_model *model, const struct asking *asking,
                      bool only_significant)
{
	const struct gg_diff_query query = { .scale = 1.01,
		                             .confidence = 0.95,
		                             .false_discovery_rate = 0.05,
		                             .only_significant = only_significant };
	const struct gg_query question = question_of(asking);
	struct gg_query_result *before, *after;
	struct gg_diff *difference;

	must(gg_diff_query_both(model, model, &question, &before, &after, &error));
	must(gg_diff_run(model, before, model, after, &query, &difference, &error));
	return difference->row_count;
}

static size_t diff(const struct gg_model *model, const struct asking *asking)
{
	return compare(model, asking, true);
}

/* With --all, each row needs its p-value and its interval. */
static size_t diff_all(const struct gg_model *model, const struct asking *asking)
{
	return compare(model, asking, false);
}

static size_t neighbors(const struct gg_model *model, const struct asking *asking)
{
	const struct gg_query question = question_of(asking);
	struct gg_pinned_neighbors *rows;
	struct gg_query_result *result;

	must(gg_query_rows(model, &question, &result, &error));
	must(gg_pinned_find_neighbors(model, result, 30, &rows, &error));
	return result->row_count;
}

static size_t leaks(const struct gg_model *model, const struct asking *asking)
{
	const struct gg_leaks_query query = { .confidence = 0.95, .limit = 20 };
	struct gg_leaks *found;

	(void)asking;
	must(gg_leaks_run(model, &query, &found, &error));
	return found->row_count;
}

static size_t timeline(const struct gg_model *model, const struct asking *asking)
{
	struct gg_timeline *points;

	(void)asking;
	must(gg_timeline_run(model, 0, 160, 0.95, &points, &error));
	return points->point_count;
}

/* In a process of its own. */
static void run(const char *path, const struct asking *asking)
{
	struct rusage usage;
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		struct gg_profile *profile;
		struct gg_model *model;
		double start = now(CLOCK_MONOTONIC), opened, loaded, asked;
		size_t row_count;

		must(gg_profile_open(&profile, path, &error));
		opened = now(CLOCK_THREAD_CPUTIME_ID);
		must(gg_model_load(&model, &profile, 1, NULL, &error));
		gg_profile_close(profile);
		loaded = now(CLOCK_THREAD_CPUTIME_ID);
		row_count = asking->ask(model, asking);
		asked = now(CLOCK_THREAD_CPUTIME_ID);
		printf("%-22s %.2f = %.2f + %.2f + %.2f, in all %.2f, passed %.2f; %6zu rows",
		       asking->name, asked, opened, loaded - opened, asked - loaded,
		       now(CLOCK_PROCESS_CPUTIME_ID), now(CLOCK_MONOTONIC) - start, row_count);
		fflush(stdout);
		_exit(0);
	}
	if (child < 0 || wait4(child, &status, 0, &usage) < 0 || status != 0)
		exit(1);
	printf("; %.0f MB\n", (double)usage.ru_maxrss * 1024e-6);
}

static const struct asking askings[] = {
	{ "live by function", report, GG_BY_FUNCTION, GG_METRIC_LIVE },
	{ "allocated by function", report, GG_BY_FUNCTION, GG_METRIC_ALLOCATED },
	{ "peak by function", report, GG_BY_FUNCTION, GG_METRIC_PEAK },
	{ "allocated by line", report, GG_BY_LINE, GG_METRIC_ALLOCATED },
	{ "allocated by stack", report, GG_BY_STACK, GG_METRIC_ALLOCATED },
	{ "allocated by module", report, GG_BY_MODULE, GG_METRIC_ALLOCATED },
	{ "allocated by thread", report, GG_BY_THREAD, GG_METRIC_ALLOCATED },
	{ "allocated by process", report, GG_BY_PROCESS, GG_METRIC_ALLOCATED },
	{ "allocated by size", report, GG_BY_SIZE, GG_METRIC_ALLOCATED },
	{ "allocated by kind", report, GG_BY_KIND, GG_METRIC_ALLOCATED },
	{ "pinned by module", report, GG_BY_MODULE, GG_METRIC_PINNED },
	{ "neighbors by module", neighbors, GG_BY_MODULE, GG_METRIC_PINNED },
	{ "leaks", leaks, GG_BY_STACK, GG_METRIC_LIVE },
	{ "diff by function", diff, GG_BY_FUNCTION, GG_METRIC_LIVE },
	{ "diff by stack", diff, GG_BY_STACK, GG_METRIC_LIVE },
	{ "diff by stack, all", diff_all, GG_BY_STACK, GG_METRIC_LIVE },
	{ "timeline", timeline, GG_BY_STACK, GG_METRIC_LIVE },
};

int main(int argc, char **argv)
{
	uint64_t samples = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	uint32_t stacks = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 100000;
	char made[] = "/tmp/bench-report-XXXXXX";
	const char *path = argc > 3 ? argv[3] : made;

	if (argc <= 3) {
		int file = mkstemp(made);

		if (file < 0)
			return 1;
		close(file);
		unlink(made);
	}
	if (argc <= 3 || access(path, F_OK) != 0)
		must(large_profile_make(path, samples, stacks, 32, &error));
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("A report on %llu samples, %u stacks.  Seconds of the main thread: all = opening + "
	       "loading\n+ asking; of all threads; passed on the clock, which others may slow "
	       "down.\n",
	       (unsigned long long)samples, stacks);
	for (size_t i = 0; i < GG_COUNT(askings); i++)
		run(path, &askings[i]);
	if (argc <= 3)
		unlink(path);
	return 0;
}
