/* SPDX-License-Identifier: Apache-2.0 */
/* test_serve_access - shows which requests have the token, and which hosts are accepted. */
#include "serve/access.h"

#include <stdio.h>
#include <string.h>

#include "serve/folder_page.h"
#include "test.h"

static struct gg_access guard_of(uint16_t port)
{
	struct gg_access guard;
	struct gg_error error;

	CHECK_EQ_I64(gg_access_init(&guard, port, &error), 0);
	return guard;
}

TEST(a_token_is_new_each_time_and_has_256_bits)
{
	struct gg_access one = guard_of(8080), other = guard_of(8080);

	CHECK_EQ_U64(strlen(one.token), 64);
	CHECK_EQ_U64(strspn(one.token, "0123456789abcdef"), 64);
	CHECK(strcmp(one.token, other.token) != 0);
}

TEST(the_token_and_nothing_else_is_known)
{
	struct gg_access guard = guard_of(8080);
	char given[80];

	CHECK(gg_access_knows(&guard, guard.token));
	CHECK(!gg_access_knows(&guard, NULL));
	CHECK(!gg_access_knows(&guard, ""));
	snprintf(given, sizeof(given), "%s0", guard.token);
	CHECK(!gg_access_knows(&guard, given));
	for (size_t i = 0; i < 64; i++) {
		memcpy(given, guard.token, 65);
		given[i] = given[i] == '0' ? '1' : '0';
		CHECK(!gg_access_knows(&guard, given));
		given[i] = '\0'; /* a beginning of it */
		CHECK(!gg_access_knows(&guard, given));
	}
}

TEST(a_cookie_counts_under_its_own_name_alone)
{
	struct gg_access guard = guard_of(8080);
	char text[400];

	snprintf(text, sizeof(text), "geiger_8080=%s", guard.token);
	CHECK(gg_access_knows_cookie(&guard, text));
	snprintf(text, sizeof(text), "a=b; geiger_8080=wrong; geiger_8080=%s; c=d", guard.token);
	CHECK(gg_access_knows_cookie(&guard, text));
	snprintf(text, sizeof(text), "geiger_808=%s; xgeiger_8080=%s", guard.token, guard.token);
	CHECK(!gg_access_knows_cookie(&guard, text));
	snprintf(text, sizeof(text), "geiger_8080=%sx;", guard.token);
	CHECK(!gg_access_knows_cookie(&guard, text));
	CHECK(!gg_access_knows_cookie(&guard, "geiger_8080="));
	CHECK(!gg_access_knows_cookie(&guard, "; ;;"));
	CHECK(!gg_access_knows_cookie(&guard, NULL));
}

TEST(a_bearer_is_who_has_the_token)
{
	struct gg_access guard = guard_of(8080);
	char text[100];

	snprintf(text, sizeof(text), "bearer %s", guard.token);
	CHECK(gg_access_knows_bearer(&guard, text));
	snprintf(text, sizeof(text), "Basic %s", guard.token);
	CHECK(!gg_access_knows_bearer(&guard, text));
	CHECK(!gg_access_knows_bearer(&guard, "Bearer "));
	CHECK(!gg_access_knows_bearer(&guard, NULL));
}

TEST(a_host_is_an_address_or_localhost_with_our_port)
{
	static const char *const ours[] = { "127.0.0.1:8080", "localhost:8080", "LocalHost:8080",
		                            "[::1]:8080", "192.168.1.7:8080" };
	static const char *const others[] = { "evil.example:8080",
		                              "127.0.0.1",
		                              "localhost",
		                              "127.0.0.1:80",
		                              "127.0.0.1:80800",
		                              "127.0.0.1:8080x",
		                              "127.0.0.1.evil.example:8080",
		                              "localhost.evil:8080",
		                              "[::1",
		                              "[::1]",
		                              "[::1]x:8080",
		                              "::1:8080",
		                              "",
		                              ":8080",
		                              "127.0.0.1:",
		                              "127.0.0.1: 8080",
		                              "127.0.0.1:+8080",
		                              "[evil]:8080" };
	struct gg_access guard = guard_of(8080), plain = guard_of(80);

	for (size_t i = 0; i < GG_COUNT(ours); i++)
		CHECK(gg_access_is_our_host(&guard, ours[i]));
	for (size_t i = 0; i < GG_COUNT(others); i++)
		CHECK(!gg_access_is_our_host(&guard, others[i]));
	CHECK(!gg_access_is_our_host(&guard, NULL));
	CHECK(gg_access_is_our_host(&plain, "127.0.0.1"));
	CHECK(gg_access_is_our_host(&plain, "127.0.0.1:80"));
}

TEST(names_in_a_list_are_text)
{
	char name[] = "<script>\"'&\xff\x01.geiger";
	struct gg_library_entry entry = { .name = name, .bytes = 1 };
	const struct gg_folder_view view = { .filter = "\"><i>", .page = 7 };
	const struct gg_folder_view everything = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
	const char *text;

	gg_folder_page_html("a", &entry, 1, &view, &out);
	CHECK(strstr(gg_buf_text(&out), "<i>") == NULL);
	CHECK_CONTAINS(gg_buf_text(&out), "No profile matches");
	gg_buf_clear(&out);
	gg_folder_page_html("</title><b>", &entry, 1, &everything, &out);
	text = gg_buf_text(&out);
	CHECK(strstr(text, "<script") == NULL && strstr(text, "<b>") == NULL);
	CHECK_CONTAINS(text, "&#60;script&#62;&#34;&#39;&#38;\xef\xbf\xbd\xef\xbf\xbd.geiger");
	CHECK_CONTAINS(text, "profile=%3Cscript%3E%22%27%26%FF%01.geiger\"");
}

/* Five profiles of two commands, the newest first, and one that cannot be read. */
static struct gg_library_entry *list_of_six(void)
{
	static struct gg_profile_summary summaries[6] = {
		{ .command = (char *)"sort <b>",
		  .duration_ns = 90000000000,
		  .has_peak = true,
		  .live = { 10, 10, 10, GG_BYTES, false, false, false },
		  .peak = { 4096, 4000, 4200, GG_BYTES, false, false, false } },
		{ .command = (char *)"index",
		  .duration_ns = 1500000,
		  .live = { 300, 300, 300, GG_BYTES, false, false, false } },
		{ .command = (char *)"sort <b>",
		  .has_peak = true,
		  .peak = { 2048, 2000, 2100, GG_BYTES, false, false, false } },
		{ .command = (char *)"index",
		  .live = { 299, 200, 400, GG_BYTES, false, false, false } },
		{ .command = (char *)"index" },
		{ .problem = (char *)"it is <damaged>" },
	};
	static struct gg_library_entry entries[6] = {
		{ .name = (char *)"f" }, { .name = (char *)"e" }, { .name = (char *)"d" },
		{ .name = (char *)"c" }, { .name = (char *)"b" }, { .name = (char *)"a" },
	};

	for (int i = 0; i < 6; i++) {
		entries[i].changed_ns = (6 - i) * INT64_C(1000000000);
		entries[i].summary = &summaries[i];
		entries[i].predecessor = NULL;
	}
	entries[0].predecessor = &entries[2];
	entries[1].predecessor = &entries[3];
	entries[3].predecessor = &entries[4];
	return entries;
}

/* The names of a list's rows, in their order. */
static void order_of(const struct gg_folder_view *view, char names[16])
{
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
	const char *at;
	size_t count = 0;

	gg_folder_page_html("folder", list_of_six(), 6, view, &out);
	at = gg_buf_text(&out);
	while ((at = strstr(at, "<td class=\"c\"><a href=\"/page?profile=")) != NULL) {
		at += strlen("<td class=\"c\"><a href=\"/page?profile=");
		names[count++] = *at;
	}
	names[count] = '\0';
}

TEST(a_list_sorts_by_each_column_and_rows_without_a_value_are_last)
{
	static const struct {
		struct gg_folder_view view;
		const char *order;
	} cases[] = {
		{ { .column = GG_FOLDER_WHEN, .is_descending = true }, "fedcba" },
		{ { .column = GG_FOLDER_WHEN }, "abcdef" },
		{ { .column = GG_FOLDER_PEAK, .is_descending = true }, "fdecba" },
		{ { .column = GG_FOLDER_PEAK }, "dfecba" },
		{ { .column = GG_FOLDER_LIVE, .is_descending = true }, "ecfdba" },
		{ { .column = GG_FOLDER_GROWTH, .is_descending = true }, "cfedba" },
		{ { .column = GG_FOLDER_COMMAND }, "aecbfd" },
		{ { .column = GG_FOLDER_COMMAND, .filter = "SORT" }, "fd" },
	};
	char names[16];

	for (size_t i = 0; i < GG_COUNT(cases); i++) {
		order_of(&cases[i].view, names);
		CHECK_MSG(strcmp(names, cases[i].order) == 0, "case %zu: %s", i, names);
	}
}

TEST(a_list_compares_with_the_last_profile_of_the_same_command)
{
	const struct gg_folder_view view = { .is_descending = true };
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
	const char *text;

	gg_folder_page_html("folder", list_of_six(), 6, &view, &out);
	text = gg_buf_text(&out);
	CHECK_CONTAINS(
		text,
		"/page?profile=f&amp;before=d\" class=\"more\" title=\"2.00 KiB in d\">+100 %<");
	CHECK_CONTAINS(text, "/page?profile=e&amp;before=c\" class=\"same\"");
	CHECK_CONTAINS(text, "within sampling error\">+0.3 %<");
	CHECK_CONTAINS(text, "/page?profile=c&amp;before=b\" class=\"more\"");
	CHECK(strstr(text, "before=a\"") == NULL && strstr(text, "<b>") == NULL);
	CHECK_CONTAINS(text, "it is &#60;damaged&#62;");
	CHECK_CONTAINS(text, ">90 s<"); /* durations are those of reports */
	CHECK_CONTAINS(text, ">1.5 ms<");
}
