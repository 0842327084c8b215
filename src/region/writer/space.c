/* SPDX-License-Identifier: Apache-2.0 */
/* space - grows the tables of the file, and gives out their records. */
#include "region/writer/space.h"

#include "base/assert.h"

enum {
	STEP_BYTES = 64 * 1024,           /* least growth at once, once a table has as much */
	STEP_SHARE = 4,                   /* a large table grows by this part of its size ... */
	STEP_BYTES_MAX = 4 * 1024 * 1024, /* ... up to this */
	/* A sandbox may refuse all growth after the first; then it keeps so many live samples. */
	FIRST_LIVE_BYTES = 8 * 1024,
	ASK_AGAIN = 1024 /* after a failure, one try in so many asks the file system */
};

/* Raises a word to at least `value`; other threads may raise it further. */
static void raise_to(uint64_t *word, uint64_t value)
{
	uint64_t seen = gg_load_relaxed(word);

	while (seen < value && !gg_cas_acq_rel(word, &seen, value))
		;
}

static uint64_t to_page(uint64_t bytes)
{
	return (bytes + GG_REGION_PAGE_BYTES - 1) & ~(uint64_t)(GG_REGION_PAGE_BYTES - 1);
}

/* A small table doubles; a large one grows by a part. */
static uint64_t step_after(uint64_t have)
{
	uint64_t step = have / STEP_SHARE;

	if (step < STEP_BYTES)
		step = have < STEP_BYTES ? have : STEP_BYTES;
	return step < STEP_BYTES_MAX ? step : STEP_BYTES_MAX;
}

/*
 * Allocates the table's bytes [0, wanted) and some more.  Returns false if the disk is full, or if
 * another thread is allocating and the caller does not need the bytes yet.
 *
 * One thread allocates ahead of the need, and the other threads go on.  If that thread does not run
 * for a while, they use up the allocated space, and then allocate themselves (`needed`).
 * Allocating the same range twice does no harm.
 */
static bool grow(struct gg_region *region, struct gg_region_space *table, uint64_t wanted,
                 bool needed)
{
	uint64_t all = (uint64_t)table->capacity * table->record_bytes;
	uint64_t have = gg_load_acquire(&table->reserved_bytes), target;
	bool is_first, done;

	if (wanted <= have)
		return true;
	/* Each try is a system call, so not every sample tries again on a full disk. */
	if (gg_load_relaxed(&table->failure_count) > 0 &&
	    gg_add_relaxed(&table->asked_in_vain, 1) % ASK_AGAIN != ASK_AGAIN - 1)
		return false;
	is_first = gg_exchange_acq_rel(&table->growing, 1) == 0;
	if (!is_first && !needed)
		return false;
	have = gg_load_acquire(&table->reserved_bytes);
	target = to_page((wanted > have ? wanted : have) + step_after(have));
	if (table == &region->tables[GG_TABLE_LIVE] && target < FIRST_LIVE_BYTES)
		target = FIRST_LIVE_BYTES;
	target = target < to_page(all) ? target : to_page(all);
	done = target <= have ||
	       gg_region_file_reserve(&region->map, table->offset + have, target - have) == 0;
	if (done) {
		gg_assert(target <= to_page(all));
		raise_to(&table->reserved_bytes, target);
	} else {
		gg_add_relaxed(&table->failure_count, 1);
		gg_region_count(region, GG_COUNT_GROW_FAILED, 1);
	}
	if (is_first)
		gg_store_release(&table->growing, 0);
	return done;
}

bool gg_region_space_reserve(struct gg_region *region, enum gg_region_table_id id, uint32_t count)
{
	struct gg_region_space *table = &region->tables[id];

	gg_assert(count <= table->capacity);
	return grow(region, table, (uint64_t)count * table->record_bytes, true);
}

uint32_t gg_region_space_take_run(struct gg_region *region, enum gg_region_table_id id,
                                  uint32_t count)
{
	struct gg_region_space *table = &region->tables[id];
	uint32_t used = gg_load_relaxed(&table->used_count);
	uint64_t all = (uint64_t)table->capacity * table->record_bytes, have, end, ahead;

	gg_assert(count > 0);
	do {
		gg_assert(used <= table->capacity);
		if (count > table->capacity - used)
			return GG_INDEX_NONE;
		end = (uint64_t)(used + count) * table->record_bytes;
		have = gg_load_acquire(&table->reserved_bytes);
		/* Half a step ahead, so that others seldom run out of space while one allocates. */
		ahead = end + (have < STEP_BYTES ? have : STEP_BYTES) / 2;
		if (gg_unlikely(ahead > have))
			grow(region, table, ahead < all ? ahead : all, false);
		if (gg_unlikely(end > gg_load_acquire(&table->reserved_bytes)) &&
		    !grow(region, table, end, true))
			return GG_INDEX_NONE;
		/* Sequentially consistent: filter.c's start_growing() relies on one order of this
		 * count and of its sizes. */
	} while (!gg_cas_seq_cst(&table->used_count, &used, used + count));
	/* Before any use of the record: readers look at that many records, and a published redo log
	 * slot may name this one. */
	gg_assert((uint64_t)(used + count) * table->record_bytes <=
	          gg_load_relaxed(&table->reserved_bytes));
	raise_to(table->mirror, used + count);
	return used;
}

uint32_t gg_region_space_take(struct gg_region *region, enum gg_region_table_id id)
{
	return gg_region_space_take_run(region, id, 1);
}

void gg_region_space_show(struct gg_region *region, enum gg_region_table_id id, uint32_t index)
{
	gg_assert(index < gg_load_relaxed(&region->tables[id].used_count));
	raise_to(region->tables[id].mirror, (uint64_t)index + 1);
}
