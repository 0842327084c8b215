/* SPDX-License-Identifier: Apache-2.0 */
/* attach_dotnet - a session with a runtime, and its stream as a profile (cli/attach_dotnet.h). */
#include "cli/attach_dotnet.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/path.h"
#include "base/printable.h"
#include "base/time_units.h"
#include "cli/attach_result.h"
#include "dotnet/dotnet_socket.h"
#include "dotnet/event_stream.h"
#include "format/import/import.h"
#include "record/session/recorder_signals.h"

enum { STREAM_POLL_MS = 200 };

struct dotnet_attach {
	const struct gg_attach_options *given;
	struct gg_dotnet_socket socket;
	struct gg_dotnet_ipc_info info;
	enum gg_dotnet_ipc_events events;
	struct gg_event_stream stream;
	struct gg_buf file; /* the path of its file; empty: it has no name */
	uint64_t start_ns;  /* CLOCK_MONOTONIC */
	struct gg_error *error;
};

static const char *version_of(const struct dotnet_attach *attach)
{
	const char *version = attach->info.texts.data + attach->info.version_at;

	return version[0] != '\0' ? version : "Core";
}

/* --- the result of the look ------------------------------------------------------------------- */

static const char *name_of_events(const struct dotnet_attach *attach)
{
	return attach->events == GG_DOTNET_SAMPLES ? "random samples" : "allocation ticks";
}

static int print_look(const struct dotnet_attach *attach)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
	struct gg_json json = { .out = &out };

	if (attach->given->json) {
		gg_attach_result_begin(&json);
		gg_json_integer(&json, "pid", (uint64_t)attach->socket.pid);
		gg_json_text(&json, "runtime", version_of(attach));
		gg_json_text(&json, "command", attach->info.texts.data + attach->info.command_at);
		gg_json_text(&json, "events", name_of_events(attach));
		return gg_attach_result_print(&json, attach->error);
	}
	printf("process %d runs .NET %s, which gives %s\n", (int)attach->socket.pid,
	       GG_PRINTABLE(version_of(attach)), name_of_events(attach));
	return 0;
}

/* --- the session ------------------------------------------------------------------------------ */

/* Reads until the runtime has answered.  Returns 0 or -Exxx. */
static int await_reply(struct dotnet_attach *attach)
{
	struct gg_event_stream *stream = &attach->stream;
	uint64_t end_ns = gg_clock_monotonic_ns() +
	                  (uint64_t)GG_DOTNET_IPC_WAIT_MS * (uint64_t)GG_NS_PER_MS;

	while (stream->state == GG_EVENT_STREAM_ASKED && gg_clock_monotonic_ns() < end_ns) {
		struct pollfd fd = { .fd = stream->fd, .events = POLLIN };

		if (poll(&fd, 1, STREAM_POLL_MS) > 0)
			gg_event_stream_read(stream);
	}
	if (stream->state == GG_EVENT_STREAM_ASKED)
		return gg_error_set(attach->error, -ETIMEDOUT, attach->socket.name, NULL,
		                    "the runtime does not answer");
	if (stream->state == GG_EVENT_STREAM_REFUSED)
		return gg_error_set(attach->error, -EPROTO, attach->socket.name, NULL,
		                    "the runtime (.NET %s) refuses the session",
		                    GG_PRINTABLE(version_of(attach)));
	return 0;
}

/*
 * Begins the stream.  Its file is beside the profile, so that a user whose geiger was killed finds
 * it; or without a name in TMPDIR, if there is no such place.
 */
static int begin_stream(struct dotnet_attach *attach, int connection)
{
	const char *output = attach->given->output, *scratch = getenv("TMPDIR");
	GG_CLEANUP(gg_buf_done) struct gg_buf directory = { 0 };
	int again = fcntl(connection, F_DUPFD_CLOEXEC, 0), status = -ENAMETOOLONG;

	gg_buf_append(&directory, output, (size_t)(gg_path_base(output) - output));
	gg_buf_append_text(&directory, ".");
	gg_buf_printf(&attach->file, "%s.nettrace", output);
	if (!directory.failed && !attach->file.failed)
		status = gg_event_stream_begin(&attach->stream, connection, gg_buf_text(&directory),
		                               gg_path_base(gg_buf_text(&attach->file)), NULL);
	else
		close(connection);
	if (status == 0) {
		close(again);
		return 0;
	}
	gg_buf_done(&attach->file);
	if (again < 0)
		return gg_error_set_errno(attach->error, EMFILE, attach->socket.name, NULL);
	return gg_event_stream_begin(&attach->stream, again,
	                             scratch != NULL && scratch[0] == '/' ? scratch : "/tmp", NULL,
	                             attach->error);
}

static int begin(struct dotnet_attach *attach)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf message = { 0 };
	int connection, status;

	gg_dotnet_ipc_collect(&message, attach->events, GG_DOTNET_METHODS);
	connection = gg_dotnet_socket_send(&attach->socket, &message, attach->error);
	if (connection < 0)
		return connection;
	status = begin_stream(attach, connection);
	if (status == 0)
		status = await_reply(attach);
	return status;
}

/* True if a signal that ends recordings has arrived. */
static bool is_stopped(struct gg_recorder_signals *signals)
{
	bool from_terminal, stopped = false;
	int signal;

	while ((signal = gg_recorder_signals_next(signals, &from_terminal)) != 0)
		stopped = stopped || signal == SIGINT || signal == SIGTERM || signal == SIGHUP ||
		          signal == SIGQUIT;
	return stopped;
}

static bool is_time_up(const struct dotnet_attach *attach)
{
	double seconds = (double)(gg_clock_monotonic_ns() - attach->start_ns) * 1e-9;

	return attach->given->max_seconds > 0 && seconds >= attach->given->max_seconds;
}

static int wait_ms(const struct dotnet_attach *attach)
{
	double left = attach->given->max_seconds -
	              (double)(gg_clock_monotonic_ns() - attach->start_ns) * 1e-9;

	if (!(attach->given->max_seconds > 0) || left * 1e3 > STREAM_POLL_MS)
		return STREAM_POLL_MS;
	return left > 0 ? (int)(left * 1e3) + 1 : 0;
}

/*
 * Tells the runtime to end the session, and reads what it sends until then.  A runtime that goes on
 * is left after GG_DOTNET_IPC_WAIT_MS in all, or at another signal.
 */
static void stop(struct dotnet_attach *attach, struct gg_recorder_signals *signals)
{
	uint64_t end_ns = gg_clock_monotonic_ns() +
	                  (uint64_t)GG_DOTNET_IPC_WAIT_MS * (uint64_t)GG_NS_PER_MS;
	GG_CLEANUP(gg_buf_done) struct gg_buf message = { 0 };
	struct gg_event_stream *stream = &attach->stream;
	int connection;

	gg_dotnet_ipc_stop(&message, stream->session);
	/* Without an answer, the runtime ends the session when this stream is closed. */
	connection = gg_dotnet_socket_send(&attach->socket, &message, NULL);
	while (connection >= 0 && stream->state == GG_EVENT_STREAM_RUNS &&
	       gg_clock_monotonic_ns() < end_ns && !is_stopped(signals)) {
		struct pollfd fds[] = { { .fd = stream->fd, .events = POLLIN },
			                { .fd = signals->fd, .events = POLLIN } };

		if (poll(fds, GG_COUNT(fds), STREAM_POLL_MS) > 0 && fds[0].revents != 0)
			gg_event_stream_read(stream);
	}
	if (connection >= 0)
		close(connection);
}

static int follow(struct dotnet_attach *attach)
{
	struct gg_recorder_signals signals;
	struct gg_event_stream *stream = &attach->stream;
	int status = gg_recorder_signals_take(&signals, attach->error);

	if (status < 0)
		return status;
	while (stream->state == GG_EVENT_STREAM_RUNS && !is_time_up(attach) &&
	       !is_stopped(&signals)) {
		struct pollfd fds[] = { { .fd = stream->fd, .events = POLLIN },
			                { .fd = signals.fd, .events = POLLIN } };

		if (poll(fds, GG_COUNT(fds), wait_ms(attach)) > 0 && fds[0].revents != 0)
			gg_event_stream_read(stream);
	}
	if (stream->state == GG_EVENT_STREAM_RUNS)
		stop(attach, &signals);
	gg_recorder_signals_give_back(&signals);
	return stream->status < 0
	               ? gg_error_set_errno(attach->error, -stream->status, "the events", NULL)
	               : 0;
}

/* --- the profile ------------------------------------------------------------------------------ */

static int import(struct dotnet_attach *attach, struct gg_profile *profile, const uint8_t *bytes,
                  struct gg_import_result *result)
{
	const struct gg_import_options options = { .has_collections = true };
	struct gg_input *input;
	int status = gg_input_of(&input, bytes, attach->stream.bytes, attach->socket.name,
	                         attach->error);

	if (status < 0)
		return status;
	status = gg_import_as(&gg_importer_nettrace, profile, input, &options, result,
	                      attach->error);
	gg_input_close(input);
	if (status == 0 && attach->stream.is_full)
		status = gg_profile_add_note(profile,
		                             "The recording ended early: .NET's events need more "
		                             "than 1 GiB.",
		                             attach->error);
	if (status == 0)
		status = gg_import_session(profile, result, 1, attach->error);
	return status == 0 ? gg_profile_finish(profile, attach->error) : status;
}

static int write_profile(struct dotnet_attach *attach, struct gg_profile *profile)
{
	struct gg_import_result result;
	const uint8_t *bytes;
	int status = gg_event_stream_map(&attach->stream, &bytes, attach->error);

	if (status == 0 && bytes == NULL)
		return gg_error_set(attach->error, -ENODATA, attach->socket.name, NULL,
		                    "the runtime sent no events");
	if (status == 0)
		status = import(attach, profile, bytes, &result);
	if (status == 0 && !attach->given->quiet)
		fprintf(stderr, "geiger: wrote %s: %" PRIu64 " %s%s of process %d in %.1f s\n",
		        GG_PRINTABLE(attach->given->output), result.row_count,
		        attach->events == GG_DOTNET_SAMPLES ? "sample" : "tick",
		        result.row_count == 1 ? "" : "s", (int)attach->socket.pid,
		        (double)result.duration_ns * 1e-9);
	return status;
}

/* Removes the events, unless only the profile of them cannot be written. */
static void remove_events(const struct dotnet_attach *attach, int status)
{
	if (attach->file.length == 0)
		return;
	if (status == 0 || status == -EBADMSG || status == -ENODATA || attach->stream.bytes == 0)
		unlink(gg_buf_text(&attach->file));
	else
		fprintf(stderr, "geiger: the events are in %s, which geiger import reads\n",
		        GG_PRINTABLE(gg_buf_text(&attach->file)));
}

static int record(struct dotnet_attach *attach)
{
	struct gg_profile *profile;
	int status;

	/* The profile appears under its name only when it is complete. */
	status = gg_profile_create_whole(&profile, attach->given->output, attach->error);
	if (status < 0)
		return status;
	status = begin(attach);
	if (status == 0 && attach->given->json)
		status = print_look(attach);
	else if (status == 0 && !attach->given->quiet)
		fprintf(stderr, "geiger: process %d runs .NET %s, which gives %s; Ctrl-C ends\n",
		        (int)attach->socket.pid, GG_PRINTABLE(version_of(attach)),
		        name_of_events(attach));
	attach->start_ns = gg_clock_monotonic_ns();
	if (status == 0)
		status = follow(attach);
	if (status == 0)
		status = write_profile(attach, profile);
	gg_event_stream_done(&attach->stream);
	remove_events(attach, status);
	gg_buf_done(&attach->file);
	gg_profile_close(profile);
	return status;
}

int gg_attach_dotnet(pid_t pid, const struct gg_attach_options *given, struct gg_error *error)
{
	struct dotnet_attach attach = { .given = given,
		                        .stream = { .fd = -1, .spool_fd = -1 },
		                        .error = error };
	int status = gg_dotnet_socket_find(&attach.socket, pid, error);

	if (status < 0)
		return status;
	status = gg_dotnet_socket_info(&attach.socket, &attach.info, error);
	if (status == 0) {
		attach.events = gg_dotnet_ipc_events_of(attach.info.texts.data +
		                                        attach.info.version_at);
		status = given->dry_run ? print_look(&attach) : record(&attach);
		gg_dotnet_ipc_info_done(&attach.info);
	}
	gg_dotnet_socket_done(&attach.socket);
	return status;
}
