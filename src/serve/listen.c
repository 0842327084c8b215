/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union address {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
};

static int refuse(const char *text, struct gg_error *error)
{
	return gg_error_set(error, -EINVAL, "--listen",
	                    "Give an address and a port such as 127.0.0.1:8080.",
	                    "'%.100s' is not an address", text);
}

/* Parses `text` as a port; nothing may follow the number. */
static bool parse_port(const char *text, uint16_t *ret_port)
{
	char *end;
	unsigned long port;

	if (text[0] < '0' || text[0] > '9')
		return false;
	port = strtoul(text, &end, 10);
	*ret_port = (uint16_t)port;
	return *end == '\0' && port <= UINT16_MAX;
}

static int parse(const char *text, union address *address, socklen_t *length,
                 struct gg_error *error)
{
	char host[64] = "127.0.0.1";
	const char *port_text = NULL;
	uint16_t port = 0;

	*address = (union address){ 0 };
	if (text != NULL && text[0] == '[') {
		const char *end = strchr(text, ']');

		if (end == NULL || (end[1] != '\0' && end[1] != ':'))
			return refuse(text, error);
		snprintf(host, sizeof(host), "%.*s", (int)(end - text - 1), text + 1);
		port_text = end[1] == ':' ? end + 2 : NULL;
	} else if (text != NULL && strchr(text, ':') != NULL) {
		snprintf(host, sizeof(host), "%.*s", (int)strcspn(text, ":"), text);
		port_text = strchr(text, ':') + 1;
	} else if (text != NULL && strchr(text, '.') != NULL) {
		snprintf(host, sizeof(host), "%s", text);
	} else {
		port_text = text;
	}
	if (port_text != NULL && !parse_port(port_text, &port))
		return refuse(text, error);
	if (strcmp(host, "localhost") == 0)
		snprintf(host, sizeof(host), "127.0.0.1");
	if (inet_pton(AF_INET, host, &address->four.sin_addr) == 1) {
		address->four.sin_family = AF_INET;
		address->four.sin_port = htons(port);
		*length = sizeof(address->four);
	} else if (inet_pton(AF_INET6, host, &address->six.sin6_addr) == 1) {
		address->six.sin6_family = AF_INET6;
		address->six.sin6_port = htons(port);
		*length = sizeof(address->six);
	} else {
		return refuse(text, error);
	}
	return 0;
}

/* Reads back the address of the socket, with the port that the kernel assigned. */
static void describe(int fd, struct gg_listen *listening)
{
	union address address = { 0 };
	socklen_t length = sizeof(address);
	char host[INET6_ADDRSTRLEN] = "";

	getsockname(fd, &address.any, &length);
	if (address.any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &address.six.sin6_addr, host, sizeof(host));
		snprintf(listening->host, sizeof(listening->host), "[%s]", host);
		listening->port = ntohs(address.six.sin6_port);
		listening->is_loopback = IN6_IS_ADDR_LOOPBACK(&address.six.sin6_addr);
		return;
	}
	inet_ntop(AF_INET, &address.four.sin_addr, host, sizeof(host));
	snprintf(listening->host, sizeof(listening->host), "%s", host);
	listening->port = ntohs(address.four.sin_port);
	listening->is_loopback = ntohl(address.four.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

int gg_listen_open(const char *text, struct gg_listen *ret_listen, struct gg_error *error)
{
	union address address;
	socklen_t length = 0;
	int status = parse(text, &address, &length, error), fd, one = 1;

	if (status < 0)
		return status;
	fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return gg_error_set_errno(error, errno, "serve", NULL);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, &address.any, length) < 0 || listen(fd, 64) < 0) {
		status = errno;
		close(fd);
		gg_error_set_errno(error, status, NULL,
		                   status == EADDRINUSE
		                           ? "Give another port, or none: any that is free."
		                           : NULL);
		gg_error_set_place(error, "serve: %.100s", text != NULL ? text : "127.0.0.1");
		return -status;
	}
	describe(fd, ret_listen);
	return fd;
}
