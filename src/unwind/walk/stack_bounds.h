/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_bounds - finds the end of a stack, so that a walk never reads beyond it.
 *
 * A walk reads upwards from a stack pointer that is in use, so it needs the upper end.
 *
 * own      The stack on which the thread was started.  Above the frames of the main thread are the
 *          arguments from the kernel (AT_RANDOM is among them).  Above the frames of a thread that
 *          libc started is its control block, in the same mapping: the thread pointer.  Either is
 *          the end if every page from the stack pointer up to it is readable.  A thread checks
 *          these pages once, because such a stack stays as long as its thread.  Later walks compare
 *          two numbers.  For a stack pointer below the known range, the pages between are checked.
 * foreign  Any other memory: signal stacks, coroutines, fibers.  It may be unmapped at any time, so
 *          the only thing remembered is that it does not lead to the thread's own stack.  A walk
 *          checks each page before it reads there.
 *
 * The check of a page calls rt_sigprocmask() with an operation that does not exist.  The kernel
 * reads the new mask first (EFAULT: unreadable), then refuses the operation (EINVAL).  The call has
 * no effect, needs no memory, leaves errno alone, and is allowed wherever libc runs.  It takes 191
 * ns on the machine of docs/internals/UNWINDING.md.
 *
 * One risk remains: between the check and the read, another thread may unmap the page of a foreign
 * stack that is in use.  Such a program crashes without geiger as well.
 *
 * Threads  gg_stack_bounds_own belongs to its thread.  gg_stack_bounds_init() sets everything
 *          shared, once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	GG_STACK_BOUNDS_PAGE = 4096, /* the step of the checks; larger real pages change nothing */
	/* The most pages between a stack pointer and the known end. */
	GG_STACK_BOUNDS_SEARCH_PAGES = 4096,
	/* Places remembered; for further ones the search is repeated. */
	GG_STACK_BOUNDS_FOREIGN = 4,
	/* The most that a walk follows of a foreign stack. */
	GG_STACK_BOUNDS_FOREIGN_BYTES = 64 << 20,
};

/* The stacks that a thread knows.  All-zero is valid. */
struct gg_stack_bounds_own {
	uint64_t low, high; /* readable until the thread ends; high == 0: not found yet */
	struct {
		uint64_t begin, end; /* readable pages below an unreadable one */
	} foreign[GG_STACK_BOUNDS_FOREIGN];
	uint32_t foreign_next; /* the next place to replace */
};

/*
 * Sets the end of the main stack: `above_main` is an address above all frames of the main thread.
 * Best called on that thread.
 */
void gg_stack_bounds_init(uint64_t above_main);

/* True if 8 bytes at the address can be read. */
bool gg_stack_bounds_is_readable(uint64_t address);

/*
 * True if sp is on the thread's own stack.  Searches for the end of the stack if the answer is not
 * known yet.
 */
bool gg_stack_bounds_is_own(struct gg_stack_bounds_own *own, uint64_t sp);
