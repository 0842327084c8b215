/* SPDX-License-Identifier: Apache-2.0 */
/* test_record_looks - the recorder's looks at a process name every byte of its RSS. */
#include <stdlib.h>
#include <string.h>

#include "profile/records.h"
#include "recording.h"
#include "test.h"

enum { MIB = 1 << 20, LIMIT_SECONDS = 240 };

static const char *program(void)
{
	return getenv("LOOKS_PROGRAM");
}

/* The RSS of a kind's mappings in the last look. */
static double rss_of(struct recording *r, enum gg_mapping_kind kind)
{
	char query[256];

	snprintf(query, sizeof(query),
	         "select coalesce(sum(m.rss_bytes), 0) from look_mapping as m join look on "
	         "look.id = m.look where (moments & 1) = 1 and kind = %d",
	         (int)kind);
	return recording_number(r, query);
}

/* Checks what is true of every look. */
static void check_looks(struct recording *r)
{
	CHECK_EQ_DOUBLE(recording_number(r, "select count(*) from look where (moments & 1) = 1"),
	                1);
	CHECK_EQ_DOUBLE(recording_number(r, "select count(*) from look where (moments & 2) = 2"),
	                1);
	CHECK_EQ_DOUBLE(recording_number(r, "select count(*) from look where rss_bytes <> (select "
	                                    "sum(rss_bytes) from look_mapping where look = id)"),
	                0);
	CHECK_EQ_DOUBLE(recording_number(r, "select count(*) from look where chosen_count > 10000 "
	                                    "or chosen_count > live_count"),
	                0);
	CHECK_EQ_DOUBLE(
		recording_number(r, "select count(*) from look where chosen_count - torn_count <> "
	                            "(select count(*) from look_block where look = id)"),
		0);
	CHECK_EQ_DOUBLE(
		recording_number(r, "select count(*) from look_block where sample not in (select "
	                            "id from sample)"),
		0);
}

TEST(the_last_look_has_what_was_large_at_the_end)
{
	struct recording r;

	if (!CHECK(recording_begin(&r)) ||
	    !CHECK(recording_run_seen(&r,
	                              (const char *const[]){ "-i", "64k", "--", program(),
	                                                     r.directory, "4", "8000", NULL },
	                              NULL, "true", LIMIT_SECONDS)))
		return;
	check_looks(&r);
	CHECK_EQ_DOUBLE(recording_number(&r, "select thread_count from look where moments & 1"), 5);
	CHECK(rss_of(&r, GG_MAPPING_STACK) >= 4 * 3.0 * MIB);
	CHECK(rss_of(&r, GG_MAPPING_STACK) < 4 * 3.5 * MIB);
	CHECK(rss_of(&r, GG_MAPPING_ARENA) >= 4 * 8000 * 1008.0);
	CHECK(rss_of(&r, GG_MAPPING_ARENA) < 4 * 9000 * 1008.0);
	CHECK_EQ_DOUBLE(rss_of(&r, GG_MAPPING_SHARED), 24.0 * MIB);
	CHECK(rss_of(&r, GG_MAPPING_GEIGER) > 0 && rss_of(&r, GG_MAPPING_FILE) > 0);
	CHECK(rss_of(&r, GG_MAPPING_ANONYMOUS) < 1.0 * MIB);
	/* Every block was written to, so the memory of the samples is resident. */
	CHECK(recording_number(&r, "select min(resident_bytes) from look_block") >= 1000);
	CHECK(recording_geiger(&r, (const char *const[]){ "check", r.path, NULL }, 60) &&
	      r.child.exit_status == 0);
	recording_end(&r);
}

TEST(a_process_that_is_killed_keeps_its_last_look_at_a_choice_of_its_samples)
{
	struct recording r;

	if (!CHECK(recording_begin(&r)) ||
	    !CHECK(recording_run_seen(&r,
	                              (const char *const[]){ "-i", "1", "--", program(),
	                                                     r.directory, "2", "8000", "kill",
	                                                     NULL },
	                              NULL, "true", LIMIT_SECONDS)))
		return;
	check_looks(&r);
	/* On a slow machine a look chooses fewer samples (record_look_schedule). */
	CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from look where moments & 1 and "
	                                     "chosen_count in (10000, 5000, 2500, 1250, 625)"),
	                1);
	CHECK(recording_number(&r, "select live_count from look where moments & 1") >= 16000);
	CHECK(rss_of(&r, GG_MAPPING_STACK) >= 2 * 3.0 * MIB);
	CHECK_CONTAINS(recording_text(&r, "select ending from process"), "killed");
	recording_end(&r);
}

/* Records slabs_program over jemalloc, up to such a look.  False with a message. */
static bool record_slabs(struct recording *r, const char *option, const char *condition)
{
	static char preload[512];

	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", getenv("JEMALLOC"));
	return CHECK(recording_begin(r)) &&
	       CHECK(recording_run_seen(
		       r,
		       (const char *const[]){ "-i", "16k", option, "--", getenv("SLABS_PROGRAM"),
	                                      r->directory, NULL },
		       (const char *const[]){ preload, NULL }, condition, LIMIT_SECONDS)) &&
	       CHECK_EQ_I64(r->child.exit_status, 0);
}

TEST(over_jemalloc_the_agent_tells_slabs_and_totals)
{
	struct recording r;
	double pinned, free_bytes;

	if (*getenv("JEMALLOC") == '\0')
		SKIP("jemalloc is not installed");
	if (!record_slabs(&r, "--mmap", "reason is null"))
		return;
	check_looks(&r);
	CHECK_EQ_STR(recording_text(&r, "select allocator from look where moments & 1"),
	             "jemalloc");
	/* A survivor alone in its page shares the 63 free regions with no other block. */
	CHECK_EQ_DOUBLE(recording_number(&r, "select max(pinned_bytes) from look_block"), 63 * 64);
	CHECK(recording_number(&r, "select avg(pinned_bytes >= 0) from look_block b join look on "
	                           "look.id = b.look and moments & 1") > 0.9);
	/* Each block of 64 bytes stands for 16384 / 64 blocks. */
	pinned = 256 * recording_number(&r, "select sum(pinned_bytes) from look_block b join look "
	                                    "on look.id = b.look and moments & 1 and "
	                                    "pinned_bytes > 0");
	free_bytes = recording_number(&r, "select sum(case name when 'jemalloc.active' then bytes "
	                                  "else -bytes end) from look_total t join look on look.id "
	                                  "= t.look and moments & 1 where name in "
	                                  "('jemalloc.active', 'jemalloc.allocated')");
	CHECK(free_bytes > 20.0 * MIB);
	/* Some 25 samples: five deviations. */
	CHECK(pinned > 0 && pinned < 2 * free_bytes);
	recording_end(&r);
}

TEST(without_calls_of_the_allocator_a_look_says_so)
{
	struct recording r;

	if (*getenv("JEMALLOC") == '\0')
		SKIP("jemalloc is not installed");
	if (!record_slabs(&r, "--no-allocator-calls", "true"))
		return;
	check_looks(&r);
	CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from look_total "
	                                     "where name not like 'look.%'"),
	                0);
	CHECK_EQ_DOUBLE(recording_number(&r, "select coalesce(max(pinned_bytes), -1) from "
	                                     "look_block"),
	                -1);
	CHECK_CONTAINS(recording_text(&r, "select reason from look where moments & 1"),
	               "switched off");
	recording_end(&r);
}
