/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_response - the responses of a server that shows a fleet: its page, and JSON of its views.
 *
 * Errors of a view are JSON as well, with a place, a message and an advice, so that the page can
 * show them.
 *
 * Threads  One thread.
 */
#pragma once

#include "serve/exchange.h"

void gg_fleet_response(struct gg_serving *serving, const struct gg_request *request,
                       struct gg_response *answer);

/*
 * Writes the address of the page with all parameters of the request but the token, so that a link
 * with a token keeps its question.  False: it is too long.
 */
bool gg_fleet_response_location(const struct gg_request *request, char *location, size_t bytes);
