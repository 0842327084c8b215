/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_memory - maps and unmaps memory, and blocks signals, by system calls.
 *
 * libc's functions may be replaced, also by geiger's own hooks, which would record the allocator's
 * memory as mappings of the program.  All functions keep errno.
 */
#pragma once

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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

/* Returns false if the memory stays mapped. */
static inline bool gg_malloc_try_unmap(void *p, size_t bytes)
{
	int saved_errno = errno;
	long status = syscall(SYS_munmap, p, bytes);

	errno = saved_errno;
	return status == 0;
}

/*
 * A process that has all mappings that it may have cannot unmap a part of one.  Then the memory
 * goes back, and the addresses do not.
 */
static inline void gg_malloc_unmap_memory(void *p, size_t bytes)
{
	int saved_errno = errno;

	if (!gg_malloc_try_unmap(p, bytes))
		syscall(SYS_madvise, p, bytes, MADV_DONTNEED);
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

/* Maps memory at an address where nothing is mapped.  False: it cannot. */
static inline bool gg_malloc_map_at(void *p, size_t bytes, int protection, int flags)
{
	int saved_errno = errno;
	/* Kernels before 4.17 take the address for a hint. */
	long at = syscall(SYS_mmap, p, bytes, protection,
	                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | flags, -1, 0L);

	errno = saved_errno;
	if (at != -1 && (void *)at != p)                   /* NOLINT */
		gg_malloc_unmap_memory((void *)at, bytes); /* NOLINT */
	return (void *)at == p;                            /* NOLINT */
}

/* Maps memory that can be written, in the same way. */
static inline bool gg_malloc_map_memory_at(void *p, size_t bytes)
{
	return gg_malloc_map_at(p, bytes, PROT_READ | PROT_WRITE, 0);
}

/* Reserves addresses in the same way. */
static inline bool gg_malloc_reserve_at(void *p, size_t bytes)
{
	return gg_malloc_map_at(p, bytes, PROT_NONE, MAP_NORESERVE);
}

/* Only before the memory is in use, so that no mapping is split later. */
static inline bool gg_malloc_protect(void *p, size_t bytes, int protection)
{
	int saved_errno = errno;
	long status = syscall(SYS_mprotect, p, bytes, protection);

	errno = saved_errno;
	return status == 0;
}

static inline bool gg_malloc_make_readable(void *p, size_t bytes)
{
	return gg_malloc_protect(p, bytes, PROT_READ);
}

static inline bool gg_malloc_make_writable(void *p, size_t bytes)
{
	return gg_malloc_protect(p, bytes, PROT_READ | PROT_WRITE);
}

/* The size of the kernel's pages, 64 KiB until it is known. */
extern size_t gg_malloc_page_bytes __attribute__((visibility("hidden")));

/*
 * Gives the memory back to the kernel; the addresses stay, and read as 0.  False: the kernel keeps
 * it, or it is not of whole pages.  The kernel itself would round its end up.
 */
static inline bool gg_malloc_empty_memory(void *p, size_t bytes)
{
	int saved_errno = errno;
	long status;

	if ((((uintptr_t)p | bytes) & (gg_malloc_page_bytes - 1)) != 0)
		return false;
	status = syscall(SYS_madvise, p, bytes, MADV_DONTNEED);
	errno = saved_errno;
	return status == 0;
}

/*
 * Blocks the thread's signals, except for those that its own instructions raise.  Returns the set
 * of blocked signals from before, for gg_malloc_restore_signals().
 */
static inline uint64_t gg_malloc_block_signals(void)
{
	const uint64_t own = UINT64_C(1) << (SIGSEGV - 1) | UINT64_C(1) << (SIGBUS - 1) |
	                     UINT64_C(1) << (SIGFPE - 1) | UINT64_C(1) << (SIGILL - 1) |
	                     UINT64_C(1) << (SIGTRAP - 1) | UINT64_C(1) << (SIGSYS - 1);
	uint64_t all = ~own, before = 0;
	int saved_errno = errno;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof(all));
	errno = saved_errno;
	return before;
}

static inline void gg_malloc_restore_signals(uint64_t before)
{
	int saved_errno = errno;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	errno = saved_errno;
}
