/* SPDX-License-Identifier: Apache-2.0 */
/*
 * borrowed_thread - calls functions in a stopped thread of another process, and gives the thread
 * back as it was.
 *
 *   status = gg_borrowed_thread_begin(&thread, tracer, tid, &registers, restorer, errno_location,
 *                                     error);
 *   call = (struct gg_remote_call){ .function = address, .arguments = { 1, 2 } };
 *   status = gg_borrowed_thread_call(&thread, &call, error);
 *   gg_borrowed_thread_end(&thread);
 *
 * How    The thread gets a frame on its stack like that of a signal handler: all registers, the
 *        vector state, and the signal mask, where the kernel's rt_sigreturn() finds them.  Each
 *        function returns to the restorer, the two instructions of libc that call rt_sigreturn().
 *        The tracer sees that call, and either starts the next function instead or lets it happen.
 * Why    If the tracer ends in the middle, the function returns all the same, and the kernel itself
 *        puts the thread back.  There is no moment at which the end of the tracer ends the program.
 *        No code is written, and no return address is made up that a shadow stack would refuse.
 * Calls  The thread uses its own stack below the red zone.  Its signals wait, but for those of
 *        faults.  All other threads run on.
 * errno  is read at the start and written back at the end.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "attach/tracer.h"
#include "base/error.h"

enum {
	GG_BORROWED_SCRATCH_BYTES = 8192,   /* for arguments, on the stack */
	GG_BORROWED_STACK_BYTES = 96 << 10, /* what must be free below the stack pointer */
};

struct gg_borrowed_thread {
	struct gg_tracer *tracer;
	pid_t tid;
	struct user_regs_struct registers; /* of the program */
	uint64_t restorer;
	uint64_t frame;   /* the stack pointer of each call; the frame's first word is there */
	uint64_t scratch; /* address of GG_BORROWED_SCRATCH_BYTES for the caller */
	uint64_t errno_place;
	int32_t errno_value;
	uint64_t begin_ns; /* of the monotonic clock, when the thread stopped */
	bool has_frame;    /* what gives the thread back is on its stack */
	bool is_started;   /* it has left the program's code */
	bool is_lost;      /* a call did not return in time, or the process has ended */
};

struct gg_remote_call {
	uint64_t function, arguments[6];
	uint64_t deadline_ns; /* of the monotonic clock; 0: GG_BORROWED_CALL_SECONDS from now on */
	/* Output: the result of the last system call that the function made. */
	int64_t system_result;
	/* Output, of gg_borrowed_thread_call_short() alone: what the function returned. */
	uint64_t result;
};

enum { GG_BORROWED_CALL_SECONDS = 5 };

/*
 * Prepares a thread that is stopped at `registers`.  `restorer` is the address of the restorer, and
 * `errno_location` that of libc's function.  Returns 0 or -Exxx.  After a failure the thread runs
 * on if has_frame is set; otherwise it is stopped as before.
 */
GG_MUST_CHECK int gg_borrowed_thread_begin(struct gg_borrowed_thread *thread,
                                           struct gg_tracer *tracer, pid_t tid,
                                           const struct user_regs_struct *registers,
                                           uint64_t restorer, uint64_t errno_location,
                                           struct gg_error *error);

/*
 * Calls a function.  Returns 0 or -Exxx: -ETIMEDOUT: it did not return in time, and the thread is
 * still in it; -EFAULT: it raised a signal; -ESRCH: the process has ended.
 */
GG_MUST_CHECK int gg_borrowed_thread_call(struct gg_borrowed_thread *thread,
                                          struct gg_remote_call *call, struct gg_error *error);

/* Calls a short function step by step, and so learns its result. */
GG_MUST_CHECK int gg_borrowed_thread_call_short(struct gg_borrowed_thread *thread,
                                                struct gg_remote_call *call,
                                                struct gg_error *error);

/* Gives the thread back to the program, if it is not lost. */
void gg_borrowed_thread_end(struct gg_borrowed_thread *thread);

/*
 * Finds the restorer in a range of code; 0: it is not there.  Every libc for x86-64 has these
 * bytes, by which debuggers recognize a signal frame.
 */
uint64_t gg_borrowed_thread_find_restorer(const struct gg_remote_memory *memory, uint64_t begin,
                                          uint64_t end);
