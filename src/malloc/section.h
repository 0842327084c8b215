/* SPDX-License-Identifier: Apache-2.0 */
/*
 * section - what a signal handler finds when it interrupts the allocator and allocates.
 *
 * A thread notes in `gg_malloc_inside` which parts of the allocator it is in: its heap, or a lock.
 * A handler on that thread must not enter the same part again: it would wait for itself, or find
 * lists that are half changed.
 *
 *   part      what a handler gets                     what it frees
 *   heap      an emergency block (emergency.h)        goes to the slab's lock-free remote list
 *   a lock    an emergency block, if it needs it      waits in a list (arena.c, slow_paths.c)
 *
 * While a thread is inside its heap, its thread-local pointer leads to the empty heap, so that the
 * fast paths of a handler get to the slow paths, which look here.
 *
 * Left     A handler may leave by siglongjmp(), and the section that it interrupted never ends.
 *          The thread then calls again from a stack frame that is no deeper than that of the
 *          section, which no handler can: its signal frame lies between.  The thread's heap may be
 *          half changed, so it is never used again, and the thread gets another one.
 * Limit    A lock whose holder is left in that way stays taken.
 *          The fast paths themselves are three to five instructions that are no section.  A handler
 *          that allocates in their middle may get a block twice, as with other allocators.
 * Cost     some ten instructions for each slow path.
 */
#pragma once

#include <stdint.h>

#include "base/atomic.h"

enum gg_malloc_part {
	GG_MALLOC_PART_ARENA = 1 << 0,
	GG_MALLOC_PART_HUGE = 1 << 1,
	GG_MALLOC_PART_HEAP = 1 << 2,
};

/* Bits of enum gg_malloc_part; the thread and its handlers change it. */
extern __thread uint32_t gg_malloc_inside
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The stack pointer at the beginning of the outermost section of the heap, while inside. */
extern __thread uintptr_t gg_malloc_section_sp
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The least size of a signal frame, which holds the registers, is larger. */
enum { GG_MALLOC_SIGNAL_FRAME_BYTES = 512 };

static inline uintptr_t gg_malloc_stack_pointer(void)
{
	uintptr_t sp;

#if defined(__x86_64__)
	__asm__ volatile("mov %%rsp, %0" : "=r"(sp));
#elif defined(__aarch64__)
	__asm__ volatile("mov %0, sp" : "=r"(sp));
#else
	sp = (uintptr_t)__builtin_frame_address(0);
#endif
	return sp;
}

static inline void gg_malloc_part_enter(enum gg_malloc_part part)
{
	gg_malloc_inside |= (uint32_t)part;
	gg_fence_signal();
}

static inline void gg_malloc_part_leave(enum gg_malloc_part part)
{
	gg_fence_signal();
	gg_malloc_inside &= ~(uint32_t)part;
}
