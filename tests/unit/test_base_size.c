/* SPDX-License-Identifier: Apache-2.0 */
/* test_base_size - shows how sizes are parsed and printed, and which texts are refused. */
#include "base/size.h"

#include <errno.h>
#include <math.h>

#include "base/compiler.h"
#include "test.h"

TEST(sizes_are_read_as_people_write_them)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} cases[] = {
		{ "0", 0 },
		{ "512", 512 },
		{ "512B", 512 },
		{ "64k", 65536 },
		{ "64K", 65536 },
		{ "512KiB", 524288 },
		{ "512kib", 524288 },
		{ "512 KiB", 524288 },
		{ "1M", 1048576 },
		{ "1.5MiB", 1572864 },
		{ ".5k", 512 },
		{ "2.k", 2048 },
		{ "64kB", 64000 },
		{ "1MB", 1000000 },
		{ "2G", UINT64_C(2147483648) },
		{ "3TiB", UINT64_C(3298534883328) },
		{ "1P", UINT64_C(1) << 50 },
		{ "15E", UINT64_C(15) << 60 },
		{ "18446744073709551615", UINT64_MAX },
		{ "0.4", 0 },
		{ "0.5", 1 },
		{ "0.1k", 102 },
		{ "0000000000000000000000001k", 1024 },
		{ "1.000000000000000000000000001k", 1024 },
	};

	for (size_t i = 0; i < GG_COUNT(cases); i++) {
		uint64_t bytes = 99;
		int status = gg_size_parse(cases[i].text, &bytes);

		CHECK_MSG(status == 0 && bytes == cases[i].bytes, "%s: %d, %ju", cases[i].text,
		          status, (uintmax_t)bytes);
	}
}

TEST(what_is_not_a_size_is_refused_and_the_result_untouched)
{
	static const char *const texts[] = { "",    " ",     "k",   ".",    "-1",    "+1",
		                             "1x",  "1KiBx", "1ki", "1bb",  "1.2.3", "0x10",
		                             "1e3", " 1",    "1 ",  "1 M ", "nan",   "1,5M" };

	for (size_t i = 0; i < GG_COUNT(texts); i++) {
		uint64_t bytes = 99;
		bool is_blank_unit = strcmp(texts[i], "1 ") == 0;

		/* A blank before no unit is harmless. */
		CHECK_MSG(gg_size_parse(texts[i], &bytes) == (is_blank_unit ? 0 : -EINVAL), "'%s'",
		          texts[i]);
		CHECK_EQ_U64(bytes, is_blank_unit ? 1 : 99);
	}
}

TEST(sizes_beyond_64_bits_are_out_of_range)
{
	static const char *const texts[] = { "18446744073709551616",    "16E",
		                             "99999999999999999999999", "18446744073709551615.5",
		                             "1000000000000000000000E", "18446744073709551615k" };

	for (size_t i = 0; i < GG_COUNT(texts); i++) {
		uint64_t bytes = 99;

		CHECK_MSG(gg_size_parse(texts[i], &bytes) == -ERANGE, "%s", texts[i]);
		CHECK_EQ_U64(bytes, 99);
	}
}

TEST(sizes_are_printed_short_and_with_their_unit)
{
	static const struct {
		double bytes;
		const char *text;
	} cases[] = {
		{ 0, "0 B" },
		{ 1, "1 B" },
		{ 1023, "1023 B" },
		{ 1024, "1.00 KiB" },
		{ 1536, "1.50 KiB" },
		{ 10 * 1024, "10.0 KiB" },
		{ 312.4 * 1048576, "312.4 MiB" },
		{ 1048575, "1.00 MiB" },
		{ 1023.9 * 1048576, "1023.9 MiB" },
		{ -2048, "-2.00 KiB" },
		{ 0x1p64, "16.0 EiB" },
		{ 1e300, "8.7e+281 EiB" },
		{ -INFINITY, "-inf EiB" },
	};

	for (size_t i = 0; i < GG_COUNT(cases); i++) {
		char text[GG_SIZE_TEXT_MAX];

		gg_size_format(cases[i].bytes, text);
		CHECK_MSG(strcmp(text, cases[i].text) == 0, "%g: %s", cases[i].bytes, text);
	}
}

TEST(round_sizes_can_be_printed_without_zeros)
{
	static const struct {
		double bytes;
		const char *text;
	} cases[] = {
		{ 0, "0 B" },
		{ 100, "100 B" },
		{ 524288, "512 KiB" },
		{ 1572864, "1.5 MiB" },
		{ 2097152, "2 MiB" },
		{ 10240, "10 KiB" },
		{ 1152921504606846976e0 * 1e4, "1.0e+04 EiB" },
	};

	for (size_t i = 0; i < GG_COUNT(cases); i++) {
		char text[GG_SIZE_TEXT_MAX];

		gg_size_format_short(cases[i].bytes, text);
		CHECK_MSG(strcmp(text, cases[i].text) == 0, "%g: %s", cases[i].bytes, text);
	}
}

TEST(a_printed_size_reads_back_within_its_precision)
{
	for (double bytes = 1; bytes < 0x1p63; bytes *= 1.7) {
		char text[GG_SIZE_TEXT_MAX];
		uint64_t back = 0;

		CHECK_EQ_I64(gg_size_parse(gg_size_format(bytes, text), &back), 0);
		CHECK_MSG(fabs((double)back - bytes) <= 0.5 + 0.005 * bytes, "%g: %s", bytes, text);
	}
}
