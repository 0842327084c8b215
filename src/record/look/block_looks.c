/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_looks - residency of each block, then the memory around it (look/block_looks.h).
 */
#include "record/look/block_looks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "record/look/glibc_gaps.h"
#include "record/look/glibc_mapped.h"
#include "record/look/glibc_walk.h"
#include "record/look/process_memory.h"
#include "record/look/residency.h"

enum {
	WORD_NS = 15, /* to read the state of a page */
	/* Without a budget: the states of 1 TiB of pages, which takes some seconds. */
	WORDS_MAX = 1 << 28,
	FOREIGN_SHARE = 100, /* one block of so many may be another allocator's */
	SEEN_LEAST = 8,      /* so many blocks show glibc where another library is mapped */
};

/* A walk takes a quarter of a nanosecond or half of one for each byte. */
#define WALK_NS_PER_BYTE 0.5
#define WALK_MARGIN      1.25 /* chunks may be smaller than in the part that was walked before */

/* One look, while it is taken. */
struct looking {
	struct gg_block_looks *looks;
	const struct gg_block_place *places;
	const struct gg_block_place **sorted; /* by address */
	size_t count;
	const struct gg_block_looks_options *options;
	uint64_t deadline_ns; /* processor time of this thread; 0: none */
	struct gg_residency *residency;
	const struct gg_memory_map *map;
	struct gg_glibc_heaps heaps;
	/* Blocks of the allocator, by address, and what lies beside them. */
	const struct gg_block_place **blocks;
	struct gg_glibc_gaps *gaps;
	size_t block_count;
	uint64_t *chunks;        /* of blocks that are live for certain, ascending */
	bool *is_torn, *is_gone; /* by the index of the place */
	bool *was_gone;          /* likewise: before its residency was read */
	bool is_checked;         /* is_gone is known */
};

/* The order of addresses, in which questions to the page table are cheap. */
static int compare_addresses(const void *left, const void *right)
{
	const struct gg_block_place *const *first = left, *const *second = right;

	if ((*first)->address != (*second)->address)
		return (*first)->address < (*second)->address ? -1 : 1;
	return *first < *second ? -1 : *first > *second;
}

/*
 * Counts the pages of one block.  A block that its region places outside of all mappings holds
 * nothing, and one for which no time is left is unknown.
 */
static int look_at_pages(struct looking *looking, const struct gg_block_place *place,
                         int64_t *words_left)
{
	struct gg_profile_look_block *block =
		&looking->looks->blocks.items[place - looking->places];
	uint64_t begin = place->address, limit = gg_memory_map_end(looking->map, begin);
	uint64_t bytes = place->usable_bytes < limit - begin ? place->usable_bytes : limit - begin;
	int64_t words = (int64_t)(bytes / looking->residency->page_bytes) + 1;
	struct gg_residency_counts counts = { -1, -1 };
	int status = 0;

	if (words <= *words_left) {
		*words_left -= words;
		status = gg_residency_count(looking->residency, begin, begin + bytes, &counts);
	}
	*block = (struct gg_profile_look_block){ .sample = place->sample,
		                                 .resident_bytes = counts.resident_bytes,
		                                 .swapped_bytes = counts.swapped_bytes,
		                                 .pinned_bytes = place->is_mapping ? 0 : -1,
		                                 .returnable_bytes = place->is_mapping ? 0 : -1 };
	return status;
}

static int look_at_residency(struct looking *looking, uint64_t budget_ns)
{
	int64_t words_left = budget_ns != 0 && budget_ns / WORD_NS < WORDS_MAX
	                             ? (int64_t)(budget_ns / WORD_NS)
	                             : WORDS_MAX;
	int status = 0;

	for (size_t i = 0; i < looking->count && status == 0; i++)
		status = look_at_pages(looking, looking->sorted[i], &words_left);
	return status;
}

/* Why the memory around blocks is unknown, if they are not glibc's. */
static const char *foreign_reason(const char *allocator)
{
	if (allocator == NULL)
		return "the allocator is unknown";
	if (strcmp(allocator, "glibc") == 0)
		return "the blocks do not lie as glibc places them: another allocator serves them";
	return "only the heap of glibc can be read from outside of the process";
}

/*
 * Whether the blocks show that glibc serves them; otherwise says why not.  In a busy program some
 * blocks are freed whose samples are not gone yet, and look foreign: the more, the more are gone.
 */
static bool is_glibc(struct looking *looking)
{
	struct gg_block_looks *looks = looking->looks;
	const char *allocator = looking->map->allocator;
	bool is_mapped = allocator != NULL && strcmp(allocator, "glibc") == 0;
	size_t foreign_count = 0, seen_count = 0, live_count = 0, gone_count = 0;

	for (size_t i = 0; i < looking->block_count; i++) {
		if (looking->is_gone[looking->blocks[i] - looking->places]) {
			gone_count++; /* another block, or free memory, is there now */
			continue;
		}
		live_count += looking->gaps[i].state != GG_GAPS_TORN;
		foreign_count += looking->gaps[i].state == GG_GAPS_FOREIGN;
		seen_count += looking->gaps[i].state == GG_GAPS_SEEN;
	}
	if (foreign_count <= (seen_count + gone_count) / FOREIGN_SHARE &&
	    (is_mapped || seen_count >= SEEN_LEAST)) {
		looks->allocator = "glibc";
		looks->reason = seen_count > 0 || live_count == 0 ? NULL
		                                                  : "the heap is swapped out";
		return looks->reason == NULL;
	}
	looks->allocator = is_mapped ? NULL : allocator;
	looks->reason = foreign_reason(allocator);
	return false;
}

/* Takes over the gaps of blocks that were seen. */
static void take_gaps(struct looking *looking)
{
	for (size_t i = 0; i < looking->block_count; i++) {
		const struct gg_glibc_gaps *gaps = &looking->gaps[i];
		size_t at = (size_t)(looking->blocks[i] - looking->places);
		struct gg_profile_look_block *block = &looking->looks->blocks.items[at];

		if (gaps->state == GG_GAPS_SEEN) {
			block->pinned_bytes = gaps->pinned_bytes;
			block->returnable_bytes = gaps->returnable_bytes;
		}
		looking->is_torn[at] = gaps->state == GG_GAPS_TORN;
	}
}

/* Finds out which blocks were freed since the places were collected. */
static void find_gone(struct looking *looking)
{
	const struct gg_look_moments *moments = looking->options->moments;

	if (moments != NULL && moments->blocks_read != NULL && !looking->is_checked)
		moments->blocks_read(moments->context, looking->is_gone);
	looking->is_checked = true;
}

/* Keeps the residency of a block that was freed after it was read. */
static bool keep_residency(struct looking *looking, size_t place)
{
	const struct gg_look_moments *moments = looking->options->moments;
	int64_t bytes = looking->looks->blocks.items[place].resident_bytes;

	if (moments == NULL || moments->residency_read == NULL || looking->was_gone[place] ||
	    bytes < 0)
		return true;
	return gg_array_push(&looking->looks->gone, (struct gg_gone_block){ place, bytes });
}

static int drop_torn_and_gone(struct looking *looking)
{
	struct gg_block_looks *looks = looking->looks;
	size_t kept = 0;
	int status = 0;

	for (size_t i = 0; i < looks->blocks.count; i++) {
		looks->gone_count += looking->is_gone[i];
		if (looking->is_gone[i] && !keep_residency(looking, i))
			status = -ENOMEM;
		looks->torn_count += looking->is_torn[i] && !looking->is_gone[i];
		if (!looking->is_torn[i] && !looking->is_gone[i])
			looks->blocks.items[kept++] = looks->blocks.items[i];
	}
	looks->blocks.count = kept;
	return status;
}

static int add_totals(struct gg_block_looks *looks, const struct gg_glibc_totals *totals)
{
	const struct gg_profile_look_total rows[] = {
		{ .name = "glibc.walked", .bytes = totals->walked_bytes },
		{ .name = "glibc.resident", .bytes = totals->resident_bytes },
		{ .name = "glibc.in-use", .bytes = totals->in_use_bytes },
		{ .name = "glibc.headers", .bytes = totals->header_bytes },
		{ .name = "glibc.cached", .bytes = totals->cached_bytes },
		{ .name = "glibc.uncounted", .bytes = totals->uncounted_bytes },
		{ .name = "glibc.uncounted-fast", .bytes = totals->uncounted_fast_bytes },
		{ .name = "glibc.fast", .bytes = totals->fast_bytes },
		{ .name = "glibc.free", .bytes = totals->free_bytes },
		{ .name = "glibc.pinned", .bytes = totals->pinned_bytes },
		{ .name = "glibc.returnable", .bytes = totals->returnable_bytes },
		{ .name = "glibc.top", .bytes = totals->top_bytes },
		{ .name = "glibc.trimmable", .bytes = totals->trimmable_bytes },
		{ .name = "glibc.metadata", .bytes = totals->metadata_bytes },
		{ .name = "glibc.unread", .bytes = totals->unread_bytes },
		{ .name = "glibc.changed", .bytes = totals->changed_bytes },
		{ .name = "glibc.arenas", .bytes = totals->arena_bytes },
		{ .name = "glibc.arenas-in-use", .bytes = totals->arena_in_use_bytes },
		{ .name = "glibc.arena-count", .bytes = totals->arena_count },
	};

	for (size_t i = 0; i < GG_COUNT(rows); i++)
		if (rows[i].bytes >= 0 && !gg_array_push(&looks->totals, rows[i]))
			return -ENOMEM;
	return 0;
}

uint64_t gg_heap_walk_guess_ns(uint64_t heap_bytes, double ns_per_byte)
{
	return (uint64_t)((double)heap_bytes *
	                  (ns_per_byte > 0 ? ns_per_byte * WALK_MARGIN : WALK_NS_PER_BYTE));
}

/* Adds the bytes of heaps that have no totals, under the name of what prevented the walk. */
static int add_unwalked(struct gg_block_looks *looks, enum gg_glibc_obstacle obstacle,
                        uint64_t heap_bytes)
{
	static const char *const names[] = {
		[GG_GLIBC_TOO_LARGE] = "glibc.unwalked",
		[GG_GLIBC_SWAPPED] = "glibc.unwalked-swapped",
		[GG_GLIBC_UNEXPECTED] = "glibc.unwalked-unexpected",
	};
	const struct gg_profile_look_total total = { .name = names[obstacle],
		                                     .bytes = (int64_t)heap_bytes };

	return gg_array_push(&looks->totals, total) ? 0 : -ENOMEM;
}

/*
 * Finds the time by which a walk must end; 0: any.  Returns whether the walk has a chance to reach
 * the end of the heap by then.
 */
static bool plan_walk(const struct looking *looking, uint64_t heap_bytes, uint64_t *ret_deadline_ns)
{
	const struct gg_block_looks_options *options = looking->options;
	uint64_t now_ns = gg_clock_thread_ns();

	*ret_deadline_ns = looking->deadline_ns;
	if (looking->deadline_ns == 0)
		return true;
	if (options->heap_walk_budget_ns > 0) {
		now_ns += options->heap_walk_budget_ns;
		*ret_deadline_ns = now_ns > looking->deadline_ns ? now_ns : looking->deadline_ns;
		return true;
	}
	return now_ns + gg_heap_walk_guess_ns(heap_bytes, options->heap_walk_ns_per_byte) <=
	       looking->deadline_ns;
}

/* Walks, and extends the gaps of blocks over the chunks in fast bins that the walk found. */
static int walk_and_join(struct looking *looking, struct gg_glibc_totals *ret_totals,
                         enum gg_glibc_obstacle *ret_obstacle, const struct gg_glibc_view *view,
                         uint64_t deadline_ns)
{
	struct gg_glibc_fast_gaps fast = { 0 };
	int status = gg_glibc_walk(ret_totals, ret_obstacle, &fast, view, deadline_ns);

	if (status == 0 && *ret_obstacle == GG_GLIBC_NO_OBSTACLE)
		status = gg_glibc_gaps_join(looking->gaps, looking->block_count, &fast,
		                            looking->residency);
	gg_glibc_fast_gaps_done(&fast);
	if (status == 0)
		take_gaps(looking);
	return status;
}

/* Walks through all heaps if the time allows; without a walk there are no totals. */
static int walk(struct looking *looking, const struct gg_glibc_view *view)
{
	struct gg_block_looks *looks = looking->looks;
	enum gg_glibc_obstacle obstacle;
	struct gg_glibc_totals totals;
	uint64_t start_ns = gg_clock_thread_ns(), bytes = 0, deadline_ns;
	int status;

	for (size_t i = 0; i < looking->heaps.items.count; i++)
		bytes += looking->heaps.items.items[i].end - looking->heaps.items.items[i].begin;
	if (!plan_walk(looking, bytes, &deadline_ns)) {
		looks->heap_walk.heap_bytes = bytes;
		return add_unwalked(looks, GG_GLIBC_TOO_LARGE, bytes);
	}
	status = walk_and_join(looking, &totals, &obstacle, view, deadline_ns);
	if (status < 0)
		return status;
	if (looking->options->moments != NULL && looking->options->moments->heap_walked != NULL)
		totals.changed_bytes += looking->options->moments->heap_walked(
			looking->options->moments->context);
	looks->heap_walk.cost_ns = gg_clock_thread_ns() - start_ns;
	if (obstacle == GG_GLIBC_NO_OBSTACLE || obstacle == GG_GLIBC_TOO_LARGE) {
		looks->heap_walk.heap_bytes = bytes;
		looks->heap_walk.walked_bytes = (uint64_t)totals.walked_bytes;
	}
	return obstacle == GG_GLIBC_NO_OBSTACLE ? add_totals(looks, &totals)
	                                        : add_unwalked(looks, obstacle, bytes);
}

/*
 * The main arena maps memory if brk() fails.  It then has chunks that are in no heap and are no
 * mappings of their own.
 */
static bool has_hidden_heap(const struct looking *looking)
{
	for (size_t i = 0; i < looking->block_count; i++)
		if (looking->gaps[i].state == GG_GAPS_SEEN && !looking->gaps[i].is_mapped &&
		    gg_glibc_heaps_at(&looking->heaps, looking->blocks[i]->address) == NULL)
			return true;
	return false;
}

/* Adds the resident bytes of mapped chunks if they are known. */
static int add_mapped(struct looking *looking, const struct gg_glibc_view *view)
{
	struct gg_profile_look_total total = { .name = "glibc.mapped" };
	struct gg_glibc_mapped mapped;
	uint64_t start_ns;
	int status;

	if (has_hidden_heap(looking))
		return 0;
	start_ns = gg_clock_thread_ns();
	status = gg_glibc_mapped_find(&mapped, view, looking->deadline_ns);
	looking->looks->search_ns = gg_clock_thread_ns() - start_ns;
	total.bytes = mapped.resident_bytes;
	return status < 0 || !mapped.is_known || gg_array_push(&looking->looks->totals, total)
	               ? status
	               : -ENOMEM;
}

/* Collects the chunks of blocks that the look saw and that live on; returns their number. */
static size_t find_chunks(struct looking *looking)
{
	size_t count = 0;

	for (size_t i = 0; i < looking->block_count; i++)
		if (looking->gaps[i].state == GG_GAPS_SEEN &&
		    !looking->is_gone[looking->blocks[i] - looking->places])
			looking->chunks[count++] = looking->blocks[i]->address -
			                           GG_GLIBC_HEAD_BYTES;
	return count;
}

/* Looks at the memory around the blocks of the allocator. */
static int look_around(struct looking *looking)
{
	struct gg_glibc_view view = { .map = looking->map,
		                      .heaps = &looking->heaps,
		                      .residency = looking->residency };
	int status;

	for (size_t i = 0; i < looking->count; i++)
		if (!looking->sorted[i]->is_mapping)
			looking->blocks[looking->block_count++] = looking->sorted[i];
	status = gg_glibc_heaps_find(&looking->heaps, looking->map, looking->residency);
	if (status == 0)
		status = gg_glibc_gaps_find(looking->gaps, looking->blocks, looking->block_count,
		                            &view);
	if (status < 0)
		return status;
	find_gone(looking);
	if (!is_glibc(looking))
		return 0;
	take_gaps(looking);
	view.chunks = looking->chunks;
	view.chunk_count = find_chunks(looking);
	status = walk(looking, &view);
	return status < 0 ? status : add_mapped(looking, &view);
}

static int look(struct looking *looking, const struct gg_block_looks_options *options)
{
	int status = look_at_residency(looking, options->budget_ns);

	if (status < 0)
		return status;
	if (options->moments != NULL && options->moments->residency_read != NULL)
		options->moments->residency_read(options->moments->context, looking->was_gone);
	looking->looks->reason =
		"the process ended, or its memory may not be read: geiger needs the "
		"right to trace it (kernel.yama.ptrace_scope, or another user)";
	status = look_around(looking);
	find_gone(looking);
	if (drop_torn_and_gone(looking) < 0)
		status = -ENOMEM;
	/* Residency is worth having alone. */
	return status == -ENOMEM ? status : 0;
}

static bool allocate(struct looking *looking)
{
	const size_t count = looking->count;

	looking->sorted = calloc(count + 1, sizeof(const struct gg_block_place *));
	looking->blocks = calloc(count + 1, sizeof(const struct gg_block_place *));
	looking->gaps = calloc(count + 1, sizeof(*looking->gaps));
	looking->is_torn = calloc(count + 1, sizeof(*looking->is_torn));
	looking->chunks = calloc(count + 1, sizeof(*looking->chunks));
	looking->is_gone = calloc(count + 1, sizeof(*looking->is_gone));
	looking->was_gone = calloc(count + 1, sizeof(*looking->was_gone));
	looking->residency = calloc(1, sizeof(*looking->residency));
	return looking->sorted != NULL && looking->blocks != NULL && looking->gaps != NULL &&
	       looking->is_torn != NULL && looking->chunks != NULL && looking->is_gone != NULL &&
	       looking->was_gone != NULL && looking->residency != NULL &&
	       gg_array_extend(&looking->looks->blocks, count);
}

static void release(struct looking *looking)
{
	free(looking->sorted);
	free(looking->blocks);
	free(looking->gaps);
	free(looking->is_torn);
	free(looking->is_gone);
	free(looking->was_gone);
	free(looking->chunks);
	free(looking->residency);
	gg_glibc_heaps_done(&looking->heaps);
}

int gg_block_looks_from(struct gg_block_looks *ret, const struct gg_memory_source *source,
                        const struct gg_block_place *places, size_t place_count,
                        const struct gg_block_looks_options *options)
{
	struct gg_block_looks looks = { 0 };
	struct looking looking = {
		.looks = &looks,
		.places = places,
		.count = place_count,
		.options = options,
		.map = options->map,
	};
	int status = -ENOMEM;

	if (options->budget_ns != 0)
		looking.deadline_ns = gg_clock_thread_ns() + options->budget_ns;
	if (allocate(&looking)) {
		for (size_t i = 0; i < place_count; i++)
			looking.sorted[i] = &places[i];
		qsort(looking.sorted, place_count, sizeof(const struct gg_block_place *),
		      compare_addresses);
		gg_residency_init(looking.residency, source, (uint64_t)sysconf(_SC_PAGESIZE));
		status = look(&looking, options);
	}
	release(&looking);
	if (status < 0)
		gg_block_looks_done(&looks);
	else
		*ret = looks;
	return status;
}

int gg_block_looks_take(struct gg_block_looks *ret, pid_t pid, const struct gg_block_place *places,
                        size_t place_count, const struct gg_block_looks_options *options,
                        struct gg_error *error)
{
	struct gg_process_memory memory;
	int status = gg_process_memory_open(&memory, pid, error);

	if (status < 0)
		return status;
	status = gg_block_looks_from(ret, &memory.source, places, place_count, options);
	gg_process_memory_close(&memory);
	return status < 0 ? gg_error_set_errno(error, -status, "pagemap", NULL) : 0;
}

void gg_block_looks_done(struct gg_block_looks *looks)
{
	gg_array_done(&looks->blocks);
	gg_array_done(&looks->totals);
	gg_array_done(&looks->gone);
}
