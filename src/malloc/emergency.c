/* SPDX-License-Identifier: Apache-2.0 */
/* emergency - mappings that are handed out front to back. */
#include "malloc/emergency.h"

#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "malloc/kernel_memory.h"

enum { MAPPING_BYTES = 128 << 20, GRAIN_BYTES = 16 }; /* serve whatever a run could */

/* Stands before each block. */
struct header {
	size_t bytes;
	size_t unused; /* keeps the block aligned */
};

/* Mappings are made in their order, and stay. */
static struct mapping {
	char *start;    /* NULL: none yet */
	uint64_t state; /* blocks that are live << 32 | bytes that are used */
} mappings[GG_MALLOC_EMERGENCY_MAPPINGS];

static char *get_start(struct mapping *mapping)
{
	/* Acquire: pairs with the compare-and-swap below. */
	char *start = gg_load_acquire(&mapping->start), *expected = NULL;

	if (gg_likely(start != NULL))
		return start;
	start = gg_malloc_map_memory(MAPPING_BYTES, PROT_READ | PROT_WRITE, MAP_NORESERVE);
	if (start == NULL || gg_cas_acq_rel(&mapping->start, &expected, start))
		return start;
	gg_malloc_unmap_memory(start, MAPPING_BYTES);
	return expected;
}

/* The mapping of a block; NULL: it is in none. */
static struct mapping *find(const void *p)
{
	for (size_t i = 0; i < GG_MALLOC_EMERGENCY_MAPPINGS; i++) {
		const char *start = gg_load_acquire(&mappings[i].start);

		if (gg_likely(start == NULL))
			break;
		if ((uintptr_t)p - (uintptr_t)start < MAPPING_BYTES)
			return &mappings[i];
	}
	return NULL;
}

/* Returns NULL if the rest of the mapping is too short. */
static void *take(struct mapping *mapping, const char *start, size_t bytes, size_t alignment_bytes)
{
	uint64_t old = gg_load_relaxed(&mapping->state);
	uintptr_t p;
	size_t end;

	do {
		p = (uintptr_t)start + (uint32_t)old + sizeof(struct header);
		p = (p + alignment_bytes - 1) & ~(uintptr_t)(alignment_bytes - 1);
		end = p - (uintptr_t)start + bytes;
		if (end > MAPPING_BYTES)
			return NULL;
		/* Acquire: pairs with the release of the last block that was freed. */
	} while (!gg_cas_acq_rel(&mapping->state, &old, ((old >> 32) + 1) << 32 | end));
	((struct header *)p)[-1].bytes = bytes; /* NOLINT */
	return (void *)p;                       /* NOLINT */
}

void *gg_malloc_emergency_alloc(size_t bytes, size_t alignment_bytes)
{
	if (bytes > MAPPING_BYTES / 2 || alignment_bytes > MAPPING_BYTES / 4)
		return NULL;
	if (alignment_bytes < GRAIN_BYTES)
		alignment_bytes = GRAIN_BYTES;
	bytes = (bytes + GRAIN_BYTES) & ~(size_t)(GRAIN_BYTES - 1); /* never 0 */
	for (size_t i = 0; i < GG_MALLOC_EMERGENCY_MAPPINGS; i++) {
		char *start = get_start(&mappings[i]);
		void *p = start != NULL ? take(&mappings[i], start, bytes, alignment_bytes) : NULL;

		if (p != NULL || start == NULL)
			return p;
	}
	return NULL;
}

size_t gg_malloc_emergency_size(const void *p)
{
	return find(p) != NULL ? ((const struct header *)p)[-1].bytes : 0;
}

bool gg_malloc_emergency_free(void *p)
{
	struct mapping *mapping = find(p);
	uint64_t old, new;

	if (gg_likely(mapping == NULL))
		return false;
	old = gg_load_relaxed(&mapping->state);
	do
		new = old >> 32 == 1 ? 0 : old - (UINT64_C(1) << 32);
	while (!gg_cas_acq_rel(&mapping->state, &old, new));
	return true;
}
