/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syscalls - system calls that neither allocate nor are cancellation points.
 *
 * malloc() is no cancellation point, so no function that it calls may be one.  errno is kept.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Maps zeroed private memory in whole pages.  NULL: memory ran out. */
void *gg_syscall_map(size_t bytes);

/* Replaces existing pages by zeroed private memory. */
bool gg_syscall_map_over(void *pages, size_t bytes);
void gg_syscall_unmap(void *pages, size_t bytes);

/* Calls mprotect() on whole pages. */
bool gg_syscall_protect(void *pages, size_t bytes, int protection);

uint32_t gg_syscall_tid(void);

/* True if the process has a thread with that id. */
bool gg_syscall_has_thread(uint32_t tid);

/*
 * Returns the thread id that libc has stored, without a system call; 0: unknown.  In a process that
 * a bare clone() made, it is the parent's.
 */
uint32_t gg_syscall_known_tid(void);

/* Reads the calling thread's name; it ends in a 0 byte. */
void gg_syscall_thread_name(char name[16]);

/* Reads up to `size` bytes from the start of a file.  Returns their number, or -1. */
ssize_t gg_syscall_read_file(const char *path, void *bytes, size_t size);

/*
 * Opens a file by a name that another user may have planted.  In a directory that other users can
 * write, it opens a plain file with one link that belongs to root or to us, and follows no symbolic
 * link.  In a directory that only root or we can write, it opens whatever the name leads to.  Never
 * waits.  Returns the descriptor or -Exxx.  Not for the sample path: open() is a cancellation
 * point, so the caller disables cancellation.
 */
int gg_syscall_open_shared(const char *path, int flags);

/* Opens a plain file of ours with one link, in any directory, and follows no symbolic link. */
int gg_syscall_open_own(const char *path, int flags);

/* Reads the target of a symbolic link, ends it with a 0 byte, and returns its length or -1. */
ssize_t gg_syscall_read_link(const char *path, char *text, size_t size);

/* True if both paths lead to the same file. */
bool gg_syscall_is_same_file(const char *one, const char *other);

void gg_syscall_sleep(long ns);

/* The start of this process in clock ticks since boot (field 22 of /proc/self/stat); 0: unknown. */
uint64_t gg_syscall_start_ticks(void);
