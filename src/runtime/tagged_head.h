/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tagged_head - the head of a lock-free list: the address of a page and a count of changes in one
 * word.
 *
 * A thread may read the head, sleep while others pop and push the same page, and then compare: the
 * address alone would be equal although the list has changed (ABA).  The count differs.
 *
 * User space addresses have up to 47 bits on x86-64 and 48 on aarch64, or 52 if a program asks for
 * them.  The last 12 bits of a page's address are zero, so 40 bits hold any page, and 24 are left
 * for the count.
 */
#pragma once

#include <stdint.h>

enum { GG_TAGGED_HEAD_PAGE_SHIFT = 12, GG_TAGGED_HEAD_COUNT_SHIFT = 40 };

static inline void *gg_tagged_head_address(uint64_t head)
{
	uint64_t page = head & ((UINT64_C(1) << GG_TAGGED_HEAD_COUNT_SHIFT) - 1);

	return (void *)(uintptr_t)(page << GG_TAGGED_HEAD_PAGE_SHIFT);
}

/* The head after `before`: another first page, and the next count. */
static inline uint64_t gg_tagged_head_next(uint64_t before, const void *page)
{
	return ((before >> GG_TAGGED_HEAD_COUNT_SHIFT) + 1) << GG_TAGGED_HEAD_COUNT_SHIFT |
	       (uint64_t)(uintptr_t)page >> GG_TAGGED_HEAD_PAGE_SHIFT;
}
