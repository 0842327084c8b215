/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile runtime of .NET sends greetings, replies, facts about itself, and the reply and
 * the events of a session.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dotnet/dotnet_ipc.h"
#include "dotnet/dotnet_trace.h"
#include "dotnet/event_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void read_messages(const uint8_t *data, size_t size)
{
	struct gg_dotnet_ipc_greeting greeting;
	struct gg_dotnet_ipc_reply reply;
	struct gg_dotnet_ipc_info info;

	if (size >= GG_DOTNET_IPC_GREETING_BYTES)
		(void)!gg_dotnet_ipc_read_greeting(data, &greeting);
	if (gg_dotnet_ipc_read_reply(data, size, &reply) == 1)
		require(reply.bytes <= size && reply.payload + reply.payload_bytes <= data + size);
	for (int is_old = 0; is_old < 2; is_old++) {
		if (gg_dotnet_ipc_read_info(data, size, is_old, &info) < 0)
			continue;
		require(info.version_at < info.texts.length &&
		        strlen(info.texts.data + info.version_at) < info.texts.length);
		(void)!gg_dotnet_ipc_events_of(info.texts.data + info.version_at);
		gg_dotnet_ipc_info_done(&info);
	}
}

/* Reads what has arrived as a part of a stream that goes on. */
static void read_part(const struct gg_event_stream *stream)
{
	struct gg_nettrace_fault fault;
	struct gg_dotnet_trace *trace;
	const uint8_t *bytes;
	size_t length;

	if (gg_event_stream_peek(stream, &bytes, &length) < 0 || bytes == NULL)
		return;
	require(length == stream->bytes);
	if (gg_dotnet_trace_read_part(&trace, bytes, length, length << 8, &fault) == 0) {
		(void)!gg_dotnet_trace_add_methods(trace, bytes, length, &fault);
		gg_dotnet_trace_free(trace);
	}
	gg_event_stream_forget(stream, bytes, length);
}

/* The bytes arrive in pieces of a size that the input chooses; then the connection ends. */
static void read_stream(const uint8_t *data, size_t size)
{
	struct gg_event_stream stream;
	struct gg_nettrace_fault fault;
	struct gg_dotnet_trace *trace;
	const uint8_t *bytes;
	size_t piece = size > 0 ? data[0] + 1u : 1;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return;
	if (gg_event_stream_begin(&stream, pair[0], "/tmp", NULL, NULL) < 0) {
		close(pair[1]);
		return;
	}
	for (size_t at = 0; at < size; at += piece) {
		size_t length = size - at < piece ? size - at : piece;

		if (send(pair[1], data + at, length, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			break;
		gg_event_stream_read(&stream);
		if (at <= size / 2 && at + piece > size / 2)
			read_part(&stream);
	}
	close(pair[1]);
	while (gg_event_stream_read(&stream))
		continue;
	require(stream.state == GG_EVENT_STREAM_ENDED || stream.state == GG_EVENT_STREAM_REFUSED);
	require(stream.bytes <= size);
	read_part(&stream);
	if (gg_event_stream_map(&stream, &bytes, NULL) == 0 && bytes != NULL) {
		if (gg_dotnet_trace_read(&trace, bytes, stream.bytes, true, &fault) == 0)
			gg_dotnet_trace_free(trace);
	}
	gg_event_stream_done(&stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_messages(data, size);
	read_stream(data, size);
	return 0;
}
