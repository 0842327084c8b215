/* SPDX-License-Identifier: Apache-2.0 */
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 256 };

static bool set_capacity(void **items, size_t *capacity, size_t wanted, size_t item_bytes)
{
	void *moved = reallocarray(*items, wanted, item_bytes);

	if (moved == NULL)
		return false;
	*items = moved;
	*capacity = wanted;
	return true;
}

bool gg_grow(void **items, size_t count, size_t *capacity, size_t item_bytes)
{
	return count < *capacity ||
	       set_capacity(items, capacity, *capacity != 0 ? *capacity * 2 : FIRST_CAPACITY,
	                    item_bytes);
}

bool gg_grow_to(void **items, size_t *capacity, size_t index, size_t item_bytes)
{
	size_t before = *capacity, wanted = before != 0 ? before : FIRST_CAPACITY;

	if (index < before)
		return true;
	while (wanted <= index)
		wanted *= 2;
	if (!set_capacity(items, capacity, wanted, item_bytes))
		return false;
	memset((char *)*items + before * item_bytes, 0, (wanted - before) * item_bytes);
	return true;
}
