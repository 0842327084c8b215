/* SPDX-License-Identifier: Apache-2.0 */
/* test_report_screen_text - shows how texts are shortened and folded to the width of a terminal. */
#include "report/screen_text.h"

#include <locale.h>
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

TEST(texts_are_shortened_in_the_middle)
{
	fits("short", 10, true, "short");
	fits("libsqlite3.so.0+0x1234", 15, true, "libsql...0x1234");
	fits("libsqlite3.so.0+0x1234", 15, false, "libsqli\xe2\x80\xa6+0x1234");
	fits("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f"
	     "abcd",
	     5, false,
	     "\xc3\xa4\xc3\xb6\xe2\x80\xa6"
	     "cd");
	fits("abcdef", 2, true, "ab");
	fits("", 5, true, "");
}

TEST(names_lose_arguments_then_scopes_and_keep_the_last_component)
{
	const char *name = "std::map<std::string, long>::emplace<int, int>(int&&) (app.so)";

	fits(name, 80, true, name);
	fits(name, 61, true, "std::map<...>::emplace<...>(...) (app.so)");
	fits(name, 40, true, "...::emplace<...>(...) (app.so)");
	fits(name, 41, true, "std::map<...>::emplace<...>(...) (app.so)");
	fits(name, 31, true, "...::emplace<...>(...) (app.so)");
	fits(name, 30, true, "...::emplace<...>(...)");
	fits(name, 15, true, "...::e...>(...)");
	fits("ns::Set::operator<<(std::ostream&)", 30, true, "ns::Set::operator<<(...)");
	fits("ns::Set::operator<<(std::ostream&)", 22, true, "...::operator<<(...)");
	fits("(anonymous namespace)::Parser::parse (made)", 27, true, "...::Parser::parse (made)");
	fits("<alloc::vec::Vec<T> as core::Drop>::drop", 20, true, "...::drop");
	fits("std::vector<int>::push_back", 15, false, "\xe2\x80\xa6::push_back");
}

TEST(methods_with_dots_lose_their_module_then_packages_and_keep_the_class)
{
	const char *name = "System.Threading.Tasks.Task.RunOrQueue(System.Object) (Lib.dll)";

	fits(name, 80, true, name);
	fits(name, 53, true, "System.Threading.Tasks.Task.RunOrQueue(...) (Lib.dll)");
	fits(name, 52, true, "System.Threading.Tasks.Task.RunOrQueue(...)");
	fits(name, 43, true, "System.Threading.Tasks.Task.RunOrQueue(...)");
	fits(name, 42, true, "...Threading.Tasks.Task.RunOrQueue(...)");
	fits(name, 23, true, "...Task.RunOrQueue(...)");
	fits(name, 22, true, "...RunOrQueue(...)");
	fits(name, 22, false, "\xe2\x80\xa6Task.RunOrQueue(\xe2\x80\xa6)");
	/* An open bracket; then no methods: versions, clones, one dot, a path. */
	fits("a.b.c(method.of.it", 12, true, "a.b.c(...)");
	fits("libsqlite3.so.0+0x1234", 15, true, "libsql...0x1234");
	fits("parse.constprop.0.isra.0", 12, true, "pars...sra.0");
	fits("Class.method_of_it", 12, true, "Clas...of_it");
	fits("a.b/c.d.method_of_it", 12, true, "a.b/...of_it");
}

/* Is there a locale that knows widths?  Debian always has C.UTF-8. */
static bool has_widths(void)
{
	return gg_screen_text_length("\u4e2d") == 2;
}

TEST(wide_characters_take_two_cells_and_accents_none)
{
	if (!has_widths())
		SKIP("no locale C.UTF-8");
	CHECK_EQ_U64(gg_screen_text_length("\u4e2d\u6587::f"), 7);
	CHECK_EQ_U64(gg_screen_text_length("e\u0301"), 1);
	CHECK_EQ_U64(gg_screen_text_length("\U0001f600"), 2);
	CHECK_EQ_U64(gg_screen_text_length("\xff\xe4"), 2); /* bytes that are not UTF-8 */
	fits("\u4e00\u4e8c\u4e09\u56db\u4e94", 10, false, "\u4e00\u4e8c\u4e09\u56db\u4e94");
	/* 9 cells: 4 in front, the ellipsis, 4 behind. */
	fits("\u4e00\u4e8c\u4e09\u56db\u4e94", 9, false, "\u4e00\u4e8c\u2026\u56db\u4e94");
	/* 8 cells: a wide character does not fit into the third of 3. */
	fits("\u4e00\u4e8c\u4e09\u56db\u4e94", 8, false, "\u4e00\u2026\u56db\u4e94");
	/* Accents stay with their letters. */
	fits("ae\u0301bcdefgho\u0308", 5, false, "ae\u0301\u2026ho\u0308");
	fits("ae\u0301bcdefgho\u0308i", 3, false, "a\u2026i");
}

TEST(widths_leave_the_locale_of_numbers_alone)
{
	char text[16];

	CHECK_EQ_U64(gg_screen_text_length("\u4e2d") <= 2, 1);
	snprintf(text, sizeof(text), "%.1f", 1.5);
	CHECK_EQ_STR(text, "1.5");
	CHECK(uselocale((locale_t)0) == LC_GLOBAL_LOCALE);
	CHECK_EQ_STR(setlocale(LC_ALL, NULL), "C");
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
	if (has_widths())
		fits_apart("\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d\u5341x",
		           "\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d\u5341y", 12,
		           false, "\u4e00\u2026\u516b\u4e5d\u5341x");
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

TEST(text_begins_a_new_line_if_the_last_one_has_no_room)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };

	gg_buf_append_text(&out, "a first line that is long\nname  12 MiB");
	gg_screen_text_append_fitting(&out, "  7 k", 17, 6); /* just fits */
	gg_screen_text_append_fitting(&out, "  8 k", 17, 6);
	CHECK_MSG(strcmp(gg_buf_text(&out), "a first line that is long\nname  12 MiB  7 k\n"
	                                    "      8 k") == 0,
	          "'%s'", gg_buf_text(&out));
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
	             SIZE_MAX); /* a reader of a file may search for a whole name */
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
