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
 *   GG_TEST_TORTURE_LIMIT     seconds after which a run counts as hung; 240
 *   TORTURE_UNDER             the allocator underneath: a library, or nothing for libc's
 *
 * A program that hangs prints the stacks of all its threads (group_stacks.h) before the test kills
 * it.  The last line of a failure says how both runs ended.
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
#include <sys/wait.h>
#include <unistd.h>

#include "agent/place.h"
#include "agent/torture/group_stacks.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "random.h"
#include "region/control.h"
#include "region/reader/view.h"
#include "test.h"
#include "unwind/unwind.h"

enum {
	TEND_US = 20000,
	HUNG = -1,         /* in place of an exit status */
	SHOWN_BYTES = 5000 /* of what a program that fails says: the first stacks */
};

static const char *directory;
static uint64_t random_state;
static uint64_t region_count, sample_count, inherited_count, busy_count, wish_count;
static uint64_t walk_count, cut_walk_count; /* cut: they did not reach a thread's first frame */
static char verdict[1200];                  /* why a run failed, in one line */

__attribute__((constructor(101))) static void make_directory(void)
{
	directory = place_make();
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* what children leave behind is waited for */
}

static uint64_t number_of(const char *variable, uint64_t otherwise)
{
	const char *text = getenv(variable);

	return text != NULL ? strtoull(text, NULL, 10) : otherwise;
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
	for (int i = 0; i < GG_UNWIND_ENDINGS; i++) {
		walk_count += view.header.unwind_endings[i];
		if (i != GG_UNWIND_COMPLETE)
			cut_walk_count += view.header.unwind_endings[i];
	}
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
	wish_count += gg_region_control_request_look(fd, &error) == 0;
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

/* A run needs 2 seconds, and a hundred times that on a machine that is busy. */
static uint64_t limit_seconds(void)
{
	return number_of("GG_TEST_TORTURE_LIMIT", 240);
}

struct run {
	pid_t pid;
	int exit_status; /* 128 + N: signal N; or HUNG */
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

static void ask_for_stacks(pid_t group)
{
	char path[PLACE_PATH_MAX];

	name_file(path, "err");
	group_stacks_print(group, path);
}

/* Children of handlers may outlive the child that they are of. */
static void wait_for_orphans(const struct run *run, uint64_t end_ns)
{
	int status = 0;
	pid_t ended;

	while ((ended = waitpid(-run->pid, &status, WNOHANG)) >= 0) {
		CHECK_MSG(ended == 0 || status == 0 || run->exit_status == HUNG,
		          "an orphan ended with %x", (unsigned)status);
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
	uint64_t end_ns = gg_clock_monotonic_ns() + limit_seconds() * UINT64_C(1000000000);
	int status;

	while (waitpid(run->pid, &status, WNOHANG) != run->pid) {
		usleep(TEND_US);
		tend(false);
		if (gg_clock_monotonic_ns() < end_ns)
			continue;
		ask_for_stacks(run->pid);
		kill(-run->pid, SIGKILL);
		waitpid(run->pid, &status, 0);
		run->exit_status = HUNG;
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
	for (size_t i = 0; i < count; i++)
		if (strstr(getenv("GEIGER_AGENT"), "libgeiger-malloc") != NULL &&
		    (strcmp(s->list[i], "GEIGER_SCHEME=stride") == 0 ||
		     strcmp(s->list[i], "GEIGER_SCHEME=per-allocation") == 0))
			s->list[i] = "GEIGER_SCHEME=optimal"; /* it has no others, and says so */
	snprintf(s->texts[0], sizeof(s->texts[0]), "GEIGER_DIR=%s", directory);
	s->list[count] = s->texts[0];
	s->list[count + 1] = NULL;
}

static void tell_settings(const struct settings *s)
{
	for (int i = 0; s->list[i] != NULL; i++)
		printf("  %s\n", s->list[i]);
}

/* "status 57", "signal 11", "hung for 240 s" */
static const char *end_of(const struct run *run, char text[32])
{
	if (run->exit_status == HUNG)
		snprintf(text, 32, "hung for %d s", (int)limit_seconds());
	else if (run->exit_status > 128)
		snprintf(text, 32, "signal %d", run->exit_status - 128);
	else
		snprintf(text, 32, "status %d", run->exit_status);
	return text;
}

/* The first stacks: the one that crashed, or the one that others wait for. */
static void tell_errors(const struct run *run)
{
	printf("%.*s\n", (int)SHOWN_BYTES, run->err);
	if (strlen(run->err) > SHOWN_BYTES)
		printf("... and %zu bytes more\n", strlen(run->err) - SHOWN_BYTES);
}

static bool runs_alone(const struct run *plain)
{
	return plain->exit_status >= 0 && plain->exit_status < 126 && plain->err[0] == '\0';
}

static bool is_same(const struct run *profiled, const struct run *plain)
{
	return profiled->exit_status == plain->exit_status &&
	       strcmp(profiled->out, plain->out) == 0 && profiled->err[0] == '\0';
}

/* Runs the seed with and without the agent, and writes the verdict if the runs differ. */
static void compare(uint64_t seed)
{
	static const char *const none[] = { NULL };
	static struct run plain, profiled;
	const char *under = getenv("TORTURE_UNDER");
	struct settings settings;
	char text[32], preload[1000], ends[2][32];

	under = under != NULL ? under : "";
	random_state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
	draw_settings(&settings);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)seed);
	snprintf(preload, sizeof(preload), "%s %s", getenv("GEIGER_AGENT"), under);
	plain = profiled = (struct run){ 0 };
	start(&plain, text, under, none);
	finish(&plain);
	if (!runs_alone(&plain)) {
		tell_errors(&plain);
		snprintf(verdict, sizeof(verdict), "seed %s over %s fails without the agent: %s",
		         text, under[0] != '\0' ? under : "libc", end_of(&plain, ends[0]));
		return;
	}
	start(&profiled, text, preload, settings.list);
	finish(&profiled);
	if (is_same(&profiled, &plain) && !test_failed)
		return;
	tell_errors(&profiled);
	printf("It printed\n%s\ninstead of\n%s\nwith\n", profiled.out, plain.out);
	tell_settings(&settings);
	snprintf(verdict, sizeof(verdict), "seed %s over %s: %s with the agent, %s without%s", text,
	         under[0] != '\0' ? under : "libc", end_of(&profiled, ends[0]),
	         end_of(&plain, ends[1]),
	         is_same(&profiled, &plain) ? "; a region is wrong"
	         : profiled.err[0] != '\0'  ? "; the stacks are above"
	                                    : "");
}

/*
 * Two places have no CFI, or wrong CFI: _init() of modules, and libc's swapcontext() between two
 * stacks.  Only handlers that allocate at any instruction interrupt them.
 */
static void check_walks(void)
{
	uint64_t allowed = getenv("TORTURE_SAFE") != NULL ? 20 + walk_count / 1000 : 0;

	CHECK_MSG(cut_walk_count <= allowed, "%llu of %llu walks were cut, %llu may be",
	          (unsigned long long)cut_walk_count, (unsigned long long)walk_count,
	          (unsigned long long)allowed);
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
	while (!test_failed && verdict[0] == '\0' && gg_clock_monotonic_ns() < end_ns);
	printf("%llu seeds, %llu regions, %llu samples, %llu inherited, %llu in handlers, "
	       "%llu wishes, %llu of %llu walks cut\n",
	       (unsigned long long)(seed - first), (unsigned long long)region_count,
	       (unsigned long long)sample_count, (unsigned long long)inherited_count,
	       (unsigned long long)busy_count, (unsigned long long)wish_count,
	       (unsigned long long)cut_walk_count, (unsigned long long)walk_count);
	if (!CHECK_MSG(verdict[0] == '\0', "%s", verdict))
		return;
	CHECK_MSG(region_count > seed - first, "%llu regions", (unsigned long long)region_count);
	CHECK(sample_count > 0 && inherited_count > 0 && wish_count > 0);
	check_walks();
}
