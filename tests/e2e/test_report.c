/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `geiger report` and `geiger tree` as a person meets them: wrong requests, damaged files, terminals.
 * What they print of a good profile is in the golden files.  GEIGER names the program, GOLDEN_PROFILE
 * what writes a profile.
 */
#include <stdlib.h>
#include <unistd.h>

#include "child.h"
#include "test.h"

static char directory[] = "/tmp/report-XXXXXX";

static void remove_all(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/made.geiger", directory);
	unlink(path);
	snprintf(path, sizeof(path), "%s/other", directory);
	unlink(path);
	rmdir(directory);
}

/* Runs a line of shell in a directory with made.geiger; what it printed, errors included. */
static const char *shell(const char *line, int exit_status)
{
	static struct child child;
	char script[1024];
	const char *argv[] = { "sh", "-c", script, NULL };

	if (strstr(directory, "XXXXXX") != NULL) {
		CHECK(mkdtemp(directory) != NULL);
		atexit(remove_all);
		shell("\"$GOLDEN_PROFILE\" made.geiger", 0);
	}
	child_done(&child);
	snprintf(script, sizeof(script), "cd %s && { %s ; } 2>&1", directory, line);
	CHECK(child_run(&child, argv, NULL, 60));
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
	CHECK_SAYS("report", 2, "no profile was given. Name one: geiger report FILE.");
	CHECK_SAYS("report made.geiger made.geiger", 2, "more than one profile");
	CHECK_SAYS("tree", 2, "geiger tree FILE");
	CHECK_SAYS("report made.geiger --confidence 2", 2, "2 is not between 0 and 1");
	CHECK_SAYS("report made.geiger --focus '('", 2, "--focus: '(': ");
	CHECK_SAYS("report made.geiger --at noon", 2, "'noon' is not a time");
	CHECK_SAYS("report made.geiger --between 5s 1s", 2, "ends before it begins");
	CHECK_SAYS("report made.geiger --between 5s", 2, "is not a window");
	CHECK_SAYS("report made.geiger --process 77", 2, "no process 77");
	CHECK_SAYS("report made.geiger --metric alive", 2, "--metric");
	CHECK_SAYS("tree made.geiger --fold 101", 2, "is not between 0 and 100");
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

TEST(a_window_may_be_two_words_or_one)
{
	char first[8192];

	snprintf(first, sizeof(first), "%.8191s",
	         shell("\"$GEIGER\" report made.geiger -m freed --between 100ms 0.3", 0));
	CHECK(strcmp(first, shell("\"$GEIGER\" report --between 100ms 0.3s made.geiger -m freed",
	                          0)) == 0);
	CHECK(strcmp(first, shell("\"$GEIGER\" report --between 100ms,300ms -m freed made.geiger",
	                          0)) == 0);
}

TEST(a_terminal_gets_its_width_and_a_pager)
{
	const char *text;

	if (access("/usr/bin/script", X_OK) != 0)
		SKIP("no script(1)");
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
	CHECK(strstr(text, "live at the end") != NULL);
	text = shell("script -qec 'stty cols 60 rows 10; TERM=xterm PAGER=no-such-pager "
	             "\"$GEIGER\" report made.geiger' /dev/null",
	             0);
	CHECK(strstr(text, "live at the end") != NULL);
	text = shell("script -qec 'stty cols 60 rows 10; TERM=xterm PAGER=true "
	             "\"$GEIGER\" report made.geiger; echo status $?' /dev/null",
	             0);
	CHECK_MSG(strstr(text, "status 0") != NULL, "%s", text);
}
