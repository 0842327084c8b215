/* SPDX-License-Identifier: Apache-2.0 */
/* listen - where the server is asked: an address and a port, on loopback unless told otherwise. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"

struct gg_listen {
	char host[64]; /* as it stands in an address: "127.0.0.1", "[::1]" */
	uint16_t port; /* that it got */
	bool is_loopback;
};

/*
 * A listening socket, the caller's to close.  text: "ADDRESS:PORT", "[ADDRESS]:PORT", "ADDRESS" or "PORT"; port 0
 * is any that is free; NULL is 127.0.0.1:0.  -EINVAL: not an address; -EADDRINUSE.
 */
GG_MUST_CHECK int gg_listen_open(const char *text, struct gg_listen *ret_listen,
                                 struct gg_error *error);
