/* SPDX-License-Identifier: Apache-2.0 */
/* test_profile_memory - shows which readings stay when old ones are thinned out. */
#include "profile/profile.h"
#include "test.h"

static struct gg_error error;

#define OK(call) CHECK_MSG((call) >= 0, "%s: %s: %s", #call, error.place, error.message)

struct rows {
	int count;
	int64_t least, most; /* of the session's RSS */
	int64_t times_sum;
};

static int count_rows(const struct gg_profile_memory *memory, void *context)
{
	struct rows *rows = context;

	rows->count++;
	rows->times_sum += memory->time_ns;
	if (memory->process != 0 || memory->rss_bytes < 0)
		return 0;
	rows->least = rows->least == 0 || memory->rss_bytes < rows->least ? memory->rss_bytes
	                                                                  : rows->least;
	rows->most = memory->rss_bytes > rows->most ? memory->rss_bytes : rows->most;
	return 0;
}

static struct rows read_rows(struct gg_profile *profile)
{
	struct rows rows = { 0 };

	OK(gg_profile_each_memory(profile, count_rows, &rows, &error));
	return rows;
}

static void add_round(struct gg_profile *profile, int64_t time_ns, int64_t rss_bytes)
{
	for (uint32_t process = 0; process < 2; process++) {
		struct gg_profile_memory memory = gg_profile_memory_unknown(process, time_ns);

		memory.rss_bytes = rss_bytes;
		if (time_ns % 100 == 50)
			memory.pss_bytes = rss_bytes;
		OK(gg_profile_add_memory(profile, &memory, &error));
	}
}

TEST(each_bucket_keeps_its_extremes)
{
	struct gg_profile *profile = NULL;
	struct gg_profile_memory last = gg_profile_memory_unknown(1, 150);
	int64_t after_id = 0;
	struct rows rows;

	REQUIRE(gg_profile_create(&profile, NULL, &error) == 0);
	/* Two buckets of 100 ns to thin out, and one that stays. */
	for (int64_t time_ns = 0; time_ns < 300; time_ns += 10)
		add_round(profile, time_ns,
		          time_ns == 70    ? 9000
		          : time_ns == 130 ? 10
		          : time_ns == 180 ? 8000
		                           : 1000 + time_ns);
	last.max_rss_bytes = 9500; /* ru_maxrss of a process that ended */
	OK(gg_profile_add_memory(profile, &last, &error));
	CHECK_EQ_I64(read_rows(profile).count, 61);
	OK(gg_profile_thin_memory(profile, 200, 100, &after_id, &error));
	rows = read_rows(profile);
	/* 0, 50, 70; 130, 150, 180; ten rounds; and the row without RSS */
	CHECK_EQ_I64(rows.count, 2 * (3 + 3 + 10) + 1);
	CHECK(rows.least == 10 && rows.most == 9000);
	CHECK_EQ_I64(rows.times_sum, 2 * (0 + 50 + 70 + 130 + 150 + 180 + 2450) + 150);
	/* Nothing is new, so nothing changes; then the third bucket follows. */
	OK(gg_profile_thin_memory(profile, 200, 100, &after_id, &error));
	CHECK_EQ_I64(read_rows(profile).count, rows.count);
	add_round(profile, 300, 1);
	OK(gg_profile_thin_memory(profile, 300, 100, &after_id, &error));
	CHECK_EQ_I64(read_rows(profile).count, 2 * (3 + 3 + 3 + 1) + 1);
	gg_profile_close(profile);
}
