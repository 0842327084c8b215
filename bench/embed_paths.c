/* SPDX-License-Identifier: Apache-2.0 */
#include "embed_paths.h"

#include <geiger/geiger.h>

#include "bench.h"

#ifndef PATHS_NAME /* the build says which of the two it is */
#define PATHS_NAME(name) sampled_##name
#endif

void PATHS_NAME(bump)(struct geiger_bump *bump, char *block, size_t block_bytes, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		size_t bytes = embed_sizes[i % EMBED_SIZES];
		void *object = geiger_bump_alloc(bump, bytes, "object");

		if (object == NULL) {
			geiger_bump_refill(bump, block, block + block_bytes);
			object = geiger_bump_alloc(bump, bytes, "object");
		}
		bench_keep(object);
	}
}

enum { CLASSES = 17 };

struct slot {
	struct slot *next;
};

static struct slot *free_slots[CLASSES];
static char memory[CLASSES][256];

__attribute__((noinline)) static void *take(uint32_t heap, size_t bytes)
{
	size_t class = bytes / 16;
	struct slot *slot = free_slots[class];

	if (slot == NULL)
		slot = (struct slot *)(void *)memory[class];
	else
		free_slots[class] = slot->next;
	if (geiger_due(bytes))
		return geiger_allocated(heap, slot, bytes, "object");
	return slot;
}

__attribute__((noinline)) static void give_back(void *object, size_t bytes)
{
	struct slot *slot = object;

	slot->next = free_slots[bytes / 16];
	free_slots[bytes / 16] = slot;
}

void PATHS_NAME(pool)(uint32_t heap, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		size_t bytes = embed_sizes[i % EMBED_SIZES];
		void *object = take(heap, bytes);

		bench_keep(object);
		give_back(object, bytes);
	}
}

void PATHS_NAME(due)(uint32_t heap, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		size_t bytes = embed_sizes[i % EMBED_SIZES];

		if (geiger_due(bytes))
			geiger_allocated(heap, memory, bytes, "object");
		bench_keep(bytes);
	}
}
