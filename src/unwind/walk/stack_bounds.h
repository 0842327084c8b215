/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_bounds - where a stack ends, so that a walk never reads beyond it.
 *
 * A walk reads upwards from a stack pointer that is in use, so what it must know is the upper end.
 *
 *   own      The stack that the thread was started on.  Above the frames of the main thread the
 *            kernel has put its arguments (AT_RANDOM is among them); above those of a thread that
 *            libc started lies its control block, in the same mapping: the thread pointer.  That
 *            is the end, if every page from the stack pointer up to it is readable; the pages are
 *            asked for once, and such a stack stays as long as its thread.  Later walks compare
 *            two numbers.  A stack pointer below what is known asks for the pages in between.
 *   foreign  All else: signal stacks, coroutines, fibers.  Such memory may go at any time, so
 *            nothing about it is remembered but that it does not lead to the thread's own stack;
 *            a walk asks for each page before it reads there.
 *
 * A page is asked for with rt_sigprocmask() and an operation that does not exist: the kernel reads
 * the new mask first (EFAULT: not readable), then refuses (EINVAL).  No effect, no memory, no
 * errno, allowed wherever libc runs.  191 ns on the machine of docs/internals/UNWINDING.md.
 *
 * What remains: between question and read another thread may unmap the page of a foreign stack
 * that is in use.  The program then crashes without us, too.
 *
 * Threads  gg_stack_bounds_own belongs to its thread; the rest is set once by gg_stack_bounds_init().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	GG_STACK_BOUNDS_PAGE = 4096, /* the step of questions; a larger real page changes nothing */
	GG_STACK_BOUNDS_SEARCH_PAGES =
		4096,                /* at most so many between a stack pointer and the known end */
	GG_STACK_BOUNDS_FOREIGN = 4, /* places remembered; more: the search is made again */
	GG_STACK_BOUNDS_FOREIGN_BYTES = 64 << 20, /* a walk follows a foreign stack that far */
};

/* What a thread knows.  All-zero is valid. */
struct gg_stack_bounds_own {
	uint64_t low, high; /* readable until the thread ends; high == 0: not found yet */
	struct {
		uint64_t begin, end; /* pages that lead to an unreadable one */
	} foreign[GG_STACK_BOUNDS_FOREIGN];
	uint32_t foreign_next; /* to be replaced */
};

/* `above_main` is an address above all frames of the main thread; best called on that thread. */
void gg_stack_bounds_init(uint64_t above_main);

/* Can 8 bytes at the address be read? */
bool gg_stack_bounds_is_readable(uint64_t address);

/* Is sp on the thread's own stack?  Searches if it must. */
bool gg_stack_bounds_is_own(struct gg_stack_bounds_own *own, uint64_t sp);
