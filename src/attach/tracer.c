/* SPDX-License-Identifier: Apache-2.0 */
/* tracer - seizes threads, plants traps, and sorts the stops of threads (attach/tracer.h). */
#include "attach/tracer.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/time_units.h"
#include "record/process/proc_file.h"

#define TRACE_OPTIONS                                                                             \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | \
	 PTRACE_O_TRACEEXEC)

#define SETTLED_RUN_NS UINT64_C(2000000) /* more than the way from a trap to its signal takes */
#define RUN_UNKNOWN    UINT64_MAX
#define TRAP_BIT       (UINT64_C(1) << (SIGTRAP - 1))

enum {
	SEIZE_SECONDS = 5,
	SYSCALL_STOP = SIGTRAP | 0x80,
	KERNEL_TRAP = 0x80, /* si_code of int3 */
	TRAP_BYTE = 0xcc
};

/* --- registers --- */

int gg_tracer_read_registers(pid_t tid, struct user_regs_struct *ret_registers)
{
	struct iovec place = { ret_registers, sizeof(*ret_registers) };

	return ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &place) < 0 ? -errno : 0;
}

int gg_tracer_write_registers(pid_t tid, const struct user_regs_struct *registers)
{
	struct iovec place = { (void *)(uintptr_t)registers, sizeof(*registers) };

	return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &place) < 0 ? -errno : 0;
}

#ifdef __x86_64__
#define PC_OF(registers) ((registers)->rip)
#else
#define PC_OF(registers) ((registers)->pc)
#endif

/* --- threads --- */

void gg_tracer_init(struct gg_tracer *tracer, const struct gg_remote_memory *memory,
                    struct gg_trap_plan *plan)
{
	*tracer = (struct gg_tracer){ .pid = memory->pid, .memory = memory, .plan = plan };
}

static struct gg_tracee *find_tracee(struct gg_tracer *tracer, pid_t tid)
{
	for (size_t i = 0; i < tracer->tracees.count; i++)
		if (tracer->tracees.items[i].tid == tid)
			return &tracer->tracees.items[i];
	return NULL;
}

static struct gg_tracee *add_tracee(struct gg_tracer *tracer, pid_t tid)
{
	if (!gg_array_push(&tracer->tracees,
	                   (struct gg_tracee){ .tid = tid, .serial = tracer->next_serial++ }))
		return NULL;
	return &tracer->tracees.items[tracer->tracees.count - 1];
}

static void forget_tracee(struct gg_tracer *tracer, pid_t tid)
{
	struct gg_tracee *tracee = find_tracee(tracer, tid);

	if (tracee != NULL)
		*tracee = tracer->tracees.items[--tracer->tracees.count];
}

/* True if the thread blocks SIGTRAP.  A trap unblocks it, which must be undone. */
static bool blocks_traps(pid_t pid, pid_t tid)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	const char *at;

	if (!gg_proc_file_read(&text, "/proc/%d/task/%d/status", (int)pid, (int)tid))
		return false;
	at = strstr(gg_buf_text(&text), "\nSigBlk:");
	return at != NULL && (strtoull(at + strlen("\nSigBlk:"), NULL, 16) & TRAP_BIT) != 0;
}

/* The time that a thread has spent on a processor; 0: unknown. */
static uint64_t run_ns_of(pid_t pid, pid_t tid)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	return gg_proc_file_read(&text, "/proc/%d/task/%d/schedstat", (int)pid, (int)tid)
	               ? strtoull(gg_buf_text(&text), NULL, 10)
	               : 0;
}

/* Seizes the threads that are not traced yet.  Returns how many these were, or -Exxx. */
static int seize_new(struct gg_tracer *tracer)
{
	char path[64];
	struct dirent *entry;
	int count = 0, status = 0;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)tracer->pid);
	tasks = opendir(path);
	if (tasks == NULL)
		return -ESRCH;
	while (status == 0 && (entry = readdir(tasks)) != NULL) {
		pid_t tid = atoi(entry->d_name);
		struct gg_tracee *tracee;

		if (tid == 0 || find_tracee(tracer, tid) != NULL)
			continue;
		/* A thread of a traced process may be traced already, or may have ended. */
		if (ptrace(PTRACE_SEIZE, tid, NULL, TRACE_OPTIONS) < 0) {
			if (errno != ESRCH && (errno != EPERM || tracer->tracees.count == 0))
				status = -errno;
			continue;
		}
		tracee = add_tracee(tracer, tid);
		if (tracee == NULL) {
			status = -ENOMEM;
			continue;
		}
		tracee->blocks_traps = blocks_traps(tracer->pid, tid);
		tracee->run_ns = run_ns_of(tracer->pid, tid);
		count++;
	}
	closedir(tasks);
	return status < 0 ? status : count;
}

int gg_tracer_resume(pid_t tid, int request)
{
	return ptrace((enum __ptrace_request)request, tid, NULL, NULL) < 0 ? -errno : 0;
}

int gg_tracer_interrupt(struct gg_tracer *tracer, pid_t tid)
{
	struct gg_tracee *tracee = find_tracee(tracer, tid);

	if (tracee == NULL || ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0)
		return -ESRCH;
	tracee->is_wanted = true;
	return 0;
}

/* --- traps --- */

static int write_byte(const struct gg_remote_memory *memory, uint64_t address, uint8_t byte)
{
	return gg_remote_memory_write(memory, address, &byte, sizeof(byte));
}

int gg_tracer_plant(struct gg_tracer *tracer, struct gg_error *error)
{
	struct gg_trap_plan *plan = tracer->plan;
	int status = 0;

	/* Pairs with the guardian's load: it may restore bytes that were never changed. */
	gg_store_release(&plan->is_planted, 1);
	for (uint32_t i = 0; i < plan->count && status == 0; i++)
		status = write_byte(tracer->memory, plan->addresses[i], TRAP_BYTE);
	if (status < 0) {
		gg_tracer_remove(tracer);
		return gg_error_set_errno(error, -status, "traps", NULL);
	}
	return 0;
}

int gg_tracer_restore_bytes(const struct gg_trap_plan *plan, const struct gg_remote_memory *memory)
{
	int status = 0;

	for (uint32_t i = 0; i < plan->count; i++) {
		uint8_t byte = TRAP_BYTE;
		int one = gg_remote_memory_read(memory, plan->addresses[i], &byte, sizeof(byte));

		/* A write would copy a page that a child still shares with its parent. */
		if (byte == TRAP_BYTE)
			one = write_byte(memory, plan->addresses[i], plan->originals[i]);
		status = one < 0 ? one : status;
	}
	return status;
}

void gg_tracer_remove(struct gg_tracer *tracer)
{
	if (gg_load_acquire(&tracer->plan->is_planted) == 0)
		return;
	gg_tracer_restore_bytes(tracer->plan, tracer->memory);
	gg_store_release(&tracer->plan->is_planted, 0);
	for (size_t i = 0; i < tracer->tracees.count; i++) {
		struct gg_tracee *tracee = &tracer->tracees.items[i];

		tracee->is_settled = false;
		tracee->run_ns = RUN_UNKNOWN; /* threads at a trap wait for us: it is read later */
	}
}

/* True for the system calls that make threads and processes. */
static bool makes_tasks(long call)
{
	static const long calls[] = {
		SYS_clone,
		SYS_clone3,
#ifdef SYS_fork
		SYS_fork,
		SYS_vfork,
#endif
	};

	for (size_t i = 0; i < GG_COUNT(calls); i++)
		if (call == calls[i])
			return true;
	return false;
}

/*
 * True if the thread sleeps in a system call, or has run for longer than the way from a trap to its
 * signal takes.  A thread that was stopped by a trap has been resumed already.
 */
static bool has_settled(const struct gg_tracer *tracer, struct gg_tracee *tracee)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	uint64_t run_ns = run_ns_of(tracer->pid, tracee->tid);

	if (tracee->run_ns == RUN_UNKNOWN)
		tracee->run_ns = run_ns;
	if (run_ns >= tracee->run_ns + SETTLED_RUN_NS)
		return true;
	/* "running", or the number of the call; -1: it sleeps outside of a call. */
	if (!gg_proc_file_read(&text, "/proc/%d/task/%d/syscall", (int)tracer->pid,
	                       (int)tracee->tid))
		return true; /* it has ended */
	return gg_buf_text(&text)[0] >= '0' && gg_buf_text(&text)[0] <= '9' &&
	       !makes_tasks(atoi(gg_buf_text(&text)));
}

/* Looks at the threads before `end` in the order in which they came.  True: all have settled. */
static bool have_settled(struct gg_tracer *tracer, uint64_t end)
{
	bool all = true;

	for (size_t i = 0; i < tracer->tracees.count; i++) {
		struct gg_tracee *tracee = &tracer->tracees.items[i];

		if (tracee->serial >= end)
			continue;
		if (!tracee->is_settled && !tracee->is_foreign && !tracee->is_new)
			tracee->is_settled = has_settled(tracer, tracee);
		all &= (tracee->is_settled || tracee->is_foreign) && !tracee->is_new;
	}
	return all;
}

/*
 * The first pass proves that no call which makes a child is still under way; the second one, that
 * the children of these calls have been taken care of.  Later ones began without traps.
 */
bool gg_tracer_settle(struct gg_tracer *tracer, uint64_t deadline_ns)
{
	uint64_t until_ns = gg_clock_monotonic_ns(), end = tracer->next_serial;
	bool is_second = false;
	pid_t tid;

	for (;;) {
		/* Stops that wait come first: they may tell of children. */
		enum gg_tracer_event event = gg_tracer_wait(tracer, until_ns, &tid);

		if (event == GG_TRACER_ENDED || event == GG_TRACER_EXEC)
			return true;
		if (event != GG_TRACER_TIMEOUT) {
			gg_tracer_resume(tid, PTRACE_CONT);
			continue;
		}
		if (have_settled(tracer, end)) {
			if (is_second)
				return true;
			is_second = true;
			end = tracer->next_serial;
			continue;
		}
		until_ns = gg_clock_monotonic_ns();
		if (until_ns >= deadline_ns)
			return false;
		until_ns += GG_NS_PER_MS;
	}
}

/*
 * A fork or clone that began before its thread was traced makes a child that is not.  Such a child
 * may copy the memory, or start to run, after the traps are planted.  So all threads must have
 * settled first, which proves that such a call has ended.
 */
int gg_tracer_seize(struct gg_tracer *tracer, struct gg_error *error)
{
	uint64_t deadline_ns = gg_clock_monotonic_ns() + (uint64_t)(SEIZE_SECONDS * GG_NS_PER_S);
	char place[32];
	int status;

	do {
		status = seize_new(tracer);
	} while (status > 0 && gg_tracer_settle(tracer, deadline_ns) &&
	         gg_clock_monotonic_ns() < deadline_ns);
	if (status == 0 && tracer->tracees.count > 0)
		return 0;
	snprintf(place, sizeof(place), "%d", (int)tracer->pid);
	if (status > 0)
		return gg_error_set(error, -ETIMEDOUT, place, "Attach again later.",
		                    "not attached: busy: its threads get too little time of the "
		                    "processors");
	return gg_error_set_errno(error, status < 0 ? -status : ESRCH, place, NULL);
}

/* --- stops --- */

/* Puts SIGTRAP back into the mask of a thread that had blocked it. */
static void repair_mask(const struct gg_tracee *tracee)
{
	/* A thread that blocks all other signals had blocked this one as well. */
	static const uint64_t usual = 0x7fffffff & ~(UINT64_C(1) << (SIGKILL - 1)) &
	                              ~(UINT64_C(1) << (SIGSTOP - 1)) & ~TRAP_BIT;
	uint64_t mask;

	if (ptrace(PTRACE_GETSIGMASK, tracee->tid, sizeof(mask), &mask) < 0 ||
	    (!tracee->blocks_traps && (mask & usual) != usual))
		return;
	mask |= TRAP_BIT;
	ptrace(PTRACE_SETSIGMASK, tracee->tid, sizeof(mask), &mask);
}

/* True if the stop is one of a trap of ours.  The thread is then back at the entry. */
static bool take_trap(struct gg_tracer *tracer, const struct gg_tracee *tracee)
{
	struct user_regs_struct registers = { 0 };
	siginfo_t info;

	if (ptrace(PTRACE_GETSIGINFO, tracee->tid, NULL, &info) < 0 ||
	    info.si_code != KERNEL_TRAP || gg_tracer_read_registers(tracee->tid, &registers) < 0)
		return false;
	for (uint32_t i = 0; i < tracer->plan->count; i++) {
		if (PC_OF(&registers) != tracer->plan->addresses[i] + 1)
			continue;
		PC_OF(&registers)--;
		return gg_tracer_write_registers(tracee->tid, &registers) == 0;
	}
	return false;
}

/*
 * Moves a thread from the stop of a signal to a stop without one.  The end of the tracer then
 * resumes the thread without a signal.
 */
static bool leave_signal_stop(pid_t tid)
{
	int status;

	return ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0 &&
	       ptrace(PTRACE_CONT, tid, NULL, NULL) == 0 && waitpid(tid, &status, __WALL) == tid &&
	       WIFSTOPPED(status) && status >> 16 == PTRACE_EVENT_STOP;
}

/* True if the other process shares the memory; also if the kernel does not tell. */
static bool shares_memory(pid_t pid, pid_t other)
{
	return syscall(SYS_kcmp, pid, other, KCMP_VM, 0, 0) == 0;
}

/* Notes a thread or process that has been made; its first stop may have come already. */
static void expect(struct gg_tracer *tracer, pid_t parent)
{
	struct gg_tracee *tracee;
	unsigned long child = 0;

	if (ptrace(PTRACE_GETEVENTMSG, parent, NULL, &child) < 0 || child == 0)
		return;
	for (size_t i = 0; i < tracer->early.count; i++) {
		if (tracer->early.items[i] != (pid_t)child)
			continue;
		tracer->early.items[i] = tracer->early.items[--tracer->early.count];
		return;
	}
	/* It may have been seized as one of the threads. */
	tracee = find_tracee(tracer, (pid_t)child);
	if (tracee != NULL)
		return;
	tracee = add_tracee(tracer, (pid_t)child);
	if (tracee != NULL)
		tracee->is_new = true;
}

/* A thread or process that the traced process has made stops for the first time. */
static void adopt(struct gg_tracer *tracer, pid_t tid)
{
	struct gg_tracee *tracee = find_tracee(tracer, tid);
	struct gg_remote_memory memory;
	char path[64];
	bool is_thread, is_expected = tracee != NULL;

	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)tracer->pid, (int)tid);
	is_thread = access(path, F_OK) == 0;
	if (!is_expected)
		(void)gg_array_push(&tracer->early, tid);
	if (is_thread || shares_memory(tracer->pid, tid)) {
		tracee = is_expected ? tracee : add_tracee(tracer, tid);
		if (tracee != NULL) {
			tracee->is_new = false;
			tracee->is_foreign = !is_thread;
			tracee->is_settled = true; /* it has never run */
		}
		gg_tracer_resume(tid, PTRACE_CONT);
		return;
	}
	if (gg_remote_memory_open(&memory, tid, NULL) == 0) {
		gg_tracer_restore_bytes(tracer->plan, &memory);
		gg_remote_memory_close(&memory);
	}
	if (is_expected)
		forget_tracee(tracer, tid);
	gg_tracer_resume(tid, PTRACE_DETACH);
}

/* A stop for a signal.  Returns the event, or TIMEOUT if the thread runs on. */
static enum gg_tracer_event take_signal(struct gg_tracer *tracer, struct gg_tracee *tracee,
                                        int signal)
{
	uint64_t begin_ns = gg_clock_monotonic_ns(), stand_ns;
	pid_t tid = tracee->tid;

	if (tid == tracer->borrowed &&
	    (signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE))
		return GG_TRACER_FAULT;
	if (signal != SIGTRAP || !take_trap(tracer, tracee)) {
		ptrace(PTRACE_CONT, tid, NULL, (void *)(intptr_t)signal);
		return GG_TRACER_TIMEOUT;
	}
	tracee->is_settled = true;
	repair_mask(tracee);
	if (!tracee->is_foreign && gg_load_acquire(&tracer->plan->is_planted) != 0 &&
	    leave_signal_stop(tid))
		return GG_TRACER_HIT;
	gg_tracer_resume(tid, PTRACE_CONT);
	stand_ns = gg_clock_monotonic_ns() - begin_ns;
	if (stand_ns > tracer->longest_stand_ns)
		tracer->longest_stand_ns = stand_ns;
	return GG_TRACER_TIMEOUT;
}

/* Sorts a stop.  Returns TIMEOUT if the thread runs on, and nobody needs to know. */
static enum gg_tracer_event take_stop(struct gg_tracer *tracer, pid_t tid, int status)
{
	struct gg_tracee *tracee = find_tracee(tracer, tid);
	int signal = WSTOPSIG(status), event = status >> 16;

	if (tracee == NULL || tracee->is_new) {
		adopt(tracer, tid);
		return GG_TRACER_TIMEOUT;
	}
	if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
	    event == PTRACE_EVENT_CLONE)
		expect(tracer, tid);
	if (event == 0 && signal == SYSCALL_STOP)
		return GG_TRACER_CALL;
	if (event == 0)
		return take_signal(tracer, tracee, signal);
	if (event == PTRACE_EVENT_EXEC && !tracee->is_foreign)
		return GG_TRACER_EXEC;
	if (event == PTRACE_EVENT_EXEC) {
		forget_tracee(tracer, tid);
		gg_tracer_resume(tid, PTRACE_DETACH);
		return GG_TRACER_TIMEOUT;
	}
	if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) {
		gg_tracer_resume(tid, PTRACE_LISTEN); /* the process is being stopped */
		return GG_TRACER_TIMEOUT;
	}
	if (event == PTRACE_EVENT_STOP && tracee->is_wanted) {
		tracee->is_wanted = false;
		return GG_TRACER_INTERRUPTED;
	}
	gg_tracer_resume(tid, tid == tracer->borrowed ? PTRACE_SYSCALL : PTRACE_CONT);
	return GG_TRACER_TIMEOUT;
}

/* Sleeps until a thread may have stopped, or until the deadline. */
static bool sleep_until(uint64_t deadline_ns)
{
	uint64_t now_ns = gg_clock_monotonic_ns(), left_ns;
	struct timespec wait;
	sigset_t child;

	if (now_ns >= deadline_ns)
		return false;
	left_ns = deadline_ns - now_ns;
	wait = (struct timespec){ (time_t)(left_ns / GG_NS_PER_S), (long)(left_ns % GG_NS_PER_S) };
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigtimedwait(&child, NULL, &wait);
	return true;
}

enum gg_tracer_event gg_tracer_wait(struct gg_tracer *tracer, uint64_t deadline_ns, pid_t *ret_tid)
{
	for (;;) {
		enum gg_tracer_event event = GG_TRACER_TIMEOUT;
		int status;
		pid_t tid = waitpid(-1, &status, __WALL | WNOHANG);

		*ret_tid = tid;
		if (tid < 0)
			return GG_TRACER_ENDED;
		if (tid > 0 && WIFSTOPPED(status))
			event = take_stop(tracer, tid, status);
		else if (tid > 0)
			forget_tracee(tracer, tid);
		if (event != GG_TRACER_TIMEOUT)
			return event;
		if (tid == 0 && !sleep_until(deadline_ns))
			return GG_TRACER_TIMEOUT;
	}
}
