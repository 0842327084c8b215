/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children of programs with threads, children with threads, many children: each has a region of its own
 * with what was live at its fork, whoever in it is the first to need one.
 */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/inside.h"
#include "agent/place.h"
#include "base/clock.h"
#include "test.h"

INSIDE("GEIGER_INTERVAL=1")

static void *(*volatile call_malloc)(size_t) = malloc;
static void (*volatile call_free)(void *) = free;

/* A child's answer: exit status 0 is yes. */
static bool child_says_yes(pid_t child)
{
	int status = -1;

	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* At this interval the second is a sample, and what libc allocates for a thread is none. */
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
	if (!CHECK(pipe(ends) == 0))
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
	CHECK(begun == SERVERS);
	CHECK(inside_is_consistent());
	close(ends[0]);
	close(ends[1]);
}
