/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_agent_calls - compares the agent's system calls with the table in docs/AGENT.md.
 *
 * The agent may add no other calls to a program's own, so that an author of a filter can rely on
 * the table.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/place.h"
#include "base/compiler.h"
#include "test.h"

enum { CALLS_MAX = 512 };

struct calls {
	int counts[CALLS_MAX];
	int quiet_count; /* between two calls of getppid() at the end */
	int exit_status;
};

static const char *directory;

__attribute__((constructor(101))) static void make_directory(void)
{
	directory = place_make();
}

/* Names, as in the table; of calls that are known by two, the table's. */
static const struct {
	long number;
	const char *name;
} names[] = {
	{ SYS_openat, "openat" },
	{ SYS_close, "close" },
	{ SYS_read, "read" },
	{ SYS_write, "write" },
	{ SYS_pread64, "pread64" },
	{ SYS_pwrite64, "pwrite64" },
	{ SYS_fstat, "fstat" },
	{ SYS_newfstatat, "fstat" },
	{ SYS_fchmod, "fchmod" },
	{ SYS_fcntl, "fcntl" },
	{ SYS_flock, "flock" },
	{ SYS_ftruncate, "ftruncate" },
	{ SYS_fallocate, "fallocate" },
	{ SYS_unlinkat, "unlink" },
	{ SYS_readlinkat, "readlink" },
#ifdef SYS_open
	{ SYS_unlink, "unlink" },
	{ SYS_readlink, "readlink" },
#endif
	{ SYS_mmap, "mmap" },
	{ SYS_mprotect, "mprotect" },
	{ SYS_madvise, "madvise" },
	{ SYS_prlimit64, "prlimit64" },
	{ SYS_getpid, "getpid" },
	{ SYS_getppid, "getppid" },
	{ SYS_gettid, "gettid" },
	{ SYS_geteuid, "geteuid" },
	{ SYS_fstatfs, "fstatfs" },
	{ SYS_getrandom, "getrandom" },
	{ SYS_prctl, "prctl" },
	{ SYS_rt_sigaction, "rt_sigaction" },
	{ SYS_rt_sigprocmask, "rt_sigprocmask" },
};

static const char *name_of(long number)
{
	for (size_t i = 0; i < GG_COUNT(names); i++)
		if (names[i].number == number)
			return names[i].name;
	return NULL;
}

/* The table: from its title to the next one. */
static char table[16384];

static bool read_table(void)
{
	FILE *file = fopen(getenv("AGENT_DOCUMENT"), "r");
	char *begin, *end;
	size_t length = file != NULL ? fread(table, 1, sizeof(table) - 1, file) : 0;

	if (file != NULL)
		fclose(file);
	table[length] = '\0';
	begin = strstr(table, "## System calls");
	end = begin != NULL ? strstr(begin + 1, "\n## ") : NULL;
	if (end == NULL)
		return false;
	*end = '\0';
	memmove(table, begin, strlen(begin) + 1);
	return true;
}

static bool is_in_table(long number)
{
	const char *name = name_of(number);
	char text[64];

	snprintf(text, sizeof(text), "`%s`", name != NULL ? name : "");
	return name != NULL && strstr(table, text) != NULL;
}

static void count(struct calls *calls, long number)
{
	static int since_marker;

	if (number < 0 || number >= CALLS_MAX)
		return;
	calls->counts[number]++;
	if (number == SYS_getppid) {
		calls->quiet_count = since_marker;
		since_marker = 0;
	} else {
		since_marker++;
	}
}

/* Runs the program to its end.  False: it cannot be traced here. */
static bool trace(const char *what, const char *const environment[], struct calls *calls)
{
	pid_t child = fork();
	int status;

	memset(calls, 0, sizeof(*calls));
	if (child == 0) {
		for (int i = 0; environment[i] != NULL; i++)
			putenv((char *)environment[i]);
		if (freopen("/dev/null", "w", stdout) == NULL ||
		    ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(77);
		raise(SIGSTOP);
		execl(getenv("FAULT_PROGRAM"), "fault_program", what, (char *)NULL);
		_exit(76);
	}
	if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
		return false;
	ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	while (ptrace(PTRACE_SYSCALL, child, NULL, NULL) == 0 &&
	       waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
		struct __ptrace_syscall_info info;

		if (WSTOPSIG(status) == (SIGTRAP | 0x80) &&
		    ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof(info), &info) > 0 &&
		    info.op == PTRACE_SYSCALL_INFO_ENTRY)
			count(calls, (long)info.entry.nr);
	}
	calls->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	return true;
}

static void compare(const char *what, struct calls *with)
{
	char dir[100], preload[1000];
	const char *const nothing[] = { NULL };
	const char *const agent[] = { dir, preload, "GEIGER_INTERVAL=1", "GEIGER_KEEP=1", NULL };
	struct calls without;

	snprintf(dir, sizeof(dir), "GEIGER_DIR=%s", directory);
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", getenv("GEIGER_AGENT"));
	if (!trace(what, nothing, &without) || !trace(what, agent, with))
		SKIP("may not trace here");
	CHECK_MSG(without.exit_status == 42 && with->exit_status == 42, "%d, %d",
	          without.exit_status, with->exit_status);
	for (int i = 0; i < CALLS_MAX; i++)
		CHECK_MSG(with->counts[i] <= without.counts[i] || is_in_table(i),
		          "%s: system call %d (%s) is not in the table", what, i,
		          name_of(i) != NULL ? name_of(i) : "?");
}

TEST(what_is_called_is_in_the_table)
{
	struct calls calls;

	if (!CHECK(read_table()))
		return;
	if (place_is_emulated())
		SKIP("the emulator makes calls of its own");
	/* Run more often than GEIGER_KEEP, so that the agent also removes old regions. */
	for (int i = 0; i < 4; i++)
		compare("work", &calls);
	compare("quiet", &calls);
	CHECK_MSG(calls.quiet_count == 0, "%d calls in 50 000 samples", calls.quiet_count);
	/* A thread's number is known without asking. */
	CHECK_EQ_I64(calls.counts[SYS_gettid], 0);
	/* The agent reads seeds and links a few times, whatever the number of samples. */
	CHECK(calls.counts[SYS_getrandom] <= 4 && calls.counts[SYS_readlinkat] <= 1);
}
