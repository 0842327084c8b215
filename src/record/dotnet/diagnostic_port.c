/* SPDX-License-Identifier: Apache-2.0 */
/* diagnostic_port - accepts runtimes, and drives their sessions. */
#include "record/dotnet/diagnostic_port.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/time_units.h"
#include "record/regions/process_alive.h"
#include "region/session_files.h"

enum {
	RUNTIMES_MAX = 1024,
	EVENTS_MAX = 32,     /* of one epoll_wait() */
	ACCEPTS_MAX = 16,    /* of one round: connections may arrive without an end */
	WORK_MS = 20,        /* of one call: the caller has other work as well */
	PAUSE_MS = 1000,     /* without a free descriptor, the port listens again after that time */
	FINISH_MS = 10000,   /* all streams have ended after that time */
	QUIET_MS = 5000,     /* a stream that is to end may be quiet for so long */
	DEAD_QUIET_MS = 100, /* the same, when its process has ended */
	RESERVE_LEAST = 32,  /* descriptors */
	ANCESTORS_MAX = 4096,
};

/* The source of an event is in the upper half of its data; the lower half is an index. */
enum port_source { SOURCE_LISTENER, SOURCE_NEWCOMER, SOURCE_STREAM };

static bool watch(struct gg_diagnostic_port *port, int fd, enum port_source source, size_t index)
{
	struct epoll_event event = { .events = EPOLLIN };

	event.data.u64 = (uint64_t)source << 32 | index;
	return epoll_ctl(port->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/*
 * True if a new descriptor is one of the last quarter of those that the recorder may have.  That
 * quarter is for the profile and the processes.  The kernel gives the lowest number that is free.
 */
static bool is_of_reserve(int fd)
{
	struct rlimit limit;
	rlim_t reserve;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return false;
	reserve = limit.rlim_cur / 4 > RESERVE_LEAST ? limit.rlim_cur / 4 : RESERVE_LEAST;
	return (rlim_t)fd + reserve >= limit.rlim_cur;
}

/* Notes that a process is not followed.  It connects again and again, and counts once. */
static void leave_out(struct gg_diagnostic_port *port, pid_t pid)
{
	for (size_t i = 0; i < port->left_out.count; i++)
		if (port->left_out.items[i] == pid)
			return;
	for (size_t i = 0; i < port->runtimes.count; i++)
		if (port->runtimes.items[i]->pid == pid && port->runtimes.items[i]->has_stream)
			return; /* only a spare connection of it was closed */
	if (port->left_out.count < RUNTIMES_MAX)
		(void)!gg_array_push(&port->left_out, pid);
}

/* --- sessions --------------------------------------------------------------------------------- */

static size_t index_of(const struct gg_diagnostic_port *port,
                       const struct gg_followed_runtime *runtime)
{
	size_t index = 0;

	while (port->runtimes.items[index] != runtime)
		index++;
	return index;
}

static bool send_message(int fd, const struct gg_buf *message)
{
	return !message->failed && send(fd, message->data, message->length,
	                                MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)message->length;
}

/* Forgets a stream; `remove`: with its file. */
static void end_stream(const struct gg_diagnostic_port *port, struct gg_followed_runtime *runtime,
                       bool remove)
{
	char path[sizeof(port->spool) + GG_DIAGNOSTIC_PORT_FILE_MAX];

	gg_event_stream_done(&runtime->stream);
	runtime->has_stream = false;
	snprintf(path, sizeof(path), "%s/%s", port->spool, runtime->file);
	if (remove && runtime->file[0] != '\0')
		unlink(path);
	runtime->file[0] = '\0';
}

/* Follows the stream that a connection brings once the runtime has answered. */
static void begin_stream(struct gg_diagnostic_port *port, struct gg_followed_runtime *runtime,
                         int connection)
{
	int status;

	if (runtime->has_stream)
		end_stream(port, runtime, true);
	if (port->keeps)
		snprintf(runtime->file, sizeof(runtime->file),
		         GG_SESSION_STREAM_PREFIX "%d-%zu" GG_SESSION_STREAM_SUFFIX,
		         (int)runtime->pid, index_of(port, runtime));
	status = gg_event_stream_begin(&runtime->stream, connection, port->spool,
	                               port->keeps ? runtime->file : NULL, NULL);
	runtime->has_stream = status == 0;
	runtime->stream.room_bytes = &port->room_bytes;
	if (!runtime->has_stream)
		runtime->file[0] = '\0'; /* a file of that name is another's */
	if (runtime->has_stream && is_of_reserve(runtime->stream.spool_fd)) {
		end_stream(port, runtime, true);
		status = -EMFILE;
	}
	if (runtime->has_stream)
		watch(port, connection, SOURCE_STREAM, index_of(port, runtime));
	else if (status == -EMFILE || status == -ENFILE)
		leave_out(port, runtime->pid);
	else
		port->spool_status = status;
}

/* Begins a session on a connection that the runtime made. */
static void begin_session(struct gg_diagnostic_port *port, struct gg_followed_runtime *runtime,
                          int connection)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf message = { 0 };

	gg_dotnet_ipc_collect(&message, runtime->events, runtime->rundown);
	if (send_message(connection, &message))
		begin_stream(port, runtime, connection);
	else
		close(connection);
}

/* True if the runtime has refused the only session that was tried, and there is an older one. */
static bool wants_ticks(const struct gg_followed_runtime *runtime)
{
	return runtime->has_stream && runtime->stream.state == GG_EVENT_STREAM_REFUSED &&
	       runtime->events == GG_DOTNET_SAMPLES && runtime->stream.reply_bytes > 0;
}

/* Returns the spare connection, which is the caller's now; -1: none. */
static int take_spare(struct gg_followed_runtime *runtime)
{
	int connection = runtime->spare_fd;

	runtime->spare_fd = -1;
	return connection;
}

/* Uses the spare connection if there is something to say. */
static void use_spare(struct gg_diagnostic_port *port, struct gg_followed_runtime *runtime)
{
	int connection;

	if (!wants_ticks(runtime))
		return;
	if (runtime->spare_fd < 0 && runtime->socket.directory >= 0)
		runtime->spare_fd = gg_dotnet_socket_connect(&runtime->socket, NULL);
	connection = take_spare(runtime);
	if (connection < 0)
		return;
	runtime->events = GG_DOTNET_TICKS;
	begin_session(port, runtime, connection);
}

static void read_stream(struct gg_diagnostic_port *port, struct gg_followed_runtime *runtime)
{
	gg_event_stream_read(&runtime->stream);
	if (runtime->stream.state == GG_EVENT_STREAM_REFUSED)
		use_spare(port, runtime);
	else if (runtime->stream.state == GG_EVENT_STREAM_ENDED)
		close_fd(&runtime->spare_fd);
}

/* --- runtimes --------------------------------------------------------------------------------- */

/* Notes which program runs in the process now: it may execute another one. */
static void note_exe(struct gg_followed_runtime *runtime)
{
	char link[64], path[4096];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)runtime->pid);
	length = readlink(link, path, sizeof(path) - 1);
	if (length <= 0)
		return;
	path[length] = '\0';
	if (snprintf(runtime->exe, sizeof(runtime->exe), "%s", gg_path_base(path)) >=
	            (int)sizeof(runtime->exe) ||
	    strstr(path, " (deleted)") != NULL)
		runtime->exe[0] = '\0';
}

static struct gg_followed_runtime *add_runtime(struct gg_diagnostic_port *port, pid_t pid)
{
	struct gg_followed_runtime *runtime = calloc(1, sizeof(*runtime));

	if (runtime == NULL || !gg_array_push(&port->runtimes, runtime)) {
		free(runtime);
		return NULL;
	}
	runtime->pid = pid;
	runtime->spare_fd = runtime->socket.directory = -1;
	note_exe(runtime);
	return runtime;
}

static struct gg_followed_runtime *find_runtime(const struct gg_diagnostic_port *port,
                                                const uint8_t *cookie)
{
	for (size_t i = port->runtimes.count; i > 0; i--)
		if (memcmp(port->runtimes.items[i - 1]->cookie, cookie,
		           GG_DOTNET_IPC_COOKIE_BYTES) == 0)
			return port->runtimes.items[i - 1];
	return NULL;
}

/* Takes a connection that a runtime made, when it has introduced itself. */
static void greet(struct gg_diagnostic_port *port, int connection, pid_t pid,
                  const struct gg_dotnet_ipc_greeting *greeting)
{
	struct gg_followed_runtime *runtime = find_runtime(port, greeting->cookie);

	if (runtime != NULL) {
		close_fd(&runtime->spare_fd);
		runtime->spare_fd = connection;
		use_spare(port, runtime);
		return;
	}
	runtime = port->is_ending || port->runtimes.count >= RUNTIMES_MAX ? NULL
	                                                                  : add_runtime(port, pid);
	if (runtime == NULL) {
		if (!port->is_ending)
			leave_out(port, pid);
		close(connection);
		return;
	}
	memcpy(runtime->cookie, greeting->cookie, sizeof(runtime->cookie));
	if (port->only_pid == 0 || port->only_pid == pid)
		begin_session(port, runtime, connection);
	else /* an open connection keeps the runtime from trying again and again */
		runtime->spare_fd = connection;
}

static void read_newcomer(struct gg_diagnostic_port *port, struct gg_diagnostic_newcomer *newcomer)
{
	struct gg_dotnet_ipc_greeting greeting;
	ssize_t got = recv(newcomer->fd, newcomer->bytes + newcomer->length,
	                   sizeof(newcomer->bytes) - newcomer->length, MSG_DONTWAIT);
	int connection = newcomer->fd;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got > 0)
		newcomer->length += (size_t)got;
	if (got > 0 && newcomer->length < sizeof(newcomer->bytes))
		return;
	epoll_ctl(port->epoll_fd, EPOLL_CTL_DEL, connection, NULL);
	newcomer->fd = -1;
	if (got > 0 && gg_dotnet_ipc_read_greeting(newcomer->bytes, &greeting))
		greet(port, connection, newcomer->pid, &greeting);
	else
		close(connection);
}

/* Without a free descriptor, connections wait, and the listener would be ready all the time. */
static void pause_listening(struct gg_diagnostic_port *port)
{
	if (epoll_ctl(port->epoll_fd, EPOLL_CTL_DEL, port->listen_fd, NULL) == 0)
		port->resume_ns = gg_clock_monotonic_ns() + PAUSE_MS * (uint64_t)GG_NS_PER_MS;
}

static void resume_listening(struct gg_diagnostic_port *port)
{
	if (port->resume_ns == 0 || gg_clock_monotonic_ns() < port->resume_ns)
		return;
	port->resume_ns = 0;
	if (port->listen_fd >= 0 && !watch(port, port->listen_fd, SOURCE_LISTENER, 0))
		port->resume_ns = gg_clock_monotonic_ns() + PAUSE_MS * (uint64_t)GG_NS_PER_MS;
}

/*
 * True for processes of the recorder's user, and for processes of the session that have another
 * one: the recorder is an ancestor of those.
 */
static bool is_of_session(const struct ucred *peer)
{
	uint32_t pid = (uint32_t)peer->pid;

	if (peer->uid == geteuid())
		return true;
	for (int n = 0; n < ANCESTORS_MAX && pid > 1 && pid != (uint32_t)getpid(); n++)
		pid = gg_process_alive_parent(pid);
	return pid == (uint32_t)getpid();
}

/*
 * Accepts a connection.  If all places are taken, it ends, and the runtime tries again.  It ends as
 * well if it is of a stranger.
 */
static bool accept_one(struct gg_diagnostic_port *port)
{
	int fd = accept4(port->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct ucred peer = { 0 };
	socklen_t length = sizeof(peer);

	if (fd < 0) {
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			pause_listening(port);
		return false;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0 || !is_of_session(&peer)) {
		close(fd);
		return true;
	}
	if (is_of_reserve(fd)) {
		leave_out(port, peer.pid);
		close(fd);
		return true;
	}
	for (size_t i = 0; i < GG_COUNT(port->newcomers); i++) {
		struct gg_diagnostic_newcomer *newcomer = &port->newcomers[i];

		if (newcomer->fd >= 0)
			continue;
		if (!watch(port, fd, SOURCE_NEWCOMER, i))
			break;
		*newcomer = (struct gg_diagnostic_newcomer){ .fd = fd, .pid = peer.pid };
		return true;
	}
	close(fd);
	return true;
}

void gg_diagnostic_port_work(struct gg_diagnostic_port *port)
{
	uint64_t end_ns = gg_clock_monotonic_ns() + WORK_MS * (uint64_t)GG_NS_PER_MS;
	struct epoll_event events[EVENTS_MAX];
	bool is_called;
	int count;

	if (port->epoll_fd < 0)
		return;
	resume_listening(port);
	do {
		count = epoll_wait(port->epoll_fd, events, EVENTS_MAX, 0);
		if (count <= 0)
			return;
		is_called = false;
		for (int i = 0; i < count; i++) {
			size_t index = (uint32_t)events[i].data.u64;

			switch ((enum port_source)(events[i].data.u64 >> 32)) {
			case SOURCE_LISTENER:
				is_called = true;
				break;
			case SOURCE_NEWCOMER:
				if (port->newcomers[index].fd >= 0)
					read_newcomer(port, &port->newcomers[index]);
				break;
			case SOURCE_STREAM:
				gg_assert(index < port->runtimes.count);
				read_stream(port, port->runtimes.items[index]);
				break;
			}
		}
		/* Only now: each greeting that has arrived has left its place to a newcomer. */
		for (int n = 0; is_called && n < ACCEPTS_MAX && accept_one(port); n++)
			continue;
	} while (gg_clock_monotonic_ns() < end_ns);
}

/* --- begin and end ---------------------------------------------------------------------------- */

static int prepare(struct gg_diagnostic_port *port, const char *spool, bool keeps)
{
	if (port->epoll_fd >= 0)
		return 0;
	port->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (port->epoll_fd < 0)
		return -errno;
	for (size_t i = 0; i < GG_COUNT(port->newcomers); i++)
		port->newcomers[i].fd = -1;
	port->room_bytes = GG_EVENT_STREAM_MAX;
	port->keeps = keeps;
	if ((size_t)snprintf(port->spool, sizeof(port->spool), "%s", spool) >=
	            sizeof(port->spool) ||
	    access(port->spool, W_OK | X_OK) < 0) {
		snprintf(port->spool, sizeof(port->spool), "/tmp");
		port->keeps = false;
	}
	return 0;
}

static int listen_at(struct gg_diagnostic_port *port, const char *path, const char *spool,
                     bool keeps)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int status;

	/* Texts of the variable end at these characters. */
	if (strlen(path) >= sizeof(address.sun_path) || strpbrk(path, ",;") != NULL)
		return -ENAMETOOLONG;
	status = prepare(port, spool, keeps);
	if (status < 0)
		return status;
	port->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (port->listen_fd < 0)
		return -errno;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	/* Processes of the session may have any user; accept_one() refuses all others. */
	if (bind(port->listen_fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    chmod(path, 0666) < 0 || listen(port->listen_fd, SOMAXCONN) < 0 ||
	    !watch(port, port->listen_fd, SOURCE_LISTENER, 0)) {
		status = -errno;
		close_fd(&port->listen_fd);
		return status;
	}
	snprintf(port->path, sizeof(port->path), "%s", path);
	return 0;
}

int gg_diagnostic_port_open(struct gg_diagnostic_port *port, const char *path, const char *spool,
                            bool keeps)
{
	port->open_status = listen_at(port, path, spool, keeps);
	return port->open_status;
}

int gg_diagnostic_port_attach(struct gg_diagnostic_port *port, pid_t pid, const char *spool,
                              bool keeps, struct gg_error *error)
{
	struct gg_dotnet_socket socket;
	struct gg_followed_runtime *runtime;
	int status = gg_dotnet_socket_find(&socket, pid, error);

	if (status < 0)
		return status;
	status = prepare(port, spool, keeps);
	if (status < 0) {
		gg_dotnet_socket_done(&socket);
		return status;
	}
	runtime = add_runtime(port, pid);
	if (runtime == NULL) {
		gg_dotnet_socket_done(&socket);
		return -ENOMEM;
	}
	runtime->socket = socket;
	runtime->rundown = GG_DOTNET_METHODS;
	runtime->spare_fd = gg_dotnet_socket_connect(&socket, error);
	if (runtime->spare_fd < 0)
		return runtime->spare_fd;
	/* geiger does not ask for its version, which takes time: an old runtime refuses. */
	begin_session(port, runtime, take_spare(runtime));
	return 0;
}

static bool runs(const struct gg_followed_runtime *runtime)
{
	return runtime->has_stream && runtime->stream.state <= GG_EVENT_STREAM_RUNS;
}

/* Sends the command to stop, if there is a way. */
static void try_to_stop(struct gg_followed_runtime *runtime)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf message = { 0 };

	if (runtime->is_stopped || runtime->stream.state != GG_EVENT_STREAM_RUNS)
		return;
	gg_dotnet_ipc_stop(&message, runtime->stream.session);
	if (runtime->spare_fd >= 0) {
		runtime->is_stopped = send_message(runtime->spare_fd, &message);
	} else if (runtime->socket.directory >= 0) {
		/* The connection is open until the stream ends. */
		runtime->spare_fd = gg_dotnet_socket_send(&runtime->socket, &message, NULL);
		runtime->is_stopped = runtime->spare_fd >= 0;
	}
}

/* The time for which this stream may be quiet before its reader gives up; 0: it has ended. */
static int64_t patience_ns(const struct gg_followed_runtime *runtime)
{
	if (!runs(runtime))
		return 0;
	return (kill(runtime->pid, 0) < 0 && errno == ESRCH ? DEAD_QUIET_MS : QUIET_MS) *
	       GG_NS_PER_MS;
}

void gg_diagnostic_port_stop(struct gg_diagnostic_port *port)
{
	if (port->epoll_fd < 0 || port->is_ending)
		return;
	/* The spare connections that wait serve the commands. */
	gg_diagnostic_port_work(port);
	port->is_ending = true;
	port->end_ns = gg_clock_monotonic_ns() + FINISH_MS * (uint64_t)GG_NS_PER_MS;
	for (size_t i = 0; i < port->runtimes.count; i++)
		try_to_stop(port->runtimes.items[i]);
}

/* Waits for the ends of the streams.  A stream that goes on ends with the time for all of them. */
static void await_ends(struct gg_diagnostic_port *port, bool (*is_urgent)(void *context),
                       void *context)
{
	uint64_t last_ns = gg_clock_monotonic_ns(), bytes = 0;
	int64_t patience = QUIET_MS * GG_NS_PER_MS;

	while (patience > 0 && gg_clock_monotonic_ns() - last_ns < (uint64_t)patience &&
	       gg_clock_monotonic_ns() < port->end_ns) {
		struct pollfd fd = { .fd = port->epoll_fd, .events = POLLIN };
		uint64_t bytes_now = 0;

		gg_diagnostic_port_work(port);
		patience = 0;
		for (size_t i = 0; i < port->runtimes.count; i++) {
			struct gg_followed_runtime *runtime = port->runtimes.items[i];
			int64_t own;

			try_to_stop(runtime);
			bytes_now += runtime->stream.bytes;
			own = patience_ns(runtime);
			if (own > patience)
				patience = own;
		}
		if (bytes_now != bytes)
			last_ns = gg_clock_monotonic_ns();
		bytes = bytes_now;
		if (is_urgent != NULL && is_urgent(context))
			return;
		if (patience > 0)
			poll(&fd, 1, 20);
	}
}

/* Closes all but the streams. */
static void close_connections(struct gg_diagnostic_port *port)
{
	close_fd(&port->listen_fd);
	if (port->path[0] != '\0')
		unlink(port->path);
	port->path[0] = '\0';
	for (size_t i = 0; port->epoll_fd >= 0 && i < GG_COUNT(port->newcomers); i++)
		close_fd(&port->newcomers[i].fd);
	for (size_t i = 0; i < port->runtimes.count; i++) {
		close_fd(&port->runtimes.items[i]->spare_fd);
		gg_dotnet_socket_done(&port->runtimes.items[i]->socket);
	}
}

void gg_diagnostic_port_finish(struct gg_diagnostic_port *port, bool (*is_urgent)(void *context),
                               void *context)
{
	gg_diagnostic_port_stop(port);
	if (port->epoll_fd >= 0)
		await_ends(port, is_urgent, context);
	/* Without its reader, a runtime ends the session itself. */
	for (size_t i = 0; i < port->runtimes.count; i++)
		if (runs(port->runtimes.items[i]))
			gg_event_stream_end(&port->runtimes.items[i]->stream);
	close_connections(port);
}

int gg_diagnostic_port_add_file(struct gg_diagnostic_port *port, const char *path, pid_t pid,
                                struct gg_error *error)
{
	struct gg_event_stream stream;
	struct gg_followed_runtime *runtime;
	struct gg_error unread = { 0 };
	int status = gg_event_stream_open(&stream, path, &unread);

	if (status < 0) {
		if (port->unread_count++ == 0)
			port->unread_status = status;
		return 0;
	}
	runtime = add_runtime(port, pid);
	if (runtime == NULL) {
		gg_event_stream_done(&stream);
		return gg_error_memory(error, path);
	}
	runtime->exe[0] = '\0'; /* the pid may be another process's now */
	runtime->stream = stream;
	runtime->has_stream = true;
	return 0;
}

void gg_diagnostic_port_done(struct gg_diagnostic_port *port, bool remove)
{
	close_connections(port);
	for (size_t i = 0; i < port->runtimes.count; i++) {
		if (port->runtimes.items[i]->has_stream)
			end_stream(port, port->runtimes.items[i], remove);
		free(port->runtimes.items[i]);
	}
	gg_array_done(&port->runtimes);
	gg_array_done(&port->left_out);
	close_fd(&port->epoll_fd);
	*port = GG_DIAGNOSTIC_PORT_NONE;
}

void gg_diagnostic_port_variable(struct gg_buf *out, const char *path, const char *users)
{
	if (users != NULL && users[0] != '\0')
		gg_buf_printf(out, "%s;", users);
	gg_buf_printf(out, "%s,connect,nosuspend", path);
}
