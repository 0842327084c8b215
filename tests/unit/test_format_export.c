/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_format_export - exports odd profiles in every format, and checks that the result is valid.
 */
#include "format/export/export.h"

#include <errno.h>
#include <stdlib.h>

#include "made_profile.h"
#include "test.h"

static struct gg_error error;

static struct gg_model *model_of(struct made_profile *made)
{
	struct gg_model *model = NULL;

	CHECK_EQ_I64(gg_model_load(&model, &made->profile, 1, NULL, &error), 0);
	gg_profile_close(made->profile);
	return model;
}

static int write_as(const struct gg_export_format *format, const struct gg_model *model,
                    struct gg_buf *out)
{
	struct gg_export job = { .out = out, .error = &error };
	struct gg_extract *extract;
	struct gg_query question;
	int status;

	gg_query_init(&question);
	status = gg_extract_make(&extract, model, &question, 0.95, &error);
	if (status < 0)
		return status;
	job.extract = extract;
	status = gg_export_write(format, &job);
	gg_extract_free(extract);
	return status;
}

static void write_all(const struct gg_model *model)
{
	for (size_t i = 0; gg_export_formats[i] != NULL; i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };

		CHECK_MSG(write_as(gg_export_formats[i], model, &out) == 0, "%s: %s",
		          gg_export_formats[i]->name, error.message);
		if (strcmp(gg_export_formats[i]->name, "collapsed") != 0)
			CHECK_MSG(out.length > 0, "%s", gg_export_formats[i]->name);
	}
}

TEST(an_empty_profile_goes_out_in_every_format)
{
	struct made_profile made;
	struct gg_model *model;

	made_begin(&made, NULL, 1000, 1);
	model = model_of(&made);
	write_all(model);
	gg_model_free(model);
}

/* No stack, no process, no thread; blocks of no bytes, and of all that there are. */
TEST(odd_samples_go_out_in_every_format)
{
	struct made_profile made;
	struct gg_model *model;
	uint32_t stack;

	made_begin(&made, NULL, 1000, 1);
	stack = made_stack(&made, "main>0x0>[]f>g@:0");
	made_sample(&made, 0, 64, 5, GG_TIME_NONE);
	made_sample(&made, stack, 0, 5, GG_TIME_NONE);
	made_sample(&made, stack, 0, 5, 5);
	made_sample(&made, stack, UINT64_C(1) << 52, 7, 6);
	made_sample(&made, stack, UINT64_C(1) << 52, 7, GG_TIME_NONE);
	made.process = made.thread = 0;
	made_sample(&made, stack, 64, 5, GG_TIME_NONE);
	made_sample(&made, 0, 64, 5, 8);
	made_inherited(&made, stack, 64, 5, GG_TIME_NONE, 99);
	model = model_of(&made);
	write_all(model);
	gg_model_free(model);
}

/*
 * The sum of these blocks exceeds 64 bits.  It stops at a largest number, and the sanitizers find
 * no overflow.
 */
TEST(blocks_that_no_machine_has_go_out_in_every_format)
{
	struct made_profile made;
	struct gg_model *model;
	uint32_t stack;

	made_begin(&made, NULL, 1000, 1);
	stack = made_stack(&made, "main>grow");
	for (int i = 0; i < 8; i++) {
		made_sample(&made, stack, INT64_MAX, 5, GG_TIME_NONE);
		made_sample(&made, stack, INT64_MAX, 5, 9);
	}
	model = model_of(&made);
	write_all(model);
	gg_model_free(model);
}

TEST(stacks_may_be_as_deep_as_they_like)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct made_profile made;
	struct gg_model *model;

	made_begin(&made, NULL, 1000, 1);
	for (int i = 0; i < 20000; i++)
		gg_buf_printf(&text, "%sf%d", i > 0 ? ">" : "", i % 7);
	made_sample(&made, made_stack(&made, gg_buf_text(&text)), 64, 5, GG_TIME_NONE);
	model = model_of(&made);
	write_all(model);
	gg_model_free(model);
}

TEST(names_may_be_any_bytes)
{
	struct made_profile made;
	struct gg_model *model;

	made_begin(&made, NULL, 1000, 1);
	made_sample(&made, made_stack(&made, "a;b \"c\\\x01\n\xff\xc3\xa9 <&"), 64, 5, 8);
	model = model_of(&made);
	write_all(model);
	gg_model_free(model);
}

TEST(a_format_is_found_by_its_name_and_by_that_of_a_file)
{
	for (size_t i = 0; gg_export_formats[i] != NULL; i++) {
		const struct gg_export_format *format = gg_export_formats[i];
		char path[64];

		snprintf(path, sizeof(path), "a/b%s", format->suffix);
		CHECK_EQ_PTR(gg_export_find(format->name), format);
		CHECK_MSG(gg_export_find_by_file(path) == format, "%s", path);
	}
	CHECK(gg_export_find("nosuch") == NULL);
	CHECK(gg_export_find_by_file(".csv") == NULL); /* no name, only an end */
	CHECK(gg_export_find_by_file("x.txt") == NULL);
}

TEST(formats_with_both_refuse_what_has_no_place_in_them)
{
	CHECK_EQ_I64(gg_export_check(&gg_export_heap_v2, GG_METRIC_PEAK, &error), 0);
	CHECK_EQ_I64(gg_export_check(&gg_export_heap_v2, GG_METRIC_FREED, &error), -EINVAL);
	CHECK_EQ_I64(gg_export_check(&gg_export_pprof, GG_METRIC_FREED, &error), -EINVAL);
	CHECK_EQ_I64(gg_export_check(&gg_export_pprof, GG_METRIC_PINNED, &error), 0);
	CHECK_EQ_I64(gg_export_check(&gg_export_perfetto, GG_METRIC_PINNED, &error), -EINVAL);
	CHECK_EQ_I64(gg_export_check(&gg_export_csv, GG_METRIC_FREED, &error), 0);
	CHECK_EQ_I64(gg_export_check(&gg_export_csv, GG_METRIC_PINNED, &error), 0);
}
