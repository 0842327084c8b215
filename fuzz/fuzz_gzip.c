/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes, packed in parts, and unpacked by zlib: the member has these bytes, and no more.  A
 * part's size keeps its bound.
 *
 * The input is a byte and the bytes.  The byte's lowest bits are the level of the second part,
 * while quick_deflate packs the first one.  The next bits say how the bytes repeat: not, at once,
 * or at the largest distance of deflate, some bytes less or more.  The highest ones say where to
 * divide, or which distance.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "format/codec/gzip.h"

enum { DISTANCE_MOST = 32768 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void require_unpacks(const struct gg_buf *packed, const uint8_t *bytes, size_t length)
{
	uint8_t *out = malloc(length + 1);
	z_stream stream = { .next_in = (Bytef *)packed->data,
		            .avail_in = (uInt)packed->length,
		            .next_out = out,
		            .avail_out = (uInt)length + 1 };

	require(out != NULL && inflateInit2(&stream, 31) == Z_OK);
	require(inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_in == 0);
	require(stream.total_out == length && memcmp(out, bytes, length) == 0);
	inflateEnd(&stream);
	free(out);
}

/* Returns the bytes to pack, of the exact size for the address sanitizer. */
static uint8_t *unfold(const uint8_t *data, size_t size, size_t *ret_length)
{
	const uint8_t *input = data + 1;
	size_t count = size - 1, repeat = data[0] >> 2 & 3, distance = count;
	size_t length = repeat == 0 ? count : repeat == 1 ? 300 + count : 2000 + count;
	uint8_t *bytes;

	if (repeat == 3) {
		distance = DISTANCE_MOST - 8 + (data[0] >> 4);
		distance = distance > count ? distance : count;
		length = distance + count;
	}
	bytes = calloc(length, 1);
	require(bytes != NULL);
	for (size_t i = 0; i < length; i++)
		if (i % distance < count)
			bytes[i] = input[i % distance];
	*ret_length = length;
	return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int levels[] = { GG_GZIP_QUICK, GG_GZIP_STORED, 1, 6 };
	struct gg_gzip_part parts[2] = { 0 };
	const struct gg_gzip_part *const pointers[] = { &parts[0], &parts[1] };
	struct gg_buf out = { 0 };
	size_t length, cut;
	uint8_t *bytes;

	if (size < 2)
		return 0;
	bytes = unfold(data, size, &length);
	cut = (data[0] >> 2 & 3) == 3 ? length : length * (data[0] >> 4) / 15;
	require(gg_gzip_pack(&parts[0], bytes, cut, GG_GZIP_QUICK) == 0);
	require(gg_gzip_pack(&parts[1], bytes + cut, length - cut, levels[data[0] & 3]) == 0);
	require(parts[0].packed.length <= cut + cut / 8 + 32);
	require(gg_gzip_join(&out, pointers, 2) == 0);
	require_unpacks(&out, bytes, length);
	gg_buf_done(&out);
	gg_gzip_part_done(&parts[0]);
	gg_gzip_part_done(&parts[1]);
	free(bytes);
	return 0;
}
