/* SPDX-License-Identifier: Apache-2.0 */
/*
 * real_functions - the allocator underneath: the functions that the program would call without us.
 *
 * gg_real holds the functions that follow ours in the loader's order: those of glibc, or of another
 * allocator that is preloaded after us or linked.  Every hook ends in a jump through it.
 *
 * Start      Each pointer first leads to a function that looks all of them up and then calls the
 *            real one.  So a hook needs no test whether the look-up was done, also if it is called
 *            before any constructor.
 * Look-up    reads the loader's list of objects and their symbol tables itself (elf_lookup.h).
 *            dlsym() would take the loader's lock, and allocate, inside malloc().
 * Threads    Every thread that looks up finds the same addresses, and each pointer is one word, so
 *            it does not matter which thread stores it.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
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
	size_t (*malloc_usable_size)(void *p); /* NULL: the allocator does not define it */

	/* These belong to libc and not to the allocator, and are found in the same way. */
	void *(*mmap)(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
	int (*munmap)(void *address, size_t bytes);
	void *(*mremap)(void *address, size_t bytes, size_t new_bytes, int flags, void *target);
	pid_t (*_Fork)(void);
	void (*_exit)(int status);
	int (*prctl)(int option, ...);
	int (*sigaction)(int signal, const struct sigaction *action, struct sigaction *old);
	gg_real_set_handler *signal, *sysv_signal;

	void (*forked)(void); /* tells that allocator about a bare _Fork(), in the child; or NULL */
	bool is_own;          /* the allocator is in this library (preload/own/own_allocator.c) */
};

extern struct gg_real gg_real __attribute__((visibility("hidden")));

/* Looks up all functions, if that was not done before. */
void gg_real_find(void);

/*
 * Called by gg_real_find() at its end: puts the functions of an allocator of the library's own in
 * place of those that were found.  The agent has no allocator, and does nothing here.
 */
void gg_real_replace(struct gg_real *real);

/*
 * Returns the file of the object that serves malloc() instead of the library's own allocator.
 * NULL: the library serves it, or this is the agent.
 */
const char *gg_real_other_allocator(void);

/*
 * True if gg_real has this function, and it lies in another object than malloc().  For example,
 * jemalloc has no pvalloc(), so glibc's serves it.  A query about such a block may crash the
 * allocator.
 */
bool gg_real_is_foreign(const void *function);
