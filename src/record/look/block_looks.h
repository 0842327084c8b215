/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_looks - the memory in and around chosen live blocks of a running process.
 *
 *   struct gg_block_looks looks;
 *   const struct gg_block_looks_options options = { .map = &map, .budget_ns = budget };
 *
 *   status = gg_block_looks_take(&looks, pid, places, place_count, &options, error);
 *   for (size_t i = 0; i < looks.blocks.count; i++)
 *           ... looks.blocks.items[i].pinned_bytes ...
 *   gg_block_looks_done(&looks);
 *
 * The reader works from outside: it never stops the process and takes no lock in it.  Every block
 * gets the resident and swapped bytes of its usable bytes.  Blocks of an allocator whose layout is
 * known get the free memory around them as well; others have -1 there, and `reason` says why.
 *
 * Hostile  the process may write anything into its memory, and does so meanwhile.  No number read
 *          from it is trusted; blocks whose surroundings contradict themselves are torn.
 * Threads  any; one call at a time for each struct.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/records.h"
#include "record/look/block_place.h"
#include "record/look/look_moments.h"
#include "record/look/memory_map.h"
#include "record/look/process_memory.h"

struct gg_block_looks_options {
	const struct gg_memory_map *map; /* of the process, just read */
	uint64_t budget_ns;              /* processor time that the look may use; 0: no limit */
	/*
	 * Processor time that a walk through the whole heap may use beside budget_ns; 0: a walk
	 * takes place only if it fits into what is left of budget_ns.
	 */
	uint64_t heap_walk_budget_ns;
	double heap_walk_ns_per_byte;          /* processor time of earlier walks; 0: unknown */
	const struct gg_look_moments *moments; /* NULL: the process is stopped, or idle */
};

/* A walk through the whole heap of glibc, and its cost. */
struct gg_heap_walk {
	uint64_t heap_bytes;   /* to walk; 0: there is no such heap, or it cannot be walked */
	uint64_t walked_bytes; /* fewer than heap_bytes: the budget was too small */
	uint64_t cost_ns;      /* processor time */
};

/* A block that was freed after its residency was read. */
struct gg_gone_block {
	size_t place; /* its index */
	int64_t resident_bytes;
};

struct gg_block_looks {
	/* One for each place that is neither torn nor gone, in their order; .look is 0. */
	GG_ARRAY(struct gg_profile_look_block) blocks;
	GG_ARRAY(struct gg_profile_look_total) totals; /* .look is 0; names are constants */
	struct gg_heap_walk heap_walk;
	int64_t torn_count;
	int64_t gone_count;                  /* blocks that were freed meanwhile */
	GG_ARRAY(struct gg_gone_block) gone; /* those of them whose residency is known */
	const char *allocator; /* "glibc", "jemalloc" ..., a constant; NULL: unknown */
	const char *reason;    /* why no pinned memory was seen, a constant; NULL: it was */
	uint64_t search_ns;    /* processor time of the search for mapped chunks */
};

/*
 * Looks at the blocks.  Returns 0, or a negative errno value with `error` filled and *ret
 * untouched: -ESRCH and -ENOENT if the process is gone, -EACCES or -EPERM if the caller may not
 * read /proc/PID/pagemap.  The caller calls gg_block_looks_done() after success.
 */
int gg_block_looks_take(struct gg_block_looks *ret, pid_t pid, const struct gg_block_place *places,
                        size_t place_count, const struct gg_block_looks_options *options,
                        struct gg_error *error);

/* Looks at a made-up image, for tests.  Returns 0 or a negative errno value, as above. */
int gg_block_looks_from(struct gg_block_looks *ret, const struct gg_memory_source *source,
                        const struct gg_block_place *places, size_t place_count,
                        const struct gg_block_looks_options *options);

/*
 * Returns the processor time that a walk through so many bytes takes, by a guess that is seldom too
 * low.  ns_per_byte is that of earlier walks; 0: unknown.
 */
uint64_t gg_heap_walk_guess_ns(uint64_t heap_bytes, double ns_per_byte);

void gg_block_looks_done(struct gg_block_looks *looks);
