/* SPDX-License-Identifier: Apache-2.0 */
#include "base/percent.h"

#include <errno.h>

#include "test.h"

TEST(percent_are_read_to_a_millionth)
{
	static const struct {
		const char *text;
		uint32_t ppm;
	} good[] = { { "1%", 10000 },     { "0.5%", 5000 }, { "12.25 %", 122500 },
		     { "100%", 1000000 }, { ".1%", 1000 },  { "0.0001%", 1 },
		     { "5.%", 50000 },    { "0%", 0 },      { "0.50000%", 5000 },
		     { "007%", 70000 } };
	uint32_t ppm = 0;

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		CHECK_EQ_I64(gg_percent_parse(good[i].text, &ppm), 0);
		CHECK_EQ_U64(ppm, good[i].ppm);
	}
}

TEST(other_texts_are_refused_and_change_nothing)
{
	static const char *const bad[] = { "",          "%",   "1",    "0.5",    "1%%",
		                           "1 percent", "-1%", "1,5%", "1e1%",   "0.00001%",
		                           "1  %",      ".%",  "%1",   "1% more" };
	uint32_t ppm = 77;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK_EQ_I64(gg_percent_parse(bad[i], &ppm), -EINVAL);
	CHECK_EQ_I64(gg_percent_parse("100.0001%", &ppm), -ERANGE);
	CHECK_EQ_I64(gg_percent_parse("99999999999999999999%", &ppm), -ERANGE);
	CHECK_EQ_U64(ppm, 77);
}

TEST(what_is_formatted_is_read_again)
{
	static const uint32_t all[] = { 0, 1, 10, 5000, 10000, 12345, 100000, 999999, 1000000 };
	char text[GG_PERCENT_TEXT_MAX];
	uint32_t ppm;

	CHECK_EQ_STR(gg_percent_format(5000, text), "0.5%");
	CHECK_EQ_STR(gg_percent_format(1000000, text), "100%");
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		CHECK_EQ_I64(gg_percent_parse(gg_percent_format(all[i], text), &ppm), 0);
		CHECK_EQ_U64(ppm, all[i]);
	}
}
