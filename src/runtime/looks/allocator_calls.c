/* SPDX-License-Identifier: Apache-2.0 */
/* allocator_calls - calls the functions of allocator_functions.h. */
#include "runtime/looks/allocator_calls.h"

#include "base/compiler.h"
#include "runtime/platform/allocator_functions.h"

enum { MIB_MOST = 6, UNRESOLVED = 0 };

/* A name of jemalloc's, resolved to numbers. */
struct mib {
	size_t words[MIB_MOST];
	size_t count; /* UNRESOLVED: this jemalloc does not have the name */
};

/* 4096 stands for the sum over all arenas. */
static const struct {
	const char *name;
	enum gg_region_allocator_total total;
} jemalloc_names[] = {
	{ "stats.allocated", GG_ALLOCATOR_TOTAL_JEMALLOC_ALLOCATED },
	{ "stats.active", GG_ALLOCATOR_TOTAL_JEMALLOC_ACTIVE },
	{ "stats.metadata", GG_ALLOCATOR_TOTAL_JEMALLOC_METADATA },
	{ "stats.resident", GG_ALLOCATOR_TOTAL_JEMALLOC_RESIDENT },
	{ "stats.mapped", GG_ALLOCATOR_TOTAL_JEMALLOC_MAPPED },
	{ "stats.retained", GG_ALLOCATOR_TOTAL_JEMALLOC_RETAINED },
	{ "stats.arenas.4096.tcache_bytes", GG_ALLOCATOR_TOTAL_JEMALLOC_CACHED },
};

static const struct {
	const char *name;
	enum gg_region_allocator_total total;
} tcmalloc_names[] = {
	{ "generic.current_allocated_bytes", GG_ALLOCATOR_TOTAL_TCMALLOC_IN_USE },
	{ "tcmalloc.pageheap_free_bytes", GG_ALLOCATOR_TOTAL_TCMALLOC_PAGEHEAP_FREE },
	{ "tcmalloc.pageheap_unmapped_bytes", GG_ALLOCATOR_TOTAL_TCMALLOC_UNMAPPED },
	{ "tcmalloc.central_cache_free_bytes", GG_ALLOCATOR_TOTAL_TCMALLOC_CENTRAL_FREE },
	{ "tcmalloc.transfer_cache_free_bytes", GG_ALLOCATOR_TOTAL_TCMALLOC_TRANSFER_FREE },
	{ "tcmalloc.thread_cache_free_bytes", GG_ALLOCATOR_TOTAL_TCMALLOC_THREAD_FREE },
};

static struct mib epoch, batch_query, jemalloc_mibs[GG_COUNT(jemalloc_names)];
static size_t jemalloc_page_bytes; /* 0: unknown */
static bool is_prepared;

static void resolve(const char *name, struct mib *ret)
{
	ret->count = MIB_MOST;
	if (gg_allocator_functions.mallctlnametomib(name, ret->words, &ret->count) != 0)
		ret->count = UNRESOLVED;
}

void gg_allocator_calls_prepare(void)
{
	size_t bytes = sizeof(jemalloc_page_bytes);
	struct mib page;

	if (is_prepared)
		return;
	is_prepared = true;
	if (gg_allocator_functions.allocator != GG_REGION_ALLOCATOR_JEMALLOC)
		return;
	resolve("epoch", &epoch);
	resolve("experimental.utilization.batch_query", &batch_query);
	for (size_t i = 0; i < GG_COUNT(jemalloc_names); i++)
		resolve(jemalloc_names[i].name, &jemalloc_mibs[i]);
	resolve("arenas.page", &page);
	if (page.count == UNRESOLVED ||
	    gg_allocator_functions.mallctlbymib(page.words, page.count, &jemalloc_page_bytes,
	                                        &bytes, NULL, 0) != 0)
		jemalloc_page_bytes = 0;
}

/* jemalloc's numbers are those of the moment at which the epoch was last written. */
static void read_jemalloc(uint64_t totals[])
{
	const struct gg_allocator_functions *functions = &gg_allocator_functions;
	uint64_t next = 1;
	size_t value = 0, bytes = sizeof(value);

	if (epoch.count == UNRESOLVED ||
	    functions->mallctlbymib(epoch.words, epoch.count, NULL, NULL, &next, sizeof(next)) != 0)
		return;
	for (size_t i = 0; i < GG_COUNT(jemalloc_names); i++) {
		const struct mib *mib = &jemalloc_mibs[i];

		if (mib->count != UNRESOLVED &&
		    functions->mallctlbymib(mib->words, mib->count, &value, &bytes, NULL, 0) == 0)
			totals[jemalloc_names[i].total] = value;
	}
}

static void read_tcmalloc(uint64_t totals[])
{
	size_t value = 0;

	for (size_t i = 0; i < GG_COUNT(tcmalloc_names); i++)
		if (gg_allocator_functions.get_numeric_property(tcmalloc_names[i].name, &value) !=
		    0)
			totals[tcmalloc_names[i].total] = value;
}

static void read_mimalloc(uint64_t totals[])
{
	size_t ignored[7], commit_bytes = 0;

	gg_allocator_functions.mi_process_info(&ignored[0], &ignored[1], &ignored[2], &ignored[3],
	                                       &ignored[4], &commit_bytes, &ignored[5],
	                                       &ignored[6]);
	totals[GG_ALLOCATOR_TOTAL_MIMALLOC_COMMITTED] = commit_bytes;
}

void gg_allocator_calls_totals(uint64_t totals[GG_ALLOCATOR_TOTAL_CAPACITY])
{
	switch (gg_allocator_functions.allocator) {
	case GG_REGION_ALLOCATOR_JEMALLOC:
		read_jemalloc(totals);
		break;
	case GG_REGION_ALLOCATOR_TCMALLOC:
		read_tcmalloc(totals);
		break;
	case GG_REGION_ALLOCATOR_MIMALLOC:
		read_mimalloc(totals);
		break;
	case GG_REGION_ALLOCATOR_GEIGER:
		gg_allocator_functions.own_totals(&totals[GG_ALLOCATOR_TOTAL_GEIGER_ALLOCATED],
		                                  &totals[GG_ALLOCATOR_TOTAL_GEIGER_ACTIVE]);
		break;
	case GG_REGION_ALLOCATOR_UNKNOWN:
		break;
	}
}

bool gg_allocator_calls_has_slabs(void)
{
	return batch_query.count != UNRESOLVED || gg_allocator_functions.own_slab != NULL;
}

bool gg_allocator_calls_slabs(const void *const *blocks, size_t count,
                              struct gg_allocator_slab *ret_slabs)
{
	size_t bytes = count * sizeof(*ret_slabs);
	uint64_t address;

	if (gg_allocator_functions.own_slab != NULL) {
		for (size_t i = 0; i < count; i++)
			gg_allocator_functions.own_slab(blocks[i], &ret_slabs[i].free_count,
			                                &ret_slabs[i].region_count,
			                                &ret_slabs[i].bytes, &address);
		return true;
	}
	return gg_allocator_functions.mallctlbymib(batch_query.words, batch_query.count, ret_slabs,
	                                           &bytes, blocks, count * sizeof(*blocks)) == 0;
}

/* The inverse of an odd number modulo 2^64.  Each step doubles the number of right bits, from 3. */
static uint64_t invert(uint64_t odd)
{
	uint64_t inverse = odd;

	for (int bits = 3; bits < 64; bits *= 2)
		inverse *= 2 - odd * inverse;
	return inverse;
}

/*
 * jemalloc makes a slab of the least number of pages that regions of one size fill without a rest:
 * n regions, and n is a power of two.  The offsets of the n regions differ modulo a page.  So the
 * place of a block in its page tells which region it is.
 */
uint64_t gg_allocator_calls_slab_address(const void *block, const struct gg_allocator_slab *slab)
{
	uint64_t address = (uintptr_t)block, page = jemalloc_page_bytes, own_address;
	struct gg_allocator_slab own;
	uint64_t size = slab->region_count > 0 ? slab->bytes / slab->region_count : 0;
	uint64_t even = size & -size; /* the largest power of two that divides the size */

	if (gg_allocator_functions.own_slab != NULL) {
		gg_allocator_functions.own_slab(block, &own.free_count, &own.region_count,
		                                &own.bytes, &own_address);
		/* Another slab, if the block was freed meanwhile. */
		return own.bytes == slab->bytes ? own_address : 0;
	}
	if (page == 0 || (page & (page - 1)) != 0 || size == 0)
		return 0;
	even = even < page ? even : page;
	if (slab->region_count != page / even || size * slab->region_count != slab->bytes ||
	    address % even != 0)
		return 0;
	return address - (address / even * invert(size / even) & (slab->region_count - 1)) * size;
}
