/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnostic_port - follows the .NET runtimes of a session by their event streams.
 *
 *   struct gg_diagnostic_port port = GG_DIAGNOSTIC_PORT_NONE;
 *
 *   gg_diagnostic_port_open(&port, path, spool, keeps);   DOTNET_DiagnosticPorts names the path
 *   gg_diagnostic_port_attach(&port, pid, spool, keeps, error);   or: a runtime that runs already
 *   gg_diagnostic_port_work(&port);                whenever port.epoll_fd is readable
 *   gg_diagnostic_port_stop(&port);                tells the runtimes to end their streams
 *   gg_diagnostic_port_finish(&port, is_urgent, context);   waits until they have ended
 *   ... reads port.runtimes (dotnet_samples.h)
 *   gg_diagnostic_port_done(&port, true);
 *
 * A runtime that finds the port in its environment connects to it while it starts, and does not
 * wait for an answer ("nosuspend").  So objects that it allocates in its first milliseconds may be
 * missing, and a recorder that dies holds up nobody.  The answer is the command that begins a
 * session; then the connection carries the events.  The runtime connects again, and that spare
 * connection serves the next command: the one to stop, or to begin another session if the runtime
 * is too old for the first one.
 *
 * Full     Runtimes that run beyond RUNTIMES_MAX are left out and counted.  So are those whose
 *          descriptors would come from the quarter that is left to the rest of the recorder.  A
 *          runtime takes three while it lives, and none when it has ended.
 * Spool    the streams lie in the directory `spool`, and have GG_EVENT_STREAM_MAX bytes together.
 *          `keeps`: they have names there (region/session_files.h), so that `geiger salvage` finds
 *          them if the recorder is killed.
 * Failure  nothing here fails a session: a runtime whose stream cannot be read is left out.
 * Hostile  the connections may send anything (dotnet/dotnet_ipc.h).
 * Threads  one owner.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/compiler.h"
#include "base/error.h"
#include "dotnet/dotnet_socket.h"
#include "dotnet/event_stream.h"

enum {
	GG_DIAGNOSTIC_PORT_NEWCOMERS = 16,
	GG_DIAGNOSTIC_PORT_PATH_MAX = 108,
	GG_DIAGNOSTIC_PORT_EXE_MAX = 64,
	GG_DIAGNOSTIC_PORT_FILE_MAX = 64,
};

struct gg_followed_runtime {
	uint8_t cookie[GG_DOTNET_IPC_COOKIE_BYTES]; /* all zero: it was attached to */
	pid_t pid;                                  /* in the recorder's pid namespace */
	char exe[GG_DIAGNOSTIC_PORT_EXE_MAX];       /* without its directory; "": unknown */
	enum gg_dotnet_ipc_events events;
	/*
	 * The list at the end.  Without one, the events tell of each method from the first one on;
	 * a runtime that was attached to has older methods.
	 */
	uint64_t rundown;
	bool has_stream, is_stopped; /* is_stopped: the command was sent */
	struct gg_event_stream stream;
	char file[GG_DIAGNOSTIC_PORT_FILE_MAX]; /* of the stream; "": it has no name */
	int spare_fd;                           /* -1: none */
	struct gg_dotnet_socket socket;         /* its directory is -1 if it was not attached to */
};

/* A connection whose greeting is not complete. */
struct gg_diagnostic_newcomer {
	int fd; /* -1: none */
	pid_t pid;
	size_t length;
	uint8_t bytes[GG_DOTNET_IPC_GREETING_BYTES];
};

struct gg_diagnostic_port {
	int listen_fd, epoll_fd; /* -1: closed */
	char path[GG_DIAGNOSTIC_PORT_PATH_MAX];
	char spool[512]; /* directory for the streams */
	bool keeps;
	uint64_t room_bytes; /* for all streams */
	pid_t only_pid;      /* not 0: other processes get no session */
	GG_ARRAY(struct gg_followed_runtime *) runtimes;
	struct gg_diagnostic_newcomer newcomers[GG_DIAGNOSTIC_PORT_NEWCOMERS];
	GG_ARRAY(pid_t) left_out; /* processes that are not followed, RUNTIMES_MAX at most */
	int spool_status;         /* -Exxx: why the stream of a runtime has no file */
	int open_status;          /* -Exxx: why nothing listens */
	/* Files that a killed recorder left, and that are not among the runtimes. */
	uint64_t unread_count, old_count; /* they cannot be read; they are of an earlier boot */
	int unread_status;                /* -Exxx: why the first of them cannot be read */
	uint64_t resume_ns; /* CLOCK_MONOTONIC: it listens again then; 0: it listens */
	bool is_ending;
	uint64_t end_ns; /* CLOCK_MONOTONIC: streams that have not ended then are cut */
};

#define GG_DIAGNOSTIC_PORT_NONE ((struct gg_diagnostic_port){ .listen_fd = -1, .epoll_fd = -1 })

/* Listens at the path.  -ENAMETOOLONG: no socket can have that name. */
GG_MUST_CHECK int gg_diagnostic_port_open(struct gg_diagnostic_port *port, const char *path,
                                          const char *spool, bool keeps);

/*
 * Begins a session with the runtime in a process that runs already, without waiting for its answer.
 * -ENOENT: the process has no such runtime.
 */
GG_MUST_CHECK int gg_diagnostic_port_attach(struct gg_diagnostic_port *port, pid_t pid,
                                            const char *spool, bool keeps, struct gg_error *error);

/* Takes what has arrived on all connections, without waiting, for some 20 ms at most. */
void gg_diagnostic_port_work(struct gg_diagnostic_port *port);

/* Tells the runtimes to end their sessions.  New runtimes get no session any more. */
void gg_diagnostic_port_stop(struct gg_diagnostic_port *port);

/*
 * Reads what the runtimes send until their sessions end: for 10 s at most from the call of
 * gg_diagnostic_port_stop(), or until is_urgent() returns true (NULL: never).
 */
void gg_diagnostic_port_finish(struct gg_diagnostic_port *port, bool (*is_urgent)(void *context),
                               void *context);
/* `remove`: removes the streams that have names; the port removes only those of its own. */
void gg_diagnostic_port_done(struct gg_diagnostic_port *port, bool remove);

/*
 * Adds a stream that a killed recorder left, for gg_dotnet_samples_write().  A file that cannot be
 * read is counted, and no failure: it may be gone meanwhile.
 */
GG_MUST_CHECK int gg_diagnostic_port_add_file(struct gg_diagnostic_port *port, const char *path,
                                              pid_t pid, struct gg_error *error);

/* The value of DOTNET_DiagnosticPorts.  `users`: its value so far, which stays; NULL: none. */
void gg_diagnostic_port_variable(struct gg_buf *out, const char *path, const char *users);
