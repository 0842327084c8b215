/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `geiger report` and `geiger tree` as a person meets them: wrong requests, damaged files,
 * terminals. The golden files have the reports of a good profile.  GEIGER names the program,
 * GOLDEN_PROFILE what writes a profile.
 */
#include <unistd.h>

#include "e2e/command.h"

/* Runs a line of shell in a directory with made.geiger; what it printed, errors included. */
static const char *shell(const char *line, int exit_status)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf script = { 0 };
	static struct child child;
	static bool is_made;

	if (!is_made) {
		is_made = true;
		shell("\"$GOLDEN_PROFILE\" made.geiger", 0);
	}
	child_done(&child);
	gg_buf_printf(&script, "{ %s ; } 2>&1", line);
	child = command_shell(gg_buf_text(&script));
	CHECK_MSG(child.exit_status == exit_status, "%s: status %d: %s", line, child.exit_status,
	          gg_buf_text(&child.out));
	return gg_buf_text(&child.out);
}

#define CHECK_SAYS(line, exit_status, words)                                  \
	do {                                                                  \
		const char *text = shell("\"$GEIGER\" " line, exit_status);   \
		CHECK_MSG(strstr(text, words) != NULL, "%s: %s", line, text); \
	} while (0)

TEST(wrong_requests_say_what_is_wrong)
{
	CHECK_SAYS("report", 2, "no profile was given. Name one: geiger report made.geiger.");
	CHECK_SAYS("report made.geiger made.geiger", 2, "more than one profile");
	CHECK_SAYS("tree", 2, "geiger tree made.geiger");
	CHECK_SAYS("report made.geiger --confidence 2", 2, "2 is not between 0 and 1");
	CHECK_SAYS("report made.geiger --focus '('", 2, "--focus: '(': ");
	CHECK_SAYS("report made.geiger --at noon", 2, "'noon' is not a time");
	CHECK_SAYS("report made.geiger --between 5s 1s", 2, "ends before it begins");
	CHECK_SAYS("report made.geiger --between 5s", 2, "is not a window");
	CHECK_SAYS("report made.geiger --process 77", 2, "no process 77");
	CHECK_SAYS("report made.geiger --metric alive", 2, "--metric");
	CHECK_SAYS("report made.geiger --by-label nosuch", 2, "no process has a label 'nosuch'");
	CHECK_SAYS("tree made.geiger --fold 101", 2, "is not between 0 and 100");
}

TEST(the_newest_profile_here_is_named_if_there_is_one)
{
	const char *text = shell("mkdir none; cd none; \"$GEIGER\" leaks; rmdir ../none", 0);

	CHECK_MSG(strstr(text, "Name one: geiger leaks FILE.") != NULL, "%s", text);
	text = shell("touch -d 2001-01-01 old.geiger; \"$GEIGER\" tree; rm old.geiger", 0);
	CHECK_MSG(strstr(text, "Name one: geiger tree made.geiger.") != NULL, "%s", text);
	text = shell("touch -d 2099-01-01 new.geiger; \"$GEIGER\" tree; rm new.geiger", 0);
	CHECK_MSG(strstr(text, "Name one: geiger tree new.geiger.") != NULL, "%s", text);
}

TEST(files_that_are_no_profiles_are_refused)
{
	CHECK_SAYS("report nothing", 1, "nothing");
	CHECK_SAYS("report .", 1, "geiger: ");
	shell("echo hello > other", 0);
	CHECK_SAYS("report other", 1, "other");
	shell("head -c 20000 made.geiger > other", 0);
	CHECK_SAYS("tree other", 1, "other");
}

/* The moment is that at which all stacks together held most, whichever the selection has. */
TEST(a_peak_of_no_stack_is_at_the_peak_of_all)
{
	const char *text = shell("\"$GEIGER\" report made.geiger -m peak --focus '^nobody$'", 0);

	CHECK_MSG(strncmp(text, "peak at 670 ms: < ", 18) == 0, "%s", text);
}

/* An imported profile has no times. */
TEST(a_peak_that_is_not_known_is_what_is_live_and_says_so)
{
	const char *text = shell("printf 'heap_v2/1\\n  t*: 2: 3000 [0: 0]\\n@ 0x40 0x41\\n"
	                         "  t*: 2: 3000 [0: 0]\\n\\nMAPPED_LIBRARIES:\\n' > other;"
	                         "\"$GEIGER\" import -o imported.geiger other;"
	                         "\"$GEIGER\" report -m peak imported.geiger;"
	                         "\"$GEIGER\" tree -m peak imported.geiger;"
	                         "\"$GEIGER\" diff -m peak imported.geiger imported.geiger;"
	                         "\"$GEIGER\" report -m peak --json imported.geiger;"
	                         "rm imported.geiger",
	                         0);

	CHECK_MSG(strstr(text, "\nlive at the end (peak not known): ") != NULL &&
	                  strstr(text, "by paths of calls") != NULL &&
	                  strstr(text, "before imported.geiger (live), ") != NULL &&
	                  strstr(text, "\"at_ns\":null") != NULL &&
	                  strstr(text, " at 0 us") == NULL && strstr(text, "0 us,") == NULL,
	          "%s", text);
}

TEST(rows_that_are_cut_have_a_bound_or_none_is_told)
{
	const char *text = shell("\"$GEIGER\" report made.geiger --unit count --limit 2", 0);

	CHECK_MSG(strstr(text, "\n7 more rows, about 8.19 k allocations together.\n") != NULL, "%s",
	          text);
	text = shell("\"$GEIGER\" report made.geiger --limit 2", 0);
	CHECK_MSG(strstr(text, "7 more rows, each holds at most ") != NULL, "%s", text);
}

TEST(where_nothing_is_live_other_metrics_are_named)
{
	const char *text = shell("\"$GEIGER\" report made.geiger --focus '^nobody$'", 0);

	CHECK_MSG(strstr(text, "--metric peak shows the largest moment, --metric allocated all") !=
	                  NULL,
	          "%s", text);
	text = shell("\"$GEIGER\" report made.geiger --focus '^nobody$' -m allocated", 0);
	CHECK_MSG(strstr(text, "--metric") == NULL, "%s", text);
}

/* The rest of RSS in a head without looks, with `less` bytes less of RSS than the profile has. */
static const char *rest(const char *less)
{
	char line[512];

	snprintf(line, sizeof(line),
	         "cp made.geiger other && python3 -c 'import sqlite3; c = "
	         "sqlite3.connect(\"other\"); c.execute(\"update memory set rss_bytes = rss_bytes "
	         "- %s\"); [c.execute(\"delete from \" + t) for t in (\"look_block\", "
	         "\"look_mapping\", \"look_total\", \"look\")]; c.commit()' && \"$GEIGER\" "
	         "report other | grep rest",
	         less);
	return shell(line, 0);
}

TEST(the_rest_of_rss_may_be_negative_by_chance)
{
	/* Live heap is 290.1 MiB, certainly 267 MiB; the rest is 10 MiB. */
	CHECK_CONTAINS(rest("0"), "10.0 MiB (kept free by the allocator");
	CHECK_CONTAINS(rest("25000000"), "-13.8 MiB (none, as far as sampling tells");
	CHECK_CONTAINS(rest("60000000"), "-47.2 MiB (negative: some live memory is");
}

TEST(files_of_one_name_have_their_paths_and_others_do_not)
{
	const char *text = shell(
		"cp made.geiger other && python3 -c 'import sqlite3; c = "
		"sqlite3.connect(\"other\"); c.execute(\"update symbol set file = "
		"(case file when ? then ? || function else ? end) || ? || file where file in (?, ?)\", "
		"(\"parse.c\", \"/\", \"/src\", \"/\", \"parse.c\", \"main.c\")); c.commit()' && "
		"\"$GEIGER\" report other --by line --no-head",
		0);

	CHECK_CONTAINS(text, " main.c:40 main\n");
	CHECK_CONTAINS(text, " /parse_document/parse.c:77 parse_document\n");
	CHECK_CONTAINS(text, " /parse_node/parse.c:31 parse_node\n");
}

/* Reports with --no-head begin with titles of columns and end with a row. */
TEST(without_a_head_there_are_rows_alone)
{
	static const char *const lines[] = { "report made.geiger", "tree made.geiger",
		                             "leaks made.geiger", "timeline made.geiger",
		                             "diff made.geiger made.geiger" };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char line[256];
		const char *text;

		snprintf(line, sizeof(line), "\"$GEIGER\" %s --no-head", lines[i]);
		text = shell(line, 0);
		CHECK_MSG(text[0] != '\n' && strstr(text, "note: ") == NULL &&
		                  strstr(text, "\n\n\n") == NULL &&
		                  strstr(text, "made --by test\n") == NULL &&
		                  strstr(text, "confidence") == NULL,
		          "%s: %s", lines[i], text);
		snprintf(line, sizeof(line), "\"$GEIGER\" %s --head", lines[i]);
		CHECK_CONTAINS(shell(line, 0), "1.16 s");
	}
}

TEST(where_no_process_was_recorded_nothing_is_known)
{
	const char *text;

	shell("cp made.geiger other && python3 -c 'import sqlite3; c = sqlite3.connect(\"other\"); "
	      "[c.execute(\"delete from \" + t) for t in \"process thread sample coarse total memory "
	      "stack_sum function_sum\".split()]; c.commit()'",
	      0);
	text = shell("\"$GEIGER\" report other", 0);
	CHECK_MSG(strstr(text, " < ") == NULL && strstr(text, "in 0 rows") == NULL &&
	                  strstr(text, "live at the end ") != NULL,
	          "%s", text);
	text = shell("\"$GEIGER\" leaks other", 0);
	CHECK_MSG(strstr(text, " < ") == NULL && strstr(text, "less than") == NULL, "%s", text);
	shell("\"$GEIGER\" timeline other && \"$GEIGER\" tree other && "
	      "\"$GEIGER\" diff other made.geiger",
	      0);
}

TEST(a_moment_after_the_end_is_told_as_such)
{
	CHECK_SAYS("report made.geiger --at 1h", 0, "(after the end): ");
	CHECK(strstr(shell("\"$GEIGER\" report made.geiger --at 1s", 0), "after the end") == NULL);
}

TEST(reports_fit_into_80_columns)
{
	static const char *const lines[] = {
		"report made.geiger",   "report made.geiger --by stack",
		"tree made.geiger",     "leaks made.geiger",
		"timeline made.geiger", "diff made.geiger made.geiger"
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char line[256];
		const char *text;

		snprintf(line, sizeof(line),
		         "LC_ALL=C COLUMNS=80 \"$GEIGER\" %s | grep '.\\{81\\}' || :", lines[i]);
		text = shell(line, 0);
		CHECK_MSG(text[0] == '\0', "%s: %s", lines[i], text);
	}
}

TEST(a_window_may_be_two_words_or_one)
{
	char first[8192];

	snprintf(first, sizeof(first), "%.8191s",
	         shell("\"$GEIGER\" report made.geiger -m freed --between 100ms 0.3", 0));
	CHECK_EQ_STR(first,
	             shell("\"$GEIGER\" report --between 100ms 0.3s made.geiger -m freed", 0));
	CHECK_EQ_STR(first,
	             shell("\"$GEIGER\" report --between 100ms,300ms -m freed made.geiger", 0));
}

TEST(a_terminal_gets_its_width_and_a_pager)
{
	const char *text;

	if (access("/usr/bin/script", X_OK) != 0)
		SKIP("no script(1)");
	if (!child_can_have_terminal())
		SKIP("no terminal: /dev/pts is not mounted");
	text = shell("script -qec 'stty cols 60 rows 10; TERM=xterm PAGER=\"sed s/^/PAGED:/\" "
	             "\"$GEIGER\" report made.geiger' /dev/null",
	             0);
	CHECK_MSG(strstr(text, "PAGED:") != NULL, "%s", text);
	text = shell("script -qec 'stty cols 200 rows 100; TERM=xterm PAGER=\"sed s/^/PAGED:/\" "
	             "\"$GEIGER\" report made.geiger' /dev/null",
	             0);
	CHECK(strstr(text, "PAGED:") == NULL && strstr(text, "samples  ") != NULL);
	text = shell("script -qec 'stty cols 60 rows 10; TERM=xterm PAGER=false "
	             "\"$GEIGER\" report made.geiger --no-pager' /dev/null",
	             0);
	CHECK_CONTAINS(text, "live at the end");
	text = shell("script -qec 'stty cols 60 rows 10; TERM=xterm PAGER=no-such-pager "
	             "\"$GEIGER\" report made.geiger' /dev/null",
	             0);
	CHECK_CONTAINS(text, "live at the end");
	text = shell("script -qec 'stty cols 60 rows 10; TERM=xterm PAGER=true "
	             "\"$GEIGER\" report made.geiger; echo status $?' /dev/null",
	             0);
	CHECK_MSG(strstr(text, "status 0") != NULL, "%s", text);
}
