/* SPDX-License-Identifier: Apache-2.0 */
/* purge - the clock and the allowance. */
#include "malloc/purge.h"

#include <time.h>

#include "malloc/block_class.h"

enum {
	ALLOWED_SLICES = 1024, /* 16 MiB */
	ALLOWED_SHARE = 4,     /* of the memory in use */
	LIMIT_SHARE = 32,      /* of a control group's limit */
	LEAST_SLICES = 16,     /* worth a system call */
	KEPT_SLICES = 2048,    /* 32 MiB */
};

uint32_t gg_malloc_purge_delay_ms = GG_MALLOC_PURGE_DELAY_MS;
size_t gg_malloc_purge_limit_bytes = SIZE_MAX;

uint32_t gg_malloc_purge_clock_ms(void)
{
	struct timespec now = { 0 };

	/* The coarse clock is right to 10 ms, and costs no more than reading memory. */
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint32_t)((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000);
}

static size_t least(size_t one, size_t other)
{
	return one < other ? one : other;
}

size_t gg_malloc_purge_allowance(size_t slices_in_use)
{
	size_t allowed = ALLOWED_SLICES + slices_in_use / ALLOWED_SHARE, limit, room;

	if (gg_malloc_purge_limit_bytes == SIZE_MAX)
		return allowed;
	/* The last eighth below the limit is left to the program's other memory. */
	limit = gg_malloc_purge_limit_bytes >> GG_MALLOC_SLICE_SHIFT;
	room = limit - limit / 8 > slices_in_use ? limit - limit / 8 - slices_in_use : 0;
	allowed = least(allowed, least(limit / LIMIT_SHARE, room));
	return allowed > LEAST_SLICES ? allowed : LEAST_SLICES;
}

size_t gg_malloc_purge_buffer_allowance(size_t slices_in_use)
{
	size_t allowed = gg_malloc_purge_allowance(slices_in_use);

	return gg_malloc_purge_limit_bytes == SIZE_MAX ? allowed + slices_in_use / ALLOWED_SHARE
	                                               : allowed;
}

size_t gg_malloc_purge_kept_slices(void)
{
	size_t limit = gg_malloc_purge_limit_bytes >> GG_MALLOC_SLICE_SHIFT;

	return least(KEPT_SLICES, limit / LIMIT_SHARE);
}
