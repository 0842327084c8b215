/* SPDX-License-Identifier: Apache-2.0 */
/* gzip - runs zlib's deflate over a whole buffer. */
#include "format/codec/gzip.h"

#include <errno.h>
#include <stdint.h>
#include <zlib.h>

int gg_gzip(struct gg_buf *out, const void *bytes, size_t length)
{
	z_stream stream = { 0 };
	size_t bound;
	int result;

	/* 31 selects the largest window, with gzip's header and trailer. */
	if (length > UINT32_MAX || deflateInit2(&stream, 5, Z_DEFLATED, 31, 8, 0) != Z_OK)
		return -ENOMEM;
	bound = deflateBound(&stream, length);
	if (bound > UINT32_MAX || !gg_buf_reserve(out, bound)) {
		deflateEnd(&stream);
		return -ENOMEM;
	}
	stream.next_in = (Bytef *)bytes;
	stream.avail_in = (uInt)length;
	stream.next_out = (Bytef *)out->data + out->length;
	stream.avail_out = (uInt)bound;
	result = deflate(&stream, Z_FINISH);
	out->length += stream.total_out;
	deflateEnd(&stream);
	return result == Z_STREAM_END ? 0 : -ENOMEM;
}
