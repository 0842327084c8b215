/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_region_step - reads the region as a kill at any store of the writer would leave it.
 *
 * GG_REGION_STEP stops the writer before every store to the file.
 */
#include <stdlib.h>

#include "region.h"
#include "region/writer/step.h"
#include "test.h"

static struct gg_region region;
static struct gg_region_thread threads[2];

/* Each read must find the samples that were live before the operation, or those after it. */
static struct {
	bool on;
	uint64_t before_bytes, after_bytes; /* sizes of the live samples, added up */
	uint64_t stores, seen_before, seen_after, finished;
} look;

/* Another thread's action at the next store; it happens once. */
static void (*interrupt)(void);

void gg_region_step(void)
{
	void (*now)(void) = interrupt;
	struct gg_region_view view;

	interrupt = NULL;
	if (now != NULL)
		now();
	if (!look.on)
		return;
	look.stores++;
	if (!CHECK(region_view(&region, &view)))
		return;
	uint64_t bytes = gg_region_view_totals(&view).live.size_bytes;
	uint32_t stack = 0;

	CHECK_MSG(gg_region_view_check(&view, &stack) == 0,
	          "before store %llu: stack %u is not balanced", (unsigned long long)look.stores,
	          stack);
	CHECK_MSG(bytes == look.before_bytes || bytes == look.after_bytes,
	          "before store %llu: %llu bytes live", (unsigned long long)look.stores,
	          (unsigned long long)bytes);
	/* Once it is done it stays done. */
	CHECK(look.seen_after == 0 || bytes == look.after_bytes);
	look.seen_before += bytes == look.before_bytes;
	look.seen_after += bytes == look.after_bytes;
	look.finished += view.finished_count;
	gg_region_view_done(&view);
}

static bool begin(void)
{
	struct gg_region_options options;

	region_small_options(&options);
	look.on = false;
	if (!CHECK(region_make(&region, &options)))
		return false;
	gg_region_thread_begin(&region, &threads[0], 1, "a", 0);
	gg_region_thread_begin(&region, &threads[1], 2, "b", 0);
	return true;
}

static void record(struct gg_region_thread *thread, uint64_t address, uint64_t size_bytes)
{
	uint64_t pc = size_bytes % 7 + 1;
	struct gg_allocation sample = region_sample(address, size_bytes,
	                                            gg_region_intern(&region, thread, &pc, 1));

	CHECK(gg_region_record_alloc(&region, thread, &sample) != 0);
}

static void release(struct gg_region_thread *thread, uint64_t address)
{
	CHECK(gg_region_record_free(&region, thread, (void *)(uintptr_t)address, 0, address + 9,
	                            0));
}

static void start_looking(uint64_t before_bytes, uint64_t after_bytes)
{
	memset(&look, 0, sizeof(look));
	look.on = true;
	look.before_bytes = before_bytes;
	look.after_bytes = after_bytes;
}

static void stop_looking(uint64_t least_stores)
{
	look.on = false;
	/* It was looked before and after the announcement, and in the middle of applying it. */
	CHECK_MSG(look.stores >= least_stores, "%llu stores", (unsigned long long)look.stores);
	CHECK(look.seen_before > 0 && look.seen_after > 0 && look.finished > 10);
	CHECK(region_is_valid(&region));
}

TEST(an_allocation_is_whole_at_every_store)
{
	if (!begin())
		return;
	for (uint64_t i = 0; i < 10; i++)
		record(&threads[i % 2], 0x1000 + i * 16, 1000 + i);
	start_looking(10045, 10045 + 777);
	record(&threads[0], 0x5000, 777);
	stop_looking(30);
	gg_region_done(&region, true);
}

TEST(a_free_is_whole_at_every_store)
{
	if (!begin())
		return;
	for (uint64_t i = 0; i < 10; i++)
		record(&threads[i % 2], 0x1000 + i * 16, 1000 + i);
	start_looking(10045, 10045 - 1004);
	release(&threads[0], 0x1040);
	stop_looking(20);
	/* Allocated by the one thread, freed by the other. */
	start_looking(10045 - 1004, 10045 - 1004 - 1005);
	release(&threads[0], 0x1050);
	stop_looking(20);
	gg_region_done(&region, true);
}

TEST(a_missed_free_and_its_allocation_are_each_whole)
{
	if (!begin())
		return;
	record(&threads[0], 0x1000, 500);
	/* First to 0 live bytes, then to 300: two operations, looked at one by one. */
	start_looking(500, 0);
	release(&threads[1], 0x1000);
	stop_looking(20);
	start_looking(0, 300);
	record(&threads[1], 0x1000, 300);
	stop_looking(20);
	gg_region_done(&region, true);
}

TEST(an_announcement_can_be_finished_again_and_again)
{
	struct gg_region_redo_slot slot;

	if (!begin())
		return;
	record(&threads[0], 0x1000, 500);
	record(&threads[0], 0x2000, 600);
	/* The last operation once more, as if the kill came just before it was taken back. */
	memcpy(&slot, gg_region_at(&region, GG_TABLE_SLOTS, 0), sizeof(slot));
	slot.state |= GG_REDO_ALLOC;
	memcpy(gg_region_at(&region, GG_TABLE_SLOTS, 0), &slot, sizeof(slot));
	CHECK(region_is_consistent(&region));
	gg_region_done(&region, true);
}

/* --- the filter: another thread comes between --- */

enum { ADDRESSES = 4096 };

static struct gg_filter filter;
static uint64_t addresses[ADDRESSES];
static uint32_t homes[ADDRESSES], used_count;

/* A filter that has begun to grow: one more than its first size is for. */
static void *begin_filter(void)
{
	size_t bytes = gg_filter_bytes(ADDRESSES);
	void *memory = aligned_alloc(64, bytes);

	memset(memory, 0, bytes);
	memset(homes, 0, sizeof(homes));
	gg_filter_init(&filter, memory, ADDRESSES, homes, addresses, 1, &used_count);
	for (used_count = 0; used_count <= GG_FILTER_FIRST_CELLS / GG_FILTER_SMALL_PER_LIVE;) {
		addresses[used_count] = 0x10000 + used_count * 48;
		gg_filter_add(&filter, used_count++);
	}
	CHECK_EQ_U64(filter.current, 0);
	CHECK_EQ_U64(filter.newest, 1);
	return memory;
}

static void add_next(void)
{
	uint32_t record = used_count++;

	addresses[record] = 0x10000 + record * 48;
	gg_filter_add(&filter, record);
}

static void remove_first(void)
{
	gg_filter_remove(&filter, 0);
}

TEST(a_record_that_goes_while_it_is_moved_leaves_nothing_behind)
{
	void *memory = begin_filter();
	uint32_t left = 0;

	/* The next one finds its own move first, then helps and moves record 0. */
	add_next();
	CHECK_EQ_U64(homes[0] % 256, 2);
	gg_filter_remove(&filter, 0);
	gg_filter_add(&filter, 0); /* in the first size and moved at once ... */
	interrupt = remove_first;
	gg_filter_remove(&filter, 0);
	gg_filter_add(&filter, 0); /* ... but here it goes in the middle */
	CHECK(interrupt == NULL && homes[0] % 256 == 0);
	while (filter.current == 0)
		add_next();
	for (uint32_t i = 1; i < used_count; i++)
		gg_filter_remove(&filter, i);
	for (uint32_t i = 0; i < 2 * GG_FILTER_FIRST_CELLS; i++)
		left += filter.cells[1][i] != 0;
	CHECK_MSG(left == 0, "%u cells are not empty", left);
	free(memory);
}

static void grow_twice(void)
{
	while (filter.current < 2)
		add_next();
}

TEST(an_address_is_not_lost_when_the_filter_grows_twice_while_it_is_added)
{
	void *memory = begin_filter();
	uint32_t missed = 0;

	interrupt = grow_twice;
	add_next();
	CHECK_EQ_U64(filter.current, 2);
	for (uint32_t i = 0; i < used_count; i++)
		missed += !gg_filter_maybe(&filter, (void *)(uintptr_t)addresses[i]);
	CHECK_MSG(missed == 0, "%u missed", missed);
	free(memory);
}
