/* SPDX-License-Identifier: Apache-2.0 */
/* test_report_summary - shows which figures the summary of a report has, and when it omits one. */
#include "report/report_summary.h"

#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "made_profile.h"
#include "query/timeline.h"
#include "test.h"

#define SECOND INT64_C(1000000000)
#define MIB    ((int64_t)1 << 20)

static struct made_profile made;
static struct gg_error error;

/* Each allocation is a sample; one process from 0 to 100 s. */
static void begin(void)
{
	made_begin(&made, NULL, 1, 1);
	made.process = made_process(&made, 100, 0, 100 * SECOND);
}

static void hold(int64_t mib, int64_t from_s, int64_t to_s)
{
	made_sample(&made, made_stack(&made, "main"), (uint64_t)(mib * MIB), from_s * SECOND,
	            to_s < 0 ? GG_TIME_NONE : to_s * SECOND);
}

static void add(struct gg_profile_memory *memory)
{
	if (gg_profile_add_memory(made.profile, memory, &error) < 0)
		abort();
}

static struct gg_profile_memory reading(uint32_t process, int64_t time_s, int64_t rss_mib)
{
	struct gg_profile_memory memory = gg_profile_memory_unknown(process, time_s * SECOND);

	memory.rss_bytes = memory.max_rss_bytes = rss_mib * MIB;
	memory.anonymous_bytes = (rss_mib - 4) * MIB;
	memory.file_bytes = 3 * MIB;
	memory.shared_bytes = MIB;
	memory.swap_bytes = 0;
	memory.span_ns = 100000;
	return memory;
}

static void read_rss(uint32_t process, int64_t time_s, int64_t rss_mib)
{
	struct gg_profile_memory memory = reading(process, time_s, rss_mib);

	add(&memory);
}

static struct gg_report_summary summarize(uint32_t pid, int64_t moment_s)
{
	struct gg_report_summary summary;
	struct gg_query query;
	struct gg_model *model;

	gg_query_init(&query);
	query.pid = pid;
	if (moment_s >= 0)
		query.to_ns = moment_s * SECOND;
	if (gg_model_load(&model, &made.profile, 1, NULL, &error) < 0 ||
	    gg_report_summary_of(&summary, model, &query, &error) < 0)
		abort();
	gg_model_free(model);
	gg_profile_close(made.profile);
	return summary;
}

static bool is_mib(double bytes, double mib)
{
	return fabs(bytes / (double)MIB - mib) < 0.01;
}

TEST(the_rest_is_of_the_moment_of_the_reading)
{
	struct gg_profile_memory memory;
	struct gg_report_summary summary;

	begin();
	hold(10, 1, 50);
	hold(5, 1, -1);
	memory = reading(made.process, 40, 30);
	memory.geiger_bytes = 2 * MIB;
	memory.geiger_file_bytes = MIB;
	memory.stack_bytes = MIB;
	add(&memory);
	summary = summarize(0, -1);
	CHECK(is_mib(gg_tally_estimate(&summary.live, GG_BYTES).value, 5)); /* but not at 40 s */
	CHECK(summary.has_rest && summary.resident.time_ns == 40 * SECOND);
	CHECK(is_mib(gg_tally_estimate(&summary.live_then, GG_BYTES).value, 15));
	CHECK(is_mib(summary.resident.file, 3) && is_mib(summary.resident.geiger, 2));
	CHECK(is_mib(gg_report_summary_rest(&summary), 30 - 15 - 3 - 2 - 1));
}

/* Without the dropped samples, the rest would be too large by an unknown number of bytes. */
TEST(there_is_no_rest_where_samples_were_dropped)
{
	struct gg_report_summary summary;

	begin();
	hold(10, 1, -1);
	read_rss(made.process, 40, 30);
	if (gg_profile_put_counter(made.profile, made.process, "samples dropped: live full", 1,
	                           &error) < 0)
		abort();
	summary = summarize(0, -1);
	CHECK(is_mib(gg_tally_estimate(&summary.live_then, GG_BYTES).value, 10));
	CHECK(isnan(gg_report_summary_rest(&summary)));
}

TEST(there_is_no_rest_where_live_memory_changed_while_it_was_read)
{
	struct gg_profile_memory memory;
	struct gg_report_summary summary;

	begin();
	hold(10, 1, 50);
	hold(5, 1, -1);
	memory = reading(made.process, 49, 30);
	memory.span_ns = 2 * SECOND;
	add(&memory);
	summary = summarize(0, -1);
	CHECK_EQ_U64(summary.resident.process_count, 1);
	CHECK(!summary.has_rest);
}

/* Profiles of version 2 do not tell how long a reading took. */
TEST(there_is_no_rest_where_nobody_knows_how_long_a_reading_took)
{
	struct gg_profile_memory memory;
	struct gg_report_summary summary;

	begin();
	hold(5, 1, -1);
	memory = reading(made.process, 40, 30);
	memory.span_ns = memory.max_rss_bytes = -1;
	add(&memory);
	summary = summarize(0, -1);
	CHECK(is_mib(summary.resident.rss, 30) && !summary.has_rest && summary.highest.bytes < 0);
}

TEST(a_reading_stands_beside_the_peak_only_where_as_much_was_live)
{
	struct gg_report_summary summary;

	begin();
	hold(100, 30, 31);
	hold(5, 1, -1);
	read_rss(made.process, 29, 12);
	read_rss(made.process, 40, 12);
	summary = summarize(0, -1);
	CHECK(summary.peak_ns == 30 * SECOND && summary.at_peak.process_count == 0);

	begin();
	hold(100, 30, 36);
	hold(5, 1, -1);
	read_rss(made.process, 29, 12);
	read_rss(made.process, 33, 110);
	read_rss(made.process, 40, 12);
	summary = summarize(0, -1);
	CHECK(summary.at_peak.time_ns == 33 * SECOND && is_mib(summary.at_peak.rss, 110));
}

TEST(the_highest_rss_is_the_kernels_and_not_that_of_readings)
{
	struct gg_profile_memory memory;
	struct gg_report_summary summary;

	begin();
	read_rss(made.process, 10, 12);
	memory = reading(made.process, 20, 12);
	memory.max_rss_bytes = 190 * MIB;
	add(&memory);
	summary = summarize(0, -1);
	CHECK(is_mib(summary.highest.bytes, 190) && !summary.highest.is_of_end);
	CHECK(is_mib(summary.resident.rss, 12));

	begin();
	read_rss(made.process, 10, 12);
	memory = gg_profile_memory_unknown(made.process, 100 * SECOND);
	memory.max_rss_bytes = 191 * MIB;
	add(&memory);
	summary = summarize(0, -1);
	CHECK(is_mib(summary.highest.bytes, 191) && summary.highest.is_of_end);
	CHECK_EQ_I64(summary.resident.time_ns, 10 * SECOND); /* the end is no reading */
}

/* Two processes that share pages, and a third one that lives for a part of the time. */
static void begin_three(uint32_t *ret_second, uint32_t *ret_third)
{
	uint32_t first;

	begin();
	first = made.process;
	*ret_second = made_process(&made, 101, 0, 100 * SECOND);
	*ret_third = made_process(&made, 102, 60 * SECOND, 70 * SECOND);
	made.process = first;
}

static void read_pss(uint32_t process, int64_t time_s, int64_t rss_mib, int64_t pss_mib)
{
	struct gg_profile_memory memory = reading(process, time_s, rss_mib);

	memory.pss_bytes = pss_mib * MIB;
	memory.pss_file_bytes = MIB;
	memory.pss_stack_bytes = 0;
	memory.pss_geiger_bytes = MIB;
	add(&memory);
}

TEST(pages_that_processes_share_count_once)
{
	struct gg_report_summary summary;
	uint32_t second, third;

	begin_three(&second, &third);
	hold(10, 1, -1);
	read_pss(made.process, 40, 50, 28);
	read_pss(second, 40, 50, 26);
	summary = summarize(0, 45);
	CHECK(summary.resident.is_proportional && !summary.resident.is_upper_bound);
	CHECK_EQ_U64(summary.resident.process_count, 2);
	CHECK(is_mib(summary.resident.rss, 54) && is_mib(summary.resident.file, 2));
	CHECK(is_mib(summary.resident.geiger, 2) && summary.has_rest);
	CHECK(is_mib(gg_report_summary_rest(&summary), 54 - 10 - 2 - 2));

	begin_three(&second, &third);
	read_pss(made.process, 40, 50, 28);
	read_rss(second, 40, 50);
	summary = summarize(0, 45);
	CHECK(!summary.resident.is_proportional && summary.resident.is_upper_bound);
	CHECK(!summary.has_rest);
	CHECK(is_mib(summary.resident.rss,
	             100)); /* and the report says that shared pages are in each */

	/* A summary of one process has the RSS of that process. */
	begin_three(&second, &third);
	read_pss(made.process, 40, 50, 28);
	read_pss(second, 40, 51, 26);
	summary = summarize(101, 45);
	CHECK(summary.resident.process_count == 1 && is_mib(summary.resident.rss, 51));
	CHECK(!summary.resident.is_proportional);
	CHECK(!summary.resident.is_upper_bound);
}

TEST(a_round_without_a_process_that_lived_has_no_rest)
{
	struct gg_report_summary summary;
	uint32_t second, third;

	begin_three(&second, &third);
	read_pss(made.process, 62, 50, 28);
	read_pss(second, 62, 50, 26);
	summary = summarize(0, 65);
	CHECK_EQ_U64(summary.resident.process_count, 2);
	CHECK_EQ_U64(summary.resident.living_count, 3);
	CHECK(summary.resident.is_upper_bound && is_mib(summary.resident.rss, 100));
	CHECK(!summary.has_rest);

	/* A whole one a little before is better. */
	begin_three(&second, &third);
	read_pss(made.process, 58, 50, 28);
	read_pss(second, 58, 50, 26);
	read_pss(made.process, 62, 50, 28);
	read_pss(second, 62, 50, 26);
	summary = summarize(0, 65);
	CHECK(summary.resident.time_ns == 58 * SECOND && summary.has_rest);
}

/*
 * Two processes share 40 MiB.  The Pss of both was read at 10 s and 80 s, that of two of three at
 * 62 s, and that of one at 40 s.  A share that was read earlier does not give the sum at a later
 * moment.
 */
TEST(report_and_timeline_show_the_same_at_each_moment)
{
	static const struct {
		int64_t moment_s;
		double mib;
		bool is_upper_bound;
	} shown[] = { { 0, -1, false },  { 10, 60, false }, { 12, 60, false }, { 40, 102, true },
		      { 64, 153, true }, { 80, 66, false }, { 90, 66, false } };
	struct gg_timeline *timeline;
	struct gg_model *model;
	uint32_t second, third;

	begin_three(&second, &third);
	read_pss(made.process, 10, 50, 30);
	read_pss(second, 10, 50, 30);
	read_pss(made.process, 40, 51, 29);
	read_rss(second, 40, 51);
	read_pss(made.process, 62, 51, 20);
	read_pss(second, 62, 51, 20);
	read_rss(third, 62, 51);
	read_pss(made.process, 80, 52, 33);
	read_pss(second, 80, 52, 33);
	if (gg_model_load(&model, &made.profile, 1, NULL, &error) < 0 ||
	    gg_timeline_run(model, 0, 51, 0.95, &timeline, &error) < 0)
		abort();
	for (size_t i = 0; i < GG_COUNT(shown); i++) {
		const struct gg_timeline_point *point = &timeline->points[shown[i].moment_s / 2];
		struct gg_query query;
		struct gg_report_summary summary;

		gg_query_init(&query);
		query.to_ns = shown[i].moment_s * SECOND;
		CHECK_EQ_I64(gg_report_summary_of(&summary, model, &query, &error), 0);
		CHECK_EQ_I64(point->time_ns, query.to_ns);
		CHECK(shown[i].mib < 0 ? point->rss_bytes < 0 && summary.resident.rss < 0
		                       : is_mib(point->rss_bytes, shown[i].mib) &&
		                                 is_mib(summary.resident.rss, shown[i].mib));
		CHECK(point->is_rss_upper_bound == shown[i].is_upper_bound &&
		      summary.resident.is_upper_bound == shown[i].is_upper_bound);
	}
	/* The third ended at 70 s: the others hold at most what they held at the reading. */
	CHECK(is_mib(timeline->points[36].rss_bytes, 102));
	CHECK(timeline->points[36].is_rss_upper_bound);
	CHECK(is_mib(timeline->rss_peak_bytes, 153) && timeline->is_rss_peak_upper_bound);
	gg_timeline_free(timeline);
	gg_model_free(model);
	gg_profile_close(made.profile);
}
