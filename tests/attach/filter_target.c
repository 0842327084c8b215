/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter_target CALLS errno|kill PROGRAM... - installs a seccomp filter, and runs a program that
 * inherits it.  The exit status is the program's, or 1 after a signal.
 *
 *   NUMBER       the filter stops one system call
 *   known        every call but those of src/attach/filter_check.c and of the program
 *   writable     mappings of memory that can be written and executed, and protections that make
 *                memory executable, as MemoryDenyWriteExecute= of systemd does
 *   own CALLS    one of these, and no process before the program has the filter, as with
 *                SystemCallFilter= of systemd
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILTER_MAX = 256 };

static const int known[] = {
	/* The calls that filter_check.c knows; the program may make these as well. */
	SYS_memfd_create, SYS_openat, SYS_read, SYS_write, SYS_pread64, SYS_pwrite64, SYS_close,
	SYS_fstat, SYS_newfstatat, SYS_fstatfs, SYS_fchmod, SYS_ftruncate, SYS_fallocate, SYS_fcntl,
	SYS_flock, SYS_unlink, SYS_getdents64, SYS_readlink, SYS_brk, SYS_mmap, SYS_munmap,
	SYS_mprotect, SYS_madvise, SYS_rt_sigprocmask, SYS_rt_sigaction, SYS_rt_sigreturn, SYS_poll,
	SYS_futex, SYS_sched_yield, SYS_prlimit64, SYS_prctl, SYS_getrandom, SYS_getpid,
	SYS_getppid, SYS_gettid, SYS_geteuid, SYS_kill, SYS_tgkill, SYS_nanosleep,
	/* The program starts, makes threads, and ends. */
	SYS_execve, SYS_access, SYS_arch_prctl, SYS_set_tid_address, SYS_set_robust_list, SYS_rseq,
	SYS_clone, SYS_clone3, SYS_wait4, SYS_exit, SYS_exit_group,
	SYS_sched_getaffinity, /* malloc() does, for its arenas */
};

static struct sock_filter filter[FILTER_MAX];
static unsigned short filter_count;

static void add(unsigned short code, uint32_t k, uint8_t jump_true, uint8_t jump_false)
{
	filter[filter_count++] = (struct sock_filter){ code, jump_true, jump_false, k };
}

static void load(size_t offset)
{
	add(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* Returns `action` for the call if all these bits of its third argument are set. */
static void add_protection(int number, uint32_t bits, uint32_t action)
{
	load(offsetof(struct seccomp_data, nr));
	add(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 4);
	load(offsetof(struct seccomp_data, args[2]));
	add(BPF_ALU | BPF_AND | BPF_K, bits, 0, 0);
	add(BPF_JMP | BPF_JEQ | BPF_K, bits, 0, 1);
	add(BPF_RET | BPF_K, action, 0, 0);
}

static void make_filter(const char *calls, uint32_t action)
{
	uint32_t otherwise = SECCOMP_RET_ALLOW;

	if (strcmp(calls, "known") == 0) {
		load(offsetof(struct seccomp_data, nr));
		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
			add(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)known[i], 0, 1);
			add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
		}
		otherwise = action;
	} else if (strcmp(calls, "writable") == 0) {
		add_protection(SYS_mmap, PROT_WRITE | PROT_EXEC, action);
		add_protection(SYS_mprotect, PROT_EXEC, action);
	} else {
		load(offsetof(struct seccomp_data, nr));
		add(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)atoi(calls), 0, 1);
		add(BPF_RET | BPF_K, action, 0, 0);
	}
	add(BPF_RET | BPF_K, otherwise, 0, 0);
}

static int install(void)
{
	struct sock_fprog program = { filter_count, filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
		return 0;
	perror("filter_target");
	return 1;
}

int main(int argc, char **argv)
{
	int is_own = argc > 1 && strcmp(argv[1], "own") == 0, status = 0;
	pid_t child;

	argc -= is_own;
	argv += is_own;
	if (argc < 4)
		return 2;
	make_filter(argv[1], strcmp(argv[2], "kill") == 0 ? SECCOMP_RET_KILL_PROCESS
	                                                  : SECCOMP_RET_ERRNO | EPERM);
	if (install() != 0)
		return 1;
	child = is_own ? 0 : fork();
	if (child == 0) {
		execv(argv[3], argv + 3);
		_exit(127);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
