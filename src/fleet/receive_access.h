/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receive_access - finds the tenant of a request by its token.
 *
 *   status = gg_receive_access_read(&access, "/etc/geiger/tokens", error);
 *   status = gg_receive_access_tenant(&access, authorization, wanted, tenant);    200, 401 or 403
 *   gg_receive_access_done(&access);
 *
 * File      a line for each token: "TOKEN TENANT", or "TOKEN *" for a proxy that names the tenant
 *           of each request by X-Scope-OrgID.  "#" begins a comment.  A token has 16 to 200
 *           characters.  The file must not be readable by everybody.
 * Requests  "Authorization: Bearer TOKEN", or Basic with the token as password.  The user name of
 *           Basic is the tenant for a token that may name tenants, and otherwise must be the
 *           token's own tenant or empty.
 * Tenants   A tenant is a database of the store: letters, digits and "_", at most 63 of them.
 * No file   All requests belong to the tenant "default"; the receiver then listens on loopback
 *           alone.
 * Time      of a comparison does not depend on the given token.
 * Threads   any, once it is read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/array.h"
#include "base/compiler.h"
#include "base/error.h"
#include "fleet/segment.h"

enum { GG_RECEIVE_TOKEN_LEAST = 16, GG_RECEIVE_TOKEN_MAX = 200 };

struct gg_receive_token {
	char token[GG_RECEIVE_TOKEN_MAX + 1]; /* zeroes behind its end */
	char tenant[GG_SEGMENT_TENANT_MAX];   /* "": each request names one */
};

/* All-zero: no tokens. */
struct gg_receive_access {
	GG_ARRAY(struct gg_receive_token) tokens;
};

GG_MUST_CHECK int gg_receive_access_read(struct gg_receive_access *ret_access, const char *path,
                                         struct gg_error *error);
/* The same from a text, which the function changes. */
GG_MUST_CHECK int gg_receive_access_parse(struct gg_receive_access *ret_access, char *text,
                                          const char *name, struct gg_error *error);
void gg_receive_access_done(struct gg_receive_access *access);

/* NULL: the header is missing.  Returns 200 with *tenant filled, 401, or 403. */
int gg_receive_access_tenant(const struct gg_receive_access *access, const char *authorization,
                             const char *wanted, char tenant[GG_SEGMENT_TENANT_MAX]);

bool gg_receive_is_tenant(const char *name);
