/* SPDX-License-Identifier: Apache-2.0 */
/* test_stats_wanted_error - the interval that is suggested gives at least the wanted precision. */
#include "stats/estimate/wanted_error.h"

#include <math.h>

#include "test.h"

/* Half the width of the confidence interval of `count` blocks, as a share of their bytes. */
static double error_at(double size_bytes, double count, double interval_bytes)
{
	return 1.959964 / sqrt(count * expm1(size_bytes / interval_bytes));
}

static struct gg_estimate estimate_of(double size_bytes, double count, double interval_bytes)
{
	return (struct gg_estimate){
		.value = size_bytes * count,
		.variance = count * size_bytes * size_bytes / expm1(size_bytes / interval_bytes),
	};
}

TEST(small_blocks_get_exactly_the_wanted_error)
{
	struct gg_estimate estimate = estimate_of(16, 1e6, 524288);
	double interval = gg_wanted_error_interval(&estimate, 524288, 0.1, 0.95);

	CHECK_MSG(fabs(error_at(16, 1e6, interval) - 0.1) < 1e-4, "%g", interval);
}

TEST(blocks_of_any_size_get_at_least_the_wanted_precision)
{
	for (double size = 1; size < 1e7; size *= 10)
		for (double count = 1; count < 1e7; count *= 10) {
			struct gg_estimate estimate = estimate_of(size, count, 524288);
			double interval = gg_wanted_error_interval(&estimate, 524288, 0.1, 0.95);

			CHECK_MSG(error_at(size, count, interval) < 0.1 * 1.001,
			          "%g blocks of %g bytes: %g", count, size, interval);
		}
}

TEST(an_estimate_that_is_good_enough_keeps_its_sampling_interval)
{
	struct gg_estimate estimate = estimate_of(1e6, 1000, 524288);

	CHECK_EQ_DOUBLE(gg_wanted_error_interval(&estimate, 524288, 0.5, 0.95), 524288);
}

TEST(intervals_are_rounded_down_to_two_binary_digits)
{
	CHECK_EQ_DOUBLE(gg_wanted_error_round(1), 1);
	CHECK_EQ_DOUBLE(gg_wanted_error_round(3.9), 3);
	CHECK_EQ_DOUBLE(gg_wanted_error_round(32768), 32768);
	CHECK_EQ_DOUBLE(gg_wanted_error_round(40959), 32768);
	CHECK_EQ_DOUBLE(gg_wanted_error_round(40960), 40960);
	CHECK_EQ_DOUBLE(gg_wanted_error_round(65535), 57344);
}
