/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_page - answers the page of `geiger serve --fleet` with what the verbs print by --json.
 *
 * The parameters of a question become a command line, which the parser of options checks as it
 * checks that of a user.  So a number on the page is the number that the command shows, and a wrong
 * value gets the command's own error.  The parameters that a view knows are listed: those that name
 * a store, or form text, are not among them.
 *
 * Each call has options and a connection of its own.
 */
#pragma once

#include "cli/fleet/fleet_verbs.h"
#include "serve/serve.h"

struct gg_fleet_page {
	struct gg_fleet_place place; /* the store is not NULL */
	double confidence;           /* of questions that do not name one */
};

/* gg_serve_fleet.answer; the context is a struct gg_fleet_page. */
int gg_cli_fleet_page_answer(const char *view, const struct gg_serve_parameter *parameters,
                             size_t count, void *context, struct gg_buf *out,
                             struct gg_error *error);
