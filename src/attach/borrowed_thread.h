/* SPDX-License-Identifier: Apache-2.0 */
/*
 * borrowed_thread - calls functions in a stopped thread of another process, and gives the thread
 * back as it was.
 *
 *   status = gg_borrowed_thread_begin(&thread, tracer, tid, &registers, &code, error);
 *   call = (struct gg_remote_call){ .function = address, .arguments = { 1, 2 } };
 *   status = gg_borrowed_thread_call(&thread, &call, error);
 *   gg_borrowed_thread_end(&thread);
 *
 * How    The thread gets frames on its stack like those of signal handlers, one behind the other.
 *        Each function returns to the restorer, the two instructions of libc that call
 *        rt_sigreturn(), and the kernel then loads the next frame:
 *            wait    the thread waits for the tracer, for GG_BORROWED_WAIT_MS at most
 *            errno   it writes back the program's errno
 *            home    all registers, the vector state, and the signal mask of the program
 *        The tracer finds the thread in its wait, and starts the next function or ends it.
 *        An interruption that comes too late finds it at home, and lets it run on.
 * Why    If the tracer ends in the middle, the function returns all the same, and the thread goes
 *        home by itself.  There is no moment at which the end of the tracer ends the program.
 *        No code is written, and no return address is made up that a shadow stack would refuse.
 * Calls  The thread uses its own stack below the red zone.  Its signals wait, but for those of
 *        faults that the program has not blocked.  All other threads run on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "attach/tracer.h"
#include "base/error.h"

enum {
	GG_BORROWED_SCRATCH_BYTES = 8192, /* for arguments, on the stack */
	GG_BORROWED_WAIT_MS = 500, /* after each call, until the thread goes home by itself */
	GG_BORROWED_STACK_BYTES = 96 << 10, /* what must be free below the stack pointer */
};

/* Addresses of functions of libc in the process. */
struct gg_borrowed_code {
	uint64_t restorer, errno_location, system_call, swap_bytes;
	uint64_t store_result; /* "mov %rax, (%rbx); pop %rbx; ret" anywhere in it; 0: unknown */
};

struct gg_borrowed_thread {
	struct gg_tracer *tracer;
	pid_t tid;
	struct user_regs_struct registers; /* of the program */
	struct gg_borrowed_code code;
	/* Addresses of the frames; each begins with the address of the restorer. */
	uint64_t wait_frame; /* the stack pointer of each call */
	uint64_t errno_frame, home_frame;
	uint64_t errno_place;
	uint64_t scratch;  /* address of GG_BORROWED_SCRATCH_BYTES for the caller */
	uint64_t begin_ns; /* of the monotonic clock, when the thread stopped */
	uint64_t closed;   /* signals that wait during a call, as bits */
	bool is_returning; /* a watched function has returned: the thread loads the next frame */
	bool is_lost;      /* it goes home by itself, or the process has ended */
};

struct gg_remote_call {
	uint64_t function, arguments[6];
	uint64_t deadline_ns; /* of the monotonic clock; 0: GG_BORROWED_CALL_SECONDS from now on */
	bool is_watched;      /* the thread stops at each of its system calls, which is slower */
	/* Output, if it is watched: the result of the last system call that the function made. */
	int64_t system_result;
	bool wants_result; /* only if code.store_result is known */
	/* Output, if that is set: what the function returned. */
	uint64_t result;
};

enum { GG_BORROWED_CALL_SECONDS = 5 };

/*
 * Prepares a thread that is stopped at `registers`, and has enough stack (thread_stack.h).  Returns
 * 0, or -Exxx with the thread stopped as before.
 */
GG_MUST_CHECK int gg_borrowed_thread_begin(struct gg_borrowed_thread *thread,
                                           struct gg_tracer *tracer, pid_t tid,
                                           const struct user_regs_struct *registers,
                                           const struct gg_borrowed_code *code,
                                           struct gg_error *error);

/*
 * Calls a function.  Returns 0 or -Exxx: -ETIMEDOUT: it did not return in time, and the thread is
 * still in it; -EFAULT: it raised a signal; -ESRCH: the process has ended.
 */
GG_MUST_CHECK int gg_borrowed_thread_call(struct gg_borrowed_thread *thread,
                                          struct gg_remote_call *call, struct gg_error *error);

/* Gives the thread back to the program, if it is not lost. */
void gg_borrowed_thread_end(struct gg_borrowed_thread *thread);

/*
 * Finds the restorer, and code for results, in the executable mappings of a range: libc's.  An
 * address is 0 if they are not there.  The bytes of the restorer are the same in every libc for
 * x86-64, because debuggers recognize a signal frame by them.
 */
void gg_borrowed_thread_find_code(struct gg_borrowed_code *code,
                                  const struct gg_remote_memory *memory, uint64_t begin,
                                  uint64_t end);
