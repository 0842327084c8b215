/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grow - arrays on the heap that get longer.  Both return false, and leave all as it was, without memory.
 *
 *   if (!gg_grow((void **)&items, item_count, &item_capacity, sizeof(*items)))
 *           return out_of_memory();
 *   items[item_count++] = item;
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Room for one more than count.  What is new is not set. */
bool gg_grow(void **items, size_t count, size_t *capacity, size_t item_bytes);

/* Room for items[index].  What is new is zero. */
bool gg_grow_to(void **items, size_t *capacity, size_t index, size_t item_bytes);
