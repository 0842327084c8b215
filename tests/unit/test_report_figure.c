/* SPDX-License-Identifier: Apache-2.0 */
/* test_report_figure - shows how estimates are printed with their confidence intervals. */
#include "report/figure.h"

#include <math.h>
#include <string.h>

#include "test.h"

static const struct gg_figure_style fine, ascii = { .ascii = true }, raw = { .raw = true };

static bool reads(const struct gg_figure_style *style, struct gg_figure figure, const char *wanted)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	gg_figure_append(style, &figure, &text);
	return CHECK_MSG(strcmp(gg_buf_text(&text), wanted) == 0, "'%s', not '%s'",
	                 gg_buf_text(&text), wanted);
}

#define MIB 1048576.0

TEST(near_ends_are_a_percentage_rounded_up)
{
	reads(&fine,
	      (struct gg_figure){ 100 * MIB, 94.5 * MIB, 105.1 * MIB, GG_BYTES, false, false },
	      "100.0 MiB \xc2\xb1 6 %");
	reads(&ascii,
	      (struct gg_figure){ 100 * MIB, 94.5 * MIB, 106 * MIB, GG_BYTES, false, false },
	      "100.0 MiB +- 6 %");
	reads(&ascii,
	      (struct gg_figure){ 100 * MIB, 99.96 * MIB, 100.04 * MIB, GG_BYTES, false, false },
	      "100.0 MiB +- 0.1 %");
	reads(&ascii, (struct gg_figure){ 12345, 12000, 12700, GG_ALLOCATIONS, false, false },
	      "12.3 k +- 3 %");
	reads(&raw, (struct gg_figure){ 12345, 12000, 12700, GG_BYTES, false, false },
	      "12345 \xc2\xb1 3 %");
}

TEST(far_or_uneven_ends_are_a_range)
{
	reads(&ascii,
	      (struct gg_figure){ 300 * 1024, 180 * 1024, 640 * 1024, GG_BYTES, false, false },
	      "180..640 KiB");
	reads(&ascii, (struct gg_figure){ 2 * MIB, 64, 2.79 * MIB, GG_BYTES, false, false },
	      "64 B..2.79 MiB");
	reads(&ascii, (struct gg_figure){ 3 * MIB, 0.9 * MIB, 4.5 * MIB, GG_BYTES, false, false },
	      "0.90..4.50 MiB");
	reads(&ascii, (struct gg_figure){ 100 * MIB, 99 * MIB, 120 * MIB, GG_BYTES, false, false },
	      "99.0..120 MiB");
	reads(&ascii, (struct gg_figure){ 5, 2, 9, GG_ALLOCATIONS, false, false }, "2..9");
	reads(&ascii, (struct gg_figure){ 1.1, 1, 1.48, GG_ALLOCATIONS, false, false }, "1");
	reads(&ascii, (struct gg_figure){ 5000, 1000, INFINITY, GG_BYTES, false, false },
	      ">= 1000 B");
}

TEST(without_samples_there_is_an_upper_end_alone)
{
	reads(&fine, (struct gg_figure){ 0, 0, 1.84 * MIB, GG_BYTES, false, false }, "< 1.84 MiB");
	reads(&fine, (struct gg_figure){ 0, 0, INFINITY, GG_ALLOCATIONS, false, false }, "-");
	reads(&fine, (struct gg_figure){ 0, 0, 0, GG_BYTES, false, false }, "0 B");
	reads(&fine, (struct gg_figure){ 4096, 4096, 4096, GG_BYTES, false, false }, "4.00 KiB");
}

TEST(units_change_where_a_number_would_be_printed_as_the_next)
{
	reads(&fine, (struct gg_figure){ 1023, 1023, 1023, GG_BYTES, false, false }, "1023 B");
	reads(&fine,
	      (struct gg_figure){ 1023.99 * 1024, 1023.99 * 1024, 1023.99 * 1024, GG_BYTES, false,
	                          false },
	      "1.00 MiB");
	reads(&fine, (struct gg_figure){ 999.6, 999.6, 999.6, GG_ALLOCATIONS, false, false },
	      "1.00 k");
	reads(&raw, (struct gg_figure){ 1e9, 1e9, 1e9, GG_BYTES, false, false }, "1000000000");
}

static bool draws(const struct gg_figure_style *style, struct gg_figure figure, double most,
                  const char *wanted)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	gg_figure_append_bar(style, &figure, most, 10, &text);
	return CHECK_MSG(strcmp(gg_buf_text(&text), wanted) == 0, "'%s'", gg_buf_text(&text));
}

TEST(a_bar_is_solid_to_the_low_end_and_thin_to_the_high_one)
{
	draws(&ascii, (struct gg_figure){ 50, 30, 80, GG_BYTES, false, false }, 100, "###--|--  ");
	draws(&ascii, (struct gg_figure){ 50, 50, 50, GG_BYTES, false, false }, 100, "#####|    ");
	draws(&ascii, (struct gg_figure){ 100, 90, 100, GG_BYTES, false, false }, 100,
	      "#########|");
	draws(&ascii, (struct gg_figure){ 0, 0, 30, GG_BYTES, false, false }, 100, "---       ");
	draws(&ascii, (struct gg_figure){ 0, 0, INFINITY, GG_BYTES, false, false }, 100,
	      "          ");
}

/* The example of .NET's document on randomized allocation sampling: 8 samples, u = 10 908. */
TEST(bytes_by_failed_trials_have_the_ends_of_the_negative_binomial)
{
	struct gg_draw draw = { .sampling_interval = 102400,
		                .sample_point_count = 1,
		                .scheme = GG_SCHEME_BERNOULLI };
	struct gg_tally tally = { 0 }, mixed;
	struct gg_figure figure;

	CHECK(!gg_figure_by_failed_trials(&tally, 0.95, &figure));
	for (int i = 0; i < 8; i++) {
		draw.offset_bytes = i < 4 ? 10 : 1;
		gg_tally_add(&tally, &draw, i < 4 ? 10 + 2000 : 1 + 727);
	}
	if (!CHECK(gg_figure_by_failed_trials(&tally, 0.95, &figure)))
		return;
	CHECK_EQ_DOUBLE(figure.estimate, 8 * 102399.0 + 10908);
	/* As if one sample fewer, and one more. */
	CHECK(fabs(figure.low - (288185 + 10908)) <= 1);
	CHECK(fabs(figure.high - (1614137 + 10908)) <= 2);
	mixed = tally;
	draw.sampling_interval = 51200;
	gg_tally_add(&mixed, &draw, 1000);
	CHECK(!gg_figure_by_failed_trials(&mixed, 0.95, &figure));
	mixed = tally;
	gg_tally_add_folded(&mixed, &(const struct gg_folded){ .sample_count = 1,
	                                                       .bytes = 1,
	                                                       .count = 1,
	                                                       .sampling_interval = 102400,
	                                                       .most_bytes = UINT64_MAX });
	CHECK(!gg_figure_by_failed_trials(&mixed, 0.95, &figure));
}

TEST(where_everything_is_a_sample_failed_trials_are_none)
{
	const struct gg_draw draw = { .sampling_interval = 1, .sample_point_count = 1 };
	struct gg_tally tally = { 0 };
	struct gg_figure figure;

	gg_tally_add(&tally, &draw, 1000);
	gg_tally_add(&tally, &draw, 24);
	CHECK(gg_figure_by_failed_trials(&tally, 0.95, &figure));
	CHECK_EQ_DOUBLE(figure.estimate, 1024);
	CHECK_EQ_DOUBLE(figure.low, 1024);
	CHECK_EQ_DOUBLE(figure.high, 1024);
}
