/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_runtime_history - shows which samples the agent remembers, and that readers find them whole.
 */
#include "runtime/history.h"

#include <pthread.h>

#include "base/compiler.h"
#include "runtime/process.h"
#include "test.h"

/* Makes a sample from its id alone, so that a reader of a record can check every member. */
static struct gg_region_sample sample_of(uint64_t id)
{
	return (struct gg_region_sample){ .id = id,
		                          .address = id << 12,
		                          .time_ns = id * 10,
		                          .size_bytes = id % 1000 + 1,
		                          .stack = (uint32_t)(id % 77),
		                          .thread = (uint16_t)(id % 7) };
}

static bool is_whole(const struct gg_history_record *record)
{
	struct gg_region_sample sample = sample_of(record->id);

	return record->alloc_ns == sample.time_ns && record->size_bytes == sample.size_bytes &&
	       record->alloc_stack == sample.stack && record->alloc_thread == sample.thread &&
	       (record->free_ns == 0 ||
	        (record->free_ns == record->id * 10 + 5 && record->free_stack == record->id % 55));
}

static void allocate(uint64_t id)
{
	struct gg_region_sample sample = sample_of(id);

	gg_history_allocated(&sample);
}

static void release(uint64_t id)
{
	struct gg_region_sample sample = sample_of(id);

	gg_history_freed(&sample, id * 10 + 5, (uint32_t)(id % 55), (uint16_t)(id % 3));
}

static void keep(uint32_t most)
{
	const struct gg_history_request request = { .set_recent = true, .recent = most };

	CHECK_EQ_I64(gg_history_calls.set(&request), 0);
}

static void log_now(bool wish)
{
	const struct gg_history_request wanted = { .set_log = true, .log = wish };

	CHECK_EQ_I64(gg_history_calls.set(&wanted), 0);
}

static uint32_t read_all(enum gg_history_kind kind, uint64_t *first, uint64_t *last)
{
	struct gg_history_record record;
	uint32_t count = 0;

	*first = *last = 0;
	for (uint32_t i = 0; (i = gg_history_calls.next(kind, i, &record)) != 0; count++) {
		CHECK(is_whole(&record));
		*first = count == 0 ? record.id : *first;
		CHECK(kind == GG_HISTORY_LOG || record.id > *last);
		*last = record.id;
	}
	return count;
}

/* As if the region had given out ids up to there. */
static void end_at(uint64_t id)
{
	gg_process.region.next_id = id + 1;
}

TEST(nothing_is_remembered_until_somebody_wants_it)
{
	uint64_t first, last;

	CHECK(!gg_history_is_on() && !gg_history_remembers_frees());
	CHECK_EQ_U64(read_all(GG_HISTORY_RECENT, &first, &last), 0);
	CHECK_EQ_U64(read_all(GG_HISTORY_LOG, &first, &last), 0);
}

TEST(the_last_so_many_are_there_oldest_first_with_what_became_of_them)
{
	struct gg_history_record record;
	uint64_t first, last;

	keep(5);
	for (uint64_t id = 1; id <= 200; id++)
		allocate(id);
	end_at(200);
	CHECK(read_all(GG_HISTORY_RECENT, &first, &last) == 5 && first == 196 && last == 200);
	release(198);
	release(3); /* long gone */
	CHECK(gg_history_calls.next(GG_HISTORY_RECENT, 2, &record) == 3 && record.id == 198);
	CHECK_EQ_U64(record.free_ns, 1985);
	CHECK(gg_history_calls.next(GG_HISTORY_RECENT, 3, &record) == 4 && record.free_ns == 0);
}

/* As in jemalloc: what has left the list does not come back. */
TEST(a_longer_memory_has_what_the_list_had_and_what_comes)
{
	uint64_t first, last;

	keep(1000);
	CHECK(read_all(GG_HISTORY_RECENT, &first, &last) == 5 && first == 196 && last == 200);
	for (uint64_t id = 201; id <= 3000; id++)
		allocate(id);
	end_at(3000);
	CHECK(read_all(GG_HISTORY_RECENT, &first, &last) == 1000 && first == 2001);
	keep(10);
	CHECK(read_all(GG_HISTORY_RECENT, &first, &last) == 10 && first == 2991);
	keep(3);
	keep(4);
	CHECK(read_all(GG_HISTORY_RECENT, &first, &last) == 3 && first == 2998);
	allocate(3001);
	end_at(3001);
	CHECK(read_all(GG_HISTORY_RECENT, &first, &last) == 4 && first == 2998);
	keep(0);
	CHECK(read_all(GG_HISTORY_RECENT, &first, &last) == 0 && !gg_history_is_on());
	keep(10);
	CHECK_EQ_U64(read_all(GG_HISTORY_RECENT, &first, &last), 0);
	allocate(3002);
	end_at(3002);
	CHECK(read_all(GG_HISTORY_RECENT, &first, &last) == 1 && first == 3002);
	keep(0);
}

TEST(mappings_and_heaps_of_the_program_are_no_part_of_it)
{
	struct gg_region_sample mapping = sample_of(3011), object = sample_of(3012);
	uint64_t first, last;

	mapping.flags = GG_REGION_SAMPLE_MAPPING;
	object.heap = 1;
	keep(10);
	for (uint64_t id = 3003; id <= 3010; id++)
		allocate(id);
	gg_history_allocated(&mapping);
	gg_history_allocated(&object);
	end_at(3012);
	CHECK(read_all(GG_HISTORY_RECENT, &first, &last) == 8 && last == 3010);
	keep(0);
}

TEST(a_log_has_the_frees_from_its_start_to_its_end)
{
	uint64_t first, last;

	log_now(true);
	for (uint64_t id = 10; id < 20; id++)
		release(id);
	log_now(false);
	CHECK(read_all(GG_HISTORY_LOG, &first, &last) == 10 && first == 10 && last == 19);
	CHECK_EQ_U64(gg_history_calls.dropped(), 0);
	log_now(true);
	CHECK_EQ_U64(read_all(GG_HISTORY_LOG, &first, &last), 0);
	log_now(false);
}

TEST(what_a_log_has_no_place_for_is_counted)
{
	uint64_t first, last;

	log_now(true);
	for (uint64_t id = 1; id <= GG_HISTORY_LOG_MAX + 7; id++)
		release(id);
	CHECK_EQ_U64(gg_history_calls.dropped(), 7);
	CHECK_EQ_U64(read_all(GG_HISTORY_LOG, &first, &last), GG_HISTORY_LOG_MAX);
	log_now(true);
	CHECK_EQ_U64(gg_history_calls.dropped(), 0);
	log_now(false);
}

TEST(classes_add_up_what_was_asked_for)
{
	const struct gg_history_request on = { .set_classes = true, .classes = true },
					off = { .set_classes = true };
	struct gg_history_sum live, allocated;

	gg_history_calls.set(&on);
	for (uint64_t id = 0; id < 1000; id++) /* sizes 1 to 1000 */
		allocate(id);
	gg_history_calls.set(&off);
	gg_history_calls.class_sums(gg_history_class(1000), &live, &allocated);
	/* 897 to 1000. */
	CHECK(allocated.count == 104 && allocated.size_bytes == 104 * (897 + 1000) / 2);
	CHECK_EQ_U64(live.count, 0);
}

enum { THREADS = 8, ROUNDS = 20000 };
static uint64_t next_id = 10000;

static void *hammer(void *argument)
{
	uint64_t first, last;
	int thread = *(const int *)argument;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t id = __atomic_fetch_add(&next_id, 1, __ATOMIC_RELAXED);

		allocate(id);
		release(id - (uint64_t)(i % 50));
		if (thread == 0 && i % 2000 == 0)
			keep(i % 4000 == 0 ? 300 : 3000);
		if (thread == 1 && i % 5000 == 0)
			log_now(i % 10000 == 0);
		if (thread == 2 && i % 2000 == 0)
			read_all(GG_HISTORY_RECENT, &first, &last);
	}
	return NULL;
}

/* Readers find whole records while other threads record, free, log, or change what is kept. */
TEST(eight_threads_at_once_leave_whole_records)
{
	pthread_t threads[THREADS];
	int numbers[THREADS];
	uint64_t first, last;

	keep(300);
	for (int i = 0; i < THREADS; i++) {
		numbers[i] = i;
		CHECK_EQ_I64(pthread_create(&threads[i], NULL, hammer, &numbers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	end_at(next_id - 1);
	CHECK(read_all(GG_HISTORY_RECENT, &first, &last) > 250 && last >= next_id - 100);
}
