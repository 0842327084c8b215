/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange - a request, its response, and what the server has to make it, without sockets.
 *
 * Threads  One thread.
 */
#pragma once

#include "base/buf.h"
#include "serve/access.h"
#include "serve/library.h"
#include "serve/serve.h"

/* A PAGE has scripts and its own policy; HTML has neither. */
enum gg_response_kind {
	GG_RESPONSE_PAGE,
	GG_RESPONSE_HTML,
	GG_RESPONSE_JSON,
	GG_RESPONSE_TEXT,
	GG_RESPONSE_METRICS, /* OpenMetrics */
	GG_RESPONSE_FILE
};

/* The texts are valid while the server makes the response.  NULL: the header is missing. */
struct gg_request {
	const char *method, *path;
	const char *host, *cookies, *authorization, *if_none_match, *accept_encoding;
	/* The value of an argument in the query string; NULL: absent. */
	const char *(*argument)(const struct gg_request *request, const char *name);
	/*
	 * Lists the arguments of the query string, at most `most` of them.  Returns how many there
	 * are, which may be more; -EINVAL: one of them contains a 0 byte.
	 */
	int (*parameters)(const struct gg_request *request, struct gg_serve_parameter *list,
	                  size_t most);
	void *context;
};

struct gg_response {
	unsigned status;
	enum gg_response_kind kind;
	struct gg_buf body;
	bool is_gzip;
	char tag[24];        /* ETag; "": none */
	char location[512];  /* target of a redirection */
	char cookie[160];    /* the cookie that the browser stores */
	char file_name[160]; /* the name under which the browser saves the file */
	bool is_trusted;     /* the request had the token, or needed none */
};

struct gg_serving {
	struct gg_access access;
	struct gg_library *library;         /* NULL: `fleet` */
	const struct gg_serve_fleet *fleet; /* NULL: `library` */
	struct gg_buf policy;               /* of the page */
	double confidence;
	bool pull; /* profiles and metrics for scrapers need no token */
};

/* Makes a response that is a line of text. */
void gg_response_fail(struct gg_response *answer, unsigned status, const char *text);
