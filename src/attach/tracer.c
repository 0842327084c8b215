/* SPDX-License-Identifier: Apache-2.0 */
/* tracer - seizes threads, plants traps, and sorts the stops of threads (attach/tracer.h). */
#include "attach/tracer.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
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

#include "attach/entry_step.h"
#include "base/atomic.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/time_units.h"
#include "record/process/proc_file.h"

#define TRACE_OPTIONS                                                                             \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | \
	 PTRACE_O_TRACEEXEC)

#define SETTLED_RUN_NS UINT64_C(2000000) /* more than a call that makes a child takes */
#define RUN_UNKNOWN    UINT64_MAX
#define LOOK_NS        (500 * GG_NS_PER_US) /* of a look at many threads, at most */

enum {
	SEIZE_SECONDS = 5,
	SYSCALL_STOP = SIGTRAP | 0x80,
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

uint64_t gg_tracer_run_ns(const struct gg_tracer *tracer, pid_t tid)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	return gg_proc_file_read(&text, "/proc/%d/task/%d/schedstat", (int)tracer->pid, (int)tid)
	               ? strtoull(gg_buf_text(&text), NULL, 10)
	               : 0;
}

/* True if the thread ends, so that nobody can trace it any more. */
static bool is_ending(pid_t pid, pid_t tid)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	const char *at;

	if (!gg_proc_file_read(&text, "/proc/%d/task/%d/stat", (int)pid, (int)tid))
		return true;
	at = strrchr(gg_buf_text(&text), ')'); /* "PID (NAME) STATE" */
	return at != NULL && at[1] != '\0' && (at[2] == 'Z' || at[2] == 'X');
}

/* Seizes the threads that are not traced yet.  Returns how many these were, or -Exxx. */
static int seize_new(struct gg_tracer *tracer)
{
	char path[64];
	int count = 0, status = 0;
	uint32_t number;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)tracer->pid);
	tasks = opendir(path);
	if (tasks == NULL)
		return -ESRCH;
	while (status == 0 && (number = gg_proc_file_next_number(tasks)) != 0) {
		pid_t tid = (pid_t)number;
		struct gg_tracee *tracee;

		if (find_tracee(tracer, tid) != NULL)
			continue;
		/* A thread of a traced process may be traced already, or may have ended. */
		if (ptrace(PTRACE_SEIZE, tid, NULL, TRACE_OPTIONS) < 0) {
			int why = errno;

			if (why != ESRCH && (why != EPERM || tracer->tracees.count == 0) &&
			    !is_ending(tracer->pid, tid))
				status = -why;
			continue;
		}
		tracee = add_tracee(tracer, tid);
		if (tracee == NULL) {
			status = -ENOMEM;
			continue;
		}
		tracee->run_ns = gg_tracer_run_ns(tracer, tid);
		count++;
	}
	closedir(tasks);
	return status < 0 ? status : count;
}

bool gg_tracer_is_foreign(const struct gg_tracer *tracer, pid_t tid)
{
	for (size_t i = 0; i < tracer->tracees.count; i++)
		if (tracer->tracees.items[i].tid == tid)
			return tracer->tracees.items[i].is_foreign;
	return false;
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

void gg_tracer_cancel_interrupt(struct gg_tracer *tracer, pid_t tid)
{
	struct gg_tracee *tracee = find_tracee(tracer, tid);

	if (tracee != NULL)
		tracee->is_wanted = false;
}

int gg_tracer_gone(pid_t pid, enum gg_tracer_event event, struct gg_error *error)
{
	char link[32], program[256];
	ssize_t length;

	if (event != GG_TRACER_EXEC)
		return gg_error_set(error, -ESRCH, "attach", NULL, "it ended meanwhile");
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	length = readlink(link, program, sizeof(program) - 1);
	program[length > 0 ? length : 0] = '\0';
	return gg_error_set(
		error, -ESRCH, "attach",
		"A launcher, such as a script that starts the real program by exec, does "
		"that once: attach again.",
		"it executed another program meanwhile%s%s", length > 0 ? ": it runs " : "",
		program);
}

/* --- traps --- */

int gg_tracer_plant(struct gg_tracer *tracer, struct gg_error *error)
{
	int status = gg_trap_plan_plant(tracer->plan, tracer->memory);

	if (status < 0)
		return gg_error_set_errno(error, -status, "traps", NULL);
	gg_trap_watch_begin(&tracer->watch, gg_clock_monotonic_ns());
	return 0;
}

/* Notes how long a thread may have been at a trap until now. */
static void note_stand(struct gg_tracer *tracer, const struct gg_tracee *tracee, uint64_t now_ns)
{
	uint64_t stand_ns = gg_trap_watch_stand_ns(&tracer->watch, &tracee->watched, now_ns);

	if (stand_ns > tracer->longest_stand_ns)
		tracer->longest_stand_ns = stand_ns;
}

void gg_tracer_remove(struct gg_tracer *tracer)
{
	uint64_t now_ns;

	if (gg_load_acquire(&tracer->plan->is_planted) == 0)
		return;
	gg_trap_plan_remove(tracer->plan, tracer->memory);
	now_ns = gg_clock_monotonic_ns();
	for (size_t i = 0; i < tracer->tracees.count; i++) {
		struct gg_tracee *tracee = &tracer->tracees.items[i];

		note_stand(tracer, tracee, now_ns);
		tracee->is_settled = false;
		tracee->run_ns = RUN_UNKNOWN; /* threads at a trap go on now: it is read later */
	}
	gg_trap_watch_end(&tracer->watch);
}

/* Reads the code at the entry of a function, as it is without the trap. */
static size_t read_entry(const struct gg_tracer *tracer, const struct gg_trap *trap, uint8_t *code,
                         size_t count)
{
	size_t got = gg_remote_memory_read_most(tracer->memory, trap->entry, code, count);
	size_t skipped = (size_t)(trap->entry - trap->place);
	size_t bytes = sizeof(trap->original) - skipped;

	memcpy(code, (const uint8_t *)&trap->original + skipped, bytes < got ? bytes : got);
	return got;
}

bool gg_tracer_pass(struct gg_tracer *tracer, pid_t tid)
{
	struct gg_tracee *tracee = find_tracee(tracer, tid);
	struct user_regs_struct registers = { 0 };
	const struct gg_trap *trap;
	uint64_t now_ns;
	uint8_t code[16];
	size_t count;

	if (tracee == NULL || gg_tracer_read_registers(tid, &registers) < 0)
		return false;
	trap = gg_trap_plan_find(tracer->plan, PC_OF(&registers));
	if (trap == NULL)
		return false;
	count = read_entry(tracer, trap, code, sizeof(code));
	if (!gg_entry_step(&registers, tracer->memory, code, count) ||
	    gg_tracer_write_registers(tid, &registers) < 0)
		return false;
	now_ns = gg_clock_monotonic_ns();
	note_stand(tracer, tracee, now_ns);
	gg_trap_watch_pass(&tracee->watched, now_ns);
	gg_tracer_release(tracer, tid);
	return true;
}

/*
 * Interrupts the threads that may be at a trap.  A look ends early at the deadline, or for stops
 * that came meanwhile.  A thread must be seen twice, so the next one begins at the same thread, and
 * the one after that behind the last.
 */
static void look_at_threads(struct gg_tracer *tracer, uint64_t deadline_ns)
{
	uint64_t begin_ns = gg_clock_monotonic_ns(), now_ns = begin_ns;
	size_t count = tracer->tracees.count, done = 0;
	bool is_soon = false;

	if (deadline_ns > begin_ns + (uint64_t)LOOK_NS)
		deadline_ns = begin_ns + (uint64_t)LOOK_NS;
	for (; done < count && now_ns < deadline_ns; done++, now_ns = gg_clock_monotonic_ns()) {
		struct gg_tracee *tracee =
			&tracer->tracees.items[(tracer->next_look + done) % count];

		if (tracee->is_new)
			continue;
		if (!gg_trap_watch_look(&tracer->watch, &tracee->watched, tracer->pid, tracee->tid,
		                        now_ns))
			is_soon |= tracee->watched.ran_ns >= begin_ns;
		else
			tracee->watched.is_probed = ptrace(PTRACE_INTERRUPT, tracee->tid, NULL,
			                                   NULL) == 0;
	}
	if (done < count && tracer->is_look_second)
		tracer->next_look = (tracer->next_look + done) % count;
	tracer->is_look_second = done < count && !tracer->is_look_second;
	gg_trap_watch_schedule(&tracer->watch, is_soon || done < count, now_ns);
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
 * True if the thread sleeps in a system call that makes no child, or has run for longer since the
 * removal of the traps than a call that makes a child takes.
 */
static bool has_settled(const struct gg_tracer *tracer, struct gg_tracee *tracee)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	uint64_t run_ns = gg_tracer_run_ns(tracer, tracee->tid);

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
		if (event == GG_TRACER_INTERRUPTED)
			gg_tracer_release(tracer, tid);
		else if (event != GG_TRACER_TIMEOUT)
			gg_tracer_resume(tid, PTRACE_CONT);
		if (event != GG_TRACER_TIMEOUT)
			continue;
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
	if (status == -ESRCH || (status == 0 && tracer->tracees.count == 0))
		return gg_tracer_gone(tracer->pid, GG_TRACER_ENDED, error);
	if (status == 0)
		return 0;
	snprintf(place, sizeof(place), "%d", (int)tracer->pid);
	if (status > 0)
		return gg_error_set(error, -ETIMEDOUT, place, "Attach again later.",
		                    "not attached: busy: its threads get too little time of the "
		                    "processors");
	return gg_error_set_errno(error, -status, place, NULL);
}

/* --- stops --- */

bool gg_tracer_has_signal(const struct gg_tracer *tracer, pid_t tid)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	static const char *const names[] = { "\nSigPnd:", "\nShdPnd:", "\nSigBlk:" };
	uint64_t signals[GG_COUNT(names)] = { 0 };

	if (!gg_proc_file_read(&text, "/proc/%d/task/%d/status", (int)tracer->pid, (int)tid))
		return true;
	for (size_t i = 0; i < GG_COUNT(names); i++) {
		const char *at = strstr(gg_buf_text(&text), names[i]);

		if (at == NULL)
			return true;
		signals[i] = strtoull(at + strlen(names[i]), NULL, 16);
	}
	return ((signals[0] | signals[1]) & ~signals[2]) != 0;
}

/*
 * True for the calls that end with EINTR at a stop of their thread, which no signal caused, and
 * that have then done nothing (man 7 signal, "Interruption ... by stop signals").
 */
static bool can_be_made_again(long call)
{
	static const long calls[] = {
		SYS_epoll_pwait, SYS_epoll_pwait2,    SYS_semtimedop,
		SYS_semop,       SYS_rt_sigtimedwait, SYS_io_getevents,
		SYS_recvfrom,    SYS_recvmsg,         SYS_read,
		SYS_accept4,     SYS_accept,          SYS_recvmmsg,
		SYS_readv,       SYS_io_uring_enter,
#ifdef SYS_epoll_wait
		SYS_epoll_wait,
#endif
	};

	for (size_t i = 0; i < GG_COUNT(calls); i++)
		if (call == calls[i])
			return true;
	return false;
}

#ifdef __x86_64__
/* Lets a call be made again that ended with EINTR because of our stop. */
static void repair_call(const struct gg_tracer *tracer, pid_t tid)
{
	struct user_regs_struct r;

	if (gg_tracer_read_registers(tid, &r) < 0 || (int64_t)r.orig_rax < 0 ||
	    (int64_t)r.rax != -EINTR || !can_be_made_again((long)r.orig_rax) ||
	    gg_tracer_has_signal(tracer, tid))
		return;
	r.rax = r.orig_rax;
	r.orig_rax = (unsigned long long)-1;
	r.rip -= 2;
	if (gg_tracer_write_registers(tid, &r) < 0)
		return; /* it has ended */
}
#else
static void repair_call(const struct gg_tracer *tracer, pid_t tid)
{
	(void)tracer, (void)tid, (void)can_be_made_again;
}
#endif

void gg_tracer_release(const struct gg_tracer *tracer, pid_t tid)
{
	repair_call(tracer, tid);
	gg_tracer_resume(tid, PTRACE_CONT);
}

/* True if the other process shares the memory; also if the kernel does not tell. */
static bool shares_memory(pid_t pid, pid_t other)
{
	return syscall(SYS_kcmp, pid, other, KCMP_VM, 0, 0) == 0;
}

/* True for a stop of the whole process by SIGSTOP and the like. */
static bool is_group_stop(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP;
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

/*
 * A thread or process that the traced process has made stops for the first time.  If the process is
 * being stopped by a signal, a new thread stays stopped as well.
 */
static void adopt(struct gg_tracer *tracer, pid_t tid, int status)
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
		gg_tracer_resume(tid, is_group_stop(status) ? PTRACE_LISTEN : PTRACE_CONT);
		return;
	}
	if (gg_remote_memory_open(&memory, tid, NULL) == 0) {
		gg_trap_plan_clean(tracer->plan, &memory);
		gg_remote_memory_close(&memory);
	}
	if (is_expected)
		forget_tracee(tracer, tid);
	gg_tracer_resume(tid, PTRACE_DETACH);
}

/* Returns the request by which a thread goes on after a stop. */
static int request_of(const struct gg_tracer *tracer, pid_t tid)
{
	return tid == tracer->borrowed ? tracer->borrowed_request : PTRACE_CONT;
}

/* True if the kernel raised the signal of a stopped thread for what it executed. */
static bool is_fault(pid_t tid, int signal)
{
	siginfo_t info = { 0 };

	return (signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE) &&
	       ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) == 0 && info.si_code > 0;
}

/* Notes that a thread has stopped for something else than an interruption, which does not come. */
static void note_other_stop(struct gg_tracee *tracee)
{
	tracee->watched.is_probed = false; /* any stop ends the request for one */
	if (tracee->is_wanted)
		ptrace(PTRACE_INTERRUPT, tracee->tid, NULL, NULL);
}

/*
 * Passes the signal on for which a thread has stopped.  The stop has not been waited for: a wait
 * takes the signal, which would be lost if somebody killed this process before it is passed on.
 * Returns false for all other stops, and for a signal that our own code raised.
 */
static bool pass_signal(struct gg_tracer *tracer, const siginfo_t *stop)
{
	struct gg_tracee *tracee = find_tracee(tracer, stop->si_pid);
	int signal = stop->si_status; /* with an event above its lowest byte */

	if (stop->si_code != CLD_TRAPPED || signal > UINT8_MAX || signal == SYSCALL_STOP ||
	    tracee == NULL || tracee->is_new ||
	    (tracee->tid == tracer->borrowed && is_fault(tracee->tid, signal)))
		return false;
	note_other_stop(tracee);
	return ptrace((enum __ptrace_request)request_of(tracer, tracee->tid), tracee->tid, NULL,
	              (void *)(intptr_t)signal) == 0;
}

/* A stop by an interruption: of a thread at a trap, one that is wanted, or one for nothing. */
static enum gg_tracer_event take_interruption(struct gg_tracer *tracer, struct gg_tracee *tracee)
{
	struct user_regs_struct registers = { 0 };

	if (tracee->is_wanted) {
		tracee->is_wanted = false;
		return GG_TRACER_INTERRUPTED;
	}
	if (gg_load_acquire(&tracer->plan->is_planted) != 0 &&
	    gg_tracer_read_registers(tracee->tid, &registers) == 0 &&
	    gg_trap_plan_has(tracer->plan, PC_OF(&registers)))
		return GG_TRACER_HIT;
	gg_trap_watch_refute(&tracee->watched, gg_clock_monotonic_ns());
	if (tracee->tid == tracer->borrowed)
		gg_tracer_resume(tracee->tid, tracer->borrowed_request);
	else
		gg_tracer_release(tracer, tracee->tid);
	return GG_TRACER_TIMEOUT;
}

/* Sorts a stop.  Returns TIMEOUT if the thread runs on, and nobody needs to know. */
static enum gg_tracer_event take_stop(struct gg_tracer *tracer, pid_t tid, int status)
{
	struct gg_tracee *tracee = find_tracee(tracer, tid);
	int signal = WSTOPSIG(status), event = status >> 16;

	if (tracee == NULL || tracee->is_new) {
		adopt(tracer, tid, status);
		return GG_TRACER_TIMEOUT;
	}
	if (event != PTRACE_EVENT_STOP)
		note_other_stop(tracee);
	tracee->watched.is_probed = false;
	if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
	    event == PTRACE_EVENT_CLONE)
		expect(tracer, tid);
	if (event == 0 && signal == SYSCALL_STOP)
		return GG_TRACER_CALL;
	if (event == 0) /* pass_signal() has passed all others on */
		return tid == tracer->borrowed ? GG_TRACER_FAULT : GG_TRACER_TIMEOUT;
	if (event == PTRACE_EVENT_EXEC && !tracee->is_foreign)
		return GG_TRACER_EXEC;
	if (event == PTRACE_EVENT_EXEC) {
		forget_tracee(tracer, tid);
		gg_tracer_resume(tid, PTRACE_DETACH);
		return GG_TRACER_TIMEOUT;
	}
	if (is_group_stop(status)) {
		gg_tracer_resume(tid, PTRACE_LISTEN); /* the process is being stopped */
		return GG_TRACER_TIMEOUT;
	}
	if (event == PTRACE_EVENT_STOP)
		return take_interruption(tracer, tracee);
	gg_tracer_resume(tid, request_of(tracer, tid));
	return GG_TRACER_TIMEOUT;
}

/*
 * Sleeps until a thread may have stopped, or until the deadline, and looks at the threads while
 * traps are planted.
 */
static bool sleep_until(struct gg_tracer *tracer, uint64_t deadline_ns)
{
	uint64_t now_ns = gg_clock_monotonic_ns(), left_ns;
	struct timespec wait;
	sigset_t child;

	if (now_ns >= deadline_ns)
		return false;
	if (tracer->watch.planted_ns != 0 && now_ns >= tracer->watch.next_ns) {
		look_at_threads(tracer, deadline_ns);
		return true;
	}
	if (tracer->watch.planted_ns != 0 && tracer->watch.next_ns < deadline_ns)
		deadline_ns = tracer->watch.next_ns;
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
		siginfo_t stop = { 0 };
		int status;
		pid_t tid;

		if (waitid(P_ALL, 0, &stop, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) < 0)
			return GG_TRACER_ENDED;
		if (stop.si_pid != 0 && pass_signal(tracer, &stop))
			continue;
		tid = stop.si_pid != 0 ? waitpid(stop.si_pid, &status, __WALL | WNOHANG) : 0;
		*ret_tid = tid;
		if (tid > 0 && WIFSTOPPED(status))
			event = take_stop(tracer, tid, status);
		else if (tid > 0)
			forget_tracee(tracer, tid);
		if (event != GG_TRACER_TIMEOUT)
			return event;
		if (tid == 0 && !sleep_until(tracer, deadline_ns))
			return GG_TRACER_TIMEOUT;
	}
}
