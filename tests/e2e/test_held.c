/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An overhead or an error that a recording holds: what the options accept, that real programs get
 * the error, and that reports say what was held.  Times depend on the machine, so the overhead's
 * value is not checked (`make bench BENCH=overhead` shows it).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recording.h"
#include "test.h"

static const char *program(void)
{
	return getenv("HELD_PROGRAM");
}

static void says(struct recording *r, const char *text)
{
	const char *out = gg_buf_text(&r->child.out), *err = gg_buf_text(&r->child.err);

	CHECK_MSG(strstr(out, text) != NULL || strstr(err, text) != NULL, "no '%s' in: %s%s", text,
	          out, err);
}

/* A number of the last output's JSON, after these two members; -1: it is not there. */
static double member(struct recording *r, const char *object, const char *name)
{
	const char *at = strstr(gg_buf_text(&r->child.out), object);
	char quoted[64];

	snprintf(quoted, sizeof(quoted), "\"%s\":", name);
	at = at != NULL ? strstr(at, quoted) : NULL;
	return at != NULL ? strtod(at + strlen(quoted), NULL) : -1;
}

static bool report_json(struct recording *r)
{
	return recording_geiger(r, (const char *const[]){ "report", "--json", r->path, NULL }, 60);
}

TEST(an_error_is_held_and_reported)
{
	double live, low, high;
	struct recording r;

	if (!CHECK(recording_begin(&r)))
		return;
	CHECK(recording_run(
		&r, (const char *const[]){ "--error", "10%", "--", program(), "40000", "30", NULL },
		120));
	CHECK_EQ_I64(r.child.exit_status, 0);
	live = strtod(gg_buf_text(&r.child.out), NULL);
	CHECK(report_json(&r));
	CHECK_EQ_DOUBLE(member(&r, "\"held\":", "asked"), 0.1);
	CHECK(member(&r, "\"held\":", "reached") > 0.05);
	CHECK(member(&r, "\"held\":", "reached") <= 0.1);
	CHECK(member(&r, "\"intervals\":", "to_bytes") > 1024);
	low = member(&r, "\"live_bytes\":", "low");
	high = member(&r, "\"live_bytes\":", "high");
	/* The seed is fixed; the interval of this one holds the truth. */
	CHECK(low <= live + 1e6 && live <= high);
	CHECK(recording_geiger(&r, (const char *const[]){ "report", r.path, NULL }, 60));
	says(&r, "error of live bytes ");
	says(&r, " %, 10 % asked for\n");
	says(&r, "interval ");
	says(&r, " at most by poisson,");
	recording_end(&r);
}

TEST(the_allocator_that_samples_by_itself_holds_an_error)
{
	struct recording r;

	if (!CHECK(recording_begin(&r)))
		return;
	CHECK(recording_run(&r,
	                    (const char *const[]){ "--malloc", "--error", "10%", "--", program(),
	                                           "40000", "30", NULL },
	                    120));
	if (strstr(gg_buf_text(&r.child.err), "libgeiger-malloc") != NULL) {
		recording_end(&r);
		SKIP("libgeiger-malloc is not built");
	}
	CHECK_EQ_I64(r.child.exit_status, 0);
	CHECK(report_json(&r));
	CHECK(member(&r, "\"held\":", "reached") > 0.04);
	CHECK(member(&r, "\"held\":", "reached") <= 0.1);
	recording_end(&r);
}

TEST(a_former_profile_saves_samples)
{
	struct recording r;
	double first, second;
	char former[128];

	if (!CHECK(recording_begin(&r)))
		return;
	snprintf(former, sizeof(former), "%s/former.geiger", r.directory);
	CHECK(recording_run(&r,
	                    (const char *const[]){ "--error", "10%", "-o", former, "--", program(),
	                                           "40000", "2", NULL },
	                    120));
	CHECK_EQ_I64(r.child.exit_status, 0);
	CHECK(recording_run(&r,
	                    (const char *const[]){ "--error", "10%", "--like", former, "--",
	                                           program(), "40000", "2", NULL },
	                    120));
	CHECK_EQ_I64(r.child.exit_status, 0);
	CHECK(report_json(&r));
	CHECK(member(&r, "\"held\":", "reached") <= 0.1);
	second = member(&r, "\"confidence\":", "samples");
	CHECK(recording_geiger(&r, (const char *const[]){ "report", "--json", former, NULL }, 60));
	first = member(&r, "\"confidence\":", "samples");
	CHECK(second > 0 && second < first);
	recording_end(&r);
}

TEST(a_plan_does_not_rely_on_large_blocks)
{
	struct recording r;
	const char *planned;

	if (!CHECK(recording_begin(&r)))
		return;
	/* dd has one block of 64 MiB. */
	CHECK(recording_run(&r,
	                    (const char *const[]){ "-i", "64k", "--", "dd", "if=/dev/zero",
	                                           "of=/dev/null", "bs=64M", "count=1", NULL },
	                    120));
	CHECK_EQ_I64(r.child.exit_status, 0);
	CHECK(recording_geiger(
		&r, (const char *const[]){ "env", "--error", "5%", "--like", r.path, NULL }, 60));
	planned = strstr(gg_buf_text(&r.child.out), "GEIGER_PLANNED_INTERVAL=");
	REQUIRE(planned != NULL);
	/* Small blocks of 64 MiB in all need 1849 samples. */
	CHECK(strtod(strchr(planned, '=') + 1, NULL) < 65e6 * 1.1 / 1849);
	CHECK(strtod(strchr(planned, '=') + 1, NULL) > 65e6 / 1.1 / 1849);
	recording_end(&r);
}

static const char *const function_options[] = { "--error", "30%", "--focus",
	                                        "function=^make_small$", NULL };

static const char *until(const struct recording *r)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/enough", r->directory);
	return path;
}

/* Starts a recording of the program, which runs until finish(). */
static pid_t start(const struct recording *r, const char *const options[], const char *children)
{
	const char *words[32] = { getenv("GEIGER"), "record", "-q", "-o", r->path };
	pid_t pid = fork();
	size_t count = 5;

	if (pid != 0)
		return pid;
	for (; *options != NULL; options++)
		words[count++] = *options;
	words[count++] = "--";
	words[count++] = program();
	words[count++] = "20000";
	words[count++] = "1";
	words[count++] = until(r);
	words[count++] = children;
	words[count] = NULL;
	setenv("TMPDIR", r->directory, 1);
	if (open("/dev/null", O_WRONLY) >= 0)
		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
	execv(words[0], (char *const *)(uintptr_t)words);
	_exit(127);
}

static void finish(const struct recording *r, pid_t pid)
{
	int status = -1;

	close(open(until(r), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ_I64(status, 0);
}

/* Returns when the recorder has chosen an interval. */
static pid_t start_focused(struct recording *r)
{
	pid_t pid = start(r, function_options, NULL);

	CHECK(recording_wait_for(r, "select count(*) from event where kind = 'interval'", 1, 100));
	return pid;
}

TEST(the_recorder_holds_the_error_of_a_function)
{
	struct recording r;
	pid_t pid;

	if (!CHECK(recording_begin(&r)))
		return;
	pid = start_focused(&r);
	/*
	 * The function has 300 KB, of which some 55 samples are to be live: 5 KiB apart, or finer.
	 */
	/* Blocks from before are replaced. */
	CHECK(recording_wait_for(
		&r,
		"select max(t_alloc) - (select max(time_ns) from event where kind = "
		"'interval') from sample",
		1e9, 100));
	finish(&r, pid);
	CHECK(report_json(&r));
	CHECK_EQ_DOUBLE(member(&r, "\"focus_error\":", "asked"), 0.3);
	CHECK(member(&r, "\"focus_error\":", "reached") > 0);
	CHECK(member(&r, "\"focus_error\":", "reached") <= 0.3);
	says(&r, "live bytes of function=^make_small$ were to be known to 30 %");
	recording_end(&r);
}

TEST(a_block_that_children_inherited_counts_once_for_the_error_of_a_function)
{
	struct recording r;
	double coarsest;
	pid_t pid;

	if (!CHECK(recording_begin(&r)))
		return;
	pid = start(&r, function_options, "8");
	CHECK(recording_wait_for(&r, "select count(*) from process", 9, 100));
	/* A few looks of the recorder. */
	CHECK(recording_wait_for(
		&r, "select max(time_ns) - (select max(start_ns) from process) from memory", 2e9,
		100));
	finish(&r, pid);
	/* 200 KB and 55 samples: 4 KiB apart, not the 32 KiB of nine times as much. */
	coarsest = recording_number(&r, "select max(cast(substr(detail, instr(detail, ' to ') + 4) "
	                                "as integer)) from event where kind = 'interval'");
	CHECK_MSG(coarsest >= 1024 && coarsest < 16384, "%g", coarsest);
	recording_end(&r);
}

TEST(a_users_interval_ends_the_control_by_a_function)
{
	char who[16];
	struct recording r;
	pid_t pid;

	if (!CHECK(recording_begin(&r)))
		return;
	pid = start_focused(&r);
	snprintf(who, sizeof(who), "%.0f", recording_number(&r, "select pid from process"));
	CHECK(recording_geiger(&r, (const char *const[]){ "control", who, "interval", "64k", NULL },
	                       60));
	/* Blocks from before are replaced, and so the recorder would like a finer interval. */
	CHECK(recording_wait_for(
		&r,
		"select max(t_alloc) - (select max(time_ns) from event where kind = 'interval' "
		"and detail like '% to 65536%') from sample",
		2e9, 100));
	finish(&r, pid);
	CHECK_EQ_DOUBLE(recording_number(&r,
	                                 "select cast(substr(detail, instr(detail, ' to ') + 4) "
	                                 "as integer) from event where kind = 'interval' order "
	                                 "by time_ns desc limit 1"),
	                65536);
	CHECK(report_json(&r));
	says(&r, "that others had set for it");
	recording_end(&r);
}

TEST(an_overhead_is_reported_with_the_recorder)
{
	struct recording r;

	if (!CHECK(recording_begin(&r)))
		return;
	CHECK(recording_run(
		&r,
		(const char *const[]){ "--overhead", "2.5%", "--", program(), "40000", "60", NULL },
		120));
	CHECK_EQ_I64(r.child.exit_status, 0);
	CHECK(recording_number(&r, "select value from counter where process = 0 and name = 'ns of "
	                           "the recorder'") > 1e6);
	CHECK(report_json(&r));
	CHECK_EQ_DOUBLE(member(&r, "\"held\":", "asked"), 0.025);
	CHECK(member(&r, "\"held\":", "recorder") > 0);
	CHECK(member(&r, "\"held\":", "hooks") > 0);
	CHECK(member(&r, "\"held\":", "samples") > 0);
	CHECK(member(&r, "\"held\":", "measured") >
	      member(&r, "\"held\":", "recorder") + member(&r, "\"held\":", "hooks"));
	CHECK(recording_geiger(&r, (const char *const[]){ "report", r.path, NULL }, 60));
	says(&r, "overhead ");
	says(&r, " %, 2.5 % asked for: samples ");
	says(&r, " at most by poisson,");
	recording_end(&r);
}

TEST(control_asks_for_an_error_and_tells_what_is_reached)
{
	struct recording r;
	char who[16];
	pid_t pid;

	if (!CHECK(recording_begin(&r)))
		return;
	pid = start(&r, (const char *const[]){ "--interval", "256k", NULL }, NULL);
	CHECK(recording_wait_for(&r, "select count(*) from sample", 100, 100));
	snprintf(who, sizeof(who), "%.0f", recording_number(&r, "select pid from process"));
	CHECK(recording_geiger(&r, (const char *const[]){ "control", who, "error", "12%", NULL },
	                       60));
	CHECK_EQ_I64(r.child.exit_status, 0);
	says(&r, "an error of 12% for live bytes");
	CHECK(recording_geiger(&r, (const char *const[]){ "control", who, "status", NULL }, 60));
	says(&r, "\nerror        12% asked for; ");
	CHECK(recording_geiger(
		&r, (const char *const[]){ "control", who, "status", "--json", NULL }, 60));
	CHECK_EQ_DOUBLE(member(&r, "\"error\":", "asked"), 0.12);
	CHECK(recording_geiger(&r, (const char *const[]){ "top", "--json", "-n", "1", who, NULL },
	                       60));
	CHECK_EQ_DOUBLE(member(&r, "\"error\":", "asked"), 0.12);
	CHECK(recording_geiger(&r, (const char *const[]){ "top", "--batch", "-n", "1", who, NULL },
	                       60));
	says(&r, "Held: error ");
	/* The heap is too small for this one, whatever it replaces. */
	CHECK(recording_geiger(&r, (const char *const[]){ "control", who, "error", "0.1%", NULL },
	                       60));
	CHECK(recording_geiger(&r, (const char *const[]){ "control", who, "status", NULL }, 60));
	says(&r, " % now, which the current interval does not reach\n");
	/* A fixed interval ends it. */
	CHECK(recording_geiger(&r, (const char *const[]){ "control", who, "interval", "8k", NULL },
	                       60));
	CHECK(recording_geiger(
		&r, (const char *const[]){ "control", who, "status", "--json", NULL }, 60));
	CHECK_EQ_DOUBLE(member(&r, "\"error\":", "asked"), -1);
	finish(&r, pid);
	recording_end(&r);
}

/*
 * Runs the program without geiger until finish().  Returns once it is executed, because an attach
 * fails if a process executes another program meanwhile.
 */
static pid_t start_alone(const struct recording *r)
{
	int ends[2];
	char byte;
	pid_t pid;

	if (!CHECK_EQ_I64(pipe2(ends, O_CLOEXEC), 0))
		return -1;
	pid = fork();
	if (pid != 0) {
		close(ends[1]);
		CHECK_EQ_I64(read(ends[0], &byte, 1), 0); /* the exec closes the other end */
		close(ends[0]);
		return pid;
	}
	if (open("/dev/null", O_WRONLY) >= 0)
		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
	execl(program(), program(), "20000", "1", until(r), (char *)NULL);
	_exit(127);
}

TEST(an_attached_program_has_an_overhead)
{
	struct recording r;
	double changes = -1;
	char who[16];
	pid_t pid;

#ifndef __x86_64__
	SKIP("attach is for x86-64");
#endif
	if (!CHECK(recording_begin(&r)))
		return;
	pid = start_alone(&r);
	snprintf(who, sizeof(who), "%d", (int)pid);
	CHECK(recording_geiger(&r, (const char *const[]){ "attach", "--overhead", "5%", who, NULL },
	                       60));
	CHECK_EQ_I64(r.child.exit_status, 0);
	for (int i = 0; i < 1000 && !(changes > 0); i++) {
		CHECK(recording_geiger(
			&r, (const char *const[]){ "control", who, "status", "--json", NULL }, 60));
		changes = member(&r, "\"overhead\":", "interval_changes");
		usleep(10000);
	}
	CHECK(changes > 0);
	CHECK_EQ_DOUBLE(member(&r, "\"overhead\":", "asked"), 0.05);
	CHECK(member(&r, "\"overhead\":", "samples") > 0);
	CHECK(member(&r, "\"overhead\":", "hooks") > 0);
	CHECK(recording_geiger(&r, (const char *const[]){ "detach", who, NULL }, 60));
	finish(&r, pid);
	recording_end(&r);
}

static void is_refused(struct recording *r, const char *const words[], int exit_status,
                       const char *why)
{
	CHECK(recording_geiger(r, words, 60));
	CHECK_EQ_I64(r->child.exit_status, exit_status);
	says(r, why);
}

TEST(what_cannot_be_held_is_refused)
{
	struct recording r;

	if (!CHECK(recording_begin(&r)))
		return;
	is_refused(&r, (const char *const[]){ "record", "--error", "5", "--", "false", NULL }, 125,
	           "'5' is not an error");
	is_refused(&r, (const char *const[]){ "record", "--like", "x", "--", "false", NULL }, 125,
	           "it is for an error");
	is_refused(&r,
	           (const char *const[]){ "record", "--focus", "function=f", "--", "false", NULL },
	           125, "a function is what an error is of");
	is_refused(&r, (const char *const[]){ "record", "--focus", "frees", "--", "false", NULL },
	           125, "that is no focus");
	is_refused(&r,
	           (const char *const[]){ "record", "--focus", "function=f", "--error", "5%",
	                                  "--overhead", "1%", "--", "false", NULL },
	           125, "cannot be held together");
	is_refused(&r,
	           (const char *const[]){ "record", "--focus", "function=(", "--error", "5%", "--",
	                                  "false", NULL },
	           125, "'(' is none");
	is_refused(&r,
	           (const char *const[]){ "record", "--scheme", "optimal", "--error", "5%", "--",
	                                  "false", NULL },
	           125, "cannot follow it");
	is_refused(&r,
	           (const char *const[]){ "record", "--error", "5%", "--like", "/nonexistent", "--",
	                                  "false", NULL },
	           125, "/nonexistent");
	is_refused(&r,
	           (const char *const[]){ "record", "--error", "5%", "-i", "64k", "--", "false",
	                                  NULL },
	           125, "the error chooses the interval");
	setenv("GEIGER_OVERHEAD", "1%", 1);
	is_refused(&r,
	           (const char *const[]){ "record", "--focus", "function=f", "--error", "5%", "--",
	                                  "false", NULL },
	           125, "GEIGER_OVERHEAD is set");
	unsetenv("GEIGER_OVERHEAD");
	is_refused(&r,
	           (const char *const[]){ "env", "--focus", "function=f", "--error", "5%", NULL },
	           2, "only a recorder knows functions");
	is_refused(&r, (const char *const[]){ "env", "--exact", "--error", "5%", NULL }, 2,
	           "nothing is sampled");
	CHECK(recording_geiger(&r, (const char *const[]){ "env", "--error", "5%", NULL }, 60));
	says(&r, "GEIGER_ERROR=5%");
	recording_end(&r);
}
