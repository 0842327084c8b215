/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array - typed arrays on the heap that grow, for the host side.
 *
 *   GG_ARRAY(struct row) rows = { 0 };
 *
 *   if (!gg_array_push(&rows, (struct row){ .bytes = 64 }))
 *           return -ENOMEM;
 *   for (size_t i = 0; i < rows.count; i++)
 *           total += rows.items[i].bytes;
 *   gg_array_done(&rows);
 *
 * An all-zero array is empty and valid. Code reads and writes `items[0..count)` directly and may
 * lower `count`. Pointers to items are valid until the array grows. The macros evaluate the array
 * expression more than once, so it must have no side effects.
 *
 * Invariant  count <= capacity; `items` is NULL exactly if capacity is 0.
 * Growth     capacities double, from GG_ARRAY_FIRST_CAPACITY on, so n additions move fewer than
 *            2 n items. A size in bytes that does not fit in size_t counts as lack of memory.
 * Failure    a function that grows an array returns false or NULL and leaves the array as it was.
 * Threads    one owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/assert.h"
#include "base/compiler.h"

enum { GG_ARRAY_FIRST_CAPACITY = 16 };

/* The struct is anonymous, so the array of each type is a type of its own. */
#define GG_ARRAY(type)                  \
	struct {                        \
		type *items;            \
		size_t count, capacity; \
	}

/* Makes room for `wanted` items in all. The first additions after it cannot fail. */
#define gg_array_reserve(array, wanted)                                                  \
	gg_array_has_room(&(array)->items, (array)->count, &(array)->capacity, (wanted), \
	                  sizeof(*(array)->items))

/* Appends a value. Returns true, or false if memory is out. The value may be a compound literal. */
#define gg_array_push(array, ...)                         \
	(gg_array_reserve((array), (array)->count + 1) && \
	 ((array)->items[(array)->count++] = (__VA_ARGS__), true))

/* Appends an all-zero item and returns a pointer to it, or NULL if memory is out. */
#define gg_array_add(array) \
	(gg_array_extend((array), (array)->count + 1) ? &(array)->items[(array)->count - 1] : NULL)

/* Raises `count` to `wanted` (a lower `wanted` changes nothing); the new items are all-zero. */
#define gg_array_extend(array, wanted)                                                         \
	((wanted) <= (array)->count ||                                                         \
	 gg_array_extend_items(&(array)->items, &(array)->count, &(array)->capacity, (wanted), \
	                       sizeof(*(array)->items)) != NULL)

/* Frees the items; the array is empty and may be used again. */
#define gg_array_done(array) \
	gg_array_free_items(&(array)->items, &(array)->count, &(array)->capacity)

/* --- functions behind the macros; `items` points to the array's pointer --------------------- */

GG_COLD bool gg_array_grow(void *items, size_t *capacity, size_t wanted, size_t item_bytes);
void gg_array_free_items(void *items, size_t *count, size_t *capacity);

static inline bool gg_array_has_room(void *items, size_t count, size_t *capacity, size_t wanted,
                                     size_t item_bytes)
{
	gg_assert(count <= *capacity);
	return gg_likely(wanted <= *capacity) || gg_array_grow(items, capacity, wanted, item_bytes);
}

/* Zeroes the items between *count and `wanted`, which is larger. Returns the first new item. */
static inline void *gg_array_extend_items(void *items, size_t *count, size_t *capacity,
                                          size_t wanted, size_t item_bytes)
{
	size_t first = *count;
	char *bytes;

	if (!gg_array_has_room(items, first, capacity, wanted, item_bytes))
		return NULL;
	bytes = *(char **)items + first * item_bytes;
	*count = wanted;
	return memset(bytes, 0, (wanted - first) * item_bytes);
}
