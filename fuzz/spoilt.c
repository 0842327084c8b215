/* SPDX-License-Identifier: Apache-2.0 */
#include "spoilt.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "region/writer/record.h"
#include "region/writer/region.h"
#include "region/writer/stack_table.h"

enum { RECORDS = 64 };

static uint8_t *original;
static size_t file_bytes;
static int fd;

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void add_module(struct gg_region *region)
{
	const struct gg_region_range ranges[] = { { 0x50, 0x80, 0x10 }, { 0x90, 0xa0, 0x50 } };
	const struct gg_module_info module = { .path = "/lib/x.so",
		                               .path_bytes = 9,
		                               .build_id = (const uint8_t *)"0123456789",
		                               .build_id_bytes = 10,
		                               .bias = 0x40,
		                               .ranges = ranges,
		                               .range_count = 2 };

	gg_region_add_module(region, &module);
	gg_region_unload_module(region, gg_region_add_module(region, &module), 1000);
}

/* A frame of a runtime. */
static uint64_t add_frame(struct gg_region *region, uint32_t line)
{
	const struct gg_frame_info info = { .function = "eval",
		                            .file = "a.scm",
		                            .function_bytes = 4,
		                            .file_bytes = line % 4 == 0 ? 5 : 0,
		                            .line = line };

	return gg_region_intern_frame(region, &info);
}

/* A region with some of everything, also of history. */
static void make_original(void)
{
	static struct gg_region region;
	struct gg_region_thread thread;
	struct gg_region_options options;
	struct gg_region_file map;

	gg_region_options_default(&options);
	for (int i = 0; i < GG_TABLE_COUNT; i++)
		options.capacities[i] = RECORDS;
	options.hash_seed = 1;
	options.command = "program\0argument";
	options.command_bytes = 17;
	options.options = "GEIGER_SCHEME=poisson\n";
	options.options_bytes = 22;
	file_bytes = gg_region_options_file_bytes(&options);
	require(gg_region_file_create_anonymous(&map, "fuzz", file_bytes) == 0);
	require(gg_region_init(&region, &map, &options) == 0);
	gg_region_thread_begin(&region, &thread, 1, "main", 0);
	gg_region_add_name(&region, GG_TABLE_TYPES, "type", 4);
	gg_region_add_name(&region, GG_TABLE_HEAPS, "heap", 4);
	add_module(&region);
	for (uint64_t i = 1; i < 20; i++) {
		uint64_t pcs[] = { i % 2 != 0 ? i + 0x60 : add_frame(&region, (uint32_t)i),
			           i / 4 + 100 };
		struct gg_allocation sample = {
			.address = i * 16,
			.size_bytes = i,
			.time_ns = i * 100,
			.draw = { .sampling_interval = 4096, .sample_point_count = 1 },
			.stack = gg_region_intern(&region, &thread, pcs, 2),
			.type = 1,
			.heap = (uint16_t)(i % 2),
		};

		gg_region_record_alloc(&region, &thread, &sample);
		if (i % 5 == 0)
			gg_region_record_move(&region, &thread, (void *)(uintptr_t)(i * 16),
			                      (void *)(uintptr_t)(i << 48 | i), 0, i * 100 + 20);
		if (i % 3 == 0)
			gg_region_record_free(&region, &thread, (void *)(uintptr_t)(i * 16), 0,
			                      i * 100 + 50, sample.stack);
	}
	original = malloc(file_bytes);
	fd = memfd_create("spoilt", MFD_CLOEXEC);
	require(original != NULL && fd >= 0);
	require(pread(region.map.fd, original, file_bytes, 0) == (ssize_t)file_bytes);
	gg_region_done(&region, false);
}

int spoilt_region(const uint8_t *data, size_t size)
{
	if (original == NULL)
		make_original();
	require(pwrite(fd, original, file_bytes, 0) == (ssize_t)file_bytes);
	spoilt_more(data, size);
	return fd;
}

void spoilt_more(const uint8_t *data, size_t size)
{
	while (size >= 6) {
		uint32_t at;
		size_t count = 1 + data[4] % 8;

		memcpy(&at, data, sizeof(at));
		data += 5;
		size -= 5;
		count = count < size ? count : size;
		at %= file_bytes - 8;
		require(pwrite(fd, data, count, at) == (ssize_t)count);
		data += count;
		size -= count;
	}
}
