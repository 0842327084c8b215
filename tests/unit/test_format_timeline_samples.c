/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_format_timeline_samples - compares steps over time with sums over all samples for each
 * moment.
 *
 * The steps say what was allocated and freed until some moments.  With an interval of 1 every
 * allocation is a sample, so the sums are exact.
 */
#include "format/export/timeline_samples.h"

#include "made_profile.h"
#include "stats/sampling/rng.h"
#include "test.h"

/* The session ends at END_NS. */
enum { SAMPLES = 400, STACKS = 3, END_NS = 1000000000 };

static struct gg_error error;

static const struct truth {
	int stack;
	uint64_t bytes;
	int64_t alloc_ns, free_ns;
} no_truth;

struct scene {
	struct truth truths[SAMPLES];
	struct gg_model *model;
	struct gg_extract *extract;
	struct gg_timeline_samples *steps;
};

static const char *const stacks[STACKS] = { "main>load", "main>draw", "main>draw>copy" };

static void scene_setup(struct scene *scene)
{
	struct made_profile made;
	struct gg_query query;
	uint32_t ids[STACKS];

	made_begin(&made, NULL, 1, 1);
	for (int i = 0; i < STACKS; i++)
		ids[i] = made_stack(&made, stacks[i]);
	for (int i = 0; i < SAMPLES; i++) {
		struct truth *truth = &scene->truths[i];

		*truth = no_truth;
		truth->stack = (int)(gg_rng_next(&made.rng) % STACKS);
		truth->bytes = 1 + gg_rng_next(&made.rng) % 5000;
		truth->alloc_ns = (int64_t)(gg_rng_next(&made.rng) % END_NS);
		truth->free_ns = i % 3 == 0 ? GG_TIME_NONE
		                            : truth->alloc_ns + (int64_t)(gg_rng_next(&made.rng) %
		                                                          (END_NS / 3));
		if (truth->free_ns != GG_TIME_NONE && truth->free_ns >= END_NS)
			truth->free_ns = GG_TIME_NONE;
		made_sample(&made, ids[truth->stack], truth->bytes, truth->alloc_ns,
		            truth->free_ns);
	}
	REQUIRE(gg_model_load(&scene->model, &made.profile, 1, NULL, &error) == 0);
	gg_profile_close(made.profile);
	gg_query_init(&query);
	REQUIRE(gg_extract_make(&scene->extract, scene->model, &query, 0.95, &error) == 0);
}

static void scene_teardown(struct scene *scene)
{
	gg_timeline_samples_free(scene->steps);
	gg_extract_free(scene->extract);
	gg_model_free(scene->model);
}

FIXTURE(scene)

/* The number of the truth's stack that the entry is of: by its innermost function and its depth. */
static int stack_of(const struct scene *scene, const struct gg_timeline_entry *entry)
{
	size_t count;
	const struct gg_code_location *location = gg_model_stack_locations(scene->model,
	                                                                   entry->stack, &count);
	const char *name = scene->model->functions[location[0].function].name;

	return strcmp(name, "load") == 0 ? 0 : strcmp(name, "draw") == 0 ? 1 : 2;
}

/* Whole numbers of parts are rounded down: one less may be there, and none at the end. */
static void check_part(const char *what, uint64_t got, uint64_t wanted, bool is_last)
{
	CHECK_MSG(got == wanted || (!is_last && got + 1 == wanted),
	          "%s: got %" PRIu64 ", expected %" PRIu64, what, got, wanted);
}

static void check_entry(const struct scene *scene, const struct gg_timeline_entry *entry,
                        int64_t now_ns, bool is_last)
{
	struct gg_timeline_entry wanted = { 0 };
	int stack = stack_of(scene, entry);

	for (int i = 0; i < SAMPLES; i++) {
		const struct truth *truth = &scene->truths[i];

		if (truth->stack != stack || truth->alloc_ns > now_ns)
			continue;
		wanted.allocated_bytes += truth->bytes;
		wanted.allocated_count++;
		if (truth->free_ns == GG_TIME_NONE || truth->free_ns > now_ns)
			continue;
		wanted.freed_bytes += truth->bytes;
		wanted.freed_count++;
	}
	check_part("bytes", entry->allocated_bytes, wanted.allocated_bytes, is_last);
	check_part("count", entry->allocated_count, wanted.allocated_count, is_last);
	check_part("freed bytes", entry->freed_bytes, wanted.freed_bytes, is_last);
	check_part("freed count", entry->freed_count, wanted.freed_count, is_last);
	CHECK(entry->freed_bytes <= entry->allocated_bytes);
	CHECK(entry->freed_count <= entry->allocated_count);
}

TEST_WITH(scene, each_step_has_what_happened_until_then)
{
	const size_t counts[] = { 1, 2, 7, 60 };

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		size_t count = 0;

		REQUIRE(gg_timeline_samples_make(&scene->steps, scene->extract, counts[i],
		                                 &error) == 0);
		CHECK_EQ_U64(scene->steps->entry_count, STACKS);
		while (gg_timeline_samples_next(scene->steps)) {
			bool is_last = ++count == counts[i];

			for (size_t k = 0; k < scene->steps->entry_count; k++)
				check_entry(scene, &scene->steps->entries[k], scene->steps->now_ns,
				            is_last);
		}
		CHECK_EQ_U64(count, counts[i]);
		CHECK_EQ_I64(scene->steps->now_ns, scene->extract->end_ns);
		gg_timeline_samples_free(scene->steps);
		scene->steps = NULL;
	}
}

TEST_WITH(scene, the_last_step_has_the_numbers_of_the_rows)
{
	uint64_t live_bytes = 0, live_count = 0;

	REQUIRE(gg_timeline_samples_make(&scene->steps, scene->extract, 5, &error) == 0);
	while (gg_timeline_samples_next(scene->steps))
		continue;
	for (size_t i = 0; i < scene->steps->entry_count; i++) {
		const struct gg_timeline_entry *entry = &scene->steps->entries[i];

		live_bytes += entry->allocated_bytes - entry->freed_bytes;
		live_count += entry->allocated_count - entry->freed_count;
	}
	CHECK_EQ_U64(live_bytes, scene->extract->live_bytes);
	CHECK_EQ_U64(live_count, scene->extract->live_count);
}

/* An entry that a step does not name keeps its numbers. */
TEST_WITH(scene, what_a_step_changed_is_all_that_it_changed)
{
	uint64_t before[STACKS] = { 0 };

	REQUIRE(gg_timeline_samples_make(&scene->steps, scene->extract, 1000, &error) == 0);
	while (gg_timeline_samples_next(scene->steps)) {
		bool is_named[STACKS] = { false };

		for (size_t i = 0; i < scene->steps->changed_count; i++) {
			CHECK(i == 0 || scene->steps->changed[i] > scene->steps->changed[i - 1]);
			is_named[scene->steps->changed[i]] = true;
		}
		for (size_t i = 0; i < STACKS; i++) {
			const struct gg_timeline_entry *entry = &scene->steps->entries[i];
			uint64_t now = entry->allocated_count + entry->freed_count;

			CHECK(now >= before[i] && (is_named[i] || now == before[i]));
			before[i] = now;
		}
	}
}
