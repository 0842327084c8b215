/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_base_csv - shows that CSV cells are quoted, and that no spreadsheet runs them as formulas.
 */
#include "base/csv.h"

#include <string.h>

#include "base/compiler.h"
#include "test.h"

static void expect(const char *text, const char *cell)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };

	gg_csv_append(&out, text, strlen(text));
	CHECK_MSG(strcmp(gg_buf_text(&out), cell) == 0, "%s is %s, not %s", text, gg_buf_text(&out),
	          cell);
}

TEST(a_text_with_a_separator_stands_in_quotes)
{
	expect("main", "main");
	expect("", "\"\"");
	expect("a,b", "\"a,b\"");
	expect("say \"x\"", "\"say \"\"x\"\"\"");
	expect("two\nlines", "\"two\nlines\"");
	expect("\xc3\xa4=1", "\xc3\xa4=1");
}

TEST(a_spreadsheet_runs_no_name_as_a_formula)
{
	expect("=cmd|' /C calc'!A0", "\"'=cmd|' /C calc'!A0\"");
	expect("@SUM(1)", "\"'@SUM(1)\"");
	expect("+1+cmd", "\"'+1+cmd\"");
	expect("-[NSObject init]", "\"'-[NSObject init]\"");
	expect("\t=1", "\"'\t=1\"");
	expect("-", "\"'-\"");
	expect("--5", "\"'--5\"");
}

TEST(a_number_stays_a_number)
{
	expect("-5", "-5");
	expect("+12.5", "+12.5");
	expect("-1e-05", "-1e-05");
	expect("42", "42");
}

TEST(a_byte_that_is_no_utf8_is_replaced)
{
	expect("a\xff"
	       "b",
	       "a\xef\xbf\xbd"
	       "b");
	expect("cut \xe2\x82", "cut \xef\xbf\xbd\xef\xbf\xbd");
	expect("\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80");
}
