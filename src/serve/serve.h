/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve - shows a profile, a folder of profiles, a running process, or a fleet over HTTP, to one
 * person (docs/reference/HTTP_API.md).
 *
 *   struct gg_serve_options options = { .path = "redis.geiger", .announce = print_url };
 *
 *   return gg_serve_run(&options, error);            until SIGINT or SIGTERM
 *
 * Access   A request needs the token: 256 random bits in the announced URL.  The server listens on
 *          loopback unless the user names an address, and accepts no host name but "localhost" and
 *          addresses, so that no web page can rebind its own name to this server.  With `pull`,
 *          scrapers on this machine need no token for profiles and metrics.
 * Effects  The server only reads.  No request changes anything on this machine.
 * Threads  One.  It answers one request after the other, and reads the region of a running process
 *          once a second in between.  Each request about a fleet has a connection to the store of
 *          its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/progress.h"

/* A parameter of a query string, decoded.  A parameter without '=' has the value "". */
struct gg_serve_parameter {
	const char *name, *value;
};

/* Answers questions about a fleet.  The caller has it, because this layer knows no store. */
struct gg_serve_fleet {
	/*
	 * Appends the JSON of a view such as "report".  Nothing is kept between two calls.
	 * -EINVAL: a wrong parameter; -ENOENT: no such view, service, version, or host; -ENODATA
	 * and -ENOTSUP: the store has no answer to this question; any other error: the store
	 * failed.
	 */
	int (*answer)(const char *view, const struct gg_serve_parameter *parameters, size_t count,
	              void *context, struct gg_buf *out, struct gg_error *error);
	void *context;
};

struct gg_serve_options {
	const char *path;    /* a profile, a region, or a folder; NULL: `process` or `fleet` */
	const char *process; /* a pid, or the path of a region; NULL: `path` or `fleet` */
	const struct gg_serve_fleet *fleet; /* NULL: `path` or `process` */
	const char *listen; /* "ADDRESS:PORT", "PORT", "ADDRESS"; NULL: loopback, any port */
	double confidence;
	bool with_source;        /* pages of files have source lines (page.h) */
	const char *source_path; /* FROM=TO, or NULL */
	bool pull;               /* /debug/pprof/... and /metrics need no token; loopback alone */
	/* Receives the URL when the server is ready; is_public: other machines can reach it. */
	void (*announce)(const char *url, bool is_public, void *context);
	void *context;
	const struct gg_progress *progress; /* of reading and computing; NULL: nobody */
};

/*
 * Returns when SIGINT or SIGTERM arrives.  -EINVAL: not an address, or `pull` beyond loopback;
 * -EADDRINUSE: the port is taken; -ENOTSUP: built without libmicrohttpd; or the errors of
 * gg_library_open().
 */
GG_MUST_CHECK int gg_serve_run(const struct gg_serve_options *options, struct gg_error *error);
