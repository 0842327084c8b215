/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_model_looks - shows that looks keep their processes, samples, and times in a model of one
 * profile or several, and that blocks of lost samples harm nothing.
 */

#include "made_profile.h"
#include "model/model.h"
#include "test.h"

static struct gg_error error;

struct scene {
	struct made_profile made[2];
	struct gg_model *model;
};

static void scene_setup(struct scene *scene)
{
	for (int i = 0; i < 2; i++)
		made_begin(&scene->made[i], NULL, 1000, 1);
}

static void scene_teardown(struct scene *scene)
{
	gg_model_free(scene->model);
	for (int i = 0; i < 2; i++)
		gg_profile_close(scene->made[i].profile);
}

FIXTURE(scene)

static void load(struct scene *scene, size_t profile_count)
{
	struct gg_profile *profiles[] = { scene->made[0].profile, scene->made[1].profile };
	int status = gg_model_load(&scene->model, profiles, profile_count, NULL, &error);

	REQUIRE_MSG(status == 0, "%s: %s", error.place, error.message);
	REQUIRE_MSG(gg_model_validate(scene->model, &error) == 0, "%s", error.message);
}

/* A look at the process that `made` has now, which saw one block. */
static void put_look(struct made_profile *made, uint64_t sample, double pinned_bytes,
                     int64_t rss_bytes)
{
	const struct gg_profile_look look = {
		.process = made->process,
		.time_ns = 7,
		.rss_bytes = rss_bytes,
		.live_count = 8,
		.chosen_count = 2,
		.allocator = "glibc",
	};
	const struct gg_profile_look_mapping mapping = { .name = "x", .rss_bytes = rss_bytes };
	const struct gg_profile_look_block block = { .sample = sample,
		                                     .pinned_bytes = pinned_bytes };
	const struct gg_profile_look_total total = { .name = "glibc.top", .bytes = rss_bytes };
	const struct gg_profile_look_parts parts = { &mapping, &block, &total, 1, 1, 1 };

	REQUIRE(gg_profile_put_look(made->profile, &look, &parts, &error) == 0);
}

/* The only block of a look. */
static const struct gg_profile_look_block *block_of(const struct scene *scene, uint32_t look)
{
	size_t count;
	const struct gg_profile_look_block *block = gg_model_look_blocks(scene->model, look,
	                                                                 &count);

	REQUIRE(count == 1 && block->look == look);
	return block;
}

TEST_WITH(scene, looks_of_two_profiles_keep_their_processes_and_samples)
{
	for (int i = 0; i < 2; i++) {
		struct made_profile *made = &scene->made[i];
		uint32_t stack = made_stack(made, "main");

		made_sample(made, stack, 1, 5, 6);
		put_look(made, made_sample(made, stack, 64 + (uint64_t)i, 5, GG_TIME_NONE), 9,
		         100 + i);
	}
	load(scene, 2);
	REQUIRE(scene->model->look_count == 2 && scene->model->look_block_count == 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct gg_profile_look *look = &scene->model->looks[i];
		const struct gg_profile_look_block *block = block_of(scene, i);
		size_t count;

		REQUIRE(block->sample < scene->model->sample_count);
		CHECK_EQ_U64(scene->model->samples[block->sample].size_bytes, 64 + i);
		CHECK_EQ_U64(scene->model->samples[block->sample].process, look->process);
		CHECK_EQ_I64(look->time_ns, 7);
		CHECK_EQ_DOUBLE(gg_model_look_chance(look), 0.25);
		CHECK_EQ_I64(gg_model_look_total(scene->model, i, "glibc.top"), 100 + i);
		CHECK_EQ_I64(gg_model_look_total(scene->model, i, "glibc.free"), -1);
		CHECK_EQ_I64(gg_model_look_mappings(scene->model, i, &count)->rss_bytes, 100 + i);
		CHECK(gg_model_find_look(scene->model, look->process, GG_LOOK_LAST) == look);
	}
}

TEST_WITH(scene, the_last_look_and_the_one_at_the_peak_differ)
{
	struct made_profile *made = &scene->made[0];
	uint64_t sample = made_sample(made, made_stack(made, "main"), 64, 5, GG_TIME_NONE);
	const struct gg_profile_look *last, *peak;

	put_look(made, sample, 3, 900);
	put_look(made, sample, 4, 200);
	load(scene, 1);
	last = gg_model_find_look(scene->model, 1, GG_LOOK_LAST);
	peak = gg_model_find_look(scene->model, 1, GG_LOOK_PEAK);
	REQUIRE(last != NULL && peak != NULL);
	CHECK_EQ_I64(last->rss_bytes, 200);
	CHECK_EQ_I64(peak->rss_bytes, 900);
	CHECK_EQ_DOUBLE(block_of(scene, last->id)->pinned_bytes, 4);
	CHECK_EQ_DOUBLE(block_of(scene, peak->id)->pinned_bytes, 3);
	CHECK(gg_model_find_look(scene->model, 2, GG_LOOK_LAST) == NULL);
}

TEST_WITH(scene, a_block_whose_sample_is_gone_has_no_sample)
{
	struct made_profile *made = &scene->made[0];

	made_sample(made, made_stack(made, "main"), 64, 5, GG_TIME_NONE);
	put_look(made, 999, 3, 900);
	load(scene, 1);
	CHECK_EQ_U64(block_of(scene, 0)->sample, GG_MODEL_NO_SAMPLE);
}

TEST_WITH(scene, a_block_of_another_process_has_no_sample)
{
	struct made_profile *made = &scene->made[0];
	uint64_t sample = made_sample(made, made_stack(made, "main"), 64, 5, GG_TIME_NONE);

	made_process(made, 5, 0, 9);
	put_look(made, sample, 3, 900);
	load(scene, 1);
	CHECK_EQ_U64(block_of(scene, 0)->sample, GG_MODEL_NO_SAMPLE);
}

TEST_WITH(scene, a_damaged_value_is_unknown)
{
	struct made_profile *made = &scene->made[0];

	put_look(made, made_sample(made, made_stack(made, "main"), 64, 5, GG_TIME_NONE), -1e300,
	         900);
	load(scene, 1);
	CHECK_EQ_DOUBLE(block_of(scene, 0)->pinned_bytes, -1);
}

TEST(a_look_that_chose_more_samples_than_lived_has_no_chance)
{
	struct gg_profile_look look = { .live_count = 5, .chosen_count = 6 };

	CHECK_EQ_DOUBLE(gg_model_look_chance(&look), 0);
	look.live_count = look.chosen_count = -1;
	CHECK_EQ_DOUBLE(gg_model_look_chance(&look), 0);
}
