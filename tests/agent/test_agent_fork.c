/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_agent_fork - shows that each forked child has a region of its own.
 *
 * The tests fork from programs with threads, start threads in children, and make many children.  A
 * child's region has the blocks that were live at its fork, whichever thread of the child needs it
 * first.
 */
#include <dirent.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/inside.h"
#include "agent/place.h"
#include "base/clock.h"
#include "test.h"

INSIDE("GEIGER_INTERVAL=1")

/* The tests allocate large blocks, to which glibc must not write a pattern. */
__attribute__((constructor(200))) static void leave_blocks_alone(void)
{
	mallopt(M_PERTURB, 0);
}

static void *(*volatile call_malloc)(size_t) = malloc;
static void (*volatile call_free)(void *) = free;

/* A child's answer: exit status 0 is yes. */
static bool child_says_yes(pid_t child)
{
	int status = -1;

	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* At this interval, a block of LARGE_BYTES is a sample, and libc's blocks for a thread are not. */
#define SELDOM_BYTES ((uint64_t)64 << 20)
#define LARGE_BYTES  ((size_t)4 << 30)

static void sample_seldom(bool seldom)
{
	inside_control(true, seldom ? SELDOM_BYTES : 1);
	call_free(call_malloc(seldom ? 10 : LARGE_BYTES)); /* is due, and looks */
	call_free(call_malloc(LARGE_BYTES));               /* has the last mark of before */
}

static atomic_bool may_go;
static void *_Atomic from_thread;

static void *allocate_large(void *argument)
{
	while (!atomic_load(&may_go))
		sched_yield();
	atomic_store(&from_thread, call_malloc(LARGE_BYTES));
	while (atomic_load(&may_go))
		sched_yield();
	return argument;
}

static pthread_t begin_large_thread(void)
{
	pthread_t thread;

	atomic_store(&from_thread, NULL);
	atomic_store(&may_go, false);
	pthread_create(&thread, NULL, allocate_large, NULL);
	return thread;
}

/* The thread that forked had a block in the parent; another one is the first to need one here. */
static bool threads_are_told_apart(void)
{
	pthread_t thread = begin_large_thread();
	uint16_t other;
	void *p;

	atomic_store(&may_go, true);
	while (atomic_load(&from_thread) == NULL)
		sched_yield();
	p = call_malloc(LARGE_BYTES);
	other = inside_live(atomic_load(&from_thread)).thread;
	atomic_store(&may_go, false);
	pthread_join(thread, NULL);
	return other != 0 && inside_live(p).thread != 0 && inside_live(p).thread != other;
}

TEST(a_thread_of_a_child_shares_nothing_with_the_one_that_forked)
{
	pid_t child;

	sample_seldom(true);
	child = fork();
	if (child == 0)
		_exit(threads_are_told_apart() && inside_is_consistent() ? 0 : 1);
	CHECK(child_says_yes(child));
	sample_seldom(false);
}

enum { INHERITED = 20000, GRANDCHILDREN = 60, STEP_NS = 30000 };

static void wait_ns(uint64_t ns)
{
	uint64_t end_ns = gg_clock_monotonic_ns() + ns;

	while (gg_clock_monotonic_ns() < end_ns)
		;
}

/* A child whose thread is making its region, when the other one forks again. */
static bool grandchild_inherits_all(uint64_t late_ns)
{
	pthread_t thread = begin_large_thread();
	struct inotify_event events[32];
	int watch = inotify_init1(IN_CLOEXEC);
	struct pollfd created = { .fd = watch, .events = POLLIN };
	pid_t grandchild;
	bool good = inotify_add_watch(watch, inside_directory(), IN_CREATE) >= 0;

	atomic_store(&may_go, true);
	good &= poll(&created, 1, 20000) == 1 && read(watch, events, sizeof(events)) > 0;
	wait_ns(late_ns);
	grandchild = fork();
	if (grandchild == 0) {
		void *p = call_malloc(LARGE_BYTES);

		_exit(inside_live(p).size_bytes == LARGE_BYTES &&
		                      inside_counter(GG_COUNT_INHERITED) >= INHERITED &&
		                      inside_is_consistent()
		              ? 0
		              : 1);
	}
	good &= child_says_yes(grandchild);
	close(watch);
	while (atomic_load(&from_thread) == NULL)
		sched_yield();
	atomic_store(&may_go, false);
	pthread_join(thread, NULL);
	return good && inside_counter(GG_COUNT_INHERITED) >= INHERITED && inside_is_consistent();
}

TEST(a_child_forked_while_its_parent_makes_its_own_region_inherits_all)
{
	static void *blocks[INHERITED];

	for (int i = 0; i < INHERITED; i++)
		blocks[i] = call_malloc(30);
	sample_seldom(true);
	for (int i = 0; i < GRANDCHILDREN; i++) {
		pid_t child = fork();

		if (child == 0)
			_exit(grandchild_inherits_all((uint64_t)i * STEP_NS) ? 0 : 1);
		CHECK_MSG(child_says_yes(child), "%d ns after the parent began", i * STEP_NS);
	}
	sample_seldom(false);
	for (int i = 0; i < INHERITED; i++)
		call_free(blocks[i]);
	CHECK(inside_is_consistent());
}

/* Since glibc 2.34; calls no handlers of pthread_atfork(). */
extern pid_t _Fork(void) __attribute__((weak));

TEST(a_child_of__Fork_has_a_region_of_its_own)
{
	void *p = call_malloc(1000);
	uint64_t id = inside_live(p).id;
	pid_t child;

	if (_Fork == NULL)
		SKIP("libc has no _Fork()");
	child = _Fork();
	if (child == 0) {
		call_free(p);
		_exit(inside_counter(GG_COUNT_INHERITED) > 0 && !inside_is_live(p) &&
		                      inside_is_consistent()
		              ? 0
		              : 1);
	}
	CHECK(child_says_yes(child));
	CHECK_EQ_U64(inside_live(p).id, id);
	call_free(p);
}

/* Regions of a process, the newest one last by its name, and how many there are. */
static int find_regions(pid_t pid, char paths[2][PLACE_PATH_MAX])
{
	char prefix[64];
	DIR *d = opendir(inside_directory());
	struct dirent *entry;
	int count = 0;

	snprintf(prefix, sizeof(prefix), "geiger-%d-", (int)pid);
	while (d != NULL && (entry = readdir(d)) != NULL) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		if (count < 2)
			snprintf(paths[count], PLACE_PATH_MAX, "%s/%s", inside_directory(),
			         entry->d_name);
		count++;
	}
	if (d != NULL)
		closedir(d);
	if (count == 2 && strcmp(paths[0], paths[1]) > 0) {
		char path[PLACE_PATH_MAX];

		memcpy(path, paths[0], sizeof(path));
		memcpy(paths[0], paths[1], sizeof(path));
		memcpy(paths[1], path, sizeof(path));
	}
	return count;
}

/* One that runs another program in this process's memory first, or at once. */
static pid_t start_true(bool spawns)
{
	char *const argv[] = { (char *)"true", NULL };
	pid_t child = -1;

	if (spawns)
		return posix_spawn(&child, "/bin/true", NULL, NULL, argv, environ) == 0 ? child
		                                                                        : -1;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
	child = vfork();
#pragma GCC diagnostic pop
	if (child == 0) {
		call_free(call_malloc(10));
		execv("/bin/true", argv);
		_exit(9);
	}
	return child;
}

TEST(a_process_that_starts_programs_by_vfork_or_posix_spawn_goes_on_in_its_own_region)
{
	char before[2][PLACE_PATH_MAX], after[2][PLACE_PATH_MAX];
	void *p = call_malloc(1000), *q;

	CHECK_EQ_I64(find_regions(getpid(), before), 1);
	for (int i = 0; i < 20; i++)
		CHECK(child_says_yes(start_true(i % 2 == 0)));
	q = call_malloc(2000);
	CHECK(find_regions(getpid(), after) == 1 && strcmp(before[0], after[0]) == 0);
	CHECK(inside_live(p).size_bytes == 1000 && inside_live(q).size_bytes == 2000);
	CHECK(inside_is_consistent());
	call_free(p);
	call_free(q);
}

static void check_regions_of_both(pid_t child)
{
	static struct gg_error error;
	char paths[2][PLACE_PATH_MAX];
	struct gg_region_view view;

	if (!CHECK_EQ_I64(find_regions(child, paths), 2))
		return;
	if (CHECK_EQ_I64(gg_region_view_open(&view, paths[0], &error), 0)) {
		CHECK(view.header.inherited_below_id > 0 && view.header.end_monotonic_ns == 0);
		CHECK(view.header.counters[GG_COUNT_INHERITED] > 0);
		CHECK(view.damaged_count == 0 && gg_region_view_check(&view, NULL) == 0);
		gg_region_view_done(&view);
	}
	if (CHECK_EQ_I64(gg_region_view_open(&view, paths[1], &error), 0)) {
		CHECK(view.header.inherited_below_id == 0 && view.header.end_monotonic_ns != 0);
		CHECK_EQ_U64(view.header.counters[GG_COUNT_INHERITED], 0);
		CHECK_EQ_I64(memcmp(view.header.command, "true", 5), 0);
		CHECK(view.damaged_count == 0 && gg_region_view_check(&view, NULL) == 0);
		gg_region_view_done(&view);
	}
}

TEST(a_program_that_a_child_executes_starts_anew_and_the_childs_region_stays)
{
	pid_t child;

	if (place_is_emulated())
		SKIP("children run this machine's programs");
	child = fork();
	if (child == 0) {
		call_malloc(777);
		execl("/bin/true", "true", (char *)NULL);
		_exit(9);
	}
	CHECK(child_says_yes(child));
	check_regions_of_both(child);
}

/* --- marks of siblings --- */

enum { SIBLINGS = 200, SIBLING_BYTES = 32 << 10, PIECE_BYTES = 64, MARK_EVERY_BYTES = 64 << 10 };

static pid_t bare_clone(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

/* Samples of its own; 0: it has no region. */
static uint64_t samples_of(pid_t pid)
{
	static struct gg_error error;
	char paths[2][PLACE_PATH_MAX];
	struct gg_region_view view;
	uint64_t count;

	if (find_regions(pid, paths) == 0 ||
	    !CHECK_EQ_I64(gg_region_view_open(&view, paths[0], &error), 0))
		return 0;
	count = view.header.counters[GG_COUNT_SAMPLES];
	CHECK_MSG(count > 0, "a child made a region for a mark, and lost it");
	gg_region_view_done(&view);
	unlink(paths[0]);
	return count;
}

static void fork_siblings(pid_t (*fork_one)(void), size_t bytes, uint64_t counts[SIBLINGS])
{
	inside_control(true, MARK_EVERY_BYTES);
	call_free(call_malloc(10)); /* is due, and looks */
	call_free(call_malloc(10)); /* draws the first mark of the new interval */
	for (int i = 0; i < SIBLINGS; i++) {
		pid_t child = fork_one();

		if (child == 0) {
			for (size_t j = 0; j < bytes; j += PIECE_BYTES)
				call_malloc(PIECE_BYTES);
			_exit(0);
		}
		CHECK(child_says_yes(child));
		counts[i] = samples_of(child);
	}
	inside_control(true, 1);
	call_free(call_malloc(MARK_EVERY_BYTES * 100));
}

/* Independent Poisson laws of mean 1/2 each: 100 together, 5 sigma of 10 each way. */
static void check_siblings(pid_t (*fork_one)(void), const char *name)
{
	uint64_t counts[SIBLINGS], sum = 0, without = 0;

	fork_siblings(fork_one, SIBLING_BYTES, counts);
	for (int i = 0; i < SIBLINGS; i++) {
		sum += counts[i];
		without += counts[i] == 0;
	}
	CHECK_MSG(sum >= 50 && sum <= 150, "%s: %d samples of 100", name, (int)sum);
	/* 200 exp(-1/2) = 121, sigma 7 */
	CHECK_MSG(without >= 86 && without <= 156, "%s: %d of 121 without", name, (int)without);
}

TEST(forked_siblings_draw_their_first_marks_for_themselves_and_lose_none)
{
	check_siblings(fork, "fork");
	if (_Fork != NULL)
		check_siblings(_Fork, "_Fork");
}

/*
 * Nothing tells these siblings of their fork before their first sample point, which they share.
 * That point is not lost, and later points are their own.
 */
TEST(siblings_of_a_bare_clone_lose_no_mark_and_draw_all_but_the_first_for_themselves)
{
	uint64_t counts[SIBLINGS];
	bool differ = false;

	fork_siblings(bare_clone, 8 * MARK_EVERY_BYTES, counts);
	for (int i = 0; i < SIBLINGS; i++)
		differ |= counts[i] != counts[0];
	CHECK(differ);
}

/* --- a server with many children --- */

enum { SERVERS = 64, INHERITED_HERE = 500, REQUESTS = 200 };

/* Frees what it inherited, and more than once over allocates and frees of its own. */
static void serve(void *inherited[INHERITED_HERE], int begin)
{
	void *own[50] = { NULL };
	char byte;

	if (read(begin, &byte, 1) != 1)
		_exit(9);
	for (int i = 0; i < REQUESTS; i++) {
		void **place = &own[i * 7 % 50];

		call_free(*place);
		*place = call_malloc((size_t)i + 1);
		if (i < INHERITED_HERE / 2)
			call_free(inherited[i]);
	}
	_exit(inside_live(own[0]).size_bytes != 0 &&
	                      inside_live(inherited[INHERITED_HERE - 1]).size_bytes == 300 &&
	                      !inside_is_live(inherited[0]) && inside_is_consistent()
	              ? 0
	              : 1);
}

TEST(sixty_four_children_at_once_have_a_region_each)
{
	static void *inherited[INHERITED_HERE];
	pid_t children[SERVERS];
	int ends[2], begun = 0;

	for (int i = 0; i < INHERITED_HERE; i++)
		inherited[i] = call_malloc(300);
	if (!CHECK_EQ_I64(pipe(ends), 0))
		return;
	for (int i = 0; i < SERVERS; i++) {
		children[i] = fork();
		if (children[i] == 0)
			serve(inherited, ends[0]);
	}
	/* All are there before any has done anything, and none sees what its parent does now. */
	for (int i = 0; i < INHERITED_HERE; i++)
		call_free(inherited[i]);
	for (int i = 0; i < SERVERS; i++)
		begun += write(ends[1], "x", 1) == 1;
	for (int i = 0; i < SERVERS; i++)
		CHECK_MSG(child_says_yes(children[i]), "child %d", i);
	CHECK_EQ_I64(begun, SERVERS);
	CHECK(inside_is_consistent());
	close(ends[0]);
	close(ends[1]);
}
