/* SPDX-License-Identifier: Apache-2.0 */
/* test_format_gzip - shows that zlib unpacks what was packed, whole and in parts, at each level. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/hash.h"
#include "format/codec/gzip.h"
#include "format/codec/quick_crc32.h"
#include "test.h"

enum { BYTES_MAX = 200000 };

static const int levels[] = { GG_GZIP_QUICK, GG_GZIP_STORED, 1, 6, 9 };

/* True if the member has exactly these bytes, and nothing follows it. */
static bool unpacks_to(const struct gg_buf *packed, const uint8_t *bytes, size_t length)
{
	uint8_t *out = malloc(length + 1);
	z_stream stream = { .next_in = (Bytef *)packed->data,
		            .avail_in = (uInt)packed->length,
		            .next_out = out,
		            .avail_out = (uInt)length + 1 };
	bool result;

	REQUIRE(inflateInit2(&stream, 31) == Z_OK);
	result = inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_in == 0 &&
	         stream.total_out == length && memcmp(out, bytes, length) == 0;
	inflateEnd(&stream);
	free(out);
	return result;
}

/* Bytes of several kinds: the seed decides how often they repeat, and from how far. */
static void fill(uint8_t *bytes, size_t length, uint64_t seed)
{
	size_t far = 1 + gg_hash_integer(seed, 1) % 40000;
	uint64_t share = seed % 5;

	for (size_t i = 0; i < length; i++) {
		uint64_t random = gg_hash_integer(i, seed);

		bytes[i] = i >= far && random % 5 < share ? bytes[i - far]
		           : i > 0 && random % 7 == 0     ? bytes[i - 1]
		                                          : (uint8_t)(random >> 32);
		if (share == 4 && random % 3 != 0)
			bytes[i] = 0;
	}
}

TEST(each_length_has_the_sum_that_zlib_finds)
{
	static uint8_t bytes[BYTES_MAX];

	fill(bytes, BYTES_MAX, 7);
	for (size_t length = 0; length < 600; length++)
		CHECK(gg_quick_crc32(bytes + length % 17, length) ==
		      crc32_z(0, bytes + length % 17, length));
	CHECK(gg_quick_crc32(bytes, BYTES_MAX) == crc32_z(0, bytes, BYTES_MAX));
}

TEST(each_length_unpacks_to_what_it_was)
{
	static uint8_t bytes[BYTES_MAX];
	struct gg_gzip_part part = { 0 };

	for (uint64_t seed = 0; seed < 400; seed++) {
		size_t length = seed < 300 ? (size_t)seed : BYTES_MAX / (seed - 299);
		struct gg_buf out = { 0 };

		fill(bytes, length, seed);
		REQUIRE(gg_gzip_pack(&part, bytes, length, levels[seed % GG_COUNT(levels)]) == 0);
		REQUIRE(gg_gzip_join(&out, (const struct gg_gzip_part *[]){ &part }, 1) == 0);
		CHECK_MSG(unpacks_to(&out, bytes, length), "seed %d", (int)seed);
		gg_buf_done(&out);
	}
	for (uint64_t seed = 0; seed < 1000; seed++) {
		size_t length = (size_t)(gg_hash_integer(seed, 9) % 5000);
		struct gg_buf out = { 0 };

		fill(bytes, length, seed);
		REQUIRE(gg_gzip_pack(&part, bytes, length, GG_GZIP_QUICK) == 0);
		REQUIRE(gg_gzip_join(&out, (const struct gg_gzip_part *[]){ &part }, 1) == 0);
		CHECK_MSG(unpacks_to(&out, bytes, length), "seed %d", (int)seed);
		CHECK(part.packed.length <= length + length / 8 + 32);
		gg_buf_done(&out);
	}
	gg_gzip_part_done(&part);
}

TEST(long_and_short_matches_unpack)
{
	static uint8_t bytes[3000];
	struct gg_gzip_part part = { 0 };

	/* Two equal runs of each length, so that each code of a length occurs. */
	for (size_t run = 1; run <= 300; run++) {
		struct gg_buf out = { 0 };

		for (size_t i = 0; i < run; i++)
			bytes[i] = bytes[run + 7 + i] = (uint8_t)gg_hash_integer(i, run);
		for (size_t i = 0; i < 7; i++)
			bytes[run + i] = (uint8_t)gg_hash_integer(i, 1000 + run);
		REQUIRE(gg_gzip_pack(&part, bytes, 2 * run + 7, GG_GZIP_QUICK) == 0);
		REQUIRE(gg_gzip_join(&out, (const struct gg_gzip_part *[]){ &part }, 1) == 0);
		CHECK_MSG(unpacks_to(&out, bytes, 2 * run + 7), "run %d", (int)run);
		if (run == 200)
			CHECK(part.packed.length < run + 40);
		gg_buf_done(&out);
	}
	gg_gzip_part_done(&part);
}

TEST(parts_of_all_levels_join_to_one_member)
{
	static uint8_t bytes[BYTES_MAX];
	struct gg_gzip_part parts[GG_COUNT(levels)] = { 0 };
	const struct gg_gzip_part *pointers[GG_COUNT(levels)];
	struct gg_buf out = { 0 };
	size_t length = 0;

	fill(bytes, sizeof(bytes), 3);
	for (size_t i = 0; i < GG_COUNT(levels); i++) {
		size_t more = i == 2 ? 0 : 1000 + 20000 * i;

		REQUIRE(gg_gzip_pack(&parts[i], bytes + length, more, levels[i]) == 0);
		pointers[i] = &parts[i];
		length += more;
	}
	REQUIRE(gg_gzip_join(&out, pointers, GG_COUNT(levels)) == 0);
	CHECK(unpacks_to(&out, bytes, length));
	for (size_t i = 0; i < GG_COUNT(levels); i++)
		gg_gzip_part_done(&parts[i]);
	gg_buf_done(&out);
}
