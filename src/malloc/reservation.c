/* SPDX-License-Identifier: Apache-2.0 */
/* reservation - reserves address space, or chooses addresses, and opens slices. */
#include "malloc/reservation.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include "base/compiler.h"
#include "malloc/kernel_memory.h"
#include "malloc/slab.h"

enum {
	OPEN_SLICES = 4096,        /* 64 MiB: few system calls */
	OPEN_SLICES_LIMITED = 256, /* 4 MiB */
};
#define BYTES_MIN ((size_t)64 << 20)
#define BYTES     ((size_t)64 << 30)
#define BYTES_MAX ((size_t)8 << 40)
#define ALIGNMENT ((size_t)2 << 20)

_Static_assert(sizeof(struct gg_malloc_slab) == 128, "two cache lines");

static void *align(void *p, size_t bytes)
{
	return (void *)(((uintptr_t)p + bytes - 1) & ~(uintptr_t)(bytes - 1)); /* NOLINT */
}

static bool make_writable(void *start, void *end)
{
	char *first = (char *)((uintptr_t)start &
	                       ~(uintptr_t)(gg_malloc_page_bytes - 1)); /* NOLINT */

	return gg_malloc_make_writable(first, (size_t)((char *)end - first));
}

/* The address space that the process may have; SIZE_MAX: any. */
static size_t address_space_limit(void)
{
	int saved_errno = errno;
	struct rlimit64 limit;
	bool is_known = syscall(SYS_prlimit64, 0, RLIMIT_AS, NULL, &limit) == 0;

	errno = saved_errno;
	return is_known && limit.rlim_cur < SIZE_MAX ? limit.rlim_cur : SIZE_MAX;
}

/* Bytes of slices that suffice for the machine. */
static size_t bytes_wanted(void)
{
	size_t bytes = BYTES, memory;
	struct sysinfo machine;

	/* Not sysconf(), which opens files in some versions of libc. */
	memory = sysinfo(&machine) == 0 ? (size_t)machine.totalram * machine.mem_unit : 0;
	while (bytes < 4 * memory && bytes < BYTES_MAX)
		bytes *= 2;
	return bytes;
}

/* Maps the tables, with so many bytes behind them. */
static char *map_tables(size_t slices, size_t bytes_behind)
{
	size_t slab_bytes = slices * sizeof(struct gg_malloc_slab);
	size_t entry_bytes = slices * sizeof(struct gg_malloc_slab *);
	size_t bytes = slab_bytes + entry_bytes + bytes_behind;
	char *p = gg_malloc_map_memory(bytes, PROT_NONE, MAP_NORESERVE);

	if (p == NULL)
		return NULL;
	/* free() reads the entry of any slice below the limit. */
	if (!gg_malloc_make_readable(p + slab_bytes, entry_bytes)) {
		gg_malloc_unmap_memory(p, bytes);
		return NULL;
	}
	gg_malloc_map.slabs = (struct gg_malloc_slab *)p;
	gg_malloc_map.entries = (struct gg_malloc_slab **)(p + slab_bytes);
	return p + slab_bytes + entry_bytes;
}

/* Only tables.  The kernel maps from the top down, and programs are loaded near the top. */
static bool reserve_limited(size_t limit_bytes, struct gg_malloc_reservation *ret_reservation)
{
	size_t bytes = BYTES_MIN;
	char *behind;

	while (bytes < limit_bytes)
		bytes *= 2;
	behind = map_tables(bytes >> GG_MALLOC_SLICE_SHIFT, 0);
	if (behind == NULL)
		return false;
	gg_malloc_map.base = (uintptr_t)behind / 2 & ~(uintptr_t)(ALIGNMENT - 1);
	*ret_reservation = (struct gg_malloc_reservation){
		.slice_max = bytes >> GG_MALLOC_SLICE_SHIFT,
		.open_count = OPEN_SLICES_LIMITED,
		.is_limited = true,
	};
	return true;
}

bool gg_malloc_reserve(struct gg_malloc_reservation *ret_reservation)
{
	size_t bytes = bytes_wanted(), limit_bytes = address_space_limit();
	char *behind;

	if (limit_bytes < 2 * bytes && reserve_limited(limit_bytes, ret_reservation))
		return true;
	for (;; bytes /= 2) {
		behind = map_tables(bytes >> GG_MALLOC_SLICE_SHIFT, bytes + ALIGNMENT);
		if (behind != NULL)
			break;
		if (bytes <= BYTES_MIN)
			return false;
	}
	gg_malloc_map.base = (uintptr_t)align(behind, ALIGNMENT);
	*ret_reservation = (struct gg_malloc_reservation){
		.slice_max = bytes >> GG_MALLOC_SLICE_SHIFT,
		.open_count = OPEN_SLICES,
	};
	return true;
}

bool gg_malloc_open_slices(const struct gg_malloc_reservation *reservation, size_t first,
                           size_t count)
{
	char *start = (char *)gg_malloc_map.base + (first << GG_MALLOC_SLICE_SHIFT); /* NOLINT */
	size_t bytes = count << GG_MALLOC_SLICE_SHIFT;

	return make_writable(&gg_malloc_map.slabs[first], &gg_malloc_map.slabs[first + count]) &&
	       make_writable(&gg_malloc_map.entries[first],
	                     &gg_malloc_map.entries[first + count]) &&
	       (reservation->is_limited ? gg_malloc_map_memory_at(start, bytes)
	                                : gg_malloc_make_writable(start, bytes));
}
