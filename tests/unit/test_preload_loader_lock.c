/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader_lock - a fork waits until no thread is within a call, so its child can load libraries; a
 * look-up in all modules waits for a thread that has the lock.
 */
#include "preload/attach/loader_lock.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/platform/elf_lookup.h"
#include "test.h"

enum { HELD_MS = 100, LIMIT_SECONDS = 10, ROUNDS = 200 };

static void pause_ms(int ms)
{
	const struct timespec wait = { ms / 1000, (long)(ms % 1000) * 1000000 };

	nanosleep(&wait, NULL);
}

static int count_module(struct dl_phdr_info *info, size_t bytes, void *count)
{
	(void)info;
	(void)bytes;
	++*(int *)count;
	return 0;
}

/* Forks a child that needs the loader's lock.  True if it got that. */
static bool child_reads_the_list(void)
{
	pid_t pid = fork();
	int status = 0, count = 0;

	if (pid == 0) {
		alarm(LIMIT_SECONDS);
		dl_iterate_phdr(count_module, &count);
		/* A sanitizer's _exit() would miss the parent's threads. */
		syscall(SYS_exit_group, count == 0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* --- one long call --- */

static atomic_bool is_within, has_left;

static void hold(void *context)
{
	(void)context;
	atomic_store(&is_within, true);
	pause_ms(HELD_MS);
	atomic_store(&has_left, true);
}

static void *call_once(void *argument)
{
	gg_loader_lock_call(hold, NULL);
	return argument;
}

TEST(a_fork_waits_until_the_call_of_another_thread_has_ended)
{
	pthread_t thread;

	gg_loader_lock_begin();
	REQUIRE(pthread_create(&thread, NULL, call_once, NULL) == 0);
	while (!atomic_load(&is_within))
		pause_ms(1);
	CHECK(child_reads_the_list());
	CHECK(atomic_load(&has_left));
	pthread_join(thread, NULL);
}

/* --- a look-up while another thread has the lock --- */

static atomic_int looking_tid;
static atomic_bool has_looked;
static void *found;

static void *look_up(void *argument)
{
	atomic_store(&looking_tid, (int)syscall(SYS_gettid));
	found = gg_elf_lookup_any("pthread_create");
	atomic_store(&has_looked, true);
	return argument;
}

static bool is_asleep(int tid)
{
	char path[64], text[256] = "";
	const char *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "r");
	if (file == NULL)
		return false;
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	end = strrchr(text, ')');
	return end != NULL && end[1] == ' ' && end[2] == 'S';
}

/* Has the lock until the other thread has slept for some milliseconds, or has not waited. */
static int hold_until_it_waits(struct dl_phdr_info *info, size_t bytes, void *context)
{
	int slept = 0;

	(void)info;
	(void)bytes;
	atomic_store(&is_within, true);
	while (slept < 5 && !atomic_load(&has_looked)) {
		slept = atomic_load(&looking_tid) != 0 && is_asleep(atomic_load(&looking_tid))
		                ? slept + 1
		                : 0;
		pause_ms(1);
	}
	*(bool *)context = !atomic_load(&has_looked);
	return 1;
}

static void *hold_lock(void *did_wait)
{
	dl_iterate_phdr(hold_until_it_waits, did_wait);
	return NULL;
}

TEST(a_look_up_in_all_modules_waits_for_a_thread_that_has_the_lock)
{
	pthread_t holder, looker;
	bool did_wait = false;

	gg_loader_lock_begin();
	atomic_store(&is_within, false);
	REQUIRE(pthread_create(&holder, NULL, hold_lock, &did_wait) == 0);
	while (!atomic_load(&is_within))
		pause_ms(1);
	REQUIRE(pthread_create(&looker, NULL, look_up, NULL) == 0);
	pthread_join(looker, NULL);
	pthread_join(holder, NULL);
	CHECK(did_wait);
	CHECK(found == dlsym(RTLD_DEFAULT, "pthread_create"));
}

/* --- calls within calls --- */

static void call_again(void *count)
{
	++*(int *)count;
	if (*(int *)count < 3)
		gg_loader_lock_call(call_again, count);
}

TEST(a_thread_that_holds_forks_may_call_within_a_call_and_fork_itself)
{
	int count = 0;

	gg_loader_lock_begin();
	CHECK(gg_loader_lock_hold_forks());
	gg_loader_lock_call(call_again, &count);
	CHECK(child_reads_the_list());
	gg_loader_lock_release_forks();
	CHECK_EQ_I64(count, 3);
}

/* --- many --- */

static atomic_bool is_over;

static void nothing(void *context)
{
	(void)context;
}

static void *call_all_the_time(void *argument)
{
	while (!atomic_load(&is_over))
		gg_loader_lock_call(nothing, NULL);
	return argument;
}

TEST(children_forked_while_two_threads_call_all_the_time_can_read_the_list)
{
	pthread_t threads[2];
	int count = 0;

	gg_loader_lock_begin();
	for (int i = 0; i < 2; i++)
		REQUIRE(pthread_create(&threads[i], NULL, call_all_the_time, NULL) == 0);
	while (count < ROUNDS && child_reads_the_list())
		count++;
	CHECK_EQ_I64(count, ROUNDS);
	atomic_store(&is_over, true);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}
