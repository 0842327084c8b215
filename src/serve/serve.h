/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve - the page over HTTP, for one person: a profile, a folder of them, or a process that runs
 * (docs/HTTP_API.md).
 *
 *   struct gg_serve_options options = { .path = "redis.geiger", .announce = print_url };
 *
 *   return gg_serve_run(&options, error);            until SIGINT or SIGTERM
 *
 * Who may ask   whoever knows the token: 256 random bits in the address that is announced.  It listens on
 *               loopback unless told otherwise, and answers to no other name than an address or
 *               "localhost" (so that no page of the web can rebind its own name to us).
 * What it does  it reads; nothing that is asked changes anything on this machine.
 * Threads       one: requests are answered one after the other, and between them the process that runs
 *               is looked at, once a second.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/error.h"

struct gg_serve_options {
	const char *path;    /* a profile, a region, or a folder; NULL: `process` */
	const char *process; /* a pid, or the path of a region; NULL: `path` */
	const char *listen;  /* "ADDRESS:PORT", "PORT", "ADDRESS"; NULL: loopback, any port */
	double confidence;
	/* Told the address to open, once it can be asked; is_public: not of this machine alone. */
	void (*announce)(const char *url, bool is_public, void *context);
	void *context;
};

/* -EINVAL: not an address; -EADDRINUSE; -ENOTSUP: built without libmicrohttpd; as profiles fail. */
GG_MUST_CHECK int gg_serve_run(const struct gg_serve_options *options, struct gg_error *error);
