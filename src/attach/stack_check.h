/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_check - decides by its stack if a stopped thread may be taken.
 *
 *   gg_stack_check_init(&search, &tracer, &unwinder, libc, allocator);
 *   if (gg_stack_check_accepts(&search, &registers, false))
 *           ...
 *
 * A thread is taken only if its whole stack is known and has no frame of the loader, of a signal
 * handler, or of a function of libc that holds a lock which dlopen() may need.  For the first
 * GG_SAFE_POINT_STRICT_MS no frame of libc at all is accepted, except those that start programs and
 * threads.  It also needs room below its stack pointer (thread_stack.h), which the stacks of
 * coroutines do not have for certain.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "attach/held_threads.h"
#include "attach/remote_modules.h"
#include "attach/remote_unwind.h"
#include "attach/tracer.h"

enum { GG_SAFE_POINT_STRICT_MS = 300, GG_SAFE_POINT_DENIED_MAX = 64 };

/* Code that must not be on the stack. */
struct gg_denied_code {
	uint64_t begin, end;
};

struct gg_safe_point_search {
	struct gg_tracer *tracer;
	struct gg_remote_unwinder *unwinder;
	const struct gg_remote_modules *modules;
	uint32_t libc, allocator; /* positions of these modules */
	struct gg_denied_code denied[GG_SAFE_POINT_DENIED_MAX];
	uint32_t denied_count;
	uint64_t begin_ns;
	const uint32_t *is_cancelled; /* the guardian sets it to end the search; or NULL */
	pid_t guardian; /* the end of this parent ends the search as well; 0: no parent */
	/* Output: entries and calls that were refused. */
	uint64_t refused_count;
	bool is_series;               /* the last try was a series of entries (safe_point.h) */
	struct gg_remote_trace trace; /* of the last thread that was judged */
	struct gg_held_threads held;  /* of the last change of code */
};

struct gg_safe_point {
	pid_t tid;
	struct user_regs_struct registers;
	bool is_idle; /* the thread waited in a system call */
};

/* Fills the search's denied code. */
void gg_stack_check_init(struct gg_safe_point_search *search, struct gg_tracer *tracer,
                         struct gg_remote_unwinder *unwinder, uint32_t libc, uint32_t allocator);

/* True if a thread that is stopped at these registers may be taken. */
bool gg_stack_check_accepts(struct gg_safe_point_search *search,
                            const struct user_regs_struct *registers, bool is_idle);
