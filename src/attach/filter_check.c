/* SPDX-License-Identifier: Apache-2.0 */
/* filter_check - reads seccomp filters and runs them (attach/filter_check.h). */
#include "attach/filter_check.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "base/compiler.h"

#if defined(__x86_64__)

enum { FILTERS_MAX = 64 };

/* The calls of the loader, the agent's start (docs/internals/AGENT.md), and the wait frame. */
static const struct {
	uint32_t number;
	const char *name;
} calls[] = {
	{ SYS_memfd_create, "memfd_create" },
	{ SYS_openat, "openat" },
	{ SYS_read, "read" },
	{ SYS_write, "write" },
	{ SYS_pread64, "pread64" },
	{ SYS_pwrite64, "pwrite64" },
	{ SYS_close, "close" },
	{ SYS_fstat, "fstat" },
	{ SYS_newfstatat, "newfstatat" },
	{ SYS_fstatfs, "fstatfs" },
	{ SYS_fchmod, "fchmod" },
	{ SYS_ftruncate, "ftruncate" },
	{ SYS_fallocate, "fallocate" },
	{ SYS_fcntl, "fcntl" },
	{ SYS_flock, "flock" },
	{ SYS_unlink, "unlink" },
	{ SYS_getdents64, "getdents64" },
	{ SYS_readlink, "readlink" },
	{ SYS_brk, "brk" },
	{ SYS_mmap, "mmap" },
	{ SYS_munmap, "munmap" },
	{ SYS_mprotect, "mprotect" },
	{ SYS_madvise, "madvise" },
	{ SYS_rt_sigprocmask, "rt_sigprocmask" },
	{ SYS_rt_sigaction, "rt_sigaction" },
	{ SYS_rt_sigreturn, "rt_sigreturn" },
	{ SYS_poll, "poll" },
	{ SYS_futex, "futex" },
	{ SYS_sched_yield, "sched_yield" },
	{ SYS_prlimit64, "prlimit64" },
	{ SYS_prctl, "prctl" },
	{ SYS_getrandom, "getrandom" },
	{ SYS_getpid, "getpid" },
	{ SYS_getppid, "getppid" },
	{ SYS_gettid, "gettid" },
	{ SYS_geteuid, "geteuid" },
	{ SYS_kill, "kill" },
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

/* Returns the name of a call for which a filter ends the process, or NULL. */
static const char *find_deadly(const struct sock_filter *code, int count)
{
	struct seccomp_data data = { .arch = AUDIT_ARCH_X86_64 };

	for (size_t i = 0; i < GG_COUNT(calls); i++) {
		uint32_t action;

		data.nr = (int)calls[i].number;
		action = run_filter(code, count, &data) & SECCOMP_RET_ACTION_FULL;
		if (action == SECCOMP_RET_KILL_PROCESS || action == SECCOMP_RET_KILL_THREAD ||
		    action == SECCOMP_RET_TRAP)
			return calls[i].name;
	}
	return NULL;
}

int gg_filter_check(pid_t tid, struct gg_error *error)
{
	static struct sock_filter code[BPF_MAXINSNS];
	const char *deadly = NULL;

	for (uintptr_t i = 0; deadly == NULL && i < FILTERS_MAX; i++) {
		/* The kernel takes no size: it writes up to BPF_MAXINSNS instructions. */
		long count = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (void *)i, code);

		if (count <= 0)
			break;
		deadly = find_deadly(code, (int)count);
	}
	if (deadly == NULL)
		return 0;
	return gg_error_set(error, -EPERM, "attach", "Start it with the agent ('geiger env').",
	                    "not attached: its seccomp filters would end it for %s()", deadly);
}

#else

int gg_filter_check(pid_t tid, struct gg_error *error)
{
	(void)tid, (void)error;
	return 0;
}

#endif
