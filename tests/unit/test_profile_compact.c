/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_profile_compact - tests retention in a simulated week, whose hours are a thousandth of a
 * second.
 */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "model/model.h"
#include "profile.h"
#include "profile/profile.h"
#include "stats/estimate/tally.h"
#include "stats/sampling/rng.h"
#include "test.h"

enum { HOUR = 1000000, WEEK = 7 * 24 * HOUR, STACKS = 10, PER_HOUR = 400 };

/* Times that are multiples of all buckets that a week makes: 1, 2, 4, 8, 16 and 32 hours. */
enum { END = 32 * HOUR, ENDS = 6 };

static const struct gg_compaction_rule rule = {
	.keep_ns = HOUR,
	.bucket_ns = HOUR,
	.age_buckets = 4,
	.row_max = 1000000,
	.batch_count = 500,
};

static struct gg_error error;

#define OK(call) CHECK_MSG((call) >= 0, "%s: %s: %s", #call, error.place, error.message)

/* The answers at those times: by stack, the allocated and the live bytes. */
struct truth {
	double allocated[ENDS][STACKS + 1], live[ENDS][STACKS + 1], variance[ENDS][STACKS + 1];
	double sums[6]; /* counts, their variance and skew, bytes' skew, sizes, lifetimes */
	uint64_t sample_count;
};

static struct truth want, got;

/* Adds to each such time from `from` to before `to`. */
static void add_live(struct truth *truth, uint32_t stack, int64_t from_ns, int64_t to_ns,
                     double bytes, double variance)
{
	for (int day = 0; day < ENDS; day++) {
		if (from_ns < (int64_t)day * END)
			truth->allocated[day][stack] += bytes;
		if (from_ns >= (int64_t)day * END || to_ns < (int64_t)day * END)
			continue;
		truth->live[day][stack] += bytes;
		truth->variance[day][stack] += variance;
	}
}

static double skew_of(const struct gg_tally *tally, enum gg_quantity quantity)
{
	return gg_sum_value(&tally->usual[quantity].skew) +
	       gg_sum_value(&tally->sure[quantity].skew);
}

static int add_sample(const struct gg_profile_sample *sample, void *context)
{
	struct gg_weight weight = gg_weight_of(&sample->draw, sample->size_bytes);
	struct gg_tally tally = { 0 };
	struct truth *truth = context;

	if (sample->origin != 0)
		return 0;
	add_live(truth, sample->stack, sample->alloc_ns, sample->free_ns, weight.bytes,
	         weight.bytes_variance);
	truth->sample_count++;
	gg_tally_add(&tally, &sample->draw, sample->size_bytes);
	truth->sums[0] += weight.count;
	truth->sums[1] += weight.count_variance;
	truth->sums[2] += skew_of(&tally, GG_ALLOCATIONS);
	truth->sums[3] += skew_of(&tally, GG_BYTES);
	truth->sums[4] += (double)sample->size_bytes;
	if (sample->free_ns != GG_TIME_NONE)
		truth->sums[5] += (double)(sample->free_ns - sample->alloc_ns);
	return 0;
}

static int add_aggregate(const struct gg_profile_aggregate *aggregate, void *context)
{
	struct truth *truth = context;

	CHECK(aggregate->bucket_ns >= HOUR && aggregate->bucket_ns <= END);
	CHECK(aggregate->from_ns % aggregate->bucket_ns == 0 &&
	      aggregate->to_ns % aggregate->bucket_ns == 0);
	CHECK(aggregate->sums.size_bytes <=
	      (aggregate->sums.sample_count << aggregate->size_class)); /* its class holds */
	add_live(truth, aggregate->stack, aggregate->from_ns, aggregate->to_ns - 1,
	         gg_fixed_value(aggregate->sums.bytes),
	         gg_fixed_value(aggregate->sums.bytes_variance));
	truth->sample_count += aggregate->sums.sample_count;
	truth->sums[0] += gg_fixed_value(aggregate->sums.count);
	truth->sums[1] += gg_fixed_value(aggregate->sums.count_variance);
	truth->sums[2] += aggregate->count_skew;
	truth->sums[3] += aggregate->bytes_skew;
	truth->sums[4] += (double)aggregate->sums.size_bytes;
	truth->sums[5] += aggregate->lifetime_ns_sum;
	return 0;
}

/* Many short lives, some long, a few that never end; sizes from 1 byte to 8 times the interval. */
static struct gg_profile_sample draw(struct gg_rng *rng, int64_t time_ns)
{
	double u = gg_rng_uniform(rng), life = -log(gg_rng_uniform(rng) + 1e-300);
	uint64_t size = (uint64_t)exp2(gg_rng_uniform(rng) * 15) + (gg_rng_next(rng) & 1);

	return (struct gg_profile_sample){
		.alloc_ns = time_ns,
		.free_ns = u < 0.01  ? GG_TIME_NONE
		           : u < 0.2 ? time_ns + (int64_t)(life * 10 * HOUR)
		                     : time_ns + (int64_t)(life * 0.01 * HOUR),
		.process = 1,
		.thread = 1,
		.stack = 1 + (uint32_t)(gg_rng_next(rng) % STACKS),
		.size_bytes = size,
		.draw = { .sampling_interval = 4096, .sample_point_count = 1 },
	};
}

static struct gg_profile *make_profile(const char *path)
{
	struct gg_profile *profile;
	struct gg_profile_process process = { .pid = 1 };
	struct gg_profile_thread thread = { .process = 1 };

	if (!OK(gg_profile_create(&profile, path, &error)))
		return NULL;
	OK(gg_profile_set_session(profile, &(struct gg_profile_session){ .interval_bytes = 4096 },
	                          &error));
	OK(gg_profile_add_process(profile, &process, NULL, &error));
	OK(gg_profile_add_thread(profile, &thread, NULL, &error));
	for (uint32_t i = 0; i < STACKS; i++) {
		OK(gg_profile_intern_frame(profile, 0, 64 + i, NULL, &error));
		OK(gg_profile_intern_stack(profile, 0, i + 1, NULL, &error));
	}
	return profile;
}

/* Ends that are yet to come, by time: a pool that is searched each hour. */
struct pending {
	uint64_t id;
	int64_t free_ns;
};

static struct pending *pending;
static uint32_t pending_count;

static void end_until(struct gg_profile *profile, int64_t now_ns)
{
	for (uint32_t i = 0; i < pending_count;) {
		struct gg_profile_sample_end end = { .free_ns = pending[i].free_ns, .thread = 1 };

		if (pending[i].free_ns >= now_ns) {
			i++;
			continue;
		}
		OK(gg_profile_end_sample(profile, pending[i].id, &end, &error));
		pending[i] = pending[--pending_count];
	}
}

static void live_an_hour(struct gg_profile *profile, struct gg_rng *rng, int64_t start_ns)
{
	for (int i = 0; i < PER_HOUR; i++) {
		struct gg_profile_sample sample = draw(rng,
		                                       start_ns + (int64_t)i * (HOUR / PER_HOUR));
		bool is_late = sample.free_ns >= start_ns + HOUR && sample.free_ns < WEEK;
		int64_t free_ns = sample.free_ns;

		if (free_ns >= WEEK)
			free_ns = sample.free_ns = GG_TIME_NONE;
		add_sample(&sample, &want);
		if (is_late)
			sample.free_ns = GG_TIME_NONE;
		OK(gg_profile_add_sample(profile, &sample, &sample.id, &error));
		if (is_late)
			pending[pending_count++] = (struct pending){ sample.id, free_ns };
	}
	end_until(profile, start_ns + HOUR);
}

static void fold(struct gg_profile *profile, const struct gg_compaction_rule *by, int64_t now_ns,
                 int *calls)
{
	int more;

	do {
		more = gg_profile_compact(profile, by, now_ns, &error);
		++*calls;
	} while (OK(more) && more > 0);
}

/* Writes a week to a file that the caller removes; the rule decides which samples are folded. */
static bool live_a_week(const char *path, const struct gg_compaction_rule *by)
{
	struct gg_profile *profile = make_profile(path);
	struct gg_rng rng;
	uint64_t rows, most_rows = 0;
	int calls = 0;

	memset(&want, 0, sizeof(want));
	memset(&got, 0, sizeof(got));
	pending_count = 0;
	pending = calloc(WEEK / HOUR * PER_HOUR, sizeof(*pending));
	gg_rng_seed(&rng, 7, 1);
	if (profile == NULL || pending == NULL)
		return false;
	for (int64_t now = 0; now < WEEK; now += HOUR) {
		live_an_hour(profile, &rng, now);
		fold(profile, by, now + HOUR, &calls);
		rows = 0;
		OK(gg_profile_each_sample(profile, profile_count_sample, &rows, &error));
		most_rows = rows > most_rows ? rows : most_rows;
		OK(gg_profile_commit(profile, &error));
	}
	CHECK_MSG(calls > 500, "%d calls", calls); /* in small steps */
	/* Two hours of samples, those of the longer lives, and the immortal. */
	CHECK_MSG(most_rows < 12 * PER_HOUR, "%llu samples", (unsigned long long)most_rows);
	OK(gg_profile_finish(profile, &error));
	gg_profile_close(profile);
	free(pending);
	return !test_failed;
}

static int count_aggregate(const struct gg_profile_aggregate *aggregate, void *context)
{
	(void)aggregate;
	++*(uint64_t *)context;
	return 0;
}

static void compare_sums(void)
{
	CHECK_EQ_U64(got.sample_count, want.sample_count);
	for (int i = 0; i < 6; i++)
		CHECK_MSG(fabs(got.sums[i] - want.sums[i]) <= 1e-8 * want.sums[i],
		          "sum %d: %.17g, not %.17g", i, got.sums[i], want.sums[i]);
}

static void check_model(struct gg_profile *profile)
{
	struct gg_model *model;

	if (!OK(gg_model_load(&model, &profile, 1, NULL, &error)))
		return;
	CHECK_MSG(gg_model_validate(model, &error) == 0, "%s", error.message);
	gg_model_free(model);
}

TEST(a_week_is_folded_without_changing_what_it_sums_to)
{
	char path[] = "/tmp/geiger-fold-XXXXXX";
	struct gg_profile *profile;
	uint64_t rows = 0;

	close(mkstemp(path));
	if (!live_a_week(path, &rule) || !OK(gg_profile_open(&profile, path, &error)))
		return;
	OK(gg_profile_each_sample(profile, add_sample, &got, &error));
	OK(gg_profile_each_aggregate(profile, add_aggregate, &got, &error));
	OK(gg_profile_each_aggregate(profile, count_aggregate, &rows, &error));
	CHECK_MSG(rows < want.sample_count / 4, "%llu rows", (unsigned long long)rows);
	compare_sums();
	for (int end = 0; end < ENDS; end++) {
		for (int stack = 1; stack <= STACKS; stack++) {
			CHECK_MSG(fabs(got.allocated[end][stack] - want.allocated[end][stack]) <=
			                  1e-9 * want.allocated[end][stack],
			          "allocated, end %d stack %d", end, stack);
			CHECK_MSG(fabs(got.live[end][stack] - want.live[end][stack]) <=
			                  1e-9 * want.live[end][stack],
			          "live, end %d stack %d: %.17g, not %.17g", end, stack,
			          got.live[end][stack], want.live[end][stack]);
			CHECK(fabs(got.variance[end][stack] - want.variance[end][stack]) <=
			      1e-9 * want.variance[end][stack]);
		}
	}
	CHECK_EQ_I64(gg_profile_check(profile, profile_print_problem, NULL, &error), 0);
	check_model(profile);
	gg_profile_close(profile);
	unlink(path);
}

static int add_mixed(const struct gg_profile_aggregate *aggregate, void *context)
{
	struct gg_profile_aggregate mixed = *aggregate;

	mixed.size_class = 32; /* of any sizes */
	mixed.from_ns = mixed.to_ns = 0;
	mixed.bucket_ns = HOUR;
	return add_aggregate(&mixed, context);
}

TEST(too_many_rows_are_joined_further_without_changing_the_sums)
{
	char path[] = "/tmp/geiger-fold-XXXXXX";
	struct gg_compaction_rule narrow = rule;
	struct gg_profile *profile;
	uint64_t rows = 0;

	close(mkstemp(path));
	narrow.row_max = 3000;
	if (!live_a_week(path, &narrow) || !OK(gg_profile_open(&profile, path, &error)))
		return;
	OK(gg_profile_each_aggregate(profile, count_aggregate, &rows, &error));
	CHECK_MSG(rows < 10000, "%llu rows", (unsigned long long)rows);
	OK(gg_profile_each_sample(profile, add_sample, &got, &error));
	OK(gg_profile_each_aggregate(profile, add_mixed, &got, &error));
	compare_sums();
	gg_profile_close(profile);
	unlink(path);
}

static int sum_aggregate(const struct gg_profile_aggregate *aggregate, void *context)
{
	struct gg_profile_aggregate *sum = context;

	gg_sums_add(&sum->sums, &aggregate->sums);
	sum->to_ns = aggregate->to_ns;
	return 0;
}

TEST(a_block_that_forks_share_is_folded_when_its_last_holder_has_freed_it)
{
	struct gg_profile *profile = make_profile(NULL);
	struct gg_rng rng;
	struct gg_profile_sample first, second;
	struct gg_profile_aggregate sum = { 0 };
	uint64_t rows = 0;

	gg_rng_seed(&rng, 7, 1);
	if (profile == NULL)
		return;
	first = draw(&rng, 10);
	first.id = 1, first.free_ns = 20;
	second = first;
	second.id = 2, second.origin = 1, second.free_ns = GG_TIME_NONE;
	OK(gg_profile_add_sample(profile, &first, NULL, &error));
	OK(gg_profile_add_sample(profile, &second, NULL, &error));
	second.id = 3, second.free_ns = 30;
	OK(gg_profile_add_sample(profile, &second, NULL, &error));
	while (gg_profile_compact(profile, &rule, 5 * HOUR, &error) > 0)
		;
	OK(gg_profile_each_sample(profile, profile_count_sample, &rows, &error));
	CHECK_EQ_U64(rows, 2); /* the one that ended before another inherited one says nothing */
	OK(gg_profile_end_sample(profile, 2, &(struct gg_profile_sample_end){ .free_ns = 5 * HOUR },
	                         &error));
	while (gg_profile_compact(profile, &rule, 9 * HOUR, &error) > 0)
		;
	rows = 0;
	OK(gg_profile_each_sample(profile, profile_count_sample, &rows, &error));
	OK(gg_profile_each_aggregate(profile, sum_aggregate, &sum, &error));
	CHECK(rows == 0 && sum.sums.sample_count == 1 && sum.to_ns == 6 * HOUR);
	gg_profile_close(profile);
}

/* By class: malloc, a mapping, two heaps' types; then those that were not kept. */
enum { CLASSES = 4 };

static int class_of(bool is_mapping, uint32_t heap, uint32_t type)
{
	if (heap == 0)
		return is_mapping ? 1 : 0;
	return type == heap ? 1 + (int)heap : -1;
}

static int sum_by_class(const struct gg_profile_aggregate *aggregate, void *context)
{
	double *sums = context;
	int class = aggregate->has_kind
	                    ? class_of(aggregate->is_mapping, aggregate->heap, aggregate->type)
	                    : CLASSES;

	if (CHECK(class >= 0))
		sums[class] += gg_fixed_value(aggregate->sums.bytes);
	return 0;
}

static struct gg_profile *make_classes(double *ret_bytes)
{
	struct gg_profile *profile = make_profile(NULL);
	struct gg_rng rng;
	uint32_t id;

	gg_rng_seed(&rng, 7, 1);
	if (profile == NULL)
		return NULL;
	for (int i = 1; i <= 2; i++) {
		const char *name = i == 1 ? "first" : "second";

		OK(gg_profile_intern_name(profile, GG_NAME_HEAP, name, &id, &error));
		OK(gg_profile_intern_name(profile, GG_NAME_TYPE, name, &id, &error));
	}
	for (int i = 0; i < 2000; i++) {
		struct gg_profile_sample sample = draw(&rng, 10);
		int class = i % CLASSES;

		sample.stack = 1;
		sample.free_ns = i < 1000 ? 20 : 3 * HOUR + 20;
		sample.flags = class == 1 ? GG_PROFILE_SAMPLE_MAPPING : 0;
		sample.heap = sample.type = class > 1 ? (uint32_t) class - 1 : 0;
		ret_bytes[class] += gg_weight_of(&sample.draw, sample.size_bytes).bytes;
		OK(gg_profile_add_sample(profile, &sample, NULL, &error));
	}
	return profile;
}

TEST(heaps_and_types_stay_until_there_are_too_many_rows)
{
	struct gg_compaction_rule narrow = rule;
	double bytes[CLASSES] = { 0 }, sums[CLASSES + 1] = { 0 };
	struct gg_profile *profile = make_classes(bytes);
	uint64_t rows = 0;
	int calls = 0;

	if (profile == NULL)
		return;
	for (int64_t hour = 2; hour < 40; hour++)
		fold(profile, &rule, hour * HOUR, &calls);
	OK(gg_profile_each_sample(profile, profile_count_sample, &rows, &error));
	CHECK_EQ_U64(rows, 0);
	OK(gg_profile_each_aggregate(profile, sum_by_class, sums, &error));
	for (int i = 0; i < CLASSES; i++)
		CHECK_MSG(fabs(sums[i] / bytes[i] - 1) < 1e-8, "class %d: %g, not %g", i, sums[i],
		          bytes[i]);
	CHECK(sums[CLASSES] == 0);
	CHECK_EQ_I64(gg_profile_check(profile, profile_print_problem, NULL, &error), 0);
	check_model(profile);
	narrow.row_max = 0;
	for (int64_t hour = 40; hour < 80; hour++)
		fold(profile, &narrow, hour * HOUR, &calls);
	memset(sums, 0, sizeof(sums));
	OK(gg_profile_each_aggregate(profile, sum_by_class, sums, &error));
	CHECK(sums[0] == 0 && sums[1] == 0 && sums[2] == 0 && sums[3] == 0);
	CHECK(fabs(sums[CLASSES] / (bytes[0] + bytes[1] + bytes[2] + bytes[3]) - 1) < 1e-8);
	check_model(profile);
	gg_profile_close(profile);
}

TEST(samples_of_a_look_stay_as_long_as_the_look)
{
	const struct gg_profile_look_block block = { .sample = 1, .pinned_bytes = -1 };
	const struct gg_profile_look_parts parts = { .blocks = &block, .block_count = 1 };
	struct gg_profile_look look = { .process = 1, .rss_bytes = 10 };
	struct gg_profile *profile = make_profile(NULL);
	struct gg_profile_sample sample;
	struct gg_rng rng;
	uint64_t rows = 0;

	gg_rng_seed(&rng, 7, 1);
	if (profile == NULL)
		return;
	sample = draw(&rng, 10);
	sample.free_ns = 20;
	for (sample.id = 1; sample.id <= 2; sample.id++)
		OK(gg_profile_add_sample(profile, &sample, NULL, &error));
	OK(gg_profile_put_look(profile, &look, &parts, &error));
	while (gg_profile_compact(profile, &rule, 5 * HOUR, &error) > 0)
		;
	OK(gg_profile_each_sample(profile, profile_count_sample, &rows, &error));
	CHECK_EQ_U64(rows, 1);
	look.rss_bytes = 20;
	OK(gg_profile_put_look(profile, &look, &(struct gg_profile_look_parts){ 0 }, &error));
	while (gg_profile_compact(profile, &rule, 9 * HOUR, &error) > 0)
		;
	rows = 0;
	OK(gg_profile_each_sample(profile, profile_count_sample, &rows, &error));
	CHECK_EQ_U64(rows, 0);
	gg_profile_close(profile);
}

static int sum_by_errors(const struct gg_profile_aggregate *aggregate, void *context)
{
	struct gg_sums *sums = context; /* of known errors, and of unknown ones */
	uint32_t unknown = 1u << GG_BYTES | 1u << GG_ALLOCATIONS;

	CHECK(aggregate->unknown_errors == 0 || aggregate->unknown_errors == unknown);
	gg_sums_add(&sums[aggregate->unknown_errors != 0], &aggregate->sums);
	return 0;
}

/* Every other sample is of a biased sampler. */
static void add_biased_samples(struct gg_profile *profile, int count, double *ret_bytes)
{
	struct gg_rng rng;

	gg_rng_seed(&rng, 7, 1);
	for (int i = 0; i < count; i++) {
		struct gg_profile_sample sample = draw(&rng, 10);

		sample.stack = 1;
		sample.free_ns = i < count / 2 ? 20 : 3 * HOUR + 20;
		sample.draw.scheme = i % 2 != 0 ? GG_SCHEME_BIASED : GG_SCHEME_POISSON;
		ret_bytes[i % 2] += gg_weight_of(&sample.draw, sample.size_bytes).bytes;
		OK(gg_profile_add_sample(profile, &sample, NULL, &error));
	}
}

TEST(biased_samples_are_folded_and_keep_their_unknown_error)
{
	enum { COUNT = 2000 };
	struct gg_profile *profile = make_profile(NULL);
	struct gg_sums sums[2] = { 0 };
	double bytes[2] = { 0 };
	uint64_t rows = 0;
	int calls = 0;

	if (profile == NULL)
		return;
	add_biased_samples(profile, COUNT, bytes);
	/* Step by step, so that aggregates grow, and become larger ones. */
	for (int64_t hour = 2; hour < 40; hour++)
		fold(profile, &rule, hour * HOUR, &calls);
	OK(gg_profile_each_sample(profile, profile_count_sample, &rows, &error));
	CHECK_EQ_U64(rows, 0);
	OK(gg_profile_each_aggregate(profile, count_aggregate, &rows, &error));
	CHECK_MSG(rows < COUNT / 20, "%llu rows", (unsigned long long)rows);
	OK(gg_profile_each_aggregate(profile, sum_by_errors, sums, &error));
	for (int i = 0; i < 2; i++) {
		CHECK_EQ_U64(sums[i].sample_count, COUNT / 2);
		CHECK(fabs(gg_fixed_value(sums[i].bytes) / bytes[i] - 1) < 1e-8);
	}
	CHECK(gg_fixed_value(sums[0].bytes_variance) > 0);
	CHECK_EQ_I64(gg_profile_check(profile, profile_print_problem, NULL, &error), 0);
	gg_profile_close(profile);
}
