/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_stream - the events of one session of a .NET runtime, as they arrive on its connection.
 *
 *   struct gg_event_stream stream;
 *
 *   gg_event_stream_begin(&stream, connection, "/tmp", NULL, error);  which has sent the command
 *   while (stream.state <= GG_EVENT_STREAM_RUNS && poll(...) > 0)   POLLIN of stream.fd
 *           gg_event_stream_read(&stream);
 *   gg_event_stream_map(&stream, &bytes, error);                 all of it, for nettrace.h
 *   gg_event_stream_done(&stream);
 *
 * The bytes wait in a file until the session ends, because the names of methods may come last.  A
 * reader that is slow makes the runtime drop events, so reading must stay cheap.  A file with a
 * name survives a kill of the reader; the reader removes it.
 *
 * A stream that has ended holds no descriptor: its file is mapped then, which keeps its content.
 * So a long recording may follow many runtimes one after the other.
 *
 * Ends     The stream ends when the runtime closes it: after the command to stop, when the program
 *          ends, or when it is killed.  A runtime whose reader goes away ends the session itself.
 * Full     A stream of GG_EVENT_STREAM_MAX bytes ends there (is_full).  Several streams may share
 *          that room (*room_bytes).
 * Threads  one owner.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"
#include "dotnet/dotnet_ipc.h"

#define GG_EVENT_STREAM_MAX (UINT64_C(1) << 30)

enum gg_event_stream_state {
	GG_EVENT_STREAM_ASKED, /* no reply yet */
	GG_EVENT_STREAM_RUNS,
	GG_EVENT_STREAM_ENDED,
	GG_EVENT_STREAM_REFUSED, /* the runtime does not know the command */
};

struct gg_event_stream {
	int fd;       /* of the connection; -1: closed */
	int spool_fd; /* -1: none, or the stream has ended */
	void *map;    /* the file once the stream has ended; NULL: it is empty */
	enum gg_event_stream_state state;
	uint8_t reply[GG_DOTNET_IPC_COLLECT_REPLY_BYTES];
	size_t reply_bytes;
	uint64_t session; /* the runtime's number */
	uint64_t bytes;   /* in the file */
	/* Room that is left; NULL: GG_EVENT_STREAM_MAX for this stream alone. */
	uint64_t *room_bytes;
	bool is_full;
	int status; /* the first failure of the file: -Exxx */
};

/*
 * Takes the connection over, even on failure.  The file lies in the directory.  name NULL: it has
 * no name.  -EEXIST: there is a file of that name.
 */
GG_MUST_CHECK int gg_event_stream_begin(struct gg_event_stream *ret_stream, int connection,
                                        const char *directory, const char *name,
                                        struct gg_error *error);
/* Maps the file of a stream whose reader was killed, as a stream that has ended. */
GG_MUST_CHECK int gg_event_stream_open(struct gg_event_stream *ret_stream, const char *path,
                                       struct gg_error *error);
/* Closes the connection; the content of the file stays. */
void gg_event_stream_end(struct gg_event_stream *stream);
void gg_event_stream_done(struct gg_event_stream *stream);

/* Reads what has arrived, without waiting.  Returns true if there was anything. */
bool gg_event_stream_read(struct gg_event_stream *stream);

/*
 * Ends the stream and gives its bytes, stream.bytes of them, or NULL.  They are valid until
 * gg_event_stream_done().
 */
GG_MUST_CHECK int gg_event_stream_map(struct gg_event_stream *stream, const uint8_t **ret_bytes,
                                      struct gg_error *error);

/*
 * Gives the bytes that have arrived so far, and the stream goes on.  *ret_bytes is NULL if nothing
 * has arrived.  The bytes are valid until gg_event_stream_forget(), which comes before
 * gg_event_stream_done().
 */
GG_MUST_CHECK int gg_event_stream_peek(const struct gg_event_stream *stream,
                                       const uint8_t **ret_bytes, size_t *ret_length);
void gg_event_stream_forget(const struct gg_event_stream *stream, const uint8_t *bytes,
                            size_t length);
