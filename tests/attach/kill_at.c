/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kill_at - runs a command and kills a process of it at its Nth step.
 *
 *   kill_at helper N COMMAND...     the first child that the command forks
 *   kill_at both N COMMAND...       that child, and the command itself a moment before
 *   kill_at late N COMMAND...       kills nobody, and holds that child for a while before it
 *                                   interrupts a thread for the Nth time which executes a call of
 *                                   its own
 *
 * A step is a system call by which the process changes another one: ptrace(), or a write.  The call
 * itself does not happen, so all N together are all states in which a kill can leave the other
 * process.  Prints "killed at CALL" or "ended after COUNT steps" to the standard error.
 *
 * Exit status: that of the command, 137 if it was killed, 125 for what this program could not do.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALL_STOP = SIGTRAP | 0x80, FAILED = 125, KILLED = 137, HOLD_US = 800000 };

struct run {
	pid_t command, helper;
	long wanted, count; /* steps of the helper */
	bool kills_both, is_late, is_killed;
	bool is_calling; /* it has set the signal mask of a thread, as before a call */
};

static void fail(const char *what)
{
	fprintf(stderr, "kill_at: %s: %s\n", what, strerror(errno));
	exit(FAILED);
}

static bool ends_call(struct run *run, const struct __ptrace_syscall_info *info)
{
	bool is_end = info->entry.nr == SYS_ptrace && run->is_calling &&
	              info->entry.args[0] == PTRACE_INTERRUPT;

	if (info->entry.nr == SYS_ptrace && info->entry.args[0] == PTRACE_SETSIGMASK)
		run->is_calling = true;
	else if (is_end)
		run->is_calling = false;
	return is_end;
}

static bool is_step(struct run *run, const struct __ptrace_syscall_info *info)
{
	unsigned long call = info->entry.nr;

	if (run->is_late)
		return ends_call(run, info);
	return call == SYS_ptrace || call == SYS_pwrite64 || call == SYS_write ||
	       call == SYS_exit_group;
}

/* The helper is stopped at a system call.  Returns true if it was killed. */
static bool take_call(struct run *run)
{
	struct __ptrace_syscall_info info = { 0 };

	if (ptrace(PTRACE_GET_SYSCALL_INFO, run->helper, sizeof(info), &info) < 0 ||
	    info.op != PTRACE_SYSCALL_INFO_ENTRY || run->is_killed || !is_step(run, &info) ||
	    ++run->count != run->wanted)
		return false;
	if (run->is_late) {
		fprintf(stderr, "held at %ld\n", (long)info.entry.nr);
		usleep(HOLD_US);
		return false;
	}
	fprintf(stderr, "killed at %ld\n", (long)info.entry.nr);
	if (run->kills_both)
		kill(run->command, SIGKILL);
	kill(run->helper, SIGKILL);
	run->is_killed = true;
	return true;
}

static void take_stop(struct run *run, pid_t pid, int status)
{
	int signal = WSTOPSIG(status), event = status >> 16;
	unsigned long child = 0;

	if (event == PTRACE_EVENT_FORK && pid == run->command && run->helper == 0 &&
	    ptrace(PTRACE_GETEVENTMSG, pid, NULL, &child) == 0)
		run->helper = (pid_t)child;
	if (pid == run->helper && signal == CALL_STOP && take_call(run))
		return;
	if (event != 0 || signal == CALL_STOP || signal == SIGSTOP)
		signal = 0;
	/* A command that is killed meanwhile is no error. */
	ptrace(pid == run->helper ? PTRACE_SYSCALL : PTRACE_CONT, pid, NULL, (void *)(long)signal);
}

static int follow(struct run *run)
{
	int status, result = FAILED;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		if (WIFSTOPPED(status))
			take_stop(run, pid, status);
		else if (pid == run->command)
			result = WIFEXITED(status) ? WEXITSTATUS(status) : KILLED;
	}
	if (!run->is_killed)
		fprintf(stderr, "ended after %ld steps\n", run->count);
	return result;
}

int main(int argc, char **argv)
{
	struct run run = { 0 };
	int status;

	if (argc < 4)
		return FAILED;
	run.kills_both = strcmp(argv[1], "both") == 0;
	run.is_late = strcmp(argv[1], "late") == 0;
	run.wanted = atol(argv[2]);
	run.command = fork();
	if (run.command < 0)
		fail("fork");
	if (run.command == 0) {
		raise(SIGSTOP);
		execvp(argv[3], argv + 3);
		_exit(FAILED);
	}
	if (waitpid(run.command, &status, WUNTRACED) < 0 ||
	    ptrace(PTRACE_SEIZE, run.command, NULL, PTRACE_O_TRACEFORK | PTRACE_O_TRACESYSGOOD) < 0)
		fail("ptrace");
	kill(run.command, SIGCONT);
	return follow(&run);
}
