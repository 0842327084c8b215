/* SPDX-License-Identifier: Apache-2.0 */
/* `geiger debug symbol` as a person meets it.  GEIGER names the program; it looks at itself. */
#include <stdlib.h>

#include "child.h"
#include "test.h"

/* Runs `geiger LINE` by the shell; $MAIN is the address of its main(). */
static void expect(const char *line, int exit_status, const char *out, const char *err)
{
	char script[1024];
	const char *argv[] = { "sh", "-c", script, NULL };
	struct child child;

	snprintf(script, sizeof(script),
	         "MAIN=$(nm \"$GEIGER\" | sed -n 's/ T main$//p'); \"$GEIGER\" %s", line);
	CHECK(child_run(&child, argv, NULL, 60));
	CHECK_MSG(child.exit_status == exit_status, "geiger %s: exit status %d", line,
	          child.exit_status);
	CHECK_MSG(strstr(gg_buf_text(&child.out), out) != NULL, "geiger %s: printed: %s", line,
	          gg_buf_text(&child.out));
	CHECK_MSG(strcmp(gg_buf_text(&child.err), err) == 0, "geiger %s: said: %s", line,
	          gg_buf_text(&child.err));
	child_done(&child);
}

TEST(an_address_is_shown_with_its_function_and_line)
{
	expect("debug symbol \"$GEIGER\" $MAIN", 0, "\n  main  ", "");
	expect("debug symbol \"$GEIGER\" $MAIN", 0, "src/cli/main.c:", "");
	expect("debug symbol \"$GEIGER\" 0x$MAIN 1", 0, "\n0x1\n  ??\nfunctions and lines\n", "");
}

TEST(what_is_missing_is_said_with_what_would_help)
{
	expect("debug symbol --offline /no/such/file 1", 0, "no file: /no/such/file is not here",
	       "");
	expect("debug symbol --build-id 0102 \"$GEIGER\" $MAIN", 0, "another build: ", "");
	expect("debug symbol --build-id 0102 \"$GEIGER\" $MAIN", 0, "\n  ??\n", "");
}

TEST(code_made_at_run_time_is_named_by_a_perf_map)
{
	expect("debug symbol --perf-map /dev/null 1", 0, "no file: ", "");
}

TEST(what_cannot_be_asked_is_refused)
{
	expect("debug symbol", 2, "",
	       "geiger: debug symbol: no file given. Name an ELF file and addresses in it.\n");
	expect("debug symbol /bin/ls", 2, "",
	       "geiger: debug symbol: no address given. Name an ELF file and addresses in it.\n");
	expect("debug symbol /bin/ls main", 2, "",
	       "geiger: debug symbol: 'main' is not an address. "
	       "Give hexadecimal addresses such as 0x1234.\n");
	expect("debug symbol --build-id xy /bin/ls 1", 2, "",
	       "geiger: --build-id: 'xy' is not a build-id. "
	       "'readelf -n FILE' prints a file's own.\n");
}
