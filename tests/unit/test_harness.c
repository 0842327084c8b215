/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_harness - shows what test.h prints and returns.
 *
 * The failing tests are in HARNESS_PROGRAM (harness_program.c).
 */
#include <stdlib.h>

#include "child.h"

#include "test.h"

/* Runs one test of the program. */
static struct child run(const char *name)
{
	const char *argv[] = { getenv("HARNESS_PROGRAM"), name, NULL };
	struct child child;

	REQUIRE(argv[0] != NULL && child_run(&child, argv, NULL, 60));
	return child;
}

/* Runs one test of the program, which must exit and end its output so. */
static void check_run(const char *name, int exit_status, const char *output)
{
	struct child child = run(name);

	CHECK_EQ_I64(child.exit_status, exit_status);
	CHECK_EQ_STR(gg_buf_text(&child.out), output);
	child_done(&child);
}

TEST(checks_that_hold_print_nothing)
{
	check_run("checks_of_equal_values_pass", 0, "ok - checks_of_equal_values_pass\n");
}

TEST(a_check_that_fails_names_file_line_expression_and_both_values)
{
	static const char *const messages[] = {
		"count == 0\n",
		"seed 7\n",
		"count == 3: got 18446744073709551615, expected 3\n",
		"left == -1: got -9223372036854775808, expected -1\n",
		"name == \"b\": got \"100 %s\", expected \"b\"\n",
		"none == \"b\": got NULL, expected \"b\"\n",
		"\"\" == none: got \"\", expected NULL\n",
		"ratio == 0.1 + 1e-17 + 1e-16: got 0.10000000000000001, expected "
		"0.10000000000000012\n",
		"ratio == NAN: got 0.10000000000000001, expected nan\n",
		"place == NULL: got 0x10, expected (nil)\n",
		"name contains \"200\": expected \"200\" in \"100 %s\"\n",
		"none contains \"200\": expected \"200\" in \"NULL\"\n",
		NULL,
	};
	struct child child = run("each_check_prints_both_values");
	const char *at = gg_buf_text(&child.out);
	long line_before = 0;

	for (int i = 0; messages[i] != NULL; i++) {
		const char *file = strstr(at, "harness_program.c:");
		char *end;
		long line;

		REQUIRE_MSG(file != NULL, "\"%s\" has no file", at);
		line = strtol(strchr(file, ':') + 1, &end, 10);
		CHECK_MSG(i == 0 || line == line_before + 1, "line %ld after %ld", line,
		          line_before);
		CHECK_MSG(strncmp(end, ": ", 2) == 0 &&
		                  strncmp(end + 2, messages[i], strlen(messages[i])) == 0,
		          "\"%s\" does not begin with \"%s\"", end, messages[i]);
		line_before = line;
		at = strchr(end, '\n') + 1;
	}
	CHECK_EQ_STR(at, "after the checks\nFAILED - each_check_prints_both_values\n");
	CHECK_EQ_I64(child.exit_status, 1);
	child_done(&child);
}

TEST(a_check_is_worth_whether_it_held)
{
	struct child child = run("a_check_says_whether_it_held");

	CHECK_CONTAINS(gg_buf_text(&child.out), "\nheld: 1, failed: 0\nFAILED - ");
	child_done(&child);
}

TEST(require_stops_a_test_from_the_functions_that_it_calls)
{
	struct child child = run("require_stops_the_test");

	CHECK_CONTAINS(gg_buf_text(&child.out), "before the lookup\n");
	CHECK_CONTAINS(gg_buf_text(&child.out),
	               ": nothing is named load\nFAILED - require_stops_the_test\n");
	CHECK_EQ_I64(child.exit_status, 1);
	child_done(&child);
	check_run("require_goes_on_where_it_holds", 0, "ok - require_goes_on_where_it_holds\n");
}

TEST(require_in_a_forked_child_does_not_run_the_tests_again)
{
	struct child child = run("require_ends_a_forked_child");

	CHECK_CONTAINS(gg_buf_text(&child.out),
	               ": nothing is named load\nok - require_ends_a_forked_child\n");
	CHECK_EQ_I64(child.exit_status, 0);
	child_done(&child);
}

TEST(require_in_a_thread_fails_the_program)
{
	struct child child = run("require_in_a_thread_ends_the_program");

	CHECK_CONTAINS(gg_buf_text(&child.out), ": nothing is named load\n");
	CHECK(strstr(gg_buf_text(&child.out), "went on") == NULL);
	CHECK_EQ_I64(child.exit_status, 1);
	child_done(&child);
}

TEST(a_program_that_skips_all_its_tests_exits_with_77)
{
	check_run("a_skipped_test_says_why", 77,
	          "skipped - a_skipped_test_says_why: no moon tonight\n");
}

TEST(a_name_that_no_test_has_is_a_failure)
{
	check_run("nobody", 1, "no test has the name asked for\n");
}

TEST(a_fixture_is_set_up_and_torn_down_around_each_test)
{
	check_run("a_fixture_surrounds_its_test", 0,
	          "set up from 0\ntest\ntorn down from 8, set up: 1\n"
	          "ok - a_fixture_surrounds_its_test\n");
	check_run("each_test_has_its_own_fixture", 0,
	          "set up from 0\ntorn down from 7, set up: 1\n"
	          "ok - each_test_has_its_own_fixture\n");
}

TEST(a_fixture_is_torn_down_however_its_test_ends)
{
	struct child child = run("a_fixture_ends_however_its_test_ends");

	CHECK_CONTAINS(gg_buf_text(&child.out),
	               ": nothing is named load\ntorn down from 9, set up: 1\nFAILED - ");
	child_done(&child);
	child = run("a_setup_that_stops_is_torn_down");
	CHECK_CONTAINS(gg_buf_text(&child.out),
	               ": nothing is named load\ntorn down from 1\nFAILED - ");
	CHECK(strstr(gg_buf_text(&child.out), "test with") == NULL);
	child_done(&child);
}
