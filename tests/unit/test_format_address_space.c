/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_format_address_space - checks where modules lie in the address space of an export.
 *
 * The expected addresses were worked out by hand.
 */
#include "format/export/address_space.h"

#include "made_profile.h"
#include "test.h"

/* The address from which on modules without an address of their own are placed. */
#define FREE UINT64_C(0x100000000000)

static struct gg_error error;

struct scene {
	struct made_profile made;
	struct gg_model *model;
	struct gg_query query;
	struct gg_extract *extract;
	struct gg_address_space space;
};

static void scene_setup(struct scene *scene)
{
	made_begin(&scene->made, NULL, 1, 1);
	gg_query_init(&scene->query);
}

static void scene_teardown(struct scene *scene)
{
	gg_address_space_done(&scene->space);
	gg_extract_free(scene->extract);
	gg_model_free(scene->model);
	gg_profile_close(scene->made.profile);
}

FIXTURE(scene)

static void sample(struct scene *scene, const char *stack)
{
	made_sample(&scene->made, made_stack(&scene->made, stack), 100, 1, GG_TIME_NONE);
}

/* A segment of a module in the process that samples get. */
static void map(struct scene *scene, const char *module, uint64_t start, uint64_t end,
                uint64_t bias, uint64_t file_offset)
{
	const struct gg_profile_mapping mapping = {
		.process = scene->made.process,
		.module = made_module(&scene->made, module),
		.start = start,
		.end = end,
		.bias = bias,
		.file_offset = file_offset,
		.unload_ns = GG_TIME_NONE,
	};

	REQUIRE(gg_profile_add_mapping(scene->made.profile, &mapping, &error) == 0);
}

static void make(struct scene *scene)
{
	REQUIRE(gg_model_load(&scene->model, &scene->made.profile, 1, NULL, &error) == 0);
	REQUIRE(gg_extract_make(&scene->extract, scene->model, &scene->query, 0.95, &error) == 0);
	REQUIRE(gg_address_space_make(&scene->space, scene->extract, &error) == 0);
}

static uint32_t number_of(const struct scene *scene, const char *path)
{
	uint32_t number = 1;

	while (number < scene->model->module_count &&
	       strcmp(scene->model->modules[number].path, path) != 0)
		number++;
	REQUIRE_MSG(number < scene->model->module_count, "no module %s", path);
	return number;
}

static void check_at(const struct scene *scene, const char *path, uint64_t start, uint64_t end,
                     uint64_t bias, uint64_t file_offset)
{
	uint32_t number = number_of(scene, path);
	const struct gg_address_space_module *module = &scene->space.modules[number];
	const struct gg_model_frame frame = { .module = number, .address = 0x100 };

	CHECK_MSG(module->start == start && module->end == end && module->bias == bias &&
	                  module->file_offset == file_offset,
	          "%s: %#lx to %#lx, bias %#lx, offset %#lx", path, (long)module->start,
	          (long)module->end, (long)module->bias, (long)module->file_offset);
	CHECK_EQ_U64(gg_address_space_address(&scene->space, &frame), bias + 0x100);
}

TEST_WITH(scene, a_module_lies_where_its_process_had_it_over_all_its_segments)
{
	sample(scene, "0x40>[liba.so]0x100");
	map(scene, "/usr/bin/made", 0x400000, 0x402000, 0x400000, 0);
	map(scene, "liba.so", 0x7f0000002000, 0x7f0000003000, 0x7f0000000000, 0x2000);
	map(scene, "liba.so", 0x7f0000000000, 0x7f0000001000, 0x7f0000000000, 0);
	make(scene);
	check_at(scene, "/usr/bin/made", 0x400000, 0x402000, 0x400000, 0);
	check_at(scene, "liba.so", 0x7f0000000000, 0x7f0000003000, 0x7f0000000000, 0);
	CHECK_EQ_U64(scene->space.used_count, 2);
}

TEST_WITH(scene, a_module_whose_place_is_taken_moves_with_its_bias)
{
	sample(scene, "0x40>[liba.so]0x100");
	sample(scene, "0x40>[libb.so]0x100");
	map(scene, "/usr/bin/made", 0x400000, 0x402000, 0x400000, 0);
	map(scene, "liba.so", 0x7f0000000000, 0x7f0000003000, 0x7f0000000000, 0);
	map(scene, "libb.so", 0x7f0000002000, 0x7f0000004800, 0x7f0000001000, 0x1000);
	make(scene);
	check_at(scene, "liba.so", 0x7f0000000000, 0x7f0000003000, 0x7f0000000000, 0);
	/* The segment begins 0x1000 above the bias, there as here. */
	check_at(scene, "libb.so", FREE, FREE + 0x2800, FREE - 0x1000, 0x1000);
}

TEST_WITH(scene, modules_that_nobody_mapped_follow_each_other)
{
	sample(scene, "0x40>[liba.so]0x1234>[libb.so]0xfff");
	map(scene, "/usr/bin/made", 0x400000, 0x402000, 0x400000, 0);
	make(scene);
	/* To the page after the highest address, and a page between. */
	check_at(scene, "liba.so", FREE, FREE + 0x2000, FREE, 0);
	check_at(scene, "libb.so", FREE + 0x3000, FREE + 0x4000, FREE + 0x3000, 0);
}

TEST_WITH(scene, a_module_that_no_stack_goes_through_has_no_place)
{
	sample(scene, "0x40");
	map(scene, "/usr/bin/made", 0x400000, 0x402000, 0x400000, 0);
	map(scene, "liba.so", 0x7f0000000000, 0x7f0000003000, 0x7f0000000000, 0);
	make(scene);
	CHECK_EQ_U64(scene->space.used_count, 1);
	CHECK_EQ_U64(scene->space.order[0], number_of(scene, "/usr/bin/made"));
	CHECK_EQ_U64(scene->space.modules[number_of(scene, "liba.so")].end, 0);
}

TEST_WITH(scene, the_process_that_is_asked_for_says_where_modules_lie)
{
	sample(scene, "0x40");
	map(scene, "/usr/bin/made", 0x400000, 0x402000, 0x400000, 0);
	made_process(&scene->made, 4712, 0, GG_TIME_NONE);
	sample(scene, "0x40");
	map(scene, "/usr/bin/made", 0x500000, 0x502000, 0x500000, 0);
	scene->query.pid = 4712;
	make(scene);
	check_at(scene, "/usr/bin/made", 0x500000, 0x502000, 0x500000, 0);
}

TEST_WITH(scene, a_module_knows_which_names_its_frames_have)
{
	const struct gg_address_space_module *module;

	sample(scene, "[liba.so]0x40");
	sample(scene, "[libb.so]load");
	sample(scene, "[libc.so]draw@d.c:3+copy@c.h:4");
	make(scene);
	module = &scene->space.modules[number_of(scene, "liba.so")];
	CHECK(!module->has_names && !module->has_files && !module->has_lines &&
	      !module->has_inlined);
	module = &scene->space.modules[number_of(scene, "libb.so")];
	CHECK(module->has_names && !module->has_files && !module->has_lines &&
	      !module->has_inlined);
	module = &scene->space.modules[number_of(scene, "libc.so")];
	CHECK(module->has_names && module->has_files && module->has_lines && module->has_inlined);
}
