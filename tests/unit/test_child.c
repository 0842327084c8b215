/* SPDX-License-Identifier: Apache-2.0 */
/* test_child - tests the helper with which other tests run programs. */
#include "child.h"

#include "test.h"

static struct child shell(const char *script, const char *const environment[], double limit_seconds)
{
	const char *argv[] = { "sh", "-c", script, NULL };
	struct child child;

	CHECK(child_run(&child, argv, environment, limit_seconds));
	return child;
}

TEST(both_streams_and_the_exit_status_are_kept)
{
	struct child child = shell("echo out; echo err >&2; exit 3", NULL, 20);

	CHECK_EQ_I64(child.exit_status, 3);
	CHECK(!child.timed_out);
	CHECK_EQ_STR(gg_buf_text(&child.out), "out\n");
	CHECK_EQ_STR(gg_buf_text(&child.err), "err\n");
	child_done(&child);
}

TEST(a_signal_shows_as_a_shell_shows_it)
{
	struct child child = shell("kill -9 $$", NULL, 20);

	CHECK(child.exit_status == 128 + 9 && !child.timed_out);
	child_done(&child);
}

TEST(much_output_does_not_block)
{
	struct child child = shell("head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2", NULL,
	                           60);

	CHECK_EQ_I64(child.exit_status, 0);
	CHECK_EQ_U64(child.out.length, 3000000);
	CHECK_EQ_U64(child.err.length, 2000000);
	child_done(&child);
}

TEST(a_hanging_program_is_ended_with_all_its_children)
{
	struct child child = shell("echo started; sleep 1000 & sleep 1000", NULL, 3);

	CHECK(child.timed_out);
	CHECK_EQ_I64(child.exit_status, 128 + 9);
	CHECK_EQ_STR(gg_buf_text(&child.out), "started\n");
	child_done(&child);
}

TEST(the_environment_can_be_changed)
{
	const char *environment[] = { "GG_ONE=1", "HOME", NULL };
	struct child child = shell("echo $GG_ONE ${HOME-none}", environment, 20);

	CHECK_EQ_STR(gg_buf_text(&child.out), "1 none\n");
	child_done(&child);
}

TEST(a_program_that_does_not_exist_is_status_127)
{
	const char *argv[] = { "/nonexistent/program", NULL };
	struct child child;

	CHECK(child_run(&child, argv, NULL, 20));
	CHECK_EQ_I64(child.exit_status, 127);
	CHECK_CONTAINS(gg_buf_text(&child.err), "/nonexistent/program");
	child_done(&child);
}
