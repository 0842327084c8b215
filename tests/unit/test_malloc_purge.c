/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that goes back to the kernel by time, and limits of control groups. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "geiger/malloc.h"
#include "malloc/arena.h"
#include "malloc/class_counts.h"
#include "malloc/kernel_memory.h"
#include "malloc/malloc_check.h"
#include "malloc/memory_limit.h"
#include "malloc/purge.h"
#include "malloc/sampled_slots.h"
#include "malloc/thread_heap.h"
#include "scratch.h"
#include "test.h"

#define MIB ((size_t)1 << 20)

static size_t dirty_bytes(void)
{
	struct gg_malloc_arena_totals totals;

	gg_malloc_arena_read_totals(&totals);
	return totals.dirty_bytes;
}

static size_t used_bytes(void)
{
	struct gg_malloc_arena_totals totals;

	gg_malloc_arena_read_totals(&totals);
	return totals.opened_bytes - totals.free_bytes;
}

/* Pages of 64 KiB hold four slices: what shares its page with a block stays dirty. */
static size_t parts_of_pages(void)
{
	return gg_malloc_page_bytes > GG_MALLOC_SLICE_BYTES ? 4 * gg_malloc_page_bytes : 0;
}

/* Slow paths of malloc(): each takes a run, and gives it back later. */
static void pass_slow_mallocs(void)
{
	void *blocks[4 * GG_MALLOC_PURGE_VISITS];

	for (size_t i = 0; i < GG_COUNT(blocks); i++)
		blocks[i] = geiger_malloc(40000);
	for (size_t i = 0; i < GG_COUNT(blocks); i++)
		geiger_free(blocks[i]);
}

/* With a delay of 0, whatever is free is old enough. */
static void become_old(void)
{
	gg_malloc_arena_set_delay(0);
}

static void begin(void)
{
	gg_malloc_arena_set_delay(GG_MALLOC_PURGE_NEVER);
	gg_malloc_purge_limit_bytes = SIZE_MAX;
	geiger_free(geiger_malloc(1));
	geiger_malloc_trim();
}

TEST(free_memory_below_the_allowance_waits_for_its_time)
{
	void *p;

	begin();
	p = memset(geiger_malloc(12 * MIB), 1, 12 * MIB);
	geiger_free(p);
	pass_slow_mallocs();
	CHECK(dirty_bytes() >= 12 * MIB);
	become_old();
	pass_slow_mallocs();
	CHECK_MSG(dirty_bytes() < 6 * MIB, "%zu bytes are dirty", dirty_bytes());
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

TEST(memory_waits_for_the_whole_delay)
{
	begin();
	gg_malloc_arena_set_delay(1000000);
	geiger_free(memset(geiger_malloc(12 * MIB), 1, 12 * MIB));
	pass_slow_mallocs();
	gg_malloc_arena_purge_aged(gg_malloc_purge_clock_ms() + 900000);
	CHECK(dirty_bytes() >= 12 * MIB);
	gg_malloc_arena_purge_aged(gg_malloc_purge_clock_ms() + 1300000);
	CHECK_MSG(dirty_bytes() <= parts_of_pages(), "%zu bytes", dirty_bytes());
}

/* Each run joins the clean one before it, and is no run of its own any more. */
TEST(neighbors_that_were_given_back_one_by_one_are_no_blocks)
{
	struct gg_malloc_large_counts large;
	static struct gg_malloc_block_counts classes[GG_MALLOC_CLASS_COUNT];
	uint64_t before;
	void *blocks[64];

	begin();
	gg_malloc_count_blocks(classes, &large);
	before = large.run_count;
	for (size_t i = 0; i < GG_COUNT(blocks); i++)
		blocks[i] = memset(geiger_malloc(40000), 1, 40000);
	for (size_t i = 0; i < GG_COUNT(blocks); i++) {
		geiger_free(blocks[i]);
		geiger_malloc_trim();
		CHECK_EQ_PTR(gg_malloc_arena_check(), NULL);
	}
	gg_malloc_count_blocks(classes, &large);
	CHECK_EQ_U64(large.run_count, before);
}

/* Most of the allowed memory stays for the next blocks. */
TEST(memory_over_the_allowance_goes_back_and_the_rest_stays)
{
	enum { COUNT = 1000 };
	static void *blocks[COUNT];
	size_t most;

	begin();
	for (size_t i = 0; i < COUNT; i++)
		blocks[i] = memset(geiger_malloc(60000), 1, 60000);
	/* Every second one, so that none is joined: 32 MB, of which 16 MiB and a quarter of what is
	 * in use may stay. */
	for (size_t i = 0; i < COUNT; i += 2)
		geiger_free(blocks[i]);
	most = 16 * MIB + used_bytes() / 4;
	CHECK_MSG(dirty_bytes() <= most, "%zu bytes are dirty", dirty_bytes());
	CHECK_MSG(dirty_bytes() >= most / 2, "%zu bytes are dirty", dirty_bytes());
	for (size_t i = 1; i < COUNT; i += 2)
		geiger_free(blocks[i]);
	CHECK_MSG(dirty_bytes() <= 16 * MIB, "%zu bytes are dirty", dirty_bytes());
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

/* Buffers come again: more of their memory stays until it is old. */
TEST(more_memory_of_buffers_stays_than_of_small_blocks)
{
	enum { COUNT = 32 };
	static char *buffers[COUNT];
	size_t most;

	begin();
	for (size_t i = 0; i < COUNT; i++)
		buffers[i] = memset(geiger_malloc(4 * MIB), 1, 4 * MIB);
	for (size_t i = 0; i < COUNT; i += 2)
		geiger_free(buffers[i]);
	most = 16 * MIB + used_bytes() / 4;
	CHECK_MSG(dirty_bytes() > most, "%zu bytes are dirty", dirty_bytes());
	CHECK_MSG(dirty_bytes() <= most + used_bytes() / 4 + 4 * MIB, "%zu bytes are dirty",
	          dirty_bytes());
	/* A small one is freed, for which less is allowed. */
	geiger_free(memset(geiger_malloc(60000), 1, 60000));
	CHECK_MSG(dirty_bytes() <= most, "%zu bytes are dirty", dirty_bytes());
	for (size_t i = 1; i < COUNT; i += 2)
		geiger_free(buffers[i]);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

/* The buffer needs fresh pages only for what the free run before them lacks. */
TEST(a_buffer_takes_a_free_run_and_the_clean_one_behind_it)
{
	char *p, *q;

	begin();
	p = memset(geiger_malloc(6 * MIB), 1, 6 * MIB);
	geiger_free(p);
	CHECK(dirty_bytes() >= 6 * MIB);
	q = geiger_malloc(9 * MIB);
	CHECK_EQ_PTR(q, p);
	CHECK_MSG(dirty_bytes() < MIB, "%zu bytes are dirty", dirty_bytes());
	memset(q, 2, 9 * MIB);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
	geiger_free(q);
	/* It has old contents, so these must be cleared. */
	q = geiger_calloc(1, 9 * MIB);
	for (size_t i = 0; i < 9 * MIB; i += 512)
		CHECK_EQ_U64((uint64_t)q[i], 0);
	geiger_free(q);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

static bool is_resident(const void *p)
{
	unsigned char present = 0;
	uintptr_t page = (uintptr_t)p & ~(uintptr_t)4095;

	return mincore((void *)page, 4096, &present) == 0 && (present & 1) != 0; /* NOLINT */
}

/* Otherwise the zeros of calloc() would be written to memory that the program may never touch. */
TEST(a_sparse_buffer_of_zeros_takes_no_memory)
{
	char *p;

	begin();
	p = memset(geiger_malloc(6 * MIB), 1, 6 * MIB);
	geiger_free(p);
	p = geiger_calloc(1, 9 * MIB);
	CHECK(!is_resident(p + 8 * MIB));
	for (size_t i = 0; i < 9 * MIB; i += 512)
		CHECK_EQ_U64((uint64_t)p[i], 0);
	geiger_free(p);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

enum { SLOT_BLOCKS = 256 };

/* All blocks are samples, and so have slots. */
static void allocate_samples(char *blocks[SLOT_BLOCKS], size_t bytes)
{
	begin();
	gg_malloc_set_interval(1, 1);
	for (size_t i = 0; i < 40; i++) /* a list that was handed before is no sample */
		geiger_free(geiger_malloc(bytes));
	for (size_t i = 0; i < SLOT_BLOCKS; i++) {
		blocks[i] = memset(geiger_malloc(bytes), (int)i + 1, bytes);
		REQUIRE(gg_malloc_slab_owner(gg_malloc_slab_of(blocks[i])) ==
		        GG_MALLOC_OWNER_SLOTS);
	}
}

/* Those whose first page is resident, or the one in the middle. */
static size_t resident_blocks(char *blocks[SLOT_BLOCKS], size_t bytes)
{
	size_t count = 0;

	for (size_t i = 0; i < SLOT_BLOCKS; i++)
		count += is_resident(blocks[i]) || is_resident(blocks[i] + bytes / 2);
	return count;
}

static void check_contents(char *const blocks[SLOT_BLOCKS], size_t step, size_t bytes)
{
	uint64_t wrong = 0;

	for (size_t i = 0; i < SLOT_BLOCKS; i += step)
		for (size_t k = 0; k < bytes; k++)
			wrong += blocks[i][k] != (char)(i + 1);
	CHECK_EQ_U64(wrong, 0);
}

/* Only here is there a delay, so that no slow path looks. */
static void look_at_slots(uint32_t now_ms)
{
	gg_malloc_arena_set_delay(1000);
	gg_malloc_slots_purge_aged(now_ms);
	gg_malloc_arena_set_delay(GG_MALLOC_PURGE_NEVER);
}

TEST(pages_of_sampled_slots_go_back_when_they_were_free_for_two_looks)
{
	static char *blocks[SLOT_BLOCKS];
	const size_t bytes = 32768;
	uint32_t now_ms = 1000000;

	allocate_samples(blocks, bytes);
	look_at_slots(now_ms += 1000);
	for (size_t i = 0; i < SLOT_BLOCKS; i++)
		if (i % 4 != 0)
			geiger_free(blocks[i]);
	look_at_slots(now_ms += 1000); /* they were in use at the last look */
	CHECK_EQ_U64(resident_blocks(blocks, bytes), SLOT_BLOCKS);
	look_at_slots(now_ms += 999); /* too early */
	CHECK_EQ_U64(resident_blocks(blocks, bytes), SLOT_BLOCKS);
	/* One comes again and goes. */
	geiger_free(memset(geiger_malloc(bytes), 1, bytes));
	look_at_slots(now_ms += 1);
	CHECK_EQ_U64(resident_blocks(blocks, bytes), SLOT_BLOCKS / 4 + 1);
	look_at_slots(now_ms += 1000);
	CHECK_EQ_U64(resident_blocks(blocks, bytes), SLOT_BLOCKS / 4);
	check_contents(blocks, 4, bytes);
	for (size_t i = 0; i < SLOT_BLOCKS; i += 4)
		geiger_free(blocks[i]);
	/* They serve again, although their pages went back. */
	allocate_samples(blocks, bytes);
	check_contents(blocks, 1, bytes);
	for (size_t i = 0; i < SLOT_BLOCKS; i++)
		geiger_free(blocks[i]);
	gg_malloc_set_interval(0, 0);
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

/* A page that has a part of a slot in use stays. */
TEST(a_trim_gives_free_pages_of_slots_back_and_no_others)
{
	static const size_t sizes[] = { 64, 200, 1500, 8192, 20000, 32768 };
	static char *blocks[SLOT_BLOCKS];

	for (size_t size = 0; size < GG_COUNT(sizes); size++) {
		size_t bytes = sizes[size], step = bytes < 4096 ? SLOT_BLOCKS : 3;
		size_t live = (SLOT_BLOCKS + step - 1) / step, before;

		allocate_samples(blocks, bytes);
		for (size_t i = 0; i < SLOT_BLOCKS; i++)
			if (i % step != 0)
				geiger_free(blocks[i]);
		before = resident_blocks(blocks, bytes);
		CHECK_EQ_I64(geiger_malloc_trim(), 1);
		if (bytes % 4096 == 0)
			CHECK_EQ_U64(resident_blocks(blocks, bytes), live);
		else
			CHECK(resident_blocks(blocks, bytes) < before);
		check_contents(blocks, step, bytes);
		for (size_t i = 0; i < SLOT_BLOCKS; i += step)
			geiger_free(blocks[i]);
		geiger_malloc_trim();
		CHECK_EQ_U64(resident_blocks(blocks, bytes), 0);
		gg_malloc_set_interval(0, 0);
		CHECK_EQ_PTR(gg_malloc_validate(), NULL);
	}
}

/* Nothing of the test calls the purge: slow paths do. */
TEST(slow_paths_give_pages_of_slots_back)
{
	static char *blocks[SLOT_BLOCKS];
	const size_t bytes = 20000;

	allocate_samples(blocks, bytes);
	become_old();
	for (size_t i = 0; i < SLOT_BLOCKS; i++)
		geiger_free(blocks[i]);
	gg_malloc_set_interval(0, 0);
	pass_slow_mallocs();
	CHECK_EQ_U64(resident_blocks(blocks, bytes), 0);
}

static size_t slot_bytes(void)
{
	struct gg_malloc_arena_totals totals;

	gg_malloc_arena_read_totals(&totals);
	return totals.slot_bytes;
}

static uint64_t dropped_samples(void)
{
	struct gg_malloc_slots_totals totals;

	gg_malloc_slots_read_totals(&totals);
	return totals.dropped_count;
}

/* Without memory for the tables of slots, samples are dropped. */
static void allocate_without_tables(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");
	struct rlimit limit;
	size_t before;

	if (file == NULL || fscanf(file, "%lu", &pages) != 1)
		_exit(2);
	fclose(file);
	limit.rlim_cur = limit.rlim_max = pages * (rlim_t)sysconf(_SC_PAGESIZE) + 4096;
	if (setrlimit(RLIMIT_AS, &limit) != 0)
		_exit(3);
	gg_malloc_set_interval(1, 1);
	for (size_t i = 0; i < 20000 && dropped_samples() == 0; i++)
		geiger_malloc(16 + i % 64 * 500);
	if (dropped_samples() == 0)
		_exit(4);
	before = slot_bytes();
	for (size_t i = 0; i < 1000; i++)
		geiger_malloc(32768);
	_exit(slot_bytes() > before + 16 * GG_MALLOC_SLICE_BYTES);
}

TEST(slices_of_slots_wait_for_memory_for_their_table)
{
	int status = -1;
	pid_t child;

	/* An emulator knows no limit of the address space. */
	if (getenv("TEST_EMULATOR") != NULL)
		return;
	begin();
	child = fork();
	if (child == 0)
		allocate_without_tables();
	REQUIRE(waitpid(child, &status, 0) == child);
	CHECK_EQ_I64(status, 0);
}

/* The clock has 32 bits: after 25 days, an early time looks like a later one. */
TEST(a_process_that_slept_for_weeks_gives_memory_back)
{
	uint32_t now_ms;

	begin();
	gg_malloc_arena_set_delay(1000);
	now_ms = gg_malloc_purge_clock_ms();
	for (uint32_t days = 20; days <= 45; days += 5) {
		uint32_t later_ms = now_ms + days * 24 * 3600 * 1000;

		gg_malloc_arena_set_delay(1000); /* the next look is now */
		geiger_free(memset(geiger_malloc(12 * MIB), 1, 12 * MIB));
		CHECK(dirty_bytes() >= 12 * MIB);
		gg_malloc_arena_purge_aged(later_ms);
		CHECK_MSG(dirty_bytes() <= parts_of_pages(), "after %u days: %zu bytes", days,
		          dirty_bytes());
	}
}

/* The kernel rounds the end of a range up to its pages, over what is behind it. */
TEST(parts_of_large_pages_are_not_given_back)
{
	size_t page_bytes = gg_malloc_page_bytes;
	char *p = mmap(NULL, 131072, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	begin();
	REQUIRE(p != MAP_FAILED);
	CHECK_EQ_U64(page_bytes, (uint64_t)sysconf(_SC_PAGESIZE));
	p[0] = p[16384] = 1;
	gg_malloc_page_bytes = 65536;
	CHECK(!gg_malloc_empty_memory(p, 16384));
	CHECK(p[0] == 1 && p[16384] == 1);
	geiger_free(memset(geiger_malloc(MIB + 16384), 1, MIB + 16384));
	gg_malloc_arena_purge();
	gg_malloc_page_bytes = page_bytes;
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
	CHECK(gg_malloc_empty_memory(p, page_bytes) && p[0] == 0 && p[16384] == 1);
	munmap(p, 131072);
}

/* Memory that is freed beside old memory does not make that young. */
TEST(a_run_is_as_old_as_its_larger_part)
{
	void *old, *young;

	begin();
	gg_malloc_arena_set_delay(1000000);
	old = memset(geiger_malloc(8 * MIB), 1, 8 * MIB);
	young = memset(geiger_malloc(MIB), 1, MIB);
	geiger_free(old);
	gg_malloc_slab_of(old)->freed_ms -= 1000000;
	geiger_free(young);
	gg_malloc_arena_purge_aged(gg_malloc_purge_clock_ms() + 600000);
	CHECK_EQ_U64(dirty_bytes(), 0);
}

/* Nothing is allocated any more: free() alone finds the slabs empty, and sees the time. */
TEST(slow_paths_of_free_give_memory_back)
{
	enum { COUNT = 12000 };
	static void *blocks[COUNT];

	begin();
	for (size_t i = 0; i < COUNT; i++)
		blocks[i] = memset(geiger_malloc(1000), 1, 1000);
	become_old();
	for (size_t i = 0; i < COUNT; i++)
		geiger_free(blocks[i]);
	CHECK_MSG(dirty_bytes() < 3 * MIB, "%zu bytes are dirty", dirty_bytes());
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

/* Empty slabs and handed lists of classes that are not in use any more. */
TEST(a_heap_gives_back_what_it_does_not_use)
{
	void *blocks[4];

	begin();
	for (size_t bytes = 16; bytes <= 32768; bytes += 16 + bytes / 8) {
		for (size_t i = 0; i < GG_COUNT(blocks); i++)
			blocks[i] = geiger_malloc(bytes);
		for (size_t i = 0; i < GG_COUNT(blocks); i++)
			geiger_free(blocks[i]);
	}
	CHECK(used_bytes() > 3 * MIB);
	become_old();
	for (int i = 0; i < 3; i++)
		pass_slow_mallocs();
	CHECK_MSG(used_bytes() < MIB, "%zu bytes are in use", used_bytes());
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

TEST(memory_that_went_back_is_zero)
{
	unsigned wrong = 0;

	begin();
	become_old();
	for (size_t round = 0; round < 50; round++) {
		size_t bytes = 33000 + round * 5000;
		unsigned char *p = geiger_calloc(1, bytes);

		for (size_t i = 0; i < bytes; i++)
			wrong += p[i] != 0;
		memset(p, 0xff, bytes);
		geiger_free(p);
		pass_slow_mallocs();
	}
	CHECK_EQ_U64(wrong, 0);
}

/* The kernel may have made a huge page of both, and would only split it. */
TEST(a_run_goes_back_with_its_clean_neighbor_up_to_the_end_of_a_huge_page)
{
	char *p, *behind;

	begin();
	p = memset(geiger_malloc(MIB), 1, MIB);
	behind = p + gg_malloc_run_bytes(gg_malloc_slab_of(p));
	REQUIRE((uintptr_t)behind % (2 * MIB) != 0);
	REQUIRE(gg_malloc_slab_owner(gg_malloc_slab_of(behind)) == GG_MALLOC_OWNER_FREE);
	/* As the kernel's own thread does, which fills huge pages. */
	*(volatile char *)behind = 0;
	CHECK(is_resident(behind));
	geiger_free(p);
	geiger_malloc_trim();
	CHECK(!is_resident(behind));
	CHECK(!is_resident(p));
}

/* The tables of an arena that was large go back as well. */
TEST(tables_of_free_runs_go_back)
{
	enum { COUNT = 8000 };
	static void *blocks[COUNT];
	unsigned char present[(COUNT * 2 * sizeof(struct gg_malloc_slab)) / 4096 + 1];
	uintptr_t start;
	size_t count = 0;

	begin();
	for (size_t i = 0; i < COUNT; i++)
		blocks[i] = geiger_malloc(32769); /* three slices */
	start = (uintptr_t)gg_malloc_slab_of(blocks[0]) & ~(uintptr_t)4095;
	for (size_t i = 0; i < COUNT; i++)
		memset(blocks[i], 1, 10);
	for (size_t i = 0; i < COUNT; i++)
		geiger_free(blocks[i]);
	geiger_malloc_trim();
	REQUIRE(mincore((void *)start, sizeof(present) * 4096 - 4096, present) == 0); /* NOLINT */
	for (size_t i = 0; i < sizeof(present) - 1; i++)
		count += present[i] & 1;
	CHECK_MSG(count < sizeof(present) / 10, "%zu of %zu pages", count, sizeof(present));
	CHECK_EQ_PTR(gg_malloc_validate(), NULL);
}

TEST(less_is_kept_near_the_limit_of_a_control_group)
{
	const size_t slices_of_mib = MIB / GG_MALLOC_SLICE_BYTES;

	begin();
	CHECK_EQ_U64(gg_malloc_purge_allowance(0), 16 * slices_of_mib);
	CHECK_EQ_U64(gg_malloc_purge_allowance(800 * slices_of_mib), 216 * slices_of_mib);
	CHECK_EQ_U64(gg_malloc_purge_buffer_allowance(800 * slices_of_mib), 416 * slices_of_mib);
	gg_malloc_purge_limit_bytes = 1024 * MIB;
	CHECK_EQ_U64(gg_malloc_purge_buffer_allowance(800 * slices_of_mib), 32 * slices_of_mib);
	CHECK_EQ_U64(gg_malloc_purge_allowance(800 * slices_of_mib), 32 * slices_of_mib);
	CHECK_EQ_U64(gg_malloc_purge_allowance(890 * slices_of_mib), 6 * slices_of_mib);
	CHECK_EQ_U64(gg_malloc_purge_allowance(1000 * slices_of_mib), 16);
	gg_malloc_purge_limit_bytes = 64 * MIB;
	geiger_free(memset(geiger_malloc(12 * MIB), 1, 12 * MIB));
	CHECK_EQ_U64(dirty_bytes(), 0);
	begin();
}

static void write_in(const char *folder, const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	REQUIRE(file != NULL);
	fputs(text, file);
	fclose(file);
}

static void make_in(const char *folder, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	REQUIRE(mkdir(path, 0700) == 0);
}

TEST(the_lowest_limit_of_all_groups_around_counts)
{
	const char *mount = scratch_new_folder();
	const char *list = scratch_write("groups", "12:cpu:/x\n0::/a/b\n");

	make_in(mount, "a");
	make_in(mount, "a/b");
	CHECK_EQ_U64(gg_malloc_memory_limit_read(list, mount), SIZE_MAX);
	write_in(mount, "a/b/memory.max", "max\n");
	write_in(mount, "a/memory.max", "3000000\n");
	CHECK_EQ_U64(gg_malloc_memory_limit_read(list, mount), 3000000);
	write_in(mount, "a/b/memory.high", "2000000\n");
	CHECK_EQ_U64(gg_malloc_memory_limit_read(list, mount), 2000000);
	write_in(mount, "memory.max", "1000000\n");
	CHECK_EQ_U64(gg_malloc_memory_limit_read(list, mount), 1000000);
	/* In a namespace of its own the process is at the root. */
	list = scratch_write("groups", "0::/\n");
	CHECK_EQ_U64(gg_malloc_memory_limit_read(list, mount), 1000000);
}

TEST(limits_of_version_1_count)
{
	const char *mount = scratch_new_folder();
	const char *list = scratch_write("groups", "4:cpu,memory:/a\n2:memory2:/b\nbroken\n::\n");

	make_in(mount, "memory");
	make_in(mount, "memory/a");
	write_in(mount, "memory/memory.limit_in_bytes", "9223372036854771712\n");
	CHECK_EQ_U64(gg_malloc_memory_limit_read(list, mount), SIZE_MAX);
	write_in(mount, "memory/a/memory.limit_in_bytes", "5000000\n");
	CHECK_EQ_U64(gg_malloc_memory_limit_read(list, mount), 5000000);
}

TEST(damaged_files_are_no_limit)
{
	const char *mount = scratch_new_folder();
	const char *list = scratch_write("groups", "0::/\n");

	write_in(mount, "memory.max", "99999999999999999999999999\n");
	CHECK_EQ_U64(gg_malloc_memory_limit_read(list, mount), SIZE_MAX);
	write_in(mount, "memory.max", "");
	CHECK_EQ_U64(gg_malloc_memory_limit_read(list, mount), SIZE_MAX);
	write_in(mount, "memory.max", "-5");
	CHECK_EQ_U64(gg_malloc_memory_limit_read(list, mount), SIZE_MAX);
	CHECK_EQ_U64(gg_malloc_memory_limit_read("/nothing/there", mount), SIZE_MAX);
}
