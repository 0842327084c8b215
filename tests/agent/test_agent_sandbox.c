/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_agent_sandbox - runs programs in sandboxes that refuse the agent's system calls.
 *
 * The program does not notice, and everything that was recorded before stays right.  Each
 * allocation is a sample.
 */
#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/inside.h"
#include "base/compiler.h"
#include "test.h"

INSIDE("GEIGER_INTERVAL=1", "GEIGER_LOG=/dev/null")

static void *(*volatile call_malloc)(size_t) = malloc;
static void (*volatile call_free)(void *) = free;

enum { BLOCKS = 10000, NO_SANDBOX = 77 };

static void *blocks[BLOCKS];

/* All that docs/AGENT.md lists, but for what malloc() itself needs. */
static bool enter_sandbox(void)
{
	static const unsigned refused[] = { SYS_fallocate, SYS_openat,     SYS_ftruncate,
		                            SYS_gettid,    SYS_readlinkat, SYS_getrandom,
		                            SYS_fcntl,     SYS_madvise,    SYS_prctl };
	struct sock_filter code[2 * GG_COUNT(refused) + 2];
	struct sock_fprog program = { .len = 0, .filter = code };

	code[program.len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
	                                                   offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < GG_COUNT(refused); i++) {
		code[program.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
		                                                   refused[i], 0, 1);
		code[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
		                                                   SECCOMP_RET_ERRNO | EPERM);
	}
	code[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	/* By bare system calls, of which the agent hears nothing. */
	return syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void *allocate_in_thread(void *argument)
{
	for (int i = 0; i < 100; i++)
		call_free(call_malloc(100));
	return argument;
}

/* More than the space that there is; and a thread. */
static bool allocate_much(void)
{
	pthread_t thread;
	bool good = true;

	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = call_malloc(20);
		good &= blocks[i] != NULL;
	}
	good &= pthread_create(&thread, NULL, allocate_in_thread, NULL) == 0 &&
	        pthread_join(thread, NULL) == 0;
	for (int i = 0; i < BLOCKS; i++)
		call_free(blocks[i]);
	return good;
}

static int run_child(bool has_region)
{
	if (has_region)
		call_free(call_malloc(10));
	if (!enter_sandbox())
		return NO_SANDBOX;
	errno = 42;
	call_free(call_malloc(10));
	return errno == 42 && allocate_much() ? 0 : 1;
}

/* Its exit status, or that of a shell for a signal. */
static int wait_for(pid_t child)
{
	int status = -1;

	waitpid(child, &status, 0);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The region of a process that has ended. */
static bool open_region_of(pid_t process, struct gg_region_view *view)
{
	static struct gg_error error;
	DIR *d = opendir(inside_directory());
	struct dirent *entry;
	char prefix[40], path[600];
	bool found = false;

	snprintf(prefix, sizeof(prefix), "geiger-%d-", (int)process);
	while (d != NULL && !found && (entry = readdir(d)) != NULL) {
		found = strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
		snprintf(path, sizeof(path), "%s/%s", inside_directory(), entry->d_name);
	}
	if (d != NULL)
		closedir(d);
	return found && gg_region_view_open(view, path, &error) == 0;
}

TEST(a_sandbox_that_is_entered_after_the_first_sample_drops_and_counts)
{
	struct gg_region_view view;
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(run_child(true));
	status = wait_for(child);
	if (status == NO_SANDBOX)
		SKIP("may not make a sandbox here");
	CHECK_MSG(status == 0, "status %d", status);
	if (!CHECK(open_region_of(child, &view)))
		return;
	CHECK(!view.torn && view.damaged_count == 0 && gg_region_view_check(&view, NULL) == 0);
	CHECK(view.header.counters[GG_COUNT_GROW_FAILED] > 0);
	CHECK(view.header.counters[GG_COUNT_DROP_LIVE_FULL] > 0);
	CHECK(view.header.counters[GG_COUNT_SAMPLES] > 100);
	gg_region_view_done(&view);
}

TEST(a_sandbox_that_is_entered_before_there_is_a_region_leaves_the_program_alone)
{
	struct gg_region_view view;
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(run_child(false));
	status = wait_for(child);
	if (status == NO_SANDBOX)
		SKIP("may not make a sandbox here");
	CHECK_MSG(status == 0, "status %d", status);
	CHECK(!open_region_of(child, &view));
	/* It had its parent's region mapped. */
	CHECK(inside_is_consistent());
}
