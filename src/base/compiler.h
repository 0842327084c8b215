/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiler - names for the GNU extensions that geiger uses, which say what each is for.
 *
 * Nothing here hides control flow.  Everything is a hint to the compiler or the linker, except
 * GG_CLEANUP, which runs a function when a variable goes out of scope.
 */
#pragma once

/* Branch weights, for decisions that are lopsided by design (not sampled, table not full). */
#define gg_likely(condition)   __builtin_expect(!!(condition), 1)
#define gg_unlikely(condition) __builtin_expect(!!(condition), 0)

/*
 * Marks cold code, which stands in functions of its own so that hot functions stay small enough to
 * inline.
 */
#define GG_COLD __attribute__((cold, noinline))

/*
 * Before a loop of so many steps at most, which then has no jumps.  clang does it unasked if it
 * knows the number.
 */
#if defined(__clang__)
#define GG_UNROLLED
#else
#define GG_UNROLLED _Pragma("GCC unroll 16")
#endif

/* Marks rare code that must still be fast.  Compilers optimize cold functions for size instead. */
#define GG_APART __attribute__((noinline))

/*
 * Makes a symbol visible outside the shared object.  Everything else is hidden
 * (-fvisibility=hidden).
 */
#define GG_EXPORT __attribute__((visibility("default")))

/*
 * Lets the compiler check a format: it is argument number `text`, and its values start at `first`.
 */
#define GG_PRINTF(text, first) __attribute__((format(printf, text, first)))

/* The result says whether the call succeeded; ignoring it is a bug. */
#define GG_MUST_CHECK __attribute__((warn_unused_result))

/* Calls `function(&variable)` when the variable leaves its scope, on every path out. */
#define GG_CLEANUP(function) __attribute__((cleanup(function)))

/* The number of elements of an array (not of a pointer). */
#define GG_COUNT(array) (sizeof(array) / sizeof((array)[0]))
