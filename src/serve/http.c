/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http - sockets, limits and headers, by libmicrohttpd.
 *
 * Limits  64 connections; 30 s of silence, after which the server closes a connection; 10 s
 *         until a request with the token, and 24 connections without one (connections.h); 32 KiB
 *         for the head of a request.  The server reads no bodies.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/time_units.h"
#include "page/page.h"
#include "serve/connections.h"
#include "serve/http_library.h"
#include "serve/listen.h"
#include "serve/response.h"
#include "serve/serve.h"

enum {
	IDLE_SECONDS = 30,
	MEMORY_BYTES = 32768,
	WAIT_MS = 500,
};

static volatile sig_atomic_t is_stopped;

static void stop(int number)
{
	(void)number;
	is_stopped = 1;
}

static const char *find_argument(const struct gg_request *request, const char *name)
{
	return gg_mhd.lookup_connection_value(request->context, MHD_GET_ARGUMENT_KIND, name);
}

/* The list that libmicrohttpd fills, one argument a call. */
struct parameter_list {
	struct gg_serve_parameter *list;
	size_t most;
	int count;
};

static enum MHD_Result add_parameter(void *context, enum MHD_ValueKind kind, const char *name,
                                     size_t name_bytes, const char *value, size_t value_bytes)
{
	struct parameter_list *found = context;

	(void)kind;
	if (strlen(name) != name_bytes || (value != NULL && strlen(value) != value_bytes)) {
		found->count = -EINVAL;
		return MHD_NO;
	}
	if ((size_t)found->count < found->most)
		found->list[found->count] = (struct gg_serve_parameter){ name, value != NULL ? value
			                                                                     : "" };
	found->count++;
	return MHD_YES;
}

static int list_parameters(const struct gg_request *request, struct gg_serve_parameter *list,
                           size_t most)
{
	struct parameter_list found = { list, most, 0 };

	gg_mhd.get_connection_values_n(request->context, MHD_GET_ARGUMENT_KIND, add_parameter,
	                               &found);
	return found.count;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
	return gg_mhd.lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

struct server {
	struct gg_serving serving;
	struct gg_connections connections;
};

/* libmicrohttpd calls this when it has accepted a connection and when it has ended one. */
static void notice(void *context, struct MHD_Connection *connection, void **state,
                   enum MHD_ConnectionNotificationCode what)
{
	struct server *server = context;
	const union MHD_ConnectionInfo *info;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		gg_connection_closed(*state);
		*state = NULL;
		return;
	}
	info = gg_mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	if (info != NULL)
		*state = gg_connections_open(&server->connections, info->connect_fd,
		                             (int64_t)gg_clock_monotonic_ns());
}

static void make_known(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = gg_mhd.get_connection_info(
		connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	if (info != NULL)
		gg_connection_known(info->socket_context);
}

static void add_headers(const struct gg_serving *serving, const struct gg_response *answer,
                        struct MHD_Response *response)
{
	static const char *const types[] = {
		[GG_RESPONSE_PAGE] = "text/html; charset=utf-8",
		[GG_RESPONSE_HTML] = "text/html; charset=utf-8",
		[GG_RESPONSE_JSON] = "application/json",
		[GG_RESPONSE_TEXT] = "text/plain; charset=utf-8",
		[GG_RESPONSE_METRICS] =
			"application/openmetrics-text; version=1.0.0; charset=utf-8",
		[GG_RESPONSE_FILE] = "application/octet-stream",
	};
	char text[1024];

	snprintf(text, sizeof(text), "%s; frame-ancestors 'none'",
	         gg_response_policy(serving, answer));
	gg_mhd.add_response_header(response, "Content-Security-Policy", text);
	gg_mhd.add_response_header(response, "Content-Type", types[answer->kind]);
	gg_mhd.add_response_header(response, "X-Content-Type-Options", "nosniff");
	gg_mhd.add_response_header(response, "X-Frame-Options", "DENY");
	gg_mhd.add_response_header(response, "Referrer-Policy", "no-referrer");
	gg_mhd.add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
	gg_mhd.add_response_header(response, "Cross-Origin-Opener-Policy", "same-origin");
	gg_mhd.add_response_header(response, "Cache-Control", "no-store");
	if (answer->is_gzip)
		gg_mhd.add_response_header(response, "Content-Encoding", "gzip");
	if (answer->tag[0] != '\0')
		gg_mhd.add_response_header(response, "ETag", answer->tag);
	if (answer->kind == GG_RESPONSE_JSON)
		gg_mhd.add_response_header(response, "Vary", "Accept-Encoding");
	if (answer->location[0] != '\0')
		gg_mhd.add_response_header(response, "Location", answer->location);
	if (answer->cookie[0] != '\0')
		gg_mhd.add_response_header(response, "Set-Cookie", answer->cookie);
	if (answer->status == 405)
		gg_mhd.add_response_header(response, "Allow", "GET, HEAD");
	if (answer->file_name[0] != '\0') {
		snprintf(text, sizeof(text), "attachment; filename=\"%s\"", answer->file_name);
		gg_mhd.add_response_header(response, "Content-Disposition", text);
	}
}

/*
 * libmicrohttpd calls this when the head of a request has arrived, and again when its body has.
 * The server answers GET and HEAD at the second call, so that the connection stays open for the
 * next request.  It answers other methods at the first call, which leaves their bodies unread.
 */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_bytes, void **state)
{
	struct server *server = context;
	struct gg_serving *serving = &server->serving;
	struct gg_request request = {
		.method = method,
		.path = path,
		.host = header(connection, "Host"),
		.cookies = header(connection, "Cookie"),
		.authorization = header(connection, "Authorization"),
		.if_none_match = header(connection, "If-None-Match"),
		.accept_encoding = header(connection, "Accept-Encoding"),
		.argument = find_argument,
		.parameters = list_parameters,
		.context = connection,
	};
	static char has_begun;
	struct gg_response answer;
	struct MHD_Response *response;
	enum MHD_Result result;

	(void)version;
	(void)upload;
	if (*state == NULL && (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)) {
		*state = &has_begun;
		return MHD_YES;
	}
	*upload_bytes = 0;
	gg_response_request(serving, &request, &answer);
	if (answer.is_trusted)
		make_known(connection);
	response = gg_mhd.create_response_from_buffer(answer.body.length, answer.body.data,
	                                              MHD_RESPMEM_MUST_COPY);
	if (response == NULL) {
		gg_buf_done(&answer.body);
		return MHD_NO;
	}
	add_headers(serving, &answer, response);
	result = gg_mhd.queue_response(connection, answer.status, response);
	gg_mhd.destroy_response(response);
	gg_buf_done(&answer.body);
	return result;
}

static void loop(struct MHD_Daemon *daemon, struct server *server)
{
	while (!is_stopped) {
		int64_t start_ns = (int64_t)gg_clock_monotonic_ns(), now_ns;

		gg_mhd.run_wait(daemon, WAIT_MS);
		now_ns = (int64_t)gg_clock_monotonic_ns();
		/*
		 * During a slow response, requests of other connections may have arrived.  The next
		 * round reads them before it judges how long they took.
		 */
		if (now_ns - start_ns < 2 * WAIT_MS * (int64_t)GG_NS_PER_MS)
			gg_connections_expire(&server->connections, now_ns);
		if (server->serving.library != NULL)
			gg_library_tick(server->serving.library);
	}
}

static int serve_on(int fd, struct server *server, const struct gg_serve_options *options,
                    const struct gg_listen *listening, struct gg_error *error)
{
	/* One signal stops after the current response; a second one has its default effect. */
	const struct sigaction on_stop = { .sa_handler = stop, .sa_flags = SA_RESETHAND };
	struct sigaction was_int, was_term;
	struct MHD_Daemon *daemon = gg_mhd.start_daemon(
		MHD_USE_AUTO, 0, NULL, NULL, handle, server, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)GG_CONNECTIONS_MOST,
		MHD_OPTION_NOTIFY_CONNECTION, notice, server, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_BYTES,
		MHD_OPTION_END);
	char url[256];

	if (daemon == NULL) {
		close(fd);
		return gg_error_set(error, -EIO, "serve", NULL, "the HTTP server does not start");
	}
	is_stopped = 0;
	sigaction(SIGINT, &on_stop, &was_int);
	sigaction(SIGTERM, &on_stop, &was_term);
	snprintf(url, sizeof(url), "http://%s:%u/?token=%s", listening->host, listening->port,
	         server->serving.access.token);
	if (options->announce != NULL)
		options->announce(url, !listening->is_loopback, options->context);
	loop(daemon, server);
	gg_mhd.stop_daemon(daemon);
	sigaction(SIGINT, &was_int, NULL);
	sigaction(SIGTERM, &was_term, NULL);
	return 0;
}

int gg_serve_run(const struct gg_serve_options *options, struct gg_error *error)
{
	struct server server = {
		.serving = { .confidence = options->confidence,
		             .fleet = options->fleet,
		             .pull = options->pull },
	};
	struct gg_listen listening;
	int fd = -1, status;

	status = gg_http_library_load("serve", error);
	if (status < 0)
		return status;
	if (options->fleet == NULL)
		status = gg_library_open(&server.serving.library, options, error);
	if (status == 0)
		status = gg_page_policy(options->fleet != NULL, &server.serving.policy, error);
	if (status == 0) {
		fd = gg_listen_open(options->listen, &listening, error);
		status = fd < 0 ? fd
		                : gg_access_init(&server.serving.access, listening.port, error);
	}
	if (status == 0 && options->pull && !listening.is_loopback)
		status = gg_error_set(error, -EINVAL, "serve: --pull",
		                      "Let scrapers on other machines send the token.",
		                      "other machines could read the profiles");
	if (status == 0)
		status = serve_on(fd, &server, options, &listening, error);
	else if (fd >= 0)
		close(fd);
	gg_buf_done(&server.serving.policy);
	gg_library_free(server.serving.library);
	return status;
}
