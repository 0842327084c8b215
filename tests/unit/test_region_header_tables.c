/* SPDX-License-Identifier: Apache-2.0 */
/* test_region_header_tables - shows that readers find the header, names and modules. */
#include <string.h>
#include <unistd.h>

#include "region_fixture.h"
#include "test.h"

TEST(the_header_says_which_process_it_is)
{
	struct gg_region_view view;

	region_small_options(&options);
	options.command = "prog\0-x";
	options.command_bytes = 8;
	options.exe = "/bin/prog";
	options.exe_bytes = 9;
	options.parent_pid = 6;
	options.process_start_ticks = 99;
	if (!begin())
		return;
	gg_region_end(&region, 5555);
	if (CHECK(region_view(&region, &view))) {
		CHECK_EQ_U64(view.header.pid, 7);
		CHECK_EQ_U64(view.header.parent_pid, 6);
		CHECK_EQ_U64(view.header.process_start_ticks, 99);
		CHECK(view.header.command_bytes == 8 &&
		      memcmp(view.header.command, "prog\0-x", 8) == 0);
		CHECK_EQ_U64(view.header.exe_bytes, 9);
		CHECK_EQ_U64(view.header.end_monotonic_ns, 5555);
		CHECK(view.header.start_wall_ns > UINT64_C(1704067200000000000));
		gg_region_view_done(&view);
	}
	end();
}

TEST(names_are_interned_until_they_are_full)
{
	if (!begin_small())
		return;
	CHECK_EQ_U64(gg_region_add_name(&region, GG_TABLE_TYPES, "", 0), 0);
	CHECK_EQ_U64(gg_region_add_name(&region, GG_TABLE_TYPES, "a", 1), 1);
	CHECK_EQ_U64(gg_region_add_name(&region, GG_TABLE_TYPES, "b", 1), 2);
	CHECK_EQ_U64(gg_region_add_name(&region, GG_TABLE_TYPES, "a", 1), 1);
	CHECK_EQ_U64(gg_region_add_name(&region, GG_TABLE_TYPES, "c", 1), 3);
	CHECK_EQ_U64(gg_region_add_name(&region, GG_TABLE_TYPES, "d", 1), 0);
	CHECK_EQ_U64(counted(GG_COUNT_DROP_NAMES), 1);
	end();
}

TEST(modules_are_read_back_and_dropped_when_full)
{
	const uint8_t build_id[] = { 1, 2, 3 };
	const struct gg_region_range ranges[] = { { 0x1000, 0x2000, 0 },
		                                  { 0x3000, 0x4000, 0x1000 } };
	struct gg_module_info info = {
		.path = "/lib/libm.so",
		.path_bytes = 12,
		.build_id = build_id,
		.build_id_bytes = 3,
		.bias = 0x1000,
		.load_ns = 5,
		.generation = 2,
		.range_count = 2,
		.ranges = ranges,
	};
	struct gg_region_view view;

	if (!begin_small())
		return;
	for (uint32_t i = 0; i < 4; i++)
		CHECK_EQ_U64(gg_region_add_module(&region, &info), i);
	CHECK_EQ_U64(gg_region_add_module(&region, &info), GG_INDEX_NONE);
	CHECK_EQ_U64(counted(GG_COUNT_DROP_MODULES), 1);
	gg_region_unload_module(&region, 1, 77);
	if (CHECK(region_view(&region, &view)) && CHECK_EQ_U64(view.module_count, 4)) {
		const struct gg_region_module *module = &view.modules[1];

		CHECK_EQ_I64(memcmp(gg_region_view_string(&view, module->path_offset),
		                    "/lib/libm.so", 12),
		             0);
		CHECK(module->range_count == 2 && module->ranges[1].end == 0x4000);
		CHECK(module->build_id_bytes == 3 && module->build_id[2] == 3);
		CHECK(module->unload_ns == 77 && view.modules[0].unload_ns == 0);
		gg_region_view_done(&view);
	}
	end();
}

TEST(another_process_may_write_the_control_word)
{
	if (!begin_small())
		return;
	struct gg_region_request request = gg_region_control(&region);
	CHECK(request.active && request.interval_bytes == 512 * 1024);
	struct gg_region_control control = { .change_count = 2, .interval_bytes = 4096 };
	CHECK_EQ_U64(pwrite(region.map.fd, &control, sizeof(control),
	                    offsetof(struct gg_region_header, control)),
	             sizeof(control));
	request = gg_region_control(&region);
	CHECK_EQ_U64(request.change_count, 2);
	CHECK(!request.active);
	CHECK_EQ_U64(request.interval_bytes, 4096);
	end();
}
