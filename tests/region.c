/* SPDX-License-Identifier: Apache-2.0 */
#include "region.h"

#include <stdio.h>

void region_small_options(struct gg_region_options *options)
{
	gg_region_options_default(options);
	options->capacities[GG_TABLE_SLOTS] = 8;
	options->capacities[GG_TABLE_THREADS] = 16;
	options->capacities[GG_TABLE_MODULES] = 4;
	options->capacities[GG_TABLE_HEAPS] = 4;
	options->capacities[GG_TABLE_TYPES] = 4;
	options->capacities[GG_TABLE_STRINGS] = 256;
	options->capacities[GG_TABLE_STACKS] = 256;
	options->capacities[GG_TABLE_LIVE] = 512;
	options->capacities[GG_TABLE_SITE_TOTALS] = 128;
	options->capacities[GG_TABLE_RING] = 64;
	options->capacities[GG_TABLE_FRAMES] = 16;
	options->capacities[GG_TABLE_ALLOCATOR_BLOCKS] = 16;
	options->hash_seed = 1;
	options->pid = 7;
}

bool region_make(struct gg_region *region, const struct gg_region_options *options)
{
	struct gg_region_file map;
	int status = gg_region_file_create_anonymous(&map, "region-test",
	                                             gg_region_options_file_bytes(options));

	if (status == 0)
		status = gg_region_init(region, &map, options);
	if (status < 0)
		printf("no region: %d\n", status);
	return status == 0;
}

bool region_view(const struct gg_region *region, struct gg_region_view *view)
{
	struct gg_error error;

	if (gg_region_view_read(view, region->map.fd, "region", &error) < 0) {
		printf("no view: %s\n", error.message);
		return false;
	}
	if (!view->torn && view->damaged_count == 0)
		return true;
	printf("torn %d, damaged %llu\n", view->torn, (unsigned long long)view->damaged_count);
	gg_region_view_done(view);
	return false;
}

bool region_is_consistent(const struct gg_region *region)
{
	struct gg_region_view view;
	uint32_t stack = 0;
	int status;

	if (!region_view(region, &view))
		return false;
	status = gg_region_view_check(&view, &stack);
	if (status < 0)
		printf("stack %u: allocated - freed is not what is live\n", stack);
	gg_region_view_done(&view);
	return status == 0;
}

bool region_is_valid(const struct gg_region *region)
{
	const char *fault = gg_region_validate(region);

	if (fault != NULL)
		printf("private state and file: %s\n", fault);
	return fault == NULL && region_is_consistent(region);
}

struct gg_allocation region_sample(uint64_t address, uint64_t size_bytes, uint32_t stack)
{
	return (struct gg_allocation){
		.address = address,
		.time_ns = address + 1,
		.size_bytes = size_bytes,
		.usable_bytes = size_bytes + 8,
		.draw = { .sampling_interval = 65536,
		          .sample_point_count = 1,
		          .scheme = GG_SCHEME_POISSON },
		.stack = stack,
	};
}

uint64_t region_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(0x2545f4914f6cdd1d);
}
