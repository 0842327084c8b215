/* SPDX-License-Identifier: Apache-2.0 */
/* test_record_smaps - shows how the kernel's mappings are added up by kind. */
#include "record/process/smaps.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
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

	gg_smaps_add_up(&sums, gg_buf_text(&text), private_bytes);
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
		gg_smaps_add_up(&sums, odd[i], 5);
		CHECK_EQ_I64(sums.rss_bytes, 0);
	}
	gg_buf_done(&text);
}
