/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_pools - finds the pools of Python's allocator for small objects in another process.
 *
 *   struct gg_python_pools pools;
 *
 *   status = gg_python_pools_find(&pools, &map, &residency, deadline_ns);
 *   if (status == 0 && pools.is_known)
 *           ... pools.resident_bytes ...
 *
 * Python divides mappings of its own, its arenas, into pools of 4 or 16 KiB.  A pool has blocks of
 * one size, 512 bytes at most, behind a header that repeats this size in three ways: as a class, in
 * the offset of the last block, and in the offset of the next block that was never used.  So no
 * other memory looks like a pool.
 *
 * Cost     some 100 ns for each resident page of writable anonymous memory outside of pools.
 * Hostile  no pool leads out of its mapping, and the search goes forward only.
 * Threads  one owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/look/memory_map.h"
#include "record/look/residency.h"

struct gg_python_pools {
	bool is_known; /* false: the search gave up */
	int64_t resident_bytes;
	int64_t free_bytes; /* free blocks of pools, resident or not; at most resident_bytes */
};

/*
 * Returns 0, or a negative errno value if memory is out or the process may not be read.  The search
 * gives up when this thread's processor time passes deadline_ns; 0: it has no deadline.
 */
int gg_python_pools_find(struct gg_python_pools *ret, const struct gg_memory_map *map,
                         struct gg_residency *residency, uint64_t deadline_ns);
