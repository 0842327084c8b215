/* SPDX-License-Identifier: Apache-2.0 */
/* test_base_error - shows how errors are composed, replaced, and printed safely. */
#include "base/error.h"

#include <errno.h>

#include "test.h"

static const char *formatted(const struct gg_error *error)
{
	static char line[GG_ERROR_LINE_MAX];

	gg_error_format(error, line, sizeof(line));
	return line;
}

TEST(an_error_says_where_what_and_what_to_do)
{
	struct gg_error error = { 0 };

	CHECK_EQ_I64(gg_error_set(&error, -ENOENT, "a.geiger", "Record one.", "no %s", "profile"),
	             -ENOENT);
	CHECK_EQ_I64(error.status, -ENOENT);
	CHECK_EQ_STR(formatted(&error), "a.geiger: no profile. Record one.");
}

TEST(place_and_advice_may_be_absent)
{
	struct gg_error error = { 0 };

	gg_error_set(&error, -EIO, NULL, NULL, "lost");
	CHECK_EQ_STR(formatted(&error), "lost.");
}

TEST(nobody_has_to_want_the_error)
{
	CHECK_EQ_I64(gg_error_set(NULL, -EIO, "x", NULL, "lost"), -EIO);
	CHECK_EQ_I64(gg_error_set_errno(NULL, EIO, "x", NULL), -EIO);
	gg_error_set_place(NULL, "x");
}

TEST(a_system_error_is_told_in_the_systems_words)
{
	struct gg_error error;

	CHECK_EQ_I64(gg_error_set_errno(&error, ENOSPC, "/x", NULL), -ENOSPC);
	CHECK_EQ_STR(formatted(&error), "/x: No space left on device.");
}

TEST(a_callers_place_replaces_the_first_one)
{
	struct gg_error error;

	gg_error_set(&error, -EBADMSG, "old", NULL, "bad byte");
	gg_error_set_place(&error, "%s: offset %d", error.place, 12);
	CHECK_EQ_STR(formatted(&error), "old: offset 12: bad byte.");
}

TEST(a_message_may_quote_the_error_it_replaces)
{
	struct gg_error error;

	gg_error_set(&error, -EIO, "p", "a.", "inner");
	gg_error_set(&error, -EIO, error.place, error.advice, "outer: %s", error.message);
	CHECK_EQ_STR(formatted(&error), "p: outer: inner. a.");
}

TEST(hostile_bytes_cannot_reach_the_terminal)
{
	struct gg_error error;

	gg_error_set(&error, -EBADMSG, "\033[2J", NULL, "a\nb\177");
	CHECK_EQ_STR(formatted(&error), "\\x1b[2J: a\\x0ab\\x7f.");
}

TEST(long_texts_are_cut_and_the_line_always_ends)
{
	struct gg_error error;
	char text[4096], line[64];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	gg_error_set(&error, -EIO, text, text, "%s", text);
	CHECK_EQ_U64(strlen(error.place), sizeof(error.place) - 1);
	CHECK_EQ_U64(strlen(error.message), sizeof(error.message) - 1);
	for (size_t size = 1; size <= sizeof(line); size++) {
		memset(line, '?', sizeof(line));
		CHECK_EQ_U64(gg_error_format(&error, line, size), size - 1);
		CHECK_EQ_I64(line[size - 1], '\0');
	}
}
