/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc_heap - finds the heaps of arenas by their headers (look/glibc_heap.h).
 */
#include "record/look/glibc_heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/binary_search.h"

/* The first words of an arena's heap.  Releases before 2.35 have no page size here. */
struct heap_header {
	uint64_t arena, previous_heap;
	uint64_t size_bytes, writable_bytes;
};

enum {
	READ_RANGES_MAX = 1024,
	RANGE_BYTES_MAX = 1024, /* a longer copy costs more than a second range */
};

/* Reads the header at `begin`; false: it is not resident, or it changed its mapping meanwhile. */
static int read_header(struct gg_residency *residency, uint64_t begin, struct heap_header *header)
{
	const struct gg_memory_range range = { begin, sizeof(*header), header };
	ssize_t got;

	if (!gg_residency_has(residency, begin))
		return 0;
	got = residency->source->read_ranges(residency->source->context, &range, 1);
	return (int)got;
}

/*
 * Whether a heap with this header can lie at `begin`, where nothing else begins before `limit`.  It
 * may have grown since the mappings were read.
 */
static bool is_heap(const struct heap_header *header, uint64_t begin, uint64_t limit,
                    uint64_t page_bytes)
{
	return header->arena != 0 && header->arena % GG_GLIBC_HEAD_BYTES == 0 &&
	       header->previous_heap % GG_GLIBC_HEAP_MAX_BYTES == 0 &&
	       header->size_bytes >= page_bytes && header->size_bytes % page_bytes == 0 &&
	       header->size_bytes <= header->writable_bytes &&
	       header->writable_bytes % page_bytes == 0 &&
	       header->writable_bytes <= GG_GLIBC_HEAP_MAX_BYTES &&
	       header->writable_bytes <= limit - begin;
}

/* Adds the heaps that begin in a writable area; the next one begins at `limit`. */
static int find_in_area(struct gg_glibc_heaps *heaps, const struct gg_memory_area *area,
                        uint64_t limit, struct gg_residency *residency)
{
	const uint64_t step = GG_GLIBC_HEAP_MAX_BYTES;
	uint64_t skipped = (step - area->begin % step) % step;

	for (uint64_t at = skipped; at < area->end - area->begin; at += step) {
		uint64_t begin = area->begin + at;
		struct heap_header header = { 0 };
		int status = read_header(residency, begin, &header);

		if (status < 0)
			return status;
		if (status == 0 || !is_heap(&header, begin, limit, residency->page_bytes))
			continue;
		if (!gg_array_push(&heaps->items,
		                   (struct gg_glibc_heap){ .begin = begin,
		                                           .end = begin + header.size_bytes,
		                                           .arena = header.arena }))
			return -ENOMEM;
	}
	return 0;
}

/* The first heap of an arena has the arena's state right behind its own header. */
static bool is_first(const struct gg_glibc_heap *heap)
{
	return heap->arena > heap->begin && heap->arena - heap->begin <= 64;
}

/* Drops heaps whose arena lies in none of them: they are memory that looked like a heap. */
static void drop_strangers(struct gg_glibc_heaps *heaps)
{
	size_t kept = 0;

	for (size_t i = 0; i < heaps->items.count; i++) {
		struct gg_glibc_heap heap = heaps->items.items[i];
		const struct gg_glibc_heap *first = heap.arena == 0
		                                            ? NULL
		                                            : gg_glibc_heaps_at(heaps, heap.arena);

		heap.is_stranger = heap.arena != 0 && (first == NULL || !is_first(first) ||
		                                       first->arena != heap.arena);
		heaps->items.items[i] = heap;
	}
	for (size_t i = 0; i < heaps->items.count; i++)
		if (!heaps->items.items[i].is_stranger)
			heaps->items.items[kept++] = heaps->items.items[i];
	heaps->items.count = kept;
}

/* The address from which another area may lie in the way of a heap. */
static uint64_t limit_of(const struct gg_memory_map *map, size_t area)
{
	do
		area++;
	while (area < map->areas.count && !map->areas.items[area].is_writable);
	return area < map->areas.count ? map->areas.items[area].begin : UINT64_MAX;
}

int gg_glibc_heaps_find(struct gg_glibc_heaps *heaps, const struct gg_memory_map *map,
                        struct gg_residency *residency)
{
	for (size_t i = 0; i < map->areas.count; i++) {
		const struct gg_memory_area *area = &map->areas.items[i];
		int status = 0;

		if (!area->is_writable)
			continue;
		if (!area->is_brk)
			status = find_in_area(heaps, area, limit_of(map, i), residency);
		else if (!gg_array_push(&heaps->items, (struct gg_glibc_heap){ .begin = area->begin,
		                                                               .end = area->end }))
			status = -ENOMEM;
		if (status < 0)
			return status;
	}
	drop_strangers(heaps);
	return 0;
}

const struct gg_glibc_heap *gg_glibc_heaps_at(const struct gg_glibc_heaps *heaps, uint64_t address)
{
	size_t at = gg_lower_bound(0, heaps->items.count, i, heaps->items.items[i].end <= address);

	return at < heaps->items.count && heaps->items.items[at].begin <= address
	               ? &heaps->items.items[at]
	               : NULL;
}

void gg_glibc_heaps_done(struct gg_glibc_heaps *heaps)
{
	gg_array_done(&heaps->items);
}

/* Ranges for one system call, each of which holds heads that lie close together. */
struct head_batch {
	struct gg_memory_range ranges[READ_RANGES_MAX];
	size_t firsts[READ_RANGES_MAX + 1]; /* request of each range; those up to the next one */
	size_t count;
	unsigned char (*bytes)[RANGE_BYTES_MAX];
};

/* Adds a request to the last range if it lies close behind, or begins another one. */
static void add_request(struct head_batch *batch, const struct gg_glibc_head_request *requests,
                        size_t at, uint64_t page_bytes)
{
	struct gg_memory_range *last = &batch->ranges[batch->count > 0 ? batch->count - 1 : 0];
	const uint64_t chunk = requests[at].chunk;

	if (batch->count > 0 && chunk >= last->address &&
	    chunk / page_bytes == last->address / page_bytes &&
	    chunk - last->address <= RANGE_BYTES_MAX - GG_GLIBC_HEAD_BYTES) {
		size_t bytes = chunk - last->address + GG_GLIBC_HEAD_BYTES;

		last->bytes = bytes > last->bytes ? bytes : last->bytes;
	} else {
		batch->firsts[batch->count] = at;
		batch->ranges[batch->count] = (struct gg_memory_range){
			chunk, GG_GLIBC_HEAD_BYTES, batch->bytes[batch->count]
		};
		batch->count++;
	}
}

/* Gives the heads of a range, which was read, to those who want them. */
static void hand_out(const struct head_batch *batch, size_t range,
                     struct gg_glibc_head_request *requests)
{
	for (size_t i = batch->firsts[range]; i < batch->firsts[range + 1]; i++) {
		if (!requests[i].is_wanted)
			continue;
		memcpy(requests[i].ret_head,
		       batch->bytes[range] + (requests[i].chunk - batch->ranges[range].address),
		       GG_GLIBC_HEAD_BYTES);
		requests[i].is_read = true;
	}
}

/* Reads the batch past ranges that fail; its requests end before `end`. */
static int read_batch(struct head_batch *batch, const struct gg_memory_source *source,
                      struct gg_glibc_head_request *requests, size_t end)
{
	batch->firsts[batch->count] = end;
	for (size_t done = 0; done < batch->count; done++) {
		ssize_t got = source->read_ranges(source->context, batch->ranges + done,
		                                  batch->count - done);

		if (got < 0)
			return (int)got;
		for (ssize_t i = 0; i < got; i++)
			hand_out(batch, done++, requests);
	}
	batch->count = 0;
	return 0;
}

int gg_glibc_read_heads(struct gg_residency *residency, struct gg_glibc_head_request *requests,
                        size_t count)
{
	struct head_batch *batch = malloc(sizeof(*batch));
	int status = 0;

	if (batch == NULL)
		return -ENOMEM;
	batch->count = 0;
	batch->bytes = malloc(READ_RANGES_MAX * sizeof(*batch->bytes));
	if (batch->bytes == NULL)
		status = -ENOMEM;
	for (size_t i = 0; i < count && status == 0; i++) {
		struct gg_glibc_head_request *request = &requests[i];

		request->is_read = false;
		request->is_wanted = request->chunk % GG_GLIBC_HEAD_BYTES == 0 &&
		                     gg_residency_has(residency, request->chunk);
		if (request->is_wanted && batch->count == READ_RANGES_MAX)
			status = read_batch(batch, residency->source, requests, i);
		if (request->is_wanted && status == 0)
			add_request(batch, requests, i, residency->page_bytes);
	}
	if (status == 0)
		status = read_batch(batch, residency->source, requests, count);
	free(batch->bytes);
	free(batch);
	return status;
}
