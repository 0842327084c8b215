/* SPDX-License-Identifier: Apache-2.0 */
/* test_record_exit_statuses - shows which exit status of a pid the recorder finds. */
#include "record/process/exit_statuses.h"
#include "test.h"

enum { EXITED_3 = 3 << 8, KILLED = 9 };

static struct gg_exit_statuses exit_statuses;

TEST(an_exit_status_says_how_the_process_ended)
{
	exit_statuses.count = 0;
	CHECK(gg_exit_statuses_find(&exit_statuses, 1) == NULL);
	CHECK_EQ_STR(gg_exit_statuses_add(&exit_statuses, 1, EXITED_3, 4096)->text, "exited 3");
	CHECK_EQ_STR(gg_exit_statuses_add(&exit_statuses, 2, KILLED, -1)->text,
	             "killed by signal 9");
	REQUIRE(gg_exit_statuses_find(&exit_statuses, 1) != NULL &&
	        gg_exit_statuses_find(&exit_statuses, 2) != NULL);
	CHECK_EQ_STR(gg_exit_statuses_find(&exit_statuses, 1)->text, "exited 3");
	CHECK_EQ_I64(gg_exit_statuses_find(&exit_statuses, 1)->max_rss_bytes, 4096);
	CHECK_EQ_I64(gg_exit_statuses_find(&exit_statuses, 2)->max_rss_bytes, -1);
}

TEST(a_reused_pid_has_its_latest_exit_status)
{
	exit_statuses.count = 0;
	gg_exit_statuses_add(&exit_statuses, 5, EXITED_3, 0);
	gg_exit_statuses_add(&exit_statuses, 5, KILLED, 0);
	REQUIRE(gg_exit_statuses_find(&exit_statuses, 5) != NULL);
	CHECK_EQ_STR(gg_exit_statuses_find(&exit_statuses, 5)->text, "killed by signal 9");
}

TEST(the_ring_forgets_the_oldest_exit_status)
{
	exit_statuses.count = 0;
	for (int pid = 1; pid <= GG_EXIT_STATUSES_MAX + 1; pid++)
		gg_exit_statuses_add(&exit_statuses, pid, 0, pid);
	CHECK(gg_exit_statuses_find(&exit_statuses, 1) == NULL);
	for (int pid = 2; pid <= GG_EXIT_STATUSES_MAX + 1; pid++) {
		const struct gg_exit_status *exit_status = gg_exit_statuses_find(&exit_statuses,
		                                                                 pid);

		REQUIRE(exit_status != NULL);
		CHECK_EQ_I64(exit_status->max_rss_bytes, pid);
	}
}
