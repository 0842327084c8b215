/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assert - invariants that debug and test builds check at run time.
 *
 *   gg_assert(count <= capacity);
 *   geiger: ../src/base/array.h:40: assertion failed: count <= capacity
 *
 * A failed assertion is a bug of geiger, never of its input: parsers return an error instead. The
 * condition must have no side effects, because builds without assertions do not evaluate it. The
 * Meson option `assertions` (docs/HACKING.md) decides; `script/build release` turns it off, because
 * that build's hot path is measured. The agent's chaos build always has assertions.
 *
 * Threads    any thread, and any signal handler: two raw system calls, no libc, no allocation, so
 *            that no list of allowed imports needs a name for them.
 * On failure one line on standard error, then SIGABRT for this thread. If the program survives
 *            that signal, the processor's trap instruction ends it.
 */
#pragma once

#include <stddef.h>

#include "base/compiler.h"

#if defined(GG_ASSERTIONS) && GG_ASSERTIONS

#include <signal.h>
#include <sys/syscall.h>

/* Makes a system call without libc. On other architectures it does nothing and returns -1. */
static inline long gg_assert_syscall(long number, long first, const void *second, size_t third)
{
#if defined(__x86_64__)
	long result;

	__asm__ volatile("syscall"
	                 : "=a"(result)
	                 : "0"(number), "D"(first), "S"(second), "d"(third)
	                 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = first;
	register const void *x1 __asm__("x1") = second;
	register size_t x2 __asm__("x2") = third;

	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return x0;
#else
	(void)number, (void)first, (void)second, (void)third;
	return -1;
#endif
}

/* Writes the `length` bytes of `line` to standard error and ends the process. */
__attribute__((noreturn, unused)) GG_COLD static void gg_assert_fail(const char *line,
                                                                     size_t length)
{
	long thread;

	gg_assert_syscall(SYS_write, 2, line, length);
	thread = gg_assert_syscall(SYS_gettid, 0, NULL, 0);
	/* The second argument of tkill() is an integer; the register is the same. */
	gg_assert_syscall(SYS_tkill, thread, (const void *)(long)SIGABRT, 0);
	__builtin_trap();
}

#define GG_ASSERT_LINE_(file, line, condition) \
	"geiger: " file ":" #line ": assertion failed: " condition "\n"
/* This level expands __LINE__ before the next one turns it into text. */
#define GG_ASSERT_LINE(file, line, condition) GG_ASSERT_LINE_(file, line, condition)

#define gg_assert(condition)                                                      \
	(gg_likely(condition)                                                     \
	         ? (void)0                                                        \
	         : gg_assert_fail(GG_ASSERT_LINE(__FILE__, __LINE__, #condition), \
	                          sizeof(GG_ASSERT_LINE(__FILE__, __LINE__, #condition)) - 1))

#else

/* Compiles the condition, so that it stays correct and its variables count as used. */
#define gg_assert(condition) ((void)sizeof(!(condition)))

#endif
