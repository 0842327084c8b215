/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_format_import_merge - imports small pprof files, and shows what merging makes of imported
 * profiles.
 */
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "format/merge/merge.h"
#include "import_support.h"
#include "made_profile.h"
#include "model/model.h"
#include "stats/estimate/tally.h"
#include "test.h"

#define MAPS "\nMAPPED_LIBRARIES:\n00400000-00500000 r-xp 00001000 08:01 7 /bin/app\n"

/* --- protocol buffers ----------------------------------------------------------------------- */

static void put_varint(struct gg_buf *out, uint64_t value)
{
	do {
		uint8_t byte = (uint8_t)(value & 0x7f) | (value > 0x7f ? 0x80 : 0);

		gg_buf_append(out, &byte, 1);
		value >>= 7;
	} while (value > 0);
}

static void put_number(struct gg_buf *out, uint32_t field, uint64_t value)
{
	put_varint(out, field << 3);
	put_varint(out, value);
}

static void put_bytes(struct gg_buf *out, uint32_t field, const void *bytes, size_t length)
{
	put_varint(out, field << 3 | 2);
	put_varint(out, length);
	gg_buf_append(out, bytes, length);
}

/* A message of up to four numbers, fields 1 to 4. */
static void put_numbers(struct gg_buf *out, uint32_t field, uint64_t a, uint64_t b, uint64_t c)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf message = { 0 };
	uint64_t values[] = { a, b, c };

	for (uint32_t i = 0; i < 3; i++)
		if (values[i] != 0)
			put_number(&message, i + 1, values[i]);
	put_bytes(out, field, message.data, message.length);
}

enum {
	T_NONE,
	T_OBJECTS,
	T_COUNT,
	T_SPACE,
	T_BYTES,
	T_PERIOD,
	T_APP,
	T_MAIN,
	T_HOST,
	T_WEB,
	T_END
};

/* 2 objects of 64 bytes live at R = 1000, out of 4; called by main. */
static void make_pprof(struct gg_buf *out, uint64_t period, uint64_t objects)
{
	static const char *const texts[T_END] = { "",      "inuse_objects", "count", "inuse_space",
		                                  "bytes", "space",         "/app",  "main",
		                                  "host",  "web-3" };
	GG_CLEANUP(gg_buf_done) struct gg_buf sample = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf location = { 0 };

	put_numbers(out, 1, T_OBJECTS, T_COUNT, 0);
	put_numbers(out, 1, T_SPACE, T_BYTES, 0);
	put_number(&sample, 1, 7);
	put_number(&sample, 2, objects);
	put_number(&sample, 2, objects * 64);
	put_numbers(&sample, 3, T_BYTES, 0, 64);
	put_numbers(&sample, 3, T_HOST, T_WEB, 0);
	put_bytes(out, 2, sample.data, sample.length);
	put_number(&location, 1, 7);
	put_numbers(&location, 4, 9, 12, 0);
	put_bytes(out, 4, location.data, location.length);
	put_numbers(out, 5, 9, T_MAIN, 0);
	for (int i = 0; i < T_END; i++)
		put_bytes(out, 6, texts[i], strlen(texts[i]));
	put_numbers(out, 11, T_PERIOD, T_BYTES, 0);
	put_number(out, 12, period);
}

static int see_label(uint32_t process, const char *key, const char *value, void *context)
{
	int *seen = context;

	*seen += process == 1 && strcmp(key, "host") == 0 && strcmp(value, "web-3") == 0;
	return 0;
}

TEST(pprof_is_taken_as_it_is_with_errors_that_follow_from_its_period)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf file = { 0 };
	double p = 1 - exp(-64 / 1000.0);
	struct gg_profile *profile;
	struct imported_sums sums;
	int seen = 0;

	make_pprof(&file, 1000, 50);
	profile = import_test_file(file.data, file.length, NULL);
	if (!CHECK_MSG(profile != NULL, "%s: %s", import_error.place, import_error.message))
		return;
	sums = imported_sums_of(profile);
	CHECK_EQ_DOUBLE(sums.live, 3200);
	CHECK_EQ_DOUBLE(sums.live_count, 50);
	CHECK_EQ_U64(sums.unknown_errors, 0);
	CHECK(is_near(sums.live_variance, 50 * 64.0 * 64 * (1 - p) / p));
	CHECK(gg_profile_each_label(profile, see_label, &seen, &import_error) == 0 && seen == 1);
	gg_profile_close(profile);
}

TEST(pprof_without_a_period_has_no_error_and_with_one_of_1_is_exact)
{
	for (uint64_t period = 0; period < 2; period++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf file = { 0 };
		struct gg_profile *profile;
		struct imported_sums sums;

		make_pprof(&file, period, 50);
		profile = import_test_file(file.data, file.length, NULL);
		sums = imported_sums_of(profile);
		CHECK_EQ_DOUBLE(sums.live, 3200);
		CHECK_EQ_DOUBLE(sums.live_variance, 0);
		CHECK_EQ_I64(sums.unknown_errors == 0, period == 1);
		gg_profile_close(profile);
	}
}

TEST(a_pprof_file_that_is_cut_is_refused_or_has_only_what_is_there)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf file = { 0 };
	size_t taken = 0;

	make_pprof(&file, 1000, 50);
	for (size_t i = 1; i < file.length; i++) {
		struct gg_profile *profile = import_test_file(file.data, i, NULL);

		if (profile == NULL) {
			CHECK_CONTAINS(import_error.place, "file: offset ");
			continue;
		}
		taken++;
		gg_profile_close(profile);
	}
	/* Between two fields a cut cannot be seen: only the last ones are not referred to. */
	CHECK_MSG(taken <= 3, "%zu", taken);
}

/* --- merging -------------------------------------------------------------------------------- */

static struct gg_profile *merge(struct gg_profile *const *profiles, size_t count,
                                const struct gg_merge_options *options)
{
	struct gg_merge_options none = { 0 };
	struct gg_profile *out;
	struct gg_merge *sum;

	CHECK_EQ_I64(gg_profile_create(&out, NULL, &import_error), 0);
	CHECK_EQ_I64(gg_merge_new(&sum, out, options != NULL ? options : &none, &import_error), 0);
	for (size_t i = 0; i < count; i++)
		CHECK_MSG(gg_merge_add(sum, profiles[i], &import_error) == 0, "%s",
		          import_error.message);
	CHECK_EQ_I64(gg_merge_finish(sum, &import_error), 0);
	gg_merge_free(sum);
	return out;
}

TEST(a_thousand_times_a_thousand_machines_hold_a_million_times_as_much)
{
	/* Each of a million machines samples an 8-byte stack eight times and an 8-MB stack once. */
	struct gg_profile *machine = import_test_text(
		"heap_v2/1000000\n  t*: 9: 8000064 [9: 8000064]\n"
		"@ 0x401011\n  t*: 8: 64 [8: 64]\n"
		"@ 0x402011\n  t*: 1: 8000000 [1: 8000000]\n" MAPS);
	struct gg_profile *thousand[1000], *rack, *fleet;
	struct imported_sums sums;

	for (size_t i = 0; i < 1000; i++)
		thousand[i] = machine;
	rack = merge(thousand, 1000, NULL);
	for (size_t i = 0; i < 1000; i++)
		thousand[i] = rack;
	fleet = merge(thousand, 1000, NULL);
	sums = imported_sums_of(fleet);
	CHECK_EQ_U64(sums.rows, 2);
	/* 8 TB each: 10^12 objects of 8 bytes, and 10^6 of 8 MB, seen with p = 1 - e^-8. */
	CHECK_MSG(fabs(sums.live / (8e12 + 8e12 / (1 - exp(-8))) - 1) < 1e-5, "%g", sums.live);
	CHECK_MSG(fabs(sums.live_count / 1e12 - 1) < 1e-5, "%g", sums.live_count);
	gg_profile_close(machine);
	gg_profile_close(rack);
	gg_profile_close(fleet);
}

static int count_labels(uint32_t process, const char *key, const char *value, void *context)
{
	int *seen = context;

	(void)key;
	*seen += strcmp(value, "web-3") == 0 ? 1 : strcmp(value, "2.1") == 0 ? 100 : 10000;
	return (int)(process * 0);
}

TEST(labels_stay_and_processes_that_have_the_same_are_one)
{
	const struct gg_import_label version = { "version", "2.1" };
	const struct gg_merge_options options = { &version, 1, false };
	GG_CLEANUP(gg_buf_done) struct gg_buf file = { 0 };
	struct gg_profile *profiles[3], *out;
	struct imported_sums sums;
	int seen = 0;

	make_pprof(&file, 1000, 50);
	profiles[0] = profiles[1] = import_test_file(file.data, file.length, NULL);
	profiles[2] = import_test_text("main 640\n");
	out = merge(profiles, 3, &options);
	sums = imported_sums_of(out);
	CHECK(sums.rows == 2 && sums.live == 2 * 3200 + 640);
	CHECK(gg_profile_each_label(out, count_labels, &seen, &import_error) == 0 && seen == 201);
	gg_profile_close(profiles[0]);
	gg_profile_close(profiles[2]);
	gg_profile_close(out);
}

static int count_stacks(const struct gg_profile_stack *stack, void *context)
{
	*(uint32_t *)context = stack->id;
	return 0;
}

TEST(samples_are_weighed_by_their_own_interval_and_stacks_matched_by_their_names)
{
	struct made_profile a, b;
	struct gg_profile *profiles[2], *out;
	uint32_t stacks = 0;
	struct imported_sums sums;

	made_begin(&a, NULL, 1000, 1);
	made_sample(&a, made_stack(&a, "main>load>parse"), 64, 5, GG_TIME_NONE);
	made_sample(&a, made_stack(&a, "main>other"), 64, 5, 6);
	made_begin(&b, NULL, 9000, 2);
	made_stack(&b, "other>things>first"); /* so that ids differ */
	made_sample(&b, made_stack(&b, "main>load>parse"), 64, 5, GG_TIME_NONE);
	profiles[0] = a.profile;
	profiles[1] = b.profile;
	out = merge(profiles, 2, NULL);
	sums = imported_sums_of(out);
	CHECK_EQ_U64(sums.rows, 3); /* intervals are rows of their own */
	CHECK_MSG(is_near(sums.live, scaled(1, 64, 1000) + scaled(1, 64, 9000)), "%g", sums.live);
	CHECK(is_near(sums.allocated, 2 * scaled(1, 64, 1000) + scaled(1, 64, 9000)));
	CHECK_EQ_I64(gg_profile_each_stack(out, count_stacks, &stacks, &import_error), 0);
	CHECK_MSG(stacks == 4 + 3, "%u", stacks);
	gg_profile_close(a.profile);
	gg_profile_close(b.profile);
	gg_profile_close(out);
}

/* Adds a live sample of a heap's type. */
static uint64_t add_typed(struct made_profile *made, const char *type, uint64_t origin)
{
	struct gg_profile_sample sample = { .alloc_ns = 5,
		                            .free_ns = origin != 0 ? GG_TIME_NONE : 10,
		                            .process = made->process,
		                            .stack = made_stack(made, "main>load"),
		                            .size_bytes = 64,
		                            .draw = { .sampling_interval = 1,
		                                      .sample_point_count = 1 },
		                            .origin = origin };
	uint64_t id;

	CHECK_EQ_I64(gg_profile_intern_name(made->profile, GG_NAME_HEAP, "objects", &sample.heap,
	                                    &import_error),
	             0);
	CHECK_EQ_I64(gg_profile_intern_name(made->profile, GG_NAME_TYPE, type, &sample.type,
	                                    &import_error),
	             0);
	CHECK_EQ_I64(gg_profile_add_sample(made->profile, &sample, &id, &import_error), 0);
	return id;
}

struct typed {
	struct gg_profile *profile;
	double allocated[2], live[2]; /* bytes of "list" and of "str" */
	int rows;
};

static int find_typed(uint32_t id, const char *name, void *context)
{
	*(uint32_t *)context = strcmp(name, "list") == 0 ? id : *(uint32_t *)context;
	return 0;
}

static int add_typed_row(const struct gg_profile_aggregate *aggregate, void *context)
{
	struct typed *typed = context;
	uint32_t list = 0;

	CHECK_EQ_I64(gg_profile_each_name(typed->profile, GG_NAME_TYPE, find_typed, &list,
	                                  &import_error),
	             0);
	CHECK(aggregate->has_kind && !aggregate->is_mapping && aggregate->heap == 1);
	if (!aggregate->is_inherited)
		typed->allocated[aggregate->type != list] += gg_fixed_value(aggregate->sums.bytes);
	if (aggregate->to_ns == GG_TIME_NONE)
		typed->live[aggregate->type != list] += gg_fixed_value(aggregate->sums.bytes);
	typed->rows++;
	return 0;
}

TEST(types_with_the_same_name_are_one_and_a_shared_block_has_one_type)
{
	struct made_profile a, b;
	struct gg_profile *profiles[2];
	struct typed typed = { 0 };
	uint64_t shared;

	made_begin(&a, NULL, 1, 1);
	add_typed(&a, "str", 0);
	add_typed(&a, "list", 0);
	made_begin(&b, NULL, 1, 2);
	shared = add_typed(&b, "list", 0);
	/* The child keeps the block, and knows a type that the parent's reader did not know yet. */
	b.process = made_process(&b, 77, 7, GG_TIME_NONE);
	add_typed(&b, "str", shared);
	profiles[0] = a.profile;
	profiles[1] = b.profile;
	typed.profile = merge(profiles, 2, NULL);
	CHECK_EQ_I64(gg_profile_each_aggregate(typed.profile, add_typed_row, &typed, &import_error),
	             0);
	CHECK_EQ_U64(typed.rows, 3);
	/* The type of the process that allocated it, and that of the one that holds it. */
	CHECK_MSG(typed.allocated[0] == 128 && typed.allocated[1] == 64, "%g %g",
	          typed.allocated[0], typed.allocated[1]);
	CHECK_MSG(typed.live[0] == 0 && typed.live[1] == 64, "%g %g", typed.live[0], typed.live[1]);
	gg_profile_close(a.profile);
	gg_profile_close(b.profile);
	gg_profile_close(typed.profile);
}

TEST(a_merge_lacks_the_java_objects_that_its_profiles_lack)
{
	static const char *const counters[] = { "Java threads at the attach",
		                                "Java threads sampled since" };
	struct gg_merge_options options = { 0 };
	struct gg_error error = { 0 };
	struct gg_profile *merged;
	struct gg_merge *merge;
	struct gg_model *model;

	CHECK(gg_profile_create(&merged, NULL, &error) == 0);
	CHECK(gg_merge_new(&merge, merged, &options, &error) == 0);
	for (int i = 0; i < 2; i++) {
		struct made_profile made;

		made_begin(&made, NULL, 1000, 3);
		made_sample(&made, made_stack(&made, "main>load"), 100, 1, GG_TIME_NONE);
		/* One of the two was attached to. */
		for (size_t c = 0; c < GG_COUNT(counters) && i == 0; c++)
			CHECK(gg_profile_put_counter(made.profile, made.process, counters[c], 2,
			                             &error) == 0);
		CHECK(gg_merge_add(merge, made.profile, &error) == 0);
		gg_profile_close(made.profile);
	}
	CHECK(gg_merge_finish(merge, &error) == 0);
	gg_merge_free(merge);
	CHECK(gg_model_load(&model, &merged, 1, NULL, &error) == 0);
	gg_profile_close(merged);
	CHECK(gg_model_lacks_java_objects(model, 0));
	CHECK(!gg_model_is_incomplete(model, 0, INT64_MIN, GG_TIME_NONE));
	CHECK(model->note_count > 0);
	gg_model_free(model);
}

TEST(a_block_that_a_fork_shared_is_merged_once)
{
	struct made_profile made;
	struct gg_profile *out;
	uint32_t stack;
	uint64_t freed, kept;
	struct imported_sums sums;

	made_begin(&made, NULL, 1, 1);
	stack = made_stack(&made, "main>load");
	freed = made_sample(&made, stack, 64, 5, 10); /* by the parent; the child keeps it */
	kept = made_sample(&made, stack, 100, 5, GG_TIME_NONE);
	made.process = made_process(&made, 77, 7, GG_TIME_NONE);
	made_inherited(&made, stack, 64, 5, GG_TIME_NONE, freed);
	made_inherited(&made, stack, 100, 5, GG_TIME_NONE, kept);
	out = merge(&made.profile, 1, NULL);
	sums = imported_sums_of(out);
	CHECK_MSG(sums.live == 164 && sums.allocated == 164, "%g of %g", sums.live, sums.allocated);
	gg_profile_close(made.profile);
	gg_profile_close(out);
}
