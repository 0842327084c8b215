/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/clickhouse_chunks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

enum { HEX_DIGITS_MAX = 15, STATUS_LINE_LEAST = 12 };

static int parse_status(const char *bytes, size_t length)
{
	int status = 0;

	if (length < STATUS_LINE_LEAST || memcmp(bytes, "HTTP/1.", 7) != 0 || bytes[8] != ' ')
		return -1;
	for (int i = 9; i < 12; i++) {
		if (bytes[i] < '0' || bytes[i] > '9')
			return -1;
		status = status * 10 + (bytes[i] - '0');
	}
	return status >= 100 && status <= 599 ? status : -1;
}

/* Finds the value of a header, and its length; NULL: the head lacks it. */
static const char *find_header(const char *head, size_t length, const char *name,
                               size_t *ret_length)
{
	const char *end = head + length, *line = head;
	size_t name_length = strlen(name);

	while ((line = memchr(line, '\n', (size_t)(end - line))) != NULL) {
		line++;
		if ((size_t)(end - line) > name_length && line[name_length] == ':' &&
		    strncasecmp(line, name, name_length) == 0) {
			const char *value = line + name_length + 1;
			const char *stop = memchr(value, '\r', (size_t)(end - value));

			if (stop == NULL)
				stop = end;
			while (value < stop && *value == ' ')
				value++;
			*ret_length = (size_t)(stop - value);
			return value;
		}
	}
	return NULL;
}

/* Parses hexadecimal digits; false: no digit, or too many. */
static bool parse_size(const char **at, const char *end, size_t *ret_size)
{
	size_t size = 0;
	int digits = 0;

	for (; *at < end; (*at)++, digits++) {
		char c = **at;
		int digit = c >= '0' && c <= '9'   ? c - '0'
		            : c >= 'a' && c <= 'f' ? c - 'a' + 10
		            : c >= 'A' && c <= 'F' ? c - 'A' + 10
		                                   : -1;

		if (digit < 0)
			break;
		if (digits == HEX_DIGITS_MAX)
			return false;
		size = size << 4 | (size_t)digit;
	}
	*ret_size = size;
	return digits > 0;
}

static int join_chunks(const char *at, const char *end, struct gg_buf *body)
{
	for (;;) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		size_t size;

		if (line == NULL)
			return -ECONNRESET;
		if (!parse_size(&at, line, &size))
			return -EPROTO;
		at = line + 1;
		if (size == 0)
			return 0;
		if (size > (size_t)(end - at))
			return -ECONNRESET;
		gg_buf_append(body, at, size);
		if (body->failed)
			return -ENOMEM;
		at += size;
		if (end - at < 2)
			return -ECONNRESET;
		if (memcmp(at, "\r\n", 2) != 0)
			return -EPROTO;
		at += 2;
	}
}

static int take_counted(const char *at, const char *end, const char *value, size_t value_length,
                        struct gg_buf *body)
{
	size_t size = 0;

	if (value_length == 0 || value_length > HEX_DIGITS_MAX)
		return -EPROTO;
	for (size_t i = 0; i < value_length; i++) {
		if (value[i] < '0' || value[i] > '9')
			return -EPROTO;
		size = size * 10 + (size_t)(value[i] - '0');
	}
	if (size > (size_t)(end - at))
		return -ECONNRESET;
	gg_buf_append(body, at, size);
	return body->failed ? -ENOMEM : 0;
}

int gg_clickhouse_split(const char *bytes, size_t length, struct gg_clickhouse_reply *ret_reply,
                        struct gg_buf *body)
{
	const char *head_end, *value, *end = bytes + length;
	size_t head_length, value_length;
	int status = parse_status(bytes, length);

	if (status < 0)
		return -EPROTO;
	head_end = memmem(bytes, length, "\r\n\r\n", 4);
	if (head_end == NULL)
		return -ECONNRESET;
	head_length = (size_t)(head_end - bytes);
	/* The server goes on after "100 Continue" with the reply itself. */
	if (status < 200)
		return gg_clickhouse_split(head_end + 4, (size_t)(end - head_end - 4), ret_reply,
		                           body);
	ret_reply->status = status;
	value = find_header(bytes, head_length, "Transfer-Encoding", &value_length);
	if (value != NULL)
		return value_length == 7 && strncasecmp(value, "chunked", 7) == 0
		               ? join_chunks(head_end + 4, end, body)
		               : -EPROTO;
	value = find_header(bytes, head_length, "Content-Length", &value_length);
	if (value != NULL)
		return take_counted(head_end + 4, end, value, value_length, body);
	/* Without a length the connection's end is the body's end. */
	gg_buf_append(body, head_end + 4, (size_t)(end - head_end - 4));
	return body->failed ? -ENOMEM : 0;
}
