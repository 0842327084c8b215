/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_agent_signals - lets signal handlers allocate at any instruction.
 *
 * The allocator underneath allows that.  The sample path of a thread interrupts itself; then the
 * inner allocation passes through unsampled, and a counter records it.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/inside.h"
#include "agent/place.h"
#include "test.h"

INSIDE("GEIGER_INTERVAL=1", "GEIGER_FREE_STACKS=1")

enum { LIMIT_SECONDS = 180 }; /* on an idle machine, 1 or 2 seconds suffice */

static void *(*volatile call_malloc)(size_t) = malloc;
static void *(*volatile call_realloc)(void *, size_t) = realloc;
static void (*volatile call_free)(void *) = free;

/* Other functions of the allocator, looked up once the agent has wrapped them. */
static void *(*call_new)(size_t);
static void (*call_delete)(void *);
static void *(*call_mallocx)(size_t, int);
static void *(*call_rallocx)(void *, size_t, int);
static size_t (*call_xallocx)(void *, size_t, size_t, int);
static void (*call_dallocx)(void *, int);

static volatile uint64_t handler_count;

static void allocate_in_handler(int signal)
{
	void *p = call_malloc(100);

	(void)signal;
	handler_count++;
	call_free(call_realloc(p, 200));
	call_delete(call_new(100));
	p = call_mallocx(100, 0);
	call_xallocx(p, 150, 0, 0);
	call_dallocx(call_rallocx(p, 200, 0), 0);
}

/* The same as the handler does: each may interrupt any other. */
static void allocate(void)
{
	void *p = call_mallocx(40, 0);

	call_free(call_realloc(call_malloc(40), 80));
	call_delete(call_new(40));
	call_xallocx(p, 60, 0, 0);
	call_dallocx(call_rallocx(p, 80, 0), 0);
}

static void find_functions(void)
{
	call_new = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "_Znwm");
	call_delete = (void (*)(void *))dlsym(RTLD_DEFAULT, "_ZdlPv");
	call_mallocx = (void *(*)(size_t, int))dlsym(RTLD_DEFAULT, "mallocx");
	call_rallocx = (void *(*)(void *, size_t, int))dlsym(RTLD_DEFAULT, "rallocx");
	call_xallocx = (size_t(*)(void *, size_t, size_t, int))dlsym(RTLD_DEFAULT, "xallocx");
	call_dallocx = (void (*)(void *, int))dlsym(RTLD_DEFAULT, "dallocx");
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

TEST(handlers_that_interrupt_the_sample_path_pass_through_and_are_counted)
{
	struct sigaction action = { .sa_handler = allocate_in_handler, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
	double end = seconds() + LIMIT_SECONDS;

	find_functions();
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (handler_count < 3000 && seconds() < end)
		for (int i = 0; i < 100; i++)
			allocate();
	setitimer(ITIMER_REAL, &never, NULL);
	CHECK_MSG(handler_count >= 3000, "only %lu signals in %d s", (unsigned long)handler_count,
	          LIMIT_SECONDS);
	CHECK(inside_counter(GG_COUNT_DROP_BUSY) > 0);
	CHECK(inside_is_consistent());
}

TEST(samples_go_on_afterwards)
{
	void *p = call_malloc(4321);

	CHECK_EQ_U64(inside_live(p).size_bytes, 4321);
	call_free(p);
	CHECK(!inside_is_live(p));
	p = call_new(1234);
	CHECK_EQ_U64(inside_live(p).size_bytes, 1234);
	call_delete(p);
	CHECK(!inside_is_live(p));
}

enum { FORKS = 300 };

/* Since glibc 2.34; calls no handlers of pthread_atfork(). */
extern pid_t _Fork(void) __attribute__((weak));

static pid_t (*fork_by)(void);
static volatile int fork_count;
static volatile bool is_child;

/* The child comes back, late, to what the handler interrupted. */
static void fork_in_handler(int signal)
{
	static const struct timespec late = { 0, 5000000 };

	(void)signal;
	if (is_child || fork_count == FORKS || fork_by() != 0) {
		fork_count += fork_count < FORKS;
		return;
	}
	is_child = true;
	nanosleep(&late, NULL);
}

static void fork_on_the_sample_path(pid_t (*by)(void))
{
	struct sigaction action = { .sa_handler = fork_in_handler, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
	double end = seconds() + LIMIT_SECONDS;

	fork_by = by;
	fork_count = 0;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (fork_count < FORKS && !is_child && seconds() < end)
		call_free(call_realloc(call_malloc(40), 80));
	if (is_child)
		_exit(0);
	setitimer(ITIMER_REAL, &never, NULL);
	while (wait(NULL) > 0)
		;
	CHECK_EQ_I64(fork_count, FORKS);
	CHECK(inside_is_consistent());
}

TEST(a_child_forked_on_the_sample_path_does_not_write_into_its_parents_region)
{
	if (place_is_emulated())
		SKIP("children forked in handlers make the emulator crawl");
	fork_on_the_sample_path(fork);
}

TEST(neither_does_one_that_handlers_are_not_told_of)
{
	if (place_is_emulated())
		SKIP("children forked in handlers make the emulator crawl");
	if (_Fork == NULL)
		SKIP("libc has no _Fork()");
	fork_on_the_sample_path(_Fork);
}

enum { LIVE_HERE = 10000, CHILDREN_HERE = 40, FORKS_EACH = 3 };

/* Its first allocation makes its region, with all that it inherits; handlers fork meanwhile. */
static bool region_is_made_once(void)
{
	struct sigaction action = { .sa_handler = fork_in_handler, .sa_flags = SA_RESTART };
	struct itimerval soon = { { 0, 150 }, { 0, 150 } }, never = { { 0, 0 }, { 0, 0 } };

	fork_by = _Fork != NULL ? _Fork : fork;
	fork_count = FORKS - FORKS_EACH;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	call_free(call_malloc(40));
	if (is_child) {
		call_free(call_malloc(40)); /* makes one of its own */
		_exit(0);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	while (wait(NULL) > 0)
		;
	return inside_counter(GG_COUNT_INHERITED) >= LIVE_HERE && inside_is_consistent();
}

TEST(nor_one_that_is_forked_while_its_parents_region_is_made)
{
	if (place_is_emulated())
		SKIP("children forked in handlers make the emulator crawl");
	for (int i = 0; i < LIVE_HERE; i++)
		call_malloc(20);
	for (int i = 0; i < CHILDREN_HERE; i++) {
		int status = -1;
		pid_t child = fork();

		if (child == 0)
			_exit(region_is_made_once() ? 0 : 1);
		CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
	}
	CHECK(inside_is_consistent());
}

static volatile bool opening_is_interrupted;

/*
 * Replaces libc's open64(), also for the agent, and raises a signal when the agent has decided to
 * make its file but has not made it yet.
 */
__attribute__((visibility("default"))) int open64(const char *path, int flags, ...)
{
	va_list rest;
	int mode;

	va_start(rest, flags);
	mode = (flags & O_CREAT) != 0 ? va_arg(rest, int) : 0;
	va_end(rest);
	if (opening_is_interrupted && (flags & O_CREAT) != 0) {
		opening_is_interrupted = false;
		raise(SIGALRM);
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

/* The child comes back first, and its parent when that has ended. */
static void fork_and_wait_in_handler(int signal)
{
	pid_t child = fork_by();

	(void)signal;
	is_child = child == 0;
	if (child > 0)
		waitpid(child, NULL, 0);
}

static int count_own_files(void)
{
	char prefix[64];
	DIR *d = opendir(inside_directory());
	struct dirent *entry;
	int count = 0;

	snprintf(prefix, sizeof(prefix), "geiger-%d-", (int)getpid());
	while (d != NULL && (entry = readdir(d)) != NULL)
		count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
	if (d != NULL)
		closedir(d);
	return count;
}

TEST(one_that_is_forked_before_the_file_is_there_makes_none_in_its_parents_name)
{
	struct sigaction action = { .sa_handler = fork_and_wait_in_handler };
	int status = -1;
	pid_t child;

	if (place_is_emulated())
		SKIP("children forked in handlers make the emulator crawl");
	fork_by = _Fork != NULL ? _Fork : fork;
	sigaction(SIGALRM, &action, NULL);
	child = fork();
	if (child == 0) {
		opening_is_interrupted = true;
		call_free(call_malloc(40));
		_exit(is_child || (!opening_is_interrupted && count_own_files() == 1) ? 0 : 1);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_MSG(status == 0, "status %x", (unsigned)status);
}
