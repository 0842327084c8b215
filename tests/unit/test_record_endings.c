/* SPDX-License-Identifier: Apache-2.0 */
/* test_record_endings - shows which ending of a pid the recorder finds. */
#include "record/process/endings.h"
#include "test.h"

enum { EXITED_3 = 3 << 8, KILLED = 9 };

static struct gg_endings endings;

TEST(an_ending_says_how_the_process_ended)
{
	endings.count = 0;
	CHECK(gg_endings_find(&endings, 1) == NULL);
	CHECK_EQ_STR(gg_endings_add(&endings, 1, EXITED_3, 4096)->text, "exited 3");
	CHECK_EQ_STR(gg_endings_add(&endings, 2, KILLED, -1)->text, "killed by signal 9");
	REQUIRE(gg_endings_find(&endings, 1) != NULL && gg_endings_find(&endings, 2) != NULL);
	CHECK_EQ_STR(gg_endings_find(&endings, 1)->text, "exited 3");
	CHECK_EQ_I64(gg_endings_find(&endings, 1)->max_rss_bytes, 4096);
	CHECK_EQ_I64(gg_endings_find(&endings, 2)->max_rss_bytes, -1);
}

TEST(a_reused_pid_has_its_latest_ending)
{
	endings.count = 0;
	gg_endings_add(&endings, 5, EXITED_3, 0);
	gg_endings_add(&endings, 5, KILLED, 0);
	REQUIRE(gg_endings_find(&endings, 5) != NULL);
	CHECK_EQ_STR(gg_endings_find(&endings, 5)->text, "killed by signal 9");
}

TEST(the_ring_forgets_the_oldest_ending)
{
	endings.count = 0;
	for (int pid = 1; pid <= GG_ENDINGS_MAX + 1; pid++)
		gg_endings_add(&endings, pid, 0, pid);
	CHECK(gg_endings_find(&endings, 1) == NULL);
	for (int pid = 2; pid <= GG_ENDINGS_MAX + 1; pid++) {
		const struct gg_ending *ending = gg_endings_find(&endings, pid);

		REQUIRE(ending != NULL);
		CHECK_EQ_I64(ending->max_rss_bytes, pid);
	}
}
