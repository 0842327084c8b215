/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fleet_clickhouse - how values are quoted, what replies and errors mean; tests/real runs
 * against a server.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "fleet/clickhouse.h"
#include "fleet/clickhouse_chunks.h"
#include "fleet/sha256.h"
#include "fleet/store_server.h"
#include "scratch.h"
#include "test.h"

static struct gg_buf bind_one(const char *statement, struct gg_clickhouse_value value)
{
	struct gg_buf query = { 0 };
	struct gg_error error = { 0 };

	REQUIRE(gg_clickhouse_bind(&query, statement, &value, 1, &error) == 0);
	return query;
}

static void check_bound(const char *statement, struct gg_clickhouse_value value,
                        const char *expected)
{
	struct gg_buf query = bind_one(statement, value);

	CHECK_EQ_STR(gg_buf_text(&query), expected);
	gg_buf_done(&query);
}

TEST(a_text_cannot_leave_its_quotes)
{
	check_bound("name = {n}", gg_clickhouse_text("n", "web"), "name = 'web'");
	check_bound("{n}", gg_clickhouse_text("n", "' OR 1 --"), "'\\' OR 1 --'");
	check_bound("{n}", gg_clickhouse_text("n", "\\'; DROP TABLE x"), "'\\\\\\'; DROP TABLE x'");
	check_bound("{n}", gg_clickhouse_text("n", "a\nb\t\x01\x7f"), "'a\\x0Ab\\x09\\x01\\x7F'");
	check_bound("{n}", gg_clickhouse_text("n", ""), "''");
}

TEST(a_name_cannot_leave_its_quotes)
{
	struct gg_buf query = { 0 };
	struct gg_error error = { 0 };
	struct gg_clickhouse_value empty = gg_clickhouse_name("db", "");

	check_bound("{db}.draw", gg_clickhouse_name("db", "t_acme"), "`t_acme`.draw");
	check_bound("{db}.draw", gg_clickhouse_name("db", "a`.b; --\\"), "`a\\`.b; --\\\\`.draw");
	CHECK_EQ_I64(gg_clickhouse_bind(&query, "{db}.draw", &empty, 1, &error), -EINVAL);
	gg_buf_done(&query);
}

TEST(a_value_is_not_read_as_a_statement)
{
	/* Braces in a value stay as they are: only the constant statement has places. */
	const struct gg_clickhouse_value values[] = { gg_clickhouse_text("a", "{b}"),
		                                      gg_clickhouse_text("b", "{a}") };
	struct gg_buf query = { 0 };
	struct gg_error error = { 0 };

	CHECK_EQ_I64(gg_clickhouse_bind(&query, "{a} {b}", values, 2, &error), 0);
	CHECK_EQ_STR(gg_buf_text(&query), "'{b}' '{a}'");
	CHECK_EQ_I64(gg_clickhouse_bind(&query, "{c}", values, 2, &error), -EINVAL);
	CHECK_EQ_I64(gg_clickhouse_bind(&query, "{a", values, 2, &error), -EINVAL);
	gg_buf_done(&query);
}

TEST(numbers_lists_and_bytes_are_literals)
{
	const uint64_t numbers[] = { 1, UINT64_MAX };
	const char *const texts[] = { "a", "b'c" };
	const unsigned char bytes[] = { 0, 0x27, 0xff };

	check_bound("{n}", gg_clickhouse_u64("n", UINT64_MAX), "18446744073709551615");
	check_bound("IN ({n})", gg_clickhouse_u64s("n", numbers, 2),
	            "IN (1, 18446744073709551615)");
	check_bound("IN ({n})", gg_clickhouse_u64s("n", NULL, 0), "IN (NULL)");
	check_bound("IN ({n})",
	            (struct gg_clickhouse_value){
			    .name = "n", .kind = GG_CLICKHOUSE_TEXTS, .texts = texts, .count = 2 },
	            "IN ('a', 'b\\'c')");
	check_bound("{n}",
	            (struct gg_clickhouse_value){
			    .name = "n", .kind = GG_CLICKHOUSE_BYTES, .bytes = bytes, .count = 3 },
	            "unhex('0027ff')");
	check_bound("{n}",
	            (struct gg_clickhouse_value){
			    .name = "n", .kind = GG_CLICKHOUSE_DOUBLE, .number = 0.1 },
	            "toFloat64('0.10000000000000001')");
}

TEST(rows_come_back_as_they_were_written)
{
	struct gg_buf buf = { 0 };
	struct gg_clickhouse_rows rows;
	size_t length;
	const char *text;

	gg_clickhouse_write_u64(&buf, UINT64_MAX - 1);
	gg_clickhouse_write_u32(&buf, 0x12345678);
	gg_clickhouse_write_u8(&buf, 200);
	gg_clickhouse_write_double(&buf, -0.1);
	gg_clickhouse_write_varint(&buf, 300);
	gg_clickhouse_write_text(&buf, "name");
	rows = gg_clickhouse_rows_of(&buf);
	CHECK_EQ_U64(gg_clickhouse_read_u64(&rows), UINT64_MAX - 1);
	CHECK_EQ_U64(gg_clickhouse_read_u32(&rows), 0x12345678);
	CHECK_EQ_U64(gg_clickhouse_read_u8(&rows), 200);
	CHECK_EQ_DOUBLE(gg_clickhouse_read_double(&rows), -0.1);
	CHECK_EQ_U64(gg_clickhouse_read_varint(&rows), 300);
	text = gg_clickhouse_read_text(&rows, &length);
	CHECK_EQ_U64(length, 4);
	CHECK(memcmp(text, "name", 4) == 0);
	CHECK(!gg_clickhouse_rows_more(&rows) && !rows.failed);
	CHECK_EQ_U64(gg_clickhouse_read_u64(&rows), 0);
	CHECK(rows.failed);
	gg_buf_done(&buf);
}

TEST(a_row_that_claims_too_much_fails)
{
	struct gg_buf buf = { 0 };
	struct gg_clickhouse_rows rows;
	size_t length;

	gg_clickhouse_write_varint(&buf, UINT64_MAX);
	gg_buf_append_text(&buf, "ab");
	rows = gg_clickhouse_rows_of(&buf);
	gg_clickhouse_read_text(&rows, &length);
	CHECK(rows.failed);
	CHECK_EQ_U64(length, 0);
	gg_buf_clear(&buf);
	for (int i = 0; i < 20; i++)
		gg_clickhouse_write_u8(&buf, 0xff);
	rows = gg_clickhouse_rows_of(&buf);
	gg_clickhouse_read_varint(&rows);
	CHECK(rows.failed);
	gg_buf_done(&buf);
}

static int split(const char *bytes, struct gg_buf *body)
{
	struct gg_clickhouse_reply reply;

	gg_buf_clear(body);
	return gg_clickhouse_split(bytes, strlen(bytes), &reply, body);
}

TEST(a_cut_reply_is_no_reply)
{
	static const char whole[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
				    "4\r\nabcd\r\nA\r\n0123456789\r\n0\r\n\r\n";
	struct gg_buf body = { 0 };

	CHECK_EQ_I64(split(whole, &body), 0);
	CHECK_EQ_STR(gg_buf_text(&body), "abcd0123456789");
	/* Every shorter prefix, up to the last chunk's line. */
	for (size_t length = 0; length < strlen(whole) - 2; length++) {
		struct gg_clickhouse_reply reply;

		gg_buf_clear(&body);
		CHECK_MSG(gg_clickhouse_split(whole, length, &reply, &body) < 0, "length %zu",
		          length);
	}
	CHECK_EQ_I64(split("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", &body), -ECONNRESET);
	CHECK_EQ_I64(split("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc", &body), 0);
	CHECK_EQ_I64(split("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nabc", &body), 0);
	CHECK_EQ_STR(gg_buf_text(&body), "abc");
	gg_buf_done(&body);
}

TEST(a_malformed_reply_is_refused)
{
	struct gg_buf body = { 0 };
	static const char head[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
	static const char *const chunks[] = { "x\r\n", "\r\n", "1\r\nabc\r\n0\r\n\r\n",
		                              "ffffffffffffffffff\r\n" };
	char text[128];

	for (size_t i = 0; i < GG_COUNT(chunks); i++) {
		snprintf(text, sizeof(text), "%s%s", head, chunks[i]);
		CHECK_EQ_I64(split(text, &body), -EPROTO);
	}
	CHECK_EQ_I64(split("SSH-2.0-OpenSSH_9.2\r\n", &body), -EPROTO);
	CHECK_EQ_I64(split("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", &body), -EPROTO);
	CHECK_EQ_I64(split("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", &body), -EPROTO);
	gg_buf_done(&body);
}

static int explain(int http_status, const char *text, char line[GG_ERROR_LINE_MAX])
{
	struct gg_clickhouse store = { .host = (char[]){ "h" }, .port = (char[]){ "8123" } };
	struct gg_error error = { 0 };
	int status = gg_clickhouse_explain(&store, http_status, text, &error);

	gg_error_format(&error, line, GG_ERROR_LINE_MAX);
	return status;
}

TEST(errors_are_clear_sentences)
{
	static const int passing[] = { 201, 209, 210, 236, 290, 425, 999, 1000, 0 };
	static const int unreadable[] = { 27, 33, 53, 62, 117 };
	char line[GG_ERROR_LINE_MAX], text[100];

	CHECK_EQ_I64(explain(404,
	                     "Code: 60, e.displayText() = DB::Exception: Table t.draw doesn't "
	                     "exist., e.what() = DB::Exception\n",
	                     line),
	             -ENOENT);
	CHECK_EQ_STR(line, "clickhouse h:8123: the store has no such table. "
	                   "Run geiger fleet schema --apply.");
	CHECK_EQ_I64(explain(500,
	                     "Code: 241, e.displayText() = DB::Exception: Memory limit (for "
	                     "query) exceeded",
	                     line),
	             -ENOMEM);
	CHECK_EQ_I64(explain(500, "Code: 159. DB::Exception: Timeout exceeded", line), -ETIME);
	CHECK_EQ_I64(
		explain(500, "Code: 252, e.displayText() = DB::Exception: Too many parts", line),
		-EAGAIN);
	CHECK_EQ_I64(
		explain(401, "Code: 193, e.displayText() = DB::Exception: Wrong password", line),
		-EACCES);
	CHECK_EQ_I64(explain(500,
	                     "Code: 62, e.displayText() = DB::Exception: Syntax error: failed, "
	                     "e.what() = DB::Exception",
	                     line),
	             -EBADMSG);
	CHECK_EQ_STR(line, "clickhouse h:8123: Syntax error: failed (code 62).");
	/* Nothing but a complaint about the rows themselves says that they are bad. */
	CHECK_EQ_I64(explain(404, "<html>", line), -EAGAIN);
	CHECK_EQ_I64(explain(502, "<html>Bad Gateway", line), -EAGAIN);
	for (size_t i = 0; i < GG_COUNT(passing); i++) {
		snprintf(text, sizeof(text), "Code: %d, e.displayText() = DB::Exception: no",
		         passing[i]);
		CHECK_EQ_I64(explain(500, text, line), -EAGAIN);
	}
	for (size_t i = 0; i < GG_COUNT(unreadable); i++) {
		snprintf(text, sizeof(text), "Code: %d, e.displayText() = DB::Exception: no",
		         unreadable[i]);
		CHECK_EQ_I64(explain(500, text, line), -EBADMSG);
	}
	CHECK_EQ_I64(explain(503, "", line), -EAGAIN);
}

TEST(an_address_has_its_parts)
{
	struct gg_clickhouse store;
	struct gg_error error;
	static const char *const bad[] = {
		"",          "127.0.0.1:8123", "https://h",     "http://",          "http://:8123",
		"http://h:", "http://h:80x",   "http://h/path", "http://h\r\nX: y", "http://a b"
	};

	REQUIRE(gg_clickhouse_init(&store, "http://u:p@ss@h:9000/", &error) == 0);
	CHECK_EQ_STR(store.host, "h");
	CHECK_EQ_STR(store.port, "9000");
	CHECK_EQ_STR(store.user, "u");
	CHECK_EQ_STR(store.password, "p@ss");
	gg_clickhouse_done(&store);
	REQUIRE(gg_clickhouse_init(&store, "http://[::1]", &error) == 0);
	CHECK_EQ_STR(store.host, "::1");
	CHECK_EQ_STR(store.port, "8123");
	CHECK(store.user == NULL);
	gg_clickhouse_done(&store);
	for (size_t i = 0; i < GG_COUNT(bad); i++)
		CHECK_MSG(gg_clickhouse_init(&store, bad[i], &error) == -EINVAL, "%s", bad[i]);
}

/* A server that reads one request and answers with `reply`; returns its address. */
struct served {
	char url[64];
	pid_t pid;
};

static struct served serve(const char *reply, int seconds)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct served served;

	REQUIRE(fd >= 0 && bind(fd, (struct sockaddr *)&address, size) == 0 && listen(fd, 1) == 0);
	REQUIRE(getsockname(fd, (struct sockaddr *)&address, &size) == 0);
	snprintf(served.url, sizeof(served.url), "http://127.0.0.1:%u", ntohs(address.sin_port));
	served.pid = fork();
	REQUIRE(served.pid >= 0);
	if (served.pid == 0) {
		int client = accept(fd, NULL, NULL);
		char bytes[4096];

		/* The test's request fits into one read. */
		if (recv(client, bytes, sizeof(bytes), 0) <= 0)
			_exit(1);
		if (seconds > 0)
			sleep((unsigned)seconds);
		if (send(client, reply, strlen(reply), MSG_NOSIGNAL) < 0)
			_exit(1);
		close(client);
		_exit(0);
	}
	close(fd);
	return served;
}

static int ask(struct served served, struct gg_buf *reply, double seconds, struct gg_error *error)
{
	struct gg_clickhouse store;
	struct gg_buf query = { 0 };
	int status, ignored;

	REQUIRE(gg_clickhouse_init(&store, served.url, error) == 0);
	store.timeout_seconds = seconds;
	gg_buf_append_text(&query, "SELECT 1");
	status = gg_clickhouse_query(&store, &query, reply, error);
	gg_buf_done(&query);
	gg_clickhouse_done(&store);
	kill(served.pid, SIGKILL);
	waitpid(served.pid, &ignored, 0);
	return status;
}

TEST(a_query_gets_a_whole_reply_or_an_error)
{
	struct gg_buf reply = { 0 };
	struct gg_error error = { 0 };

	CHECK_EQ_I64(ask(serve("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n1\n", 0), &reply, 60,
	                 &error),
	             0);
	CHECK_EQ_STR(gg_buf_text(&reply), "1\n");
	gg_buf_clear(&reply);
	CHECK_EQ_I64(ask(serve("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1\n", 0), &reply, 60,
	                 &error),
	             -ECONNRESET);
	CHECK_EQ_U64(reply.length, 0);
	CHECK_EQ_I64(ask(serve("", 0), &reply, 60, &error), -ECONNRESET);
	CHECK_EQ_I64(ask(serve("", 60), &reply, 0.05, &error), -ETIMEDOUT);
	gg_buf_done(&reply);
}

TEST(without_a_server_the_sentence_says_how_to_start_one)
{
	struct served served = serve("", 60);
	struct gg_buf reply = { 0 };
	struct gg_error error = { 0 };
	int ignored;

	/* The port was free a moment ago and nobody listens there any more. */
	kill(served.pid, SIGKILL);
	waitpid(served.pid, &ignored, 0);
	served.pid = fork();
	if (served.pid == 0)
		_exit(0);
	CHECK_EQ_I64(ask(served, &reply, 10, &error), -ECONNREFUSED);
	CHECK(strstr(error.advice, "geiger fleet up") != NULL);
	gg_buf_done(&reply);
}

/* --- an engine in this process --------------------------------------------------------------- */

static void hash_is(const char *text, size_t length, const char *wanted)
{
	char hex[GG_SHA256_HEX];
	int fd = open(scratch_path("hashed"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	REQUIRE(fd >= 0);
	REQUIRE(write(fd, text, length) == (ssize_t)length);
	CHECK_EQ_I64(gg_sha256_file(fd, hex), 0);
	CHECK_EQ_STR(hex, wanted);
	close(fd);
}

/* The examples of FIPS 180-2, and lengths around the room for the number of bits. */
TEST(sha256_is_that_of_the_standard)
{
	static char long_text[1000000];

	hash_is("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	hash_is("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	hash_is("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
	        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	memset(long_text, 'a', sizeof(long_text));
	hash_is(long_text, sizeof(long_text),
	        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(only_the_pinned_libchdb_is_loaded)
{
	struct gg_clickhouse store;
	struct gg_error error;
	const char *other = scratch_path("libother.so");
	char place[4200];
	int fd = open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	snprintf(place, sizeof(place), "chdb:%s", scratch_path("inside"));
	setenv("GEIGER_CHDB", scratch_path("no-such.so"), 1);
	CHECK_EQ_I64(gg_store_open(&store, place, &error), -ENOENT);
	CHECK(strstr(error.message, "there is no libchdb") != NULL);
	REQUIRE(fd >= 0);
	REQUIRE(write(fd, "no library", 10) == 10);
	close(fd);
	setenv("GEIGER_CHDB", other, 1);
	CHECK_EQ_I64(gg_store_open(&store, place, &error), -ENOTSUP);
	CHECK(strstr(error.message, "another libchdb") != NULL);
	CHECK_EQ_I64(gg_store_open(&store, "chdb:", &error), -EINVAL);
	unsetenv("GEIGER_CHDB");
}
