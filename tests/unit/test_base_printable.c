/* SPDX-License-Identifier: Apache-2.0 */
/* test_base_printable - shows that no text can control a terminal, and that valid UTF-8 stays. */
#include "base/printable.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "test.h"

static const struct {
	const char *text, *mark, *escape, *ascii;
} cases[] = {
	{ "main", "main", "main", "main" },
	{ "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f", "gr??" },
	{ "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", "?" },
	{ "\033[2J", "?[2J", "\\x1b[2J", "?[2J" },
	{ "a\nb\tc\rd", "a?b?c?d", "a\\x0ab\\x09c\\x0dd", "a?b?c?d" },
	{ "\007\010\177", "???", "\\x07\\x08\\x7f", "???" },
	/* C1 as UTF-8, as single bytes, and the last of them. */
	{ "\xc2\x9b"
	  "2J",
	  "?2J", "\\u009b2J", "?2J" },
	{ "\x9b"
	  "2J",
	  "?2J", "\\x9b2J", "?2J" },
	{ "\xc2\x9f\xc2\xa0", "?\xc2\xa0", "\\u009f\xc2\xa0", "??" },
	/* Invalid UTF-8: truncated, too long, a surrogate, beyond the last code point. */
	{ "\xe2\x82", "??", "\\xe2\\x82", "??" },
	{ "\xc0\xaf", "??", "\\xc0\\xaf", "??" },
	{ "\xed\xa0\x80", "???", "\\xed\\xa0\\x80", "???" },
	{ "\xf4\x90\x80\x80", "????", "\\xf4\\x90\\x80\\x80", "????" },
	{ "\xff"
	  "a",
	  "?a", "\\xffa", "?a" },
	/* Direction, and separators of lines. */
	{ "a\xe2\x80\xae"
	  "b",
	  "a?b", "a\\u202eb", "a?b" },
	{ "\xe2\x80\x8e\xe2\x80\x8f", "??", "\\u200e\\u200f", "??" },
	{ "\xe2\x81\xa6\xe2\x81\xa9", "??", "\\u2066\\u2069", "??" },
	{ "\xe2\x80\xa8\xd8\x9c", "??", "\\u2028\\u061c", "??" },
	{ "\xe2\x80\xa6", "\xe2\x80\xa6", "\xe2\x80\xa6", "?" }, /* an ellipsis */
};

static void expect(const char *text, enum gg_printable_form form, const char *wanted)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };

	gg_printable_append(&out, text, strlen(text), form);
	CHECK_MSG(strcmp(gg_buf_text(&out), wanted) == 0, "'%s' is not '%s'", gg_buf_text(&out),
	          wanted);
}

TEST(what_a_terminal_would_obey_is_replaced)
{
	for (size_t i = 0; i < GG_COUNT(cases); i++) {
		expect(cases[i].text, GG_PRINTABLE_MARK, cases[i].mark);
		expect(cases[i].text, GG_PRINTABLE_ESCAPE, cases[i].escape);
		expect(cases[i].text, GG_PRINTABLE_ASCII, cases[i].ascii);
		CHECK_EQ_STR(GG_PRINTABLE(cases[i].text), cases[i].escape);
	}
	CHECK_EQ_STR(GG_PRINTABLE(NULL), "");
}

/* Each prefix of a text ends in the middle of something, and nothing behind it is read. */
TEST(a_text_ends_where_its_length_says)
{
	static const char text[] = "\xe2\x80\xae\xf0\x9f\x98\x80\033\xc2\x9b\xff";

	for (size_t length = 0; length < sizeof(text); length++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
		char *exact = length > 0 ? memcpy(malloc(length), text, length) : NULL;

		gg_printable_append(&out, exact, length, GG_PRINTABLE_ESCAPE);
		CHECK(strpbrk(gg_buf_text(&out), "\033\x9b\xff\xae") == NULL);
		free(exact);
	}
}

TEST(a_copy_that_does_not_fit_ends_with_a_whole_escape)
{
	char to[9];

	CHECK_EQ_U64(gg_printable_copy(to, sizeof(to), 0, "a\033b\033c"), 6);
	CHECK_EQ_STR(to, "a\\x1bb");
	CHECK(gg_printable_copy(to, sizeof(to), 6, "cdef") == 8 && strcmp(to, "a\\x1bbcd") == 0);
	CHECK(gg_printable_copy(to, 1, 0, "a") == 0 && to[0] == '\0');
}

TEST(lines_and_tabs_of_a_file_stay)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
	static const char text[] = "a\tb\033\n\nc\xc2\x9b";

	CHECK_EQ_I64(gg_printable_lines(&out, text, strlen(text)), 0);
	CHECK_MSG(strcmp(gg_buf_text(&out), "a\tb\\x1b\n\nc\\u009b") == 0, "%s", gg_buf_text(&out));
}
