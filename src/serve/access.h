/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access - decides which requests the server answers: those with the token and with a host name
 * of this server.
 *
 * The announced URL contains the token.  The first response to a browser moves the token into a
 * cookie, because browser histories and other pages can read it in a URL.  Programs send it as
 * "Authorization: Bearer TOKEN".
 *
 * A web page can make its own host name resolve to 127.0.0.1 and then send requests with the rights
 * of its own origin (DNS rebinding).  It cannot turn its name into an address.  Therefore the Host
 * header must be an address or "localhost", with the port of this server.
 *
 * Threads  All functions are pure once gg_access_init() has returned.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"

enum { GG_ACCESS_TOKEN_BYTES = 32, GG_ACCESS_TOKEN_TEXT = 2 * GG_ACCESS_TOKEN_BYTES + 1 };

struct gg_access {
	char token[GG_ACCESS_TOKEN_TEXT];
	char cookie
		[24]; /* name of the cookie; it has the port, since ports of a host share cookies */
	uint16_t port;
};

/* Draws a new token.  Fails with the errors of getrandom(). */
GG_MUST_CHECK int gg_access_init(struct gg_access *access, uint16_t port, struct gg_error *error);

/* True if `given` is the token.  The time does not depend on `given`; NULL is not the token. */
bool gg_access_knows(const struct gg_access *access, const char *given);

/* True if the header has the token: "a=b; geiger_PORT=TOKEN" or "Bearer TOKEN".  NULL: false. */
bool gg_access_knows_cookie(const struct gg_access *access, const char *cookies);
bool gg_access_knows_bearer(const struct gg_access *access, const char *authorization);

/* True for an address or "localhost" with the port of this server (port 80 may be left out). */
bool gg_access_is_our_host(const struct gg_access *access, const char *host);
