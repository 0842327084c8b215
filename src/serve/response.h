/* SPDX-License-Identifier: Apache-2.0 */
/*
 * response - makes the response to a request, without sockets.  docs/reference/HTTP_API.md lists
 * the paths.
 *
 * Text from a profile reaches a browser as JSON, or with & < > " ' replaced.  The content security
 * policy of every response forbids scripts other than the page's own.
 *
 * Threads  One thread.
 */
#pragma once

#include "serve/exchange.h"

/* Always makes a response, which can be an error.  The caller frees the body: gg_buf_done(). */
void gg_response_request(struct gg_serving *serving, const struct gg_request *request,
                         struct gg_response *answer);

/* The content security policy of a response: the page's own, or one without scripts. */
const char *gg_response_policy(const struct gg_serving *serving, const struct gg_response *answer);
