/* SPDX-License-Identifier: Apache-2.0 */
/*
 * atomic - the vocabulary for memory that threads, signal handlers or processes share.
 *
 * Each name ends in its memory order, so that the order is read where it is used; a use says in a
 * comment what it pairs with and why that order is enough.  The pairs that geiger is built of:
 *
 *   publish a record       write the fields, then gg_store_release(&ready, 1)
 *   read a record          if (gg_load_acquire(&ready)) read the fields
 *   count an event         gg_add_relaxed(&counter, 1): the number alone, it orders nothing
 *   claim a slot           gg_cas_acq_rel(&slot, &expected, mine)
 *   talk to a handler      gg_fence_signal(): the same thread, so no processor barrier is needed
 *
 * They work on plain integer and pointer objects of at most 8 bytes, aligned to their size, also in
 * memory that is mapped by several processes: all of them are lock-free on x86-64 and aarch64.
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

/* One load or store, never torn, never repeated or invented by the compiler; no ordering. */
#define gg_load_relaxed(object) GG_ATOMIC(__atomic_load_n((object), __ATOMIC_RELAXED))
#define gg_store_relaxed(object, value) \
	GG_ATOMIC(__atomic_store_n((object), (value), __ATOMIC_RELAXED))

/* What was written before the release is visible to whoever sees the value by an acquire. */
#define gg_load_acquire(object) GG_ATOMIC(__atomic_load_n((object), __ATOMIC_ACQUIRE))
#define gg_store_release(object, value) \
	GG_ATOMIC(__atomic_store_n((object), (value), __ATOMIC_RELEASE))

/* Read-modify-write; each returns the value before it. */
#define gg_add_relaxed(object, value) \
	GG_ATOMIC(__atomic_fetch_add((object), (value), __ATOMIC_RELAXED))
#define gg_add_release(object, value) \
	GG_ATOMIC(__atomic_fetch_add((object), (value), __ATOMIC_RELEASE))
#define gg_sub_relaxed(object, value) \
	GG_ATOMIC(__atomic_fetch_sub((object), (value), __ATOMIC_RELAXED))
#define gg_add_acq_rel(object, value) \
	GG_ATOMIC(__atomic_fetch_add((object), (value), __ATOMIC_ACQ_REL))
#define gg_and_acq_rel(object, value) \
	GG_ATOMIC(__atomic_fetch_and((object), (value), __ATOMIC_ACQ_REL))
#define gg_exchange_acq_rel(object, value) \
	GG_ATOMIC(__atomic_exchange_n((object), (value), __ATOMIC_ACQ_REL))

/*
 * If *object == *expected, makes it `desired` and is true; else copies *object to *expected and is
 * false.  Never fails without a reason ("strong"), so it can stand outside a loop.  The failing
 * side acquires: it has seen what another thread published.
 */
#define gg_cas_acq_rel(object, expected, desired)                                     \
	GG_ATOMIC(__atomic_compare_exchange_n((object), (expected), (desired), false, \
	                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))

/*
 * Sequentially consistent: all of these, of all threads and objects, happen in one order.  For two
 * threads that each write a flag and then read the other's ("either I see yours or you see mine").
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

/* Orders them against a signal handler on this very thread: the compiler only, no instruction. */
#define gg_fence_signal() __atomic_signal_fence(__ATOMIC_SEQ_CST)
