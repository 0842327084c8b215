/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receive_http - sockets and limits of a receiver, by libmicrohttpd.
 *
 * Limits  512 connections, and 256 of one address; 30 s of silence, and 60 s for a request from its
 *         first byte to its last one, after which the server closes a connection; 16 KiB for the
 *         head of a request; 4 MiB for a body, and 16 MiB for all that are on their way.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/time_units.h"
#include "fleet/receive_internal.h"
#include "serve/http_library.h"
#include "serve/listen.h"

enum {
	CONNECTIONS_MOST = 512,
	CONNECTIONS_OF_ADDRESS_MOST = 256, /* a proxy is one address as well */
	SILENCE_SECONDS = 30,
	REQUEST_SECONDS = 60,
	REQUEST_HEAD_BYTES = 16384,
	BODIES_BYTES = 16 << 20,
	LOOP_MS = 500,
	CROWD_SECONDS = 5,
};

static volatile sig_atomic_t is_stopped;

static void stop(int number)
{
	(void)number;
	is_stopped = 1;
}

/* A connection, and the moment since which it has been in its current request. */
struct open_connection {
	int fd; /* -1: none */
	uint64_t since_ns;
};

struct receiver_server {
	struct gg_receive receive;
	struct open_connection connections[CONNECTIONS_MOST];
	size_t body_bytes; /* of all requests that are on their way */
};

/* A request whose body arrives. */
struct arrival {
	struct receiver_server *server;
	struct gg_buf body;
	bool is_too_large, is_too_much;
};

static const char *header(struct MHD_Connection *connection, const char *name)
{
	return gg_mhd.lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static const char *argument(struct MHD_Connection *connection, const char *name)
{
	return gg_mhd.lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
}

/* Notes the beginning and the end of connections. */
static void note_connection(void *context, struct MHD_Connection *connection, void **socket_state,
                            enum MHD_ConnectionNotificationCode code)
{
	struct receiver_server *server = context;
	const union MHD_ConnectionInfo *info = gg_mhd.get_connection_info(
		connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (*socket_state != NULL)
			((struct open_connection *)*socket_state)->fd = -1;
		return;
	}
	for (size_t i = 0; info != NULL && i < CONNECTIONS_MOST; i++) {
		if (server->connections[i].fd >= 0)
			continue;
		server->connections[i] = (struct open_connection){ info->connect_fd,
			                                           gg_clock_monotonic_ns() };
		*socket_state = &server->connections[i];
		return;
	}
}

/*
 * A byte now and then is no silence, and would hold a connection forever.  So a request that takes
 * too long loses its connection, which the server then closes.
 */
static void end_slow_requests(struct receiver_server *server)
{
	uint64_t now_ns = gg_clock_monotonic_ns();

	for (size_t i = 0; i < CONNECTIONS_MOST; i++) {
		struct open_connection *open = &server->connections[i];

		if (open->fd < 0 || now_ns - open->since_ns < REQUEST_SECONDS * GG_NS_PER_S)
			continue;
		shutdown(open->fd, SHUT_RDWR);
	}
}

static void end_request(void *context, struct MHD_Connection *connection, void **state,
                        enum MHD_RequestTerminationCode code)
{
	struct arrival *arrival = *state;
	const union MHD_ConnectionInfo *info = gg_mhd.get_connection_info(
		connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	(void)context;
	(void)code;
	if (info != NULL && info->socket_context != NULL)
		((struct open_connection *)info->socket_context)->since_ns =
			gg_clock_monotonic_ns();
	if (arrival == NULL)
		return;
	arrival->server->body_bytes -= arrival->body.length;
	gg_buf_done(&arrival->body);
	free(arrival);
	*state = NULL;
}

static enum MHD_Result respond(struct MHD_Connection *connection, struct gg_receive_answer *answer)
{
	struct MHD_Response *response = gg_mhd.create_response_from_buffer(
		answer->body.length, answer->body.data, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result result;
	char text[32];

	gg_buf_done(&answer->body);
	if (response == NULL)
		return MHD_NO;
	gg_mhd.add_response_header(
		response, "Content-Type",
		answer->is_metrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
		: answer->type != NULL ? answer->type
				       : "text/plain; charset=utf-8");
	gg_mhd.add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (answer->status == 401)
		gg_mhd.add_response_header(response, "WWW-Authenticate", "Bearer");
	if (answer->status == 405)
		gg_mhd.add_response_header(response, "Allow", "GET, POST");
	if (answer->retry_after_s > 0) {
		snprintf(text, sizeof(text), "%u", answer->retry_after_s);
		gg_mhd.add_response_header(response, "Retry-After", text);
	}
	result = gg_mhd.queue_response(connection, answer->status, response);
	gg_mhd.destroy_response(response);
	return result;
}

/* The first call for a request: its head is there, and nothing of its body was read. */
static enum MHD_Result begin(struct receiver_server *server, struct MHD_Connection *connection,
                             const struct gg_receive_request *request, void **state)
{
	const char *length = header(connection, "Content-Length");
	struct gg_receive_answer answer = { 0 };
	struct arrival *arrival;

	if (gg_receive_refuse_early(&server->receive, request,
	                            length != NULL ? strtoull(length, NULL, 10) : 0, &answer))
		return respond(connection, &answer);
	arrival = calloc(1, sizeof(*arrival));
	if (arrival == NULL)
		return MHD_NO;
	arrival->server = server;
	*state = arrival;
	return MHD_YES;
}

static void take(struct arrival *arrival, const char *bytes, size_t length)
{
	struct receiver_server *server = arrival->server;

	if (arrival->is_too_large || arrival->is_too_much)
		return;
	if (arrival->body.length + length > GG_FLEET_BODY_MAX) {
		arrival->is_too_large = true;
		return;
	}
	if (server->body_bytes + length > BODIES_BYTES) {
		arrival->is_too_much = true;
		return;
	}
	gg_buf_append(&arrival->body, bytes, length);
	if (arrival->body.failed)
		arrival->is_too_much = true;
	else
		server->body_bytes += length;
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_bytes, void **state)
{
	struct receiver_server *server = context;
	struct arrival *arrival = *state;
	struct gg_receive_request request = {
		.method = method,
		.path = path,
		.authorization = header(connection, "Authorization"),
		.scope = header(connection, "X-Scope-OrgID"),
		.encoding = header(connection, "Content-Encoding"),
		.content_type = header(connection, "Content-Type"),
		.name = argument(connection, "name"),
		.format = argument(connection, "format"),
		.units = argument(connection, "units"),
	};
	struct gg_receive_answer answer = { 0 };

	(void)version;
	if (arrival == NULL)
		return begin(server, connection, &request, state);
	if (*upload_bytes > 0) {
		take(arrival, upload, *upload_bytes);
		*upload_bytes = 0;
		return MHD_YES;
	}
	if (arrival->is_too_large) {
		answer.status = 413;
	} else if (arrival->is_too_much) {
		answer.status = 503;
		answer.retry_after_s = CROWD_SECONDS;
	} else {
		request.body = arrival->body.data;
		request.length = arrival->body.length;
		gg_receive_request(&server->receive, &request, &answer);
	}
	return respond(connection, &answer);
}

static int serve_on(int fd, struct receiver_server *server, const struct gg_listen *listening,
                    struct gg_error *error)
{
	const struct gg_receive_options *options = server->receive.options;
	const struct sigaction on_stop = { .sa_handler = stop, .sa_flags = SA_RESETHAND };
	struct sigaction was_int, was_term;
	struct MHD_Daemon *daemon = gg_mhd.start_daemon(
		MHD_USE_AUTO, 0, NULL, NULL, handle, server, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MOST,
		MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)CONNECTIONS_OF_ADDRESS_MOST,
		MHD_OPTION_NOTIFY_CONNECTION, note_connection, server, MHD_OPTION_NOTIFY_COMPLETED,
		end_request, server, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENCE_SECONDS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_HEAD_BYTES, MHD_OPTION_END);
	pthread_t thread;
	char url[128];

	if (daemon == NULL) {
		close(fd);
		return gg_error_set(error, -EIO, "fleet receive", NULL,
		                    "the HTTP server does not start");
	}
	if (options->scrape != NULL) {
		const struct gg_scrape_plan plan = { .file = options->scrape,
			                             .slot_seconds = options->slot_seconds,
			                             .tell = options->tell,
			                             .context = options->context };
		int status = gg_scraper_new(&server->receive.scraper, &plan, error);

		if (status < 0) {
			gg_mhd.stop_daemon(daemon);
			return status;
		}
	}
	if (pthread_create(&thread, NULL, gg_receive_insert, &server->receive) != 0) {
		gg_mhd.stop_daemon(daemon);
		gg_scraper_free(server->receive.scraper);
		return gg_error_set(error, -EAGAIN, "fleet receive", NULL,
		                    "the thread does not start");
	}
	is_stopped = 0;
	sigaction(SIGINT, &on_stop, &was_int);
	sigaction(SIGTERM, &on_stop, &was_term);
	snprintf(url, sizeof(url), "fleet://%s:%u", listening->host, listening->port);
	if (options->announce != NULL)
		options->announce(url, options->context);
	while (!is_stopped) {
		gg_mhd.run_wait(daemon, LOOP_MS);
		end_slow_requests(server);
		gg_receive_scraped(&server->receive);
		gg_receive_send_signs(&server->receive);
	}
	gg_mhd.stop_daemon(daemon);
	gg_scraper_free(server->receive.scraper);
	server->receive.scraper = NULL;
	pthread_mutex_lock(&server->receive.mutex);
	server->receive.is_stopped = true;
	pthread_cond_signal(&server->receive.has_work);
	pthread_mutex_unlock(&server->receive.mutex);
	pthread_join(thread, NULL);
	sigaction(SIGINT, &was_int, NULL);
	sigaction(SIGTERM, &was_term, NULL);
	return 0;
}

const char *gg_receive_lacks(void)
{
	return NULL;
}

int gg_receive_run(const struct gg_receive_options *options, struct gg_error *error)
{
	struct receiver_server server = { 0 };
	struct gg_listen listening;
	int status, fd = -1;

	for (size_t i = 0; i < CONNECTIONS_MOST; i++)
		server.connections[i].fd = -1;
	status = gg_http_library_load("fleet receive", error);
	if (status < 0)
		return status;
	status = gg_receive_open(&server.receive, options, error);
	if (status == 0) {
		fd = gg_listen_open(options->listen, &listening, error);
		status = fd < 0 ? fd : 0;
	}
	if (status == 0 && options->tokens == NULL && !listening.is_loopback) {
		close(fd);
		status = gg_error_set(error, -EINVAL, "fleet receive: --listen",
		                      "Give --tokens FILE.",
		                      "other machines could send without a token");
	}
	if (status == 0)
		status = serve_on(fd, &server, &listening, error);
	gg_receive_close(&server.receive);
	return status;
}
