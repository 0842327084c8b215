/* SPDX-License-Identifier: Apache-2.0 */
/*
 * atomic - operations on memory that threads, signal handlers or processes share.
 *
 * Each name ends in its memory order, so a reader sees the order at each use.  A comment at the use
 * names the operation that it pairs with and says why that order is enough. geiger uses these
 * pairs:
 *
 * publish a record       write the fields, then gg_store_release(&ready, 1)
 * read a record          if (gg_load_acquire(&ready)) read the fields
 * count an event         gg_add_relaxed(&counter, 1): only the number counts; it orders nothing
 * claim a slot           gg_cas_acq_rel(&slot, &expected, mine)
 * talk to a handler      gg_fence_signal(): the same thread, so no processor barrier is needed
 *
 * The operations work on plain integer and pointer objects of at most 8 bytes that are aligned to
 * their size, also in memory that several processes map: all are lock-free on x86-64 and aarch64.
 * (C11's _Atomic would change the type in every shared layout, and C++ readers could not see it.)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef GG_CHAOS
#include "base/chaos.h"
#define GG_ATOMIC(operation) (gg_chaos(), (operation)) /* for tests */
#else
#define GG_ATOMIC(operation) (operation)
#endif

_Static_assert(__atomic_always_lock_free(sizeof(uint64_t), 0), "64-bit atomics need no lock");
_Static_assert(__atomic_always_lock_free(sizeof(void *), 0), "pointer atomics need no lock");

/*
 * One load or store.  The compiler can neither tear nor repeat nor invent it.  It orders nothing.
 */
#define gg_load_relaxed(object) GG_ATOMIC(__atomic_load_n((object), __ATOMIC_RELAXED))
#define gg_store_relaxed(object, value) \
	GG_ATOMIC(__atomic_store_n((object), (value), __ATOMIC_RELAXED))

/* A thread that reads the value by an acquire also sees all writes before the release. */
#define gg_load_acquire(object) GG_ATOMIC(__atomic_load_n((object), __ATOMIC_ACQUIRE))
#define gg_store_release(object, value) \
	GG_ATOMIC(__atomic_store_n((object), (value), __ATOMIC_RELEASE))

/* Read-modify-write operations.  Each returns the value from before it. */
#define gg_add_relaxed(object, value) \
	GG_ATOMIC(__atomic_fetch_add((object), (value), __ATOMIC_RELAXED))
#define gg_add_release(object, value) \
	GG_ATOMIC(__atomic_fetch_add((object), (value), __ATOMIC_RELEASE))
#define gg_add_acq_rel(object, value) \
	GG_ATOMIC(__atomic_fetch_add((object), (value), __ATOMIC_ACQ_REL))
#define gg_or_relaxed(object, value) \
	GG_ATOMIC(__atomic_fetch_or((object), (value), __ATOMIC_RELAXED))
#define gg_and_acq_rel(object, value) \
	GG_ATOMIC(__atomic_fetch_and((object), (value), __ATOMIC_ACQ_REL))
#define gg_exchange_acq_rel(object, value) \
	GG_ATOMIC(__atomic_exchange_n((object), (value), __ATOMIC_ACQ_REL))

/*
 * Sets *object to `desired` and returns true if *object equals *expected.  Otherwise it copies
 * *object to *expected and returns false.  It never fails spuriously ("strong"), so it need not
 * stand in a loop.  On failure it acquires: the caller sees the data that the other thread
 * published.
 */
#define gg_cas_acq_rel(object, expected, desired)                                     \
	GG_ATOMIC(__atomic_compare_exchange_n((object), (expected), (desired), false, \
	                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))

/*
 * Sequentially consistent operations: all threads see all of them in one order, whatever the
 * object.  They serve two threads that each write a flag and then read the other's ("either I see
 * yours or you see mine").
 */
#define gg_load_seq_cst(object) GG_ATOMIC(__atomic_load_n((object), __ATOMIC_SEQ_CST))
#define gg_exchange_seq_cst(object, value) \
	GG_ATOMIC(__atomic_exchange_n((object), (value), __ATOMIC_SEQ_CST))
#define gg_cas_seq_cst(object, expected, desired)                                     \
	GG_ATOMIC(__atomic_compare_exchange_n((object), (expected), (desired), false, \
	                                      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))

/* Orders this thread's earlier and later accesses against other threads. */
#define gg_fence_acquire() GG_ATOMIC(__atomic_thread_fence(__ATOMIC_ACQUIRE))
#define gg_fence_release() GG_ATOMIC(__atomic_thread_fence(__ATOMIC_RELEASE))
#define gg_fence_full()    GG_ATOMIC(__atomic_thread_fence(__ATOMIC_SEQ_CST))

/*
 * Orders accesses against a signal handler on the same thread.  It binds only the compiler and
 * costs no instruction.
 */
#define gg_fence_signal() __atomic_signal_fence(__ATOMIC_SEQ_CST)
