/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_query_why - shows that the rows of RSS add up to it exactly, whatever a look says, and that
 * they are exact if every allocation was sampled.
 */
#include "query/why.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "query/pinned.h"
#include "query/why_profile.h"
#include "stats/estimate/interval.h"
#include "stats/sampling/rng.h"
#include "test.h"

enum { PAGE = 4096, MIB = 1 << 20 };

static const struct gg_why_row *find(const gg_why_row_array *rows, const char *name)
{
	for (size_t i = 0; i < rows->count; i++)
		if (strcmp(rows->items[i].name, name) == 0)
			return &rows->items[i];
	return NULL;
}

/* The bytes of the row with that detail. */
static double detailed(const gg_why_row_array *rows, const char *detail)
{
	for (size_t i = 0; i < rows->count; i++)
		if (rows->items[i].detail != NULL && strcmp(rows->items[i].detail, detail) == 0)
			return rows->items[i].bytes;
	return -1;
}

static double bytes_of(const struct gg_why *why, const char *name)
{
	const struct gg_why_row *row = find(&why->rows, name);

	return row != NULL ? row->bytes : 0;
}

/* Checks what holds for every table. */
static void check(const struct gg_why *why)
{
	double sum = 0;

	for (size_t i = 0; i < why->rows.count; i++) {
		const struct gg_why_row *row = &why->rows.items[i];

		CHECK_MSG(row->bytes == floor(row->bytes), "%s: %.17g bytes", row->name,
		          row->bytes);
		CHECK_MSG(0 <= row->low && row->low <= row->bytes && row->bytes <= row->high &&
		                  row->high <= (double)why->rss_bytes,
		          "%s: %.17g (%.17g-%.17g) of %.17g", row->name, row->bytes, row->low,
		          row->high, (double)why->rss_bytes);
		CHECK_MSG(row->certainty != GG_WHY_EXACT || row->low == row->high, "%s: %g to %g",
		          row->name, row->low, row->high);
		sum += row->bytes;
	}
	CHECK_EQ_DOUBLE(sum, (double)why->rss_bytes);
}

static struct gg_why_sample sample_of(double interval, uint64_t size, uint64_t slack)
{
	return (struct gg_why_sample){
		.draw = { .sampling_interval = interval, .sample_point_count = 1 },
		.size_bytes = size,
		.slack_bytes = slack,
		.is_seen = true,
		.resident_bytes = (int64_t)(size + slack),
		.pinned_bytes = -1,
		.returnable_bytes = -1,
	};
}

struct made {
	struct gg_profile_look look;
	struct gg_profile_look_mapping mappings[GG_MAPPING_KIND_COUNT];
	struct gg_profile_look_total totals[16];
	struct gg_why_sample samples[512];
	struct gg_why_input input;
};

static void total(struct made *made, const char *name, int64_t bytes)
{
	made->totals[made->input.total_count++] = (struct gg_profile_look_total){ .name = name,
		                                                                  .bytes = bytes };
}

static void begin(struct made *made, double interval)
{
	*made = (struct made){ .look = { .process = 1,
		                         .pss_bytes = -1,
		                         .swap_bytes = -1,
		                         .cgroup_anonymous_bytes = -1,
		                         .cgroup_file_bytes = -1,
		                         .cgroup_kernel_bytes = -1,
		                         .allocator = "glibc" } };
	made->input = (struct gg_why_input){ .look = &made->look,
		                             .mappings = made->mappings,
		                             .totals = made->totals,
		                             .samples = made->samples,
		                             .has_agent = true,
		                             .confidence = 0.95 };
	gg_tally_expose(&made->input.live, interval);
	total(made, "glibc.fast", 0);
	total(made, "glibc.cached", 0);
}

static struct gg_profile_look_mapping *map(struct made *made, enum gg_mapping_kind kind,
                                           int64_t rss_bytes)
{
	struct gg_profile_look_mapping *mapping = &made->mappings[made->input.mapping_count++];

	*mapping = (struct gg_profile_look_mapping){ .kind = kind,
		                                     .mapping_count = 1,
		                                     .rss_bytes = rss_bytes };
	return mapping;
}

static void put(struct made *made, struct gg_why_sample sample)
{
	made->samples[made->input.sample_count++] = sample;
	made->look.live_count++;
	made->look.chosen_count += sample.is_seen;
	if (!sample.is_mapping)
		gg_tally_add(&made->input.live, &sample.draw, sample.size_bytes);
}

static struct gg_why divide(const struct made *made)
{
	struct gg_error error;
	struct gg_why why;

	REQUIRE(gg_why_of_look(&why, &made->input, &error) == 0);
	check(&why);
	return why;
}

TEST(every_row_is_exact_if_every_allocation_was_sampled)
{
	struct made made;
	struct gg_why why;

	begin(&made, 1);
	map(&made, GG_MAPPING_HEAP, 100 * PAGE);
	map(&made, GG_MAPPING_STACK, 3 * PAGE);
	map(&made, GG_MAPPING_FILE, 5 * PAGE)->name = "/lib/libc.so.6";
	for (int i = 0; i < 100; i++) {
		struct gg_why_sample sample = sample_of(1, 1000, 8);

		sample.pinned_bytes = 500;
		put(&made, sample);
	}
	total(&made, "glibc.returnable", 10 * PAGE);
	made.look.thread_count = 3;
	why = divide(&made);
	CHECK_EQ_DOUBLE(bytes_of(&why, "live"), 100000);
	CHECK_EQ_DOUBLE(bytes_of(&why, "rounding"), 800);
	CHECK_EQ_DOUBLE(bytes_of(&why, "metadata"), 800);
	CHECK_EQ_DOUBLE(bytes_of(&why, "pinned"), 50000);
	CHECK_EQ_DOUBLE(bytes_of(&why, "returnable"), 10 * PAGE);
	CHECK_EQ_DOUBLE(bytes_of(&why, "rest"),
	                100 * PAGE - 100000 - 800 - 800 - 50000 - 10 * PAGE);
	CHECK_EQ_STR(find(&why.rows, "files")->detail, "largest: /lib/libc.so.6");
	CHECK_EQ_STR(find(&why.rows, "stacks")->detail, "of 3 threads");
	for (size_t i = 0; i < why.rows.count; i++)
		CHECK_MSG(why.rows.items[i].certainty == GG_WHY_EXACT, "%s",
		          why.rows.items[i].name);
	gg_why_done(&why);
}

TEST(live_memory_that_is_not_resident_stands_beside)
{
	struct gg_why_sample half = sample_of(1, 4 * PAGE, 0), away = sample_of(1, PAGE, 0);
	struct made made;
	struct gg_why why;

	begin(&made, 1);
	map(&made, GG_MAPPING_MALLOC, 2 * PAGE + PAGE);
	half.resident_bytes = 2 * PAGE;
	away.resident_bytes = 0;
	away.swapped_bytes = PAGE;
	put(&made, half);
	put(&made, away);
	why = divide(&made);
	CHECK_EQ_DOUBLE(bytes_of(&why, "live"), 2 * PAGE);
	CHECK_EQ_DOUBLE(find(&why.beside, "live-not-resident")->bytes, 2 * PAGE);
	CHECK_EQ_DOUBLE(find(&why.beside, "live-swapped")->bytes, PAGE);
	CHECK(find(&why.rows, "swap") == NULL);
	gg_why_done(&why);
}

TEST(without_residency_live_memory_is_a_bound)
{
	struct gg_why_sample sample = sample_of(1, PAGE, 0);
	struct made made;
	struct gg_why why;

	begin(&made, 1);
	made.look.reason = "the page table may not be read";
	map(&made, GG_MAPPING_HEAP, 2 * PAGE);
	sample.is_seen = false;
	sample.resident_bytes = -1;
	put(&made, sample);
	why = divide(&made);
	CHECK_EQ_I64(find(&why.rows, "live")->certainty, GG_WHY_BOUND);
	CHECK_EQ_DOUBLE(find(&why.rows, "live")->low, 0);
	CHECK_EQ_DOUBLE(find(&why.rows, "live")->high, PAGE);
	CHECK_EQ_DOUBLE(find(&why.rows, "rest")->high, 2 * PAGE);
	CHECK_EQ_STR(why.reason, "the page table may not be read");
	gg_why_done(&why);
}

TEST(without_an_agent_the_heap_is_one_row)
{
	struct made made;
	struct gg_why why;

	begin(&made, 0);
	made.input.has_agent = false;
	map(&made, GG_MAPPING_HEAP, 2 * PAGE);
	map(&made, GG_MAPPING_ARENA, 3 * PAGE)->lazy_free_bytes = PAGE;
	map(&made, GG_MAPPING_SHARED, PAGE);
	why = divide(&made);
	CHECK_EQ_DOUBLE(bytes_of(&why, "heap"), 4 * PAGE);
	CHECK_EQ_DOUBLE(bytes_of(&why, "lazy-free"), PAGE);
	CHECK(find(&why.rows, "live") == NULL && find(&why.rows, "rest") == NULL);
	CHECK(why.reason != NULL && isnan(why.pinned_ratio));
	gg_why_done(&why);
}

TEST(an_estimate_above_the_heap_is_reduced_inside_its_interval)
{
	struct made made;
	struct gg_why why;
	const struct gg_why_row *live, *rest;

	begin(&made, 64 * PAGE);
	for (int i = 0; i < 40; i++)
		put(&made, sample_of(64 * PAGE, 64, 8));
	map(&made, GG_MAPPING_HEAP, 39 * 64 * PAGE);
	why = divide(&made);
	live = find(&why.rows, "live");
	rest = find(&why.rows, "rest");
	CHECK(live->certainty == GG_WHY_INTERVAL && live->low < live->bytes);
	CHECK_EQ_DOUBLE(rest->bytes, 0);
	CHECK(rest->high > 0 && why.reason == NULL);
	gg_why_done(&why);
}

/* 40 samples of 64 bytes that keep 2000 bytes each. */
static void add_keepers(struct made *made)
{
	begin(made, 1024);
	for (int i = 0; i < 40; i++) {
		struct gg_why_sample sample = sample_of(1024, 64, 8);

		sample.pinned_bytes = 2000;
		put(made, sample);
	}
}

TEST(pinned_memory_is_that_of_reports_unless_rows_must_add_up)
{
	const double bytes = 40 * 2000 / -expm1(-64.0 / 1024);
	struct gg_pinned_scope scope = { .hides = true, .limit_bytes = -1 };
	const struct gg_looked_value looked = { .chance = 1, .value = 2000, .value_max = 2000 };
	const struct gg_why_row *pinned;
	struct gg_interval interval;
	struct gg_tally tally = { 0 };
	struct made made;
	struct gg_why why;

	add_keepers(&made);
	map(&made, GG_MAPPING_HEAP, 1024 * PAGE);
	why = divide(&made);
	pinned = find(&why.rows, "pinned");
	for (int i = 0; i < 40; i++)
		gg_tally_add_value(&tally, &made.samples[i].draw, 64, &looked);
	gg_pinned_scope_expose(&scope, &tally);
	interval = gg_interval_of(&tally, GG_BYTES, 0.95, false);
	CHECK_EQ_DOUBLE(pinned->bytes, round(bytes));
	CHECK_EQ_DOUBLE(pinned->low, floor(interval.low));
	CHECK_EQ_DOUBLE(pinned->high, ceil(interval.high));
	CHECK(strcmp(pinned->detail, "free, on pages that live blocks hold") == 0);
	gg_why_done(&why);
	add_keepers(&made);
	map(&made, GG_MAPPING_HEAP, 300 * PAGE);
	why = divide(&made);
	pinned = find(&why.rows, "pinned");
	CHECK(pinned->bytes < bytes);
	CHECK_MSG(strstr(pinned->detail, "; reduced from 1.26 MiB so that rows add up") != NULL,
	          "%s", pinned->detail);
	gg_why_done(&why);
}

/* A walk that could not read everything is no exact total. */
TEST(pinned_memory_is_exact_after_a_whole_walk_alone)
{
	struct made made;
	struct gg_why why;

	for (int64_t unread = 0; unread <= 16; unread += 16) {
		add_keepers(&made);
		map(&made, GG_MAPPING_HEAP, 1024 * PAGE);
		total(&made, "glibc.pinned", MIB);
		total(&made, "glibc.unread", unread);
		why = divide(&made);
		CHECK_EQ_I64(find(&why.rows, "pinned")->certainty,
		             unread > 0 ? GG_WHY_INTERVAL : GG_WHY_EXACT);
		gg_why_done(&why);
	}
}

static const struct gg_why_row *pinned_without(struct made *made, struct gg_why *why,
                                               const char *missing)
{
	const struct gg_why_row *row;

	for (size_t i = 0; i < made->input.total_count; i++)
		if (strcmp(made->totals[i].name, missing) == 0)
			made->totals[i].name = "of another release";
	*why = divide(made);
	row = find(&why->rows, "returnable");
	CHECK(row->certainty == GG_WHY_BOUND && row->low >= 2 * MIB && row->high > 3 * MIB);
	return find(&why->rows, "pinned");
}

/* Chunks in fast bins and caches look in use, so more is free than the look shows. */
TEST(pinned_and_returnable_memory_are_bounds_unless_all_free_chunks_are_known)
{
	static const char *const missing[] = { "glibc.fast", "glibc.cached" };
	const struct gg_why_row *row;
	struct made made;
	struct gg_why why;

	for (size_t i = 0; i < GG_COUNT(missing); i++) {
		add_keepers(&made);
		map(&made, GG_MAPPING_HEAP, 1024 * PAGE);
		total(&made, "glibc.pinned", MIB);
		total(&made, "glibc.returnable", 2 * MIB);
		row = pinned_without(&made, &why, missing[i]);
		CHECK(row->certainty == GG_WHY_BOUND && row->low == 0 && row->high > MIB);
		gg_why_done(&why);
	}
}

/* Memory around blocks that live for certain is a lower end. */
TEST(pinned_memory_without_a_walk_has_the_lower_end_of_its_estimate)
{
	const struct gg_why_row *row;
	struct gg_why known, why;
	struct made made;

	add_keepers(&made);
	map(&made, GG_MAPPING_HEAP, 1024 * PAGE);
	known = divide(&made);
	made.totals[0].name = "of another release";
	why = divide(&made);
	row = find(&why.rows, "pinned");
	CHECK(row->certainty == GG_WHY_BOUND && row->low > 0);
	CHECK(row->low == find(&known.rows, "pinned")->low);
	CHECK(row->high > 2 * find(&known.rows, "pinned")->high);
	gg_why_done(&known);
	gg_why_done(&why);
}

TEST(cached_memory_is_exact_if_all_free_chunks_are_known)
{
	struct made made;
	struct gg_why why;
	const struct gg_why_row *row;

	add_keepers(&made);
	map(&made, GG_MAPPING_HEAP, 1024 * PAGE);
	total(&made, "glibc.pinned", MIB);
	made.totals[1].bytes = 12345;
	why = divide(&made);
	row = find(&why.rows, "caches");
	CHECK(row->certainty == GG_WHY_EXACT && row->bytes == 12345);
	gg_why_done(&why);
	made.totals[0].name = "of another release";
	why = divide(&made);
	CHECK(find(&why.rows, "caches")->certainty == GG_WHY_BOUND);
	gg_why_done(&why);
}

TEST(a_walk_during_which_the_heap_changed_is_no_exact_total)
{
	struct made made;
	struct gg_why why;
	const struct gg_why_row *row;

	begin(&made, 1);
	map(&made, GG_MAPPING_HEAP, 60 * MIB);
	put(&made, sample_of(1, 20 * MIB, 0));
	total(&made, "glibc.in-use", 20 * MIB);
	total(&made, "glibc.pinned", 5 * MIB);
	total(&made, "glibc.returnable", 15 * MIB);
	total(&made, "glibc.headers", MIB);
	total(&made, "glibc.unread", 3 * MIB);
	total(&made, "glibc.changed", MIB);
	why = divide(&made);
	row = find(&why.rows, "pinned");
	/* A byte in use keeps one that is free. */
	CHECK(row->bytes == 5 * MIB && row->low == 3 * MIB && row->high == 10 * MIB);
	CHECK(row->certainty == GG_WHY_INTERVAL);
	row = find(&why.rows, "returnable");
	CHECK(row->bytes == 15 * MIB && row->low == 13 * MIB && row->high == 20 * MIB);
	gg_why_done(&why);
}

/* --- what changes during the look --- */

static void add_readings(struct made *made, int64_t before, int64_t after, int64_t stayed,
                         int64_t gone)
{
	total(made, "look.live-before", before);
	total(made, "look.live-after", after);
	total(made, "look.live-stayed", stayed);
	total(made, "look.live-deviation", 0);
	total(made, "look.gone", gone);
}

/* One block of 20 MiB in a heap of 60 MiB. */
static void begin_large(struct made *made)
{
	begin(made, 1);
	map(made, GG_MAPPING_HEAP, 60 * MIB);
	put(made, sample_of(1, 20 * MIB, 0));
}

TEST(live_memory_without_history_is_what_the_readings_around_rss_show)
{
	struct made made;
	struct gg_why why;
	const struct gg_why_row *live;

	begin_large(&made);
	add_readings(&made, 24 * MIB, 26 * MIB, 21 * MIB, 0);
	why = divide(&made);
	live = find(&why.rows, "live");
	CHECK(live->bytes == 25 * MIB && live->low == 21 * MIB && live->high == 29 * MIB);
	CHECK_EQ_STR(live->detail, "resident blocks; many were freed during the look");
	gg_why_done(&why);
}

/* 3 of 26 MiB are newer than the first reading; of these, 1 MiB is younger than RSS. */
TEST(new_memory_is_live_if_it_is_older_than_rss)
{
	struct made made;
	struct gg_why why;
	const struct gg_why_row *live;

	begin_large(&made);
	add_readings(&made, 27 * MIB, 26 * MIB, 23 * MIB, 0);
	total(&made, "look.live-new", 2 * MIB);
	total(&made, "look.live-unseen", MIB);
	why = divide(&made);
	live = find(&why.rows, "live");
	CHECK(live->bytes == 27 * MIB && live->low == 25 * MIB && live->high == 30 * MIB);
	gg_why_done(&why);
}

/* 4 MiB came while the kernel counted RSS, page by page: any part of them may be in it. */
TEST(memory_that_came_while_rss_was_counted_is_unsure)
{
	struct made made;
	struct gg_why why;
	const struct gg_why_row *live;

	begin_large(&made);
	add_readings(&made, 20 * MIB, 26 * MIB, 20 * MIB, 0);
	total(&made, "look.live-new", 2 * MIB);
	total(&made, "look.live-new-unsure", 4 * MIB);
	why = divide(&made);
	live = find(&why.rows, "live");
	CHECK(live->bytes == 24 * MIB && live->low == 22 * MIB && live->high == 26 * MIB);
	gg_why_done(&why);
}

/* The heap holds 2 MiB less than may be live: they came after their pages were counted. */
TEST(memory_that_came_while_rss_was_counted_may_not_be_in_it)
{
	struct made made;
	struct gg_why why;
	const struct gg_why_row *live;

	begin(&made, 1);
	made.look.rss_bytes = 32 * MIB;
	map(&made, GG_MAPPING_HEAP, 24 * MIB);
	map(&made, GG_MAPPING_FILE, 8 * MIB);
	put(&made, sample_of(1, 20 * MIB, 0));
	add_readings(&made, 20 * MIB, 26 * MIB, 20 * MIB, 0);
	total(&made, "look.live-new", 2 * MIB);
	total(&made, "look.live-new-unsure", 4 * MIB);
	why = divide(&made);
	live = find(&why.rows, "live");
	CHECK(live->bytes <= 24 * MIB && live->low == 22 * MIB && live->high == 26 * MIB);
	gg_why_done(&why);
}

/* A byte takes a fraction more than itself for heads, so bounds of rows are fractions as well. */
TEST(rows_are_whole_numbers_even_if_bounds_are_fractions)
{
	struct made made;
	struct gg_why why;
	double sum = 0;

	begin(&made, 1);
	made.look.rss_bytes = 28 * MIB;
	map(&made, GG_MAPPING_HEAP, 20 * MIB);
	map(&made, GG_MAPPING_FILE, 8 * MIB);
	put(&made, sample_of(1, 21 * MIB, 0));
	put(&made, sample_of(2, 1000, 0));
	add_readings(&made, 20 * MIB, 26 * MIB, 20 * MIB, 0);
	total(&made, "look.live-new", 2 * MIB);
	total(&made, "look.live-new-unsure", MIB);
	total(&made, "look.live-unseen", 4 * MIB);
	why = divide(&made);
	for (size_t i = 0; i < why.rows.count; i++) {
		const struct gg_why_row *row = &why.rows.items[i];

		CHECK(row->bytes == floor(row->bytes) && row->low == floor(row->low));
		CHECK(row->high == ceil(row->high));
		sum += row->bytes;
	}
	CHECK(sum == 28 * MIB);
	gg_why_done(&why);
}

/* The times of samples are exact, and of one moment, which that of RSS is not. */
TEST(what_was_live_for_certain_may_be_more_than_rss_has)
{
	struct made made;
	struct gg_why why;
	const struct gg_why_row *live;

	begin(&made, 1);
	made.look.rss_bytes = 32 * MIB;
	made.input.has_history = true;
	map(&made, GG_MAPPING_HEAP, 24 * MIB);
	map(&made, GG_MAPPING_FILE, 8 * MIB);
	put(&made, sample_of(1, 25 * MIB, 0));
	add_readings(&made, 20 * MIB, 26 * MIB, 20 * MIB, 0);
	total(&made, "look.live-new", 2 * MIB);
	total(&made, "look.live-new-unsure", 4 * MIB);
	why = divide(&made);
	live = find(&why.rows, "live");
	CHECK(live->bytes <= 24 * MIB && live->low == 21 * MIB && live->high == 25 * MIB);
	CHECK(live->certainty == GG_WHY_INTERVAL && why.reason == NULL);
	gg_why_done(&why);
}

/*
 * Blocks that were freed after the kernel had counted RSS leave free memory around those that the
 * look sees, so the look shows more pinned memory than RSS has.
 */
TEST(blocks_that_go_late_are_no_pinned_memory)
{
	const int64_t live = 48 << 10, gone = 16 << 10;
	double low;
	struct gg_why why;
	struct made made;

	add_keepers(&made);
	made.totals[0].name = "of another release";
	map(&made, GG_MAPPING_HEAP, 1024 * PAGE);
	why = divide(&made);
	low = find(&why.rows, "pinned")->low;
	CHECK(low > 4 * (double)gone);
	gg_why_done(&why);
	add_readings(&made, live, live, live, gone);
	total(&made, "look.gone-seen", gone);
	why = divide(&made);
	/* Each block of 64 bytes takes 72, and a head of 8. */
	CHECK_EQ_DOUBLE(find(&why.rows, "pinned")->low, low - (double)gone * 80 / 64);
	gg_why_done(&why);
}

/*
 * 3 of 24 MiB went before the second reading, and 5 MiB later.  The look had seen 4 of these 5, and
 * three quarters of the 4 were resident.
 */
TEST(blocks_that_go_late_have_a_residency_that_is_known)
{
	struct made made;
	struct gg_why why;
	const struct gg_why_row *live;

	begin_large(&made);
	add_readings(&made, 24 * MIB, 21 * MIB, 21 * MIB, 8 * MIB);
	total(&made, "look.live-new", 0);
	total(&made, "look.gone-seen", 4 * MIB);
	total(&made, "look.gone-resident", 3 * MIB);
	why = divide(&made);
	live = find(&why.rows, "live");
	CHECK_EQ_DOUBLE(live->bytes, 22.5 * MIB);
	CHECK_EQ_DOUBLE(live->low, 21 * MIB - 1 * MIB - 1 * MIB);
	CHECK_EQ_DOUBLE(live->high, 24 * MIB);
	gg_why_done(&why);
}

/*
 * 8 MiB were freed after their residency was read; 6 of them were resident, as is the share of all
 * blocks.  The estimates of these 6 and of the other 2 have standard errors.
 */
TEST(the_residency_of_blocks_that_went_has_an_error_of_sampling)
{
	struct made made;
	struct gg_why why;
	const struct gg_why_row *live;
	const double z = 1.959963984540054, share = 0.75;
	double deviation = hypot((1 - share) * 2 * MIB, share * 1 * MIB);

	begin(&made, 1);
	map(&made, GG_MAPPING_HEAP, 60 * MIB);
	put(&made, sample_of(1, 20 * MIB, 0));
	made.samples[0].resident_bytes = 15 * MIB;
	add_readings(&made, 24 * MIB, 24 * MIB, 24 * MIB, 8 * MIB);
	total(&made, "look.live-new", 0);
	total(&made, "look.gone-seen", 8 * MIB);
	total(&made, "look.gone-resident", 6 * MIB);
	total(&made, "look.gone-resident-deviation", 2 * MIB);
	total(&made, "look.gone-absent-deviation", 1 * MIB);
	why = divide(&made);
	live = find(&why.rows, "live");
	CHECK_EQ_DOUBLE(live->bytes, 18 * MIB);
	CHECK(fabs(live->low - (18 * MIB - z * deviation)) <= 2);
	CHECK(fabs(live->high - (18 * MIB + z * deviation)) <= 2);
	gg_why_done(&why);
}

TEST(a_quiet_process_has_the_live_memory_of_its_samples)
{
	struct made made;
	struct gg_why why;
	const struct gg_why_row *live;

	for (int has_history = 0; has_history <= 1; has_history++) {
		begin(&made, 1);
		made.input.has_history = has_history != 0;
		map(&made, GG_MAPPING_HEAP, 60 * MIB);
		put(&made, sample_of(1, 20 * MIB, 0));
		add_readings(&made, 20 * MIB, 20 * MIB, 20 * MIB, 0);
		why = divide(&made);
		live = find(&why.rows, "live");
		CHECK(live->bytes == 20 * MIB && live->certainty == GG_WHY_EXACT);
		CHECK_EQ_STR(live->detail, "blocks as requested, resident");
		gg_why_done(&why);
	}
}

/* A process of 20 MiB with history, whose look read 24 MiB before RSS and 26 MiB after it. */
static void begin_with_history(struct made *made, int64_t stayed, int64_t gone)
{
	begin(made, 1);
	made->input.has_history = true;
	map(made, GG_MAPPING_HEAP, 60 * MIB);
	put(made, sample_of(1, 20 * MIB, 0));
	add_readings(made, 24 * MIB, 26 * MIB, stayed, gone);
}

TEST(times_of_samples_are_better_than_readings)
{
	struct made made;
	struct gg_why why;
	const struct gg_why_row *live;

	begin_with_history(&made, 18 * MIB, 0);
	why = divide(&made);
	live = find(&why.rows, "live");
	CHECK(live->bytes == 20 * MIB && live->certainty == GG_WHY_EXACT);
	gg_why_done(&why);
	/* Unless events were lost. */
	made.input.live.incomplete = 1;
	why = divide(&made);
	live = find(&why.rows, "live");
	CHECK(live->low == 18 * MIB && live->high == 32 * MIB);
	gg_why_done(&why);
}

/* 4 of 20 MiB were freed before the look saw if they are resident. */
TEST(blocks_that_were_freed_during_the_look_may_not_have_been_resident)
{
	struct made made;
	struct gg_why why;
	const struct gg_why_row *live;

	begin_with_history(&made, 24 * MIB, 4 * MIB);
	why = divide(&made);
	live = find(&why.rows, "live");
	CHECK(live->bytes == 20 * MIB && live->low == 16 * MIB && live->high == 20 * MIB);
	gg_why_done(&why);
}

TEST(an_interval_above_the_heap_moves_below_it)
{
	struct made made;
	struct gg_why why;
	const struct gg_why_row *live;

	begin(&made, 64 * PAGE);
	for (int i = 0; i < 400; i++)
		put(&made, sample_of(64 * PAGE, 64, 8));
	map(&made, GG_MAPPING_HEAP, 355 * 64 * PAGE);
	why = divide(&made);
	live = find(&why.rows, "live");
	CHECK(live->certainty == GG_WHY_INTERVAL && why.reason == NULL);
	CHECK(live->low > 200 * 64 * PAGE && live->high > 300 * 64 * PAGE);
	gg_why_done(&why);
}

TEST(samples_that_contradict_the_mappings_are_told)
{
	struct made made;
	struct gg_why why;

	begin(&made, 1);
	put(&made, sample_of(1, 10 * PAGE, 0));
	map(&made, GG_MAPPING_HEAP, 2 * PAGE);
	why = divide(&made);
	CHECK_EQ_I64(find(&why.rows, "live")->certainty, GG_WHY_BOUND);
	CHECK(why.reason != NULL && strstr(why.reason, "lie elsewhere") != NULL);
	gg_why_done(&why);
}

TEST(mappings_have_rows_by_function_and_by_name)
{
	struct gg_why_sample first = sample_of(1, 4 * PAGE, 0), second = first;
	struct made made;
	struct gg_why why;
	static const char *const details[] = { "open_index", "map_log", "other calls of mmap()",
		                               "[anon:cache]", "without a sample or a name" };

	begin(&made, 1);
	first.is_mapping = second.is_mapping = true;
	first.function = "map_log";
	second.function = "open_index";
	first.resident_bytes = PAGE;
	put(&made, first);
	put(&made, second);
	map(&made, GG_MAPPING_SAMPLED, 6 * PAGE);
	map(&made, GG_MAPPING_NAMED, 7 * PAGE)->name = "[anon:cache]";
	map(&made, GG_MAPPING_ANONYMOUS, 2 * PAGE);
	why = divide(&made);
	CHECK_EQ_U64(why.rows.count, GG_COUNT(details));
	for (size_t i = 0; i < why.rows.count && i < GG_COUNT(details); i++)
		CHECK_EQ_STR(why.rows.items[i].detail, details[i]);
	gg_why_done(&why);
}

TEST(memory_that_the_kernel_joins_to_mapped_blocks_is_not_the_heap)
{
	struct made made;
	struct gg_why why;
	struct gg_why_sample mapping = sample_of(1, 3 * MIB, 0);

	begin(&made, 1);
	map(&made, GG_MAPPING_MALLOC, 20 * MIB);
	map(&made, GG_MAPPING_ANONYMOUS, 1 * MIB);
	put(&made, sample_of(1, 4 * MIB, 0));
	total(&made, "glibc.walked", 0);
	total(&made, "glibc.mapped", 4 * MIB);
	mapping.is_mapping = true;
	mapping.function = "map_it";
	put(&made, mapping);
	total(&made, "python.pools", 10 * MIB);
	total(&made, "python.pools-free", 2 * MIB);
	why = divide(&made);
	CHECK_EQ_DOUBLE(find(&why.rows, "live")->bytes, 4 * MIB);
	CHECK_EQ_DOUBLE(detailed(&why.rows, "map_it"), 3 * MIB);
	/* Three of the ten may be in the sampled mapping. */
	CHECK_EQ_DOUBLE(detailed(&why.rows, "object arenas of Python, 2.00 MiB of it free"),
	                7 * MIB);
	CHECK_EQ_DOUBLE(detailed(&why.rows, "without a sample or a name"), 7 * MIB);
	gg_why_done(&why);
}

TEST(arenas_and_returnable_memory_have_an_advice)
{
	struct made made;
	struct gg_why why;

	begin(&made, 1);
	map(&made, GG_MAPPING_ARENA, 60 * MIB)->mapping_count = 14;
	put(&made, sample_of(1, 4 * MIB, 0));
	total(&made, "glibc.returnable", 40 * MIB);
	total(&made, "glibc.pinned", 4 * MIB);
	why = divide(&made);
	CHECK_CONTAINS(find(&why.rows, "returnable")->advice,
	               "malloc_trim(0) would return it; 14 heaps of arenas hold 60.0 MiB");
	CHECK_EQ_DOUBLE(find(&why.rows, "returnable")->advice_bytes, 40 * MIB);
	CHECK(strstr(find(&why.rows, "pinned")->advice, "--metric pinned") != NULL);
	CHECK(find(&why.rows, "rest")->advice == NULL);
	gg_why_done(&why);
}

/* No advice returns more of a row than the table shows of it, whatever the sentence says. */
static void check_advices(const struct gg_why *why)
{
	for (size_t i = 0; i < why->rows.count; i++) {
		const struct gg_why_row *row = &why->rows.items[i];

		CHECK_MSG(row->advice == NULL || !(row->advice_bytes > row->bytes),
		          "%s has %f bytes, and the advice %f", row->name, row->bytes,
		          row->advice_bytes);
	}
}

/* Returns the advice of free memory in arenas with so much in use; the caller frees it. */
static char *arena_advice(double count, double in_use, double trimmable)
{
	struct made made;
	struct gg_why why;
	char *advice;

	begin(&made, 1);
	map(&made, GG_MAPPING_HEAP, 4 * MIB);
	map(&made, GG_MAPPING_ARENA, 60 * MIB)->mapping_count = 14;
	put(&made, sample_of(1, 4 * MIB, 0));
	total(&made, "glibc.returnable", 40 * MIB);
	total(&made, "glibc.trimmable", trimmable);
	total(&made, "glibc.arena-count", count);
	total(&made, "glibc.arenas", 60 * MIB);
	total(&made, "glibc.arenas-in-use", in_use);
	why = divide(&made);
	check_advices(&why);
	advice = strdup(find(&why.rows, "returnable")->advice);
	gg_why_done(&why);
	return advice;
}

TEST(a_walk_bounds_what_fewer_arenas_and_a_trim_return)
{
	static const struct {
		double count, in_use, trimmable;
		const char *part;
		bool is_told;
	} cases[] = {
		{ 12, 8 * MIB, 40 * MIB, "12 arenas beside the main one hold 60.0 MiB", true },
		{ 12, 8 * MIB, 40 * MIB, "need 8.00 MiB of it", true },
		{ 12, 8 * MIB, 40 * MIB, "may be less, by 52.0 MiB at most", true },
		{ 1, 8 * MIB, 40 * MIB, "MALLOC_ARENA_MAX", false },
		{ 12, 59 * MIB, 40 * MIB, "MALLOC_ARENA_MAX", false },
		{ 12, 8 * MIB, 40 * MIB, "malloc_trim(0) would return it;", true },
		{ 12, 8 * MIB, 30 * MIB, "malloc_trim(0) would return 30.0 MiB of it", true },
	};

	for (size_t i = 0; i < GG_COUNT(cases); i++) {
		char *advice = arena_advice(cases[i].count, cases[i].in_use, cases[i].trimmable);

		CHECK_MSG((strstr(advice, cases[i].part) != NULL) == cases[i].is_told, "%s: %s",
		          cases[i].part, advice);
		free(advice);
	}
}

TEST(the_rest_says_why_the_heap_was_not_walked)
{
	static const struct {
		const char *total, *detail;
	} cases[] = { { "glibc.headers", "of the heap: free, not told apart" },
		      { "glibc.unwalked", "of the heap: too large to walk through" },
		      { "glibc.uncounted-fast",
		        "of the heap: lists of free blocks (fast bins) are too large to count" },
		      { "glibc.uncounted",
		        "of the heap: caches of threads are too large to count" },
		      { "glibc.unwalked-swapped", "of the heap: partly swapped out" },
		      { "glibc.unread", "of the heap: it changed too fast to be read whole" },
		      { "glibc.changed", "of the heap: it changed during the look" },
		      { "glibc.unwalked-unexpected", "of the heap: its chunks are unusual" } };

	for (size_t i = 0; i < GG_COUNT(cases); i++) {
		struct made made;
		struct gg_why why;

		begin(&made, 1);
		map(&made, GG_MAPPING_HEAP, 60 * MIB);
		put(&made, sample_of(1, 4 * MIB, 0));
		total(&made, cases[i].total, MIB);
		why = divide(&made);
		CHECK_EQ_STR(find(&why.rows, "rest")->detail, cases[i].detail);
		CHECK((find(&why.rows, "rest")->advice != NULL) == (i == 1));
		gg_why_done(&why);
	}
}

/* A heap of jemalloc with 100 blocks, each of which pins 3000 bytes. */
static void make_slabs(struct made *made, double interval)
{
	begin(made, interval);
	made->look.allocator = "jemalloc";
	map(made, GG_MAPPING_MALLOC, 100 * PAGE);
	for (int i = 0; i < 100; i++) {
		struct gg_why_sample sample = sample_of(interval, 1000, 0);

		sample.pinned_bytes = 3000;
		put(made, sample);
	}
	total(made, "jemalloc.allocated", 100000);
	total(made, "jemalloc.active", 100 * PAGE);
}

TEST(an_old_answer_of_the_allocator_is_less_certain)
{
	struct made made;
	struct gg_why why;

	make_slabs(&made, 1);
	why = divide(&made);
	CHECK_EQ_DOUBLE(find(&why.rows, "pinned")->low, 300000);
	CHECK_EQ_DOUBLE(find(&why.rows, "pinned")->high, 300000);
	gg_why_done(&why);
	make_slabs(&made, 1);
	total(&made, "jemalloc.changed", 4000);
	why = divide(&made);
	CHECK_EQ_DOUBLE(find(&why.rows, "pinned")->bytes, 300000);
	CHECK_EQ_DOUBLE(find(&why.rows, "pinned")->low, 296000);
	/* The heap has less than 300000 / 0.96 + 4000 bytes beside live memory. */
	CHECK_EQ_DOUBLE(find(&why.rows, "pinned")->high, 100 * PAGE - 100000);
	CHECK(find(&why.rows, "pinned")->certainty == GG_WHY_INTERVAL);
	gg_why_done(&why);
}

TEST(a_small_rest_needs_no_walk)
{
	struct made made;
	struct gg_why why;

	begin(&made, 1);
	map(&made, GG_MAPPING_HEAP, 60 * MIB);
	put(&made, sample_of(1, 59 * MIB, 0));
	total(&made, "glibc.unwalked", 60 * MIB);
	why = divide(&made);
	CHECK(find(&why.rows, "rest")->advice == NULL);
	gg_why_done(&why);
}

/* --- older memory --- */

/* A heap of 60 MiB: 20 MiB live, 5 MiB pinned, 15 MiB returnable, and the rest older. */
static void make_attached(struct made *made, double interval, double older_bytes)
{
	begin(made, interval);
	map(made, GG_MAPPING_HEAP, 60 * MIB);
	for (int i = 0; i < 20; i++)
		put(made, sample_of(interval, MIB, 0));
	total(made, "glibc.in-use", 40 * MIB);
	total(made, "glibc.mapped", 0);
	total(made, "glibc.pinned", 5 * MIB);
	total(made, "glibc.returnable", 15 * MIB);
	total(made, "glibc.headers", MIB);
	made->input.is_attached = true;
	made->input.older_bytes = older_bytes;
}

TEST(older_memory_is_what_a_walk_leaves)
{
	struct made made;
	struct gg_why why;

	make_attached(&made, 1, 30 * MIB);
	why = divide(&made);
	CHECK_EQ_DOUBLE(bytes_of(&why, "older"), 19 * MIB);
	CHECK(find(&why.rows, "older")->certainty == GG_WHY_EXACT);
	CHECK(find(&why.rows, "rest") == NULL);
	CHECK_EQ_DOUBLE(why.older_low, 19 * MIB);
	CHECK_EQ_DOUBLE(why.older_high, 19 * MIB);
	gg_why_done(&why);
	made.input.is_attached = false;
	why = divide(&made);
	CHECK(find(&why.rows, "older") == NULL && isnan(why.older_bytes));
	CHECK_EQ_DOUBLE(bytes_of(&why, "rest"), 19 * MIB);
	gg_why_done(&why);
}

TEST(older_memory_has_the_interval_of_live_memory)
{
	const struct gg_why_row *live, *older;
	struct made made;
	struct gg_why why;

	make_attached(&made, 2 * MIB, -1);
	for (int i = 0; i < 20; i++)
		made.samples[i].size_bytes = MIB / 2;
	why = divide(&made);
	live = find(&why.rows, "live");
	older = find(&why.rows, "older");
	CHECK(older->certainty == GG_WHY_INTERVAL);
	CHECK_MSG(older->high - older->low >= live->high - live->low, "%g to %g", older->low,
	          older->high);
	CHECK(older->low + live->high <= 39 * MIB && older->high + live->low >= 39 * MIB);
	gg_why_done(&why);
}

TEST(older_memory_is_at_most_what_was_in_use_at_the_attach)
{
	struct made made;
	struct gg_why why;

	make_attached(&made, 1, 10 * MIB);
	why = divide(&made);
	CHECK_EQ_DOUBLE(bytes_of(&why, "older"), 10 * MIB);
	CHECK_EQ_DOUBLE(find(&why.rows, "older")->high, 10 * MIB);
	CHECK_EQ_DOUBLE(bytes_of(&why, "rest"), 9 * MIB);
	gg_why_done(&why);
}

/* More is left than was in use at the attach: all of it may be newer. */
TEST(older_memory_is_a_bound_if_more_is_left_than_was_in_use)
{
	const struct gg_why_row *older;
	struct made made;
	struct gg_why why;

	make_attached(&made, 1, 10 * MIB);
	why = divide(&made);
	older = find(&why.rows, "older");
	CHECK(older->certainty == GG_WHY_BOUND && older->low == 0);
	CHECK_EQ_DOUBLE(find(&why.rows, "rest")->low, 9 * MIB);
	CHECK_EQ_DOUBLE(find(&why.rows, "rest")->high, 19 * MIB);
	gg_why_done(&why);
}

TEST(older_memory_is_a_bound_if_calls_pass_the_agent)
{
	const struct gg_why_row *older;
	struct made made;
	struct gg_why why;

	make_attached(&made, 1, 30 * MIB);
	made.input.unseen_slot_count = 1;
	why = divide(&made);
	older = find(&why.rows, "older");
	CHECK(older->certainty == GG_WHY_BOUND && older->low == 0);
	CHECK_EQ_DOUBLE(older->bytes, 19 * MIB);
	CHECK_EQ_DOUBLE(older->high, 19 * MIB);
	gg_why_done(&why);
}

TEST(older_memory_without_a_walk_is_a_bound)
{
	const struct gg_why_row *older;
	struct made made;
	struct gg_why why;

	make_attached(&made, 1, 30 * MIB);
	made.input.total_count = 2; /* those of begin() */
	map(&made, GG_MAPPING_ANONYMOUS, 2 * MIB);
	why = divide(&made);
	older = find(&why.rows, "older");
	CHECK(older->certainty == GG_WHY_BOUND && older->low == 0);
	CHECK_EQ_DOUBLE(older->high, 30 * MIB);
	CHECK(detailed(&why.rows, "without a sample or a name; some may be older blocks") ==
	      2 * MIB);
	gg_why_done(&why);
}

/* The kernel joins large blocks to the variables of a library, where no live sample shows them. */
TEST(mapped_blocks_behind_variables_are_of_the_heap)
{
	struct made made;
	struct gg_why why;

	make_attached(&made, 1, 30 * MIB);
	made.totals[3].bytes = 8 * MIB;
	map(&made, GG_MAPPING_DATA, 6 * MIB);
	map(&made, GG_MAPPING_DATA, 5 * MIB)->name = "/lib/libc.so.6";
	map(&made, GG_MAPPING_ANONYMOUS, 3 * MIB);
	why = divide(&made);
	CHECK_EQ_DOUBLE(bytes_of(&why, "older"), 27 * MIB);
	CHECK_EQ_DOUBLE(bytes_of(&why, "data"), 6 * MIB);
	gg_why_done(&why);
}

TEST(nothing_is_live_if_every_allocation_is_a_sample_and_there_is_none)
{
	struct made made;
	struct gg_why why;

	make_attached(&made, 1, 60 * MIB);
	made.input.sample_count = 0;
	made.input.live = (struct gg_tally){ 0 };
	gg_tally_expose(&made.input.live, 1);
	made.input.samples_all = true;
	why = divide(&made);
	CHECK(find(&why.rows, "live") == NULL);
	CHECK_EQ_DOUBLE(bytes_of(&why, "older"), 39 * MIB);
	CHECK(find(&why.rows, "older")->certainty == GG_WHY_EXACT);
	gg_why_done(&why);
}

static int64_t random_bytes(struct gg_rng *rng, uint64_t below)
{
	return (int64_t)(gg_rng_next(rng) % below);
}

static void make_random(struct made *made, struct gg_rng *rng)
{
	static const char *const names[] = {
		"glibc.pinned",      "glibc.returnable", "glibc.in-use",    "glibc.mapped",
		"glibc.cached",      "glibc.headers",    "jemalloc.active", "jemalloc.allocated",
		"jemalloc.resident", "glibc.walked",     "jemalloc.changed"
	};
	double interval = gg_rng_next(rng) % 3 == 0 ? 1 : 1 + (double)random_bytes(rng, MIB);

	begin(made, interval);
	made->input.is_attached = gg_rng_next(rng) % 2 == 0;
	made->input.older_bytes = (double)random_bytes(rng, 8 * MIB) - 1;
	for (int kind = 0; kind < GG_MAPPING_KIND_COUNT; kind++)
		if (gg_rng_next(rng) % 3 != 0) {
			struct gg_profile_look_mapping *mapping = map(
				made, (enum gg_mapping_kind)kind, PAGE * random_bytes(rng, 4096));

			mapping->lazy_free_bytes = random_bytes(rng, 4) * PAGE;
			mapping->huge_bytes = random_bytes(rng, 1024) * PAGE;
		}
	for (size_t i = 0; i < GG_COUNT(names); i++)
		if (gg_rng_next(rng) % 2 == 0)
			total(made, names[i], random_bytes(rng, 4 * MIB));
	for (int64_t i = random_bytes(rng, GG_COUNT(made->samples)); i > 0; i--) {
		struct gg_why_sample sample = sample_of(
			interval, (uint64_t)random_bytes(rng, 4 * PAGE), gg_rng_next(rng) % 64);

		sample.is_seen = gg_rng_next(rng) % 4 != 0;
		sample.is_mapping = gg_rng_next(rng) % 8 == 0;
		sample.resident_bytes = random_bytes(rng, 5 * PAGE) - 1;
		sample.swapped_bytes = random_bytes(rng, 5 * PAGE) - 1;
		sample.pinned_bytes = (double)random_bytes(rng, 2 * PAGE) - 1;
		sample.returnable_bytes = random_bytes(rng, 2 * PAGE) - 1;
		put(made, sample);
	}
}

TEST(rows_add_up_whatever_a_look_says)
{
	struct gg_rng rng;

	gg_rng_seed(&rng, 22, 0);
	for (int i = 0; i < 3000; i++) {
		struct made made;
		struct gg_why why;

		make_random(&made, &rng);
		made.input.has_agent = gg_rng_next(&rng) % 8 != 0;
		why = divide(&made);
		check_advices(&why);
		gg_why_done(&why);
	}
}
