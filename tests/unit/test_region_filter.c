/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_region_filter - shows that the filter misses no key that was added, and passes few others.
 *
 *   GG_TEST_CHURN   how many addresses come and go; 10^8 in the default suite
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "region.h"
#include "region/writer/filter.h"
#include "test.h"

enum { RECORDS = 1 << 20, PROBES = 1000000 };

/* Records as the region has them: the address is the second word. */
struct record {
	uint64_t id, address, rest[6];
};

static struct gg_filter filter;
static struct record *records;
static uint32_t used_count;
static void *homes, *memory;

static void *pages(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static void begin(void)
{
	records = pages(RECORDS * sizeof(*records));
	homes = pages(RECORDS * sizeof(uint32_t));
	memory = pages(gg_filter_bytes(RECORDS));
	used_count = 0;
	gg_filter_init(&filter, memory, RECORDS, homes, &records[0].address,
	               sizeof(*records) / sizeof(uint64_t), &used_count);
}

static void end(void)
{
	munmap(records, RECORDS * sizeof(*records));
	munmap(homes, RECORDS * sizeof(uint32_t));
	munmap(memory, gg_filter_bytes(RECORDS));
}

static bool maybe(uint64_t address)
{
	return gg_filter_maybe(&filter, (const void *)(uintptr_t)address);
}

static void add(uint32_t record, uint64_t address)
{
	records[record].address = address;
	if (record >= used_count)
		used_count = record + 1;
	gg_filter_add(&filter, record);
}

/* Addresses as allocators give them out: number i of a kind. */
static uint64_t address_of_kind(int kind, uint64_t i)
{
	switch (kind) {
	case 0: /* anywhere in a heap of 64 GiB */
		return UINT64_C(0x555500000000) +
		       gg_hash_integer(i, 1) % (UINT64_C(1) << 36) / 16 * 16;
	case 1: /* a slab of 48-byte objects */
		return UINT64_C(0x7f1200000010) + i * 48;
	case 2: /* one page each */
		return UINT64_C(0x7f1200000000) + i * 4096;
	case 3: /* mappings of 2 MiB and their malloc headers */
		return UINT64_C(0x7e0000000010) + i * (2 << 20);
	default: /* some of each of 64 arenas */
		return UINT64_C(0x7f0000000020) + (i % 64 << 26) + i / 64 * 96;
	}
}

enum { KIND_COUNT = 5 };

/* The share of addresses of that kind, none of them added, that the filter lets through. */
static double false_share(int kind, uint64_t first)
{
	uint64_t hits = 0;

	for (uint64_t i = 0; i < PROBES; i++)
		hits += maybe(address_of_kind(kind, first + i));
	return (double)hits / PROBES;
}

/* 5 sigma of a share of 1 % among PROBES independent ones are 0.05 %. */
static bool is_under(int kind, uint32_t live_count, double share, double limit)
{
	return CHECK_MSG(share <= limit, "kind %d, %u live: %.3f %% false", kind, live_count,
	                 100 * share);
}

TEST(what_is_live_is_never_missed_and_little_else_passes)
{
	static const uint32_t counts[] = { 100, 1000, 20000, 100000, 1000000 };
	/* Small tables are more regular for addresses at equal distances. */
	static const double limits[] = { 0.02, 0.02, 0.01, 0.01, 0.05 };

	for (int kind = 0; kind < KIND_COUNT; kind++) {
		uint32_t live_count = 0, missed = 0;

		begin();
		for (size_t i = 0; i < GG_COUNT(counts); i++) {
			for (; live_count < counts[i]; live_count++)
				add(live_count, address_of_kind(kind, live_count));
			for (uint32_t j = 0; j < live_count; j++)
				missed += !maybe(records[j].address);
			CHECK_MSG(missed == 0, "kind %d: %u of %u missed", kind, missed,
			          live_count);
			is_under(kind, live_count, false_share(kind, RECORDS), limits[i]);
			is_under(kind, live_count, false_share((kind + 1) % KIND_COUNT, RECORDS),
			         limits[i]);
		}
		for (uint32_t j = 0; j < live_count; j++)
			gg_filter_remove(&filter, j);
		is_under(kind, 0, false_share(kind, 0), 0.0001);
		end();
	}
}

TEST(an_empty_filter_says_no)
{
	filter.view = GG_FILTER_EMPTY_VIEW;
	CHECK(!maybe(0) && !maybe(16) && !maybe(UINT64_MAX) && !maybe(0x7f1234567890));
	begin();
	CHECK(!maybe(0) && !maybe(16) && !maybe(UINT64_MAX));
	end();
}

/* Addresses come and go; the live ones are found, and the share of false ones stays. */
static void churn(uint64_t total)
{
	enum { LIVE = 100000 };
	uint64_t next = 0, state = 1, missed = 0;

	begin();
	for (; next < LIVE; next++)
		add((uint32_t)next, address_of_kind(0, next));
	while (next < total) {
		uint32_t victim = (uint32_t)(region_random(&state) % LIVE);

		missed += !maybe(records[victim].address);
		gg_filter_remove(&filter, victim);
		add(victim, address_of_kind(0, next++));
	}
	for (uint32_t i = 0; i < LIVE; i++)
		missed += !maybe(records[i].address);
	CHECK_MSG(missed == 0, "%llu missed", (unsigned long long)missed);
	is_under(0, LIVE, false_share(0, next + 1), 0.01);
	is_under(1, LIVE, false_share(1, 0), 0.01);
	for (uint32_t i = 0; i < LIVE; i++)
		gg_filter_remove(&filter, i);
	is_under(0, 0, false_share(0, next + 1), 0.0001);
	end();
}

TEST(the_share_of_false_hits_is_the_same_after_many_came_and_went)
{
	const char *total = getenv("GG_TEST_CHURN");

	churn(total != NULL ? strtoull(total, NULL, 10) : 1000000);
}

TEST(a_cell_that_overflowed_stays_and_nothing_is_missed)
{
	begin();
	/* The same address in 300 records: its cell can count to 6 only. */
	for (uint32_t i = 0; i < 300; i++)
		add(i, 0x1230);
	for (uint32_t i = 0; i < 300; i++) {
		CHECK(maybe(0x1230));
		gg_filter_remove(&filter, i);
	}
	CHECK(maybe(0x1230));
	end();
}

enum { THREADS = 4, PER_THREAD = 30000 };

static uint64_t missed_count;

/* Adds, checks and removes records of its own while others make the filter grow. */
static void *hammer(void *context)
{
	uint32_t number = (uint32_t)(uintptr_t)context;
	uint64_t state = number + 1, missed = 0;

	for (uint32_t i = 0; i < PER_THREAD; i++) {
		uint32_t record = number + THREADS * i;
		uint32_t again = number + THREADS * (uint32_t)(region_random(&state) % (i + 1));

		gg_store_relaxed(&records[record].address, address_of_kind(0, record));
		gg_filter_add(&filter, record);
		missed += !maybe(address_of_kind(0, record));
		/* Some go and come back at once, also while they are being moved. */
		missed += !maybe(address_of_kind(0, again));
		gg_filter_remove(&filter, again);
		gg_filter_add(&filter, again);
		missed += !maybe(address_of_kind(0, again));
	}
	for (uint32_t i = 0; i < PER_THREAD; i++)
		missed += !maybe(address_of_kind(0, number + THREADS * i));
	gg_add_relaxed(&missed_count, missed);
	return NULL;
}

TEST(no_thread_misses_its_addresses_while_the_filter_grows)
{
	pthread_t threads[THREADS];

	begin();
	used_count = THREADS * PER_THREAD;
	missed_count = 0;
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, hammer, (void *)(uintptr_t)i);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK_MSG(missed_count == 0, "%llu missed", (unsigned long long)missed_count);
	/* Adds alone finish a growth, and the size before it keeps its counts until then. */
	for (uint32_t i = 0; i < RECORDS && filter.current != filter.newest; i++) {
		gg_filter_remove(&filter, 0);
		gg_filter_add(&filter, 0);
	}
	CHECK(filter.current > 5 && filter.current == filter.newest);
	is_under(0, THREADS * PER_THREAD, false_share(0, RECORDS), 0.015);
	for (uint32_t i = 0; i < THREADS * PER_THREAD; i++)
		gg_filter_remove(&filter, i);
	is_under(0, 0, false_share(0, 0), 0.0001);
	end();
}

enum { ANEW = 2000000 };

static uint32_t is_made;

static void *ask_all_the_while(void *unused)
{
	while (gg_load_acquire(&is_made) == 0)
		for (uint64_t i = 0; i < 100; i++)
			maybe(i * 16);
	return unused;
}

/* As other threads of a forked child do while one makes its region. */
TEST(it_can_be_asked_while_it_is_made_anew)
{
	pthread_t asker;

	begin();
	gg_store_release(&is_made, 0);
	pthread_create(&asker, NULL, ask_all_the_while, NULL);
	for (int i = 0; i < ANEW; i++)
		gg_filter_init(&filter, memory, RECORDS, homes, &records[0].address,
		               sizeof(*records) / sizeof(uint64_t), &used_count);
	gg_store_release(&is_made, 1);
	pthread_join(asker, NULL);
	end();
}
