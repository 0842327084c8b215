/* SPDX-License-Identifier: Apache-2.0 */
/* pack - gzip, which browsers read as a stream of their own, and base64, which HTML can hold. */
#include <errno.h>
#include <string.h>

#include "page/page_internal.h"

#if HAVE_ZLIB
#include <zlib.h>

int gg_page_pack(const struct gg_buf *json, struct gg_buf *packed, struct gg_error *error)
{
	enum { GZIP = 16 };
	z_stream stream = { 0 };
	size_t bound;
	int status;

	if (deflateInit2(&stream, 6, Z_DEFLATED, GZIP + MAX_WBITS, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		return gg_error_set_errno(error, ENOMEM, "page", NULL);
	bound = deflateBound(&stream, json->length);
	if (json->length > UINT32_MAX / 2 || !gg_buf_reserve(packed, bound)) {
		deflateEnd(&stream);
		return gg_error_set_errno(error, ENOMEM, "page", NULL);
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
		return gg_error_set_errno(error, ENOMEM, "page", NULL);
	return 0;
}
#else
int gg_page_pack(const struct gg_buf *json, struct gg_buf *packed, struct gg_error *error)
{
	(void)json;
	(void)packed;
	return gg_error_set(error, -ENOTSUP, "page", "Build it with zlib (docs/HACKING.md).",
	                    "this geiger was built without zlib");
}
#endif

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
