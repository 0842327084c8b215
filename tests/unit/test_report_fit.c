/* SPDX-License-Identifier: Apache-2.0 */
#include "report/screen_text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

static bool fits(const char *text, size_t width, bool ascii, const char *wanted)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };

	gg_screen_text_append(&out, text, width, ascii);
	return CHECK_MSG(strcmp(gg_buf_text(&out), wanted) == 0, "'%s', not '%s'",
	                 gg_buf_text(&out), wanted);
}

TEST(names_are_shortened_in_the_middle)
{
	fits("short", 10, true, "short");
	fits("std::vector<int>::push_back", 15, true, "std::v...h_back");
	fits("std::vector<int>::push_back", 15, false, "std::ve\xe2\x80\xa6sh_back");
	fits("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f"
	     "abcd",
	     5, false,
	     "\xc3\xa4\xc3\xb6\xe2\x80\xa6"
	     "cd");
	fits("abcdef", 2, true, "ab");
	fits("", 5, true, "");
}

static bool fits_apart(const char *text, const char *other, size_t width, bool ascii,
                       const char *wanted)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };

	gg_screen_text_append_apart(&out, text, other, width, ascii);
	CHECK(gg_screen_text_length(gg_buf_text(&out)) <= width);
	return CHECK_MSG(strcmp(gg_buf_text(&out), wanted) == 0, "'%s', not '%s'",
	                 gg_buf_text(&out), wanted);
}

TEST(names_that_would_look_the_same_show_where_they_differ)
{
	const char *const names[] = { "Box<std::vector<int, std::allocator<...>>>::get",
		                      "Box<std::vector<std::string, std::allocator<...>>>::get",
		                      "Box<std::map<...>>::get", "main" };
	const char *others[4];

	gg_screen_text_find_alike(names, 4, 24, false, others);
	CHECK(others[0] == names[1] && others[1] == names[0]);
	CHECK(others[2] == names[2] && others[3] == names[3]);
	gg_screen_text_find_alike(names, 4, 80, false, others);
	CHECK_EQ_PTR(others[0], names[0]);
	fits_apart(names[0], names[1], 24, true, "Box<st...or<int, std:...");
	fits_apart(names[0], names[1], 24, false, "Box<std\xe2\x80\xa6or<int, std::al\xe2\x80\xa6");
	fits_apart("abcdefghijklmnopqrstuvwxy1", "abcdefghijklmnopqrstuvwxy2", 16, true,
	           "abc...qrstuvwxy1");
	fits_apart("main", "main", 24, true, "main");
	fits_apart("short", "other", 24, true, "short");
}

TEST(what_a_terminal_would_obey_is_replaced)
{
	fits("a\033[2Jb\n", 20, false, "a?[2Jb?");
	fits("a\xc2\x9b"
	     "2Jb",
	     20, false, "a?2Jb");
	fits("\x7f", 20, false, "?");
	fits("gr\xc3\xbc\xc3\x9f", 20, true, "gr??");
}

TEST(paragraphs_are_folded_between_words)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };

	gg_screen_text_append_paragraph(&out, "note: one two  three\nfour", 12, true);
	CHECK_MSG(strcmp(gg_buf_text(&out), "note: one\n  two three\n  four\n") == 0, "'%s'",
	          gg_buf_text(&out));
}

TEST(the_width_is_that_of_the_environment_without_a_terminal)
{
	setenv("COLUMNS", "120", 1);
	CHECK(gg_screen_text_width(-1) == 120 && gg_screen_text_name_width(-1) == 120);
	setenv("COLUMNS", "nonsense", 1);
	CHECK_EQ_U64(gg_screen_text_width(-1), GG_SCREEN_TEXT_WIDTH);
	unsetenv("COLUMNS");
	CHECK_EQ_U64(gg_screen_text_width(-1), GG_SCREEN_TEXT_WIDTH);
	CHECK_EQ_U64(gg_screen_text_name_width(-1),
	             SIZE_MAX); /* who reads a file may look for a whole name */
}

TEST(the_first_variable_that_is_set_decides_on_utf_8)
{
	setenv("LC_ALL", "", 1);
	setenv("LC_CTYPE", "C", 1);
	setenv("LANG", "de_DE.UTF-8", 1);
	CHECK(!gg_screen_text_is_utf8());
	setenv("LC_ALL", "C.utf8", 1);
	CHECK(gg_screen_text_is_utf8());
}
