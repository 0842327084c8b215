/* SPDX-License-Identifier: Apache-2.0 */
/* filter_check - reads seccomp filters and runs them (attach/filter_check.h). */
#include "attach/filter_check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/memfd.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "attach/borrowed_thread.h"
#include "base/compiler.h"

#if defined(__x86_64__)

enum {
	FILTERS_MAX = 64,
	EXECUTABLE_FILE = 0x10, /* MFD_EXEC, since Linux 6.3 */
	POPULATE_WRITE = 23     /* MADV_POPULATE_WRITE, since Linux 5.14 */
};

/* An address as the calls have it, for filters that compare it with 0. */
#define ADDRESS   UINT64_C(0x7f0000010000)
#define HERE      UINT64_C(0xffffff9c) /* AT_FDCWD */
#define READ_ONLY (O_RDONLY | O_CLOEXEC)
#define NEW_FILE  (O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW)
#define MEMORY    (MAP_PRIVATE | MAP_ANONYMOUS)
#define OF_FILE   (MAP_PRIVATE | MAP_DENYWRITE)
#define READ_EXEC (PROT_READ | PROT_EXEC)
#define DATA      (PROT_READ | PROT_WRITE)

struct checked_call {
	uint32_t number;
	const char *name;
	uint64_t arguments[6];
};

/*
 * The calls of the loader, the agent's start and its later work (docs/internals/AGENT.md), and the
 * wait frame, with arguments as they have them.  An attach to a program whose filters end it for
 * any other call tests that the list is whole (tests/attach/test_attach_places.py).
 */
static const struct checked_call calls[] = {
	{ SYS_memfd_create, "memfd_create", { ADDRESS, MFD_CLOEXEC | EXECUTABLE_FILE } },
	{ SYS_memfd_create, "memfd_create", { ADDRESS, MFD_CLOEXEC } },
	{ SYS_openat, "openat", { HERE, ADDRESS, READ_ONLY } },
	{ SYS_openat, "openat", { HERE, ADDRESS, READ_ONLY | O_NOFOLLOW } },
	{ SYS_openat, "openat", { HERE, ADDRESS, READ_ONLY | O_DIRECTORY } },
	{ SYS_openat, "openat", { HERE, ADDRESS, NEW_FILE | O_EXCL, 0600 } },
	{ SYS_openat, "openat", { HERE, ADDRESS, NEW_FILE | O_NOCTTY | O_NONBLOCK, 0600 } },
	{ SYS_read, "read", { 3, ADDRESS, 1023 } },
	{ SYS_write, "write", { 3, ADDRESS, 80 } },
	{ SYS_pread64, "pread64", { 3, ADDRESS, 80 } },
	{ SYS_pwrite64, "pwrite64", { 3, ADDRESS, 80 } },
	{ SYS_close, "close", { 3 } },
	{ SYS_fstat, "fstat", { 3, ADDRESS } },
	{ SYS_newfstatat, "newfstatat", { 3, ADDRESS, ADDRESS, AT_EMPTY_PATH } },
	{ SYS_newfstatat, "newfstatat", { HERE, ADDRESS, ADDRESS } },
	{ SYS_fstatfs, "fstatfs", { 3, ADDRESS } },
	{ SYS_fchmod, "fchmod", { 3, 0600 } },
	{ SYS_ftruncate, "ftruncate", { 3, 1 << 20 } },
	{ SYS_fallocate, "fallocate", { 3, 0, 0, 1 << 20 } },
	{ SYS_fcntl, "fcntl", { 3, F_GETFD } },
	{ SYS_flock, "flock", { 3, LOCK_EX | LOCK_NB } },
	{ SYS_unlink, "unlink", { ADDRESS } },
	{ SYS_getdents64, "getdents64", { 3, ADDRESS, 4096 } },
	{ SYS_readlink, "readlink", { ADDRESS, ADDRESS, 1023 } },
	{ SYS_brk, "brk", { ADDRESS } },
	{ SYS_mmap, "mmap", { 0, 1 << 20, PROT_READ, OF_FILE, 3, 0 } },
	{ SYS_mmap, "mmap", { ADDRESS, 4096, PROT_READ, OF_FILE | MAP_FIXED, 3, 4096 } },
	{ SYS_mmap, "mmap", { ADDRESS, 4096, READ_EXEC, OF_FILE | MAP_FIXED, 3, 4096 } },
	{ SYS_mmap, "mmap", { ADDRESS, 4096, DATA, OF_FILE | MAP_FIXED, 3, 4096 } },
	{ SYS_mmap, "mmap", { ADDRESS, 4096, DATA, MEMORY | MAP_FIXED, UINT32_MAX, 0 } },
	{ SYS_mmap, "mmap", { 0, 4096, DATA, MEMORY, UINT32_MAX, 0 } },
	{ SYS_mmap, "mmap", { 0, 1 << 20, DATA, MEMORY | MAP_NORESERVE, UINT32_MAX, 0 } },
	{ SYS_mmap, "mmap", { 0, 1 << 20, DATA, MAP_SHARED, 3, 0 } },
	{ SYS_munmap, "munmap", { ADDRESS, 4096 } },
	{ SYS_mprotect, "mprotect", { ADDRESS, 4096, PROT_READ } },
	{ SYS_mprotect, "mprotect", { ADDRESS, 4096, DATA } },
	{ SYS_madvise, "madvise", { ADDRESS, 4096, MADV_WIPEONFORK } },
	{ SYS_madvise, "madvise", { ADDRESS, 4096, MADV_NOHUGEPAGE } },
	{ SYS_madvise, "madvise", { ADDRESS, 4096, POPULATE_WRITE } },
	{ SYS_rt_sigprocmask, "rt_sigprocmask", { SIG_BLOCK, ADDRESS, ADDRESS, 8 } },
	{ SYS_rt_sigprocmask, "rt_sigprocmask", { SIG_SETMASK, ADDRESS, 0, 8 } },
	{ SYS_rt_sigprocmask, "rt_sigprocmask", { UINT32_MAX, ADDRESS, 0, 8 } },
	{ SYS_rt_sigaction, "rt_sigaction", { SIGBUS, ADDRESS, 0, 8 } },
	{ SYS_rt_sigaction, "rt_sigaction", { SIGBUS, 0, ADDRESS, 8 } },
	{ SYS_rt_sigreturn, "rt_sigreturn", { 0 } },
	{ SYS_poll, "poll", { 0, 0, GG_BORROWED_WAIT_MS } },
	{ SYS_futex, "futex", { ADDRESS, FUTEX_WAIT_PRIVATE, 2 } },
	{ SYS_futex, "futex", { ADDRESS, FUTEX_WAKE_PRIVATE, 1 } },
	{ SYS_sched_yield, "sched_yield", { 0 } },
	{ SYS_prlimit64, "prlimit64", { 0, RLIMIT_AS, 0, ADDRESS } },
	{ SYS_prlimit64, "prlimit64", { 0, RLIMIT_DATA, 0, ADDRESS } },
	{ SYS_prlimit64, "prlimit64", { 0, RLIMIT_FSIZE, 0, ADDRESS } },
	{ SYS_prctl, "prctl", { PR_GET_NAME, ADDRESS } },
	{ SYS_getrandom, "getrandom", { ADDRESS, 8, GRND_NONBLOCK } },
	{ SYS_getpid, "getpid", { 0 } },
	{ SYS_getppid, "getppid", { 0 } },
	{ SYS_gettid, "gettid", { 0 } },
	{ SYS_geteuid, "geteuid", { 0 } },
	{ SYS_kill, "kill", { 1 << 15, 0 } },
	{ SYS_tgkill, "tgkill", { 1 << 15, 1 << 15, 0 } },
	{ SYS_nanosleep, "nanosleep", { ADDRESS, 0 } },
};

/* The adapter for Python makes these calls as well (bindings/python/object_types.c). */
static const struct checked_call python_calls[] = {
	{ SYS_process_vm_readv, "process_vm_readv", { 1 << 15, ADDRESS, 1, ADDRESS, 1, 0 } },
};

static uint32_t compute(uint16_t operation, uint32_t a, uint32_t b)
{
	switch (operation) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return b != 0 ? a / b : 0;
	case BPF_AND:
		return a & b;
	case BPF_OR:
		return a | b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return b < 32 ? a << b : 0;
	case BPF_RSH:
		return b < 32 ? a >> b : 0;
	default:
		return -a; /* BPF_NEG */
	}
}

static bool holds(uint16_t operation, uint32_t a, uint32_t b)
{
	switch (operation) {
	case BPF_JEQ:
		return a == b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	default:
		return (a & b) != 0; /* BPF_JSET */
	}
}

/* The registers of a filter that runs. */
struct filter_machine {
	uint32_t a, x, memory[BPF_MEMWORDS];
};

/* Returns the value that a load instruction reads. */
static uint32_t load(const struct filter_machine *machine, const struct sock_filter *at,
                     const struct seccomp_data *data)
{
	uint32_t value = 0;

	switch (BPF_MODE(at->code)) {
	case BPF_ABS:
		if (at->k <= sizeof(*data) - sizeof(value))
			memcpy(&value, (const char *)data + at->k, sizeof(value));
		return value;
	case BPF_LEN:
		return sizeof(*data);
	case BPF_MEM:
		return machine->memory[at->k % BPF_MEMWORDS];
	default:
		return at->k; /* BPF_IMM */
	}
}

/* Returns the action of a filter.  The kernel has checked it: it has no loop, and it returns. */
static uint32_t run_filter(const struct sock_filter *code, int count,
                           const struct seccomp_data *data)
{
	struct filter_machine machine = { 0 };

	for (int i = 0; i < count; i++) {
		const struct sock_filter *at = &code[i];
		uint32_t operand = BPF_SRC(at->code) == BPF_X ? machine.x : at->k;

		switch (BPF_CLASS(at->code)) {
		case BPF_LD:
			machine.a = load(&machine, at, data);
			break;
		case BPF_LDX:
			machine.x = load(&machine, at, data);
			break;
		case BPF_ST:
			machine.memory[at->k % BPF_MEMWORDS] = machine.a;
			break;
		case BPF_STX:
			machine.memory[at->k % BPF_MEMWORDS] = machine.x;
			break;
		case BPF_ALU:
			machine.a = compute(BPF_OP(at->code), machine.a, operand);
			break;
		case BPF_JMP:
			if (BPF_OP(at->code) == BPF_JA)
				i += (int)at->k;
			else
				i += holds(BPF_OP(at->code), machine.a, operand) ? at->jt : at->jf;
			break;
		case BPF_RET:
			return BPF_RVAL(at->code) == BPF_A ? machine.a : at->k;
		default:
			if (BPF_MISCOP(at->code) == BPF_TAX)
				machine.x = machine.a;
			else
				machine.a = machine.x;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}

/* Returns the name of the first call for which a filter ends the process, or NULL. */
static const char *find_deadly_in(const struct sock_filter *code, int count,
                                  const struct checked_call *checked, size_t checked_count)
{
	struct seccomp_data data = { .arch = AUDIT_ARCH_X86_64 };

	for (size_t i = 0; i < checked_count; i++) {
		uint32_t action;

		data.nr = (int)checked[i].number;
		for (size_t j = 0; j < GG_COUNT(checked[i].arguments); j++)
			data.args[j] = checked[i].arguments[j];
		action = run_filter(code, count, &data) & SECCOMP_RET_ACTION_FULL;
		if (action == SECCOMP_RET_KILL_PROCESS || action == SECCOMP_RET_KILL_THREAD ||
		    action == SECCOMP_RET_TRAP)
			return checked[i].name;
	}
	return NULL;
}

/* Checks all filters of the thread, and counts those that the kernel shows. */
static const char *find_deadly(pid_t tid, const struct checked_call *checked, size_t checked_count,
                               uintptr_t *ret_filters)
{
	static struct sock_filter code[BPF_MAXINSNS];
	const char *deadly = NULL;
	uintptr_t i;

	for (i = 0; deadly == NULL && i < FILTERS_MAX; i++) {
		/* The kernel takes no size: it writes up to BPF_MAXINSNS instructions. */
		long count = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (void *)i, code);

		if (count <= 0)
			break;
		deadly = find_deadly_in(code, (int)count, checked, checked_count);
	}
	*ret_filters = i;
	return deadly;
}

int gg_filter_check(pid_t tid, bool must_read, struct gg_error *error)
{
	uintptr_t filters;
	const char *deadly = find_deadly(tid, calls, GG_COUNT(calls), &filters);

	if (deadly != NULL)
		return gg_error_set(
			error, -EPERM, "attach", "Start it with the agent ('geiger env').",
			"not attached: its seccomp filters would end it for %s()", deadly);
	if (must_read && filters == 0)
		return gg_error_set(error, -EPERM, "attach",
		                    "Start it with the agent ('geiger env').",
		                    "not attached: the kernel does not show its seccomp filters, "
		                    "which may end it for calls that the agent makes");
	return 0;
}

const char *gg_filter_check_python(pid_t tid)
{
	uintptr_t filters;

	return find_deadly(tid, python_calls, GG_COUNT(python_calls), &filters);
}

#else

int gg_filter_check(pid_t tid, bool must_read, struct gg_error *error)
{
	(void)tid, (void)must_read, (void)error;
	return 0;
}

const char *gg_filter_check_python(pid_t tid)
{
	(void)tid;
	return NULL;
}

#endif
