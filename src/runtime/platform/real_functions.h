/* SPDX-License-Identifier: Apache-2.0 */
/*
 * real - the allocator underneath: whatever the program would have used without us.
 *
 * gg_real holds the functions that come next in the loader's order: those of glibc, or of an
 * allocator that is preloaded after us or linked.  Every hook ends in a jump through it.
 *
 * Start      its pointers first lead to functions that look all of them up and then do what was
 *            asked, so a hook needs no test whether we are ready, also when it is called before any
 *            constructor ran.
 * Look-up    reads the loader's list of objects and their symbol tables itself (symbol.h).  dlsym()
 *            would take the loader's lock, and allocate, from within malloc().
 * Threads    the look-up finds the same for everybody, so it does not matter who stores it; each
 *            pointer is one word.
 */
#pragma once

#include <signal.h>
#include <stddef.h>
#include <sys/types.h>

typedef void gg_real_handler(int);
typedef gg_real_handler *gg_real_set_handler(int signal, gg_real_handler *handler);

struct gg_real {
	void *(*malloc)(size_t bytes);
	void *(*calloc)(size_t count, size_t bytes);
	void *(*realloc)(void *p, size_t bytes);
	void *(*reallocarray)(void *p, size_t count, size_t bytes);
	void (*free)(void *p);
	int (*posix_memalign)(void **ret_p, size_t alignment, size_t bytes);
	void *(*aligned_alloc)(size_t alignment, size_t bytes);
	void *(*memalign)(size_t alignment, size_t bytes);
	void *(*valloc)(size_t bytes);
	void *(*pvalloc)(size_t bytes);
	void (*free_sized)(void *p, size_t bytes);
	void (*free_aligned_sized)(void *p, size_t alignment, size_t bytes);
	size_t (*malloc_usable_size)(void *p); /* NULL where the allocator has none */

	/* Not the allocator's, but found in the same way. */
	void *(*mmap)(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
	int (*munmap)(void *address, size_t bytes);
	void *(*mremap)(void *address, size_t bytes, size_t new_bytes, int flags, void *target);
	pid_t (*_Fork)(void);
	void (*_exit)(int status);
	int (*prctl)(int option, ...);
	int (*sigaction)(int signal, const struct sigaction *action, struct sigaction *old);
	gg_real_set_handler *signal, *sysv_signal;
};

extern struct gg_real gg_real __attribute__((visibility("hidden")));

/* Looks all of it up, if that was not done yet. */
void gg_real_find(void);
