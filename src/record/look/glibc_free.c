/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc_free - divides a gap at the borders of its pages (look/glibc_free.h).
 */
#include "record/look/glibc_free.h"

enum {
	/* malloc_trim() keeps a chunk's head and four links, and 33 bytes or more of the top. */
	TRIM_KEEPS_BYTES = 48,
	TRIM_KEEPS_TOP_BYTES = 33,
};

static uint64_t round_down(const struct gg_residency *residency, uint64_t address)
{
	return address / residency->page_bytes * residency->page_bytes;
}

static uint64_t round_up(const struct gg_residency *residency, uint64_t address)
{
	return round_down(residency, address + residency->page_bytes - 1);
}

/* Adds the resident bytes of [begin, end) to a sum; nothing if the range is empty. */
static int add(int64_t *sum, struct gg_residency *residency, uint64_t begin, uint64_t end)
{
	struct gg_residency_counts counts = { 0 };
	int status = begin < end ? gg_residency_count(residency, begin, end, &counts) : 0;

	*sum += counts.resident_bytes;
	return status;
}

static int count_top(struct gg_glibc_free_sums *ret, const struct gg_glibc_free *gap,
                     struct gg_residency *residency)
{
	const uint64_t begin = gap->begin + GG_GLIBC_WORD_BYTES, end = gap->end;
	const uint64_t first = round_up(residency, begin) < end ? round_up(residency, begin) : end;
	const uint64_t bytes = end - gap->begin;
	int status = add(&ret->pinned_bytes, residency, begin, first);

	if (status == 0)
		status = add(&ret->top_bytes, residency, first, end);
	ret->returnable_bytes = ret->top_bytes;
	/* Trimming shrinks the main arena only. */
	if (status == 0 && gap->heap->arena == 0 && bytes > TRIM_KEEPS_TOP_BYTES)
		status = add(&ret->trimmable_bytes, residency,
		             end - round_down(residency, bytes - TRIM_KEEPS_TOP_BYTES), end);
	return status;
}

int gg_glibc_free_count(struct gg_glibc_free_sums *ret, const struct gg_glibc_free *gap,
                        struct gg_residency *residency)
{
	const uint64_t begin = gap->begin + GG_GLIBC_WORD_BYTES;
	const uint64_t end = gap->end + GG_GLIBC_WORD_BYTES;
	const uint64_t first = round_up(residency, begin), last = round_down(residency, end);
	int status;

	*ret = (struct gg_glibc_free_sums){ 0 };
	if (gap->is_top)
		return count_top(ret, gap, residency);
	if (first >= last) /* no whole page; first == last: two pages, each with a neighbor */
		return add(&ret->pinned_bytes, residency, begin, end);
	status = add(&ret->pinned_bytes, residency, begin, first);
	if (status == 0)
		status = add(&ret->returnable_bytes, residency, first, last);
	if (status == 0)
		status = add(&ret->pinned_bytes, residency, last, end);
	if (status == 0)
		status = add(&ret->trimmable_bytes, residency,
		             round_up(residency, gap->begin + TRIM_KEEPS_BYTES), last);
	return status;
}
