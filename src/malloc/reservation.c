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
	TABLE_SLICES = 8192,       /* whose entries are a page of 64 KiB */
	SLOT_SHARE = 16,           /* one slice in so many is for sampled slots */
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

static char *slice_start(size_t slice)
{
	return (char *)gg_malloc_map.base + (slice << GG_MALLOC_SLICE_SHIFT); /* NOLINT */
}

static struct gg_malloc_reservation describe(size_t bytes, size_t open_count, bool is_limited)
{
	size_t slice_max = bytes >> GG_MALLOC_SLICE_SHIFT;

	return (struct gg_malloc_reservation){
		.slice_max = slice_max,
		.slots_max = slice_max / SLOT_SHARE,
		.open_count = open_count,
		.is_limited = is_limited,
		.slot_table_end = slice_max / SLOT_SHARE,
		.table_end = slice_max,
	};
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
	*ret_reservation = describe(bytes, OPEN_SLICES_LIMITED, true);
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
	*ret_reservation = describe(bytes, OPEN_SLICES, false);
	return true;
}

/* Maps tables that were given back, as far as a slice. */
static bool extend_tables(struct gg_malloc_reservation *reservation, size_t end)
{
	size_t first = reservation->table_end, count;

	end = (end + TABLE_SLICES - 1) & ~(size_t)(TABLE_SLICES - 1);
	end = end < reservation->slice_max ? end : reservation->slice_max;
	count = end - first;
	if (!gg_malloc_map_memory_at(&gg_malloc_map.slabs[first],
	                             count * sizeof(gg_malloc_map.slabs[0])))
		return false;
	if (!gg_malloc_map_memory_at(&gg_malloc_map.entries[first],
	                             count * sizeof(gg_malloc_map.entries[0]))) {
		gg_malloc_unmap_memory(&gg_malloc_map.slabs[first],
		                       count * sizeof(gg_malloc_map.slabs[0]));
		return false;
	}
	reservation->table_end = end;
	return true;
}

bool gg_malloc_open_slices(struct gg_malloc_reservation *reservation, size_t first, size_t count)
{
	size_t bytes = count << GG_MALLOC_SLICE_SHIFT;

	if (gg_unlikely(first + count > reservation->table_end) &&
	    !extend_tables(reservation, first + count))
		return false;
	return make_writable(&gg_malloc_map.slabs[first], &gg_malloc_map.slabs[first + count]) &&
	       make_writable(&gg_malloc_map.entries[first],
	                     &gg_malloc_map.entries[first + count]) &&
	       (reservation->is_limited ? gg_malloc_map_memory_at(slice_start(first), bytes)
	                                : gg_malloc_make_writable(slice_start(first), bytes));
}

/* Gives the addresses of [first, end) back. */
static bool unmap_slices(size_t first, size_t end)
{
	return first >= end ||
	       gg_malloc_try_unmap(slice_start(first), (end - first) << GG_MALLOC_SLICE_SHIFT);
}

/* True if the kernel maps from the top down: the next mapping is above the middle of a hole. */
static bool maps_above(size_t first, size_t end)
{
	char *p = gg_malloc_map_memory(gg_malloc_page_bytes, PROT_NONE, MAP_NORESERVE);

	if (p != NULL)
		gg_malloc_unmap_memory(p, gg_malloc_page_bytes);
	return p != NULL && p >= slice_start(first + (end - first) / 2);
}

/* Unmaps the closed slices for runs.  False: they stay reserved. */
static bool unmap_closed(struct gg_malloc_reservation *reservation, size_t slices_end)
{
	size_t end = reservation->slice_max;
	char *start = slice_start(slices_end);

	/* First, because free() may ask at any time who has an address. */
	gg_store_relaxed(&reservation->is_limited, true);
	if (unmap_slices(slices_end, end) &&
	    (maps_above(slices_end, end) ||
	     !gg_malloc_reserve_at(start, (end - slices_end) << GG_MALLOC_SLICE_SHIFT)))
		return true;
	gg_store_relaxed(&reservation->is_limited, false);
	return false;
}

/*
 * Unmaps the slabs from a slice on, up to *end, and moves *end.  Returns how many: 0 if the kernel
 * refuses, for it would split a mapping of a process that has all that it may have.
 */
static size_t unmap_slabs(size_t first, size_t *end)
{
	size_t count;

	first = (first + TABLE_SLICES - 1) & ~(size_t)(TABLE_SLICES - 1);
	if (first >= *end || *end % TABLE_SLICES != 0)
		return 0;
	count = *end - first;
	if (!gg_malloc_try_unmap(&gg_malloc_map.slabs[first],
	                         count * sizeof(gg_malloc_map.slabs[0])))
		return 0;
	*end = first;
	return count;
}

bool gg_malloc_reservation_exceeds(const struct gg_malloc_reservation *reservation,
                                   size_t limit_bytes)
{
	return limit_bytes >> GG_MALLOC_SLICE_SHIFT < 2 * reservation->slice_max;
}

void gg_malloc_release_reservation(struct gg_malloc_reservation *reservation, size_t limit_bytes,
                                   size_t slots_end, size_t slices_end)
{
	size_t limit_slices = limit_bytes >> GG_MALLOC_SLICE_SHIFT, count;

	if (!reservation->is_limited) {
		if (!unmap_closed(reservation, slices_end))
			return;
		reservation->open_count = OPEN_SLICES_LIMITED;
		/* If these stay, no slots are opened any more, and further samples are dropped. */
		unmap_slices(slots_end, reservation->slots_max);
	}
	/* The entries of slots stay, because free() reads those of all slices below the limit. */
	unmap_slabs(slots_end + limit_slices / SLOT_SHARE, &reservation->slot_table_end);
	count = unmap_slabs(slices_end + limit_slices, &reservation->table_end);
	if (count > 0)
		gg_malloc_try_unmap(&gg_malloc_map.entries[reservation->table_end],
		                    count * sizeof(gg_malloc_map.entries[0]));
}
