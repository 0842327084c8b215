/* SPDX-License-Identifier: Apache-2.0 */
/*
 * borrowed_thread - builds a signal frame and runs calls under it (attach/borrowed_thread.h).
 *
 * The stack of a borrowed thread, from its lowest address on:
 *
 *   wait frame     the stack pointer of each call
 *   errno frame
 *   home frame     each of the three: the address of the restorer, struct ucontext of the kernel
 *                  (flags, registers, mask), and siginfo of zeros
 *   scratch        of the caller
 *   errno          with its bytes swapped, as swab() reads it
 *   vector state   as XSAVE writes it, with the kernel's marks; 64-byte aligned
 *   ...            128 bytes of red zone, then the program's stack
 */
#include "attach/borrowed_thread.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)

#include <cpuid.h>
#include <elf.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/maps_line.h"
#include "base/time_units.h"
#include "record/process/proc_file.h"

enum {
	UNUSED_ZONE_BYTES = 128,
	VECTOR_MAX = 16384,
	SIGNAL_INFO_BYTES = 128,
	MARKS_AT = 464,    /* of struct _fpx_sw_bytes in the vector state */
	FEATURES_AT = 512, /* of XSTATE_BV */
	HEADER_END = 576,  /* of the legacy area and the XSAVE header */
	FEATURES_MAX = 63,
	LARGE_FEATURES = 3 << 17,  /* AMX: not in the frames of programs that did not ask for it */
	INVALID_STACK_MODE = 0x40, /* rt_sigreturn() then leaves the signal stack as it is */
	FLAGS_CLEARED = 0x500,     /* direction and trap flags, which a function expects to be 0 */
	PAUSE_LEAST_NS = 30000,    /* between looks whether the thread waits */
	PAUSE_MOST_NS = 200000
};
#define UC_FP_XSTATE  1u
#define UC_SEGMENTS   6u /* UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS */
#define FRAME_MAGIC_1 0x46505853u
#define FRAME_MAGIC_2 0x46505845u
#define BIT(signal)   (UINT64_C(1) << ((signal)-1))
/* All but those of faults: a fault whose signal is blocked ends the program. */
#define CLOSED_SIGNALS (~(BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGILL) | BIT(SIGFPE)))

/* The kernel's struct ucontext; glibc's own begins alike and ends in a longer mask. */
struct kernel_context {
	uint64_t flags, link;
	stack_t stack;
	mcontext_t registers;
	uint64_t mask;
};
_Static_assert(offsetof(struct kernel_context, mask) == 296, "as the kernel has it");

struct signal_frame {
	uint64_t restorer;
	struct kernel_context context;
	uint8_t info[SIGNAL_INFO_BYTES];
};

/* The vector state, and the bytes of it that the frame has. */
struct vector_state {
	uint8_t bytes[VECTOR_MAX];
	uint32_t size_bytes;
};

/* --- the frame --- */

static uint64_t read_word(const uint8_t *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* The end of the last part that these features have in the vector state. */
static uint32_t end_of_features(uint64_t features)
{
	uint32_t end = HEADER_END, size, offset, unused[2];

	for (unsigned i = 2; i < FEATURES_MAX; i++) {
		if ((features >> i & 1) == 0)
			continue;
		__cpuid_count(0xd, i, size, offset, unused[0], unused[1]);
		if (offset + size > end)
			end = offset + size;
	}
	return end;
}

/* Reads the vector state and adds the marks by which the kernel knows its size. */
static int read_vector_state(pid_t tid, struct vector_state *vector)
{
	struct iovec place = { vector->bytes, sizeof(vector->bytes) - sizeof(uint64_t) };
	struct {
		uint32_t magic, extended_bytes;
		uint64_t features;
		uint32_t size_bytes, padding[7];
	} marks = { .magic = FRAME_MAGIC_1 };
	uint32_t magic = FRAME_MAGIC_2;

	if (ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &place) < 0)
		return -errno;
	marks.features = read_word(vector->bytes + MARKS_AT) & ~(uint64_t)LARGE_FEATURES;
	if ((read_word(vector->bytes + FEATURES_AT) & LARGE_FEATURES) != 0)
		return -ENOTSUP;
	marks.size_bytes = end_of_features(marks.features);
	if (marks.size_bytes > place.iov_len)
		return -ENOTSUP;
	marks.extended_bytes = marks.size_bytes + (uint32_t)sizeof(magic);
	memcpy(vector->bytes + MARKS_AT, &marks, sizeof(marks));
	memcpy(vector->bytes + marks.size_bytes, &magic, sizeof(magic));
	vector->size_bytes = marks.extended_bytes;
	return 0;
}

/*
 * The registers to which the thread returns.  A system call that was interrupted is made again, by
 * the arguments that are still in its registers.
 */
static void fill_registers(mcontext_t *to, const struct user_regs_struct *from)
{
	greg_t *r = to->gregs;
	bool is_call = (int64_t)from->orig_rax >= 0;
	int64_t result = (int64_t)from->rax;
	/* ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND, ERESTART_RESTARTBLOCK; EINTR by the stop */
	bool is_restarted = is_call && (result == -512 || result == -513 || result == -514 ||
	                                result == -516 || result == -EINTR);

	r[REG_R8] = (greg_t)from->r8, r[REG_R9] = (greg_t)from->r9;
	r[REG_R10] = (greg_t)from->r10, r[REG_R11] = (greg_t)from->r11;
	r[REG_R12] = (greg_t)from->r12, r[REG_R13] = (greg_t)from->r13;
	r[REG_R14] = (greg_t)from->r14, r[REG_R15] = (greg_t)from->r15;
	r[REG_RDI] = (greg_t)from->rdi, r[REG_RSI] = (greg_t)from->rsi;
	r[REG_RBP] = (greg_t)from->rbp, r[REG_RBX] = (greg_t)from->rbx;
	r[REG_RDX] = (greg_t)from->rdx, r[REG_RCX] = (greg_t)from->rcx;
	r[REG_RSP] = (greg_t)from->rsp, r[REG_EFL] = (greg_t)from->eflags;
	r[REG_RAX] = (greg_t)(is_restarted ? from->orig_rax : from->rax);
	r[REG_RIP] = (greg_t)(is_restarted ? from->rip - 2 : from->rip);
	r[REG_CSGSFS] = (greg_t)((from->cs & 0xffff) | (from->ss & 0xffff) << 48);
}

static uint64_t frame_below(uint64_t address)
{
	return ((address - sizeof(struct signal_frame)) & ~UINT64_C(15)) - 8;
}

static int write_frame(const struct gg_borrowed_thread *thread, uint64_t address,
                       const mcontext_t *registers, uint64_t mask)
{
	struct signal_frame frame = { .restorer = thread->code.restorer };

	frame.context.flags = UC_FP_XSTATE | UC_SEGMENTS;
	frame.context.stack.ss_flags = INVALID_STACK_MODE;
	frame.context.registers = *registers;
	frame.context.mask = mask;
	return gg_remote_memory_write(thread->tracer->memory, address, &frame, sizeof(frame));
}

/* Writes a frame by which the thread calls a function, with `next` as its return frame. */
static int write_call_frame(const struct gg_borrowed_thread *thread, uint64_t address,
                            uint64_t function, const uint64_t arguments[4], uint64_t next)
{
	mcontext_t registers = { 0 };
	greg_t *r = registers.gregs;

	fill_registers(&registers, &thread->registers);
	r[REG_EFL] &= ~(greg_t)FLAGS_CLEARED;
	r[REG_RIP] = (greg_t)function;
	r[REG_RSP] = (greg_t)next;
	r[REG_RAX] = 0;
	r[REG_RDI] = (greg_t)arguments[0], r[REG_RSI] = (greg_t)arguments[1];
	r[REG_RDX] = (greg_t)arguments[2], r[REG_RCX] = (greg_t)arguments[3];
	return write_frame(thread, address, &registers, thread->closed);
}

static int write_errno_frame(struct gg_borrowed_thread *thread, uint64_t kept)
{
	uint64_t place = thread->errno_place;
	const struct gg_remote_memory *memory = thread->tracer->memory;
	const uint64_t arguments[4] = { kept, place, sizeof(uint32_t) };
	uint32_t value;
	int status = gg_remote_memory_read(memory, place, &value, sizeof(value));

	value = (value & 0x00ff00ff) << 8 | (value >> 8 & 0x00ff00ff);
	if (status == 0)
		status = gg_remote_memory_write(memory, kept, &value, sizeof(value));
	return status < 0 ? status
	                  : write_call_frame(thread, thread->errno_frame, thread->code.swap_bytes,
	                                     arguments, thread->home_frame);
}

static int write_frames(struct gg_borrowed_thread *thread, uint64_t mask)
{
	const uint64_t wait[4] = { SYS_poll, 0, 0, GG_BORROWED_WAIT_MS };
	mcontext_t home = { 0 };
	struct vector_state vector;
	uint64_t place, kept;
	int status = read_vector_state(thread->tid, &vector);

	if (status < 0)
		return status;
	place = (thread->registers.rsp - UNUSED_ZONE_BYTES - vector.size_bytes) & ~UINT64_C(63);
	kept = place - sizeof(uint64_t);
	thread->scratch = (kept - GG_BORROWED_SCRATCH_BYTES) & ~UINT64_C(63);
	thread->home_frame = frame_below(thread->scratch);
	thread->errno_frame = frame_below(thread->home_frame);
	thread->wait_frame = frame_below(thread->errno_frame);
	fill_registers(&home, &thread->registers);
	home.fpregs = (fpregset_t)(uintptr_t)place;
	status = gg_remote_memory_write(thread->tracer->memory, place, vector.bytes,
	                                vector.size_bytes);
	if (status == 0)
		status = write_frame(thread, thread->home_frame, &home, mask);
	if (status == 0)
		status = write_errno_frame(thread, kept);
	return status < 0 ? status
	                  : write_call_frame(thread, thread->wait_frame, thread->code.system_call,
	                                     wait, thread->errno_frame);
}

/* --- calls --- */

static int fail(const struct gg_borrowed_thread *thread, int status, struct gg_error *error,
                const char *message)
{
	char place[32];

	snprintf(place, sizeof(place), "%d", (int)thread->tracer->pid);
	return gg_error_set(
		error, status, place,
		thread->is_lost && status != -ESRCH
			? "If the agent is in after all, 'geiger detach PID' takes it out."
			: NULL,
		"%s", message);
}

static uint64_t result_place(const struct gg_borrowed_thread *thread)
{
	return thread->scratch + GG_BORROWED_SCRATCH_BYTES - sizeof(uint64_t);
}

/* Puts the thread before the first instruction of the function.  It does not run yet. */
static int enter(struct gg_borrowed_thread *thread, const struct gg_remote_call *call)
{
	struct user_regs_struct r = thread->registers;
	/* The code for results pops the word behind its own address, and returns to the frame. */
	const uint64_t behind[2] = { thread->code.store_result, 0 };
	int status;

	thread->is_returning = false;
	if (call->wants_result) {
		status = gg_remote_memory_write(thread->tracer->memory,
		                                thread->wait_frame - sizeof(behind), behind,
		                                sizeof(behind));
		if (status < 0)
			return status;
		r.rbx = result_place(thread);
	}
	r.rip = call->function;
	r.rsp = thread->wait_frame - (call->wants_result ? sizeof(behind) : 0);
	r.rdi = call->arguments[0], r.rsi = call->arguments[1], r.rdx = call->arguments[2];
	r.rcx = call->arguments[3], r.r8 = call->arguments[4], r.r9 = call->arguments[5];
	r.rax = 0;                           /* no vector registers have arguments */
	r.orig_rax = (unsigned long long)-1; /* no system call is to be made again */
	r.eflags &= ~(unsigned long long)FLAGS_CLEARED;
	status = gg_tracer_write_registers(thread->tid, &r);
	if (status < 0)
		return status;
	/* From here on the frames give everything back, the mask included. */
	if (ptrace(PTRACE_SETSIGMASK, thread->tid, sizeof(thread->closed), &thread->closed) < 0)
		return -errno;
	return 0;
}

/* Sends the thread home from wherever it is stopped. */
static void send_home(struct gg_borrowed_thread *thread)
{
	struct user_regs_struct r = thread->registers;

	r.rip = thread->code.restorer;
	r.rsp = thread->errno_frame + sizeof(uint64_t);
	r.orig_rax = (unsigned long long)-1;
	if (gg_tracer_write_registers(thread->tid, &r) == 0)
		gg_tracer_resume(thread->tid, PTRACE_CONT);
	thread->is_lost = true;
}

static uint64_t deadline_of(const struct gg_remote_call *call)
{
	return call->deadline_ns != 0 ? call->deadline_ns
	                              : gg_clock_monotonic_ns() +
	                                        (uint64_t)(GG_BORROWED_CALL_SECONDS * GG_NS_PER_S);
}

/*
 * Returns 1 if the function has returned, 0 if the call goes on, or -Exxx.  The thread is taken
 * after its rt_sigreturn(), not before: a call that the tracer skips passes the seccomp filters of
 * the program as number -1, for which they may end it.
 */
static int take_system_call(struct gg_borrowed_thread *thread, struct gg_remote_call *call)
{
	struct __ptrace_syscall_info info = { 0 };

	if (ptrace(PTRACE_GET_SYSCALL_INFO, thread->tid, sizeof(info), &info) < 0)
		return -errno;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr == SYS_rt_sigreturn &&
	    info.stack_pointer == thread->wait_frame + sizeof(uint64_t))
		thread->is_returning = true;
	else if (info.op == PTRACE_SYSCALL_INFO_EXIT && thread->is_returning)
		return 1;
	else if (info.op == PTRACE_SYSCALL_INFO_EXIT)
		call->system_result = info.exit.rval;
	return gg_tracer_resume(thread->tid, PTRACE_SYSCALL);
}

/* True for the call of the wait frame; a stop of the process (SIGSTOP) makes a restart of it. */
static bool is_wait_call(unsigned long call)
{
	return call == SYS_poll || call == SYS_restart_syscall;
}

/* True if the thread waits for us by its wait frame. */
static bool is_waiting(const struct gg_borrowed_thread *thread)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	char wanted[64];
	const char *at;

	/* "NUMBER ARGUMENT ..." */
	snprintf(wanted, sizeof(wanted), " 0x0 0x0 %#x ", GG_BORROWED_WAIT_MS);
	if (!gg_proc_file_read(&text, "/proc/%d/task/%d/syscall", (int)thread->tracer->pid,
	                       (int)thread->tid))
		return false;
	at = strchr(gg_buf_text(&text), ' ');
	if (at == NULL || strncmp(at, wanted, strlen(wanted)) != 0 ||
	    !is_wait_call(strtoul(gg_buf_text(&text), NULL, 10)))
		return false;
	/* The stack pointer is the last but one word. */
	at = strrchr(gg_buf_text(&text), ' ');
	while (at != NULL && at > gg_buf_text(&text) && at[-1] != ' ')
		at--;
	return at != NULL && strtoull(at, NULL, 16) == thread->errno_frame;
}

/*
 * The thread has been interrupted.  Returns 1 if it still stands in its wait.  If geiger got no
 * processor for GG_BORROWED_WAIT_MS, the thread is in the program's code again, and must be let go.
 */
static int take_interruption(struct gg_borrowed_thread *thread)
{
	struct user_regs_struct r = { 0 };

	if (gg_tracer_read_registers(thread->tid, &r) == 0 && is_wait_call(r.orig_rax) &&
	    r.rsp == thread->errno_frame)
		return 1;
	gg_tracer_release(thread->tracer, thread->tid);
	return -ETIMEDOUT;
}

/* Takes an event during a call.  Returns 1 if the function has returned and the thread stands. */
static int take_event(struct gg_borrowed_thread *thread, struct gg_remote_call *call,
                      enum gg_tracer_event event, pid_t tid)
{
	switch (event) {
	case GG_TRACER_CALL:
		return take_system_call(thread, call);
	case GG_TRACER_TIMEOUT:
		return call->is_watched || !is_waiting(thread)
		               ? 0
		               : gg_tracer_interrupt(thread->tracer, thread->tid);
	case GG_TRACER_INTERRUPTED:
		if (tid == thread->tid)
			return take_interruption(thread);
		gg_tracer_release(thread->tracer, tid);
		return 0;
	case GG_TRACER_HIT:
		gg_tracer_release(thread->tracer, tid);
		return 0;
	case GG_TRACER_FAULT:
		return -EFAULT;
	case GG_TRACER_EXEC:
	case GG_TRACER_ENDED:
		break;
	}
	return -ESRCH;
}

int gg_borrowed_thread_call(struct gg_borrowed_thread *thread, struct gg_remote_call *call,
                            struct gg_error *error)
{
	uint64_t deadline_ns = deadline_of(call), pause_ns = PAUSE_LEAST_NS;
	int status = enter(thread, call);
	enum gg_tracer_event event;
	pid_t tid;

	thread->tracer->borrowed_request = call->is_watched ? PTRACE_SYSCALL : PTRACE_CONT;
	if (status == 0)
		status = gg_tracer_resume(thread->tid, (int)thread->tracer->borrowed_request);
	while (status == 0 && gg_clock_monotonic_ns() < deadline_ns) {
		uint64_t until_ns = gg_clock_monotonic_ns() + pause_ns;

		event = gg_tracer_wait(thread->tracer, until_ns, &tid);
		status = take_event(thread, call, event, tid);
		pause_ns += pause_ns < PAUSE_MOST_NS ? pause_ns / 4 : 0;
	}
	if (status > 0)
		return call->wants_result
		               ? gg_remote_memory_read(thread->tracer->memory, result_place(thread),
		                                       &call->result, sizeof(call->result))
		               : 0;
	if (status == -EFAULT) {
		send_home(thread);
		return fail(thread, status, error, "the agent raised a signal there");
	}
	thread->is_lost = true;
	if (status == -ETIMEDOUT)
		return fail(thread, status, error, "geiger got too little time of the processors");
	return status == 0 ? fail(thread, -ETIMEDOUT, error,
	                          "a call in it did not return in time, and goes on")
	                   : fail(thread, status, error, "it ended while the agent was brought in");
}

/* --- begin and end --- */

/*
 * Reads the code of __errno_location(), which adds a word of the module's table to the thread
 * pointer, and finds the place without a call.  Returns 0 for other code.
 */
static uint64_t find_errno(const struct gg_borrowed_thread *thread)
{
	/* mov %fs:0, %rax or add %fs:0, %rax; and the word beside the pc by the other of them */
	static const uint8_t words[][3] = { { 0x48, 0x8b, 0x05 }, { 0x48, 0x03, 0x05 } };
	static const uint8_t threads[][9] = { { 0x64, 0x48, 0x03, 0x04, 0x25, 0, 0, 0, 0 },
		                              { 0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0 } };
	const struct gg_remote_memory *memory = thread->tracer->memory;
	uint8_t code[40];
	const uint8_t *end, *at = NULL;
	uint64_t offset;
	int32_t distance;

	if (gg_remote_memory_read(memory, thread->code.errno_location, code, sizeof(code)) < 0)
		return 0;
	end = memchr(code, 0xc3, sizeof(code)); /* ret */
	for (size_t i = 0; end != NULL && at == NULL && i < GG_COUNT(words); i++)
		if (memmem(code, (size_t)(end - code), threads[i], sizeof(threads[i])) != NULL)
			at = memmem(code, (size_t)(end - code), words[i], sizeof(words[i]));
	if (at == NULL || end - at < (ptrdiff_t)(sizeof(words[0]) + sizeof(distance)))
		return 0;
	at += sizeof(words[0]);
	memcpy(&distance, at, sizeof(distance));
	at += sizeof(distance);
	if (gg_remote_memory_read(memory,
	                          thread->code.errno_location + (uint64_t)(at - code) +
	                                  (uint64_t)(int64_t)distance,
	                          &offset, sizeof(offset)) < 0)
		return 0;
	return thread->registers.fs_base + offset;
}

int gg_borrowed_thread_begin(struct gg_borrowed_thread *thread, struct gg_tracer *tracer, pid_t tid,
                             const struct user_regs_struct *registers,
                             const struct gg_borrowed_code *code, struct gg_error *error)
{
	uint64_t mask;
	int status = 0;

	*thread = (struct gg_borrowed_thread){
		.tracer = tracer, .tid = tid, .registers = *registers, .code = *code
	};
	thread->begin_ns = gg_clock_monotonic_ns();
	thread->errno_place = find_errno(thread);
	if (thread->errno_place == 0)
		return fail(thread, -ENOTSUP, error, "its libc keeps errno at an unknown place");
	if (ptrace(PTRACE_GETSIGMASK, tid, sizeof(mask), &mask) < 0)
		status = -errno;
	thread->closed = status == 0 ? CLOSED_SIGNALS | mask : 0;
	if (status == 0)
		status = write_frames(thread, mask);
	if (status < 0)
		return fail(thread, status, error, "the state of a thread cannot be saved");
	tracer->borrowed = tid;
	return 0;
}

void gg_borrowed_thread_end(struct gg_borrowed_thread *thread)
{
	if (!thread->is_lost)
		send_home(thread);
	thread->tracer->borrowed = 0;
}

/* Finds bytes in a copy of the code that begins at `begin`; otherwise the address stays. */
static void find_bytes(const uint8_t *code, size_t size, uint64_t begin, const void *wanted,
                       size_t count, uint64_t *address)
{
	const uint8_t *at = memmem(code, size, wanted, count);

	if (at != NULL)
		*address = begin + (uint64_t)(at - code);
}

static void find_in_range(struct gg_borrowed_code *code, const struct gg_remote_memory *memory,
                          const struct gg_maps_line *line)
{
	/* mov $15, %rax; syscall */
	static const uint8_t restorer[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	static const uint8_t store[] = { 0x48, 0x89, 0x03, 0x5b, 0xc3 }; /* mov %rax, (%rbx) ... */
	size_t size = line->end - line->begin;
	uint8_t *copy = size <= SIZE_MAX / 2 ? malloc(size) : NULL;

	if (copy == NULL)
		return;
	size = gg_remote_memory_read_most(memory, line->begin, copy, size);
	find_bytes(copy, size, line->begin, restorer, sizeof(restorer), &code->restorer);
	find_bytes(copy, size, line->begin, store, sizeof(store), &code->store_result);
	free(copy);
}

void gg_borrowed_thread_find_code(struct gg_borrowed_code *code,
                                  const struct gg_remote_memory *memory, uint64_t begin,
                                  uint64_t end)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_maps_line line;

	code->restorer = code->store_result = 0;
	if (!gg_proc_file_read(&text, "/proc/%d/maps", (int)memory->pid))
		return;
	for (const char *at = gg_buf_text(&text); *at != '\0'; at += strcspn(at, "\n")) {
		at += *at == '\n';
		if (gg_maps_line_parse(at, strcspn(at, "\n"), &line) && line.begin >= begin &&
		    line.end <= end && (line.protection & PROT_EXEC) != 0)
			find_in_range(code, memory, &line);
	}
}

#else

/* Other architectures have no borrowed threads yet; the survey refuses before. */

int gg_borrowed_thread_begin(struct gg_borrowed_thread *thread, struct gg_tracer *tracer, pid_t tid,
                             const struct user_regs_struct *registers,
                             const struct gg_borrowed_code *code, struct gg_error *error)
{
	(void)thread, (void)tracer, (void)tid, (void)registers, (void)code;
	return gg_error_set(error, -ENOTSUP, "attach", NULL, "geiger attaches on x86-64 only");
}

int gg_borrowed_thread_call(struct gg_borrowed_thread *thread, struct gg_remote_call *call,
                            struct gg_error *error)
{
	(void)thread, (void)call;
	return gg_error_set(error, -ENOTSUP, "attach", NULL, "geiger attaches on x86-64 only");
}

void gg_borrowed_thread_end(struct gg_borrowed_thread *thread)
{
	(void)thread;
}

void gg_borrowed_thread_find_code(struct gg_borrowed_code *code,
                                  const struct gg_remote_memory *memory, uint64_t begin,
                                  uint64_t end)
{
	(void)code, (void)memory, (void)begin, (void)end;
}

#endif
