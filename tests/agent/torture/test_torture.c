/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_torture - compares the torture program (torture.h) with and without the agent.
 *
 * It prints the same and ends the same, for one seed after the other until the time is over.
 * Meanwhile this test switches sampling on and off and changes the interval, in all processes of
 * the program.  Every region that the program leaves must add up.
 *
 *   GG_TEST_TORTURE_SECONDS   how long, at least one seed; 5
 *   GG_TEST_TORTURE_PART      one of so many tests that share GG_TEST_SOAK_SECONDS (1800)
 *   GG_TEST_TORTURE_SEED      of the first run; 1
 *   TORTURE_UNDER             the allocator underneath: a library, or nothing for libc's
 *
 * A program that hangs prints the stacks of all its threads (SIGQUIT) before the test kills it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/place.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "random.h"
#include "region/control.h"
#include "region/reader/view.h"
#include "test.h"

enum {
	LIMIT_SECONDS = 240, /* a run needs 2, and a hundred times that on a machine that is busy */
	TEND_US = 20000
};

static const char *directory;
static uint64_t random_state;
static uint64_t region_count, sample_count, inherited_count, busy_count, wish_count;

__attribute__((constructor(101))) static void make_directory(void)
{
	directory = place_make();
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* what children leave behind is waited for */
}

static uint64_t draw(uint64_t below)
{
	return random_next(&random_state) % below;
}

/* --- regions --- */

/* Checks the region of a process that has ended: it adds up, and nearly no free was missed. */
static bool check_region(const char *path)
{
	static struct gg_error error;
	struct gg_region_view view;
	const uint64_t *counters;
	uint32_t stack = 0;
	uint64_t explained;
	bool good;

	if (gg_region_view_open(&view, path, &error) < 0)
		/* It may be one of those that do not stay (GEIGER_KEEP). */
		return CHECK_MSG(error.status == -ENOENT, "%s: %s", path, error.message);
	counters = view.header.counters;
	good = CHECK_MSG(!view.torn && view.damaged_count == 0, "%s: torn %d, damaged %llu", path,
	                 view.torn, (unsigned long long)view.damaged_count);
	good &= CHECK_MSG(gg_region_view_check(&view, &stack) == 0, "%s does not add up: stack %u",
	                  path, stack);
	/*
	 * If realloc() moves a block, and another thread gets the old address before its sample is
	 * closed, the sample is closed as a missed free (order.h, 7 and 14).  That is rare.
	 */
	explained = counters[GG_COUNT_FREE_DEFERRED] + counters[GG_COUNT_DROP_BUSY] +
	            counters[GG_COUNT_FREES] / 100 + 3;
	if (view.header.inherited_below_id == 0)
		good &= CHECK_MSG(counters[GG_COUNT_MISSED_FREES] <= explained,
		                  "%s: %llu frees were missed, %llu can be explained", path,
		                  (unsigned long long)counters[GG_COUNT_MISSED_FREES],
		                  (unsigned long long)explained);
	region_count++;
	sample_count += counters[GG_COUNT_SAMPLES];
	inherited_count += counters[GG_COUNT_INHERITED];
	busy_count += counters[GG_COUNT_DROP_BUSY];
	gg_region_view_done(&view);
	return good;
}

/* Checks a region that is being written: it adds up as well if the copy is of one instant. */
static void look_at_region(const char *path)
{
	static struct gg_error error;
	struct gg_region_view view;

	if (gg_region_view_open(&view, path, &error) < 0)
		return; /* not one yet, or gone */
	CHECK_MSG(view.torn || gg_region_view_check(&view, NULL) == 0,
	          "%s does not add up while it is written", path);
	gg_region_view_done(&view);
}

static void wish(const char *path)
{
	static const uint64_t intervals[] = { 1, 100, 4096, 65536, 1 << 20 };
	static struct gg_error error;
	struct gg_region_change change = {
		.set_active = true,
		.active = draw(4) != 0,
		.interval_bytes = intervals[draw(GG_COUNT(intervals))],
	};
	int fd = gg_region_control_open(path, &error);

	if (fd < 0)
		return;
	wish_count += gg_region_control_write(fd, &change, &error) == 0;
	close(fd);
}

/* One that did not pass is kept, where GG_TEST_KEEP says. */
static void remove_region(const char *path, bool passed)
{
	char kept[PLACE_PATH_MAX + 200];
	const char *keep = getenv("GG_TEST_KEEP");

	if (!passed && keep != NULL) {
		snprintf(kept, sizeof(kept), "%s%s", keep, strrchr(path, '/'));
		rename(path, kept);
	}
	unlink(path);
}

/* All regions: those of processes that are over are checked and go, others get a new wish. */
static void tend(bool is_over)
{
	DIR *d = opendir(directory);
	struct dirent *entry;

	while (d != NULL && (entry = readdir(d)) != NULL) {
		char path[PLACE_PATH_MAX];
		int pid = 0;

		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		if (sscanf(entry->d_name, "geiger-%d-", &pid) != 1)
			continue;
		if (is_over || kill(pid, 0) < 0) {
			remove_region(path, check_region(path));
		} else if (draw(3) == 0) {
			wish(path);
		} else if (draw(10) == 0) {
			look_at_region(path);
		}
	}
	if (d != NULL)
		closedir(d);
}

/* --- runs --- */

struct run {
	pid_t pid;
	int exit_status; /* 128 + N: signal N; -1: it hung */
	char out[4096], err[60000];
};

static void name_file(char path[PLACE_PATH_MAX], const char *what)
{
	snprintf(path, PLACE_PATH_MAX, "%s/%s", directory, what);
}

static void read_file(const char *name, char *text, size_t size)
{
	char path[PLACE_PATH_MAX];
	FILE *file;
	size_t got = 0;

	name_file(path, name);
	file = fopen(path, "r");
	if (file != NULL) {
		got = fread(text, 1, size - 1, file);
		fclose(file);
	}
	text[got] = '\0';
}

static void redirect(const char *name, int fd)
{
	char path[PLACE_PATH_MAX];
	int file;

	name_file(path, name);
	file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
	if (file < 0 || dup2(file, fd) < 0)
		_exit(126);
	close(file);
}

static void start(struct run *run, const char *seed, const char *preload,
                  const char *const settings[])
{
	const char *const argv[] = { getenv("TORTURE_PROGRAM"), seed, "1", NULL };
	static struct place_command command;

	place_command(&command, argv, preload);
	run->pid = fork();
	if (run->pid != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	redirect("out", STDOUT_FILENO);
	redirect("err", STDERR_FILENO);
	putenv(command.preload);
	for (; *settings != NULL; settings++)
		putenv((char *)*settings);
	execv(command.argv[0], (char *const *)command.argv);
	_exit(127);
}

/* Every thread of every process of the group says where it is. */
static void ask_for_stacks(pid_t group)
{
	DIR *processes = opendir("/proc"), *threads;
	struct dirent *process, *thread;
	char path[64];

	while (processes != NULL && (process = readdir(processes)) != NULL) {
		pid_t pid = atoi(process->d_name);

		if (pid <= 0 || getpgid(pid) != group)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
		threads = opendir(path);
		while (threads != NULL && (thread = readdir(threads)) != NULL) {
			if (atoi(thread->d_name) == 0)
				continue;
			syscall(SYS_tgkill, pid, atoi(thread->d_name), SIGQUIT);
			usleep(100000); /* one after the other */
		}
		if (threads != NULL)
			closedir(threads);
	}
	if (processes != NULL)
		closedir(processes);
}

/* Children of handlers may outlive the child that they are of. */
static void wait_for_orphans(const struct run *run, uint64_t end_ns)
{
	int status = 0;
	pid_t ended;

	while ((ended = waitpid(-run->pid, &status, WNOHANG)) >= 0) {
		CHECK_MSG(ended == 0 || status == 0, "an orphan ended with %x", (unsigned)status);
		if (ended != 0)
			continue;
		if (!CHECK_MSG(gg_clock_monotonic_ns() < end_ns, "an orphan hangs")) {
			ask_for_stacks(run->pid);
			break;
		}
		usleep(1000);
	}
	kill(-run->pid, SIGKILL);
	while (waitpid(-run->pid, &status, 0) > 0)
		;
}

static void finish(struct run *run)
{
	uint64_t end_ns = gg_clock_monotonic_ns() + LIMIT_SECONDS * UINT64_C(1000000000);
	int status;

	while (waitpid(run->pid, &status, WNOHANG) != run->pid) {
		usleep(TEND_US);
		tend(false);
		if (gg_clock_monotonic_ns() < end_ns)
			continue;
		ask_for_stacks(run->pid);
		kill(-run->pid, SIGKILL);
		waitpid(run->pid, &status, 0);
		run->exit_status = -1;
		break;
	}
	if (run->exit_status == 0)
		run->exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status)
		                                       : WEXITSTATUS(status);
	wait_for_orphans(run, end_ns);
	read_file("out", run->out, sizeof(run->out));
	read_file("err", run->err, sizeof(run->err));
	tend(true);
}

/* The settings of one run, drawn from the seed. */
struct settings {
	char texts[8][64];
	const char *list[9];
};

static void draw_settings(struct settings *s)
{
	static const char *const choices[][4] = {
		{ "GEIGER_INTERVAL=1", "GEIGER_INTERVAL=64", "GEIGER_INTERVAL=4096",
		  "GEIGER_INTERVAL=32k" },
		{ "GEIGER_FREE_STACKS=0", "GEIGER_FREE_STACKS=1", "GEIGER_FREE_STACKS=0",
		  "GEIGER_FREE_STACKS=1" },
		{ "GEIGER_MMAP=0", "GEIGER_MMAP=1", "GEIGER_MMAP=0", "GEIGER_MMAP=1" },
		{ "GEIGER_MODULES=loader", "GEIGER_MODULES=loader", "GEIGER_MODULES=loader",
		  "GEIGER_MODULES=maps" },
		{ "GEIGER_SCHEME=poisson", "GEIGER_SCHEME=poisson", "GEIGER_SCHEME=stride",
		  "GEIGER_SCHEME=per-allocation" },
		{ "GEIGER_KEEP=all", "GEIGER_KEEP=all", "GEIGER_KEEP=64", "GEIGER_KEEP=5" },
		{ "GEIGER_MAX_LIVE=1M", "GEIGER_MAX_LIVE=1M", "GEIGER_MAX_LIVE=1024",
		  "GEIGER_MAX_ROWS=1024" },
	};
	size_t count = GG_COUNT(choices);

	for (size_t i = 0; i < count; i++)
		s->list[i] = choices[i][draw(4)];
	snprintf(s->texts[0], sizeof(s->texts[0]), "GEIGER_DIR=%s", directory);
	s->list[count] = s->texts[0];
	s->list[count + 1] = NULL;
}

static void tell_settings(const struct settings *s)
{
	for (int i = 0; s->list[i] != NULL; i++)
		printf("  %s\n", s->list[i]);
}

static void compare(uint64_t seed)
{
	static const char *const none[] = { NULL };
	static struct run plain, profiled;
	const char *under = getenv("TORTURE_UNDER");
	struct settings settings;
	char text[32], preload[1000];

	under = under != NULL ? under : "";
	random_state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
	draw_settings(&settings);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)seed);
	snprintf(preload, sizeof(preload), "%s %s", getenv("GEIGER_AGENT"), under);
	plain = profiled = (struct run){ 0 };
	start(&plain, text, under, none);
	finish(&plain);
	if (!CHECK_MSG(plain.exit_status >= 0 && plain.exit_status < 126 && plain.err[0] == '\0',
	               "seed %s fails without the agent: %d\n%s", text, plain.exit_status,
	               plain.err))
		return;
	start(&profiled, text, preload, settings.list);
	finish(&profiled);
	if (CHECK_MSG(profiled.exit_status == plain.exit_status &&
	                      strcmp(profiled.out, plain.out) == 0 && profiled.err[0] == '\0',
	              "seed %s: status %d without, %d with the agent; it prints\n%s\ninstead of\n"
	              "%s\nand says\n%s",
	              text, plain.exit_status, profiled.exit_status, profiled.out, plain.out,
	              profiled.err) &&
	    !test_failed)
		return;
	printf("seed %s over %s with\n", text, under[0] != '\0' ? under : "libc's allocator");
	tell_settings(&settings);
}

static uint64_t number_of(const char *variable, uint64_t otherwise)
{
	const char *text = getenv(variable);

	return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

TEST(all_that_programs_do_at_once_is_the_same_with_the_agent)
{
	uint64_t first = number_of("GG_TEST_TORTURE_SEED", 1), seed = first;
	uint64_t part = number_of("GG_TEST_TORTURE_PART", 0);
	uint64_t seconds = part != 0 ? number_of("GG_TEST_SOAK_SECONDS", 1800) / part
	                             : number_of("GG_TEST_TORTURE_SECONDS", 5);
	uint64_t end_ns = gg_clock_monotonic_ns() + seconds * UINT64_C(1000000000);

	do
		compare(seed++);
	while (!test_failed && gg_clock_monotonic_ns() < end_ns);
	CHECK_MSG(region_count > seed - first, "%llu regions", (unsigned long long)region_count);
	CHECK(sample_count > 0 && inherited_count > 0 && wish_count > 0);
	printf("%llu seeds, %llu regions, %llu samples, %llu inherited, %llu in handlers, "
	       "%llu wishes\n",
	       (unsigned long long)(seed - first), (unsigned long long)region_count,
	       (unsigned long long)sample_count, (unsigned long long)inherited_count,
	       (unsigned long long)busy_count, (unsigned long long)wish_count);
}
