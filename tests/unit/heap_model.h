/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_model - a plain model of the heaps of a heap_child, which decides page by page who holds it.
 *
 *   struct model model;
 *
 *   model_open(&model, &child);
 *   shares = share_all(&model);
 *   model_close(&model);
 *
 * The model walks through /proc/PID/mem.  Chunks that the child lists as freed to fast bins are
 * free, and neighboring free chunks are one.
 */
#pragma once

#include <fcntl.h>

#include "base/array.h"
#include "heap_child.h"

#define MIB               ((size_t)1 << 20)
#define ARENA_HEAP_BYTES  (64 * MIB)
#define FIRST_CHUNK_BYTES 0x8d0 /* from the begin of an arena's first heap, in glibc 2.35 to 2.42 */
#define NEXT_CHUNK_BYTES  0x30  /* from the begin of its other heaps */

struct extent {
	uint64_t begin, end;
	bool is_used, is_top;
};

struct model {
	int memory, pages;
	uint64_t page_bytes;
	GG_ARRAY(struct extent) extents; /* of one heap after the other */
	double pinned_bytes;             /* of all pages that something holds */
	int64_t resident_bytes, returnable_bytes, fast_bytes;
};

static inline uint64_t word_at(const struct model *model, uint64_t address)
{
	uint64_t word = 0;

	REQUIRE(pread(model->memory, &word, sizeof(word), (off_t)address) == sizeof(word));
	return word;
}

static inline bool is_resident(const struct model *model, uint64_t page)
{
	uint64_t word = 0;

	REQUIRE(pread(model->pages, &word, sizeof(word), (off_t)(page * sizeof(word))) ==
	        sizeof(word));
	return word >> 63 != 0;
}

static inline void add_extent(struct model *model, uint64_t begin, uint64_t end, bool is_used,
                              bool is_top)
{
	REQUIRE(gg_array_push(&model->extents, (struct extent){ begin, end, is_used, is_top }));
}

/* Adds the chunks of the heap [begin, end), whose first chunk is at `chunk`. */
static inline void add_heap(struct model *model, uint64_t begin, uint64_t chunk, uint64_t end)
{
	add_extent(model, begin, chunk + 8, true, false);
	while (chunk < end) {
		uint64_t bytes = word_at(model, chunk + 8) & ~(uint64_t)7;
		bool is_top = chunk + bytes == end;
		bool is_mark = bytes <= 16;
		bool is_used = !is_top && (is_mark || (word_at(model, chunk + bytes + 8) & 1) != 0);

		if (bytes == 0)
			bytes = 16;
		add_extent(model, chunk + 8, chunk + bytes == end ? end : chunk + bytes + 8,
		           is_used, is_top);
		chunk += bytes;
	}
	REQUIRE(chunk == end);
}

/* Free bytes of an extent on one page, in equal shares of the neighbours that hold the page. */
static inline void share_page(struct model *model, size_t at, uint64_t page, double *ret_before,
                              double *ret_after)
{
	const struct extent *gap = &model->extents.items[at];
	uint64_t begin = page * model->page_bytes, end = begin + model->page_bytes;
	uint64_t low = begin > gap->begin ? begin : gap->begin;
	uint64_t high = end < gap->end ? end : gap->end;
	bool has_before = gap[-1].end - 1 >= begin;
	bool has_after = !gap->is_top && gap[1].begin < end;
	double bytes = is_resident(model, page) ? (double)(high - low) : 0;

	*ret_before += has_before ? bytes / (has_before + has_after) : 0;
	*ret_after += has_after ? bytes / (has_before + has_after) : 0;
	if (!has_before && !has_after)
		model->returnable_bytes += (int64_t)bytes;
}

struct shares {
	double pinned_bytes;
	int64_t returnable_bytes;
};

/* Shares out all gaps; returns one item for each extent. */
static inline struct shares *share_all(struct model *model)
{
	struct shares *shares = calloc(model->extents.count + 1, sizeof(*shares));

	REQUIRE(shares != NULL);
	for (size_t i = 0; i < model->extents.count; i++) {
		const struct extent *extent = &model->extents.items[i];
		int64_t returnable_bytes = model->returnable_bytes;
		double before = 0, after = 0;

		for (uint64_t page = extent->begin / model->page_bytes;
		     !extent->is_used && page <= (extent->end - 1) / model->page_bytes; page++)
			share_page(model, i, page, &before, &after);
		if (extent->is_used)
			continue;
		shares[i - 1].pinned_bytes += before;
		shares[i + 1].pinned_bytes += after;
		model->pinned_bytes += before + after;
		if (!extent->is_top)
			shares[i - 1].returnable_bytes = model->returnable_bytes - returnable_bytes;
	}
	return shares;
}

/* Adds [heap] and the heaps of arenas that hold blocks of the list. */
static inline void add_heaps(struct model *model, const struct heap_list *list, const char *smaps)
{
	uint64_t begin = 0, end = 0;
	GG_ARRAY(uint64_t) arenas = { 0 };

	/* After a fork the kernel lists [heap] in parts. */
	for (const char *name = smaps; (name = strstr(name, "[heap]")) != NULL; name++) {
		const char *line = name;
		uint64_t part;

		while (line > smaps && line[-1] != '\n')
			line--;
		REQUIRE(sscanf(line, "%" SCNx64 "-%" SCNx64, &part, &end) == 2);
		begin = begin == 0 ? part : begin;
	}
	add_heap(model, begin, begin, end);
	for (size_t i = 0; i < list->count; i++) {
		uint64_t address = list->places[i].address,
			 heap = address & ~(ARENA_HEAP_BYTES - 1);
		bool is_known = false;

		if ((word_at(model, address - 8) & 4) == 0)
			continue;
		for (size_t at = 0; at < arenas.count; at++)
			is_known |= arenas.items[at] == heap;
		if (is_known)
			continue;
		REQUIRE(gg_array_push(&arenas, heap));
		add_heap(model, heap,
		         heap + (word_at(model, heap) - heap < 100 ? FIRST_CHUNK_BYTES
		                                                   : NEXT_CHUNK_BYTES),
		         heap + word_at(model, heap + 16));
	}
	gg_array_done(&arenas);
}

static inline int compare_extents(const void *left, const void *right)
{
	const struct extent *first = left, *second = right;

	return first->begin < second->begin ? -1 : first->begin > second->begin;
}

/* Returns the extent of a chunk in use at the address; NULL: the block has a mapping of its own. */
static inline const struct extent *find_extent(const struct model *model, uint64_t address)
{
	const struct extent key = { .begin = address - 8 };

	return bsearch(&key, model->extents.items, model->extents.count, sizeof(key),
	               compare_extents);
}

/* Makes the chunks free that the child freed to fast bins. */
static inline void free_fast(struct model *model, const struct heap_list *list)
{
	for (size_t i = 0; i < list->fast_count; i++) {
		struct extent *extent = (struct extent *)find_extent(model, list->fast[i]);

		REQUIRE(extent != NULL && extent->is_used);
		extent->is_used = false;
		model->fast_bytes += (int64_t)(extent->end - extent->begin);
	}
}

/* Joins free extents that follow each other. */
static inline void merge_free(struct model *model)
{
	struct extent *extents = model->extents.items;
	size_t kept = 0;

	for (size_t i = 0; i < model->extents.count; i++) {
		struct extent *last = &extents[kept > 0 ? kept - 1 : 0];

		if (kept > 0 && !last->is_used && !extents[i].is_used && !last->is_top &&
		    last->end == extents[i].begin) {
			last->end = extents[i].end;
			last->is_top = extents[i].is_top;
		} else {
			extents[kept++] = extents[i];
		}
	}
	model->extents.count = kept;
}

static inline void model_open(struct model *model, const struct heap_child *child)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)child->pid);
	model->memory = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)child->pid);
	model->pages = open(path, O_RDONLY | O_CLOEXEC);
	model->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	REQUIRE(model->memory >= 0 && model->pages >= 0);
	read_smaps(child->pid, &text);
	add_heaps(model, child->list, gg_buf_text(&text));
	qsort(model->extents.items, model->extents.count, sizeof(struct extent), compare_extents);
	free_fast(model, child->list);
	merge_free(model);
}

static inline void model_close(struct model *model)
{
	gg_array_done(&model->extents);
	close(model->memory);
	close(model->pages);
}

static inline int64_t resident_in_model(const struct model *model)
{
	int64_t sum = 0;

	for (size_t i = 0; i < model->extents.count; i++) {
		const struct extent *extent = &model->extents.items[i];

		for (uint64_t at = extent->begin; at < extent->end;) {
			uint64_t next = (at / model->page_bytes + 1) * model->page_bytes;

			next = next < extent->end ? next : extent->end;
			if (is_resident(model, at / model->page_bytes))
				sum += (int64_t)(next - at);
			at = next;
		}
	}
	return sum;
}
