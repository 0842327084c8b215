/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytes_in_use - calls the function of whichever allocator is underneath.
 *
 * glibc's count has the heads of blocks in it, and blocks that wait in thread caches.  mimalloc
 * states committed memory only, which is another thing.
 */
#include "preload/attach/bytes_in_use.h"

#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "runtime/platform/allocator_functions.h"
#include "runtime/platform/elf_lookup.h"

/* The result of mallinfo2(), as glibc 2.33 and later declare it. */
struct heap_info {
	size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks;
	size_t keepcost;
};

typedef struct heap_info read_heap(void);

static struct gg_bytes_in_use unknown(void)
{
	return (struct gg_bytes_in_use){ GG_REGION_OLDER_UNKNOWN_BYTES, GG_REGION_IN_USE_UNKNOWN };
}

static struct gg_bytes_in_use stated(size_t bytes, enum gg_region_in_use_source source)
{
	return bytes <= INT64_MAX ? (struct gg_bytes_in_use){ (int64_t)bytes, source } : unknown();
}

/* glibc has both functions in one object; another allocator may have a mallinfo2() of its own. */
static struct gg_bytes_in_use read_glibc(void)
{
	struct gg_elf_lookup malloc_symbol, start_symbol, symbol;
	struct gg_elf_lookup_tables libc;
	struct heap_info info;

	if (!gg_elf_lookup_find_next("malloc", &malloc_symbol) ||
	    !gg_elf_lookup_find_next("__libc_start_main", &start_symbol) ||
	    malloc_symbol.map != start_symbol.map ||
	    !gg_elf_lookup_tables(malloc_symbol.map, &libc) ||
	    !gg_elf_lookup_find(&libc, "mallinfo2", &symbol))
		return unknown();
	info = ((read_heap *)symbol.address)();
	return stated(info.uordblks + info.hblkhd, GG_REGION_IN_USE_GLIBC);
}

/* jemalloc's numbers are those of the moment at which the epoch was last written. */
static struct gg_bytes_in_use read_jemalloc(void)
{
	const struct gg_allocator_functions *functions = &gg_allocator_functions;
	size_t epoch[4], allocated[4], epoch_count = GG_COUNT(epoch);
	size_t allocated_count = GG_COUNT(allocated), value = 0, bytes = sizeof(value);
	uint64_t next = 1;

	if (functions->mallctlnametomib("epoch", epoch, &epoch_count) != 0 ||
	    functions->mallctlnametomib("stats.allocated", allocated, &allocated_count) != 0 ||
	    functions->mallctlbymib(epoch, epoch_count, NULL, NULL, &next, sizeof(next)) != 0 ||
	    functions->mallctlbymib(allocated, allocated_count, &value, &bytes, NULL, 0) != 0)
		return unknown();
	return stated(value, GG_REGION_IN_USE_JEMALLOC);
}

static struct gg_bytes_in_use read_tcmalloc(void)
{
	size_t value = 0;

	if (gg_allocator_functions.get_numeric_property("generic.current_allocated_bytes",
	                                                &value) == 0)
		return unknown();
	return stated(value, GG_REGION_IN_USE_TCMALLOC);
}

struct gg_bytes_in_use gg_bytes_in_use_read(void)
{
	switch (gg_allocator_functions.allocator) {
	case GG_REGION_ALLOCATOR_JEMALLOC:
		return read_jemalloc();
	case GG_REGION_ALLOCATOR_TCMALLOC:
		return read_tcmalloc();
	case GG_REGION_ALLOCATOR_MIMALLOC:
	case GG_REGION_ALLOCATOR_GEIGER:
		return unknown();
	default:
		return read_glibc();
	}
}
