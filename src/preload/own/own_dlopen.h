/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_dlopen - dlopen() and dlmopen() without RTLD_DEEPBIND, before those of libc.
 *
 * With that flag a library finds malloc() and free() of libc before those of this allocator.  The
 * rest of the program does not, so one side would free blocks of the other one, and libc's free()
 * takes no block of ours.  PHP opens its modules so.  Without the flag the library's own functions
 * come behind those of the program that have the same names, as with systems that do not know it.
 *
 * Kept     The flag stays where blocks of two allocators cannot meet: another allocator serves the
 *          program, or the library gets a namespace of its own with a libc of its own.
 * Caller   The loader looks at the return address for paths such as $ORIGIN.  So both functions
 *          jump to libc's instead of calling them.  They are in assembly, because a compiler makes
 *          a jump of a call only if it optimizes.
 * Old libc Before glibc 2.34 both functions are in libdl.  If nothing has loaded it, it is loaded.
 * Threads  any.
 */
#pragma once

#include <dlfcn.h>

/*
 * Returns the function to jump to, and takes RTLD_DEEPBIND out of *mode where it would do harm.
 * Both are called by assembly.
 */
void *gg_own_dlopen_next(int *mode);
void *gg_own_dlopen_next_in(Lmid_t space, int *mode);
