/* SPDX-License-Identifier: Apache-2.0 */
/* test_send_reply - shows what a receiver's reply says, in whatever pieces it comes. */
#include <string.h>

#include "base/compiler.h"
#include "send/http_reply.h"
#include "send/send_reply.h"
#include "test.h"

static struct gg_http_reply reply;

static enum gg_http_reply_state parse(const char *text, bool is_end)
{
	return gg_http_reply_parse(text, strlen(text), is_end, 1000, &reply);
}

TEST(a_reply_is_complete_at_its_length_and_no_earlier)
{
	static const char text[] = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc";

	for (size_t length = 0; length < strlen(text); length++)
		CHECK(gg_http_reply_parse(text, length, false, 0, &reply) == GG_HTTP_REPLY_MORE);
	CHECK(parse(text, false) == GG_HTTP_REPLY_COMPLETE);
	CHECK(reply.status == 200);
	CHECK_EQ_STR(reply.body, "abc");
}

TEST(a_connection_serves_another_request_only_if_nothing_speaks_against_it)
{
	static const struct {
		const char *text;
		bool is_reusable;
	} rows[] = {
		{ "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", true },
		{ "HTTP/1.1 429 x\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n", true },
		{ "HTTP/1.1 204 x\r\n\r\n", true },
		{ "HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", true },
		{ "HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nH", false },
		{ "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc", false },
		{ "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", false },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcH", false },
		{ "HTTP/1.1 204 x\r\n\r\nH", false },
	};

	for (size_t i = 0; i < GG_COUNT(rows); i++) {
		CHECK(parse(rows[i].text, false) == GG_HTTP_REPLY_COMPLETE);
		CHECK(reply.is_reusable == rows[i].is_reusable);
		parse(rows[i].text, true);
		CHECK(!reply.is_reusable);
	}
	CHECK(parse("HTTP/1.1 200 OK\r\n\r\nabc", false) == GG_HTTP_REPLY_MORE);
	CHECK(!reply.is_reusable); /* only the end of the connection ends such a body */
}

TEST(chunks_become_one_body)
{
	CHECK(parse("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 x\r\nTransfer-Encoding: chunked\r\n\r\n"
	            "3\r\nabc\r\nA;x\r\n0123456789\r\n0\r\nT: y\r\n\r\n",
	            false) == GG_HTTP_REPLY_COMPLETE);
	CHECK(reply.status == 503);
	CHECK_EQ_STR(reply.body, "abc0123456789");
}

TEST(a_cut_head_tells_no_status)
{
	CHECK(parse("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", true) == GG_HTTP_REPLY_MALFORMED);
	CHECK(reply.status == 0);
}

TEST(a_cut_body_leaves_the_status)
{
	CHECK(parse("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", true) ==
	      GG_HTTP_REPLY_MALFORMED);
	CHECK(reply.status == 200);
}

TEST(what_is_no_http_is_malformed)
{
	CHECK(parse("SSH-2.0-OpenSSH\r\n\r\n", false) == GG_HTTP_REPLY_MALFORMED);
	CHECK(parse("HTTP/1.1 099 x\r\n\r\n", false) == GG_HTTP_REPLY_MALFORMED);
	CHECK(parse("HTTP/1.1 2000 x\r\n\r\n", false) == GG_HTTP_REPLY_MALFORMED);
	CHECK(parse("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", false) ==
	      GG_HTTP_REPLY_MALFORMED);
	CHECK(reply.status == 0);
}

TEST(a_body_of_any_length_is_bounded)
{
	static char text[40000] = "HTTP/1.1 400 no\r\n\r\n";

	memset(text + strlen(text), 'x', sizeof(text) - strlen(text) - 1);
	CHECK(parse(text, true) == GG_HTTP_REPLY_COMPLETE);
	CHECK(reply.body_length == GG_HTTP_REPLY_BODY_MAX);
}

TEST(retry_after_has_seconds_or_a_date)
{
	CHECK(gg_http_reply_retry_after("7", 1, 0) == 7);
	CHECK(gg_http_reply_retry_after("Thu, 01 Jan 1970 00:30:00 GMT", 29, 1000) == 800);
	CHECK(gg_http_reply_retry_after("Thu, 01 Jan 1970 00:00:00 GMT", 29, 1000) == 0);
	CHECK(gg_http_reply_retry_after("soon", 4, 0) < 0);
	CHECK(gg_http_reply_retry_after("", 0, 0) < 0);
	CHECK(gg_http_reply_retry_after("99999999999999999999", 20, 0) < 0);
}

TEST(a_partial_success_is_read_in_both_encodings)
{
	struct gg_send_answer answer;

	reply = (struct gg_http_reply){ .status = 200, .body_length = 12 };
	memcpy(reply.body, "\x0a\x0a\x08\x02\x12\x06no gut", 13);
	gg_send_reply_read(&reply, true, &answer);
	CHECK(answer.verdict == GG_SEND_DELIVERED);
	CHECK_EQ_U64(answer.rejected_count, 2);
	CHECK_EQ_STR(answer.text, "no gut");
	gg_send_reply_read(&reply, false, &answer);
	CHECK_EQ_U64(answer.rejected_count, 0);

	parse("HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\n\r\n"
	      "{\"more\":[1],\"partialSuccess\":{\"rejectedProfiles\":\"3\",\"errorMessage\":\"bad\"}}",
	      true);
	gg_send_reply_read(&reply, true, &answer);
	CHECK_EQ_U64(answer.rejected_count, 3);
	CHECK_EQ_STR(answer.text, "bad");
}

TEST(statuses_say_whether_to_send_again)
{
	static const struct {
		int status;
		enum gg_send_verdict verdict;
	} cases[] = {
		{ 200, GG_SEND_DELIVERED }, { 204, GG_SEND_DELIVERED }, { 301, GG_SEND_REJECTED },
		{ 400, GG_SEND_REJECTED },  { 413, GG_SEND_REJECTED },  { 429, GG_SEND_LATER },
		{ 500, GG_SEND_REJECTED },  { 502, GG_SEND_IN_DOUBT },  { 503, GG_SEND_LATER },
		{ 504, GG_SEND_IN_DOUBT },
	};
	struct gg_send_answer answer;

	for (size_t i = 0; i < GG_COUNT(cases); i++) {
		reply = (struct gg_http_reply){ .status = cases[i].status,
			                        .retry_after_seconds = 5 };
		gg_send_reply_read(&reply, true, &answer);
		CHECK(answer.verdict == cases[i].verdict);
		CHECK(cases[i].status < 300 || answer.retry_after_seconds == 5);
	}
}

TEST(a_page_for_people_rejects_what_it_does_not_know)
{
	struct gg_send_answer answer;

	CHECK(parse("HTTP/1.1 200 OK\r\nContent-Type: Text/HTML; charset=utf-8\r\n"
	            "Content-Length: 0\r\n\r\n",
	            false) == GG_HTTP_REPLY_COMPLETE);
	gg_send_reply_read(&reply, false, &answer);
	CHECK(answer.verdict == GG_SEND_DELIVERED);
	gg_send_reply_refuse_page(&reply, &answer);
	CHECK(answer.verdict == GG_SEND_REJECTED);
	CHECK(strstr(answer.text, "path") != NULL);

	CHECK(parse("HTTP/1.1 503 no\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n",
	            false) == GG_HTTP_REPLY_COMPLETE);
	gg_send_reply_read(&reply, false, &answer);
	gg_send_reply_refuse_page(&reply, &answer);
	CHECK(answer.verdict == GG_SEND_LATER);
}
