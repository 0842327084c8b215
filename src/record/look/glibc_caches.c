/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc_caches - recognizes the tables of threads' caches, and follows their lists
 * (look/glibc_caches.h).
 */
#include "record/look/glibc_caches.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "record/look/glibc_link.h"

enum {
	TABLE_CHUNK_BYTES = 0x290,
	TABLES_MAX = 1 << 16, /* one for each thread, and blocks that look alike */
	CACHED_MAX = 1 << 20,
	/* Blocks that are read in all, also those of lists that turn out to be torn. */
	CACHED_READS_MAX = 2 * CACHED_MAX,
	TABLE_TRIES_MAX = 3,
};

/* Bytes of the chunks in a list. */
static uint64_t list_chunk_bytes(size_t list)
{
	return (list + 2) * GG_GLIBC_HEAD_BYTES;
}

/* Whether the words may be a table; *ret_is_used: a list has blocks. */
static bool is_table(const struct gg_glibc_cache_table *table, bool *ret_is_used)
{
	*ret_is_used = false;
	for (size_t i = 0; i < GG_GLIBC_CACHE_LISTS; i++) {
		if ((table->counts[i] == 0) != (table->blocks[i] == 0) ||
		    table->blocks[i] % GG_GLIBC_HEAD_BYTES != 0)
			return false;
		*ret_is_used |= table->counts[i] != 0;
	}
	return true;
}

void gg_glibc_caches_take(struct gg_glibc_caches *caches, struct gg_heap_window *window,
                          const struct gg_glibc_heap *heap, uint64_t chunk, uint64_t bytes)
{
	struct gg_glibc_cache cache = { .address = chunk + GG_GLIBC_HEAD_BYTES };
	bool is_used;

	if (bytes != TABLE_CHUNK_BYTES ||
	    !gg_heap_window_read(window, cache.address, heap->end, &cache.table,
	                         sizeof(cache.table)) ||
	    !is_table(&cache.table, &is_used))
		return;
	caches->has_layout |= heap->arena == 0 && chunk == heap->begin;
	if (is_used &&
	    (caches->tables.count >= TABLES_MAX || !gg_array_push(&caches->tables, cache)))
		caches->is_full = true;
}

/* --- the lists ------------------------------------------------------------------------------ */

struct cached_block {
	uint64_t address, chunk_bytes;
};

typedef GG_ARRAY(struct cached_block) block_array;

/* State of a count over all tables. */
struct counting {
	const struct gg_glibc_view *view;
	block_array blocks;
	uint64_t key; /* of all tables, from release 2.34 on; 0: not known yet */
	bool is_mangled;
	int64_t unsure_bytes;
	size_t read_count; /* blocks */
	uint64_t deadline_ns;
};

/* A table whose lists are followed all at once, one block of each in a round. */
struct lists {
	uint64_t address, key;
	uint64_t blocks[GG_GLIBC_CACHE_LISTS]; /* to be read next; 0: the list is over */
	uint32_t counts[GG_GLIBC_CACHE_LISTS]; /* blocks left */
	bool is_torn[GG_GLIBC_CACHE_LISTS];
	size_t whole_count; /* lists that ended as the table says */
	struct gg_glibc_head chunks[GG_GLIBC_CACHE_LISTS], links[GG_GLIBC_CACHE_LISTS];
};

/* Whether the words of a block are those of a cached one, and which block follows. */
static bool check_block(struct counting *counting, struct lists *lists, size_t list)
{
	const struct gg_glibc_head *link = &lists->links[list];
	uint64_t next = gg_glibc_link(counting->is_mangled, lists->blocks[list],
	                              link->previous_bytes);

	if (gg_glibc_size(&lists->chunks[list]) != list_chunk_bytes(list) || link->size_word == 0)
		return false;
	if (lists->key == 0)
		lists->key = link->size_word;
	if (link->size_word != lists->key || next % GG_GLIBC_HEAD_BYTES != 0)
		return false;
	lists->counts[list]--;
	if ((next == 0) != (lists->counts[list] == 0) ||
	    (next != 0 && gg_glibc_heaps_at(counting->view->heaps, next) == NULL))
		return false;
	lists->whole_count += next == 0;
	lists->blocks[list] = next;
	return true;
}

/* Goes one block further in each list.  Returns 1, 0 if all lists are over, or -Exxx. */
static int run_round(struct counting *counting, struct lists *lists)
{
	struct gg_glibc_head_request requests[2 * GG_GLIBC_CACHE_LISTS];
	size_t count = 0, at = 0;
	int status;

	for (size_t i = 0; i < GG_GLIBC_CACHE_LISTS; i++) {
		uint64_t block = lists->blocks[i];

		if (block == 0)
			continue;
		requests[count++] = (struct gg_glibc_head_request){
			.chunk = block - GG_GLIBC_HEAD_BYTES, .ret_head = &lists->chunks[i]
		};
		requests[count++] = (struct gg_glibc_head_request){ .chunk = block,
			                                            .ret_head = &lists->links[i] };
	}
	if (count == 0)
		return 0;
	counting->read_count += count / 2;
	status = gg_glibc_read_heads(counting->view->residency, requests, count);
	for (size_t i = 0; i < GG_GLIBC_CACHE_LISTS && status == 0; i++) {
		const struct cached_block block = { lists->blocks[i], list_chunk_bytes(i) };

		if (block.address == 0)
			continue;
		lists->is_torn[i] = !requests[at].is_read || !requests[at + 1].is_read ||
		                    !check_block(counting, lists, i);
		at += 2;
		if (lists->is_torn[i])
			lists->blocks[i] = 0;
		else if (!gg_array_push(&counting->blocks, block))
			status = -ENOMEM;
	}
	return status < 0 ? status : 1;
}

static bool may_go_on(const struct counting *counting)
{
	return counting->blocks.count < CACHED_MAX && counting->read_count < CACHED_READS_MAX &&
	       (counting->deadline_ns == 0 || gg_clock_thread_ns() <= counting->deadline_ns);
}

/* Begins at the first block of each list. */
static void begin_lists(const struct counting *counting, const struct gg_glibc_cache *cache,
                        struct lists *lists)
{
	*lists = (struct lists){ .address = cache->address };
	for (size_t i = 0; i < GG_GLIBC_CACHE_LISTS; i++) {
		uint64_t block = cache->table.blocks[i];

		lists->counts[i] = cache->table.counts[i];
		lists->is_torn[i] = block != 0 &&
		                    gg_glibc_heaps_at(counting->view->heaps, block) == NULL;
		lists->blocks[i] = lists->is_torn[i] ? 0 : block;
	}
}

/* Whether the key is that of this table: its address, or from release 2.34 on the same in all. */
static bool has_key(struct counting *counting, const struct lists *lists)
{
	if (lists->key == 0 || lists->key == lists->address)
		return lists->key != 0;
	if (counting->key == 0)
		counting->key = lists->key;
	return lists->key == counting->key;
}

/* Follows the lists of a table.  Returns 1 if all of them are whole, 0 if not, or -Exxx. */
static int follow_lists(struct counting *counting, const struct gg_glibc_cache *cache,
                        struct lists *lists)
{
	const size_t block_count = counting->blocks.count;
	bool is_torn = false;
	int status = 1;

	begin_lists(counting, cache, lists);
	while (status == 1 && may_go_on(counting))
		status = run_round(counting, lists);
	if (status < 0)
		return status;
	for (size_t i = 0; i < GG_GLIBC_CACHE_LISTS; i++)
		is_torn |= lists->is_torn[i] || lists->blocks[i] != 0;
	if (!is_torn && has_key(counting, lists))
		return 1;
	counting->blocks.count = block_count;
	return 0;
}

/* Follows the lists with links of the other kind if no list was whole. */
static int follow_either(struct counting *counting, const struct gg_glibc_cache *cache,
                         struct lists *lists)
{
	int status = follow_lists(counting, cache, lists);

	if (status != 0 || lists->whole_count > 0 || counting->key != 0)
		return status;
	counting->is_mangled = !counting->is_mangled;
	return follow_lists(counting, cache, lists);
}

/* Reads a table again.  Returns 1, 0 if it is no table any more, or -Exxx. */
static int read_again(const struct gg_glibc_view *view, struct gg_glibc_cache *cache)
{
	const struct gg_memory_source *source = view->residency->source;
	const struct gg_memory_range range = { cache->address, sizeof(cache->table),
		                               &cache->table };
	bool is_used;
	int status;

	if (!gg_residency_has(view->residency, cache->address) ||
	    !gg_residency_has(view->residency, cache->address + sizeof(cache->table) - 1))
		return 0;
	status = (int)source->read_ranges(source->context, &range, 1);
	return status == 1 ? is_table(&cache->table, &is_used) : status;
}

/*
 * Takes the counts of a table for its lists, which are torn: the thread is busy.  False: nothing
 * shows that it is a table at all.
 */
static bool take_counts(struct counting *counting, const struct gg_glibc_cache *cache,
                        const struct lists *lists, int64_t *bytes)
{
	if (lists->whole_count == 0 || !has_key(counting, lists))
		return false;
	for (size_t i = 0; i < GG_GLIBC_CACHE_LISTS; i++)
		*bytes += (int64_t)(cache->table.counts[i] * list_chunk_bytes(i));
	return true;
}

/* Other words that look like a table, such as a pattern, point to no heap. */
static bool points_to_heaps(const struct counting *counting, const struct gg_glibc_cache *cache)
{
	bool points = false;

	for (size_t i = 0; i < GG_GLIBC_CACHE_LISTS && !points; i++)
		points = cache->table.blocks[i] != 0 &&
		         gg_glibc_heaps_at(counting->view->heaps, cache->table.blocks[i]) != NULL;
	return points;
}

/* Adds the blocks of a table.  Returns 1, 0 if nothing is known about it, or -Exxx. */
static int add_table(struct counting *counting, const struct gg_glibc_cache *cache)
{
	struct gg_glibc_cache again = *cache;
	struct lists lists;
	int status;

	if (!points_to_heaps(counting, cache))
		return 1;
	status = follow_either(counting, cache, &lists);
	for (int i = 1; i < TABLE_TRIES_MAX && status == 0; i++) {
		status = read_again(counting->view, &again);
		if (status <= 0)
			return status;
		status = follow_either(counting, &again, &lists);
	}
	return status == 0 ? take_counts(counting, &again, &lists, &counting->unsure_bytes)
	                   : status;
}

/* --- the sums ------------------------------------------------------------------------------- */

static int compare_blocks(const void *left, const void *right)
{
	const struct cached_block *first = left, *second = right;

	return first->address < second->address ? -1 : first->address > second->address;
}

/* Adds up the resident bytes of all blocks.  Returns 1, 0 if two are the same, or -Exxx. */
static int add_up(struct gg_glibc_cache_sums *sums, struct counting *counting)
{
	struct cached_block *blocks = counting->blocks.items;
	struct gg_residency_counts counts;
	uint64_t end = 0;

	if (counting->blocks.count > 0)
		qsort(blocks, counting->blocks.count, sizeof(*blocks), compare_blocks);
	for (size_t i = 0; i < counting->blocks.count; i++) {
		uint64_t begin = blocks[i].address - GG_GLIBC_WORD_BYTES;
		int status;

		if (begin < end)
			return 0;
		end = begin + blocks[i].chunk_bytes;
		status = gg_residency_count(counting->view->residency, begin, end, &counts);
		if (status < 0)
			return status;
		sums->resident_bytes += counts.resident_bytes;
	}
	sums->chunk_count = (int64_t)counting->blocks.count;
	sums->unsure_bytes = counting->unsure_bytes;
	sums->resident_bytes += counting->unsure_bytes;
	return 1;
}

/* The bytes of all lists, as their tables state. */
static int64_t stated_bytes(const struct gg_glibc_caches *caches)
{
	int64_t bytes = 0;

	for (size_t i = 0; i < caches->tables.count; i++)
		for (size_t list = 0; list < GG_GLIBC_CACHE_LISTS; list++)
			bytes += (int64_t)(caches->tables.items[i].table.counts[list] *
			                   list_chunk_bytes(list));
	return bytes;
}

int gg_glibc_caches_count(struct gg_glibc_cache_sums *ret, const struct gg_glibc_caches *caches,
                          const struct gg_glibc_view *view, uint64_t deadline_ns)
{
	struct counting counting = { .view = view, .is_mangled = true, .deadline_ns = deadline_ns };
	struct gg_glibc_cache_sums sums = { 0 };
	int status = caches->has_layout && !caches->is_full;

	for (size_t i = 0; i < caches->tables.count && status == 1; i++)
		status = add_table(&counting, &caches->tables.items[i]);
	if (status >= 0 && !may_go_on(&counting)) {
		sums.uncounted_bytes = stated_bytes(caches);
		status = 0;
	}
	if (status == 1)
		status = add_up(&sums, &counting);
	gg_array_done(&counting.blocks);
	sums.is_known = status == 1;
	*ret = sums;
	return status < 0 ? status : 0;
}

void gg_glibc_caches_done(struct gg_glibc_caches *caches)
{
	gg_array_done(&caches->tables);
}
