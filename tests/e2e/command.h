/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command - runs the command `geiger`, which GEIGER names, in the test's scratch folder.
 *
 *   command_expect("report made.geiger", 0, "...live at the end", "");
 *
 *   struct child child = command_run("tree made.geiger --json");
 *   CHECK_CONTAINS(gg_buf_text(&child.out), "\"unit\":\"bytes\"");
 *   child_done(&child);
 *
 * A line goes through the shell, so redirections and quotes work.  It runs for 60 seconds at most,
 * in C.UTF-8 and 80 columns.
 */
#pragma once

#include <stdarg.h>
#include <stdlib.h>

#include "child.h"
#include "scratch.h"
#include "test.h"

/* Runs a line of shell.  The caller ends the result with child_done(). */
static inline struct child command_shell(const char *line)
{
	static const char *const environment[] = { "LC_ALL=C.UTF-8", "COLUMNS=80", NULL };
	GG_CLEANUP(gg_buf_done) struct gg_buf script = { 0 };
	const char *argv[] = { "sh", "-c", NULL, NULL };
	struct child child;

	REQUIRE_MSG(getenv("GEIGER") != NULL, "GEIGER does not name the command");
	gg_buf_printf(&script, "cd '%s' && %s", scratch_folder(), line);
	argv[2] = gg_buf_text(&script);
	REQUIRE_MSG(child_run(&child, argv, environment, 60), "cannot run a shell");
	return child;
}

/* Runs `geiger LINE`. */
static inline struct child command_run(const char *line)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf script = { 0 };

	gg_buf_printf(&script, "\"$GEIGER\" %s", line);
	return command_shell(gg_buf_text(&script));
}

/*
 * Whether the text is as expected: "...PART" stands for any text that contains the part, NULL for
 * any.
 */
static inline bool command_is_expected(const char *text, const char *expected)
{
	if (expected == NULL)
		return true;
	if (strncmp(expected, "...", 3) == 0)
		return strstr(text, expected + 3) != NULL;
	return strcmp(text, expected) == 0;
}

static inline bool command_expect_at(const char *file, int at, const char *line, int exit_status,
                                     const char *out, const char *err)
{
	struct child child = command_run(line);
	bool is_expected = child.exit_status == exit_status &&
	                   command_is_expected(gg_buf_text(&child.out), out) &&
	                   command_is_expected(gg_buf_text(&child.err), err);

	test_check(is_expected, file, at,
	           "geiger %s\nexpected exit status %d, printed \"%s\", errors \"%s\"\n"
	           "got exit status %d, printed:\n%s\nerrors:\n%s",
	           line, exit_status, out == NULL ? "..." : out, err == NULL ? "..." : err,
	           child.exit_status, gg_buf_text(&child.out), gg_buf_text(&child.err));
	child_done(&child);
	return is_expected;
}

/*
 * Runs `geiger LINE` and checks its exit status and what it printed on standard output and standard
 * error: exactly the text, or with "...PART" any text that contains the part, or with NULL any
 * text.
 */
#define command_expect(line, exit_status, out, err) \
	command_expect_at(__FILE__, __LINE__, line, exit_status, out, err)
