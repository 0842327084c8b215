/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter_target NUMBER errno|kill PROGRAM... - installs a seccomp filter for one system call, and
 * runs a program that inherits it.  The exit status is the program's, or 1 after a signal.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	uint32_t number = argc > 3 ? (uint32_t)atoi(argv[1]) : 0;
	uint32_t action = argc > 3 && strcmp(argv[2], "kill") == 0 ? SECCOMP_RET_KILL_PROCESS
	                                                           : SECCOMP_RET_ERRNO | EPERM;
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };
	int status = 0;
	pid_t child;

	if (argc < 4 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
		perror("filter_target");
		return 1;
	}
	child = fork();
	if (child == 0) {
		execv(argv[3], argv + 3);
		_exit(127);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
