/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_agent_trigger - shows how many dumps the agent writes by itself, when, and that each is
 * whole.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/dump_text.h"
#include "agent/place.h"
#include "child.h"
#include "region/reader/view.h"
#include "test.h"

static const char *directory;
static char path[600];           /* of the last dump that was counted */
static char environment[4][200]; /* what every run has */

__attribute__((constructor(101))) static void make_directory(void)
{
	directory = place_make();
	snprintf(environment[0], sizeof(environment[0]), "GEIGER_DIR=%s", directory);
	snprintf(environment[1], sizeof(environment[1]), "GEIGER_DUMP=%s/d", directory);
}

/* Runs the program with up to three words and three settings. */
static struct child run(const char *const words[], const char *const settings[])
{
	const char *argv[8] = { getenv("DUMP_PROGRAM") }, *with[10];
	static struct place_command command;
	struct child child;
	int count = 0;

	for (int i = 0; words[i] != NULL; i++)
		argv[i + 1] = words[i];
	place_command(&command, argv, getenv("GEIGER_AGENT"));
	with[count++] = command.preload;
	with[count++] = environment[0];
	with[count++] = environment[1];
	for (int i = 0; settings[i] != NULL; i++)
		with[count++] = settings[i];
	with[count] = NULL;
	place_empty(directory);
	CHECK(child_run(&child, command.argv, with, 500));
	return child;
}

#define WORDS(...)    ((const char *const[]){ __VA_ARGS__, NULL })
#define SETTINGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void run_quietly(const char *const words[], const char *const settings[])
{
	struct child child = run(words, settings);

	CHECK_MSG(child.exit_status == 0 && child.out.length == 0 && child.err.length == 0,
	          "status %d, \"%s\"", child.exit_status, gg_buf_text(&child.err));
	child_done(&child);
}

static unsigned count(const char *kind)
{
	return dump_text_count(directory, kind, path);
}

static struct dump_text last(const char *kind)
{
	struct dump_text text = { 0 };

	CHECK(count(kind) > 0 && dump_text_read(path, &text));
	CHECK(text.is_whole);
	return text;
}

static uint64_t recorded_bytes(void)
{
	struct gg_region_view view;
	uint64_t bytes;

	if (!CHECK(place_open_region(directory, &view)))
		return 0;
	bytes = (uint64_t)gg_fixed_value(gg_region_view_totals(&view).allocated.bytes);
	gg_region_view_done(&view);
	return bytes;
}

TEST(each_crossing_of_the_interval_is_one_dump)
{
	run_quietly(WORDS("threads", "1", "2000", "1000"),
	            SETTINGS("GEIGER_INTERVAL=1", "GEIGER_DUMP_INTERVAL=100k"));
	CHECK(recorded_bytes() >= 2000000);
	CHECK_MSG(count("i") == recorded_bytes() / 102400, "%u dumps of %llu bytes", count("i"),
	          (unsigned long long)recorded_bytes());
	CHECK(count("") == count("i") && dump_text_strangers(directory) == 0);
}

TEST(of_eight_threads_that_cross_each_crossing_is_one_dump)
{
	for (int i = 0; i < 5; i++) {
		run_quietly(WORDS("threads", "8", "1000", "1000"),
		            SETTINGS("GEIGER_INTERVAL=1", "GEIGER_DUMP_INTERVAL=64k"));
		CHECK_MSG(count("i") == recorded_bytes() / 65536, "%u dumps of %llu bytes",
		          count("i"), (unsigned long long)recorded_bytes());
	}
}

TEST(what_is_larger_than_the_interval_is_one_dump)
{
	run_quietly(WORDS("threads", "1", "10", "1000000"),
	            SETTINGS("GEIGER_INTERVAL=1", "GEIGER_DUMP_INTERVAL=100k"));
	CHECK_MSG(count("i") == 10, "%u dumps", count("i"));
}

TEST(a_new_high_is_a_dump_and_the_same_again_is_none)
{
	/* At 20, 40, ... 300 MB; the second round reaches what was there. */
	run_quietly(WORDS("steps"), SETTINGS("GEIGER_INTERVAL=1", "GEIGER_DUMP_PEAK=16M"));
	CHECK_MSG(count("u") == 15, "%u dumps", count("u"));
}

TEST(highs_are_further_apart_the_higher_they_are)
{
	run_quietly(WORDS("steps"), SETTINGS("GEIGER_INTERVAL=1", "GEIGER_DUMP_PEAK=1M"));
	/* Up to 200 MB, where 5 % are 10 MB, at each block, then at every second one. */
	CHECK_MSG(count("u") == 25, "%u dumps", count("u"));
}

TEST(the_final_dump_is_all_there_was)
{
	struct dump_text text;

	run_quietly(WORDS("threads", "2", "500", "1000"),
	            SETTINGS("GEIGER_INTERVAL=1", "GEIGER_DUMP_FINAL=1"));
	CHECK_EQ_U64(count(""), 1);
	text = last("f");
	CHECK_MSG(text.total.bytes == recorded_bytes(), "%llu bytes of %llu",
	          (unsigned long long)text.total.bytes, (unsigned long long)recorded_bytes());
	CHECK(text.interval_bytes == 1 && text.thread_count == 3 && text.stack_count >= 2);
	CHECK_EQ_U64(text.stacks.bytes, text.total.bytes);
	CHECK_EQ_U64(text.stacks.count, text.total.count);
	CHECK_EQ_U64(text.threads.bytes, text.total.bytes);
	CHECK_MSG(strcmp(text.names, "dump_program;dump_program;dump_program;") == 0, "%s",
	          text.names);
}

TEST(gperftools_form_says_the_same)
{
	struct dump_text text;

	run_quietly(WORDS("threads", "2", "500", "1000"),
	            SETTINGS("GEIGER_INTERVAL=1", "GEIGER_DUMP_FINAL=1",
	                     "GEIGER_DUMP_FORM=gperftools"));
	text = last("f");
	CHECK(text.interval_bytes == 0 && text.total.bytes == recorded_bytes() &&
	      text.stacks.bytes == text.total.bytes);
}

TEST(what_is_left_at_the_end_is_told)
{
	struct child child = run(WORDS("leak"),
	                         SETTINGS("GEIGER_INTERVAL=1", "GEIGER_DUMP_LEAK=1"));

	CHECK(child.exit_status == 0 && strcmp(gg_buf_text(&child.out), "out\n") == 0);
	CHECK_MSG(strstr(gg_buf_text(&child.err), "]: Leak approximation summary: ~10") != NULL &&
	                  strstr(gg_buf_text(&child.err), " objects, >= ") != NULL,
	          "%s", gg_buf_text(&child.err));
	CHECK_EQ_U64(count(""), 0);
	child_done(&child);
}

TEST(a_leak_that_is_an_error_ends_with_status_1_and_all_of_its_output)
{
	struct child child = run(WORDS("leak-error"),
	                         SETTINGS("GEIGER_INTERVAL=1", "GEIGER_ACTIVE=1"));

	CHECK(child.exit_status == 1 && strcmp(gg_buf_text(&child.out), "out\n") == 0);
	CHECK_CONTAINS(gg_buf_text(&child.err), "Exiting with error code");
	child_done(&child);
}

TEST(a_signal_is_a_dump_and_then_the_programs)
{
	struct child child = run(WORDS("handler"),
	                         SETTINGS("GEIGER_INTERVAL=1", "GEIGER_DUMP_SIGNAL=USR2"));

	CHECK_MSG(child.exit_status == 0 &&
	                  strcmp(gg_buf_text(&child.out),
	                         "before: default\nafter: its own\nsignal: its own\n"
	                         "handled: 3\nalive\n") == 0,
	          "status %d: %s", child.exit_status, gg_buf_text(&child.out));
	/* The agent also dumps at the signals after SIG_DFL and SIG_IGN. */
	CHECK_MSG(count("m") == 5, "%u dumps", count("m"));
	last("m");
	child_done(&child);
}

/* Starts the program in the background; its output is read by the descriptor. */
static pid_t start(const char *mode, const char *setting, int *ret_output)
{
	const char *argv[] = { getenv("DUMP_PROGRAM"), mode, NULL };
	static struct place_command command;
	int ends[2];
	pid_t child;

	place_command(&command, argv, getenv("GEIGER_AGENT"));
	place_empty(directory);
	if (pipe(ends) < 0 || (child = fork()) < 0)
		return -1;
	if (child == 0) {
		dup2(ends[1], 1);
		putenv(command.preload);
		putenv(environment[0]);
		putenv(environment[1]);
		putenv((char *)"GEIGER_INTERVAL=1");
		putenv((char *)setting);
		execvp(command.argv[0], (char *const *)command.argv);
		_exit(127);
	}
	close(ends[1]);
	*ret_output = ends[0];
	return child;
}

/* Waits for that many dumps, or a minute. */
static bool wait_for(const char *kind, unsigned wanted)
{
	for (int i = 0; i < 6000 && count(kind) < wanted; i++)
		usleep(10000);
	return count(kind) >= wanted;
}

TEST(a_program_that_allocates_nothing_dumps_at_a_signal)
{
	char line[8] = "";
	int output = -1;
	pid_t child = start("idle", "GEIGER_DUMP_SIGNAL=12", &output);

	CHECK_EQ_I64(read(output, line, 6), 6);
	for (unsigned i = 1; i <= 3; i++) {
		kill(child, SIGUSR2);
		CHECK(wait_for("m", i));
	}
	kill(child, SIGTERM);
	waitpid(child, NULL, 0);
	close(output);
	CHECK_EQ_U64(count("m"), 3);
	last("m");
}

TEST(signals_into_samples_are_dumps_after_them)
{
	run_quietly(WORDS("storm", "200"),
	            SETTINGS("GEIGER_INTERVAL=1", "GEIGER_DUMP_SIGNAL=USR2"));
	/* Several that come within one sample are one. */
	CHECK_MSG(count("m") >= 20 && count("m") <= 200, "%u dumps", count("m"));
	last("m");
}

TEST(memory_over_a_threshold_is_dumped_and_the_last_ones_stay)
{
	int output = -1;
	pid_t child;

	run_quietly(WORDS("threads", "1", "1", "100"), SETTINGS("GEIGER_DUMP_RSS=1T"));
	CHECK_EQ_U64(count(""), 0);
	setenv("GEIGER_DUMP_EVERY", "0", 1);
	setenv("GEIGER_DUMP_KEEP", "3", 1);
	child = start("forever", "GEIGER_DUMP_RSS=1", &output);
	for (int i = 0; i < 6000; i++) {
		int status;

		/* It stands while its files are counted. */
		kill(child, SIGSTOP);
		if (!CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status)))
			break;
		CHECK(count("u") <= 4); /* one is there before another one goes */
		kill(child, SIGCONT);
		if (strstr(path, ".u") != NULL && atoi(strstr(path, ".u") + 2) >= 5)
			break;
		usleep(10000);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(output);
	unsetenv("GEIGER_DUMP_EVERY");
	unsetenv("GEIGER_DUMP_KEEP");
	CHECK_MSG(count("u") == 3 || count("u") == 4, "%u stay", count("u"));
	last("u");
}

TEST(a_dump_each_second)
{
	int output = -1;
	pid_t child = start("forever", "GEIGER_DUMP_TIME=1", &output);

	CHECK(wait_for("i", 2));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(output);
}

TEST(a_forked_child_dumps_under_its_own_id)
{
	char first[600];

	run_quietly(WORDS("fork"), SETTINGS("GEIGER_INTERVAL=1", "GEIGER_DUMP_FINAL=1"));
	CHECK_EQ_U64(count("f"), 2);
	snprintf(first, sizeof(first), "%s", path);
	last("f");
	unlink(path);
	CHECK(count("f") == 1 && strcmp(path, first) != 0);
	last("f");
}

TEST(a_file_that_gets_too_large_is_no_dump_and_one_line)
{
	struct child child = run(WORDS("limit", "100"),
	                         SETTINGS("GEIGER_INTERVAL=1", "GEIGER_DUMP_INTERVAL=64k"));

	/* The region is there already, with all that it needs. */
	CHECK_MSG(child.exit_status == 0, "status %d", child.exit_status);
	CHECK_MSG(strstr(gg_buf_text(&child.err), "no dump: ") != NULL &&
	                  strstr(gg_buf_text(&child.err), "over the limit for file sizes") !=
	                          NULL &&
	                  strchr(gg_buf_text(&child.err), '\n') ==
	                          gg_buf_text(&child.err) + child.err.length - 1,
	          "%s", gg_buf_text(&child.err));
	CHECK(count("") == 0 && dump_text_strangers(directory) == 0);
	child_done(&child);
}

TEST(a_disk_that_is_full_leaves_no_halves)
{
	const char *argv[] = { "unshare", "-m", "sh", "-c", NULL, NULL };
	struct child probe, child;
	const char *const can[] = {
		"unshare", "-m", "sh", "-c", "mount -t tmpfs -o size=64k none /mnt", NULL
	};
	static char script[9400];
	static struct place_command command;
	const char *const program[] = { getenv("DUMP_PROGRAM"), NULL };

	CHECK(child_run(&probe, can, NULL, 60));
	if (probe.exit_status != 0) {
		child_done(&probe);
		SKIP("it may not mount");
	}
	child_done(&probe);
	place_command(&command, program, getenv("GEIGER_AGENT"));
	snprintf(script, sizeof(script),
	         "mount -t tmpfs -o size=64k none /mnt && "
	         "env GEIGER_INTERVAL=1 GEIGER_DUMP_INTERVAL=64k GEIGER_DUMP=/mnt/d GEIGER_DIR=%s "
	         "'%s' '%s' threads 4 500 1000 2>/dev/null; "
	         "echo status $?; ls /mnt | grep -v 'heap$'; "
	         "for f in /mnt/*.heap; do grep -q '\\[stack\\]' $f || echo half $f; done",
	         directory, command.preload, getenv("DUMP_PROGRAM"));
	argv[4] = script;
	CHECK(child_run(&child, argv, NULL, 60));
	CHECK_MSG(strcmp(gg_buf_text(&child.out), "status 0\n") == 0, "%s",
	          gg_buf_text(&child.out));
	child_done(&child);
}

/* Are all dumps whole, and is nothing else there? */
static bool all_are_whole(void)
{
	DIR *d = opendir(directory);
	struct dirent *entry;
	bool are = dump_text_strangers(directory) == 0;

	while (d != NULL && (entry = readdir(d)) != NULL) {
		struct dump_text text;

		if (strstr(entry->d_name, ".heap") == NULL)
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		are &= dump_text_read(path, &text) && text.is_whole &&
		       text.stacks.bytes == text.total.bytes &&
		       text.stacks.count == text.total.count;
	}
	if (d != NULL)
		closedir(d);
	return are;
}

TEST(after_a_kill_every_file_is_whole)
{
	const char *kills = getenv("GG_TEST_KILLS");

	for (int i = 0; i < (kills != NULL ? atoi(kills) : 20); i++) {
		int output = -1;
		pid_t child = start("forever", "GEIGER_DUMP_INTERVAL=64k", &output);

		bool has_two = wait_for("i", 2);

		usleep((useconds_t)(i * 331 % 3000));
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		close(output);
		if (!CHECK(has_two) || !CHECK_MSG(all_are_whole(), "%s", path))
			return;
	}
}

TEST(children_that_are_forked_while_others_dump_dump_too)
{
	run_quietly(WORDS("forks", "50"),
	            SETTINGS("GEIGER_INTERVAL=1", "GEIGER_DUMP_INTERVAL=256k", "GEIGER_KEEP=all"));
	/* 1 MB each. */
	CHECK_MSG(count("i") >= 50 * 3, "%u dumps", count("i"));
	CHECK_MSG(all_are_whole(), "%s", path);
}

TEST(settings_that_are_none_are_told)
{
	static const char *const wrong[] = { "GEIGER_DUMP_SIGNAL=KILL", "GEIGER_DUMP_SIGNAL=SEGV",
		                             "GEIGER_DUMP_CGROUP=101", "GEIGER_DUMP_FORM=xml",
		                             "GEIGER_DUMP_INTERVAL=often" };

	for (size_t i = 0; i < GG_COUNT(wrong); i++) {
		struct child child = run(WORDS("threads", "1"), SETTINGS(wrong[i]));

		CHECK_MSG(child.exit_status == 0 &&
		                  strstr(gg_buf_text(&child.err), "using the default") != NULL,
		          "%s: %s", wrong[i], gg_buf_text(&child.err));
		CHECK_EQ_U64(count(""), 0);
		child_done(&child);
	}
}
