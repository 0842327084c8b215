/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_slabs - the exact truth about the free memory of jemalloc's slabs, from inside.
 *
 * jemalloc tells for any address how many regions its slab has, how many are free, and its bytes.
 * The slab of a block begins at a page from which whole regions lead to the block, and all of its
 * pages give the same answer.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "keeper.h"

enum { SLAB_PAGE = 4096 };

typedef int mallctl_function(const char *, void *, size_t *, void *, size_t);

/* As jemalloc gives it. */
struct slab {
	size_t free_count, region_count, bytes;
};

static mallctl_function *find_mallctl(void)
{
	return (mallctl_function *)dlsym(RTLD_DEFAULT, "mallctl");
}

static void call(const char *name)
{
	if (find_mallctl()(name, NULL, NULL, NULL, 0) != 0)
		abort();
}

static struct slab slab_of(const void *address)
{
	struct slab slab = { 0 };
	size_t bytes = sizeof(slab);

	if (find_mallctl()("experimental.utilization.batch_query", &slab, &bytes, &address,
	                   sizeof(address)) != 0)
		abort();
	return slab;
}

static bool is_one_slab(uintptr_t begin, const struct slab *slab)
{
	for (uintptr_t page = begin; page < begin + slab->bytes; page += SLAB_PAGE) {
		struct slab other = slab_of((const void *)page);

		if (other.bytes != slab->bytes || other.region_count != slab->region_count ||
		    other.free_count != slab->free_count)
			return false;
	}
	return true;
}

/* Finds the beginning of the slab in which the block lies. */
static uintptr_t begin_of(const char *block, const struct slab *slab)
{
	uintptr_t address = (uintptr_t)block, page = address - address % SLAB_PAGE, found = 0;
	size_t region_bytes = slab->bytes / slab->region_count;

	for (uintptr_t at = page; at + slab->bytes > address; at -= SLAB_PAGE) {
		if ((address - at) % region_bytes != 0 || !is_one_slab(at, slab))
			continue;
		if (found != 0)
			abort(); /* two places fit the block */
		found = at;
	}
	if (found == 0)
		abort();
	return found;
}

static size_t resident_bytes(int pagemap, uintptr_t begin, size_t bytes)
{
	size_t resident = 0;

	for (uintptr_t page = begin; page < begin + bytes; page += SLAB_PAGE) {
		uint64_t entry = 0;

		if (pread(pagemap, &entry, sizeof(entry),
		          (off_t)(page / SLAB_PAGE * sizeof(entry))) != (ssize_t)sizeof(entry))
			abort();
		resident += (entry >> 63) * SLAB_PAGE;
	}
	return resident;
}

bool keeper_has_slabs(void)
{
	return find_mallctl() != NULL;
}

void keeper_trim_slabs(void)
{
	call("thread.tcache.flush");
	call("arena.4096.purge"); /* of all arenas */
}

/* All listed blocks are touched, so what is not resident of a slab is free. */
void keeper_walk_slabs(struct keeper *keeper)
{
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	call("thread.tcache.flush");
	keeper->truth = (struct keeper_truth){ 0 };
	for (size_t i = 0; i < keeper->count; i++) {
		struct keeper_block *block = &keeper->blocks[i];
		struct slab slab;
		size_t free_bytes, absent_bytes;

		block->pinned_bytes = 0;
		if (block->address == NULL)
			continue;
		slab = slab_of(block->address);
		if (slab.region_count <= 1)
			continue;
		free_bytes = slab.bytes / slab.region_count * slab.free_count;
		absent_bytes = slab.bytes -
		               resident_bytes(pagemap, begin_of(block->address, &slab), slab.bytes);
		if (absent_bytes > free_bytes)
			abort();
		block->pinned_bytes = (double)(free_bytes - absent_bytes) /
		                      (double)(slab.region_count - slab.free_count);
		keeper->truth.pinned_bytes += (size_t)block->pinned_bytes;
	}
	close(pagemap);
}
