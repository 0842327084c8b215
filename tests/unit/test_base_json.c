/* SPDX-License-Identifier: Apache-2.0 */
/* test_base_json - shows that the JSON writer produces valid text from any values and bytes. */
#include "base/json.h"

#include <math.h>

#include "base/compiler.h"
#include "test.h"

TEST(objects_and_lists_nest_with_commas_between)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf buf = { 0 };
	struct gg_json json = { .out = &buf };

	gg_json_open(&json, NULL, '{');
	gg_json_integer(&json, "version", UINT64_MAX);
	gg_json_open(&json, "rows", '[');
	gg_json_open(&json, NULL, '{');
	gg_json_bool(&json, "ok", true);
	gg_json_text(&json, "why", NULL);
	gg_json_close(&json);
	gg_json_open(&json, NULL, '[');
	gg_json_close(&json);
	gg_json_number(&json, NULL, 0.5);
	gg_json_close(&json);
	gg_json_close(&json);
	CHECK_EQ_STR(gg_buf_text(&buf), "{\"version\":18446744073709551615,\"rows\":[{\"ok\":true,"
	                                "\"why\":null},[],0.5]}");
}

static bool number_is(double value, const char *expected)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf buf = { 0 };
	struct gg_json json = { .out = &buf };

	gg_json_number(&json, NULL, value);
	return CHECK_MSG(strcmp(gg_buf_text(&buf), expected) == 0, "%s", gg_buf_text(&buf));
}

TEST(numbers_are_the_shortest_that_read_back)
{
	number_is(0.1, "0.1");
	number_is(1.0 / 3, "0.3333333333333333");
	number_is(0.1 + 0.2, "0.30000000000000004");
	number_is(1e300, "1e+300");
	number_is(-0.0, "-0");
}

TEST(what_json_has_no_number_for_is_null)
{
	number_is(NAN, "null");
	number_is(INFINITY, "null");
}

static bool text_is(const char *value, const char *expected)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf buf = { 0 };
	struct gg_json json = { .out = &buf };

	gg_json_text(&json, NULL, value);
	return CHECK_MSG(strcmp(gg_buf_text(&buf), expected) == 0, "%s", gg_buf_text(&buf));
}

TEST(any_bytes_become_valid_text)
{
	text_is("a\"b\\c\n\177", "\"a\\\"b\\\\c\\u000a\\u007f\"");
	text_is("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
	        "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
	/* A lone continuation, a cut sequence, too long a form, a surrogate, beyond Unicode. */
	text_is("\x80", "\"\xef\xbf\xbd\"");
	text_is("\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\"");
	text_is("\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"");
	text_is("\xe0\x80\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	text_is("\xf0\x8f\xbf\xbf", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	text_is("\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	text_is("\xf5", "\"\xef\xbf\xbd\"");
	text_is("\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

TEST(decimals_are_exact_and_without_zeros_at_their_end)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf buf = { 0 };
	struct gg_json json = { .out = &buf };

	gg_json_open(&json, NULL, '[');
	gg_json_decimal(&json, NULL, 1234500000, 6);
	gg_json_decimal(&json, NULL, -5, 3);
	gg_json_decimal(&json, NULL, 100, 2);
	gg_json_decimal(&json, NULL, -7, 0);
	gg_json_decimal(&json, NULL, INT64_MIN, 18);
	gg_json_close(&json);
	CHECK_MSG(strcmp(gg_buf_text(&buf), "[1234.5,-0.005,1,-7,-9.223372036854775808]") == 0,
	          "%s", gg_buf_text(&buf));
}
