/* SPDX-License-Identifier: Apache-2.0 */
/* region - sizes of the tables, the file's header, and the life of a region. */
#include "region/writer/region.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/hash.h"
#include "region/writer/private_memory.h"
#include "stats/sampling/scheme.h"

enum { FIT_LEAST = 256 /* records: a table with fewer is of no use */ };

/*
 * Capacities in records.  `most` keeps ids within their fields.  `first_count` records of a new
 * table have a meaning of their own, such as GG_STACK_EMPTY.
 */
static const struct {
	uint32_t least, standard, most, first_count;
} capacities[GG_TABLE_COUNT] = {
	[GG_TABLE_SLOTS] = { 1, 16384, 65535, 0 },
	[GG_TABLE_THREADS] = { 1, 4096, 65535, 1 },
	[GG_TABLE_MODULES] = { 1, 16384, 65535, 0 },
	[GG_TABLE_HEAPS] = { 1, 256, 65535, 1 },
	[GG_TABLE_TYPES] = { 1, 16384, 65535, 1 },
	[GG_TABLE_STRINGS] = { 1, 4 << 20, 1 << 28, 0 },
	[GG_TABLE_STACKS] = { GG_STACK_FIRST, 1 << 20, 1 << 26, GG_STACK_FIRST },
	[GG_TABLE_LIVE] = { 1, 1 << 20, 1 << 26, 0 },
	[GG_TABLE_SITE_TOTALS] = { 1, 1 << 18, 1 << 24, 1 },
	[GG_TABLE_RING] = { 1, 4096, 1 << 24, 0 },
	[GG_TABLE_FRAMES] = { 1, 1 << 16, 1 << 24, 1 },
	[GG_TABLE_ALLOCATOR_BLOCKS] = { 2, 1 << 15, 1 << 24, 0 },
	[GG_TABLE_FAULTS] = { 1, 256, 1 << 16, 0 },
};

void gg_region_options_default(struct gg_region_options *options)
{
	*options = (struct gg_region_options){ .max_frames = 512,
		                               .active = true,
		                               .interval_bytes = GG_DEFAULT_INTERVAL_BYTES };
	for (int i = 0; i < GG_TABLE_COUNT; i++)
		options->capacities[i] = capacities[i].standard;
}

static uint64_t to_page(uint64_t bytes)
{
	return (bytes + GG_REGION_PAGE_BYTES - 1) & ~(uint64_t)(GG_REGION_PAGE_BYTES - 1);
}

static uint64_t table_bytes(const struct gg_region_options *options, int table)
{
	return (uint64_t)options->capacities[table] * gg_region_record_bytes[table];
}

uint64_t gg_region_options_file_bytes(const struct gg_region_options *options)
{
	uint64_t bytes = GG_REGION_PAGE_BYTES;

	for (int i = 0; i < GG_TABLE_COUNT; i++) {
		uint32_t capacity = options->capacities[i];

		if (capacity < capacities[i].least || capacity > capacities[i].most)
			return 0;
		bytes += to_page(table_bytes(options, i));
	}
	if ((options->capacities[GG_TABLE_RING] & (options->capacities[GG_TABLE_RING] - 1)) != 0)
		return 0;
	return bytes;
}

/* Writes the header except for its magic, with empty tables. */
static void write_header(struct gg_region *region, const struct gg_region_options *options)
{
	struct gg_region_header *header = region->header;
	struct gg_clock_moment start = gg_clock_moment();
	uint64_t offset = GG_REGION_PAGE_BYTES;

	*header = (struct gg_region_header){
		.version = GG_REGION_VERSION,
		.header_bytes = sizeof(*header),
		.file_bytes = region->map.bytes,
		.pid = options->pid,
		.parent_pid = options->parent_pid,
		.start_monotonic_ns = start.monotonic_ns,
		.start_wall_ns = start.wall_ns,
		.process_start_ticks = options->process_start_ticks,
		.fork_ns = options->fork_ns,
		.max_frames = options->max_frames,
		.attach = options->attach,
		/* Readers that see the magic must know what the site totals are. */
		.exact = { .flags = options->exact ? GG_REGION_EXACT : 0 },
		.control = { .change_count = 1,
		             .interval_bytes = options->interval_bytes,
		             .overhead_ppm = options->overhead_ppm,
		             .error_ppm = options->error_ppm,
		             .active = options->active },
	};
	header->command_bytes = options->command_bytes < GG_REGION_COMMAND_MAX
	                                ? options->command_bytes
	                                : GG_REGION_COMMAND_MAX;
	header->exe_bytes = options->exe_bytes < GG_REGION_EXE_MAX ? options->exe_bytes
	                                                           : GG_REGION_EXE_MAX;
	header->options_bytes = options->options_bytes < GG_REGION_OPTIONS_MAX
	                                ? options->options_bytes
	                                : GG_REGION_OPTIONS_MAX;
	if (options->command != NULL)
		memcpy(header->command, options->command, header->command_bytes);
	if (options->exe != NULL)
		memcpy(header->exe, options->exe, header->exe_bytes);
	if (options->options != NULL)
		memcpy(header->options, options->options, header->options_bytes);
	for (size_t i = 0; i < GG_ALLOCATOR_TOTAL_CAPACITY; i++)
		header->allocator.totals[i] = GG_ALLOCATOR_TOTAL_UNKNOWN;
	for (int i = 0; i < GG_TABLE_COUNT; i++) {
		*gg_region_table_of(header, i) = (struct gg_region_table){
			.offset = offset,
			.record_bytes = gg_region_record_bytes[i],
			.capacity = options->capacities[i],
			.used_count = capacities[i].first_count,
		};
		region->tables[i] = (struct gg_region_space){
			.base = region->map.base + offset,
			.offset = offset,
			.record_bytes = gg_region_record_bytes[i],
			.capacity = options->capacities[i],
			.used_count = capacities[i].first_count,
			.mirror = &gg_region_table_of(header, i)->used_count,
		};
		offset += to_page(table_bytes(options, i));
	}
}

int gg_region_init_shared(struct gg_region *region, const struct gg_region_file *map,
                          const struct gg_region_options *options)
{
	uint64_t bytes = gg_region_options_file_bytes(options);
	int status;

	if (bytes == 0 || map->base == NULL || map->bytes < bytes)
		return -EINVAL;
	/* Fail now, so that the agent reports it; a table that fills up later is only counted. */
	if (map->is_full)
		return -ENOSPC;
	region->map = *map;
	status = gg_region_file_reserve(&region->map, 0, GG_REGION_PAGE_BYTES);
	if (status < 0)
		return status;
	region->header = (struct gg_region_header *)map->base;
	write_header(region, options);
	return 0;
}

void gg_region_options_fit(struct gg_region_options *options, uint64_t bytes)
{
	bool can_shrink = true;

	while (can_shrink &&
	       gg_region_options_file_bytes(options) + gg_region_private_bytes(options) > bytes) {
		can_shrink = false;
		for (int i = 0; i < GG_TABLE_COUNT; i++) {
			if (options->capacities[i] / 2 < FIT_LEAST)
				continue;
			options->capacities[i] /= 2;
			can_shrink = true;
		}
	}
}

int gg_region_init(struct gg_region *region, const struct gg_region_file *map,
                   const struct gg_region_options *options)
{
	int status;

	/* Other threads may ask the filter meanwhile, so its view always points to cells. */
	_Static_assert(offsetof(struct gg_region, filter.view) == 0, "memset() skips it");
	GG_REGION_INIT_VIEW(region);
	memset((uint8_t *)region + sizeof(region->filter.view), 0,
	       sizeof(*region) - sizeof(region->filter.view));
	region->next_id = 1;
	region->max_frames = options->max_frames;
	region->hash_seed = options->hash_seed != 0 ? options->hash_seed : gg_hash_random_seed();
	status = gg_region_init_shared(region, map, options);
	if (status == 0)
		status = gg_region_private_map(region, options);
	if (status < 0)
		return status;
	/* A reader that sees the magic sees the header. */
	gg_store_release(&region->header->magic, GG_REGION_MAGIC);
	return 0;
}

void gg_region_end(struct gg_region *region, uint64_t now_ns)
{
	gg_store_release(&region->header->end_monotonic_ns, now_ns);
}

void gg_region_done(struct gg_region *region, bool remove_file)
{
	if (region->memory != NULL)
		munmap(region->memory, region->memory_bytes);
	gg_region_file_done(&region->map, remove_file);
	*region = (struct gg_region){ 0 };
	GG_REGION_INIT_VIEW(region);
}

void gg_region_retire(struct gg_region *region)
{
	GG_REGION_INIT_VIEW(region);
	gg_region_file_done(&region->map, false);
	region->header = NULL;
	gg_region_private_retire(region);
}

struct gg_region_request gg_region_control(const struct gg_region *region)
{
	const struct gg_region_control *control = &region->header->control;
	struct gg_region_request request;

	/* Acquire: pairs with the release in gg_region_control_write(). */
	request.change_count = gg_load_acquire(&control->change_count);
	request.interval_bytes = gg_load_relaxed(&control->interval_bytes);
	request.overhead_ppm = gg_load_relaxed(&control->overhead_ppm);
	request.error_ppm = gg_load_relaxed(&control->error_ppm);
	request.active = gg_load_relaxed(&control->active) != 0;
	request.detach = gg_load_relaxed(&control->detach_count) != 0;
	return request;
}
