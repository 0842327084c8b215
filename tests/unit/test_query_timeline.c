/* SPDX-License-Identifier: Apache-2.0 */
/* test_query_timeline - shows the points of a timeline, their peaks, and their RSS. */
#include "query/timeline.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "made_profile.h"
#include "test.h"

#define SECOND INT64_C(1000000000)
#define MIB    (1 << 20)

/* Two processes: 0 to 100 s, and 40 to 60 s. */
static void begin(struct made_profile *made, uint32_t *ret_first, uint32_t *ret_second)
{
	made_begin(made, NULL, 4096, 1);
	*ret_first = made_process(made, 100, 0, 100 * SECOND);
	*ret_second = made_process(made, 101, 40 * SECOND, 60 * SECOND);
}

static struct gg_timeline *run(struct made_profile *made, uint32_t pid, size_t points)
{
	struct gg_timeline *timeline = NULL;
	struct gg_model *model;
	struct gg_error error;

	if (gg_model_load(&model, &made->profile, 1, NULL, &error) < 0 ||
	    gg_timeline_run(model, pid, points, 0.95, &timeline, &error) < 0)
		abort();
	gg_model_free(model);
	gg_profile_close(made->profile);
	return timeline;
}

static void add_rss(struct made_profile *made, uint32_t process, int64_t time_s, int64_t mib)
{
	struct gg_profile_memory memory = gg_profile_memory_unknown(process, time_s * SECOND);
	struct gg_error error;

	memory.rss_bytes = mib * MIB;
	if (gg_profile_add_memory(made->profile, &memory, &error) < 0)
		abort();
}

static bool about(double bytes, double mib)
{
	return fabs(bytes / MIB - mib) < 1e-3;
}

TEST(points_are_spread_from_the_start_to_the_end)
{
	struct made_profile made;
	struct gg_timeline *timeline;
	uint32_t first, second;

	begin(&made, &first, &second);
	timeline = run(&made, 0, 11);
	for (size_t i = 0; i < 11; i++) {
		CHECK_EQ_I64(timeline->points[i].time_ns, (int64_t)i * 10 * SECOND);
		CHECK(timeline->points[i].live_bytes == 0 && timeline->points[i].rss_bytes < 0);
	}
	CHECK(timeline->rss_peak_bytes < 0);
	gg_timeline_free(timeline);
}

TEST(a_peak_between_two_points_is_in_the_later_one)
{
	struct made_profile made;
	struct gg_timeline *timeline;
	uint32_t first, second, stack;

	begin(&made, &first, &second);
	made.process = first;
	stack = made_stack(&made, "main>load");
	made_sample(&made, stack, MIB, 5 * SECOND, GG_TIME_NONE);
	made_sample(&made, stack, 2 * MIB, 31 * SECOND, 39 * SECOND);
	timeline = run(&made, 0, 11);
	CHECK(about(timeline->points[0].live_bytes, 0) && about(timeline->points[1].live_bytes, 1));
	CHECK(about(timeline->points[4].live_bytes, 1) && about(timeline->points[4].most_bytes, 3));
	CHECK(about(timeline->points[5].most_bytes, 1));
	CHECK(timeline->peak_ns == 31 * SECOND && about(timeline->peak.live_bytes, 3));
	CHECK(timeline->peak.low <= timeline->peak.live_bytes &&
	      timeline->peak.high >= timeline->peak.live_bytes);
	gg_timeline_free(timeline);
}

TEST(rss_is_that_of_all_processes_alive)
{
	struct made_profile made;
	struct gg_timeline *timeline;
	uint32_t first, second;

	begin(&made, &first, &second);
	add_rss(&made, first, 1, 10);
	add_rss(&made, first, 12, 30);
	add_rss(&made, first, 18, 20);
	add_rss(&made, first, 41, 20); /* a round reads all */
	add_rss(&made, second, 41, 5);
	timeline = run(&made, 0, 11);
	CHECK(timeline->points[0].rss_bytes < 0 && about(timeline->points[1].rss_bytes, 10));
	CHECK(about(timeline->points[2].rss_bytes, 30)); /* its largest reading */
	CHECK(about(timeline->points[3].rss_bytes, 20));
	CHECK(about(timeline->points[5].rss_bytes, 25) && about(timeline->points[6].rss_bytes, 25));
	CHECK(timeline->points[5].is_rss_upper_bound && !timeline->points[3].is_rss_upper_bound);
	CHECK(about(timeline->points[7].rss_bytes, 20) && !timeline->points[7].is_rss_upper_bound);
	CHECK(!timeline->is_rss_peak_upper_bound);
	CHECK(about(timeline->rss_peak_bytes, 30) && timeline->rss_peak_ns == 12 * SECOND);
	gg_timeline_free(timeline);
}

static void add_shared(struct made_profile *made, uint32_t process, int64_t rss_mib,
                       int64_t pss_mib)
{
	struct gg_profile_memory memory = gg_profile_memory_unknown(process, 50 * SECOND);
	struct gg_error error;

	memory.rss_bytes = rss_mib * MIB;
	memory.pss_bytes = pss_mib * MIB;
	memory.pss_file_bytes = 0;
	if (gg_profile_add_memory(made->profile, &memory, &error) < 0)
		abort();
}

/* Other programs share the pages of the first process, whose plain size exceeds the sum of Pss. */
TEST(no_point_shows_more_rss_than_the_largest)
{
	struct made_profile made;
	struct gg_timeline *timeline;
	uint32_t first, second;

	begin(&made, &first, &second);
	add_shared(&made, first, 20, 4);
	add_shared(&made, second, 16, 10);
	timeline = run(&made, 0, 11);
	CHECK(about(timeline->rss_peak_bytes, 14) && !timeline->is_rss_peak_upper_bound);
	CHECK(about(timeline->points[6].rss_bytes, 14) && !timeline->points[6].is_rss_upper_bound);
	CHECK(about(timeline->points[7].rss_bytes, 14) && timeline->points[7].is_rss_upper_bound);
	gg_timeline_free(timeline);
}

TEST(one_process_has_its_own_life)
{
	struct made_profile made;
	struct gg_timeline *timeline;
	uint32_t first, second, stack;

	begin(&made, &first, &second);
	stack = made_stack(&made, "main>load");
	made.process = first;
	made_sample(&made, stack, MIB, 5 * SECOND, GG_TIME_NONE);
	made.process = second;
	made_sample(&made, stack, 4 * MIB, 50 * SECOND, GG_TIME_NONE);
	add_rss(&made, first, 1, 10);
	add_rss(&made, second, 45, 5);
	timeline = run(&made, 101, 5);
	CHECK_EQ_I64(timeline->points[0].time_ns, 40 * SECOND);
	CHECK_EQ_I64(timeline->points[4].time_ns, 60 * SECOND);
	CHECK(about(timeline->points[1].live_bytes, 0) && about(timeline->points[3].live_bytes, 4));
	CHECK(about(timeline->points[4].rss_bytes, 5) && about(timeline->rss_peak_bytes, 5));
	gg_timeline_free(timeline);
}

TEST(an_unknown_process_is_refused)
{
	struct made_profile made;
	struct gg_timeline *timeline;
	struct gg_model *model;
	struct gg_error error;
	uint32_t first, second;

	begin(&made, &first, &second);
	CHECK_EQ_I64(gg_model_load(&model, &made.profile, 1, NULL, &error), 0);
	CHECK_EQ_I64(gg_timeline_run(model, 7, 5, 0.95, &timeline, &error), -EINVAL);
	gg_model_free(model);
	gg_profile_close(made.profile);
}
