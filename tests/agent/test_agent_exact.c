/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_agent_exact - GEIGER_EXACT=1: counts of known programs, after forks, an exec and kills.
 *
 *   GG_TEST_KILLS   how often a program is killed; 20 by default
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "agent/exact_log.h"
#include "agent/place.h"
#include "child.h"
#include "region/reader/view.h"
#include "test.h"

enum { REGIONS_MAX = 4, LIMIT_SECONDS = 60, BLOCKS = 100 };

static const char *directory;

struct counts {
	struct gg_exact_sums sums;
	uint64_t inherited_freed_count, inherited_freed_bytes;
};

/* Reads all regions of the directory, the oldest first, and empties it. */
static int read_regions(struct gg_region_view views[REGIONS_MAX])
{
	int count = 0;
	struct dirent *entry;
	DIR *listing = opendir(directory);

	while (listing != NULL && (entry = readdir(listing)) != NULL) {
		char path[PLACE_PATH_MAX];

		if (strstr(entry->d_name, ".region") == NULL || count == REGIONS_MAX)
			continue;
		snprintf(path, sizeof(path), "%s/%.200s", directory, entry->d_name);
		count += place_read_region(path, &views[count]);
	}
	if (listing != NULL)
		closedir(listing);
	place_empty(directory);
	if (count == 2 && views[0].header.start_monotonic_ns > views[1].header.start_monotonic_ns) {
		struct gg_region_view later = views[0];

		views[0] = views[1];
		views[1] = later;
	}
	return count;
}

static int run(const char *what, struct gg_region_view views[REGIONS_MAX])
{
	const char *const argv[] = { getenv("EXACT_PROGRAM"), what, NULL };
	struct place_command command;
	struct child child;
	char dir[100];
	int count = 0;

	if (directory == NULL)
		directory = place_make();
	snprintf(dir, sizeof(dir), "GEIGER_DIR=%s", directory);
	place_command(&command, argv, getenv("GEIGER_AGENT"));
	if (CHECK(child_run(&child, command.argv,
	                    (const char *const[]){ command.preload, dir, "GEIGER_EXACT=1", NULL },
	                    LIMIT_SECONDS)) &&
	    CHECK_EQ_I64(child.exit_status, 0) && CHECK_EQ_U64(child.err.length, 0))
		count = read_regions(views);
	child_done(&child);
	return count;
}

static void add(struct counts *counts, const struct gg_exact_total *total)
{
	struct gg_exact_sums sums = gg_exact_total_sums(total);

	counts->sums.allocated_count += sums.allocated_count;
	counts->sums.allocated_bytes += sums.allocated_bytes;
	counts->sums.freed_count += sums.freed_count;
	counts->sums.freed_bytes += sums.freed_bytes;
	counts->sums.temporary_count += sums.temporary_count;
	counts->inherited_freed_count += total->inherited_freed_count;
	counts->inherited_freed_bytes +=
		total->inherited_freed_bytes[total->inherited_freed_count & 1];
}

/* thread 0: all threads. */
static struct counts counts_of(const struct gg_region_view *view, uint32_t thread)
{
	struct counts counts = { 0 };

	for (uint32_t i = 0; i < view->site_total_count; i++)
		if (thread == 0 || view->exact_totals[i].thread == thread)
			add(&counts, &view->exact_totals[i]);
	return counts;
}

static void done(struct gg_region_view *views, int count)
{
	for (int i = 0; i < count; i++)
		gg_region_view_done(&views[i]);
}

static void check_forms(const struct gg_region_view *view)
{
	struct counts counts = counts_of(view, 0);

	/* 13 allocations; realloc() frees the old block and allocates the new one. */
	CHECK_EQ_U64(counts.sums.allocated_count, 13);
	CHECK_EQ_U64(counts.sums.allocated_bytes, 10001 + 3 * 10001 + 10003 + 10005 + 1000007 + 11 +
	                                                  10009 + 10048 + 10011 + 10013 + 10015 +
	                                                  3 * 10017);
	CHECK_EQ_U64(counts.sums.freed_count, 5);
	CHECK_EQ_U64(counts.sums.freed_bytes, 10003 + 10005 + 1000007 + 10001 + 3 * 10001);
	CHECK_EQ_U64(counts.sums.temporary_count, 3);
	CHECK_EQ_U64(view->header.exact.peak_bytes, 10001 + 3 * 10001 + 1000007);
	CHECK_EQ_U64(view->header.counters[GG_COUNT_MISSED_FREES], 0);
}

TEST(each_function_counts_what_it_is_asked_for)
{
	struct gg_region_view views[REGIONS_MAX];
	int count = run("forms", views);

	if (CHECK_EQ_I64(count, 1))
		check_forms(&views[0]);
	done(views, count);
}

TEST(an_executed_program_has_a_region_of_its_own)
{
	struct gg_region_view views[REGIONS_MAX];
	int count = run("exec", views);

	if (CHECK_EQ_I64(count, 2)) {
		CHECK_EQ_U64(counts_of(&views[0], 0).sums.allocated_bytes, BLOCKS * 10001);
		CHECK_EQ_U64(counts_of(&views[0], 0).sums.freed_count, 0);
		check_forms(&views[1]);
	}
	done(views, count);
}

static void check_fork(const char *what)
{
	struct gg_region_view views[REGIONS_MAX];
	int count = run(what, views);

	if (CHECK_EQ_I64(count, 2)) {
		struct counts parent = counts_of(&views[0], 0), child = counts_of(&views[1], 0);

		CHECK_EQ_U64(parent.sums.allocated_bytes, BLOCKS * 10001);
		CHECK_EQ_U64(parent.sums.freed_count, BLOCKS);
		CHECK_EQ_U64(parent.sums.freed_bytes, BLOCKS * 10001);
		CHECK_EQ_U64(parent.inherited_freed_count, 0);
		/* Its own blocks, and apart from them those that it had at the fork. */
		CHECK_EQ_U64(views[1].header.exact.inherited_count, BLOCKS);
		CHECK_EQ_U64(views[1].header.exact.inherited_bytes, BLOCKS * 10001);
		CHECK_EQ_U64(child.inherited_freed_count, BLOCKS / 2);
		CHECK_EQ_U64(child.inherited_freed_bytes, BLOCKS / 2 * 10001);
		CHECK_EQ_U64(child.sums.allocated_bytes, BLOCKS / 2 * 20001);
		CHECK_EQ_U64(child.sums.freed_bytes, BLOCKS / 4 * 20001);
		CHECK_EQ_U64(views[1].header.exact.peak_bytes, BLOCKS / 2 * 20001);
	}
	done(views, count);
}

TEST(a_forked_child_counts_inherited_blocks_apart)
{
	check_fork("fork");
	check_fork("clone");
}

/* --- kills --- */

static pid_t start(const char *log)
{
	const char *const argv[] = { getenv("EXACT_PROGRAM"), "threads", log, NULL };
	struct place_command command;
	pid_t child;

	place_command(&command, argv, getenv("GEIGER_AGENT"));
	child = fork();
	if (child == 0) {
		putenv(command.preload);
		setenv("GEIGER_DIR", directory, 1);
		setenv("GEIGER_EXACT", "1", 1);
		execv(command.argv[0], (char *const *)command.argv);
		_exit(127);
	}
	return child;
}

static void check_thread(const struct gg_region_view *view, const struct exact_log_thread *log)
{
	struct counts counts = { 0 };

	for (uint32_t i = 1; i < view->thread_count; i++)
		if (view->threads[i].tid == log->tid)
			counts = counts_of(view, i);
	/* The call under way counts or not; main() also made the blocks of its threads. */
	CHECK_MSG(counts.sums.allocated_count - log->malloc_done <= EXACT_LOG_THREADS,
	          "%" PRIu64 " of %" PRIu64 " allocations", counts.sums.allocated_count,
	          log->malloc_done);
	CHECK_MSG(counts.sums.freed_count - log->free_done <= 1, "%" PRIu64 " of %" PRIu64 " frees",
	          counts.sums.freed_count, log->free_done);
}

static void kill_once(const char *path, struct exact_log *log, long ns)
{
	const struct timespec time = { .tv_nsec = ns };
	struct gg_region_view views[REGIONS_MAX];
	int count, status;
	pid_t child;

	memset(log, 0, sizeof(*log));
	child = start(path);
	nanosleep(&time, NULL);
	kill(child, SIGKILL);
	CHECK(waitpid(child, &status, 0) == child);
	count = read_regions(views);
	/* A region that was not made yet has no magic. */
	for (int i = 0; i < count; i++) {
		CHECK_EQ_U64(views[i].header.counters[GG_COUNT_MISSED_FREES], 0);
		for (int thread = 0; thread < EXACT_LOG_THREADS; thread++)
			if (log->threads[thread].malloc_begun > 0)
				check_thread(&views[i], &log->threads[thread]);
	}
	done(views, count);
}

TEST(a_kill_loses_no_count)
{
	const char *wanted = getenv("GG_TEST_KILLS");
	int kills = wanted != NULL ? atoi(wanted) : 20, fd;
	char path[PLACE_PATH_MAX];
	struct exact_log *log;
	uint64_t called = 0;

	if (directory == NULL)
		directory = place_make();
	/* The program inherits it, and opens it by this name. */
	fd = memfd_create("log", 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	REQUIRE(fd >= 0 && ftruncate(fd, sizeof(*log)) == 0);
	log = mmap(NULL, sizeof(*log), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	REQUIRE(log != MAP_FAILED);
	for (int i = 0; i < kills; i++) {
		kill_once(path, log, (10 + i * 7 % 90) * 1000000L);
		called += log->threads[0].malloc_done;
	}
	CHECK(called > 0);
	munmap(log, sizeof(*log));
	close(fd);
}
