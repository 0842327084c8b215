/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_format_json_reader - tests the JSON reader.
 *
 * Texts become UTF-8 and are truncated to fit, unwanted values are skipped, and invalid JSON is
 * refused.
 */
#include "format/codec/json_reader.h"

#include <string.h>

#include "base/compiler.h"
#include "test.h"

static struct gg_json_reader reader(const char *text)
{
	return (struct gg_json_reader){ .at = text, .end = text + strlen(text) };
}

/* The text that `json` begins with, in a buffer of `size` bytes. */
static const char *text_of(const char *json, size_t size)
{
	static char text[64];
	struct gg_json_reader from = reader(json);

	strcpy(text, "?");
	return gg_json_reader_text(&from, text, size) && from.at == from.end ? text : "failed";
}

#define CHECK_TEXT(json, expected) \
	CHECK_MSG(strcmp(text_of(json, 64), expected) == 0, "%s: %s", json, text_of(json, 64))

TEST(texts_are_read_as_utf_8)
{
	CHECK_TEXT("\"\"", "");
	CHECK_TEXT("\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "a\"\\/\b\f\n\r\t");
	CHECK_TEXT("\"\\u0041\\u00e9\\u20AC\"", "A\xc3\xa9\xe2\x82\xac");
	CHECK_TEXT("\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80");
}

#define REPLACEMENT "\xef\xbf\xbd"

TEST(half_a_pair_is_replaced_and_what_follows_it_stays)
{
	CHECK_TEXT("\"\\u0000\"", REPLACEMENT);
	CHECK_TEXT("\"\\ud83dx\"", REPLACEMENT "x");
	CHECK_TEXT("\"\\ude00x\"", REPLACEMENT "x");
	CHECK_TEXT("\"\\ud83d\\u0041\"", REPLACEMENT "A");
	CHECK_TEXT("\"\\ud83d\\ud83d\\ude00\"", REPLACEMENT "\xf0\x9f\x98\x80");
	CHECK_TEXT("\"\\ud800\\n\"", REPLACEMENT "\n");
}

TEST(texts_are_cut_to_fit_and_nothing_follows_the_cut)
{
	CHECK_EQ_STR(text_of("\"abcdef\"", 4), "abc");
	CHECK_EQ_STR(text_of("\"ab\\u20acde\"", 4), "ab");
	CHECK_EQ_STR(text_of("\"ab\xe2\x82\xac"
	                     "de\"",
	                     4),
	             "ab");
	CHECK_EQ_STR(text_of("\"ab\xe2\x82\xac"
	                     "de\"",
	                     6),
	             "ab\xe2\x82\xac");
	CHECK_EQ_STR(text_of("\"abc\"", 1), "");
}

TEST(what_is_no_text_fails)
{
	CHECK_TEXT("abc", "failed");
	CHECK_TEXT("\"abc", "failed");
	CHECK_TEXT("\"\\", "failed");
	CHECK_TEXT("\"\\x\"", "failed");
	CHECK_TEXT("\"\\u12\"", "failed");
	CHECK_TEXT("\"\\u12g4\"", "failed");
}

TEST(values_are_passed_by)
{
	struct gg_json_reader json = reader(
		"{\"a\": [1, {\"b\": [true, null]}, \"]\"], \"c\": -1.5e3}");
	double number = 0;
	char key[4];

	CHECK(gg_json_reader_open(&json, '{'));
	CHECK(gg_json_reader_member(&json, key, sizeof(key)) && strcmp(key, "a") == 0);
	gg_json_reader_skip(&json);
	CHECK(gg_json_reader_member(&json, key, sizeof(key)) && strcmp(key, "c") == 0);
	CHECK(gg_json_reader_number(&json, &number) && number == -1500);
	CHECK(!gg_json_reader_member(&json, key, sizeof(key)));
	CHECK(!json.failed);
	CHECK_EQ_PTR(json.at, json.end);
}

TEST(what_is_no_json_fails_where_it_is)
{
	static const char *const wrong[] = {
		"[1 2]", "[1,", "[,1]", "{1:2}", "[+-]", "[tru]", "[1}"
	};

	for (size_t i = 0; i < GG_COUNT(wrong); i++) {
		struct gg_json_reader json = reader(wrong[i]);

		gg_json_reader_skip(&json);
		CHECK_MSG(json.failed && json.at <= json.end, "%s", wrong[i]);
	}
}
