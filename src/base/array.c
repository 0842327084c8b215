/* SPDX-License-Identifier: Apache-2.0 */
/* array - the slow paths of arrays: growth and release. */
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>

bool gg_array_grow(void *items, size_t *capacity, size_t wanted, size_t item_bytes)
{
	size_t grown = *capacity <= SIZE_MAX / 2 ? *capacity * 2 : SIZE_MAX, bytes;
	void *moved;

	/*
	 * Doubling keeps the cost of n additions linear.  A single large request may exceed the
	 * double.
	 */
	if (grown < GG_ARRAY_FIRST_CAPACITY)
		grown = GG_ARRAY_FIRST_CAPACITY;
	if (grown < wanted)
		grown = wanted;
	/* An overflow is an ordinary failure, so the product is not left to reallocarray(). */
	if (__builtin_mul_overflow(grown, item_bytes, &bytes))
		return false;
	moved = realloc(*(void **)items, bytes);
	if (moved == NULL)
		return false;
	*(void **)items = moved;
	*capacity = grown;
	return true;
}

void gg_array_free_items(void *items, size_t *count, size_t *capacity)
{
	free(*(void **)items);
	*(void **)items = NULL;
	*count = *capacity = 0;
}
