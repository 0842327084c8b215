/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_ids - the numbers that heaps and types have in the region.
 *
 * A type comes as a text with each sample.  Its number is remembered by a hash of the text (64 bits, of
 * which two texts in 10^6 share one with a probability of 1e-8), in a table of one word a type; what has
 * no place there is looked up in the region each time.
 *
 * Fork     a child's region has the numbers of its parent's.
 * Threads  any: words that say all.
 */
#pragma once

#include <stdint.h>

#include "embed/heap.h"

/* 0: none. */
uint32_t gg_embed_heap_number(struct gg_embed_heap *heap);
uint16_t gg_embed_type_number(const char *type);
