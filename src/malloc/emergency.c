/* SPDX-License-Identifier: Apache-2.0 */
/* emergency - a mapping that is handed out front to back. */
#include "malloc/emergency.h"

#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "malloc/kernel_memory.h"

enum { MAPPING_BYTES = 64 << 20, GRAIN_BYTES = 16 };

/* Stands before each block. */
struct header {
	size_t bytes;
	size_t unused; /* keeps the block aligned */
};

static char *mapping;  /* NULL: none yet */
static uint64_t state; /* blocks that are live << 32 | bytes that are used */

static char *get_mapping(void)
{
	/* Acquire: pairs with the compare-and-swap below. */
	char *start = gg_load_acquire(&mapping), *expected = NULL;

	if (gg_likely(start != NULL))
		return start;
	start = gg_malloc_map_memory(MAPPING_BYTES, PROT_READ | PROT_WRITE, MAP_NORESERVE);
	if (start == NULL || gg_cas_acq_rel(&mapping, &expected, start))
		return start;
	gg_malloc_unmap_memory(start, MAPPING_BYTES);
	return expected;
}

static bool has(const void *p)
{
	const char *start = gg_load_acquire(&mapping);

	return start != NULL && (uintptr_t)p - (uintptr_t)start < MAPPING_BYTES;
}

void *gg_malloc_emergency_alloc(size_t bytes, size_t alignment_bytes)
{
	char *start = get_mapping();
	uint64_t old = gg_load_relaxed(&state);
	uintptr_t p;
	size_t end;

	if (start == NULL || bytes > MAPPING_BYTES || alignment_bytes > MAPPING_BYTES)
		return NULL;
	if (alignment_bytes < GRAIN_BYTES)
		alignment_bytes = GRAIN_BYTES;
	bytes = (bytes + GRAIN_BYTES) & ~(size_t)(GRAIN_BYTES - 1); /* never 0 */
	do {
		p = (uintptr_t)start + (uint32_t)old + sizeof(struct header);
		p = (p + alignment_bytes - 1) & ~(uintptr_t)(alignment_bytes - 1);
		end = p - (uintptr_t)start + bytes;
		if (end > MAPPING_BYTES)
			return NULL;
		/* Acquire: pairs with the release of the last block that was freed. */
	} while (!gg_cas_acq_rel(&state, &old, ((old >> 32) + 1) << 32 | end));
	((struct header *)p)[-1].bytes = bytes; /* NOLINT */
	return (void *)p;                       /* NOLINT */
}

size_t gg_malloc_emergency_size(const void *p)
{
	return has(p) ? ((const struct header *)p)[-1].bytes : 0;
}

bool gg_malloc_emergency_free(void *p)
{
	uint64_t old = gg_load_relaxed(&state), new;

	if (gg_likely(!has(p)))
		return false;
	do
		new = old >> 32 == 1 ? 0 : old - (UINT64_C(1) << 32);
	while (!gg_cas_acq_rel(&state, &old, new));
	return true;
}
