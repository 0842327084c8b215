/* SPDX-License-Identifier: Apache-2.0 */
/* One region in a memory file and one thread that records into it, for the tests of a region. */
#pragma once

#include "region.h"
#include "test.h"

static struct gg_region region;
static struct gg_region_thread thread;
static struct gg_region_options options;

static inline bool begin(void)
{
	if (!CHECK(region_make(&region, &options)))
		return false;
	gg_region_thread_begin(&region, &thread, 42, "main", 1000);
	return true;
}

static inline bool begin_small(void)
{
	region_small_options(&options);
	return begin();
}

static inline void end(void)
{
	gg_region_done(&region, true);
}

static inline const void *at(uint64_t address)
{
	return (const void *)(uintptr_t)address;
}

static inline uint64_t counted(enum gg_region_counter counter)
{
	struct gg_region_view view;
	uint64_t value;

	if (!CHECK(region_view(&region, &view)))
		return UINT64_MAX;
	value = view.header.counters[counter];
	gg_region_view_done(&view);
	return value;
}

static inline uint64_t record(uint64_t address, uint64_t size_bytes, uint32_t stack)
{
	struct gg_allocation sample = region_sample(address, size_bytes, stack);

	return gg_region_record_alloc(&region, &thread, &sample);
}

static inline bool release(uint64_t address)
{
	return gg_live_maybe(&region, at(address)) &&
	       gg_region_record_free(&region, &thread, at(address), 0, address + 5000, 0);
}
