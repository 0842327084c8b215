/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_stack - tells if a thread of another process has enough stack for calls of ours.
 *
 *   if (gg_thread_stack_has_room(&memory, &registers, GG_BORROWED_STACK_BYTES))
 *           ... the thread can run that many bytes deeper ...
 *
 * Main     The main thread's stack grows.  The kernel grows it for the thread itself, up to the
 *          limit of the process and to some distance from the mapping below; it does not grow it
 *          for geiger, whose first bytes have to lie in the mapping.
 * Others   libc notes the stack of a thread in the thread's own block.  The mapping says less: it
 *          may be larger than the stack, which the program may have taken from its heap.
 * Unknown  The stack of a coroutine is neither, and has no room.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

#include "attach/remote_memory.h"

/*
 * True if a thread that is stopped at these registers may use `bytes` below its stack pointer, of
 * which geiger writes up to GG_THREAD_STACK_WRITTEN_BYTES from outside.
 */
bool gg_thread_stack_has_room(const struct gg_remote_memory *memory,
                              const struct user_regs_struct *registers, uint64_t bytes);

enum { GG_THREAD_STACK_WRITTEN_BYTES = 32 << 10 };

/* The stack of a thread that libc has made, from its lowest usable address on. */
struct gg_thread_stack {
	uint64_t begin, end;
};

/*
 * Finds the stack in a copy of the first bytes of the thread's block, which lies at `block`.  The
 * words begin, size and guard follow each other there, at a place that depends on the version of
 * libc.  False: they are not there.
 */
bool gg_thread_stack_find(const uint64_t *words, size_t count, uint64_t block,
                          struct gg_thread_stack *ret_stack);
