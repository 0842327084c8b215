/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_sandbox - for attached.py: a sandbox as programs enter it, and a thread without Python.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) int enter_sandbox(void);
__attribute__((visibility("default"))) int start_thread(void);

/* From now on process_vm_readv() kills the process.  0: the filter is in place. */
int enter_sandbox(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return 1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static void *allocate(void *nothing)
{
	for (;;) {
		void *volatile p = malloc(100000);

		free(p);
		usleep(1000);
	}
	return nothing;
}

/* It allocates until the process ends, also while no thread of Python runs. */
int start_thread(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, allocate, NULL);
}
