/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syscalls - what the agent asks the kernel, in calls that do not allocate and are no cancellation
 * points (malloc() is none, so nothing behind it may be one).  errno is kept.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Zeroed private memory, whole pages; NULL: there is none. */
void *gg_syscall_map(size_t bytes);
/* The same in the place of what is mapped there. */
bool gg_syscall_map_over(void *pages, size_t bytes);
void gg_syscall_unmap(void *pages, size_t bytes);

/* mprotect() of whole pages. */
bool gg_syscall_protect(void *pages, size_t bytes, int protection);

uint32_t gg_syscall_tid(void);
/* As libc has it, without a system call; 0: not known.  Of a process by a bare clone() it is its parent's. */
uint32_t gg_syscall_known_tid(void);

/* The calling thread's name, with its 0 byte. */
void gg_syscall_thread_name(char name[16]);

/* Up to size bytes of a file; their number, or -1.  Opened for reading, nothing is followed. */
ssize_t gg_syscall_read_file(const char *path, void *bytes, size_t size);

/*
 * Opens a file whose directory other users may write: there only a plain file with one name, ours or root's,
 * and through no link.  In a directory that only root or we can write, whatever the name leads to.
 * Never waits.  The descriptor, or -Exxx.  Where files are opened; not on the sample path.
 */
int gg_syscall_open_shared(const char *path, int flags);

/* The same for a file that must be a plain one of ours with one name, wherever it is. */
int gg_syscall_open_own(const char *path, int flags);

/* Where a symbolic link leads, 0-terminated; the length, or -1. */
ssize_t gg_syscall_read_link(const char *path, char *text, size_t size);

/* Do both paths lead to one file? */
bool gg_syscall_is_same_file(const char *one, const char *other);

void gg_syscall_sleep(long ns);

/* When this process began, in clock ticks since boot (field 22 of /proc/self/stat); 0: unknown. */
uint64_t gg_syscall_start_ticks(void);
