/* SPDX-License-Identifier: Apache-2.0 */
/* test_record_view_times - tests that periods of rates begin with a view. */
#include "record/regions/view_times.h"

#include "profile/records.h"
#include "test.h"

#define SECOND INT64_C(1000000000)
#define LENGTH (10 * SECOND)

TEST(without_two_views_there_is_no_period)
{
	struct gg_view_times times = { 0 };

	CHECK_EQ_I64(gg_view_times_before(&times, LENGTH), GG_TIME_NONE);
	gg_view_times_add(&times, 5 * SECOND);
	CHECK_EQ_I64(gg_view_times_before(&times, LENGTH), GG_TIME_NONE);
}

/* A period has whole gaps between views: 12 s with a view each 3 s, and 14 s with one each 7 s. */
TEST(a_period_begins_with_the_newest_view_that_is_old_enough)
{
	static const struct {
		int64_t gap_ns, period_ns;
	} cases[] = { { SECOND, 10 * SECOND },
		      { 3 * SECOND, 12 * SECOND },
		      { 7 * SECOND, 14 * SECOND },
		      { 60 * SECOND, 60 * SECOND } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct gg_view_times times = { 0 };

		for (int64_t view = 0; view < 3 * GG_VIEW_TIMES_MAX; view++) {
			int64_t now_ns = SECOND / 3 + view * cases[i].gap_ns, from_ns;

			gg_view_times_add(&times, now_ns);
			if (view < 10)
				continue;
			from_ns = gg_view_times_before(&times, LENGTH);
			CHECK_EQ_I64(now_ns - from_ns, cases[i].period_ns);
		}
	}
}

TEST(a_young_watch_has_the_period_since_its_first_view)
{
	struct gg_view_times times = { 0 };

	for (int64_t second = 100; second < 110; second++) {
		gg_view_times_add(&times, second * SECOND);
		if (second > 100)
			CHECK_EQ_I64(gg_view_times_before(&times, LENGTH), 100 * SECOND);
	}
}
