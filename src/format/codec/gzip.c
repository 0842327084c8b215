/* SPDX-License-Identifier: Apache-2.0 */
/* gzip - runs zlib's deflate over a whole buffer. */
#include "format/codec/gzip.h"

#include <errno.h>
#include <stdint.h>
#include <zlib.h>

#include "format/codec/quick_crc32.h"
#include "format/codec/quick_deflate.h"

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

/* --- parts ---------------------------------------------------------------------------------- */

enum { STORED_MAX = 65535 };

/* Blocks without compression: 0, the length and its complement, and the bytes. */
static void store(struct gg_buf *out, const uint8_t *bytes, size_t length)
{
	while (length > 0) {
		size_t count = length < STORED_MAX ? length : STORED_MAX;
		const uint8_t head[] = { 0, (uint8_t)count, (uint8_t)(count >> 8), (uint8_t)~count,
			                 (uint8_t)(~count >> 8) };

		gg_buf_append(out, head, sizeof(head));
		gg_buf_append(out, bytes, count);
		bytes += count;
		length -= count;
	}
}

int gg_gzip_pack(struct gg_gzip_part *part, const void *bytes, size_t length, int level)
{
	z_stream stream = { 0 };
	size_t bound;
	int result;

	if (length > INT32_MAX)
		return -ENOMEM;
	gg_buf_clear(&part->packed);
	part->length = length;
	part->sum = gg_quick_crc32(bytes, length);
	if (level == GG_GZIP_STORED) {
		store(&part->packed, bytes, length);
		return part->packed.failed ? -ENOMEM : 0;
	}
	if (level == GG_GZIP_QUICK)
		return gg_quick_deflate(&part->packed, bytes, length);
	/* -15 selects the largest window, without a header. */
	if (deflateInit2(&stream, level, Z_DEFLATED, -15, 8, 0) != Z_OK)
		return -ENOMEM;
	/* The flush adds an empty block, so that the part ends at a byte. */
	bound = deflateBound(&stream, length) + 16;
	if (bound > UINT32_MAX || !gg_buf_reserve(&part->packed, bound)) {
		deflateEnd(&stream);
		return -ENOMEM;
	}
	stream.next_in = (Bytef *)bytes;
	stream.avail_in = (uInt)length;
	stream.next_out = (Bytef *)part->packed.data;
	stream.avail_out = (uInt)bound;
	result = deflate(&stream, Z_FULL_FLUSH);
	part->packed.length = stream.total_out;
	/* A full buffer may mean that the flush is not complete. */
	if (stream.avail_in > 0 || stream.avail_out == 0)
		result = Z_BUF_ERROR;
	deflateEnd(&stream);
	return result == Z_OK || (result == Z_BUF_ERROR && length == 0) ? 0 : -ENOMEM;
}

static void append_word(struct gg_buf *out, uint32_t word)
{
	const uint8_t bytes[] = { (uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16),
		                  (uint8_t)(word >> 24) };

	gg_buf_append(out, bytes, sizeof(bytes));
}

int gg_gzip_join(struct gg_buf *out, const struct gg_gzip_part *const *parts, size_t count)
{
	/* RFC 1952: deflate, no name, no time, Unix; RFC 1951: a last block without bytes. */
	static const uint8_t head[] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3 }, last[] = { 3, 0 };
	uint32_t length = 0;
	uLong sum = 0;

	gg_buf_append(out, head, sizeof(head));
	for (size_t i = 0; i < count; i++) {
		gg_buf_append(out, parts[i]->packed.data, parts[i]->packed.length);
		sum = i == 0 ? parts[i]->sum
		             : crc32_combine(sum, parts[i]->sum, (z_off_t)parts[i]->length);
		length += (uint32_t)parts[i]->length; /* modulo 2^32, as RFC 1952 has it */
	}
	gg_buf_append(out, last, sizeof(last));
	append_word(out, (uint32_t)sum);
	append_word(out, length);
	return out->failed ? -ENOMEM : 0;
}

void gg_gzip_part_done(struct gg_gzip_part *part)
{
	gg_buf_done(&part->packed);
	*part = (struct gg_gzip_part){ 0 };
}
