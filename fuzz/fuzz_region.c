/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile regions: no crash, no read outside the copy, no endless loop.
 *
 * An input is a list of changes to a small region: 4 bytes where, 1 byte how many (1 to 8), and those
 * bytes.  So a fuzzer gets behind the header without having to find a whole file.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "region/record.h"
#include "region/region.h"
#include "region/stack.h"
#include "region/view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t *original, *spoilt;
static size_t file_bytes;
static int fd;

static void require(bool condition)
{
	if (!condition)
		abort();
}

/* A region with some of everything. */
static void make_original(void)
{
	static struct gg_region region;
	struct gg_region_thread thread;
	struct gg_region_options options;
	struct gg_region_map map;

	gg_region_options_default(&options);
	for (int i = 0; i < GG_TABLE_COUNT; i++)
		options.capacities[i] = 64;
	options.hash_seed = 1;
	file_bytes = gg_region_file_bytes(&options);
	require(gg_region_map_create_anonymous(&map, "fuzz", file_bytes) == 0);
	require(gg_region_init(&region, &map, &options) == 0);
	gg_region_thread_begin(&region, &thread, 1, "main", 0);
	gg_region_add_name(&region, GG_TABLE_TYPES, "type", 4);
	for (uint64_t i = 1; i < 20; i++) {
		uint64_t pcs[] = { i, i / 4 + 100 };
		struct gg_sample sample = {
			.address = i * 16,
			.size_bytes = i,
			.draw = { .interval = 4096, .mark_count = 1 },
			.stack = gg_region_intern(&region, &thread, pcs, 2),
		};

		gg_region_record_alloc(&region, &thread, &sample);
	}
	original = malloc(file_bytes);
	spoilt = malloc(file_bytes);
	fd = memfd_create("spoilt", MFD_CLOEXEC);
	require(original != NULL && spoilt != NULL && fd >= 0);
	require(pread(region.map.fd, original, file_bytes, 0) == (ssize_t)file_bytes);
	gg_region_done(&region, false);
}

static void use(const struct gg_region_view *view)
{
	uint64_t pcs[8];

	for (uint32_t i = 0; i < view->node_count; i++)
		require(gg_region_view_stack(view, i, pcs, 8) <= view->node_count);
	for (uint32_t i = 0; i < view->live_count; i++) {
		require(view->live[i].stack < view->node_count);
		require(view->live[i].thread < view->thread_count);
	}
	gg_region_view_totals(view);
	require(gg_region_view_check(view, NULL) <= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gg_region_view view;

	if (original == NULL)
		make_original();
	memcpy(spoilt, original, file_bytes);
	while (size >= 6) {
		uint32_t at;
		size_t count = 1 + data[4] % 8;

		memcpy(&at, data, sizeof(at));
		data += 5;
		size -= 5;
		count = count < size ? count : size;
		at %= file_bytes - 8;
		memcpy(spoilt + at, data, count);
		data += count;
		size -= count;
	}
	require(pwrite(fd, spoilt, file_bytes, 0) == (ssize_t)file_bytes);
	if (gg_region_view_read(&view, fd, "spoilt", NULL) == 0) {
		use(&view);
		gg_region_view_done(&view);
	}
	return 0;
}
