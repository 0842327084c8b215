/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_region_threads - lets many threads write one region, and compares it with a model.
 *
 * Other tests add a reader beside them, and forks.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "region.h"
#include "region/ring.h"
#include "test.h"

enum {
	THREADS = 4,
#ifdef GG_CHAOS
	ROUNDS = 4000, /* each takes longer, and finds more */
#else
	ROUNDS = 40000,
#endif
	EXCHANGE = 256, /* places where threads leave blocks for others to free */
	STACKS = 50
};

static struct gg_region region;
static uint64_t exchange[EXCHANGE];
static uint64_t allocated_bytes, freed_bytes, recorded_count;
static bool stop;

static bool begin(uint32_t live, uint32_t rows)
{
	struct gg_region_options options;

	region_small_options(&options);
	options.capacities[GG_TABLE_SLOTS] = 64;
	options.capacities[GG_TABLE_THREADS] = 256;
	options.capacities[GG_TABLE_LIVE] = live;
	options.capacities[GG_TABLE_SITE_TOTALS] = rows;
	options.capacities[GG_TABLE_STACKS] = 1 << 15; /* also if all threads make each node */
	return CHECK(region_make(&region, &options));
}

static uint32_t intern(struct gg_region_thread *thread, uint64_t number)
{
	uint64_t pcs[] = { number % STACKS + 1, number % STACKS / 7 + 100, 3 };

	return gg_region_intern(&region, thread, pcs, 3);
}

static uint64_t size_of(uint64_t address)
{
	return gg_hash_integer(address, 5) % 100000 + 1;
}

static bool release(struct gg_region_thread *thread, uint64_t address)
{
	return gg_live_maybe(&region, (void *)(uintptr_t)address) &&
	       gg_region_record_free(&region, thread, (void *)(uintptr_t)address, 0, address + 99,
	                             7);
}

/* Allocates a block of its own, leaves it in a random place, and frees what it finds there. */
static void *hammer(void *context)
{
	uint64_t number = (uint64_t)(uintptr_t)context, random = number + 1;
	uint64_t allocated = 0, freed = 0, recorded = 0;
	struct gg_region_thread thread;

	gg_region_thread_begin(&region, &thread, (uint32_t)number, "hammer", 0);
	for (uint64_t i = 0; i < ROUNDS; i++) {
		uint64_t address = (number + 1) << 40 | (i + 1) * 16, other;
		struct gg_allocation sample = region_sample(
			address, size_of(address), intern(&thread, region_random(&random)));

		if (gg_region_record_alloc(&region, &thread, &sample) != 0) {
			allocated += sample.size_bytes;
			recorded++;
		}
		other = gg_exchange_acq_rel(&exchange[region_random(&random) % EXCHANGE], address);
		if (other != 0 && release(&thread, other))
			freed += size_of(other);
		if (i % 1000 == 999) { /* threads come and go */
			gg_region_thread_end(&region, &thread, i);
			gg_region_thread_begin(&region, &thread, (uint32_t)number, "again", i);
		}
	}
	gg_region_thread_end(&region, &thread, 1);
	gg_add_relaxed(&allocated_bytes, allocated);
	gg_add_relaxed(&freed_bytes, freed);
	gg_add_relaxed(&recorded_count, recorded);
	return NULL;
}

/* Reads all the while.  A copy that is of one instant must be consistent. */
static void *read_along(void *unused)
{
	struct gg_region_view view;
	struct gg_error error;
	int whole_count = 0;

	(void)unused;
	while (!gg_load_acquire(&stop)) {
		if (!CHECK_EQ_I64(gg_region_view_read(&view, region.map.fd, "region", &error), 0))
			break;
		CHECK(view.torn || gg_region_view_check(&view, NULL) == 0);
		CHECK_EQ_U64(view.damaged_count, 0);
		whole_count += !view.torn;
		gg_region_view_done(&view);
	}
	return (void *)(intptr_t)whole_count;
}

static void *drain(void *unused)
{
	struct gg_ring_reader reader;
	struct gg_region_event events[16];
	uint64_t count = 0;

	(void)unused;
	if (!CHECK_EQ_I64(gg_ring_open(&reader, region.map.fd), 0))
		return NULL;
	for (bool last = false; !last;) {
		last = gg_load_acquire(&stop);
		for (int got; (got = gg_ring_read(&reader, events, 16, false)) != 0;) {
			if (!CHECK(got > 0))
				return NULL;
			count += (uint64_t)got;
			for (int i = 0; i < got; i++)
				CHECK_EQ_U64(events[i].sample.size_bytes,
				             size_of(events[i].sample.address));
		}
	}
	return (void *)(uintptr_t)count;
}

static void run(uint32_t live, uint32_t rows)
{
	pthread_t threads[THREADS], reader, drainer;
	void *drained;

	memset(exchange, 0, sizeof(exchange));
	allocated_bytes = freed_bytes = recorded_count = 0;
	stop = false;
	if (!begin(live, rows))
		return;
	pthread_create(&reader, NULL, read_along, NULL);
	pthread_create(&drainer, NULL, drain, NULL);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, hammer, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	gg_store_release(&stop, true);
	pthread_join(reader, NULL);
	pthread_join(drainer, &drained);
	CHECK(region_is_valid(&region));

	struct gg_region_view view;
	if (CHECK(region_view(&region, &view))) {
		struct gg_region_totals totals = gg_region_view_totals(&view);
		const uint64_t *counters = view.header.counters;

		CHECK_EQ_U64(totals.allocated.size_bytes, allocated_bytes);
		CHECK_EQ_U64(totals.freed.size_bytes, freed_bytes);
		CHECK_EQ_U64(counters[GG_COUNT_SAMPLES], recorded_count);
		CHECK_EQ_U64(counters[GG_COUNT_MISSED_FREES], 0);
		CHECK_EQ_U64((uint64_t)(uintptr_t)drained, counters[GG_COUNT_EVENTS]);
		CHECK_EQ_U64(counters[GG_COUNT_EVENTS] + counters[GG_COUNT_DROP_EVENTS],
		             counters[GG_COUNT_SAMPLES] + counters[GG_COUNT_FREES]);
		/* One id a stack, however many threads meet it at once: the same pcs once. */
		CHECK(view.node_count >= STACKS);
		gg_region_view_done(&view);
	}
	gg_region_done(&region, true);
}

TEST(threads_that_free_each_others_blocks_leave_exact_totals)
{
	run(4096, 4096);
}

TEST(threads_without_room_for_rows_and_samples_leave_exact_totals)
{
	run(128, 60);
}

/* --- two threads close the same sample --- */

enum { RACES = ROUNDS / 2 };

static struct {
	uint64_t id, turn, closed_by_id;
} race;

/* Moved by realloc: closes the sample by its id, while another thread has its address already. */
static void *close_by_id(void *unused)
{
	struct gg_region_thread thread;

	(void)unused;
	gg_region_thread_begin(&region, &thread, 2, "closer", 0);
	for (uint64_t i = 1; i <= RACES; i++) {
		/* Pairs with the release of each turn: the id is that of this round. */
		while (gg_load_acquire(&race.turn) != 2 * i - 1)
			sched_yield();
		race.closed_by_id += gg_region_record_free(&region, &thread, (void *)0x1000,
		                                           race.id, i, 0);
		gg_store_release(&race.turn, 2 * i);
	}
	return NULL;
}

TEST(a_sample_that_two_threads_close_is_closed_once)
{
	struct gg_region_thread thread;
	struct gg_region_view view;
	pthread_t closer;

	memset(&race, 0, sizeof(race));
	if (!begin(64, 64))
		return;
	gg_region_thread_begin(&region, &thread, 1, "reuser", 0);
	pthread_create(&closer, NULL, close_by_id, NULL);
	for (uint64_t i = 1; i <= RACES; i++) {
		struct gg_allocation sample = region_sample(0x1000, 10, intern(&thread, i));

		race.id = gg_region_record_alloc(&region, &thread, &sample);
		CHECK(race.id != 0);
		gg_store_release(&race.turn, 2 * i - 1);
		/*
		 * Closes that one too, as a missed free, and opens the next.  With so few rows they
		 * share one; a sample is dropped if the other thread was stopped while it had it.
		 */
		while (gg_region_record_alloc(&region, &thread, &sample) == 0)
			sched_yield();
		while (gg_load_acquire(&race.turn) != 2 * i)
			sched_yield();
		CHECK(release(&thread, 0x1000));
	}
	pthread_join(closer, NULL);
	CHECK(region_is_valid(&region));
	if (CHECK(region_view(&region, &view))) {
		const uint64_t *counters = view.header.counters;

		CHECK_EQ_U64(view.live_count, 0);
		CHECK_EQ_U64(counters[GG_COUNT_MISSED_FREES] + race.closed_by_id, RACES);
		CHECK_EQ_U64(counters[GG_COUNT_FREES], RACES + race.closed_by_id);
		gg_region_view_done(&view);
	}
	gg_region_done(&region, true);
}

static void *intern_all(void *context)
{
	uint32_t *ids = context;
	struct gg_region_thread thread;

	gg_region_thread_begin(&region, &thread, 1, NULL, 0);
	for (uint64_t i = 0; i < 2000; i++) {
		uint64_t pcs[] = { i, i / 2 + 5000, i / 4 + 8000 };

		ids[i] = gg_region_intern(&region, &thread, pcs, 3);
	}
	gg_region_thread_end(&region, &thread, 1);
	return NULL;
}

TEST(a_stack_has_one_id_whichever_thread_is_first)
{
	static uint32_t ids[THREADS][2000];
	pthread_t threads[THREADS];

	if (!begin(16, 16))
		return;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, intern_all, ids[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 1; i < THREADS; i++)
		CHECK_EQ_I64(memcmp(ids[0], ids[i], sizeof(ids[0])), 0);
	gg_region_done(&region, true);
}

TEST(a_slot_that_is_found_in_a_search_is_one_that_readers_look_at)
{
	struct gg_region_thread thread;
	uint64_t *slots_used;

	if (!begin(16, 16))
		return;
	slots_used = &gg_region_table_of(region.header, GG_TABLE_SLOTS)->used_count;
	gg_region_thread_begin(&region, &thread, 1, "first", 0);
	gg_region_thread_end(&region, &thread, 0);
	/* As if the thread that took it as new stood still before it said so. */
	gg_store_relaxed(slots_used, 0);
	gg_region_thread_begin(&region, &thread, 2, "second", 0);
	CHECK_EQ_U64(thread.slot_plus_1, 1);
	CHECK_EQ_U64(gg_load_relaxed(slots_used), 1);
	gg_region_done(&region, true);
}

/* --- against a model --- */

enum { BLOCKS = 300 };

TEST(random_operations_agree_with_a_simple_model)
{
	uint64_t sizes[BLOCKS] = { 0 }, random = 99, bytes = 0, frees = 0, missed = 0;
	uint64_t stack_bytes[STACKS] = { 0 };
	uint32_t stacks[BLOCKS] = { 0 };
	struct gg_region_thread thread;
	struct gg_region_view view;

	if (!begin(512, 4096))
		return;
	gg_region_thread_begin(&region, &thread, 1, "model", 0);
	for (int i = 0; i < 200000; i++) {
		uint64_t r = region_random(&random);
		uint32_t block = (uint32_t)(r % BLOCKS), stack = (uint32_t)(r >> 20) % STACKS;
		uint64_t address = 0x7000 + block * 16;

		if (r >> 60 < 7) { /* a free, perhaps of a missing block */
			CHECK_EQ_I64(release(&thread, address), sizes[block] != 0);
			frees += sizes[block] != 0;
			stack_bytes[stacks[block]] -= sizes[block];
			bytes -= sizes[block];
			sizes[block] = 0;
			continue;
		}
		struct gg_allocation sample = region_sample(address, r >> 30 & 0xffff,
		                                            intern(&thread, stack));
		CHECK(gg_region_record_alloc(&region, &thread, &sample) != 0);
		missed += sizes[block] != 0;
		stack_bytes[stacks[block]] -= sizes[block];
		bytes += sample.size_bytes + 1 - sizes[block];
		sizes[block] = sample.size_bytes + 1; /* a size may be 0 */
		stack_bytes[stack] += sizes[block];
		stacks[block] = stack;
	}
	if (CHECK(region_view(&region, &view))) {
		CHECK_EQ_U64(view.header.counters[GG_COUNT_MISSED_FREES], missed);
		CHECK_EQ_U64(view.header.counters[GG_COUNT_FREES], frees);
		for (uint32_t i = 0; i < view.live_count; i++) {
			uint64_t pcs[3];

			CHECK_EQ_U64(gg_region_view_stack(&view, view.live[i].stack, pcs, 3), 3);
			stack_bytes[pcs[0] - 1] -= view.live[i].size_bytes + 1;
			bytes -= view.live[i].size_bytes + 1;
		}
		CHECK_EQ_U64(bytes, 0);
		for (int i = 0; i < STACKS; i++)
			CHECK_EQ_U64(stack_bytes[i], 0);
		CHECK_EQ_I64(gg_region_view_check(&view, NULL), 0);
		gg_region_view_done(&view);
	}
	gg_region_done(&region, true);
}

/* --- fork --- */

enum { FORKED_LIVE = 300 };

static void record_block(struct gg_region_thread *thread, uint64_t address)
{
	struct gg_allocation sample = region_sample(address, size_of(address),
	                                            intern(thread, address));

	CHECK(gg_region_record_alloc(&region, thread, &sample) != 0);
}

/* In the child: what was live at the fork, and nothing that the parent did since. */
static int check_child(int parent_is_done)
{
	struct gg_region_options options;
	struct gg_region_file map;
	struct gg_region_view view;
	struct gg_region_thread thread;
	char byte;

	test_failed = false;
	CHECK_EQ_I64(read(parent_is_done, &byte, 1), 1);
	region_small_options(&options);
	options.pid = 8;
	CHECK_EQ_I64(gg_region_file_create_anonymous(&map, "child", region.map.bytes), 0);
	if (!CHECK_EQ_I64(gg_region_adopt(&region, &map, &options), 0))
		return 1;
	if (CHECK(region_view(&region, &view)) && CHECK_EQ_U64(view.live_count, FORKED_LIVE)) {
		uint64_t pcs[3];

		CHECK_EQ_U64(view.header.pid, 8);
		CHECK_EQ_U64(view.header.counters[GG_COUNT_INHERITED], FORKED_LIVE);
		CHECK_EQ_U64(view.header.inherited_below_id, FORKED_LIVE + 101);
		CHECK_EQ_I64(gg_region_view_check(&view, NULL), 0);
		CHECK(view.threads[1].tid == 1 && view.threads[1].end_ns != 0);
		for (uint32_t i = 0; i < view.live_count; i++) {
			const struct gg_region_sample *sample = &view.live[i];

			CHECK_EQ_U64(sample->size_bytes, size_of(sample->address));
			CHECK_EQ_U64(gg_region_view_stack(&view, sample->stack, pcs, 3), 3);
			CHECK_EQ_U64(pcs[0], sample->address % STACKS + 1);
		}
		gg_region_view_done(&view);
	}
	gg_region_thread_begin(&region, &thread, 9, "child", 0);
	CHECK_EQ_I64(thread.thread, 2);
	for (uint64_t i = 101; i <= FORKED_LIVE + 100; i++)
		CHECK_EQ_I64(release(&thread, i * 16), i <= FORKED_LIVE + 100);
	CHECK(!release(&thread, 5 * 16)); /* freed before the fork */
	record_block(&thread, 0x999990);
	CHECK(region_is_valid(&region));
	if (CHECK(region_view(&region, &view))) {
		CHECK(view.live_count == 1 && view.live[0].id == FORKED_LIVE + 101);
		gg_region_view_done(&view);
	}
	return test_failed;
}

TEST(a_forked_child_has_what_was_live_at_the_fork)
{
	struct gg_region_thread thread;
	int pipe_ends[2], wait_status = -1;
	pid_t pid;

	if (!begin(512, 1024) || !CHECK_EQ_I64(pipe(pipe_ends), 0))
		return;
	gg_region_thread_begin(&region, &thread, 1, "parent", 0);
	for (uint64_t i = 1; i <= FORKED_LIVE + 100; i++)
		record_block(&thread, i * 16);
	for (uint64_t i = 1; i <= 100; i++)
		CHECK(release(&thread, i * 16));
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(check_child(pipe_ends[0]));
	/* The parent frees all and uses every place again before the child looks. */
	for (uint64_t i = 101; i <= FORKED_LIVE + 100; i++)
		CHECK(release(&thread, i * 16));
	for (uint64_t i = 1; i <= 500; i++)
		record_block(&thread, 0x100000 + i * 16);
	CHECK_EQ_I64(write(pipe_ends[1], "x", 1), 1);
	waitpid(pid, &wait_status, 0);
	CHECK(WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0);
	CHECK(region_is_valid(&region));
	close(pipe_ends[0]);
	close(pipe_ends[1]);
	gg_region_done(&region, true);
}

/* Makes the region that of a child, as in a forked process. */
static bool adopt(void)
{
	struct gg_region_options options;
	struct gg_region_file map;

	region_small_options(&options);
	options.pid = 8;
	return CHECK_EQ_I64(gg_region_file_create_anonymous(&map, "child", region.map.bytes), 0) &&
	       CHECK_EQ_I64(gg_region_adopt(&region, &map, &options), 0);
}

struct told {
	uint64_t inherited_count, allocated_count, freed_count, overflow_count;
	uint64_t inherited_freed_count; /* of freed_count, in totals of inherited blocks */
	bool tells;
};

static struct told told(void)
{
	struct told told = { 0 };
	struct gg_region_view view;

	CHECK(region_is_valid(&region));
	if (!CHECK(region_view(&region, &view)))
		return told;
	told.tells = gg_region_view_tells_inherited(&view);
	for (uint32_t i = 0; i < view.site_total_count; i++) {
		const struct gg_region_site_total *total = &view.site_totals[i];

		*(total->is_inherited == 1
		          ? &told.inherited_count
		          : &told.allocated_count) += total->allocated.sample_count;
		told.freed_count += total->freed.sample_count;
		if (total->is_inherited == 1)
			told.inherited_freed_count += total->freed.sample_count;
		if (total->stack == GG_STACK_OVERFLOW)
			told.overflow_count += total->allocated.sample_count;
	}
	gg_region_view_done(&view);
	return told;
}

/* Parent and child have threads without a record, and allocate at the same stacks. */
TEST(what_was_live_at_a_fork_has_totals_of_its_own)
{
	struct gg_region_thread thread, unknown;
	struct told found;

	if (!begin(512, 1024))
		return;
	gg_region_thread_begin(&region, &thread, 1, "parent", 0);
	gg_region_thread_resume(&region, &unknown, 0);
	for (uint64_t i = 1; i <= 200; i++)
		record_block(i % 2 ? &thread : &unknown, i * 16);
	found = told();
	CHECK(found.tells && found.inherited_count == 0 && found.allocated_count == 200);
	for (int generation = 1; generation <= 2; generation++) {
		uint64_t base = (uint64_t)generation * 0x100000;

		if (!adopt())
			return;
		gg_region_thread_begin(&region, &thread, 9, "child", 0);
		gg_region_thread_resume(&region, &unknown, 0);
		for (uint64_t i = 1; i <= 100; i++)
			record_block(i % 2 ? &thread : &unknown, base + i * 16);
		for (uint64_t i = 1; i <= 40; i++) /* inherited ones */
			CHECK(release(i % 3 ? &thread : &unknown,
			              (uint64_t)generation * 640 + i * 16));
		for (uint64_t i = 1; i <= 30; i++)
			CHECK(release(i % 3 ? &thread : &unknown, base + i * 16));
		found = told();
		CHECK(found.tells);
		CHECK_EQ_U64(found.inherited_count, generation == 1 ? 200 : 230);
		CHECK_EQ_U64(found.allocated_count, 100);
		CHECK_EQ_U64(found.freed_count, 70);
		CHECK_EQ_U64(found.inherited_freed_count, 0);
	}
	gg_region_done(&region, true);
}

/* Its samples count in the stack that represents all without totals, not in inherited ones. */
TEST(a_child_without_space_for_totals_of_its_own_leaves_inherited_ones_alone)
{
	struct gg_region_thread thread;
	struct told found;

	if (!begin(512, 26)) /* of 25 stacks, and the first one */
		return;
	gg_region_thread_begin(&region, &thread, 1, "parent", 0);
	for (uint64_t i = 1; i <= 40; i++)
		record_block(&thread, i * 16);
	if (!adopt())
		return;
	gg_region_thread_begin(&region, &thread, 9, "child", 0);
	for (uint64_t i = 1; i <= 10; i++)
		record_block(&thread, 0x100000 + i * 16);
	found = told();
	CHECK(found.tells && found.inherited_count == 40 && found.allocated_count == 10);
	CHECK_EQ_U64(found.overflow_count, 10);
	/* Nor do inherited blocks stay live that it frees. */
	for (uint64_t i = 1; i <= 40; i++)
		CHECK(release(&thread, i * 16));
	for (uint64_t i = 1; i <= 10; i++)
		CHECK(release(&thread, 0x100000 + i * 16));
	found = told();
	CHECK(found.tells && found.inherited_count == 40 && found.allocated_count == 10);
	CHECK(found.freed_count == 50 && found.inherited_freed_count == 40);
	gg_region_done(&region, true);
}

/* Forks while other threads are in the middle of everything. */
TEST(a_fork_between_threads_leaves_a_consistent_child)
{
	pthread_t threads[2];

#if defined(__SANITIZE_THREAD__)
	/* gcc 12: StaticSpinMutex of the slab of sync variables, held at the fork, for ever. */
	SKIP("the thread sanitizer's own locks do not survive a fork between threads");
#endif
	if (!begin(4096, 4096))
		return;
	memset(exchange, 0, sizeof(exchange));
	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, hammer, (void *)i);
	fflush(stdout);
	for (int i = 0; i < 20 && !test_failed; i++) {
		int wait_status = -1;
		pid_t pid = fork();

		if (pid == 0) {
			struct gg_region_options options;
			struct gg_region_file map;
			struct gg_region_thread thread;

			region_small_options(&options);
			if (gg_region_file_create_anonymous(&map, "child", region.map.bytes) < 0 ||
			    gg_region_adopt(&region, &map, &options) < 0)
				_exit(2);
			gg_region_thread_begin(&region, &thread, 1, NULL, 0);
			for (uint64_t j = 1; j < 2000; j++)
				record_block(&thread, 0x50000000 + j * 16);
			for (uint64_t j = 1; j < 2000; j++)
				if (!release(&thread, 0x50000000 + j * 16))
					_exit(3);
			_exit(region_is_valid(&region) && !test_failed ? 0 : 4);
		}
		waitpid(pid, &wait_status, 0);
		CHECK_MSG(wait_status == 0, "child %d: status %x", i, (unsigned)wait_status);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	CHECK(region_is_valid(&region));
	gg_region_done(&region, true);
}
