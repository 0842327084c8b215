/* SPDX-License-Identifier: Apache-2.0 */
#include "recording.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "scratch.h"

enum {
	ARGUMENTS_MAX = 64,
	/* An answer of the agent counts for a second; the two clocks differ by less. */
	ANSWER_NS = 1100000000,
};

bool recording_begin(struct recording *r)
{
	*r = (struct recording){ 0 };
	if (getenv("GEIGER") == NULL)
		return false;
	r->directory = scratch_new_folder();
	snprintf(r->path, sizeof(r->path), "%s/p.geiger", r->directory);
	setenv("GEIGER_SEED", "1", 1);
	return true;
}

/* Files directly in the directory, which this test made. */
void recording_end(struct recording *r)
{
	DIR *listing = opendir(r->directory);
	struct dirent *entry;

	child_done(&r->child);
	/* Hidden ones, too; directories stay. */
	while (listing != NULL && (entry = readdir(listing)) != NULL)
		unlinkat(dirfd(listing), entry->d_name, 0);
	if (listing != NULL)
		closedir(listing);
	rmdir(r->directory);
}

bool recording_run_with(struct recording *r, const char *const options[],
                        const char *const environment[], double limit_seconds)
{
	const char *argv[ARGUMENTS_MAX] = { getenv("GEIGER"), "record", "-o", r->path };
	size_t count = 4;

	while (*options != NULL && count < ARGUMENTS_MAX - 1)
		argv[count++] = *options++;
	child_done(&r->child);
	return child_run(&r->child, argv, environment, limit_seconds) && !r->child.timed_out;
}

bool recording_run(struct recording *r, const char *const options[], double limit_seconds)
{
	return recording_run_with(r, options, NULL, limit_seconds);
}

/* Waits until the program is ready, then for a look at nothing that was before. */
static bool wait_for_look(struct recording *r, const char *condition, double seconds)
{
	uint64_t end_ns = gg_clock_monotonic_ns() + (uint64_t)(seconds * 1e9);
	char path[128], query[512];

	snprintf(path, sizeof(path), "%s/ready", r->directory);
	while (access(path, F_OK) != 0) {
		if (gg_clock_monotonic_ns() > end_ns)
			return false;
		usleep(10000);
	}
	snprintf(query, sizeof(query),
	         "select count(*) from look, session where moments & 1 and "
	         "start_wall_ns + time_ns > %" PRIu64 " and %s",
	         gg_clock_wall_ns() + ANSWER_NS, condition);
	return recording_wait_for(r, query, 1, seconds);
}

bool recording_run_seen(struct recording *r, const char *const options[],
                        const char *const environment[], const char *condition,
                        double limit_seconds)
{
	pid_t watcher;
	bool is_done;

	fflush(stdout);
	watcher = fork();
	if (watcher == 0) {
		char path[128];
		bool is_seen = wait_for_look(r, condition, limit_seconds / 3);

		snprintf(path, sizeof(path), "%s/seen", r->directory);
		close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
		fflush(stdout);
		_exit(is_seen ? 0 : 1);
	}
	is_done = recording_run_with(r, options, environment, limit_seconds);
	if (watcher > 0) {
		int status = 0;

		kill(watcher, SIGTERM); /* if the program ended without it */
		waitpid(watcher, &status, 0);
		is_done &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
	}
	return is_done && watcher > 0;
}

bool recording_geiger(struct recording *r, const char *const arguments[], double limit_seconds)
{
	const char *argv[ARGUMENTS_MAX] = { getenv("GEIGER") };
	size_t count = 1;

	while (*arguments != NULL && count < ARGUMENTS_MAX - 1)
		argv[count++] = *arguments++;
	child_done(&r->child);
	return child_run(&r->child, argv, NULL, limit_seconds) && !r->child.timed_out;
}

const char *recording_text(struct recording *r, const char *query)
{
	static char text[4096];
	/* A recorder that writes has the file locked for a moment. */
	const char *argv[] = { "sqlite3", "-readonly", "-cmd", ".timeout 10000",
		               r->path,   query,       NULL };
	struct child child;

	text[0] = '\0';
	if (child_run(&child, argv, NULL, 60) && child.exit_status == 0)
		snprintf(text, sizeof(text), "%s", gg_buf_text(&child.out));
	else
		printf("%s: %s\n", query, gg_buf_text(&child.err));
	child_done(&child);
	text[strcspn(text, "\n")] = '\0';
	return text;
}

double recording_number(struct recording *r, const char *query)
{
	const char *text = recording_text(r, query);
	char *end;
	double number = strtod(text, &end);

	return end == text ? -1 : number;
}

bool recording_wait_for(struct recording *r, const char *query, double least, double seconds)
{
	uint64_t end_ns = gg_clock_monotonic_ns() + (uint64_t)(seconds * 1e9);

	while (gg_clock_monotonic_ns() < end_ns) {
		if (access(r->path, R_OK) == 0 && recording_number(r, query) >= least)
			return true;
		usleep(50000);
	}
	return false;
}

bool recording_adds_up(struct recording *r)
{
	static const char query[] =
		"with t as (select process, coalesce(stack, 0) s, sum(allocated_samples) a,"
		"   sum(freed_samples) f from total group by 1, 2),"
		" x as (select process, coalesce(stack, 0) s, count(*) a, count(t_free) f from sample"
		"   group by 1, 2),"
		" c as (select process, coalesce(stack, 0) s, sum(samples) n from coarse group by 1, 2)"
		"select count(*) from t left join x using (process, s) left join c using (process, s)"
		"  where t.a < coalesce(x.a, 0) + coalesce(c.n, 0)"
		"     or t.a - coalesce(x.a, 0) <> t.f - coalesce(x.f, 0)";

	/* Inherited blocks that were freed before anybody looked are in totals alone. */
	return recording_number(r, query) == 0 &&
	       recording_number(r, "select (select coalesce(sum(allocated_samples), 0) from total)"
	                           " = (select count(*) - count(origin) from sample) +"
	                           " (select coalesce(sum(samples), 0) from coarse) +"
	                           " (select coalesce(sum(value), 0) from counter"
	                           "  where name = 'samples inherited')") == 1;
}
