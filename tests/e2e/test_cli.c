/* SPDX-License-Identifier: Apache-2.0 */
/* The command line as a person meets it.  GEIGER names the program. */
#include <stdlib.h>

#include "e2e/command.h"

TEST(the_version_is_the_builds)
{
	command_expect("--version", 0, "geiger " GG_VERSION "\n", "");
}

TEST(without_a_command_the_commands_are_listed)
{
	command_expect("", 2, "...Commands:\n", "");
	command_expect("help", 0, "...Commands:\n", "");
	command_expect("--help", 0, "...Commands:\n", "");
}

TEST(help_for_a_command_is_the_same_however_it_is_asked_for)
{
	struct child first = command_run("help help");

	CHECK_EQ_I64(first.exit_status, 0);
	CHECK_CONTAINS(gg_buf_text(&first.out), "Usage: geiger help [COMMAND [VERB]]");
	command_expect("help --help", 0, gg_buf_text(&first.out), "");
	command_expect("help -h", 0, gg_buf_text(&first.out), "");
	command_expect("--help help", 0, gg_buf_text(&first.out), "");
	child_done(&first);
}

TEST(unknown_names_get_the_nearest_known_one_and_status_2)
{
	command_expect(
		"sqlite3", 2, "",
		"geiger: unknown command 'sqlite3'. 'geiger record sqlite3' would profile it; "
		"'geiger help' lists the commands.\n");
	command_expect("hlep", 2, "", "geiger: unknown command 'hlep'. Did you mean 'help'?\n");
	command_expect("help hlep", 2, "",
	               "geiger: unknown command 'hlep'. Did you mean 'help'?\n");
	command_expect("--versoin", 2, "",
	               "geiger: unknown option '--versoin'. Did you mean '--version'?\n");
	command_expect("help --colour=never", 2, "",
	               "geiger: help: unknown option '--colour'. Did you mean '--color'?\n");
	command_expect(
		"--color sometimes", 2, "",
		"geiger: --color: 'sometimes' is not a choice. Give one of auto|always|never.\n");
}

TEST(a_profile_is_not_written_to_standard_output)
{
	static const char said[] = "geiger: -: a profile is not written to standard output. "
				   "Name a file; ./- is one.\n";

	command_expect("merge -o - /dev/null", 2, "", said);
	command_expect("import -o - /dev/null", 2, "", said);
}

TEST(a_sum_of_profiles_is_not_one_of_them)
{
	command_expect(
		"import -q -o /tmp/geiger-merge-$$.geiger - <<E\na;b 10\nE\ncd /tmp; "
		"\"$GEIGER\" merge -o geiger-merge-$$.geiger ./geiger-merge-$$.geiger; status=$?; "
		"rm geiger-merge-$$.geiger; exit $status",
		2, "", "...is the profile itself. Name another file.\n");
}

TEST(colour_is_there_when_asked_for_and_only_then)
{
	struct child child = command_shell("NO_COLOR=1 \"$GEIGER\" --color always help");

	CHECK_CONTAINS(gg_buf_text(&child.out), "\033[");
	child_done(&child);
	child = command_shell("NO_COLOR=1 \"$GEIGER\" help --color=always");
	CHECK_CONTAINS(gg_buf_text(&child.out), "\033[");
	child_done(&child);
	child = command_run("help"); /* not a terminal */
	CHECK(strstr(gg_buf_text(&child.out), "\033[") == NULL);
	child_done(&child);
}

/* script(1) runs a command on a terminal of its own. */
static bool is_coloured_on_a_terminal(const char *command)
{
	const char *argv[] = { "script", "-qec", command, "/dev/null", NULL };
	const char *environment[] = { "TERM=xterm", "NO_COLOR", NULL };
	struct child child;
	bool coloured;

	CHECK(child_run(&child, argv, environment, 60));
	CHECK_EQ_I64(child.exit_status, 0);
	coloured = strstr(gg_buf_text(&child.out), "\033[") != NULL;
	child_done(&child);
	return coloured;
}

TEST(a_terminal_gets_colour_unless_no_color_or_dumb)
{
	if (!child_can_have_terminal())
		SKIP("no terminal: /dev/pts is not mounted");
	CHECK(is_coloured_on_a_terminal("\"$GEIGER\" help"));
	CHECK(!is_coloured_on_a_terminal("NO_COLOR=1 \"$GEIGER\" help"));
	CHECK(is_coloured_on_a_terminal("NO_COLOR= \"$GEIGER\" help"));
	CHECK(!is_coloured_on_a_terminal("TERM=dumb \"$GEIGER\" help"));
	CHECK(!is_coloured_on_a_terminal("\"$GEIGER\" help --color never"));
}

TEST(output_that_cannot_be_written_is_an_error)
{
	command_expect("help >/dev/full", 1, "",
	               "geiger: standard output: No space left on device.\n");
}

TEST(help_fits_80_columns)
{
	struct child child = command_run("help; for c in $(\"$GEIGER\" help --list | "
	                                 "sed 's/geiger-*//'); do "
	                                 "\"$GEIGER\" help $(echo $c | tr - ' '); done");
	size_t column = 0, lines = 0;

	for (const char *p = gg_buf_text(&child.out); *p != '\0'; p++) {
		column = *p == '\n' ? 0 : column + 1;
		lines += *p == '\n';
		CHECK_MSG(column <= 80, "%.100s", p - column + 1);
	}
	CHECK(lines > 400);
	child_done(&child);
}
