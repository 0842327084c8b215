/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_agent_faults - shows that programs do not notice what happens to a region or to the system.
 *
 * The program prints the same and ends the same as without the agent.  docs/AGENT.md has the table
 * of the messages.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/place.h"
#include "base/compiler.h"
#include "child.h"
#include "region/reader/view.h"
#include "scratch.h"
#include "test.h"

enum { LIMIT_SECONDS = 120, LINE_MAX_BYTES = 4200 };

static const char *directory;

__attribute__((constructor(101))) static void make_directory(void)
{
	directory = place_make();
}

static int count_lines(const char *text)
{
	int count = 0;

	for (; *text != '\0'; text++)
		count += *text == '\n';
	return count;
}

/* How a program is run, without and with the agent. */
struct way {
	const char *before, *after; /* of the command, for a shell: NULL: without one */
	const char *setting[2];     /* of the environment, with the agent */
	const char *interval;       /* NULL: every allocation is a sample */
};

/* A line for the shell. */
static void write_line(char *line, size_t size, const struct way *way,
                       const struct place_command *command)
{
	bool is_set = strchr(command->preload, '=') != NULL; /* else it is to be removed */
	int used = snprintf(line, size, "%s env %s \"%s\"", way->before, is_set ? "" : "-u",
	                    command->preload);

	for (int i = 0; command->argv[i] != NULL && used < (int)size; i++)
		used += snprintf(line + used, size - (size_t)used, " %s", command->argv[i]);
	if (used < (int)size && way->after != NULL)
		snprintf(line + used, size - (size_t)used, "; %s", way->after);
}

static bool run(struct child *child, const char *what, const struct way *way, const char *agent,
                const char *const environment[])
{
	const char *const argv[] = { getenv("FAULT_PROGRAM"), what, NULL };
	char line[LINE_MAX_BYTES];
	const char *const shell[] = { "/bin/sh", "-c", line, NULL };
	const char *settings[8] = { NULL };
	struct place_command command;
	int count = 0;

	place_command(&command, argv, agent);
	for (; environment[count] != NULL; count++)
		settings[count] = environment[count];
	if (way->before == NULL) {
		settings[count] = command.preload;
		return child_run(child, command.argv, settings, LIMIT_SECONDS);
	}
	write_line(line, sizeof(line), way, &command);
	return child_run(child, shell, settings, LIMIT_SECONDS);
}

/*
 * Runs the program without the agent and with it.  It must do the same, except that the agent
 * writes one line to stderr, which contains `told`; "": no line.
 */
static void compare_by(const struct way *way, const char *what, const char *told)
{
	char dir[100], interval[50];
	const char *const without[] = { "GEIGER_DIR", NULL };
	const char *const with[] = { dir, interval, way->setting[0], way->setting[1], NULL };
	struct child a, b;
	const char *line;

	place_empty(directory);
	snprintf(dir, sizeof(dir), "GEIGER_DIR=%s", directory);
	snprintf(interval, sizeof(interval), "GEIGER_INTERVAL=%s",
	         way->interval != NULL ? way->interval : "1");
	CHECK(run(&a, what, way, "", without) && !a.timed_out);
	CHECK(run(&b, what, way, getenv("GEIGER_AGENT"), with) && !b.timed_out);
	CHECK_MSG(a.exit_status == b.exit_status, "%s: status %d without, %d with the agent", what,
	          a.exit_status, b.exit_status);
	CHECK_MSG(a.err.length == 0, "%s", gg_buf_text(&a.err));
	CHECK_MSG(strcmp(gg_buf_text(&a.out), gg_buf_text(&b.out)) == 0, "%s: without\n%swith\n%s",
	          what, gg_buf_text(&a.out), gg_buf_text(&b.out));
	line = gg_buf_text(&b.err);
	CHECK_MSG(count_lines(line) == (*told != '\0') && strstr(line, told) != NULL, "%s: %s",
	          what, line);
	child_done(&a);
	child_done(&b);
}

static void compare(const char *what, const char *told)
{
	static const struct way directly = { 0 };

	compare_by(&directly, what, told);
}

/* Sums over all regions. */
struct sum {
	int region_count;
	uint64_t counters[GG_COUNTER_COUNT];
};

/* Each must be consistent. */
static struct sum sum_up(const char *where)
{
	struct sum sum = { 0 };
	DIR *d = opendir(where);
	struct dirent *entry;

	while (d != NULL && (entry = readdir(d)) != NULL) {
		char path[PLACE_PATH_MAX];
		struct gg_region_view view;

		if (strncmp(entry->d_name, "geiger-", 7) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", where, entry->d_name);
		if (!CHECK(place_read_region(path, &view)))
			continue;
		sum.region_count++;
		for (int i = 0; i < GG_COUNTER_COUNT; i++)
			sum.counters[i] += view.header.counters[i];
		gg_region_view_done(&view);
	}
	if (d != NULL)
		closedir(d);
	return sum;
}

static const char cut_short[] = "not profiling any more: the region's file was cut short";

TEST(a_region_that_is_deleted_is_not_missed)
{
	compare("deleted", "");
}

TEST(a_region_that_is_cut_short_ends_the_profile_and_not_the_program)
{
	compare("cut", cut_short);
	compare("cut-tables", cut_short);
}

TEST(threads_go_on_when_their_region_is_cut_short_under_them)
{
	for (int i = 0; i < 10; i++)
		compare("cut-threads", cut_short);
}

TEST(a_forked_child_lives_whose_parents_region_was_cut_short)
{
	compare("cut-fork", cut_short);
}

TEST(a_bus_error_of_the_programs_own_is_its_own)
{
	compare("bus-own", cut_short);
	compare("bus-die", "");
	compare("bus-killed", "");
}

TEST(what_a_program_sets_for_sigbus_it_is_told_and_has)
{
	compare("bus-ask", "");
}

/* --- children that can have no region: one log line, and a counter --- */

static void compare_lost(const char *what, const char *told)
{
	struct sum sum;

	compare(what, told);
	sum = sum_up(directory);
	CHECK_MSG(sum.region_count == 1 && sum.counters[GG_COUNT_LOST_CHILDREN] == 3,
	          "%s: %d regions, %d children", what, sum.region_count,
	          (int)sum.counters[GG_COUNT_LOST_CHILDREN]);
	CHECK(sum.counters[GG_COUNT_SAMPLES] > 80000); /* with those of the threads */
	CHECK(gg_region_counter_name(GG_COUNT_LOST_CHILDREN) != NULL);
}

TEST(children_without_descriptors_are_told_of_once_and_counted)
{
	compare_lost("no-descriptors", "too many open files");
}

TEST(children_that_may_not_write_files_are_told_of_once_and_counted)
{
	compare_lost("no-file-size", "over the limit for file sizes");
}

TEST(children_of_who_gave_up_its_user_are_told_of_once_and_counted)
{
	if (geteuid() != 0)
		SKIP("not root");
	compare_lost("user", "not permitted");
}

TEST(children_in_another_root_are_told_of_once_and_counted)
{
	if (geteuid() != 0)
		SKIP("not root");
	compare_lost("root", "no such directory");
}

TEST(children_in_a_user_namespace_have_regions_where_they_may)
{
	struct sum sum;

	if (geteuid() != 0)
		SKIP("not root");
	compare("namespace", "");
	sum = sum_up(directory);
	CHECK(sum.region_count == 4 && sum.counters[GG_COUNT_LOST_CHILDREN] == 0);
}

TEST(children_of_who_gave_up_its_user_have_regions_where_they_may)
{
	const struct way first = { .interval = "64k" };
	struct sum sum;

	if (geteuid() != 0)
		SKIP("not root");
	chmod(directory, 01777);
	compare("user", "");
	sum = sum_up(directory);
	CHECK(sum.region_count == 4 && sum.counters[GG_COUNT_LOST_CHILDREN] == 0);
	compare_by(&first, "user-first", "");
	sum = sum_up(directory);
	CHECK(sum.region_count >= 1 && sum.counters[GG_COUNT_LOST_CHILDREN] == 0);
	CHECK(sum.counters[GG_COUNT_SAMPLES] > 0);
	chmod(directory, 0700);
}

/* --- limits, disks, descriptors --- */

TEST(a_daemon_that_closes_all_descriptors_finds_nothing_of_ours_in_its_files)
{
	struct sum sum;

	compare("daemon", "");
	sum = sum_up(directory);
	CHECK(sum.region_count == 2 && sum.counters[GG_COUNT_LOST_CHILDREN] == 2);
	CHECK(sum.counters[GG_COUNT_SAMPLES] > 3000);
}

TEST(a_log_that_may_not_grow_raises_no_signal)
{
	char log[100];
	const struct way way = { .before = "ulimit -f 0;", .setting = { log } };

	snprintf(log, sizeof(log), "GEIGER_LOG=%s/log", directory);
	compare_by(&way, "work", "");
}

TEST(a_log_that_nobody_reads_is_not_waited_for)
{
	char log[100], fifo[80];
	const struct way way = { .setting = { "GEIGER_SCHEME=fair", log } };

	snprintf(fifo, sizeof(fifo), "%s-fifo", directory);
	snprintf(log, sizeof(log), "GEIGER_LOG=%s", fifo);
	CHECK_EQ_I64(mkfifo(fifo, 0600), 0);
	compare_by(&way, "work", "");
	unlink(fifo);
}

/* Returns the end of a full pipe whose reader never reads; -1: it cannot be made. */
static int make_full_pipe(int *ret_reader)
{
	char text[4096] = "";
	int ends[2];

	if (pipe(ends) < 0 || fcntl(ends[1], F_SETFL, O_NONBLOCK) < 0)
		return -1;
	while (write(ends[1], text, sizeof(text)) > 0)
		;
	*ret_reader = ends[0];
	return fcntl(ends[1], F_SETFL, 0) < 0 ? -1 : ends[1];
}

TEST(a_stderr_that_is_full_is_not_waited_for)
{
	const char *const argv[] = { getenv("FAULT_PROGRAM"), "work", NULL };
	struct place_command command;
	int reader = -1, writer = make_full_pipe(&reader), status = -1;
	pid_t child;

	if (!CHECK(writer >= 0))
		return;
	place_command(&command, argv, getenv("GEIGER_AGENT"));
	child = fork();
	if (child == 0) {
		alarm(LIMIT_SECONDS);
		putenv(command.preload);
		setenv("GEIGER_DIR", "/nonexistent", 1);
		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
		dup2(writer, STDERR_FILENO);
		execvp(command.argv[0], (char *const *)command.argv);
		_exit(1);
	}
	waitpid(child, &status, 0);
	CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 42, "%x", (unsigned)status);
	close(reader);
	close(writer);
}

TEST(a_limit_for_locked_memory_drops_and_counts)
{
	const struct way way = { .interval = "1M", .setting = { "GEIGER_SEED=1" } };
	struct sum sum;

	if (geteuid() != 0)
		SKIP("not root");
	compare_by(&way, "no-locked-memory", "");
	sum = sum_up(directory);
	CHECK_MSG(sum.counters[GG_COUNT_DROP_MEMORY] > 0, "%d",
	          (int)sum.counters[GG_COUNT_DROP_MEMORY]);
}

TEST(a_thread_without_memory_for_its_samples_drops_and_counts_them)
{
	/* None of its samples comes before. */
	const struct way way = { .interval = "1M", .setting = { "GEIGER_SEED=1" } };
	struct sum sum;

	compare_by(&way, "no-memory", "the program limited its address space to ");
	sum = sum_up(directory);
	CHECK_MSG(sum.counters[GG_COUNT_DROP_MEMORY] > 0, "%d",
	          (int)sum.counters[GG_COUNT_DROP_MEMORY]);
}

/* In a mount namespace of its own, so that nothing is left. */
static bool may_mount(void)
{
	const char *const argv[] = { "unshare", "-m", "true", NULL };

	return child_succeeds(argv);
}

/*
 * Compares a program whose directory has 400 KiB.  Returns the sums over the regions that it left.
 */
static struct sum compare_on_small_disk(const char *what, const char *told)
{
	char before[400], after[500];
	const char *copies = scratch_new_folder();
	const struct way way = { .before = before, .after = after };

	snprintf(before, sizeof(before), "unshare -m sh -c 'mount -t tmpfs -o size=400k none %s;",
	         directory);
	snprintf(after, sizeof(after),
	         "status=$?; cp --sparse=always %s/geiger-* %s/ 2>/dev/null; exit $status'",
	         directory, copies);
	compare_by(&way, what, told);
	return sum_up(copies);
}

TEST(a_disk_that_fills_up_drops_and_counts)
{
	struct sum sum;

	if (!may_mount())
		SKIP("may not mount here");
	sum = compare_on_small_disk("full", "no space left");
	CHECK(sum.region_count == 1 && sum.counters[GG_COUNT_GROW_FAILED] > 0);
	CHECK(sum.counters[GG_COUNT_DROP_LIVE_FULL] > 0 && sum.counters[GG_COUNT_SAMPLES] > 0);
	CHECK_EQ_U64(sum.counters[GG_COUNT_LOST_CHILDREN], 3);
}

TEST(a_disk_that_is_full_from_the_start_is_told)
{
	char before[400];
	const struct way way = { .before = before, .after = "exit $?'" };

	if (!may_mount())
		SKIP("may not mount here");
	snprintf(before, sizeof(before), "unshare -m sh -c 'mount -t tmpfs -o size=64k none %s;",
	         directory);
	compare_by(&way, "work", "no space left");
	CHECK_EQ_I64(sum_up(directory).region_count, 0);
}

TEST(without_dev_shm_the_next_directory_is_used)
{
	const char *other = scratch_new_folder();
	char tmpdir[60];
	const struct way way = {
		.before = "unshare -m sh -c 'mount -t tmpfs -o ro none /dev/shm; unset GEIGER_DIR;",
		.after = "exit $?'",
		.setting = { tmpdir },
	};

	if (!may_mount())
		SKIP("may not mount here");
	snprintf(tmpdir, sizeof(tmpdir), "TMPDIR=%s", other);
	compare_by(&way, "work", "");
	CHECK_EQ_I64(sum_up(other).region_count, 1);
}

TEST(where_no_directory_can_be_written_that_is_told)
{
	const struct way way = {
		.before = "unshare -m sh -c 'mount -t tmpfs -o ro none /dev/shm;"
			  "mount -t tmpfs -o ro none /tmp; unset GEIGER_DIR TMPDIR;",
		.after = "exit $?'",
	};

	if (!may_mount())
		SKIP("may not mount here");
	compare_by(&way, "work", "read-only file system");
}

TEST(a_set_user_id_program_runs_without_us_and_without_a_word)
{
	char command[1200];
	const char *const argv[] = { "/bin/sh", "-c", command, NULL };
	struct child child;

	if (geteuid() != 0)
		SKIP("not root");
	place_empty(directory);
	/*
	 * The copy is beside the program, because other folders may be mounted without set-user-ID.
	 */
	snprintf(command, sizeof(command),
	         "cp %1$s %1$s.setuid && chown 65534 %1$s.setuid && chmod 4755 %1$s.setuid && "
	         "GEIGER_DIR=%2$s GEIGER_INTERVAL=1 LD_PRELOAD=%3$s %1$s.setuid work; "
	         "status=$?; rm -f %1$s.setuid; exit $status",
	         getenv("FAULT_PROGRAM"), directory, getenv("GEIGER_AGENT"));
	CHECK(child_run(&child, argv, (const char *const[]){ NULL }, LIMIT_SECONDS));
	CHECK_MSG(child.exit_status == 42 && child.err.length == 0, "%d: %s", child.exit_status,
	          gg_buf_text(&child.err));
	CHECK_EQ_STR(gg_buf_text(&child.out), "work: done\n");
	/* The shell has no region either, because the agent is not preloaded into it. */
	CHECK_EQ_I64(sum_up(directory).region_count, 0);
	child_done(&child);
}

/* --- sandboxes that kill for what the program does not call --- */

static void check_sandboxed(struct sum sum)
{
	/* The work of the program, and of four threads. */
	CHECK(sum.counters[GG_COUNT_SAMPLES] > 20000 + 3000 + 4 * 20000);
	CHECK(sum.counters[GG_COUNT_GROW_FAILED] == 0 &&
	      sum.counters[GG_COUNT_DROP_LIVE_FULL] == 0);
	CHECK_EQ_U64(sum.counters[GG_COUNT_LOST_CHILDREN], 3);
}

TEST(a_filter_that_kills_for_what_the_program_does_not_call_kills_nobody)
{
	struct sum sum;

	compare("sandbox", "");
	sum = sum_up(directory);
	CHECK_EQ_I64(sum.region_count, 1);
	check_sandboxed(sum);
	compare("sandbox-bare", "");
	check_sandboxed(sum_up(directory));
}

TEST(a_child_that_enters_a_sandbox_has_its_region_before)
{
	struct sum sum;

	compare("sandbox-child", "");
	sum = sum_up(directory);
	/* Regions of the parent, the child, another child of the parent, and the program `true`. */
	CHECK_MSG(sum.region_count == 4, "%d regions", sum.region_count);
	check_sandboxed(sum);
}

TEST(a_disk_that_fills_up_in_a_sandbox_drops_and_counts)
{
	struct sum sum;

	if (!may_mount())
		SKIP("may not mount here");
	sum = compare_on_small_disk("sandbox", "");
	CHECK(sum.region_count == 1 && sum.counters[GG_COUNT_GROW_FAILED] > 0);
	CHECK(sum.counters[GG_COUNT_DROP_LIVE_FULL] > 0 && sum.counters[GG_COUNT_SAMPLES] > 0);
}

/* --- what is left behind --- */

TEST(of_a_thousand_killed_processes_the_last_ones_stay_and_of_the_living_all)
{
	struct sum sum;

	compare("thousand", "");
	sum = sum_up(directory);
	/* 64 that have ended, and of those since the last look; and the four that lived. */
	CHECK_MSG(sum.region_count >= 64 + 4 && sum.region_count <= 64 + 4 + 8, "%d regions",
	          sum.region_count);
}

TEST(how_many_stay_is_asked_for)
{
	const struct way few = { .setting = { "GEIGER_KEEP=5" } };
	const struct way all = { .setting = { "GEIGER_KEEP=all" } };
	struct sum sum;

	compare_by(&few, "hundred", "");
	sum = sum_up(directory);
	CHECK_MSG(sum.region_count >= 5 + 4 && sum.region_count <= 5 + 4 + 8, "%d regions",
	          sum.region_count);
	compare_by(&all, "hundred", "");
	sum = sum_up(directory);
	CHECK_MSG(sum.region_count == 104, "%d regions", sum.region_count);
}

/* In all: of programs that start at once many cannot have the list. */
static void run_at_once(int rounds, int at_once, const char *keep)
{
	char command[600];
	const char *const argv[] = { "bash", "-c", command, NULL };
	struct child child;

	snprintf(
		command, sizeof(command),
		"export GEIGER_DIR=%s GEIGER_KEEP=%s LD_PRELOAD=%s; for ((i = 0; i < %d; i++)); do "
		"for ((j = 0; j < %d; j++)); do /bin/true & done; wait; done",
		directory, keep, getenv("GEIGER_AGENT"), rounds, at_once);
	CHECK(child_run(&child, argv, NULL, LIMIT_SECONDS));
	CHECK_MSG(child.exit_status == 0 && child.err.length == 0, "%d: %s", child.exit_status,
	          gg_buf_text(&child.err));
	child_done(&child);
}

static int count_regions(void)
{
	DIR *d = opendir(directory);
	struct dirent *entry;
	int count = 0;

	while (d != NULL && (entry = readdir(d)) != NULL)
		count += strncmp(entry->d_name, "geiger-", 7) == 0;
	if (d != NULL)
		closedir(d);
	return count;
}

TEST(programs_that_start_at_once_leave_no_more)
{
	if (place_is_emulated())
		SKIP("bash is not emulated");
	place_empty(directory);
	run_at_once(25, 8, "5");
	run_at_once(12, 1, "5");
	/* Bash's forked children have no regions.  `true` and bash each keep their own number. */
	CHECK_MSG(count_regions() <= 2 * (5 + 1), "%d regions", count_regions());
}

TEST(regions_that_no_list_has_go_too)
{
	char command[200];

	if (place_is_emulated())
		SKIP("bash is not emulated");
	place_empty(directory);
	run_at_once(20, 1, "64");
	snprintf(command, sizeof(command), "rm -f %s/.geiger-kept-*", directory);
	CHECK_EQ_I64(system(command), 0);
	CHECK(count_regions() >= 20);
	run_at_once(100, 1, "5");
	CHECK_MSG(count_regions() <= 2 * (5 + 1), "%d regions", count_regions());
}

TEST(a_foreign_file_in_the_place_of_the_list_changes_nothing)
{
	char command[300];

	if (place_is_emulated() || geteuid() != 0)
		SKIP("only root can give files away");
	place_empty(directory);
	run_at_once(2, 1, "5");
	snprintf(command, sizeof(command), "chown 65534 %s/.geiger-kept-*", directory);
	CHECK_EQ_I64(system(command), 0);
	run_at_once(20, 1, "5");
	CHECK_MSG(count_regions() <= 2 * (5 + 1) + 2, "%d regions", count_regions());
	snprintf(command, sizeof(command), "rm -f %s/.geiger-kept-*", directory);
	CHECK_EQ_I64(system(command), 0);
}

/* Runs the program so often that its older regions go. */
static void run_often(void)
{
	const char *const argv[] = { getenv("FAULT_PROGRAM"), "work", NULL };
	char dir[100];
	struct place_command command;
	const char *const with[] = { command.preload, dir, "GEIGER_KEEP=3", NULL };
	struct child child;

	place_command(&command, argv, getenv("GEIGER_AGENT"));
	snprintf(dir, sizeof(dir), "GEIGER_DIR=%s", directory);
	for (int i = 0; i < 8; i++) {
		CHECK(child_run(&child, command.argv, with, LIMIT_SECONDS));
		CHECK_EQ_I64(child.exit_status, 42);
		CHECK_EQ_U64(child.err.length, 0);
		child_done(&child);
	}
}

static struct sum run_some(void)
{
	run_often();
	return sum_up(directory);
}

/* The region that was made first. */
static void find_oldest(char path[PLACE_PATH_MAX])
{
	struct timespec oldest = { 0 };
	DIR *d = opendir(directory);
	struct dirent *entry;

	while (d != NULL && (entry = readdir(d)) != NULL) {
		char name[PLACE_PATH_MAX];
		struct stat status;

		snprintf(name, sizeof(name), "%s/%s", directory, entry->d_name);
		if (strncmp(entry->d_name, "geiger-", 7) != 0 || stat(name, &status) < 0)
			continue;
		if (oldest.tv_sec != 0 && (status.st_ctim.tv_sec > oldest.tv_sec ||
		                           (status.st_ctim.tv_sec == oldest.tv_sec &&
		                            status.st_ctim.tv_nsec > oldest.tv_nsec)))
			continue;
		oldest = status.st_ctim;
		memcpy(path, name, sizeof(name));
	}
	if (d != NULL)
		closedir(d);
}

TEST(what_somebody_gave_a_second_name_or_put_in_its_place_stays)
{
	char region[PLACE_PATH_MAX] = "", second[PLACE_PATH_MAX + 10];
	struct stat status;
	FILE *file;

	place_empty(directory);
	CHECK_EQ_I64(run_some().region_count, 4); /* three, and the last one */
	find_oldest(region);
	snprintf(second, sizeof(second), "%s.mine", region);
	CHECK_EQ_I64(link(region, second), 0);
	run_some();
	CHECK(stat(region, &status) == 0 && status.st_nlink == 2);
	CHECK(unlink(second) == 0 && unlink(region) == 0);
	/* A file has the name of a region, and another content. */
	find_oldest(region);
	file = fopen(region, "w");
	CHECK(file != NULL && fputs("a text that is not a region", file) >= 0 && fclose(file) == 0);
	run_often();
	CHECK(stat(region, &status) == 0 && status.st_size == 27);
}

TEST(a_list_of_regions_that_is_none_is_begun_anew)
{
	char path[PLACE_PATH_MAX] = "";
	DIR *d;
	struct dirent *entry;
	FILE *file;

	place_empty(directory);
	run_some();
	d = opendir(directory);
	while (d != NULL && (entry = readdir(d)) != NULL)
		if (strncmp(entry->d_name, ".geiger-kept-", 13) == 0)
			snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
	if (d != NULL)
		closedir(d);
	for (int i = 0; i < 3; i++) {
		file = fopen(path, "w");
		CHECK(file != NULL);
		for (int j = 0; j < 100 * i; j++)
			fputs("no list", file);
		if (i == 2) /* the right beginning, and absurd numbers */
			fseek(file, 0, SEEK_SET), fputs("GGGRKEPT\377\377\377\377", file);
		CHECK_EQ_I64(fclose(file), 0);
		/* The list's regions are forgotten, and stay. */
		CHECK_EQ_I64(run_some().region_count, 4 * (i + 2));
	}
}
