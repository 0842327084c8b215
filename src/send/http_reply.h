/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_reply - parses the reply of an HTTP/1.1 server, as far as a sender needs it.
 *
 *   struct gg_http_reply reply;
 *
 *   switch (gg_http_reply_parse(bytes, length, is_end, now_s, &reply))
 *   case GG_HTTP_REPLY_MORE: ... read more, and parse again ...
 *
 * Informational replies (100 to 199) before the reply are skipped.  The body is decoded if it is
 * chunked; BODY_MAX bytes of it are kept, and the rest is only counted.
 *
 * Hostile   The reply may be anything.  The parser allocates nothing and reads each byte once.
 * Threads   any; pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GG_HTTP_REPLY_BODY_MAX = 8192 };

enum gg_http_content { GG_HTTP_CONTENT_OTHER, GG_HTTP_CONTENT_JSON, GG_HTTP_CONTENT_HTML };

struct gg_http_reply {
	int status;                 /* 200 to 599; 0: none was read */
	double retry_after_seconds; /* negative: the server named no time */
	enum gg_http_content content;
	char body[GG_HTTP_REPLY_BODY_MAX + 1]; /* ends in a 0 byte */
	size_t body_length;                    /* of what is kept */
	bool is_reusable; /* the connection may have another request; false: it may not */
	/* The reply lasts until the connection ends, and no header says that the server ends it. */
	bool has_no_end;
};

enum gg_http_reply_state { GG_HTTP_REPLY_MORE, GG_HTTP_REPLY_COMPLETE, GG_HTTP_REPLY_MALFORMED };

/*
 * `is_end`: the server has closed the connection, so that no more bytes follow.  A cut reply is
 * malformed then; its status counts if the head is whole.  `now_s`: seconds since 1970, for
 * Retry-After with a date.
 */
enum gg_http_reply_state gg_http_reply_parse(const char *bytes, size_t length, bool is_end,
                                             int64_t now_s, struct gg_http_reply *ret_reply);

/* The kind of a Content-Type. */
enum gg_http_content gg_http_reply_content(const char *value, size_t length);

/* Parses the value of Retry-After: seconds or a date; negative: neither. */
double gg_http_reply_retry_after(const char *value, size_t length, int64_t now_s);
