/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_region_mix - drives the region as the hooks do, but without the hooks.
 *
 * So the thread sanitizer can watch it.  Threads walk their stacks, intern them, and record blocks.
 * Their allocator reuses freed addresses at once, in any thread.  Blocks move before their old
 * record is closed.  Threads end, begin, and change their names; modules come and go.  Meanwhile
 * other threads read the region, drain its ring, and change its control word.  Delays at every
 * atomic operation (chaos.h) make rare orders frequent.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hash.h"
#include "region.h"
#include "region/control.h"
#include "region/ring.h"
#include "test.h"
#include "unwind/unwind.h"

enum {
	THREADS = 4,
	ROUNDS = 4000, /* of a thread; GG_TEST_CHURN: other */
	ADDRESSES = 400,
	HELD = 60 /* blocks of a thread */
};

static struct gg_region region;
static uint64_t free_addresses[ADDRESSES]; /* 0: a thread has the address */
static uint64_t wish_count, seen_wishes, recorded_count;
static uint32_t stop;

__attribute__((constructor)) static void init(void)
{
	gg_unwind_init();
}

struct mixer {
	struct gg_region_thread record;
	struct gg_unwind_thread unwind;
	struct gg_stack_cache stack_cache;
	uint64_t pcs[GG_UNWIND_KEEP], random, held[HELD], seen_change, recorded;
};

/* --- the allocator --- */

/* Any address that is free, the lowest first: so they come back soon.  0: none. */
static uint64_t take_address(void)
{
	for (int i = 0; i < ADDRESSES; i++) {
		/* Acquire: pairs with the release of the thread that gave the address back. */
		uint64_t address = gg_load_relaxed(&free_addresses[i]) == 0
		                           ? 0
		                           : gg_exchange_acq_rel(&free_addresses[i], 0);

		if (address != 0)
			return address;
	}
	return 0;
}

static void give_address(uint64_t address)
{
	gg_store_release(&free_addresses[address / 64 - 1], address);
}

/* --- what the hooks do, in their order --- */

static uint32_t capture(struct mixer *m)
{
	struct gg_unwind_stack stack;

	gg_unwind_capture(&m->unwind, m->pcs, GG_UNWIND_KEEP, 0, &stack);
	CHECK_EQ_U64(stack.ending, GG_UNWIND_COMPLETE);
	return gg_region_intern(&region, &m->record, stack.frames, stack.count);
}

static void record(struct mixer *m, uint64_t address)
{
	struct gg_allocation sample = region_sample(address, region_random(&m->random) % 5000 + 1,
	                                            capture(m));

	m->recorded += gg_region_record_alloc(&region, &m->record, &sample) != 0;
}

static void close_sample(struct mixer *m, uint64_t address, uint64_t id)
{
	const void *p = (const void *)(uintptr_t)address;

	if (gg_live_maybe(&region, p))
		gg_region_record_free(&region, &m->record, p, id, address, 0);
}

static void free_block(struct mixer *m, uint64_t *held)
{
	close_sample(m, *held, 0);
	give_address(*held);
	*held = 0;
}

static void move_block(struct mixer *m, uint64_t *held)
{
	struct gg_region_sample old = { 0 };
	uint64_t from = *held, to = take_address();

	if (to == 0)
		return;
	if (gg_live_maybe(&region, (void *)(uintptr_t)from))
		gg_region_find(&region, (void *)(uintptr_t)from, &old);
	give_address(from); /* the allocator's: another thread may have it before it is closed */
	if (old.id != 0)
		close_sample(m, from, old.id);
	record(m, to);
	*held = to;
}

static void come_and_go(struct mixer *m)
{
	uint8_t build_id[20] = { (uint8_t)m->random };
	struct gg_region_range range = { .start = m->random & ~UINT64_C(4095) };
	struct gg_module_info info = { .path = "module",
		                       .path_bytes = 6,
		                       .build_id = build_id,
		                       .build_id_bytes = sizeof(build_id),
		                       .range_count = 1,
		                       .ranges = &range };

	switch (region_random(&m->random) % 4) {
	case 0:
		gg_region_thread_end(&region, &m->record, 5);
		gg_region_thread_begin(&region, &m->record, 7, "again", 6);
		break;
	case 1:
		gg_region_thread_rename(&region, &m->record, "another name");
		break;
	case 2:
		range.end = range.start + 4096;
		gg_region_unload_module(&region, gg_region_add_module(&region, &info), 9);
		break;
	default:
		gg_region_add_name(&region, GG_TABLE_TYPES, "type of ours", 11);
	}
}

static void look_at_control(struct mixer *m)
{
	struct gg_region_request request = gg_region_control(&region);

	if (request.change_count == m->seen_change)
		return;
	m->seen_change = request.change_count;
	CHECK(request.interval_bytes > 0);
	gg_add_relaxed(&seen_wishes, 1);
}

static void operate(struct mixer *m)
{
	uint64_t r = region_random(&m->random);
	uint64_t *held = &m->held[r % HELD];

	if (*held == 0) {
		*held = take_address();
		if (*held != 0)
			record(m, *held);
	} else if (r >> 32 & 1) {
		free_block(m, held);
	} else {
		move_block(m, held);
	}
	if (r >> 40 & 1)
		look_at_control(m);
	if ((r >> 48 & 63) == 0)
		come_and_go(m);
}

/* Stacks of many depths, some of which pass through libc. */
static struct mixer *comparing;
static pthread_mutex_t comparing_lock = PTHREAD_MUTEX_INITIALIZER;

static int operate_comparing(const void *a, const void *b)
{
	operate(comparing);
	return *(const char *)a - *(const char *)b;
}

__attribute__((noinline)) static uint64_t recurse(struct mixer *m, uint64_t depth)
{
	volatile uint64_t frame[4] = { depth };
	char letters[] = "cab";

	if (depth > 0) {
		frame[1] = recurse(m, depth - 1);
	} else if (m->random % 16 == 0 && pthread_mutex_trylock(&comparing_lock) == 0) {
		comparing = m;
		qsort(letters, 3, 1, operate_comparing);
		pthread_mutex_unlock(&comparing_lock);
	} else {
		operate(m);
	}
	return frame[0] + frame[1];
}

static void *mix(void *context)
{
	uint64_t number = (uint64_t)(uintptr_t)context;
	const char *rounds = getenv("GG_TEST_CHURN");
	struct mixer *m = calloc(1, sizeof(*m));

	m->random = number + 1;
	m->unwind.stack_cache = &m->stack_cache;
	gg_region_thread_begin(&region, &m->record, (uint32_t)number, "mixer", 0);
	for (int i = rounds != NULL ? atoi(rounds) : ROUNDS; i > 0; i--)
		recurse(m, m->random >> 20 & 31);
	for (int i = 0; i < HELD; i++)
		if (m->held[i] != 0)
			free_block(m, &m->held[i]);
	gg_region_thread_end(&region, &m->record, 1);
	gg_add_relaxed(&recorded_count, m->recorded);
	free(m);
	return NULL;
}

/* --- others --- */

static void *look_on(void *unused)
{
	struct gg_region_view view;
	struct gg_error error;

	while (!gg_load_acquire(&stop)) {
		if (!CHECK_EQ_I64(gg_region_view_read(&view, region.map.fd, "region", &error), 0))
			break;
		CHECK(view.torn || gg_region_view_check(&view, NULL) == 0);
		CHECK_EQ_U64(view.damaged_count, 0);
		gg_region_view_done(&view);
	}
	return unused;
}

static void *drain_and_wish(void *unused)
{
	struct gg_ring_reader reader;
	struct gg_region_event events[16];
	struct gg_error error;

	if (!CHECK_EQ_I64(gg_ring_open(&reader, region.map.fd), 0))
		return unused;
	for (uint64_t i = 1; !gg_load_acquire(&stop); i++) {
		struct gg_region_change change = { .set_active = true,
			                           .active = i % 2,
			                           .interval_bytes = i };

		while (gg_ring_read(&reader, events, 16, false) > 0)
			;
		wish_count += gg_region_control_write(region.map.fd, &change, &error) == 0;
		usleep(1000);
	}
	return unused;
}

TEST(all_that_the_hooks_do_at_once_leaves_exact_totals)
{
	struct gg_region_options options;
	pthread_t threads[THREADS], reader, drainer;
	struct gg_region_view view;

	region_small_options(&options);
	options.capacities[GG_TABLE_THREADS] = 1000;
	options.capacities[GG_TABLE_MODULES] = 1000;
	options.capacities[GG_TABLE_STRINGS] = 1 << 14;
	options.capacities[GG_TABLE_STACKS] = 1 << 14;
	options.capacities[GG_TABLE_SITE_TOTALS] = 1 << 13;
	if (!CHECK(region_make(&region, &options)))
		return;
	for (uint64_t i = 0; i < ADDRESSES; i++)
		free_addresses[i] = (i + 1) * 64;
	pthread_create(&reader, NULL, look_on, NULL);
	pthread_create(&drainer, NULL, drain_and_wish, NULL);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, mix, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	gg_store_release(&stop, 1);
	pthread_join(reader, NULL);
	pthread_join(drainer, NULL);
	CHECK(region_is_valid(&region));
	if (CHECK(region_view(&region, &view))) {
		const uint64_t *counters = view.header.counters;

		CHECK(counters[GG_COUNT_SAMPLES] == recorded_count && recorded_count > 1000);
		CHECK_EQ_U64(counters[GG_COUNT_SAMPLES] - counters[GG_COUNT_FREES] -
		                     counters[GG_COUNT_MISSED_FREES],
		             view.live_count);
		/*
		 * All blocks are freed.  A sample may still be live if its free was deferred and
		 * its address did not come again.
		 */
		CHECK_MSG(view.live_count <= counters[GG_COUNT_FREE_DEFERRED],
		          "%u live samples of nobody's blocks", view.live_count);
		CHECK(view.node_count < 1 << 14);
		gg_region_view_done(&view);
	}
	CHECK(wish_count > 0 && seen_wishes > 0);
	gg_region_done(&region, true);
}
