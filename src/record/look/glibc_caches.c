/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc_caches - recognizes the tables of threads' caches (look/glibc_caches.h).
 */
#include "record/look/glibc_caches.h"

enum {
	TABLE_CHUNK_BYTES = 0x290,
	TABLES_MAX = 1 << 16, /* one for each thread, and blocks that look alike */
};

/* Bytes of the chunks in a list. */
static uint64_t list_chunk_bytes(size_t list)
{
	return (list + 2) * GG_GLIBC_HEAD_BYTES;
}

void gg_glibc_caches_take(struct gg_glibc_caches *caches, struct gg_heap_window *window,
                          uint64_t chunk, uint64_t bytes, uint64_t end)
{
	struct gg_glibc_cache table;
	size_t used = 0;

	if (bytes != TABLE_CHUNK_BYTES || caches->tables.count >= TABLES_MAX ||
	    !gg_heap_window_read(window, chunk + GG_GLIBC_HEAD_BYTES, end, &table, sizeof(table)))
		return;
	for (size_t i = 0; i < GG_GLIBC_CACHE_LISTS; i++) {
		if ((table.counts[i] == 0) != (table.blocks[i] == 0) ||
		    table.blocks[i] % GG_GLIBC_HEAD_BYTES != 0)
			return;
		used += table.counts[i] != 0;
	}
	/* Without memory for it the table is missing, and the sum is a little low. */
	if (used > 0)
		(void)gg_array_push(&caches->tables, table);
}

/* The first block of each list that is not empty: its chunk's head, and its link and key. */
struct cache_lists {
	struct gg_glibc_head chunks[GG_GLIBC_CACHE_LISTS], links[GG_GLIBC_CACHE_LISTS];
};

/* Reads both heads of each list; false: one is not resident. */
static bool read_lists(const struct gg_glibc_cache *table, const struct gg_glibc_view *view,
                       struct cache_lists *lists)
{
	struct gg_glibc_head_request requests[2 * GG_GLIBC_CACHE_LISTS];
	size_t count = 0;

	for (size_t i = 0; i < GG_GLIBC_CACHE_LISTS; i++) {
		uint64_t block = table->blocks[i];

		if (block == 0)
			continue;
		if (gg_glibc_heaps_at(view->heaps, block) == NULL)
			return false;
		requests[count++] = (struct gg_glibc_head_request){
			.chunk = block - GG_GLIBC_HEAD_BYTES, .ret_head = &lists->chunks[i]
		};
		requests[count++] = (struct gg_glibc_head_request){ .chunk = block,
			                                            .ret_head = &lists->links[i] };
	}
	if (gg_glibc_read_heads(view->residency, requests, count) < 0)
		return false;
	for (size_t i = 0; i < count; i++)
		if (!requests[i].is_read)
			return false;
	return true;
}

/* Returns the key of a table, which lies where a head has its size; 0: it is no table. */
static uint64_t table_key(const struct gg_glibc_cache *table, const struct cache_lists *lists)
{
	uint64_t key = 0;

	for (size_t i = 0; i < GG_GLIBC_CACHE_LISTS; i++) {
		if (table->blocks[i] == 0)
			continue;
		if (gg_glibc_size(&lists->chunks[i]) != list_chunk_bytes(i))
			return 0;
		if (key != 0 && lists->links[i].size_word != key)
			return 0;
		key = lists->links[i].size_word;
	}
	return key;
}

int64_t gg_glibc_caches_bytes(const struct gg_glibc_caches *caches,
                              const struct gg_glibc_view *view)
{
	int64_t sum = 0;
	bool is_known = false;

	for (size_t at = 0; at < caches->tables.count; at++) {
		const struct gg_glibc_cache *table = &caches->tables.items[at];
		struct cache_lists lists;

		if (!read_lists(table, view, &lists) || table_key(table, &lists) == 0)
			continue;
		is_known = true;
		for (size_t i = 0; i < GG_GLIBC_CACHE_LISTS; i++)
			sum += (int64_t)(table->counts[i] * list_chunk_bytes(i));
	}
	return is_known ? sum : -1;
}

void gg_glibc_caches_done(struct gg_glibc_caches *caches)
{
	gg_array_done(&caches->tables);
}
