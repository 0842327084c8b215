/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_ids - the numbers of heaps and types in the region.
 *
 * Each sample comes with the text of its type.  A table of one word for each type caches its number
 * by a hash of the text.  The hash has 64 bits, so among 10^6 texts two collide with a probability
 * of 1e-8. Types that are not cached are looked up in the region each time.
 *
 * Fork     A child's region has the numbers of its parent's.
 * Threads  any; each word is complete by itself.
 */
#pragma once

#include <stdint.h>

#include "embed/heap.h"

/* 0: none. */
uint32_t gg_embed_heap_number(struct gg_embed_heap *heap);
uint16_t gg_embed_type_number(const char *type);
