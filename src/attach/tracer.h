/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracer - traces all threads of a process without stopping any, and finds those that enter a
 * function.
 *
 *   gg_tracer_init(&tracer, &memory, &plan);
 *   status = gg_tracer_seize(&tracer, error);
 *   status = gg_tracer_plant(&tracer, error);
 *   kind = gg_tracer_wait(&tracer, deadline_ns, &tid);      GG_TRACER_HIT: tid stands at an entry
 *   gg_tracer_remove(&tracer);
 *   gg_tracer_settle(&tracer, deadline_ns);
 *
 * The functions run in a process of their own (attachment.h).  When that process ends, the kernel
 * detaches all threads, also those that run; PTRACE_DETACH would have to stop them first.
 *
 * Seizing     PTRACE_SEIZE stops nobody.  A stop would be visible: epoll_wait() and others return
 *             EINTR after one.  New threads are traced by themselves.
 * Traps       Threads that enter a function spin at its trap (trap_plan.h).  The tracer looks for
 *             them (trap_watch.h) and stops one.
 * Stops       The stop is that of PTRACE_INTERRUPT.  If the tracer ends, the thread runs on.
 * Children    A child that is forked while traps are planted has them in its copy of the memory;
 *             they are removed before it runs.  A child of vfork() shares the memory; it runs on,
 *             and is never taken.
 * After it    gg_tracer_settle() waits until no child with a copy of the traps can still come.
 * Signals     All signals of the program are passed on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "attach/remote_memory.h"
#include "attach/trap_plan.h"
#include "attach/trap_watch.h"
#include "base/array.h"
#include "base/error.h"

/* A thread that is traced. */
struct gg_tracee {
	pid_t tid;
	bool is_new;     /* it was made, and has not stopped for the first time yet */
	bool is_foreign; /* of a child that shares the memory */
	bool is_settled; /* it makes no child that has traps */
	bool is_wanted;  /* gg_tracer_interrupt() asked for its stop */
	uint64_t serial; /* threads that came later have larger ones */
	uint64_t run_ns; /* time on a processor, at the removal of the traps */
	struct gg_watched watched;
};

struct gg_tracer {
	pid_t pid;
	const struct gg_remote_memory *memory;
	struct gg_trap_plan *plan;
	GG_ARRAY(struct gg_tracee) tracees;
	GG_ARRAY(pid_t) early; /* they stopped for the first time before their maker's event came */
	uint64_t next_serial;
	size_t next_look;          /* the place of the thread at which the next look begins */
	bool is_look_second;       /* it repeats a look that ended early */
	pid_t borrowed;            /* the thread that runs our code; 0: none does */
	int borrowed_request;      /* how it is resumed after a stop */
	uint64_t longest_stand_ns; /* how long a thread may have been at a trap, at most */
	struct gg_trap_watch watch;
};

enum gg_tracer_event {
	GG_TRACER_TIMEOUT,
	GG_TRACER_HIT,         /* the thread is stopped at the entry of a function; release it */
	GG_TRACER_CALL,        /* the borrowed thread is stopped at a system call */
	GG_TRACER_FAULT,       /* the borrowed thread is stopped by SIGSEGV and the like */
	GG_TRACER_INTERRUPTED, /* it is stopped, as gg_tracer_interrupt() asked; release it */
	GG_TRACER_EXEC,        /* the process executes another program */
	GG_TRACER_ENDED,       /* the process has ended */
};

/* The caller keeps the plan and the memory. */
void gg_tracer_init(struct gg_tracer *tracer, const struct gg_remote_memory *memory,
                    struct gg_trap_plan *plan);

/* Traces all threads.  The calling process must have SIGCHLD blocked and no children. */
GG_MUST_CHECK int gg_tracer_seize(struct gg_tracer *tracer, struct gg_error *error);

GG_MUST_CHECK int gg_tracer_plant(struct gg_tracer *tracer, struct gg_error *error);
void gg_tracer_remove(struct gg_tracer *tracer);

/* Waits for an event until a time of the monotonic clock.  *ret_tid is the thread of the event. */
enum gg_tracer_event gg_tracer_wait(struct gg_tracer *tracer, uint64_t deadline_ns, pid_t *ret_tid);

/*
 * Waits until no child has a copy of a trap.  Returns false if a thread got no processor before the
 * deadline, so that nothing is certain about it.
 */
bool gg_tracer_settle(struct gg_tracer *tracer, uint64_t deadline_ns);

/*
 * Lets a thread run on that stands at a trap, and executes the first instruction for it
 * (entry_step.h), so that the traps stay.  Returns false if that is not possible; the thread then
 * stands as before.
 */
bool gg_tracer_pass(struct gg_tracer *tracer, pid_t tid);

/* Lets a stopped thread run on; `request` is PTRACE_CONT or PTRACE_SYSCALL. */
int gg_tracer_resume(pid_t tid, int request);

/*
 * Lets a thread run on that an interruption stopped.  A system call that the stop ended with EINTR
 * is made again.
 */
void gg_tracer_release(const struct gg_tracer *tracer, pid_t tid);

/* True if a signal waits that the thread would take; also if nothing tells. */
bool gg_tracer_has_signal(const struct gg_tracer *tracer, pid_t tid);

/* The time that a thread has spent on a processor; 0: unknown. */
uint64_t gg_tracer_run_ns(const struct gg_tracer *tracer, pid_t tid);

/* True if the thread is one of a child that shares the memory. */
bool gg_tracer_is_foreign(const struct gg_tracer *tracer, pid_t tid);

/* Asks a thread to stop; GG_TRACER_INTERRUPTED follows. */
int gg_tracer_interrupt(struct gg_tracer *tracer, pid_t tid);

/* Gives up waiting for that stop: if it still comes, the thread runs on. */
void gg_tracer_cancel_interrupt(struct gg_tracer *tracer, pid_t tid);

/* Sets the error for GG_TRACER_EXEC or GG_TRACER_ENDED of the process.  Returns -ESRCH. */
int gg_tracer_gone(pid_t pid, enum gg_tracer_event event, struct gg_error *error);

/* Reads and writes the general registers of a stopped thread. */
GG_MUST_CHECK int gg_tracer_read_registers(pid_t tid, struct user_regs_struct *ret_registers);
GG_MUST_CHECK int gg_tracer_write_registers(pid_t tid, const struct user_regs_struct *registers);
