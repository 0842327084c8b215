/* SPDX-License-Identifier: Apache-2.0 */
/* test_format_extract - shows that the extract for exports adds up to the numbers of reports. */
#include "format/export/extract.h"

#include <math.h>
#include <stdlib.h>

#include "format/export/address_space.h"
#include "format/export/timeline_samples.h"
#include "made_profile.h"
#include "test.h"

static struct gg_error error;

/* 40 stacks of two processes with three threads, sampled by chance; 1/p is no whole number. */
static struct gg_model *make_model(void)
{
	struct gg_model *model = NULL;
	struct made_profile made;
	char text[128];

	made_begin(&made, NULL, 1000, 3);
	for (int i = 0; i < 120; i++) {
		int64_t alloc_ns = 1000000 * (int64_t)i;
		int64_t free_ns = i % 3 == 0 ? GG_TIME_NONE : alloc_ns + 200000000;

		if (i == 60)
			made_process(&made, 4712, 50000000, 1000000000);
		snprintf(text, sizeof(text), "main>f%d>g+inl", i % 40);
		made_allocate(&made, made_stack(&made, text), 100 + 37 * (uint64_t)i, 20, alloc_ns,
		              free_ns);
	}
	CHECK_EQ_I64(gg_model_load(&model, &made.profile, 1, NULL, &error), 0);
	gg_profile_close(made.profile);
	return model;
}

static struct gg_extract *extract_of(const struct gg_model *model, enum gg_metric metric,
                                     int64_t from_ns, int64_t to_ns)
{
	struct gg_extract *extract = NULL;
	struct gg_query question;

	gg_query_init(&question);
	question.metric = metric;
	question.from_ns = from_ns;
	question.to_ns = to_ns;
	CHECK_EQ_I64(gg_extract_make(&extract, model, &question, 0.95, &error), 0);
	return extract;
}

static double asked(const struct gg_model *model, enum gg_metric metric, int64_t from_ns,
                    int64_t to_ns, enum gg_quantity quantity)
{
	struct gg_query question;
	struct gg_sum_up sum;

	gg_query_init(&question);
	question.metric = metric;
	question.from_ns = from_ns;
	question.to_ns = to_ns;
	CHECK_EQ_I64(gg_query_sum(model, &question, &sum, &error), 0);
	return gg_tally_estimate(&sum.total, quantity).value;
}

TEST(whole_numbers_of_rows_add_up_to_what_reports_show)
{
	struct gg_model *model = make_model();

	for (int64_t to_ns = 20000000; to_ns <= 400000000; to_ns += 38000000) {
		struct gg_extract *extract = extract_of(model, GG_METRIC_LIVE, INT64_MIN, to_ns);
		double live = asked(model, GG_METRIC_LIVE, INT64_MIN, to_ns, GG_BYTES);
		double all = asked(model, GG_METRIC_ALLOCATED, INT64_MIN, to_ns, GG_BYTES);
		double count = asked(model, GG_METRIC_LIVE, INT64_MIN, to_ns, GG_ALLOCATIONS);

		/* Allocated is the sum of two numbers, each right to 1/2. */
		CHECK_MSG(fabs((double)extract->live_bytes - live) <= 0.51, "%g", live);
		CHECK_MSG(fabs((double)extract->allocated_bytes - all) <= 1.01, "%g", all);
		CHECK_MSG(fabs((double)extract->live_count - count) <= 0.51, "%g", count);
		for (size_t i = 0; i < extract->row_count; i++) {
			const struct gg_extract_row *row = &extract->rows[i];

			CHECK(row->live.bytes <= row->allocated.bytes);
			CHECK(row->live.count <= row->allocated.count);
			CHECK_EQ_I64(row->live.count > 0, row->live.tally.sample_count > 0);
			CHECK(row->allocated.count > 0);
		}
		gg_extract_free(extract);
	}
	gg_model_free(model);
}

TEST(the_peak_is_a_moment_and_what_had_been_allocated_by_then)
{
	struct gg_model *model = make_model();
	struct gg_extract *peak = extract_of(model, GG_METRIC_PEAK, INT64_MIN, GG_TIME_NONE);
	struct gg_extract *then = extract_of(model, GG_METRIC_LIVE, INT64_MIN, peak->query.to_ns);

	CHECK_EQ_U64(peak->metric, GG_METRIC_PEAK);
	CHECK_EQ_U64(peak->query.metric, GG_METRIC_LIVE);
	CHECK_EQ_U64(peak->live_bytes, then->live_bytes);
	CHECK_EQ_U64(peak->allocated_bytes, then->allocated_bytes);
	CHECK(fabs((double)peak->live_bytes -
	           asked(model, GG_METRIC_PEAK, INT64_MIN, GG_TIME_NONE, GG_BYTES)) <= 0.51);
	gg_extract_free(peak);
	gg_extract_free(then);
	gg_model_free(model);
}

TEST(other_metrics_take_the_place_of_what_is_live)
{
	struct gg_model *model = make_model();
	struct gg_extract *freed = extract_of(model, GG_METRIC_FREED, INT64_MIN, GG_TIME_NONE);

	CHECK(fabs((double)freed->live_bytes -
	           asked(model, GG_METRIC_FREED, INT64_MIN, GG_TIME_NONE, GG_BYTES)) <= 0.51);
	CHECK_EQ_PTR(gg_extract_queried(freed, &freed->rows[0]), &freed->rows[0].live);
	gg_extract_free(freed);
	gg_model_free(model);
}

TEST(blocks_say_the_same_as_rows_and_begin_with_the_window)
{
	struct gg_model *model = make_model();
	static const int64_t windows[][2] = { { INT64_MIN, GG_TIME_NONE },
		                              { INT64_MIN, 150000000 },
		                              { 50000000, 260000000 } };

	for (size_t w = 0; w < GG_COUNT(windows); w++) {
		struct gg_extract *extract = extract_of(model, GG_METRIC_LIVE, windows[w][0],
		                                        windows[w][1]);
		struct gg_extract_block *blocks;
		size_t count;
		double live = 0;

		CHECK_EQ_I64(gg_extract_blocks(extract, &blocks, &count, &error), 0);
		for (size_t i = 0; i < count; i++) {
			CHECK(blocks[i].alloc_ns >= extract->start_ns);
			CHECK(blocks[i].alloc_ns <= extract->end_ns);
			CHECK(i == 0 || blocks[i].alloc_ns >= blocks[i - 1].alloc_ns);
			live += blocks[i].free_ns == GG_TIME_NONE ? blocks[i].bytes : 0;
		}
		CHECK_MSG(fabs(live - (double)extract->live_bytes) <= 1, "%g", live);
		free(blocks);
		gg_extract_free(extract);
	}
	gg_model_free(model);
}

TEST(steps_never_fall_and_end_as_the_rows_do)
{
	struct gg_model *model = make_model();
	struct gg_extract *extract = extract_of(model, GG_METRIC_LIVE, INT64_MIN, GG_TIME_NONE);
	struct gg_timeline_samples *steps;
	uint64_t allocated = 0, freed = 0, count = 0;
	int step_count = 0;

	CHECK_EQ_I64(gg_timeline_samples_make(&steps, extract, 17, &error), 0);
	struct gg_timeline_entry *before = calloc(steps->entry_count, sizeof(*before));

	while (gg_timeline_samples_next(steps)) {
		double live = asked(model, GG_METRIC_LIVE, INT64_MIN, steps->now_ns, GG_BYTES);
		double got = 0;

		for (size_t i = 0; i < steps->entry_count; i++) {
			const struct gg_timeline_entry *entry = &steps->entries[i];

			CHECK(entry->allocated_bytes >= before[i].allocated_bytes);
			CHECK(entry->freed_bytes >= before[i].freed_bytes);
			CHECK(entry->freed_count >= before[i].freed_count);
			CHECK(entry->freed_bytes <= entry->allocated_bytes);
			CHECK(entry->freed_count <= entry->allocated_count);
			got += (double)(entry->allocated_bytes - entry->freed_bytes);
			before[i] = *entry;
		}
		/* Each entry is cut to whole bytes twice. */
		CHECK_MSG(fabs(got - live) <= (double)(2 * steps->entry_count), "%g, not %g", got,
		          live);
		step_count++;
	}
	for (size_t i = 0; i < steps->entry_count; i++) {
		allocated += steps->entries[i].allocated_bytes;
		freed += steps->entries[i].freed_bytes;
		count += steps->entries[i].allocated_count;
	}
	CHECK(step_count == 17 && steps->now_ns == extract->end_ns);
	CHECK(allocated == extract->allocated_bytes && count == extract->allocated_count);
	CHECK_EQ_U64(allocated - freed, extract->live_bytes);
	free(before);
	gg_timeline_samples_free(steps);
	gg_extract_free(extract);
	gg_model_free(model);
}

static void add_mapping(struct made_profile *made, const char *path, uint64_t start)
{
	const struct gg_profile_mapping mapping = {
		.process = made->process,
		.module = made_module(made, path),
		.start = start,
		.end = start + 0x100000,
		.bias = start - 0x1000, /* the first segment is not at 0 in the file */
		.file_offset = 0x1000,
		.unload_ns = GG_TIME_NONE,
	};

	CHECK_EQ_I64(gg_profile_add_mapping(made->profile, &mapping, &error), 0);
}

/* Two processes have different libraries at one address; no process mapped a third library. */
TEST(modules_of_all_processes_have_places_of_their_own)
{
	static const char *const stacks[] = { "main>[liba]0x1234", "main>[libb]0x1234",
		                              "main>[libc]0x99234" };
	struct made_profile made;
	struct gg_model *model;
	struct gg_extract *extract;
	struct gg_address_space space;

	made_begin(&made, NULL, 1, 1);
	add_mapping(&made, "/usr/bin/made", 0x400000);
	add_mapping(&made, "liba", 0x7f0000000000);
	made_sample(&made, made_stack(&made, stacks[0]), 64, 1, GG_TIME_NONE);
	made_process(&made, 4712, 0, 1000);
	add_mapping(&made, "libb", 0x7f0000080000);
	made_sample(&made, made_stack(&made, stacks[1]), 64, 1, GG_TIME_NONE);
	made_sample(&made, made_stack(&made, stacks[2]), 64, 1, GG_TIME_NONE);
	CHECK_EQ_I64(gg_model_load(&model, &made.profile, 1, NULL, &error), 0);
	gg_profile_close(made.profile);
	extract = extract_of(model, GG_METRIC_LIVE, INT64_MIN, GG_TIME_NONE);
	CHECK_EQ_I64(gg_address_space_make(&space, extract, &error), 0);
	CHECK_EQ_U64(space.used_count, 4);
	CHECK_EQ_STR(model->modules[space.order[0]].path, "/usr/bin/made");
	for (size_t i = 0; i < extract->row_count; i++) {
		const struct gg_model_frame *frame = gg_model_stack_frame(model,
		                                                          extract->rows[i].stack);
		const struct gg_address_space_module *module = &space.modules[frame->module];
		uint64_t address = gg_address_space_address(&space, frame);

		CHECK(address >= module->start && address < module->end);
		for (size_t k = 0; k < space.used_count; k++) {
			const struct gg_address_space_module *other =
				&space.modules[space.order[k]];

			CHECK(other == module || address < other->start || address >= other->end);
		}
		if (strcmp(model->modules[frame->module].path, "liba") == 0)
			CHECK(address == 0x7f0000000234 && module->file_offset == 0x1000);
	}
	gg_address_space_done(&space);
	gg_extract_free(extract);
	gg_model_free(model);
}

/* Blocks that a child inherited are live in it, although it did not allocate them. */
TEST(steps_of_a_child_have_what_it_inherited)
{
	struct made_profile made;
	struct gg_model *model;
	struct gg_extract *extract = NULL;
	struct gg_query question;
	struct gg_timeline_samples *steps;
	uint64_t live = 0, id;
	uint32_t stack;

	made_begin(&made, NULL, 1, 1);
	stack = made_stack(&made, "main>f");
	id = made_sample(&made, stack, 500, 100, GG_TIME_NONE);
	made_process(&made, 4712, 200, 1000);
	made_inherited(&made, stack, 500, 200, GG_TIME_NONE, id);
	made_sample(&made, stack, 70, 300, GG_TIME_NONE);
	made_sample(&made, stack, 20, 300, 400);
	CHECK_EQ_I64(gg_model_load(&model, &made.profile, 1, NULL, &error), 0);
	gg_profile_close(made.profile);
	gg_query_init(&question);
	question.pid = 4712;
	CHECK_EQ_I64(gg_extract_make(&extract, model, &question, 0.95, &error), 0);
	CHECK_EQ_U64(extract->live_bytes, 570);
	CHECK_EQ_U64(extract->allocated_bytes, 90);
	CHECK_EQ_I64(gg_timeline_samples_make(&steps, extract, 3, &error), 0);
	while (gg_timeline_samples_next(steps))
		live = steps->entries[0].allocated_bytes - steps->entries[0].freed_bytes;
	CHECK_MSG(steps->entry_count == 1 && live == 570, "%llu", (unsigned long long)live);
	gg_timeline_samples_free(steps);
	gg_extract_free(extract);
	gg_model_free(model);
}

/* A Java object and a block of malloc, in a process with one more counter. */
static struct gg_model *make_lacking_model(const char *counter)
{
	struct gg_model *model = NULL;
	struct made_profile made;
	uint32_t heap;

	made_begin(&made, NULL, 1000, 3);
	made_sample(&made, made_stack(&made, "start>read"), 100, 1, GG_TIME_NONE);
	CHECK(gg_profile_intern_name(made.profile, GG_NAME_HEAP, "java", &heap, &error) == 0);
	made.heap = heap;
	made_sample(&made, made_stack(&made, "main>load"), 100, 1, GG_TIME_NONE);
	if (counter != NULL)
		CHECK(gg_profile_put_counter(made.profile, made.process, counter, 2, &error) == 0);
	CHECK_EQ_I64(gg_model_load(&model, &made.profile, 1, NULL, &error), 0);
	gg_profile_close(made.profile);
	return model;
}

static bool has_end(const struct gg_extract *extract, const struct gg_extract_sum *sum)
{
	struct gg_interval bytes = gg_extract_interval(extract, sum, GG_BYTES);
	struct gg_interval count = gg_extract_interval(extract, sum, GG_ALLOCATIONS);

	CHECK(bytes.low > 0 && count.low > 0);
	CHECK_EQ_I64(isfinite(bytes.high) != 0, isfinite(count.high) != 0);
	return isfinite(bytes.high);
}

TEST(sums_that_lack_objects_have_no_upper_end)
{
	static const struct {
		const char *counter;
		bool malloc_has_end, java_has_end;
	} cases[] = { { NULL, true, true },
		      { "missed frees", true, true },
		      { "samples dropped: live full", false, false },
		      { GG_PROFILE_LACKING_SENDERS, false, false },
		      { "Java threads at the attach", true, false } };

	for (size_t i = 0; i < GG_COUNT(cases); i++) {
		struct gg_model *model = make_lacking_model(cases[i].counter);
		struct gg_extract *extract = extract_of(model, GG_METRIC_LIVE, INT64_MIN,
		                                        GG_TIME_NONE);

		REQUIRE(extract->row_count == 2);
		for (size_t r = 0; r < 2; r++) {
			const struct gg_extract_row *row = &extract->rows[r];
			bool wanted = gg_model_may_be_java(model, row->kind)
			                      ? cases[i].java_has_end
			                      : cases[i].malloc_has_end;

			CHECK_EQ_I64(has_end(extract, &row->live), wanted);
			CHECK_EQ_I64(has_end(extract, &row->allocated), wanted);
		}
		CHECK_EQ_I64(!(extract->live.incomplete > 0), cases[i].java_has_end);
		CHECK_EQ_I64(!(extract->allocated.incomplete > 0), cases[i].java_has_end);
		gg_extract_free(extract);
		gg_model_free(model);
	}
}

TEST(an_empty_profile_is_an_empty_extract)
{
	struct made_profile made;
	struct gg_model *model;
	struct gg_extract *extract;

	made_begin(&made, NULL, 1000, 1);
	CHECK_EQ_I64(gg_model_load(&model, &made.profile, 1, NULL, &error), 0);
	gg_profile_close(made.profile);
	extract = extract_of(model, GG_METRIC_PEAK, INT64_MIN, GG_TIME_NONE);
	CHECK_EQ_U64(extract->row_count, 0);
	CHECK_EQ_U64(extract->live_bytes, 0);
	CHECK(extract->start_ns <= extract->end_ns);
	gg_extract_free(extract);
	gg_model_free(model);
}

/* Sampling was off for a while before the window: live memory may lack blocks of that time. */
TEST(what_was_live_lacks_what_was_allocated_before_the_window)
{
	struct gg_model *model = NULL;
	struct made_profile made;
	const struct gg_profile_event off = { .kind = "off", .time_ns = 10000000 };
	const struct gg_profile_event on = { .kind = "on", .time_ns = 20000000 };
	struct gg_profile_event event;
	struct gg_extract *extract;

	made_begin(&made, NULL, 1000, 3);
	made_allocate(&made, made_stack(&made, "main>load"), 100, 100, 30000000, GG_TIME_NONE);
	event = off;
	event.process = made.process;
	REQUIRE(gg_profile_add_event(made.profile, &event, &error) == 0);
	event = on;
	event.process = made.process;
	REQUIRE(gg_profile_add_event(made.profile, &event, &error) == 0);
	REQUIRE(gg_model_load(&model, &made.profile, 1, NULL, &error) == 0);
	gg_profile_close(made.profile);
	extract = extract_of(model, GG_METRIC_ALLOCATED, 25000000, 40000000);
	REQUIRE(extract->row_count == 1);
	CHECK(isinf(gg_extract_interval(extract, &extract->rows[0].live, GG_BYTES).high));
	CHECK(isfinite(gg_extract_interval(extract, &extract->rows[0].allocated, GG_BYTES).high));
	CHECK(extract->live.incomplete > 0 && extract->allocated.incomplete == 0);
	gg_extract_free(extract);
	extract = extract_of(model, GG_METRIC_LIVE, 25000000, 40000000);
	CHECK(isinf(gg_extract_interval(extract, &extract->rows[0].live, GG_BYTES).high));
	CHECK(isfinite(gg_extract_interval(extract, &extract->rows[0].allocated, GG_BYTES).high));
	gg_extract_free(extract);
	gg_model_free(model);
}
