/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_model_validate - shows that loaded models are valid, and that the validator finds each kind
 * of damage.
 */
#include "model/model.h"

#include <errno.h>

#include "made_profile.h"
#include "test.h"

static struct gg_error error;

/* The arrays of a model are const for its users; only these tests damage them. */
static void put(const void *member, size_t bytes, uint64_t value)
{
	memcpy((void *)(uintptr_t)member, &value, bytes);
}

/* Two processes, of which the second inherits a block, with labels, readings, and spans. */
struct scene {
	struct made_profile made;
	struct gg_model *model;
};

static void add_events(struct made_profile *made)
{
	static const char *const kinds[] = { "lost", "reconciled", "lost", "reconciled",
		                             "off",  "on",         "off",  "on" };

	for (uint32_t i = 0; i < GG_COUNT(kinds); i++) {
		struct gg_profile_event event = { .time_ns = 10 + i,
			                          .process = made->process,
			                          .kind = kinds[i] };

		REQUIRE(gg_profile_add_event(made->profile, &event, &error) == 0);
	}
}

static void scene_setup(struct scene *scene)
{
	struct made_profile *made = &scene->made;
	struct gg_profile_memory memory = gg_profile_memory_unknown(1, 5);
	uint32_t stack;
	uint64_t id;

	made_begin(made, NULL, 1000, 1);
	stack = made_stack(made, "main>load>[libx.so]parse+scan@x.c:12");
	id = made_sample(made, stack, 64, 5, 50);
	made_sample(made, made_stack(made, "main>0x40"), 128, 6, GG_TIME_NONE);
	REQUIRE(gg_profile_put_label(made->profile, made->process, "host", "a", &error) == 0);
	REQUIRE(gg_profile_put_label(made->profile, made->process, "version", "1", &error) == 0);
	add_events(made);
	made->process = made_process(made, 5000, 20, 90);
	made_inherited(made, stack, 64, 5, 60, id);
	REQUIRE(gg_profile_put_label(made->profile, made->process, "host", "b", &error) == 0);
	for (int i = 0; i < 2; i++, memory.time_ns += 5)
		REQUIRE(gg_profile_add_memory(made->profile, &memory, &error) == 0);
	REQUIRE(gg_model_load(&scene->model, &made->profile, 1, NULL, &error) == 0);
}

static void scene_teardown(struct scene *scene)
{
	gg_model_free(scene->model);
	gg_profile_close(scene->made.profile);
}

FIXTURE(scene)

static void check_valid(const struct gg_model *model)
{
	int status = gg_model_validate(model, &error);

	CHECK_MSG(status == 0, "%s", error.message);
}

static void check_wrong(const struct gg_model *model, const char *message)
{
	CHECK_EQ_I64(gg_model_validate(model, &error), -EBADMSG);
	CHECK_EQ_STR(error.message, message);
}

TEST_WITH(scene, a_loaded_model_is_valid)
{
	const struct gg_model *model = scene->model;

	REQUIRE(model->sample_count == 3 && model->process_count == 3 && model->label_count == 3);
	REQUIRE(model->loss_count == 2 && model->pause_count == 2 && model->memory_count == 2);
	check_valid(model);
}

/* Sets a member, expects the message, and restores the member. */
#define DAMAGE(member, value, message)                             \
	do {                                                       \
		uint64_t before = (uint64_t)(member);              \
		put(&(member), sizeof(member), (uint64_t)(value)); \
		check_wrong(model, message);                       \
		put(&(member), sizeof(member), before);            \
	} while (0)

TEST_WITH(scene, numbers_outside_of_their_arrays_are_found)
{
	struct gg_model *model = scene->model;

	DAMAGE(model->samples[1].process, 3, "sample 1: its process or thread does not exist");
	DAMAGE(model->samples[1].thread, 99, "sample 1: its process or thread does not exist");
	DAMAGE(model->samples[0].stack, 99,
	       "sample 0: its stack or allocation class does not exist");
	DAMAGE(model->samples[0].kind, 1, "sample 0: its stack or allocation class does not exist");
	DAMAGE(model->stacks[1].frame, 99, "stack 1: its frame does not exist");
	DAMAGE(model->frames[1].module, 99, "frame 1: its module does not exist");
	DAMAGE(model->frames[1].first_location, 99, "frame 1: its locations do not exist");
	DAMAGE(model->frames[1].location_count, UINT32_MAX, "frame 1: its locations do not exist");
	DAMAGE(model->locations[1].function, 99, "location 1: its function or line does not exist");
	DAMAGE(model->functions[1].module, 99, "function 1: its module does not exist");
	DAMAGE(model->lines[1].function, 99, "location 0: its line is in another function");
	DAMAGE(model->kinds[0].type, 9, "allocation class 0: its heap or type does not exist");
	DAMAGE(model->threads[1].process, 9,
	       "thread 1: its id is not its number, or its process does not exist");
	DAMAGE(model->process_sessions[2], 1, "process 2: its session does not exist");
	DAMAGE(model->memory[0].process, 3, "reading of memory 0: its process does not exist");
	DAMAGE(model->labels[2].process, 3, "label 2: its process does not exist");
	check_valid(model);
}

TEST_WITH(scene, wrong_orders_are_found)
{
	struct gg_model *model = scene->model;

	DAMAGE(model->stacks[1].parent, 1, "stack 1: its caller is not before it");
	DAMAGE(model->memory[1].time_ns, 4, "reading of memory 1: it is not in its order");
	DAMAGE(model->labels[0].process, 2, "label 1: it is not in its order");
	DAMAGE(model->losses[1].to_ns, 0, "loss 1: it is not in its order");
	DAMAGE(model->pauses[0].process, 2, "pause 1: it is not in its order");
	check_valid(model);
}

TEST_WITH(scene, contradictions_between_arrays_are_found)
{
	struct gg_model *model = scene->model;

	DAMAGE(model->samples[1].block, 0,
	       "sample 1: it belongs to another block, but was not inherited");
	DAMAGE(model->samples[1].block, 2,
	       "sample 1: its block is not the first sample of a block");
	DAMAGE(model->samples[2].flags, 0,
	       "sample 2: it belongs to another block, but was not inherited");
	DAMAGE(model->samples[1].free_ns, model->end_ns + 1,
	       "sample 1: it was freed after the model's end");
	DAMAGE(model->samples[1].draw.sample_point_count, 0, "sample 1: it cannot be weighted");
	DAMAGE(model->has_inherited, false,
	       "sample 2: it was inherited, but the model has no inherited samples");
	DAMAGE(model->sample_total, 3, "the total number of samples is wrong");
	DAMAGE(model->stacks[1].top, 99, "stack 1: its top does not exist");
	DAMAGE(model->processes[1].id, 2, "process 1: its id is not its number");
	DAMAGE(model->process_until_ns[1], 7,
	       "process 1: its blocks end at another time than it does");
	DAMAGE(model->thread_count, 0, "an array lacks its number 0");
	check_valid(model);
}
