/* SPDX-License-Identifier: Apache-2.0 */
/* held_threads - a child that runs stands until it is released; one that sleeps is left alone. */
#include "attach/held_threads.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/clock.h"
#include "base/time_units.h"
#include "test.h"

enum { LIMIT_SECONDS = 60, PAUSE_MS = 10 };

struct child {
	struct gg_remote_memory memory;
	struct gg_trap_plan plan;
	struct gg_tracer tracer;
	struct gg_held_threads held;
	uint64_t *count; /* the child adds to it while it runs */
};

static void pause_ms(int ms)
{
	const struct timespec wait = { 0, (long)ms * 1000000 };

	nanosleep(&wait, NULL);
}

static bool waits_in_a_call(const struct child *child)
{
	return !gg_trap_watch_is_running(child->memory.pid, child->memory.pid);
}

static void child_setup(struct child *child)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	child->count = mmap(NULL, sizeof(*child->count), PROT_READ | PROT_WRITE,
	                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(child->count != MAP_FAILED);
}

static void child_teardown(struct child *child)
{
	kill(child->memory.pid, SIGKILL);
	/* Its threads as well, if a sanitizer gave it some. */
	while (waitpid(-1, NULL, __WALL) > 0)
		;
	gg_remote_memory_close(&child->memory);
	gg_array_done(&child->held.asked);
	gg_array_done(&child->held.stopped);
	gg_array_done(&child->tracer.tracees);
	gg_array_done(&child->tracer.early);
	munmap(child->count, sizeof(*child->count));
}
FIXTURE(child)

static void begin(struct child *child, bool runs)
{
	uint64_t end_ns = gg_clock_monotonic_ns() + LIMIT_SECONDS * GG_NS_PER_S;
	pid_t pid = fork();

	if (pid == 0) {
		while (runs)
			gg_store_relaxed(child->count, gg_load_relaxed(child->count) + 1);
		for (;;)
			pause();
	}
	REQUIRE(pid > 0);
	REQUIRE(gg_remote_memory_open(&child->memory, pid, NULL) == 0);
	while (waits_in_a_call(child) == runs && gg_clock_monotonic_ns() < end_ns)
		pause_ms(1);
	gg_tracer_init(&child->tracer, &child->memory, &child->plan);
	REQUIRE(gg_tracer_seize(&child->tracer, NULL) == 0);
}

/* Tells whether its first thread is to stand.  A sanitizer may have given it another one. */
static bool is_held(const struct child *child)
{
	const struct gg_held_threads *held = &child->held;
	uint32_t found = 0;

	for (size_t i = 0; i < held->asked.count; i++)
		found += held->asked.items[i] == child->memory.pid;
	for (size_t i = 0; i < held->stopped.count; i++)
		found += held->stopped.items[i] == child->memory.pid;
	CHECK(found <= 1);
	return found == 1;
}

TEST_WITH(child, a_thread_that_runs_stands_until_it_is_released)
{
	uint64_t end_ns, before;
	pid_t tid;

	begin(child, true);
	CHECK_EQ_I64(gg_held_threads_take(&child->held, &child->tracer), GG_TRACER_TIMEOUT);
	CHECK(is_held(child));
	pause_ms(PAUSE_MS); /* a processor that executes it gets the interruption by then */
	before = gg_load_relaxed(child->count);
	pause_ms(PAUSE_MS);
	CHECK_EQ_U64(gg_load_relaxed(child->count), before);
	gg_held_threads_release(&child->held, &child->tracer);
	end_ns = gg_clock_monotonic_ns() + LIMIT_SECONDS * GG_NS_PER_S;
	while (gg_load_relaxed(child->count) == before && gg_clock_monotonic_ns() < end_ns)
		CHECK_EQ_I64(gg_tracer_wait(&child->tracer,
		                            gg_clock_monotonic_ns() + PAUSE_MS * GG_NS_PER_MS,
		                            &tid),
		             GG_TRACER_TIMEOUT);
	CHECK(gg_load_relaxed(child->count) != before);
	CHECK(child->held.stopped.count == 0 ||
	      child->tracer.longest_stand_ns >= 2 * PAUSE_MS * GG_NS_PER_MS);
}

TEST_WITH(child, a_thread_that_sleeps_is_left_alone)
{
	bool is_alone;

	begin(child, false);
	CHECK_EQ_I64(gg_held_threads_take(&child->held, &child->tracer), GG_TRACER_TIMEOUT);
	CHECK(!is_held(child));
	is_alone = child->held.asked.count + child->held.stopped.count == 0;
	gg_held_threads_release(&child->held, &child->tracer);
	CHECK(!is_alone || child->tracer.longest_stand_ns == 0);
}

TEST_WITH(child, a_thread_that_runs_has_stood_since_it_was_last_seen_elsewhere)
{
	struct gg_trap_watch watch = { .planted_ns = 100 };
	struct gg_watched watched = { .elsewhere_ns = 900 };
	pid_t pid;

	begin(child, true);
	pid = child->memory.pid;
	CHECK(!gg_trap_watch_look(&watch, &watched, pid, pid, 1000));
	CHECK_EQ_U64(gg_trap_watch_stand_ns(&watch, &watched, 1000), 100);
}
