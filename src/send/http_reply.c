/* SPDX-License-Identifier: Apache-2.0 */
/* http_reply - reads the status line, some headers, and a body in any of its encodings. */
#include "send/http_reply.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { STATUS_LINE_BYTES = 12 /* "HTTP/1.1 200" */, DIGITS_MAX = 15 };

struct reply_text {
	const char *at, *end;
};

/* Takes a line without its end; false: the line is not whole. */
static bool take_line(struct reply_text *from, struct reply_text *ret_line)
{
	const char *stop = from->at < from->end
	                           ? memchr(from->at, '\n', (size_t)(from->end - from->at))
	                           : NULL;

	if (stop == NULL)
		return false;
	*ret_line = (struct reply_text){ from->at, stop };
	if (stop > from->at && stop[-1] == '\r')
		ret_line->end--;
	from->at = stop + 1;
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Returns true and the value without blanks around it if the line is that header. */
static bool is_header(const struct reply_text *line, const char *name, struct reply_text *ret_value)
{
	size_t length = strlen(name);

	if ((size_t)(line->end - line->at) <= length || line->at[length] != ':' ||
	    strncasecmp(line->at, name, length) != 0)
		return false;
	*ret_value = (struct reply_text){ line->at + length + 1, line->end };
	while (ret_value->at < ret_value->end && is_blank(*ret_value->at))
		ret_value->at++;
	while (ret_value->end > ret_value->at && is_blank(ret_value->end[-1]))
		ret_value->end--;
	return true;
}

static int digit_of(char c, unsigned base)
{
	int digit = c >= '0' && c <= '9'   ? c - '0'
	            : c >= 'a' && c <= 'f' ? c - 'a' + 10
	            : c >= 'A' && c <= 'F' ? c - 'A' + 10
	                                   : 16;

	return digit < (int)base ? digit : -1;
}

/* Reads digits; false: it found no digit, or too many. */
static bool take_number(struct reply_text *from, unsigned base, uint64_t *ret_number)
{
	const char *start = from->at;

	*ret_number = 0;
	while (from->at < from->end && digit_of(*from->at, base) >= 0) {
		if (from->at - start >= DIGITS_MAX)
			return false;
		*ret_number = *ret_number * base + (uint64_t)digit_of(*from->at++, base);
	}
	return from->at > start;
}

double gg_http_reply_retry_after(const char *value, size_t length, int64_t now_s)
{
	struct reply_text text = { value, value + length };
	struct tm date = { 0 };
	char copy[40];
	uint64_t seconds;
	int64_t at_s;

	if (take_number(&text, 10, &seconds) && text.at == text.end)
		return (double)seconds;
	if (length == 0 || length >= sizeof(copy))
		return -1;
	memcpy(copy, value, length);
	copy[length] = '\0';
	if (strptime(copy, "%a, %d %b %Y %H:%M:%S GMT", &date) == NULL)
		return -1;
	at_s = timegm(&date);
	return at_s > now_s ? (double)(at_s - now_s) : 0;
}

struct head {
	bool is_chunked, has_length, is_last; /* is_last: the server closes the connection */
	uint64_t length;
};

/* Parses a head.  MORE: it is not whole; COMPLETE: *from is at the body. */
static enum gg_http_reply_state parse_head(struct reply_text *from, int64_t now_s,
                                           struct head *head, struct gg_http_reply *reply)
{
	struct reply_text line, value;

	*head = (struct head){ 0 };
	if (!take_line(from, &line))
		return GG_HTTP_REPLY_MORE;
	if (line.end - line.at < STATUS_LINE_BYTES || memcmp(line.at, "HTTP/1.", 7) != 0 ||
	    line.at[8] != ' ')
		return GG_HTTP_REPLY_MALFORMED;
	for (int i = 9; i < STATUS_LINE_BYTES; i++)
		if (digit_of(line.at[i], 10) < 0)
			return GG_HTTP_REPLY_MALFORMED;
	if (line.end - line.at > STATUS_LINE_BYTES && line.at[STATUS_LINE_BYTES] != ' ')
		return GG_HTTP_REPLY_MALFORMED; /* a number of four digits */
	reply->status = 100 * (line.at[9] - '0') + 10 * (line.at[10] - '0') + line.at[11] - '0';
	if (reply->status < 100 || reply->status > 599) {
		reply->status = 0;
		return GG_HTTP_REPLY_MALFORMED;
	}
	head->is_last = line.at[7] != '1'; /* HTTP/1.0 closes */
	while (take_line(from, &line)) {
		if (line.at == line.end)
			return GG_HTTP_REPLY_COMPLETE;
		if (is_header(&line, "Transfer-Encoding", &value))
			head->is_chunked = value.end - value.at >= 7 &&
			                   strncasecmp(value.end - 7, "chunked", 7) == 0;
		else if (is_header(&line, "Content-Length", &value)) {
			head->has_length = take_number(&value, 10, &head->length);
			if (!head->has_length || value.at != value.end)
				return GG_HTTP_REPLY_MALFORMED;
		} else if (is_header(&line, "Retry-After", &value))
			reply->retry_after_seconds = gg_http_reply_retry_after(
				value.at, (size_t)(value.end - value.at), now_s);
		else if (is_header(&line, "Connection", &value))
			head->is_last |= value.end - value.at != 10 ||
			                 strncasecmp(value.at, "keep-alive", 10) != 0;
		else if (is_header(&line, "Content-Type", &value))
			reply->content = gg_http_reply_content(value.at,
			                                       (size_t)(value.end - value.at));
	}
	return GG_HTTP_REPLY_MORE;
}

enum gg_http_content gg_http_reply_content(const char *value, size_t length)
{
	static const char json[] = "application/json", html[] = "text/html";

	if (length >= strlen(json) && strncasecmp(value, json, strlen(json)) == 0)
		return GG_HTTP_CONTENT_JSON;
	if (length >= strlen(html) && strncasecmp(value, html, strlen(html)) == 0)
		return GG_HTTP_CONTENT_HTML;
	return GG_HTTP_CONTENT_OTHER;
}

static void keep(struct gg_http_reply *reply, const char *bytes, uint64_t length)
{
	uint64_t room = GG_HTTP_REPLY_BODY_MAX - reply->body_length;

	if (length > room)
		length = room;
	memcpy(reply->body + reply->body_length, bytes, length);
	reply->body_length += length;
	reply->body[reply->body_length] = '\0';
}

static enum gg_http_reply_state parse_chunks(struct reply_text from, struct gg_http_reply *reply)
{
	struct reply_text line;
	uint64_t length;

	while (take_line(&from, &line)) {
		if (!take_number(&line, 16, &length))
			return GG_HTTP_REPLY_MALFORMED;
		if (length == 0) { /* trailers, and an empty line */
			while (take_line(&from, &line))
				if (line.at == line.end) {
					reply->is_reusable = from.at == from.end;
					return GG_HTTP_REPLY_COMPLETE;
				}
			return GG_HTTP_REPLY_MORE;
		}
		if ((uint64_t)(from.end - from.at) < length + 1) {
			keep(reply, from.at,
			     (uint64_t)(from.end - from.at) < length
			             ? (uint64_t)(from.end - from.at)
			             : length);
			return GG_HTTP_REPLY_MORE;
		}
		keep(reply, from.at, length);
		from.at += length;
		if (!take_line(&from, &line))
			return GG_HTTP_REPLY_MORE;
		if (line.at != line.end)
			return GG_HTTP_REPLY_MALFORMED;
	}
	return GG_HTTP_REPLY_MORE;
}

static enum gg_http_reply_state parse_body(struct reply_text from, const struct head *head,
                                           bool is_end, struct gg_http_reply *reply)
{
	uint64_t here = (uint64_t)(from.end - from.at);

	reply->is_reusable = here == 0;
	if (reply->status == 204 || reply->status == 304)
		return GG_HTTP_REPLY_COMPLETE;
	reply->is_reusable = false;
	if (head->is_chunked)
		return parse_chunks(from, reply);
	if (!head->has_length) {
		reply->has_no_end = !head->is_last;
		keep(reply, from.at, here);
		return is_end ? GG_HTTP_REPLY_COMPLETE : GG_HTTP_REPLY_MORE;
	}
	keep(reply, from.at, here < head->length ? here : head->length);
	reply->is_reusable = here == head->length;
	return here < head->length ? GG_HTTP_REPLY_MORE : GG_HTTP_REPLY_COMPLETE;
}

static void reset(struct gg_http_reply *reply)
{
	reply->status = 0;
	reply->retry_after_seconds = -1;
	reply->content = GG_HTTP_CONTENT_OTHER;
	reply->body_length = 0;
	reply->body[0] = '\0';
	reply->is_reusable = false;
	reply->has_no_end = false;
}

enum gg_http_reply_state gg_http_reply_parse(const char *bytes, size_t length, bool is_end,
                                             int64_t now_s, struct gg_http_reply *ret_reply)
{
	struct reply_text from = { bytes, bytes + length };
	enum gg_http_reply_state state;
	struct head head;

	do {
		reset(ret_reply);
		state = parse_head(&from, now_s, &head, ret_reply);
	} while (state == GG_HTTP_REPLY_COMPLETE && ret_reply->status < 200);
	if (state == GG_HTTP_REPLY_COMPLETE)
		state = parse_body(from, &head, is_end, ret_reply);
	else
		ret_reply->status = 0; /* a head that is not whole tells nothing */
	ret_reply->is_reusable &= state == GG_HTTP_REPLY_COMPLETE && !is_end && !head.is_last;
	return state == GG_HTTP_REPLY_MORE && is_end ? GG_HTTP_REPLY_MALFORMED : state;
}
