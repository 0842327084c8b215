/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_region_exact - compares exact counts with a model, before every store of the writer.
 *
 * GG_REGION_STEP stops the writer before every store to the file, as a kill at that store would.
 */
#include <stdlib.h>

#include "region.h"
#include "region/writer/exact.h"
#include "region/writer/stack_table.h"
#include "region/writer/step.h"
#include "test.h"

enum { STACKS = 7, BLOCKS = 64, STEPS = 20000, VIEWED_STEPS = 600, THREADS = 2 };

struct sums {
	uint64_t allocated_count, allocated_bytes, freed_count, freed_bytes;
	uint64_t temporary_count, temporary_bytes;
};

static struct gg_region region;
static struct gg_exact exact;
static struct gg_region_thread threads[THREADS];
static uint32_t stacks[STACKS];

/* The sums before and after the operation under way, and the blocks. */
static struct model {
	struct sums before[STACKS], after[STACKS];
	uint64_t live_bytes, peak_bytes;
	uint64_t addresses[BLOCKS], sizes[BLOCKS];
	int stack_of[BLOCKS];
	int last[THREADS]; /* block that the thread allocated last; -1: none, or freed */
	uint64_t now_ns;
} model;

static bool looks;
static uint64_t look_count;

static struct sums sums_of(const struct gg_exact_sums *from)
{
	return (struct sums){ from->allocated_count, from->allocated_bytes, from->freed_count,
		              from->freed_bytes,     from->temporary_count, from->temporary_bytes };
}

static void add(struct sums *to, const struct sums *from)
{
	to->allocated_count += from->allocated_count;
	to->allocated_bytes += from->allocated_bytes;
	to->freed_count += from->freed_count;
	to->freed_bytes += from->freed_bytes;
	to->temporary_count += from->temporary_count;
	to->temporary_bytes += from->temporary_bytes;
}

/* By stack: what the region counts now, or counted at the noted peak. */
static void sum_view(const struct gg_region_view *view, bool at_peak, struct sums sums[STACKS])
{
	memset(sums, 0, STACKS * sizeof(*sums));
	for (uint32_t i = 0; i < view->site_total_count; i++) {
		const struct gg_exact_total *total = &view->exact_totals[i];
		struct gg_exact_sums row = at_peak ? gg_exact_total_at_peak(
							     total, view->header.exact.peak_number)
		                                   : gg_exact_total_sums(total);
		struct sums part = sums_of(&row);

		for (int stack = 0; stack < STACKS; stack++)
			if (stacks[stack] == total->stack)
				add(&sums[stack], &part);
	}
}

void gg_region_step(void)
{
	struct sums seen[STACKS];
	struct gg_region_view view;

	if (!looks || !CHECK(region_view(&region, &view)))
		return;
	look_count++;
	CHECK_EQ_U64(view.damaged_count, 0);
	CHECK(gg_region_view_check(&view, NULL) == 0);
	sum_view(&view, false, seen);
	for (int i = 0; i < STACKS; i++)
		CHECK_MSG(memcmp(&seen[i], &model.before[i], sizeof(seen[i])) == 0 ||
		                  memcmp(&seen[i], &model.after[i], sizeof(seen[i])) == 0,
		          "stack %d: %" PRIu64 " of %" PRIu64 " freed", i, seen[i].freed_bytes,
		          model.after[i].freed_bytes);
	gg_region_view_done(&view);
}

static void setup(uint64_t most_count)
{
	struct gg_region_options options;

	region_small_options(&options);
	options.exact = true;
	looks = false;
	memset(&model, 0, sizeof(model));
	REQUIRE(region_make(&region, &options));
	REQUIRE(gg_exact_init(&exact, &region, most_count));
	for (uint32_t i = 0; i < THREADS; i++) {
		memset(&threads[i], 0, sizeof(threads[i]));
		gg_region_thread_begin(&region, &threads[i], i + 1, "a", 0);
		model.last[i] = -1;
	}
	for (uint64_t i = 0; i < STACKS; i++) {
		uint64_t pcs[2] = { 1000 + i, 5 };

		stacks[i] = gg_region_intern(&region, &threads[0], pcs, 2);
	}
}

static void teardown(void)
{
	looks = false;
	gg_exact_done(&exact);
	gg_region_done(&region, true);
}

static void allocate(int thread, int block, int stack, uint64_t bytes)
{
	struct sums *sums = &model.after[stack];

	sums->allocated_count++;
	sums->allocated_bytes += bytes;
	model.live_bytes += bytes;
	if (model.live_bytes > model.peak_bytes)
		model.peak_bytes = model.live_bytes;
	model.addresses[block] = 0x10000 + 16 * (uint64_t)block;
	model.sizes[block] = bytes;
	model.stack_of[block] = stack;
	model.last[thread] = block;
	gg_exact_allocated(&exact, &threads[thread], (void *)(uintptr_t)model.addresses[block],
	                   bytes, stacks[stack], ++model.now_ns);
	memcpy(model.before, model.after, sizeof(model.before));
}

static void release(int thread, int block)
{
	struct sums *sums = &model.after[model.stack_of[block]];
	struct gg_exact_block freed;
	bool is_temporary = model.last[thread] == block;

	REQUIRE(gg_exact_take(&exact, (void *)(uintptr_t)model.addresses[block], &freed));
	CHECK_EQ_U64(freed.size_bytes, model.sizes[block]);
	sums->freed_count++;
	sums->freed_bytes += model.sizes[block];
	sums->temporary_count += is_temporary;
	sums->temporary_bytes += is_temporary ? model.sizes[block] : 0;
	model.live_bytes -= model.sizes[block];
	model.addresses[block] = 0;
	model.last[thread] = -1;
	gg_exact_freed(&exact, &threads[thread], &freed, is_temporary, ++model.now_ns);
	memcpy(model.before, model.after, sizeof(model.before));
}

static void check_peak(const struct sums at_peak[STACKS], uint64_t noted_bytes)
{
	struct sums seen[STACKS];
	struct gg_region_view view;

	if (!CHECK(region_view(&region, &view)))
		return;
	CHECK_EQ_U64(view.header.exact.peak_bytes, model.peak_bytes);
	/* The state at the noted peak, to the last byte; it is within 1/1024 of the peak. */
	sum_view(&view, true, seen);
	CHECK(view.header.exact.peak_number == 0 || memcmp(seen, at_peak, sizeof(seen)) == 0);
	CHECK(noted_bytes + noted_bytes / 1024 >= model.peak_bytes ||
	      model.live_bytes > noted_bytes);
	gg_region_view_done(&view);
}

static void run(int steps)
{
	struct sums at_peak[STACKS] = { 0 };
	uint64_t random = 12345, noted_bytes = 0;

	for (int i = 0; i < steps; i++) {
		uint64_t drawn = region_random(&random);
		int block = (int)(drawn % BLOCKS), thread = (int)(drawn >> 20 & 1);
		uint32_t number = exact.peak_number;

		if (model.addresses[block] != 0) {
			struct sums before[STACKS];
			uint64_t live_bytes = model.live_bytes;

			memcpy(before, model.before, sizeof(before));
			release(thread, block);
			if (exact.peak_number != number) {
				memcpy(at_peak, before, sizeof(before));
				noted_bytes = live_bytes;
			}
		} else {
			allocate(thread, block, (int)((drawn >> 30) % STACKS),
			         drawn >> 40 & 0xffff);
			CHECK_EQ_U64(exact.peak_number, number);
		}
		if (i % 64 == 0)
			check_peak(at_peak, noted_bytes);
	}
	check_peak(at_peak, noted_bytes);
	CHECK(exact.peak_number > 10);
}

TEST(a_kill_at_any_store_leaves_the_state_before_or_after_the_operation)
{
	setup(0);
	looks = true;
	look_count = 0;
	run(VIEWED_STEPS);
	CHECK(look_count > 4 * VIEWED_STEPS);
	teardown();
}

TEST(the_peak_is_exact_in_bytes_and_by_stack)
{
	setup(0);
	run(STEPS);
	teardown();
}

/* The child's clock may be a little behind that of a thread of the parent. */
TEST(a_fork_tells_blocks_apart_whatever_the_clocks_say)
{
	struct gg_region_view view;
	struct gg_exact_block block;
	struct sums seen[STACKS];
	void *const old = (void *)(uintptr_t)64, *const new = (void *)(uintptr_t)640;

	setup(0);
	gg_exact_allocated(&exact, &threads[0], old, 100, stacks[0], 5000);
	REQUIRE(gg_exact_before_fork(&exact));
	gg_exact_adopt(&exact, 4000);
	gg_exact_after_fork(&exact);
	gg_exact_allocated(&exact, &threads[0], new, 30, stacks[1], 4500);
	REQUIRE(gg_exact_take(&exact, old, &block));
	gg_exact_freed(&exact, &threads[0], &block, false, 4600);
	REQUIRE(gg_exact_take(&exact, new, &block));
	gg_exact_freed(&exact, &threads[0], &block, false, 4700);
	REQUIRE(region_view(&region, &view));
	sum_view(&view, false, seen);
	CHECK(seen[0].freed_count == 0 && seen[1].freed_count == 1);
	CHECK_EQ_U64(seen[1].freed_bytes, 30);
	CHECK_EQ_U64(view.header.exact.inherited_count, 1);
	gg_region_view_done(&view);
	teardown();
}

TEST(an_address_that_is_allocated_again_was_freed)
{
	struct gg_region_view view;
	struct sums seen[STACKS];

	setup(0);
	allocate(0, 1, 2, 100);
	gg_exact_allocated(&exact, &threads[1], (void *)(uintptr_t)model.addresses[1], 30,
	                   stacks[3], 9);
	REQUIRE(region_view(&region, &view));
	sum_view(&view, false, seen);
	CHECK_EQ_U64(seen[2].freed_bytes, 100);
	CHECK_EQ_U64(seen[3].allocated_bytes, 30);
	CHECK_EQ_U64(view.header.counters[GG_COUNT_MISSED_FREES], 1);
	CHECK_EQ_U64(gg_exact_live_count(&exact.live), 1);
	gg_region_view_done(&view);
	teardown();
}

TEST(a_full_table_stops_live_tracking_and_allocations_still_count)
{
	struct gg_exact_block freed;
	struct gg_region_view view;
	struct sums seen[STACKS];
	uint64_t count = 100000;

	setup(1000);
	for (uint64_t i = 1; i <= count; i++)
		gg_exact_allocated(&exact, &threads[0], (void *)(uintptr_t)(i * 32), 10, stacks[0],
		                   i);
	CHECK(!gg_exact_take(&exact, (void *)(uintptr_t)32, &freed));
	REQUIRE(region_view(&region, &view));
	sum_view(&view, false, seen);
	CHECK_EQ_U64(seen[0].allocated_count, count);
	CHECK((view.header.exact.flags & GG_REGION_EXACT_STOPPED) != 0);
	CHECK(view.header.exact.stopped_ns > 0 && view.header.exact.stopped_ns < count);
	gg_region_view_done(&view);
	teardown();
}

TEST(a_block_may_have_any_size_below_2_to_48)
{
	struct gg_exact_block freed;
	const uint64_t most = (UINT64_C(1) << 48) - 1;

	setup(0);
	gg_exact_allocated(&exact, &threads[0], (void *)(uintptr_t)most, most, stacks[0], 1);
	REQUIRE(gg_exact_take(&exact, (void *)(uintptr_t)most, &freed));
	CHECK_EQ_U64(freed.size_bytes, most);
	CHECK_EQ_U64(freed.address, most);
	CHECK_EQ_U64(freed.stack, stacks[0]);
	CHECK(!gg_exact_take(&exact, (void *)(uintptr_t)most, &freed));
	teardown();
}

/* How often blocks passed a chunk on the way to their slots. */
static uint64_t passed_in(const struct gg_exact_live *live)
{
	uint64_t count = 0;

	for (int i = 0; i < GG_EXACT_SHARDS; i++)
		for (uint32_t k = 0; k < live->shards[i].chunk_count; k++)
			count += live->shards[i].chunks[k].passed_count;
	return count;
}

TEST(a_million_blocks_take_at_most_40_bytes_each_and_come_back_as_they_were)
{
	enum { COUNT = 1000000 };
	static struct gg_exact_live live;
	struct gg_exact_block block = { .stack = 3 }, other;
	uint64_t chunks = 0, wrong = 0;

	REQUIRE(gg_exact_live_init(&live, 0));
	for (uint64_t i = 1; i <= COUNT; i++) {
		block.address = i * 48;
		block.size_bytes = i;
		block.time_ns = i ^ 77;
		wrong += gg_exact_live_put(&live, &block, &other) != GG_EXACT_PUT;
		/* Every third one goes soon, so that blocks have others before them that go. */
		if (i % 3 == 0)
			wrong += !gg_exact_live_take(&live, (i - 1) * 48, &other);
	}
	for (int i = 0; i < GG_EXACT_SHARDS; i++)
		chunks += live.shards[i].chunk_count;
	CHECK_EQ_U64(gg_exact_live_count(&live), COUNT - COUNT / 3);
	CHECK_MSG(chunks * sizeof(struct gg_exact_chunk) <= 40 * gg_exact_live_count(&live),
	          "%" PRIu64 " chunks", chunks);
	for (uint64_t i = 1; i <= COUNT; i++) {
		bool is_there = gg_exact_live_take(&live, i * 48, &other);

		wrong += is_there != (i % 3 != 2);
		if (is_there)
			wrong += other.size_bytes != i || other.time_ns != (i ^ 77) ||
			         other.stack != 3;
	}
	CHECK_EQ_U64(wrong, 0);
	CHECK_EQ_U64(gg_exact_live_count(&live), 0);
	CHECK_EQ_U64(passed_in(&live), 0);
	gg_exact_live_done(&live);
}

/*
 * Blocks of 8 bytes, side by side: 8 have one home, which has 5 slots.  A row of flags knows which
 * ones are live.
 */
TEST(blocks_that_share_their_homes_are_found_and_gone_as_a_row_of_flags_says)
{
	enum { COUNT = 4096, OPERATIONS = 300000 };
	static struct gg_exact_live live;
	static bool is_live[COUNT];
	struct gg_exact_block block, other;
	uint64_t random = 88172645463325252u, wrong = 0, passed_most = 0, left = 0;

	REQUIRE(gg_exact_live_init(&live, 0));
	for (uint64_t step = 0; step < OPERATIONS; step++) {
		uint64_t i, passed;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		/* More or fewer of them are live, by turns. */
		i = (random >> 8) % (step / 10000 % 2 == 0 ? COUNT : COUNT / 16);
		block = (struct gg_exact_block){ .address = 4096 + 8 * i,
			                         .time_ns = step,
			                         .size_bytes = i + 1,
			                         .stack = (uint32_t)i };
		wrong += gg_exact_live_find(&live, block.address, &other) != is_live[i];
		if (random % 3 != 0) {
			wrong += gg_exact_live_put(&live, &block, &other) !=
			         (is_live[i] ? GG_EXACT_REPLACED : GG_EXACT_PUT);
			is_live[i] = true;
		} else {
			wrong += gg_exact_live_take(&live, block.address, &other) != is_live[i];
			wrong += is_live[i] && (other.stack != i || other.size_bytes != i + 1);
			is_live[i] = false;
		}
		passed = step % 1000 == 0 ? passed_in(&live) : 0;
		passed_most = passed > passed_most ? passed : passed_most;
	}
	CHECK(passed_most > COUNT / 16);
	for (uint64_t i = 0; i < COUNT; i++) {
		bool was_live = gg_exact_live_take(&live, 4096 + 8 * i, &other);

		wrong += was_live != is_live[i];
		left += was_live;
	}
	CHECK(left > 0);
	CHECK_EQ_U64(wrong, 0);
	CHECK_EQ_U64(gg_exact_live_count(&live), 0);
	CHECK_EQ_U64(passed_in(&live), 0);
	gg_exact_live_done(&live);
}
