/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look_moments - what a caller does at moments inside of a look, while the process runs on.
 *
 * A look takes a while, and reads one thing after the other.  The caller compares the live samples
 * at these moments, and so finds out what changed meanwhile.  Any function may be NULL.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct gg_look_moments {
	void *context;
	/*
	 * The kernel has just written the list of mappings with their resident bytes.  It counts
	 * one page after the other, from began_ns to ended_ns (CLOCK_MONOTONIC).  If the function
	 * returns true, the look reads the list again.
	 */
	bool (*mappings_read)(void *context, uint64_t began_ns, uint64_t ended_ns);
	/*
	 * The residency of blocks was read.  The function sets is_gone[i] if the block of place i
	 * was freed since the places were collected.  NULL: as far as the look knows, all blocks
	 * that are gone later were gone by then.
	 */
	void (*residency_read)(void *context, bool *is_gone);
	/*
	 * The memory around blocks was read.  The function sets is_gone[i] as above.
	 */
	void (*blocks_read)(void *context, bool *is_gone);
	/*
	 * The heap was walked through.  The function returns the most bytes of blocks that the
	 * process allocated or freed since blocks_read(); 0: the heap is as it was.
	 */
	int64_t (*heap_walked)(void *context);
};
