/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_record_stack_map - shows how stacks of a region get the names of a profile.
 *
 * The module of an address depends on the time, because modules are loaded and unloaded.
 */
#include "record/process/stack_map.h"

#include "region.h"
#include "test.h"

enum { FRAMES_MAX = 32, MAPPINGS_MAX = 8 };

struct scene {
	struct gg_region region;
	bool has_region;
	struct gg_region_thread thread;
	struct gg_region_reader reader;
	struct gg_profile *profile;
	struct gg_profile_writer writer;
	struct gg_stack_map map;
	struct gg_error error;

	/* The content of the profile by id, as read_back() has read it. */
	struct gg_profile_frame frames[FRAMES_MAX];
	struct gg_profile_stack stacks[FRAMES_MAX];
	struct gg_profile_mapping mappings[MAPPINGS_MAX];
	uint32_t mapping_count;
};

static void scene_setup(struct scene *scene)
{
	struct gg_region_options options;

	region_small_options(&options);
	REQUIRE(region_make(&scene->region, &options));
	scene->has_region = true;
	gg_region_thread_begin(&scene->region, &scene->thread, 7, "main", 0);
	scene->reader.fd = scene->region.map.fd;
	REQUIRE(gg_profile_create(&scene->profile, NULL, &scene->error) == 0);
	REQUIRE(gg_profile_writer_init(&scene->writer, scene->profile, 0, &scene->error) == 0);
	REQUIRE(gg_profile_add_process(scene->profile, &(struct gg_profile_process){ .pid = 7 },
	                               &scene->map.process, &scene->error) == 0);
	scene->writer.now_ns = 1000;
}

static void scene_teardown(struct scene *scene)
{
	gg_stack_map_done(&scene->map);
	if (scene->profile != NULL)
		gg_profile_writer_done(&scene->writer);
	gg_profile_close(scene->profile);
	if (scene->has_region)
		gg_region_done(&scene->region, true);
}

FIXTURE(scene)

/* A module of one page at `start`; its addresses are from 0x100 on in its file. */
static uint32_t load(struct scene *scene, const char *path, uint64_t start, uint64_t load_ns)
{
	const struct gg_region_range range = { .start = start, .end = start + 0x1000 };
	const struct gg_module_info info = {
		.path = path,
		.path_bytes = (uint32_t)strlen(path),
		.ranges = &range,
		.range_count = 1,
		.bias = start - 0x100,
		.load_ns = load_ns,
	};

	return gg_region_add_module(&scene->region, &info);
}

static void update(struct scene *scene)
{
	REQUIRE(gg_region_reader_refresh(&scene->reader, &scene->error) == 0);
	REQUIRE(gg_stack_map_update(&scene->map, &scene->reader, &scene->writer) == 0);
}

/* The node of a stack of one or two return addresses, the innermost first. */
static uint32_t node_of(struct scene *scene, uint64_t first, uint64_t second)
{
	const uint64_t pcs[] = { first, second };

	return gg_region_intern(&scene->region, &scene->thread, pcs, second == 0 ? 1 : 2);
}

static uint32_t stack_at(struct scene *scene, uint32_t node, uint64_t time_ns)
{
	return gg_stack_map_stack(&scene->map, &scene->reader, &scene->writer, node, time_ns);
}

static int keep_frame(const struct gg_profile_frame *frame, void *context)
{
	REQUIRE(frame->id < FRAMES_MAX);
	((struct scene *)context)->frames[frame->id] = *frame;
	return 0;
}

static int keep_stack(const struct gg_profile_stack *stack, void *context)
{
	REQUIRE(stack->id < FRAMES_MAX);
	((struct scene *)context)->stacks[stack->id] = *stack;
	return 0;
}

static int keep_mapping(const struct gg_profile_mapping *mapping, void *context)
{
	struct scene *scene = context;

	REQUIRE(scene->mapping_count < MAPPINGS_MAX);
	scene->mappings[scene->mapping_count++] = *mapping;
	return 0;
}

static void read_back(struct scene *scene)
{
	REQUIRE(gg_profile_writer_commit(&scene->writer) == 0);
	REQUIRE(gg_profile_each_frame(scene->profile, keep_frame, scene, &scene->error) == 0);
	REQUIRE(gg_profile_each_stack(scene->profile, keep_stack, scene, &scene->error) == 0);
	REQUIRE(gg_profile_each_mapping(scene->profile, keep_mapping, scene, &scene->error) == 0);
}

/* The innermost frame of the stack. */
static const struct gg_profile_frame *top_of(const struct scene *scene, uint32_t stack)
{
	REQUIRE(stack > 0 && stack < FRAMES_MAX);
	return &scene->frames[scene->stacks[stack].frame];
}

TEST_WITH(scene, a_return_address_becomes_the_call_in_the_file_of_its_module)
{
	uint32_t stack;

	load(scene, "liba.so", 0x10000, 1);
	load(scene, "libb.so", 0x20000, 1);
	update(scene);
	stack = stack_at(scene, node_of(scene, 0x20010, 0x10008), 5);
	read_back(scene);
	/* The bias is 0x100 below the start, and the call is before the return address. */
	CHECK_EQ_U64(top_of(scene, stack)->address, 0x10f);
	CHECK_EQ_U64(top_of(scene, stack)->module, scene->map.modules.items[1].id);
	stack = scene->stacks[stack].parent;
	CHECK_EQ_U64(top_of(scene, stack)->address, 0x107);
	CHECK_EQ_U64(top_of(scene, stack)->module, scene->map.modules.items[0].id);
	CHECK_EQ_U64(scene->stacks[stack].parent, 0);
}

TEST_WITH(scene, the_call_at_the_end_of_a_module_is_in_it_and_one_at_its_start_is_not)
{
	uint32_t after, at_start;

	load(scene, "liba.so", 0x10000, 1);
	update(scene);
	after = stack_at(scene, node_of(scene, 0x11000, 0), 5);
	at_start = stack_at(scene, node_of(scene, 0x10000, 0), 5);
	read_back(scene);
	CHECK_EQ_U64(top_of(scene, after)->module, scene->map.modules.items[0].id);
	CHECK_EQ_U64(top_of(scene, after)->address, 0x10ff);
	CHECK_EQ_U64(top_of(scene, at_start)->module, 0);
	CHECK_EQ_U64(top_of(scene, at_start)->address, 0xffff);
}

TEST_WITH(scene, stacks_share_what_called_them)
{
	uint32_t one, other;

	load(scene, "liba.so", 0x10000, 1);
	update(scene);
	one = stack_at(scene, node_of(scene, 0x10010, 0x10008), 5);
	other = stack_at(scene, node_of(scene, 0x10020, 0x10008), 5);
	CHECK_EQ_U64(stack_at(scene, node_of(scene, 0x10010, 0x10008), 9), one);
	read_back(scene);
	CHECK(one != other);
	CHECK_EQ_U64(scene->stacks[one].parent, scene->stacks[other].parent);
}

/* The same node means other frames before and after a module took the place of another. */
TEST_WITH(scene, the_time_of_a_sample_says_which_of_two_modules_was_there)
{
	uint32_t first = load(scene, "liba.so", 0x10000, 1), node = node_of(scene, 0x10010, 0);
	uint32_t before, at_once, after, again;

	update(scene);
	before = stack_at(scene, node, 400);
	gg_region_unload_module(&scene->region, first, 500);
	load(scene, "libb.so", 0x10000, 500);
	update(scene);
	at_once = stack_at(scene, node, 500);
	after = stack_at(scene, node, 600);
	again = stack_at(scene, node, 499);
	read_back(scene);
	CHECK_EQ_U64(top_of(scene, before)->module, scene->map.modules.items[0].id);
	CHECK_EQ_U64(top_of(scene, after)->module, scene->map.modules.items[1].id);
	CHECK_EQ_U64(at_once, after);
	CHECK_EQ_U64(again, before);
}

TEST_WITH(scene, a_node_that_is_not_there_has_no_stack)
{
	uint32_t node = node_of(scene, 0x10010, 0);

	update(scene);
	CHECK(stack_at(scene, node, 5) != 0);
	CHECK_EQ_U64(stack_at(scene, GG_STACK_EMPTY, 5), 0);
	CHECK_EQ_U64(stack_at(scene, node + 1, 5), 0);
	CHECK_EQ_U64(stack_at(scene, UINT32_MAX, 5), 0);
}

TEST_WITH(scene, mappings_have_the_times_of_their_modules)
{
	uint32_t first = load(scene, "liba.so", 0x10000, 3);

	gg_region_unload_module(&scene->region, first, 500);
	load(scene, "libb.so", 0x10000, 500);
	update(scene);
	CHECK_EQ_I64(gg_stack_map_write(&scene->map, &scene->writer), 0);
	read_back(scene);
	REQUIRE(scene->mapping_count == 2);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ_U64(scene->mappings[i].module, scene->map.modules.items[i].id);
		CHECK_EQ_U64(scene->mappings[i].start, 0x10000);
		CHECK_EQ_U64(scene->mappings[i].end, 0x11000);
		CHECK_EQ_U64(scene->mappings[i].bias, 0xff00);
		CHECK_EQ_I64(scene->mappings[i].load_ns, i == 0 ? 3 : 500);
		CHECK_EQ_I64(scene->mappings[i].unload_ns, i == 0 ? 500 : GG_TIME_NONE);
	}
}
