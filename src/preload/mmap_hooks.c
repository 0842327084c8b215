/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mmap_hooks - samples anonymous mappings: mmap(), munmap() and mremap(), with GEIGER_MMAP=1.
 *
 * Each mapping is a sample of a class of its own, with probability 1.  Without GEIGER_MMAP the
 * hooks are jumps to libc.
 *
 * Counted   mappings that the program makes.  Not those of the allocator underneath, whose blocks
 *           count already, and not PROT_NONE, which reserves addresses and no memory.
 * Closed    when the first page of a mapping is unmapped or moved.  A mapping that is cut elsewhere
 *           counts whole until then.
 * Order     as in order.h: an unmapping before the real call, a mapping after it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/compiler.h"
#include "preload/capture.h"
#include "preload/sample.h"
#include "region/writer/record.h"
#include "runtime/modules/module_table.h"
#include "runtime/platform/real_functions.h"
#include "runtime/process.h"

static inline bool is_on(void)
{
	return gg_unlikely(gg_process.options.mappings);
}

/* True if the pc is in the program, and neither in the allocator nor in this library. */
static bool is_from_program(uint64_t pc)
{
	return !gg_capture_is_our_code(pc) &&
	       !gg_module_table_are_one_module(pc, (uint64_t)(uintptr_t)gg_real.malloc);
}

static GG_COLD void *map(void *address, size_t bytes, int protection, int flags, int fd,
                         off_t offset, uint64_t caller)
{
	void *p = gg_real.mmap(address, bytes, protection, flags, fd, offset);

	if (p != MAP_FAILED && (flags & MAP_ANONYMOUS) != 0 && protection != PROT_NONE &&
	    is_from_program(caller))
		gg_sample_mapping(p, bytes);
	return p;
}

/* Finds the mapping that begins there; without one the id is 0. */
static struct gg_region_sample find_mapping(const void *p)
{
	struct gg_region_sample sample;

	if (gg_sample_find(p, &sample) && (sample.flags & GG_REGION_SAMPLE_MAPPING) != 0)
		return sample;
	return (struct gg_region_sample){ 0 };
}

#define MMAP_CALLER ((uint64_t)(uintptr_t)__builtin_return_address(0))

GG_EXPORT void *mmap64(void *address, size_t bytes, int protection, int flags, int fd,
                       off64_t offset)
{
	if (is_on())
		return map(address, bytes, protection, flags, fd, offset, MMAP_CALLER);
	return gg_real.mmap(address, bytes, protection, flags, fd, offset);
}

/* off_t has 64 bits on all processors that geiger supports, so mmap() and mmap64() are the same.
 * <sys/mman.h> may rename one to the other, and only an assembler name tells them apart. */
GG_EXPORT void *mmap_by_its_name(void *address, size_t bytes, int protection, int flags, int fd,
                                 off64_t offset) __asm__("mmap")
	__attribute__((alias("mmap64"), nothrow, leaf));

static GG_COLD int unmap(void *address, size_t bytes)
{
	struct gg_region_sample old = find_mapping(address);
	int status;

	/*
	 * Before the real call, as a free is.  A call that fails has unmapped nothing, so the
	 * mapping is recorded again.
	 */
	if (old.id != 0)
		gg_sample_close(address, old.id);
	status = gg_real.munmap(address, bytes);
	if (status != 0 && old.id != 0)
		gg_sample_mapping(address, old.size_bytes);
	return status;
}

GG_EXPORT int munmap(void *address, size_t bytes)
{
	if (is_on())
		return unmap(address, bytes);
	return gg_real.munmap(address, bytes);
}

static GG_COLD void *remap(void *address, size_t bytes, size_t new_bytes, int flags, void *target)
{
	struct gg_region_sample old = find_mapping(address);
	void *moved = gg_real.mremap(address, bytes, new_bytes, flags, target);

	if (moved != MAP_FAILED && old.id != 0) {
		gg_sample_close(address, old.id);
		gg_sample_mapping(moved, new_bytes);
	}
	return moved;
}

GG_EXPORT void *mremap(void *address, size_t bytes, size_t new_bytes, int flags, ...)
{
	void *target = NULL;
	va_list rest;

	if ((flags & MREMAP_FIXED) != 0) {
		va_start(rest, flags);
		target = va_arg(rest, void *);
		va_end(rest);
	}
	if (is_on())
		return remap(address, bytes, new_bytes, flags, target);
	return gg_real.mremap(address, bytes, new_bytes, flags, target);
}
