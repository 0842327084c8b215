/* SPDX-License-Identifier: Apache-2.0 */
/*
 * survey_target - a process for tests that look at a process before they attach.
 *
 *   survey_target idle          waits for its end
 *   survey_target protected     allows no process of the same user to trace it, then waits
 *   survey_target filter        installs a seccomp filter that allows everything, then waits
 *   survey_target trace PID     traces another process, then waits
 *   survey_target zombie        leaves a child that has ended, and prints its pid
 *
 * Each prints a line when it is ready.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static int install_filter(void)
{
	struct sock_filter allow[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog program = { 1, allow };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0;
}

static pid_t make_zombie(void)
{
	siginfo_t info;
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
	return child;
}

int main(int argc, char **argv)
{
	pid_t shown = getpid();
	int status = 0;

	if (argc > 1 && strcmp(argv[1], "protected") == 0)
		status = prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (argc > 1 && strcmp(argv[1], "filter") == 0)
		status = install_filter();
	else if (argc > 2 && strcmp(argv[1], "trace") == 0)
		status = ptrace(PTRACE_SEIZE, atoi(argv[2]), NULL, NULL) < 0;
	else if (argc > 1 && strcmp(argv[1], "zombie") == 0)
		shown = make_zombie();
	if (status != 0) {
		perror("survey_target");
		return 1;
	}
	printf("%d\n", (int)shown);
	fflush(stdout);
	for (;;)
		pause();
}
