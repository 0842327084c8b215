/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_pack - gzip, which browsers decompress natively, and base64, which HTML can hold.
 */
#include "page/page_pack.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "base/buf.h"
#include "page/page.h"

int gg_page_pack(const struct gg_buf *json, struct gg_buf *packed, struct gg_error *error)
{
	enum { GZIP_WINDOW = 16 };
	z_stream stream = { 0 };
	size_t bound;
	int status;

	if (deflateInit2(&stream, 6, Z_DEFLATED, GZIP_WINDOW + MAX_WBITS, 9, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		return gg_error_memory(error, "page");
	bound = deflateBound(&stream, json->length);
	if (json->length > UINT32_MAX / 2 || !gg_buf_reserve(packed, bound)) {
		deflateEnd(&stream);
		return gg_error_memory(error, "page");
	}
	stream.next_in = (unsigned char *)json->data;
	stream.avail_in = (unsigned)json->length;
	stream.next_out = (unsigned char *)packed->data + packed->length;
	stream.avail_out = (unsigned)bound;
	status = deflate(&stream, Z_FINISH);
	packed->length += bound - stream.avail_out;
	packed->data[packed->length] = '\0';
	deflateEnd(&stream);
	if (status != Z_STREAM_END)
		return gg_error_memory(error, "page");
	return 0;
}

int gg_page_unpack(const struct gg_buf *packed, struct gg_buf *json, struct gg_error *error)
{
	enum { GZIP_WINDOW = 16, PIECE = 1 << 16 };
	z_stream stream = { .next_in = (unsigned char *)packed->data,
		            .avail_in = (unsigned)packed->length };
	int status = inflateInit2(&stream, GZIP_WINDOW + MAX_WBITS);

	while (status == Z_OK && gg_buf_reserve(json, PIECE)) {
		stream.next_out = (unsigned char *)json->data + json->length;
		stream.avail_out = PIECE;
		status = inflate(&stream, Z_NO_FLUSH);
		json->length += PIECE - stream.avail_out;
		json->data[json->length] = '\0';
	}
	inflateEnd(&stream);
	return status == Z_STREAM_END ? 0 : gg_error_memory(error, "page");
}

void gg_page_base64(const void *bytes, size_t length, struct gg_buf *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = bytes;

	for (size_t i = 0; i < length; i += 3) {
		size_t rest = length - i;
		uint32_t three = (uint32_t)p[i] << 16 | (rest > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
		                 (rest > 2 ? p[i + 2] : 0);
		char four[4] = {
			digits[three >> 18],
			digits[three >> 12 & 63],
			rest > 1 ? digits[three >> 6 & 63] : '=',
			rest > 2 ? digits[three & 63] : '=',
		};

		gg_buf_append(out, four, sizeof(four));
	}
}

void gg_page_append_escaped(const char *text, struct gg_buf *out)
{
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		    strchr("-._", c) != NULL)
			gg_buf_append(out, text, 1);
		else
			gg_buf_printf(out, "%%%02X", c);
	}
}
