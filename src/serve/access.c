/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/access.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

int gg_access_init(struct gg_access *access, uint16_t port, struct gg_error *error)
{
	unsigned char bytes[GG_ACCESS_TOKEN_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return gg_error_set_errno(error, errno, "serve: token", NULL);
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(access->token + 2 * i, 3, "%02x", bytes[i]);
	snprintf(access->cookie, sizeof(access->cookie), "geiger_%u", port);
	access->port = port;
	return 0;
}

/* Compares every byte of the token, so that the time tells nothing about a wrong one. */
static bool knows(const struct gg_access *access, const char *given, size_t length)
{
	unsigned different = length != GG_ACCESS_TOKEN_TEXT - 1;

	for (size_t i = 0; i < GG_ACCESS_TOKEN_TEXT - 1; i++)
		different |= (unsigned char)access->token[i] ^
		             (unsigned char)(i < length ? given[i] : 0);
	return different == 0;
}

bool gg_access_knows(const struct gg_access *access, const char *given)
{
	return given != NULL && knows(access, given, strlen(given));
}

bool gg_access_knows_cookie(const struct gg_access *access, const char *cookies)
{
	size_t name_length = strlen(access->cookie);
	bool is_known = false;

	while (cookies != NULL && *cookies != '\0') {
		size_t length;

		cookies += strspn(cookies, "; ");
		length = strcspn(cookies, ";");
		if (length > name_length && cookies[name_length] == '=' &&
		    memcmp(cookies, access->cookie, name_length) == 0)
			is_known |= knows(access, cookies + name_length + 1,
			                  length - name_length - 1);
		cookies += length;
	}
	return is_known;
}

bool gg_access_knows_bearer(const struct gg_access *access, const char *authorization)
{
	static const char scheme[] = "Bearer ";
	size_t length = strlen(scheme);

	return authorization != NULL && strncasecmp(authorization, scheme, length) == 0 &&
	       gg_access_knows(access, authorization + length);
}

/* `text` follows the name: ":8080", or nothing if the port is 80. */
static bool is_our_port(const struct gg_access *access, const char *text)
{
	char *end;
	unsigned long port;

	if (*text == '\0')
		return access->port == 80;
	if (text[0] != ':' || text[1] < '0' || text[1] > '9')
		return false;
	port = strtoul(text + 1, &end, 10);
	return *end == '\0' && port == access->port;
}

bool gg_access_is_our_host(const struct gg_access *access, const char *host)
{
	struct in6_addr address;
	char name[64];
	const char *from = host, *end;
	bool is_bracketed = host != NULL && host[0] == '[';

	if (host == NULL)
		return false;
	from += is_bracketed;
	end = from + strcspn(from, is_bracketed ? "]" : ":");
	if ((size_t)(end - from) >= sizeof(name) || (is_bracketed && *end != ']'))
		return false;
	memcpy(name, from, (size_t)(end - from));
	name[end - from] = '\0';
	if (!is_our_port(access, end + is_bracketed))
		return false;
	if (is_bracketed)
		return inet_pton(AF_INET6, name, &address) == 1;
	return strcasecmp(name, "localhost") == 0 || inet_pton(AF_INET, name, &address) == 1;
}
