/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiler - the GNU extensions that geiger uses, under names that say what they are for.
 *
 * Nothing here hides control flow.  Everything is a hint to the compiler or the linker, except
 * GG_CLEANUP, which runs a function when a variable goes out of scope.
 */
#pragma once

/* Branch weights.  For decisions that are lopsided by design (not sampled, table not full). */
#define gg_likely(condition)   __builtin_expect(!!(condition), 1)
#define gg_unlikely(condition) __builtin_expect(!!(condition), 0)

/* Cold code lives in functions of its own, so that the hot ones stay small enough to inline. */
#define GG_COLD __attribute__((cold, noinline))

/* The same for what is seldom, but must be fast then: compilers make cold functions small instead. */
#define GG_APART __attribute__((noinline))

/* Visible outside the shared object.  Everything else is hidden (-fvisibility=hidden). */
#define GG_EXPORT __attribute__((visibility("default")))

/* printf-like: the format is argument number `text`, its values start at number `first`. */
#define GG_PRINTF(text, first) __attribute__((format(printf, text, first)))

/* The result says whether it worked; dropping it is a bug. */
#define GG_MUST_CHECK __attribute__((warn_unused_result))

/* Calls `function(&variable)` when the variable leaves its scope, on every path out. */
#define GG_CLEANUP(function) __attribute__((cleanup(function)))

/* Number of elements of an array (not of a pointer). */
#define GG_COUNT(array) (sizeof(array) / sizeof((array)[0]))
