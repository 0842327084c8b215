/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access - who may ask: whoever has the token, by a name that is ours.
 *
 * The token stands in the address that is announced; the first answer to a browser puts it into a cookie and
 * takes it out of the address, where histories and other pages would see it.  Programs send it as
 * "Authorization: Bearer TOKEN".
 *
 * A web page may make its own host name mean 127.0.0.1 and then ask us with the rights of its own origin;
 * it cannot make its name an address.  So Host must be an address or "localhost", with our port.
 *
 * Threads  pure, once it is made.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"

enum { GG_ACCESS_TOKEN_BYTES = 32, GG_ACCESS_TOKEN_TEXT = 2 * GG_ACCESS_TOKEN_BYTES + 1 };

struct gg_access {
	char token[GG_ACCESS_TOKEN_TEXT];
	char cookie[24]; /* its name: cookies are shared by all ports of a host */
	uint16_t port;
};

/* A new token.  As getrandom() fails. */
GG_MUST_CHECK int gg_access_init(struct gg_access *guard, uint16_t port, struct gg_error *error);

/* Is it the token?  Takes as long for a wrong one as for the right one; NULL is wrong. */
bool gg_access_knows(const struct gg_access *guard, const char *given);

/* Is it in "a=b; geiger_PORT=TOKEN", or in "Bearer TOKEN"?  NULL: no. */
bool gg_access_knows_cookie(const struct gg_access *guard, const char *cookies);
bool gg_access_knows_bearer(const struct gg_access *guard, const char *authorization);

/* Is it an address or "localhost", with our port (without one if that is 80)?  NULL: no. */
bool gg_access_is_our_host(const struct gg_access *guard, const char *host);
