/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_limits - the hooks of setrlimit() and prlimit(), which see that a program limits its address
 * space.
 *
 * The allocator reserves address space, which counts against such a limit.  A program that sets the
 * limit after its start could map nothing any more, not even the stack of a thread.  So the
 * allocator gives closed slices back before (malloc/arena.h).
 *
 * Errors  The kernel decides whether the limit is set; a reservation that went back for a limit
 *         that was refused does no harm.
 * Misses  limits that another process sets, and those that a program sets by a bare system call.
 */
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/compiler.h"
#include "malloc/arena.h"

_Static_assert(sizeof(rlim_t) == 8, "both names of each function have the same arguments");

static void prepare(pid_t pid, int resource, const struct rlimit *limit)
{
	if (resource == RLIMIT_AS && limit != NULL && limit->rlim_cur != RLIM_INFINITY &&
	    (pid == 0 || pid == getpid()))
		gg_malloc_arena_limit(limit->rlim_cur);
}

/*
 * libc declares these with types of its own.  rlim_t has 64 bits on all processors that geiger
 * supports, so both names of each function are the same.
 */
GG_EXPORT int gg_own_prlimit(pid_t pid, int resource, const struct rlimit *new_limit,
                             struct rlimit *old_limit) __asm__("prlimit");
GG_EXPORT int gg_own_prlimit(pid_t pid, int resource, const struct rlimit *new_limit,
                             struct rlimit *old_limit)
{
	prepare(pid, resource, new_limit);
	return (int)syscall(SYS_prlimit64, pid, resource, new_limit, old_limit);
}

GG_EXPORT int gg_own_prlimit64(pid_t pid, int resource, const struct rlimit *new_limit,
                               struct rlimit *old_limit) __asm__("prlimit64")
	__attribute__((alias("prlimit")));

GG_EXPORT int gg_own_setrlimit(int resource, const struct rlimit *limit) __asm__("setrlimit");
GG_EXPORT int gg_own_setrlimit(int resource, const struct rlimit *limit)
{
	prepare(0, resource, limit);
	return (int)syscall(SYS_prlimit64, 0, resource, limit, NULL);
}

GG_EXPORT int gg_own_setrlimit64(int resource, const struct rlimit *limit) __asm__("setrlimit64")
	__attribute__((alias("setrlimit")));
