/* SPDX-License-Identifier: Apache-2.0 */
/* test_region_space - shows that a region takes little space and survives a full disk. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "region/writer/scan.h"
#include "region_fixture.h"
#include "test.h"

TEST(a_full_disk_drops_and_counts)
{
	uint64_t dropped = 0;

	region_small_options(&options);
	options.capacities[GG_TABLE_LIVE] = 1 << 16;
	options.capacities[GG_TABLE_SITE_TOTALS] = 1 << 16;
	if (!begin())
		return;
	CHECK(record(16, 10, 0) != 0);
	/* From now on no request for space is granted. */
	region.map.bytes = 0;
	for (uint64_t i = 2; i < 5000; i++)
		dropped += record(i * 16, 10, 0) == 0;
	CHECK(dropped > 2000 && counted(GG_COUNT_GROW_FAILED) > 0);
	CHECK_EQ_U64(counted(GG_COUNT_DROP_LIVE_FULL), dropped);
	/* It does not ask each time: twice in 1024 samples, of two tables. */
	CHECK(counted(GG_COUNT_GROW_FAILED) <= 2 * 2 * 5000 / 1024 + 2);
	CHECK(region_is_valid(&region));
	end();
}

TEST(a_thread_that_stands_still_while_it_asks_for_space_holds_up_nobody)
{
	enum { SAMPLES = 20000 };

	gg_region_options_default(&options);
	if (!begin())
		return;
	/* As another thread leaves it, that was interrupted before its system call. */
	for (int i = 0; i < GG_TABLE_COUNT; i++)
		region.tables[i].growing = 1;
	for (uint64_t i = 0; i < SAMPLES; i++) {
		const uint64_t pc = 0x1000 + i;

		record(0x10000 + i * 64, 48, gg_region_intern(&region, &thread, &pc, 1));
	}
	CHECK_MSG(counted(GG_COUNT_SAMPLES) == SAMPLES, "%lu",
	          (unsigned long)counted(GG_COUNT_SAMPLES));
	CHECK(counted(GG_COUNT_STACKS_OVERFLOWED) == 0 && counted(GG_COUNT_ROWS_FOLDED) == 0);
	CHECK(region_is_valid(&region));
	end();
}

/* The bytes of the file that have space, by the tables' own counts. */
static uint64_t reserved_bytes(void)
{
	uint64_t reserved = GG_REGION_PAGE_BYTES;

	for (int i = 0; i < GG_TABLE_COUNT; i++)
		reserved += region.tables[i].reserved_bytes;
	return reserved;
}

/* The bytes that the file system has allocated for the file. */
static uint64_t disk_bytes(void)
{
	struct stat status;

	return fstat(region.map.fd, &status) == 0 ? (uint64_t)status.st_blocks * 512 : UINT64_MAX;
}

TEST(a_small_program_needs_little_space)
{
	gg_region_options_default(&options);
	if (!begin())
		return;
	for (uint64_t i = 1; i <= 2000; i++) {
		uint64_t pcs[] = { i, i / 10 + 100000, i / 100 + 200000 };

		record(i * 16, 100, gg_region_intern(&region, &thread, pcs, 3));
	}
	/* 2000 live samples on as many stacks are much for a small program. */
	CHECK_MSG(reserved_bytes() <= 2 << 20, "%llu bytes", (unsigned long long)reserved_bytes());
	CHECK(region_is_valid(&region));
	end();
}

TEST(a_program_that_ends_at_once_takes_a_page_without_a_sample_and_a_dozen_with_one)
{
	struct gg_region_view view;
	struct gg_region_scan scan;

	gg_region_options_default(&options);
	options.capacities[GG_TABLE_RING] = 1 << 20;
	if (!CHECK(region_make(&region, &options)))
		return;
	CHECK_MSG(disk_bytes() <= 4 << 10, "%llu bytes", (unsigned long long)disk_bytes());
	/* Readers find what there is at the start: names and a thread, and no row. */
	gg_region_scan_begin(&region, &scan);
	CHECK_EQ_U64(scan.site_total_count, 0);
	CHECK_EQ_U64(scan.live_count, 0);
	if (CHECK(region_view(&region, &view))) {
		CHECK_EQ_U64(view.site_total_count, 0);
		CHECK_EQ_U64(view.thread_count, 1);
		CHECK_EQ_U64(view.heap_count, 1);
		gg_region_view_done(&view);
	}
	gg_region_thread_begin(&region, &thread, 42, "main", 1000);
	record(16, 100, GG_STACK_OVERFLOW);
	CHECK_MSG(reserved_bytes() <= 48 << 10, "%llu bytes", (unsigned long long)reserved_bytes());
	CHECK_MSG(disk_bytes() <= 48 << 10, "%llu bytes", (unsigned long long)disk_bytes());
	if (CHECK(region_view(&region, &view))) {
		/* Row 0 is thread 0's. */
		CHECK(view.site_total_count == 2 && view.site_totals[1].stack == GG_STACK_OVERFLOW);
		CHECK(view.site_totals[1].thread == 1 &&
		      view.site_totals[1].allocated.sample_count == 1);
		gg_region_view_done(&view);
	}
	end();
}

TEST(without_space_for_the_first_row_nothing_is_recorded_and_that_is_counted)
{
	uint64_t bytes;

	region_small_options(&options);
	if (!CHECK(region_make(&region, &options)))
		return;
	/* No request for space is granted. */
	bytes = region.map.bytes;
	region.map.bytes = 0;
	gg_region_thread_begin(&region, &thread, 42, "main", 1000);
	CHECK(record(16, 100, GG_STACK_OVERFLOW) == 0 && !gg_live_maybe(&region, at(16)));
	CHECK(counted(GG_COUNT_GROW_FAILED) > 0 && counted(GG_COUNT_DROP_SLOTS_FULL) == 1);
	region.map.bytes = bytes;
	CHECK(region_is_valid(&region));
	end();
}

TEST(what_is_wiped_in_a_child_is_whole_pages_however_large_they_are)
{
	enum { LARGEST_PAGE_BYTES = 64 * 1024 };

	if (!begin_small())
		return;
	const void *const parts[] = { region.records,
		                      region.homes,
		                      region.stack_words,
		                      region.site_keys,
		                      region.slot_owners,
		                      region.address_index.levels[0],
		                      region.stack_index.levels[0],
		                      region.site_index.levels[0],
		                      region.filter.memory };

	for (size_t i = 0; i < GG_COUNT(parts); i++) {
		size_t at = (size_t)((const uint8_t *)parts[i] - region.memory);

		CHECK_MSG(at % LARGEST_PAGE_BYTES == 0 && at < region.memory_bytes,
		          "part %zu begins at %zu", i, at);
	}
	end();
}

TEST(capacities_are_halved_until_they_fit)
{
	struct gg_region_options standard, fit;

	gg_region_options_default(&standard);
	fit = standard;
	gg_region_options_fit(&fit, UINT64_MAX);
	CHECK_EQ_I64(memcmp(&fit, &standard, sizeof(fit)), 0);
	for (uint64_t bytes = UINT64_C(1) << 30; bytes >= 4 << 20; bytes /= 2) {
		fit = standard;
		gg_region_options_fit(&fit, bytes);
		CHECK_MSG(gg_region_options_file_bytes(&fit) > 0 &&
		                  gg_region_options_file_bytes(&fit) < bytes,
		          "%lu bytes", (unsigned long)bytes);
		options = fit;
		if (!begin())
			return;
		CHECK_MSG(gg_region_options_file_bytes(&fit) + region.memory_bytes <= bytes,
		          "%lu bytes", (unsigned long)bytes);
		CHECK(record(0x1000, 48, GG_STACK_EMPTY) != 0 && region_is_valid(&region));
		end();
	}
	/* Not below what is of use. */
	gg_region_options_fit(&fit, 0);
	for (int i = 0; i < GG_TABLE_COUNT; i++)
		CHECK(fit.capacities[i] >= 256);
}

static bool has_flag(const void *mapping, const char *flag)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	char line[600];
	bool is_it = false, has = false;
	unsigned long begin, end;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
			is_it = (uintptr_t)mapping >= begin && (uintptr_t)mapping < end;
		has |= is_it && strncmp(line, "VmFlags:", 8) == 0 && strstr(line, flag) != NULL;
	}
	if (file != NULL)
		fclose(file);
	return has;
}

TEST(sparse_tables_are_not_filled_by_huge_pages)
{
	if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0)
		SKIP("this kernel has no huge pages");
	if (getenv("TEST_EMULATOR") != NULL)
		SKIP("the emulator does not pass on what it is told of huge pages");
	if (!begin_small())
		return;
	CHECK(has_flag(region.memory, " nh"));
	end();
}
