/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_dlopen - dlopen() without RTLD_DEEPBIND, before that of libc.
 *
 * With that flag a library finds malloc() and free() of libc before those of this allocator.  The
 * rest of the program does not, so one side would free blocks of the other one, and libc's free()
 * takes no block of ours.  PHP opens its modules so.  Without the flag the library's own functions
 * come behind those of the program that have the same names, as with systems that do not know it.
 *
 * Caller   The loader looks at the return address for paths such as $ORIGIN.  So this function
 *          jumps to libc's instead of calling it, where the compiler optimizes.
 * Threads  any.
 */
#include <dlfcn.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "runtime/platform/elf_lookup.h"

GG_EXPORT void *dlopen(const char *file, int mode)
{
	static void *known;
	void *(*next)(const char *file, int mode);

	if (gg_load_relaxed(&known) == NULL)
		gg_store_relaxed(&known, gg_elf_lookup_next("dlopen", NULL));
	next = (void *(*)(const char *, int))gg_load_relaxed(&known);
	if (next == NULL)
		return NULL;
	return next(file, mode & ~RTLD_DEEPBIND);
}
