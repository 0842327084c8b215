/* SPDX-License-Identifier: Apache-2.0 */
#include "send/http_get.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "send/http_connection.h"

enum { HOST_MAX = 256, PORT_MAX = 8, HEAD_MAX = 64 << 10, GET_RECEIVE_BYTES = 65536 };
enum { ASKED_SECONDS_MAX = 24 * 60 * 60 };

static const char scheme[] = "http://", secure_scheme[] = "https://";

struct location {
	char host[HOST_MAX], port[PORT_MAX]; /* the host without brackets */
	const char *authority;               /* as in the URL */
	size_t authority_length;
	const char *target; /* path and query; "": the root */
};

static bool begins_with(const char *text, const char *beginning)
{
	return strncasecmp(text, beginning, strlen(beginning)) == 0;
}

bool gg_http_is_url(const char *text)
{
	return begins_with(text, scheme) || begins_with(text, secure_scheme);
}

double gg_http_asked_seconds(const char *url)
{
	static const char name[] = "seconds=";
	const char *at = strchr(url, '?');

	for (; at != NULL; at = strchr(at, '&')) {
		const char *value = ++at + strlen(name);
		double seconds;

		if (strncmp(at, name, strlen(name)) != 0 || *value < '0' || *value > '9')
			continue;
		seconds = strtod(value, NULL);
		return seconds < ASKED_SECONDS_MAX ? seconds : ASKED_SECONDS_MAX;
	}
	return 0;
}

/* Copies a part of the URL; false: it is empty or too long. */
static bool copy_part(char *into, size_t size, const char *from, const char *end)
{
	size_t length = (size_t)(end - from);

	if (length == 0 || length >= size)
		return false;
	memcpy(into, from, length);
	into[length] = '\0';
	return true;
}

/* False: the URL has a form that no request can have. */
static bool split(const char *url, struct location *ret)
{
	const char *at = url + strlen(scheme), *end = at + strcspn(at, "/?#"), *host_end, *port;

	for (const char *c = url; *c != '\0'; c++)
		if ((unsigned char)*c <= ' ' || *c == 0x7f || *c == '#')
			return false;
	ret->authority = at;
	ret->authority_length = (size_t)(end - at);
	ret->target = end;
	if (memchr(at, '@', ret->authority_length) != NULL)
		return false;
	if (*at == '[') {
		host_end = memchr(at, ']', ret->authority_length);
		if (host_end == NULL || !copy_part(ret->host, HOST_MAX, at + 1, host_end))
			return false;
		port = host_end + 1;
	} else {
		host_end = memchr(at, ':', ret->authority_length);
		host_end = host_end != NULL ? host_end : end;
		if (!copy_part(ret->host, HOST_MAX, at, host_end))
			return false;
		port = host_end;
	}
	if (port == end)
		return copy_part(ret->port, PORT_MAX, "80", strchr("80", '\0'));
	if (*port != ':' || !copy_part(ret->port, PORT_MAX, port + 1, end))
		return false;
	return strspn(ret->port, "0123456789") == strlen(ret->port);
}

static int ask(const struct gg_http_connection *connection, const struct location *location)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf head = { 0 };

	gg_buf_printf(&head,
	              "GET %s%s HTTP/1.0\r\nHost: %.*s\r\nUser-Agent: geiger/%s\r\n"
	              "Connection: close\r\n\r\n",
	              location->target[0] == '/' ? "" : "/", location->target,
	              (int)location->authority_length, location->authority, GG_VERSION);
	if (head.failed)
		return -ENOMEM;
	return gg_http_write(connection, head.data, head.length, false) ? 0 : -ECONNREFUSED;
}

/* Reads all that the server sends, until it closes the connection. */
static int receive(const struct gg_http_connection *connection, size_t most, struct gg_buf *reply)
{
	for (;;) {
		char bytes[GET_RECEIVE_BYTES];
		ssize_t count = recv(connection->fd, bytes, sizeof(bytes), 0);

		if (count == 0)
			return 0;
		if (count > 0) {
			gg_buf_append(reply, bytes, (size_t)count);
			if (reply->failed)
				return -ENOMEM;
			if (reply->length > most)
				return -EFBIG;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN) {
			gg_http_fail(connection, "reply", errno);
			return -ECONNREFUSED;
		}
		if (!gg_http_wait(connection, POLLIN, connection->deadline_ns)) {
			gg_http_fail(connection, "reply", 0);
			return -ECONNREFUSED;
		}
	}
}

/* Returns the value of a header up to the end of the head, or NULL if the header is missing. */
static const char *header_of(const char *head, const char *name)
{
	size_t length = strlen(name);

	for (const char *line = strchr(head, '\n'); line != NULL; line = strchr(line, '\n')) {
		line++;
		if (strncasecmp(line, name, length) == 0 && line[length] == ':')
			return line + length + 1 + strspn(line + length + 1, " \t");
	}
	return NULL;
}

/* Takes the head off the reply, whose text ends in a 0 byte. */
static int take_head(struct gg_buf *reply, const char *url, struct gg_buf *body,
                     struct gg_error *error)
{
	char *text = reply->data, *end = NULL;
	size_t head_length;
	const char *value;
	int status = 0;

	if (reply->length > 0)
		end = memmem(text, reply->length < HEAD_MAX ? reply->length : HEAD_MAX, "\r\n\r\n",
		             4);
	if (end == NULL || sscanf(text, "HTTP/1.%*1[01] %3d", &status) != 1)
		return gg_error_set(error, -EBADMSG, url, NULL, "the answer is no HTTP");
	*end = '\0';
	head_length = (size_t)(end - text) + 4;
	if (status != 200)
		return gg_error_set(error, -EBADMSG, url, "The path may be another one.",
		                    "the server answers with status %d", status);
	if (header_of(text, "Transfer-Encoding") != NULL)
		return gg_error_set(error, -EBADMSG, url, NULL,
		                    "the server answers in chunks, which HTTP/1.0 does not have");
	value = header_of(text, "Content-Length");
	if (value != NULL && strtoull(value, NULL, 10) != reply->length - head_length)
		return gg_error_set(error, -EBADMSG, url, NULL, "the answer is cut");
	gg_buf_append(body, text + head_length, reply->length - head_length);
	return body->failed ? gg_error_memory(error, url) : 0;
}

int gg_http_get(const char *url, size_t most, double timeout_seconds, struct gg_buf *body,
                struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf reply = { 0 };
	char why[GG_HTTP_WHY_MAX];
	struct gg_http_connection connection = gg_http_connection_of(
		timeout_seconds + gg_http_asked_seconds(url), why);
	struct location location;
	int status = -ECONNREFUSED;

	if (begins_with(url, secure_scheme))
		return gg_error_set(error, -EINVAL, url, "curl URL | geiger import -",
		                    "only http is fetched");
	if (!begins_with(url, scheme) || !split(url, &location))
		return gg_error_set(error, -EINVAL, url,
		                    "Its form is http://HOST:PORT/debug/pprof/heap.",
		                    "the URL is malformed");
	if (gg_http_open(&connection, location.host, location.port)) {
		status = ask(&connection, &location);
		if (status == 0)
			status = receive(&connection, most, &reply);
		close(connection.fd);
	}
	if (status == -ENOMEM)
		return gg_error_memory(error, url);
	if (status == -EFBIG)
		return gg_error_set(error, -EFBIG, url, NULL, "the answer has more than %zu bytes",
		                    most);
	if (status < 0)
		return gg_error_set(error, status, url, NULL, "%s", why);
	gg_buf_text(&reply); /* ends it with a 0 byte */
	return take_head(&reply, url, body, error);
}
