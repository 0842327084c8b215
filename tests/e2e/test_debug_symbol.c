/* SPDX-License-Identifier: Apache-2.0 */
/* `geiger debug symbol` as a person meets it.  GEIGER names the program; it looks at itself. */
#include "e2e/command.h"

/* The address of the command's main(). */
#define MAIN "$(nm \"$GEIGER\" | sed -n 's/ T main$//p')"

TEST(an_address_is_shown_with_its_function_and_line)
{
	command_expect("debug symbol \"$GEIGER\" " MAIN "", 0, "...\n  main  ", "");
	command_expect("debug symbol \"$GEIGER\" " MAIN "", 0, "...src/cli/main.c:", "");
	command_expect("debug symbol \"$GEIGER\" 0x" MAIN " 1", 0,
	               "...\n0x1\n  ??\nfunctions and lines\n", "");
}

TEST(what_is_missing_is_said_with_what_would_help)
{
	command_expect("debug symbol --offline /no/such/file 1", 0,
	               "...no file: /no/such/file is not here", "");
	command_expect("debug symbol --build-id 0102 \"$GEIGER\" " MAIN "", 0,
	               "...another build: ", "");
	command_expect("debug symbol --build-id 0102 \"$GEIGER\" " MAIN "", 0, "...\n  ??\n", "");
}

TEST(code_made_at_run_time_is_named_by_a_perf_map)
{
	command_expect("debug symbol --perf-map /dev/null 1", 0, "...no file: ", "");
}

TEST(what_cannot_be_asked_is_refused)
{
	command_expect(
		"debug symbol", 2, "",
		"geiger: debug symbol: no file given. Name an ELF file and addresses in it.\n");
	command_expect(
		"debug symbol /bin/ls", 2, "",
		"geiger: debug symbol: no address given. Name an ELF file and addresses in it.\n");
	command_expect("debug symbol /bin/ls main", 2, "",
	               "geiger: debug symbol: 'main' is not an address. "
	               "Give hexadecimal addresses such as 0x1234.\n");
	command_expect("debug symbol --build-id xy /bin/ls 1", 2, "",
	               "geiger: --build-id: 'xy' is not a build-id. "
	               "'readelf -n FILE' prints a file's own.\n");
}
