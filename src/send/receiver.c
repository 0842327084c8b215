/* SPDX-License-Identifier: Apache-2.0 */
#include "send/receiver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *scheme;
	enum gg_receiver_form form;
	const char *port, *path;
} schemes[] = {
	{ "", GG_RECEIVER_OTLP, "4318", "/v1development/profiles" },
	{ "otlp+", GG_RECEIVER_OTLP, "4318", "/v1development/profiles" },
	{ "pyroscope+", GG_RECEIVER_PYROSCOPE_INGEST, "4040", "/ingest" },
	{ "pyroscope-push+", GG_RECEIVER_PYROSCOPE_PUSH, "4040", "/push.v1.PusherService/Push" },
	{ "parca+", GG_RECEIVER_PARCA, "7070", "/api/profiles/writeraw" },
	{ "pprof+", GG_RECEIVER_PPROF, "80", "/" },
	{ "fleet+", GG_RECEIVER_FLEET, "7117", "" },
};
static const char fleet_scheme[] = "fleet://", fleet_path[] = "/v1/fleet/slot";

static const char advice[] = "Give one such as http://localhost:4318; see 'geiger send --help'.";

static int refuse(const char *why, struct gg_error *error)
{
	return gg_error_set(error, -EINVAL, "the receiver's URL", advice, "%s", why);
}

/* Copies text[0..length) if it fits and has nothing that could end a line of a request. */
static bool copy(char *to, size_t size, const char *text, size_t length)
{
	if (length >= size)
		return false;
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] <= ' ' || text[i] == 0x7f)
			return false;
	memcpy(to, text, length);
	to[length] = '\0';
	return true;
}

/* Finds the scheme and returns what follows "://"; NULL: unknown. */
static const char *take_scheme(const char *url, size_t *ret_index, bool *ret_is_secure)
{
	if (strncmp(url, fleet_scheme, strlen(fleet_scheme)) == 0) {
		*ret_index = GG_COUNT(schemes) - 1;
		*ret_is_secure = false;
		return url + strlen(fleet_scheme);
	}
	for (size_t i = 0; i < GG_COUNT(schemes); i++) {
		size_t length = strlen(schemes[i].scheme);

		if (strncmp(url, schemes[i].scheme, length) != 0)
			continue;
		*ret_index = i;
		*ret_is_secure = strncmp(url + length, "https://", 8) == 0;
		if (*ret_is_secure)
			return url + length + 8;
		if (strncmp(url + length, "http://", 7) == 0)
			return url + length + 7;
	}
	return NULL;
}

/* Splits HOST, HOST:PORT, [ADDRESS] or [ADDRESS]:PORT. */
static bool take_host(struct gg_receiver *receiver, const char *at, size_t length)
{
	const char *end = at + length, *host = at, *host_end, *colon;

	if (length > 0 && at[0] == '[') {
		host++;
		host_end = memchr(at, ']', length);
		if (host_end == NULL)
			return false;
		colon = host_end + 1;
	} else {
		colon = memchr(at, ':', length);
		host_end = colon != NULL ? colon : end;
		colon = host_end;
	}
	if (host_end == host ||
	    !copy(receiver->host, sizeof(receiver->host), host, (size_t)(host_end - host)))
		return false;
	if (colon == end)
		return true;
	if (*colon != ':' ||
	    !copy(receiver->port, sizeof(receiver->port), colon + 1, (size_t)(end - colon - 1)))
		return false;
	return strspn(receiver->port, "0123456789") == strlen(receiver->port) &&
	       atoi(receiver->port) > 0 && atoi(receiver->port) < 65536;
}

/* The paths of a fleet's receiver follow that of a proxy before it. */
static bool append_fleet_path(struct gg_receiver *receiver)
{
	size_t length = strlen(receiver->path);

	while (length > 0 && receiver->path[length - 1] == '/')
		length--;
	if (strcspn(receiver->path, "?") < length ||
	    length + sizeof(fleet_path) > sizeof(receiver->path))
		return false;
	memcpy(receiver->path + length, fleet_path, sizeof(fleet_path));
	return true;
}

int gg_receiver_parse(struct gg_receiver *ret_receiver, const char *url, struct gg_error *error)
{
	struct gg_receiver receiver = { 0 };
	size_t index = 0, length;
	const char *at = take_scheme(url, &index, &receiver.is_secure), *path;

	if (at == NULL)
		return refuse("it begins with no known scheme", error);
	receiver.form = schemes[index].form;
	length = strcspn(at, "/?#");
	path = at + length;
	if (memchr(at, '@', length) != NULL)
		return gg_error_set(error, -EINVAL, "the receiver's URL",
		                    "Put an Authorization header into a file: --headers FILE.",
		                    "it has a password, which others can read");
	strcpy(receiver.port, receiver.is_secure ? "443" : schemes[index].port);
	if (!take_host(&receiver, at, length))
		return refuse("it has no valid host and port", error);
	if (path[0] == '\0' || strcmp(path, "/") == 0)
		path = receiver.form == GG_RECEIVER_FLEET ? "/" : schemes[index].path;
	if (path[0] != '/' || strchr(path, '#') != NULL ||
	    !copy(receiver.path, sizeof(receiver.path), path, strlen(path)) ||
	    (receiver.form == GG_RECEIVER_FLEET && !append_fleet_path(&receiver)))
		return refuse("it has no valid path", error);
	*ret_receiver = receiver;
	return 0;
}

void gg_receiver_address(const struct gg_receiver *receiver, char *ret_text, size_t capacity)
{
	bool has_brackets = strchr(receiver->host, ':') != NULL; /* IPv6 */

	snprintf(ret_text, capacity, "http%s://%s%s%s:%s%.*s", receiver->is_secure ? "s" : "",
	         has_brackets ? "[" : "", receiver->host, has_brackets ? "]" : "", receiver->port,
	         (int)strcspn(receiver->path, "?"), receiver->path);
}
