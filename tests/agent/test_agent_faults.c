/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What befalls a region, and the system around it, is not noticed by the program: it prints the same and
 * ends the same as without the agent.  docs/AGENT.md has the table of what is told.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/place.h"
#include "base/compiler.h"
#include "child.h"
#include "test.h"

enum { LIMIT_SECONDS = 60 };

static const char *directory;

__attribute__((constructor(101))) static void make_directory(void)
{
	directory = place_make();
}

static int count_lines(const char *text)
{
	int count = 0;

	for (; *text != '\0'; text++)
		count += *text == '\n';
	return count;
}

/*
 * Runs the program without the agent and with it, every allocation a sample.  It must do the same, but
 * for one line on stderr with `told` in it; "": for none.
 */
static void compare(const char *what, const char *told)
{
	const char *const argv[] = { getenv("FAULT_PROGRAM"), what, NULL };
	struct place_command plain, profiled;
	char dir[100];
	const char *const without[] = { plain.preload, "GEIGER_DIR", NULL };
	const char *const with[] = { profiled.preload, dir, "GEIGER_INTERVAL=1", NULL };
	struct child a, b;
	const char *line;

	place_empty(directory);
	place_command(&plain, argv, "");
	place_command(&profiled, argv, getenv("GEIGER_AGENT"));
	snprintf(dir, sizeof(dir), "GEIGER_DIR=%s", directory);
	CHECK(child_run(&a, plain.argv, without, LIMIT_SECONDS) && !a.timed_out);
	CHECK(child_run(&b, profiled.argv, with, LIMIT_SECONDS) && !b.timed_out);
	CHECK_MSG(a.exit_status == b.exit_status, "%s: status %d without, %d with the agent", what,
	          a.exit_status, b.exit_status);
	CHECK(a.err.length == 0);
	CHECK_MSG(strcmp(gg_buf_text(&a.out), gg_buf_text(&b.out)) == 0, "%s: without\n%swith\n%s",
	          what, gg_buf_text(&a.out), gg_buf_text(&b.out));
	line = gg_buf_text(&b.err);
	CHECK_MSG(count_lines(line) == (*told != '\0') && strstr(line, told) != NULL, "%s: %s",
	          what, line);
	child_done(&a);
	child_done(&b);
}

static const char cut_short[] = "not profiling any more: the region's file was cut short";

TEST(a_region_that_is_deleted_is_not_missed)
{
	compare("deleted", "");
}

TEST(a_region_that_is_cut_short_ends_the_profile_and_not_the_program)
{
	compare("cut", cut_short);
	compare("cut-tables", cut_short);
}

TEST(threads_go_on_when_their_region_is_cut_short_under_them)
{
	for (int i = 0; i < 10; i++)
		compare("cut-threads", cut_short);
}

TEST(a_forked_child_lives_whose_parents_region_was_cut_short)
{
	compare("cut-fork", cut_short);
}

TEST(a_bus_error_of_the_programs_own_is_its_own)
{
	compare("bus-own", cut_short);
	compare("bus-die", "");
	compare("bus-killed", "");
}

TEST(what_a_program_sets_for_sigbus_it_is_told_and_has)
{
	compare("bus-ask", "");
}
