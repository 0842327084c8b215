/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_dotnet_ipc - commands to .NET's runtimes have the bytes of the protocol; what they answer is
 * read whole, or not at all.
 */
#include <errno.h>
#include <string.h>

#include "dotnet/dotnet_ipc.h"
#include "nettrace_writer.h"
#include "test.h"

static uint64_t number_at(const struct gg_buf *bytes, size_t at, unsigned length)
{
	uint64_t value = 0;

	for (unsigned i = length; i > 0; i--)
		value = value << 8 | (uint8_t)bytes->data[at + i - 1];
	return value;
}

static void put_head(struct gg_buf *out, uint32_t bytes, unsigned set, unsigned command)
{
	gg_buf_append(out, "DOTNET_IPC_V1", 14);
	nettrace_put(out, bytes, 2);
	nettrace_put(out, set, 1);
	nettrace_put(out, command, 1);
	nettrace_put(out, 0, 2);
}

static void put_text(struct gg_buf *out, const char *text)
{
	nettrace_put(out, strlen(text) + 1, 4);
	nettrace_put_text(out, text);
}

TEST(a_session_of_samples_asks_for_the_events_that_geiger_reads)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
	bool has_sample = false, has_tick = false, has_history = false;

	gg_dotnet_ipc_collect(&out, GG_DOTNET_SAMPLES, GG_DOTNET_METHODS);
	CHECK(memcmp(out.data, "DOTNET_IPC_V1", 14) == 0);
	CHECK_EQ_U64(number_at(&out, 14, 2), out.length);
	CHECK_EQ_U64(number_at(&out, 16, 1), 2);
	CHECK_EQ_U64(number_at(&out, 17, 1), 6);
	CHECK_EQ_U64(number_at(&out, 20, 4), 0); /* a stream */
	CHECK_EQ_U64(number_at(&out, 28, 4), 1); /* nettrace */
	CHECK_EQ_U64(number_at(&out, 32, 8), GG_DOTNET_METHODS);
	CHECK_EQ_U64(number_at(&out, 40, 1), 1); /* stacks */
	CHECK_EQ_U64(number_at(&out, 41, 4), 1); /* provider */
	CHECK_EQ_U64(number_at(&out, 45, 8), 0x80000400039);
	CHECK_EQ_U64(number_at(&out, 53, 4), 5);
	CHECK_EQ_U64(number_at(&out, 57, 4), 32); /* characters of the provider, and the 0 */
	CHECK_EQ_U64(number_at(&out, 61 + 64, 4), 0);
	CHECK_EQ_U64(number_at(&out, 129, 1), 1); /* these events alone */
	CHECK_EQ_U64(number_at(&out, 130, 4) * 4 + 134, out.length);
	for (size_t at = 134; at < out.length; at += 4) {
		has_sample = has_sample || number_at(&out, at, 4) == 303;
		has_tick = has_tick || number_at(&out, at, 4) == 10;
		has_history = has_history || number_at(&out, at, 4) == 205; /* of a collection */
	}
	CHECK(has_sample && !has_tick && has_history);
}

TEST(a_session_of_ticks_is_one_that_older_runtimes_know)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };

	gg_dotnet_ipc_collect(&out, GG_DOTNET_TICKS, GG_DOTNET_NO_RUNDOWN);
	CHECK_EQ_U64(number_at(&out, 14, 2), out.length);
	CHECK_EQ_U64(number_at(&out, 17, 1), 3);
	CHECK_EQ_U64(number_at(&out, 24, 4), 1); /* nettrace */
	CHECK_EQ_U64(number_at(&out, 28, 1), 1); /* the list of methods in any case */
	CHECK_EQ_U64(number_at(&out, 33, 8), 0x400001);
	CHECK_EQ_U64(out.length, 49 + 64 + 4);
}

TEST(a_reply_is_complete_with_its_last_byte)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf bytes = { 0 };
	struct gg_dotnet_ipc_reply reply;

	put_head(&bytes, 28, 0xff, 0);
	nettrace_put(&bytes, 7, 8);
	nettrace_put(&bytes, 99, 8); /* what follows */
	for (size_t length = 0; length < 28; length++)
		CHECK(gg_dotnet_ipc_read_reply((const uint8_t *)bytes.data, length, &reply) == 0);
	REQUIRE(gg_dotnet_ipc_read_reply((const uint8_t *)bytes.data, bytes.length, &reply) == 1);
	CHECK(reply.is_ok);
	CHECK_EQ_U64(reply.bytes, 28);
	CHECK_EQ_U64(reply.payload_bytes, 8);
	CHECK_EQ_U64(reply.payload[0], 7);
}

TEST(an_error_has_its_number_and_other_bytes_are_no_reply)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf bytes = { 0 };
	const uint8_t *data;
	struct gg_dotnet_ipc_reply reply;

	put_head(&bytes, 24, 0xff, 0xff);
	nettrace_put(&bytes, 0x80131384, 4);
	data = (const uint8_t *)bytes.data;
	REQUIRE(gg_dotnet_ipc_read_reply(data, bytes.length, &reply) == 1);
	CHECK(!reply.is_ok);
	CHECK_EQ_U64(reply.error, 0x80131384);
	bytes.data[14] = 19; /* shorter than its head */
	CHECK(gg_dotnet_ipc_read_reply(data, bytes.length, &reply) == -EBADMSG);
	bytes.data[14] = 24;
	bytes.data[16] = 2; /* a command */
	CHECK(gg_dotnet_ipc_read_reply(data, bytes.length, &reply) == -EBADMSG);
	bytes.data[0] = 'd';
	CHECK(gg_dotnet_ipc_read_reply(data, 1, &reply) == -EBADMSG);
}

TEST(facts_of_a_runtime_are_read_whole_or_not_at_all)
{
	for (int is_old = 0; is_old < 2; is_old++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf bytes = { 0 };
		struct gg_dotnet_ipc_info info;
		const uint8_t *data;
		size_t needed;

		if (!is_old)
			nettrace_put(&bytes, 1, 4);
		nettrace_put(&bytes, 4711, 8);
		gg_buf_append(&bytes, "0123456789abcdef", 16);
		put_text(&bytes, "shop --all");
		put_text(&bytes, "Linux");
		put_text(&bytes, "x64");
		nettrace_put(&bytes, 0, 4); /* no assembly */
		put_text(&bytes, "10.0.9");
		needed = bytes.length;
		put_text(&bytes, "linux-x64");
		data = (const uint8_t *)bytes.data;
		for (size_t length = 0; length < needed; length++)
			CHECK(gg_dotnet_ipc_read_info(data, length, is_old, &info) == -EBADMSG);
		REQUIRE(gg_dotnet_ipc_read_info(data, bytes.length, is_old, &info) == 0);
		CHECK_EQ_STR(info.texts.data + info.command_at, "shop --all");
		CHECK_EQ_STR(info.texts.data + info.version_at, "10.0.9");
		gg_dotnet_ipc_info_done(&info);
	}
}

TEST(the_version_says_which_events_there_are)
{
	CHECK(gg_dotnet_ipc_events_of("10.0.9") == GG_DOTNET_SAMPLES);
	CHECK(gg_dotnet_ipc_events_of("11.0.0-preview.1") == GG_DOTNET_SAMPLES);
	CHECK(gg_dotnet_ipc_events_of("9.0.1") == GG_DOTNET_TICKS);
	CHECK(gg_dotnet_ipc_events_of("3.1.32") == GG_DOTNET_TICKS);
	CHECK(gg_dotnet_ipc_events_of("") == GG_DOTNET_TICKS);
}

TEST(a_greeting_names_its_runtime)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf bytes = { 0 };
	struct gg_dotnet_ipc_greeting greeting;

	gg_buf_append(&bytes, "ADVR_V1", 8);
	gg_buf_append(&bytes, "0123456789abcdef", 16);
	nettrace_put(&bytes, 4711, 8);
	nettrace_put(&bytes, 0, 2);
	CHECK_EQ_U64(bytes.length, GG_DOTNET_IPC_GREETING_BYTES);
	REQUIRE(gg_dotnet_ipc_read_greeting((const uint8_t *)bytes.data, &greeting));
	CHECK(memcmp(greeting.cookie, "0123456789abcdef", 16) == 0);
	CHECK_EQ_U64(greeting.pid, 4711);
	bytes.data[7] = '2';
	CHECK(!gg_dotnet_ipc_read_greeting((const uint8_t *)bytes.data, &greeting));
}
