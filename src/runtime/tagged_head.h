/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tagged_head - a page's address and a count of changes, in one word: the head of a list that threads
 * push to and pop from without locks.  The count keeps a thread which slept while the list changed
 * from taking its old state for the new (ABA).
 *
 * Addresses of user space have up to 48 bits on aarch64 (47 on x86-64), 52 where a program asks for
 * them, and those of pages end in 12 zero bits: 40 bits matter, and the count has the other 24.
 */
#pragma once

#include <stdint.h>

enum { GG_TAGGED_HEAD_PAGE_SHIFT = 12, GG_TAGGED_HEAD_COUNT_SHIFT = 40 };

static inline void *gg_tagged_head_address(uint64_t head)
{
	uint64_t page = head & ((UINT64_C(1) << GG_TAGGED_HEAD_COUNT_SHIFT) - 1);

	return (void *)(uintptr_t)(page << GG_TAGGED_HEAD_PAGE_SHIFT);
}

/* The head that follows another one. */
static inline uint64_t gg_tagged_head_next(uint64_t before, const void *page)
{
	return ((before >> GG_TAGGED_HEAD_COUNT_SHIFT) + 1) << GG_TAGGED_HEAD_COUNT_SHIFT |
	       (uint64_t)(uintptr_t)page >> GG_TAGGED_HEAD_PAGE_SHIFT;
}
