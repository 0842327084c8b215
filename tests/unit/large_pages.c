/* SPDX-License-Identifier: Apache-2.0 */
/*
 * large_pages - a kernel whose pages have 16 or 64 KiB, for what calls it by syscall().
 *
 * The linker leads syscall() and getauxval() here (--wrap).  As a kernel with such pages does, it
 * refuses addresses within a page, rounds lengths up, and maps whole pages.  A call that is right
 * on pages of 4 KiB alone fails as it does there, or damages memory, which the tests see.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
unsigned long __real_getauxval(unsigned long type);
unsigned long __wrap_getauxval(unsigned long type);

static uintptr_t page_bytes(void)
{
	static uintptr_t bytes;

	if (bytes == 0) {
		const char *text = getenv("GG_TEST_PAGE_BYTES");

		bytes = text != NULL ? strtoul(text, NULL, 10) : 65536;
	}
	return bytes;
}

unsigned long __wrap_getauxval(unsigned long type)
{
	return type == AT_PAGESZ ? page_bytes() : __real_getauxval(type);
}

static uintptr_t round_up(uintptr_t bytes)
{
	return (bytes + page_bytes() - 1) & ~(page_bytes() - 1);
}

/* Maps whole pages anywhere: with a page more, of which the unaligned ends go. */
static long map_anywhere(uintptr_t bytes, long protection, long flags)
{
	uintptr_t wide = bytes + page_bytes(), aligned;
	long at = __real_syscall(SYS_mmap, 0L, wide, protection, flags, -1L, 0L);

	if (at == -1)
		return -1;
	aligned = round_up((uintptr_t)at);
	if (aligned > (uintptr_t)at)
		__real_syscall(SYS_munmap, at, aligned - (uintptr_t)at);
	if (aligned + bytes < (uintptr_t)at + wide)
		__real_syscall(SYS_munmap, aligned + bytes, (uintptr_t)at + wide - aligned - bytes);
	return (long)aligned;
}

static long map(const long *a)
{
	uintptr_t bytes = round_up((uintptr_t)a[1]);

	if ((a[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0)
		return __real_syscall(SYS_mmap, a[0], bytes, a[2], a[3], a[4], a[5]);
	return map_anywhere(bytes, a[2], a[3]);
}

static long remap(const long *a)
{
	uintptr_t old = round_up((uintptr_t)a[1]), new = round_up((uintptr_t)a[2]);
	long at;

	if (new <= old)
		return __real_syscall(SYS_mremap, a[0], old, new, 0L);
	at = map_anywhere(new, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
	return at == -1 ? -1
	                : __real_syscall(SYS_mremap, a[0], old, new, MREMAP_MAYMOVE | MREMAP_FIXED,
	                                 at);
}

long __wrap_syscall(long number, ...)
{
	long a[6];
	va_list arguments;
	int is_memory = number == SYS_mprotect || number == SYS_munmap || number == SYS_madvise;

	va_start(arguments, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(arguments, long);
	va_end(arguments);
	if ((is_memory || number == SYS_mmap || number == SYS_mremap) &&
	    ((uintptr_t)a[0] & (page_bytes() - 1)) != 0) {
		errno = EINVAL;
		return -1;
	}
	if (number == SYS_mmap)
		return map(a);
	if (number == SYS_mremap)
		return remap(a);
	if (is_memory)
		a[1] = (long)round_up((uintptr_t)a[1]);
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
