/* SPDX-License-Identifier: Apache-2.0 */
#include "space.h"

#include <sys/mman.h>

enum { CHUNK_BYTES = 1 << 20 };

void *space_map(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	                    0);

	if (memory == MAP_FAILED)
		heap_out_of_memory(bytes);
	return memory;
}

static struct chunk *add_chunk(struct space *space, size_t bytes)
{
	size_t chunk_bytes = CHUNK_BYTES;
	struct chunk *chunk;

	if (bytes > chunk_bytes - sizeof(*chunk))
		chunk_bytes = sizeof(*chunk) + bytes;
	chunk = space_map(chunk_bytes);
	*chunk = (struct chunk){ .free = chunk->memory, .end = (char *)chunk + chunk_bytes };
	if (space->last == NULL)
		space->first = chunk;
	else
		space->last->next = chunk;
	space->last = chunk;
	return chunk;
}

void *space_allocate(struct space *space, size_t bytes)
{
	struct chunk *chunk = space->last;
	char *object;

	if (chunk == NULL || bytes > (size_t)(chunk->end - chunk->free))
		chunk = add_chunk(space, bytes);
	object = chunk->free;
	chunk->free += bytes;
	space->bytes += bytes;
	return object;
}

void space_release(struct space *space)
{
	for (struct chunk *chunk = space->first, *next; chunk != NULL; chunk = next) {
		next = chunk->next;
		munmap(chunk, (size_t)(chunk->end - (char *)chunk));
	}
	*space = (struct space){ 0 };
}

void heap_count_old(const struct heap *heap, struct heap_count counts[TYPE_COUNT])
{
	memset(counts, 0, TYPE_COUNT * sizeof(counts[0]));
	for (const struct chunk *chunk = heap->old.first; chunk != NULL; chunk = chunk->next) {
		const char *p = chunk->memory;

		while (p < chunk->free) {
			const struct object *object = (const struct object *)p;

			counts[object_type(object)].objects++;
			counts[object_type(object)].bytes += object_bytes(object);
			p += object_bytes(object);
		}
	}
}
