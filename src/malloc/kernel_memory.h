/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_memory - maps and unmaps memory by system calls.
 *
 * libc's functions may be replaced, also by geiger's own hooks, which would record the allocator's
 * memory as mappings of the program.  All functions keep errno.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Maps private memory that is all 0, with a protection of PROT_...; NULL: no memory. */
static inline void *gg_malloc_map_memory(size_t bytes, int protection, int flags)
{
	int saved_errno = errno;
	long p = syscall(SYS_mmap, NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1,
	                 0L);

	errno = saved_errno;
	return p == -1 ? NULL : (void *)p; /* NOLINT */
}

static inline void gg_malloc_unmap_memory(void *p, size_t bytes)
{
	int saved_errno = errno;

	syscall(SYS_munmap, p, bytes);
	errno = saved_errno;
}

/* Resizes a mapping, which may move; NULL: it could not, and nothing changed. */
static inline void *gg_malloc_remap_memory(void *p, size_t bytes, size_t new_bytes)
{
	int saved_errno = errno;
	long moved = syscall(SYS_mremap, p, bytes, new_bytes, MREMAP_MAYMOVE, NULL);

	errno = saved_errno;
	return moved == -1 ? NULL : (void *)moved; /* NOLINT */
}

static inline bool gg_malloc_make_writable(void *p, size_t bytes)
{
	int saved_errno = errno;
	long status = syscall(SYS_mprotect, p, bytes, PROT_READ | PROT_WRITE);

	errno = saved_errno;
	return status == 0;
}

/* Gives the memory back to the kernel; the addresses stay, and read as 0. */
static inline bool gg_malloc_empty_memory(void *p, size_t bytes)
{
	int saved_errno = errno;
	long status = syscall(SYS_madvise, p, bytes, MADV_DONTNEED);

	errno = saved_errno;
	return status == 0;
}
