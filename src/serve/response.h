/* SPDX-License-Identifier: Apache-2.0 */
/*
 * response - what is asked for, and the answer to it; knows nothing of sockets.  docs/HTTP_API.md lists the
 * addresses.
 *
 * Whatever a profile says reaches a browser as JSON, or as text with & < > " ' replaced; the content
 * security policy of every answer forbids scripts that are not the page's own.
 *
 * Threads  one.
 */
#pragma once

#include "base/buf.h"
#include "serve/access.h"
#include "serve/library.h"

/* PAGE has scripts and a policy of its own; HTML has none. */
enum gg_response_kind {
	GG_RESPONSE_PAGE,
	GG_RESPONSE_HTML,
	GG_RESPONSE_JSON,
	GG_RESPONSE_TEXT,
	GG_RESPONSE_FILE
};

/* Texts are valid while it is answered; NULL: not given. */
struct gg_request {
	const char *method, *path;
	const char *host, *cookies, *authorization, *if_none_match, *accept_encoding;
	/* The value of a name in the query. */
	const char *(*argument)(const struct gg_request *request, const char *name);
	void *context;
};

struct gg_response {
	unsigned status;
	enum gg_response_kind kind;
	struct gg_buf body;
	bool is_gzip;
	char tag[24];        /* "" if it has none */
	char location[512];  /* of a redirection */
	char cookie[160];    /* to be set */
	char file_name[160]; /* to be saved as */
	bool is_trusted;     /* the request had the token */
};

struct gg_serving {
	struct gg_access guard;
	struct gg_library *library;
	struct gg_buf policy; /* of the page */
	double confidence;
};

/* Always an answer, if need be that of an error.  gg_buf_done() its body. */
void gg_response_request(struct gg_serving *serving, const struct gg_request *request,
                         struct gg_response *answer);

/* The policy of an answer: the page's own, or no scripts at all. */
const char *gg_response_policy(const struct gg_serving *serving, const struct gg_response *answer);
