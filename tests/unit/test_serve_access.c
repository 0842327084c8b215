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
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
	const char *text;

	gg_folder_page_html("</title><b>", &entry, 1, &out);
	text = gg_buf_text(&out);
	CHECK(strstr(text, "<script") == NULL && strstr(text, "<b>") == NULL);
	CHECK_CONTAINS(text, "&#60;script&#62;&#34;&#39;&#38;\xef\xbf\xbd\xef\xbf\xbd.geiger");
	CHECK_CONTAINS(text, "profile=%3Cscript%3E%22%27%26%FF%01.geiger\"");
}
