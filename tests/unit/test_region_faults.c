/* SPDX-License-Identifier: Apache-2.0 */
/* Memory errors of the program in a region: written, read, and checked. */
#include "region.h"
#include "test.h"

enum { CAPACITY = 4 };

static struct gg_region_thread writer;
static struct gg_region region;

static bool begin(void)
{
	struct gg_region_options small;
	bool is_made;

	region_small_options(&small);
	small.capacities[GG_TABLE_FAULTS] = CAPACITY;
	memset(&writer, 0, sizeof(writer));
	is_made = CHECK(region_make(&region, &small));
	if (is_made)
		gg_region_thread_begin(&region, &writer, 3, "writer", 1);
	return is_made;
}

static struct gg_region_fault fault_at(uint64_t address, uint32_t stack)
{
	return (struct gg_region_fault){
		.kind = GG_REGION_FAULT_USE_AFTER_FREE,
		.flags = GG_REGION_FAULT_WRITE,
		.address = address,
		.block = address - 8,
		.block_bytes = 64,
		.access = { .time_ns = 7, .stack = stack, .tid = 3 },
		.allocation = { .time_ns = 5, .stack = stack, .tid = 4 },
	};
}

TEST(faults_are_read_as_they_were_written)
{
	uint64_t pcs[] = { 0x1000, 0x2000 };
	struct gg_region_fault fault;
	struct gg_region_view view;
	uint32_t stack;

	if (!begin())
		return;
	stack = gg_region_intern(&region, &writer, pcs, 2);
	for (uint64_t i = 1; i <= 3; i++) {
		fault = fault_at(i * 0x1000, stack);
		CHECK(gg_region_add_fault(&region, &fault));
	}
	if (CHECK(region_view(&region, &view))) {
		CHECK_EQ_U64(view.fault_count, 3);
		CHECK_EQ_U64(view.faults[2].address, 0x3000);
		CHECK_EQ_U64(view.faults[2].access.stack, stack);
		CHECK_EQ_U64(view.faults[2].free.time_ns, 0);
		CHECK_EQ_U64(view.header.counters[GG_COUNT_FAULTS], 3);
		CHECK_EQ_U64(view.damaged_count, 0);
		gg_region_view_done(&view);
	}
	gg_region_done(&region, true);
}

TEST(faults_without_a_place_are_counted)
{
	struct gg_region_fault fault = fault_at(0x1000, GG_STACK_EMPTY);
	struct gg_region_view view;

	if (!begin())
		return;
	for (int i = 0; i < 6; i++)
		CHECK_EQ_I64(gg_region_add_fault(&region, &fault), i < CAPACITY);
	if (CHECK(region_view(&region, &view))) {
		CHECK_EQ_U64(view.fault_count, CAPACITY);
		CHECK_EQ_U64(view.header.counters[GG_COUNT_FAULTS], 6);
		gg_region_view_done(&view);
	}
	gg_region_done(&region, true);
}

TEST(damaged_faults_are_left_out_and_their_stacks_checked)
{
	struct gg_region_fault fault = fault_at(0x1000, 1 << 20), *written;
	struct gg_region_view view;

	if (!begin())
		return;
	for (int i = 0; i < 3; i++)
		CHECK(gg_region_add_fault(&region, &fault));
	written = gg_region_at(&region, GG_TABLE_FAULTS, 0);
	written->kind = 77;
	written = gg_region_at(&region, GG_TABLE_FAULTS, 1);
	written->ready = 0; /* a thread was killed while it wrote */
	if (CHECK_EQ_I64(gg_region_view_read(&view, region.map.fd, "the region", NULL), 0)) {
		CHECK_EQ_U64(view.fault_count, 1);
		CHECK_EQ_U64(view.faults[0].access.stack, GG_STACK_EMPTY);
		CHECK_EQ_U64(view.damaged_count, 1);
		gg_region_view_done(&view);
	}
	gg_region_done(&region, true);
}

TEST(a_file_of_version_6_is_read_as_one_without_faults)
{
	struct gg_region_fault fault = fault_at(0x1000, GG_STACK_EMPTY);
	const uint32_t version = 6;
	struct gg_region_view view;

	if (!begin())
		return;
	CHECK(gg_region_add_fault(&region, &fault));
	memcpy(&region.header->version, &version, sizeof(version));
	if (CHECK(region_view(&region, &view))) {
		CHECK_EQ_U64(view.fault_count, 0);
		CHECK_EQ_U64(view.header.fault_table.capacity, 0);
		gg_region_view_done(&view);
	}
	gg_region_done(&region, true);
}
