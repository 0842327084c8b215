/* SPDX-License-Identifier: Apache-2.0 */
/* test_record_smaps - shows how the kernel's mappings are added up by kind. */
#include "record/process/smaps.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "test.h"

enum { KIB = 1024, TABLES_KIB = 1000 };

static struct gg_buf text;

/* One mapping, with its sizes in KiB. */
static void add(const char *range, const char *name, int rss, int pss, int anonymous,
                const char *flags)
{
	gg_buf_printf(&text, "%s rw-p 00000000 fe:00 %d %s%s\n", range, name[0] == '/' ? 77 : 0,
	              name[0] != '\0' ? "                   " : "", name);
	gg_buf_printf(&text, "Size:  9 kB\nRss:  %d kB\nPss:  %d kB\nPss_Dirty:  5 kB\n", rss, pss);
	gg_buf_printf(&text, "Anonymous:  %d kB\nAnonHugePages:  7 kB\nVmFlags: %s\n", anonymous,
	              flags);
}

static struct gg_smaps add_up(size_t private_bytes)
{
	struct gg_smaps sums;

	gg_smaps_add_up(&sums, gg_buf_text(&text),
	                &(struct gg_smaps_hints){ .private_bytes = private_bytes });
	gg_buf_clear(&text);
	return sums;
}

TEST(parts_are_added_up_by_what_they_are)
{
	struct gg_smaps sums;

	add("1000-2000", "/usr/bin/made", 100, 50, 20, "rd wr mr mw me ac");
	add("2000-3000", "[heap]", 400, 200, 400, "rd wr mr mw me ac");
	add("3000-4000", "", 30, 30, 30, "rd wr mr mw me ac");
	add("7ffe000-7fff000", "[stack]", 16, 8, 16, "rd wr mr mw me gd ac");
	sums = add_up(0);
	CHECK(sums.rss_bytes == 546 * KIB && sums.pss_bytes == 288 * KIB);
	CHECK_EQ_I64(sums.heap_bytes, 400 * KIB);
	CHECK(sums.stack_bytes == 16 * KIB && sums.pss_stack_bytes == 8 * KIB);
	/* The process has written to 20 of a file's 100 KiB, which makes them its own. */
	CHECK_EQ_I64(sums.pss_file_bytes, 40 * KIB);
	CHECK_EQ_I64(sums.geiger_bytes, 0);
	CHECK_EQ_I64(sums.geiger_file_bytes, 0);
	CHECK_EQ_I64(sums.pss_geiger_bytes, 0);
}

/* Adds a mapping with an inaccessible range of 4 KiB below it. */
static void add_guarded(const char *guard, const char *range, int rss)
{
	gg_buf_printf(&text, "%s ---p 00000000 00:00 0\nRss:  0 kB\n", guard);
	add(range, "", rss, rss, rss, "rd wr mr mw me ac");
}

TEST(each_mapping_has_one_kind_and_the_parts_add_up_to_rss)
{
	static const uint64_t malloc_addresses[] = { 0x7f0008000010, 0x7f3000001010 },
			      mmap_addresses[] = { 0x7f3000101000 };
	const struct gg_smaps_hints hints = { .malloc_addresses = malloc_addresses,
		                              .malloc_count = GG_COUNT(malloc_addresses),
		                              .mmap_addresses = mmap_addresses,
		                              .mmap_count = GG_COUNT(mmap_addresses) };
	static const char plain[] = "rd wr mr mw me ac", shared[] = "rd wr sh mr mw me ms";
	int64_t sums_kib[GG_MAPPING_KIND_COUNT] = {
		[GG_MAPPING_HEAP] = 400,      [GG_MAPPING_ARENA] = 300,
		[GG_MAPPING_MALLOC] = 50,     [GG_MAPPING_SAMPLED] = 60,
		[GG_MAPPING_NAMED] = 5,       [GG_MAPPING_STACK] = 16 + 33,
		[GG_MAPPING_DATA] = 20 + 30,  [GG_MAPPING_FILE] = 80 + 9,
		[GG_MAPPING_SHARED] = 70,     [GG_MAPPING_GEIGER] = 11,
		[GG_MAPPING_ANONYMOUS] = 900,
	};
	struct gg_smaps sums;
	int64_t all_bytes = 0;

	add("1000-2000", "/usr/bin/made", 100, 100, 20, plain);
	add("2000-3000", "", 30, 30, 30, plain); /* its bss */
	add("5000-6000", "[heap]", 400, 400, 400, plain);
	add("7f0008000000-7f0008100000", "", 300, 300, 300, plain);
	add("7f0010000000-7f0010100000", "", 900, 900, 900, plain); /* aligned, but no samples */
	add("7f3000001000-7f3000100000", "", 50, 50, 50, plain);
	add("7f3000101000-7f3000200000", "", 60, 60, 60, plain);
	add("7f3000300000-7f3000400000", "[anon:dalvik-main space]", 5, 5, 5, plain);
	add_guarded("7f4000000000-7f4000001000", "7f4000001000-7f4000801000", 33);
	add("7f5000000000-7f5000100000", "/memfd:frames (deleted)", 70, 35, 0, shared);
	add("7f5000200000-7f5000300000", "/var/lib/db", 9, 9, 0, shared);
	add("7f6000000000-7f6000100000", "/dev/shm/geiger-1-2.region", 11, 11, 0, shared);
	add("7ffe00000000-7ffe00100000", "[stack]", 16, 16, 16, plain);
	gg_smaps_add_up(&sums, gg_buf_text(&text), &hints);
	gg_buf_clear(&text);
	for (int kind = 0; kind < GG_MAPPING_KIND_COUNT; kind++) {
		CHECK_MSG(sums.parts[kind].rss_bytes == sums_kib[kind] * KIB,
		          "%s: %" PRId64 " KiB instead of %" PRId64, gg_mapping_kind_name(kind),
		          sums.parts[kind].rss_bytes / KIB, sums_kib[kind]);
		all_bytes += sums.parts[kind].rss_bytes;
	}
	CHECK_EQ_I64(all_bytes, sums.rss_bytes);
	CHECK_EQ_I64(sums.parts[GG_MAPPING_SHARED].pss_bytes, 35 * KIB);
	CHECK_EQ_I64(sums.parts[GG_MAPPING_STACK].mapping_count, 2);
	CHECK_EQ_I64(sums.parts[GG_MAPPING_ARENA].size_bytes, 0x100000);
}

static struct gg_smaps add_up_with(const struct gg_smaps_hints *hints)
{
	struct gg_smaps sums;

	gg_smaps_add_up(&sums, gg_buf_text(&text), hints);
	gg_buf_clear(&text);
	return sums;
}

TEST(arenas_without_samples_are_known_by_their_shape)
{
	static const char no_reserve[] = "rd wr mr mw me nr", plain[] = "rd wr mr mw me ac";
	struct gg_smaps sums;

	add("7f0008000000-7f0008100000", "", 1, 1, 1, no_reserve);
	gg_buf_printf(&text, "7f0008100000-7f000c000000 ---p 00000000 00:00 0\nRss: 0 kB\n");
	add("7f000c000000-7f0010000000", "", 2, 2, 2, no_reserve); /* all of it is in use */
	add("7f0010000000-7f0010100000", "", 4, 4, 4, plain);      /* such as Go reserves it */
	gg_buf_printf(&text, "7f0010100000-7f0014000000 ---p 00000000 00:00 0\nRss: 0 kB\n");
	add("7f0018000000-7f0018100000", "", 8, 8, 8, no_reserve); /* nothing is behind it */
	add("7f001c001000-7f0020000000", "", 16, 16, 16, no_reserve);
	sums = add_up_with(&(struct gg_smaps_hints){ 0 });
	CHECK_EQ_I64(sums.parts[GG_MAPPING_ARENA].rss_bytes, 3 * KIB);
	CHECK_EQ_I64(sums.parts[GG_MAPPING_ANONYMOUS].rss_bytes, 28 * KIB);
}

TEST(a_mapping_with_a_stack_pointer_is_a_stack)
{
	static const uint64_t stack_pointers[] = { 0x2800, 0x7fff00 };
	const struct gg_smaps_hints hints = { .stack_pointers = stack_pointers,
		                              .stack_pointer_count = GG_COUNT(stack_pointers) };
	struct gg_smaps sums;

	add("2000-3000", "", 1, 1, 1, "rd wr");
	add("4000-5000", "", 2, 2, 2, "rd wr");
	add("7f0000-800000", "[heap]", 4, 4, 4, "rd wr"); /* a coroutine in a block */
	sums = add_up_with(&hints);
	CHECK_EQ_I64(sums.parts[GG_MAPPING_STACK].rss_bytes, 1 * KIB);
	CHECK_EQ_I64(sums.parts[GG_MAPPING_HEAP].rss_bytes, 4 * KIB);
	CHECK_EQ_I64(sums.parts[GG_MAPPING_ANONYMOUS].rss_bytes, 2 * KIB);
}

TEST(only_memory_right_behind_a_private_file_is_its_data)
{
	struct gg_smaps sums;

	add("1000-2000", "/usr/lib/one.so", 0, 0, 0, "rd wr");
	add("2000-3000", "", 1, 1, 1, "rd wr");
	add("3000-4000", "", 2, 2, 2, "rd");
	add("10000-20000", "/dev/zero (deleted)", 0, 0, 0, "rd wr sh");
	add("20000-30000", "", 4, 4, 4, "rd wr");
	sums = add_up_with(&(struct gg_smaps_hints){ 0 });
	CHECK_EQ_I64(sums.parts[GG_MAPPING_DATA].rss_bytes, 3 * KIB);
	CHECK_EQ_I64(sums.parts[GG_MAPPING_ANONYMOUS].rss_bytes, 4 * KIB);
}

TEST(what_is_of_geiger_is_in_no_other_part)
{
	struct gg_smaps sums;
	size_t private_bytes = TABLES_KIB * KIB - 100; /* a mapping is of whole pages */

	add("1000-2000", "/dev/shm/geiger.0/geiger-12-345.region", 300, 290, 0, "rd wr sh");
	add("2000-3000", "/dev/shm/geiger-12-345.region (deleted)", 10, 5, 0, "rd wr sh");
	add("100000-1fa000", "", 80, 40, 80, "rd wr mr mw me nr nh");
	add("200000-201000", "/usr/lib/geiger/libgeiger-agent.so", 20, 10, 4, "rd wr");
	add("201000-202000", "", 5, 5, 5, "rd wr"); /* its bss */
	add("203000-204000", "", 1, 1, 1, "rd wr"); /* not behind it */
	sums = add_up(private_bytes);
	CHECK_EQ_I64(sums.geiger_bytes, (300 + 10 + 80 + 20 + 5) * KIB);
	CHECK_EQ_I64(sums.geiger_file_bytes, (300 + 10 + 16) * KIB);
	CHECK_EQ_I64(sums.pss_geiger_bytes, (290 + 5 + 40 + 10 + 5) * KIB);
	CHECK(sums.pss_file_bytes == 0 && sums.rss_bytes == 416 * KIB);
}

TEST(with_exact_counts_tables_of_any_size_are_geigers)
{
	struct gg_smaps sums;

	add("100000-1fa000", "", 10, 10, 10, "rd wr mr mw me nr"); /* huge pages are allowed */
	add("200000-2fb000", "", 20, 20, 20, "rd wr mr mw me nr nh");
	add("300000-301000", "[anon: a name]", 40, 40, 40, "rd wr mr mw me nr nh");
	sums = add_up_with(
		&(struct gg_smaps_hints){ .private_bytes = TABLES_KIB * KIB, .is_exact = true });
	CHECK_EQ_I64(sums.geiger_bytes, 20 * KIB);
	CHECK_EQ_I64(sums.parts[GG_MAPPING_ANONYMOUS].rss_bytes, 10 * KIB);
}

TEST(mappings_that_only_look_like_geigers_are_the_programs)
{
	struct gg_smaps sums;

	add("1000-2000", "/srv/geiger-notes.txt", 10, 10, 0, "rd");
	add("2000-3000", "/srv/other.region", 10, 10, 0, "rd");
	add("3000-4000", "/srv/geiger-1-2.region/data", 10, 10, 0, "rd");
	add("100000-1fa000", "", 10, 10, 10, "rd wr nr");    /* huge pages are allowed */
	add("200000-2fb000", "", 10, 10, 10, "rd wr nr nh"); /* another size */
	sums = add_up(TABLES_KIB * KIB);
	CHECK(sums.geiger_bytes == 0 && sums.pss_file_bytes == 30 * KIB);
}

TEST(lines_that_no_kernel_writes_end_in_an_answer)
{
	static const char *const odd[] = { "",         "\n\n",          "Rss: 5 kB\n",
		                           "1000-\n",  "abc\nRss: x\n", "1000-2000 rw-p 0 fe:00 7",
		                           "VmFlags:", "VmFlags: n" };
	struct gg_smaps sums;

	for (size_t i = 0; i < GG_COUNT(odd); i++) {
		gg_smaps_add_up(&sums, odd[i], &(struct gg_smaps_hints){ .private_bytes = 5 });
		CHECK_EQ_I64(sums.rss_bytes, 0);
	}
	gg_buf_done(&text);
}
