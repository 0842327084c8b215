/* SPDX-License-Identifier: Apache-2.0 */
/* name_ids - looks numbers up in the region, and caches those of types. */
#include "embed/name_ids.h"

#include <string.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/hash.h"
#include "embed/counts.h"
#include "embed/sampling_settings.h"

enum {
	KNOWN_TYPES = 4096, /* a power of two */
	NUMBER_BITS = 16,
	TYPE_BYTES_MAX = 1024 /* longer names are cut */
};

/*
 * 48 bits of the hash, and 16 of the number.  The hash includes the generation of the recording,
 * because another region may give a type another number.
 */
static uint64_t known_types[KNOWN_TYPES];

uint32_t gg_embed_heap_number(struct gg_embed_heap *heap)
{
	uint32_t number = gg_load_relaxed(&heap->number), first = 0;

	if (gg_likely(number != 0))
		return number;
	number = gg_embed_agent()->name(GG_TABLE_HEAPS, heap->name, heap->name_bytes);
	if (number == 0) {
		gg_embed_count(GG_EMBED_NAMES_DROPPED);
		return 0;
	}
	/*
	 * Two threads may ask at once and get two numbers.  The first one stays, because the keys
	 * of objects contain it.
	 */
	return gg_cas_acq_rel(&heap->number, &first, number) ? number : first;
}

uint16_t gg_embed_type_number(const char *type)
{
	size_t bytes = type != NULL ? strnlen(type, TYPE_BYTES_MAX) : 0;
	uint64_t hash, *place, known;
	uint32_t number;

	if (bytes == 0)
		return 0;
	hash = gg_hash_bytes(type, bytes, gg_load_relaxed(&gg_embed_settings.generation));
	place = &known_types[hash % KNOWN_TYPES];
	known = gg_load_relaxed(place);
	if (gg_likely(known >> NUMBER_BITS == hash >> NUMBER_BITS))
		return (uint16_t)known;
	number = gg_embed_agent()->name(GG_TABLE_TYPES, type, bytes);
	if (number == 0) {
		gg_embed_count(GG_EMBED_NAMES_DROPPED);
		return 0;
	}
	gg_store_relaxed(place, hash >> NUMBER_BITS << NUMBER_BITS | number);
	return (uint16_t)number;
}
