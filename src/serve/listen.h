/* SPDX-License-Identifier: Apache-2.0 */
/* listen - the listening socket of the server: on loopback unless the user names an address. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"

struct gg_listen {
	char host[64]; /* as in a URL: "127.0.0.1", "[::1]" */
	uint16_t port; /* the port that the kernel assigned */
	bool is_loopback;
};

/*
 * Opens a listening socket, which the caller closes, and returns its descriptor.  text:
 * "ADDRESS:PORT", "[ADDRESS]:PORT", "ADDRESS", or "PORT"; port 0 is any free port; NULL means
 * 127.0.0.1:0.
 * -EINVAL: not an address; -EADDRINUSE: the port is taken.
 */
GG_MUST_CHECK int gg_listen_open(const char *text, struct gg_listen *ret_listen,
                                 struct gg_error *error);
