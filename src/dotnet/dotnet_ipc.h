/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dotnet_ipc - messages of the protocol by which .NET's runtimes take commands.
 *
 *   struct gg_buf message = { 0 };
 *   struct gg_dotnet_ipc_reply reply;
 *
 *   gg_dotnet_ipc_collect(&message, GG_DOTNET_SAMPLES, rundown);
 *   ... sends message.data on a connection of its own ...
 *   status = gg_dotnet_ipc_read_reply(received, length, &reply);      1 once it is complete
 *
 * A connection carries one command and its reply.  After the reply to gg_dotnet_ipc_collect(), it
 * carries an event stream (nettrace.h) until the session stops.  A session is stopped by a command
 * on another connection.
 *
 * A runtime accepts connections at a socket of its own (dotnet_socket.h).  It also connects to
 * the sockets that DOTNET_DiagnosticPorts names; then it introduces itself first (struct
 * gg_dotnet_ipc_greeting), and connects again whenever a connection was used.
 *
 * Hostile  Whoever is at the other end may send anything.
 * Threads  any; nothing is kept.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"

enum {
	GG_DOTNET_IPC_GREETING_BYTES = 34,
	GG_DOTNET_IPC_HEAD_BYTES = 20,
	GG_DOTNET_IPC_COOKIE_BYTES = 16,
	/* The head and the number of the session: the reply that an event stream follows. */
	GG_DOTNET_IPC_COLLECT_REPLY_BYTES = 28,
};

/* Events that a session asks for. */
enum gg_dotnet_ipc_events {
	/* Random samples, collections and methods; since .NET 10. */
	GG_DOTNET_SAMPLES,
	/* An object each 100 KiB, and collections; earlier runtimes. */
	GG_DOTNET_TICKS,
};

/* The lists at the end of a stream. */
enum {
	GG_DOTNET_NO_RUNDOWN = 0,
	GG_DOTNET_METHODS = 0x38, /* all methods and modules there are */
};

/*
 * Appends the command that begins a session.  Ticks always come with a list of methods, because
 * the earlier runtimes cannot leave out the other events of compilation.
 */
void gg_dotnet_ipc_collect(struct gg_buf *out, enum gg_dotnet_ipc_events events, uint64_t rundown);
void gg_dotnet_ipc_stop(struct gg_buf *out, uint64_t session);

/* Appends the question for struct gg_dotnet_ipc_info.  is_old: for runtimes before .NET 8. */
void gg_dotnet_ipc_ask_info(struct gg_buf *out, bool is_old);

struct gg_dotnet_ipc_reply {
	bool is_ok;
	uint32_t error;         /* if it is not: an HRESULT; 0: none was sent */
	const uint8_t *payload; /* in the bytes that were given */
	size_t payload_bytes;
	size_t bytes; /* of the whole reply */
};

/* Returns 1, 0 if the reply is not complete yet, or -EBADMSG. */
GG_MUST_CHECK int gg_dotnet_ipc_read_reply(const uint8_t *bytes, size_t length,
                                           struct gg_dotnet_ipc_reply *ret_reply);

/* Facts of a runtime.  The texts are UTF-8, each ends with a 0 byte, and they lie in `texts`. */
struct gg_dotnet_ipc_info {
	struct gg_buf texts;
	size_t command_at, version_at; /* version: "10.0.9"; "": unknown */
};

/* Reads the payload of a reply.  Returns 0, -EBADMSG or -ENOMEM; call .._info_done() after 0. */
GG_MUST_CHECK int gg_dotnet_ipc_read_info(const uint8_t *payload, size_t length, bool is_old,
                                          struct gg_dotnet_ipc_info *ret_info);
void gg_dotnet_ipc_info_done(struct gg_dotnet_ipc_info *info);

/* The events that a runtime of this version has. */
enum gg_dotnet_ipc_events gg_dotnet_ipc_events_of(const char *version);

/* The first bytes of a runtime on a connection that it made. */
struct gg_dotnet_ipc_greeting {
	uint8_t cookie[GG_DOTNET_IPC_COOKIE_BYTES]; /* the same on all connections of a runtime */
	uint64_t pid;                               /* in its own pid namespace */
};

/* Reads GG_DOTNET_IPC_GREETING_BYTES.  Returns false if they are no greeting. */
bool gg_dotnet_ipc_read_greeting(const uint8_t *bytes, struct gg_dotnet_ipc_greeting *ret_greeting);
