/* SPDX-License-Identifier: Apache-2.0 */
#include "record/process/stack_map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time_units.h"

#define LOOK_EVERY_NS GG_NS_PER_S

enum {
	CHUNK_NODES = 4096,
	WINDOW_NODES = 64,   /* nodes of new frames lie side by side, the innermost last */
	NODES_MAX = 1 << 26, /* the agent's own bound */
	MODULES_MAX = 1 << 16,
	PATH_MAX_BYTES = 4096
};

static void forget_nodes(struct gg_stack_map *places)
{
	for (uint32_t i = 0; i < places->chunks.count; i++) {
		free(places->chunks.items[i]);
		places->chunks.items[i] = NULL;
	}
	gg_map_done(&places->frames);
}

void gg_stack_map_done(struct gg_stack_map *places)
{
	forget_nodes(places);
	gg_array_done(&places->chunks);
	gg_array_done(&places->modules);
	*places = (struct gg_stack_map){ 0 };
}

/* Where the stack of a node is kept; NULL: no memory. */
static uint32_t *place_of(struct gg_stack_map *places, uint32_t node)
{
	uint32_t chunk = node / CHUNK_NODES;

	if (!gg_array_extend(&places->chunks, (size_t)chunk + 1))
		return NULL;
	if (places->chunks.items[chunk] == NULL)
		places->chunks.items[chunk] = calloc(CHUNK_NODES, sizeof(uint32_t));
	return places->chunks.items[chunk] != NULL
	               ? &places->chunks.items[chunk][node % CHUNK_NODES]
	               : NULL;
}

/* --- modules --- */

static int add_module(struct gg_stack_map *places, struct gg_region_reader *source,
                      struct gg_profile_writer *output, const struct gg_region_module *record)
{
	struct gg_stack_map_module *place = gg_array_add(&places->modules);
	char path[PATH_MAX_BYTES];
	struct gg_profile_module module = { .path = path };

	if (place == NULL)
		return gg_profile_writer_keep(output, -ENOMEM);
	place->bias = record->bias;
	place->load_ns = record->load_ns;
	place->unload_ns = UINT64_MAX;
	if (record->ready != 1 || record->range_count > GG_REGION_RANGES_MAX ||
	    record->build_id_bytes > GG_REGION_BUILD_ID_MAX)
		return 0;
	gg_region_reader_text(source, record->path_offset, record->path_bytes, path, sizeof(path));
	module.build_id = record->build_id;
	module.build_id_bytes = record->build_id_bytes;
	place->range_count = record->range_count;
	memcpy(place->ranges, record->ranges, sizeof(place->ranges));
	return gg_profile_writer_keep(output, gg_profile_intern_module(output->profile, &module,
	                                                               &place->id, output->error));
}

int gg_stack_map_update(struct gg_stack_map *places, struct gg_region_reader *source,
                        struct gg_profile_writer *output)
{
	uint32_t used = gg_region_reader_used(source, GG_TABLE_MODULES);
	uint64_t last_ns = places->last_unload_ns;

	/* One that goes is noticed when another comes in its place, unless the table is full. */
	if (used == places->modules.count && output->now_ns < places->next_look_ns)
		return 0;
	places->next_look_ns = output->now_ns + LOOK_EVERY_NS;
	if (used > MODULES_MAX || !gg_array_reserve(&places->modules, used))
		return 0;
	for (uint32_t i = 0; i < used; i++) {
		struct gg_region_module record;

		if (!gg_region_reader_read(source, GG_TABLE_MODULES, i, 1, &record))
			break;
		/* One that is being written has no sample yet; it is read next time. */
		if (i >= places->modules.count && record.ready == 0)
			break;
		if (i >= places->modules.count && add_module(places, source, output, &record) < 0)
			return output->status;
		if (record.unload_ns != 0 && places->modules.items[i].unload_ns == UINT64_MAX) {
			places->modules.items[i].unload_ns = record.unload_ns;
			last_ns = record.unload_ns > last_ns ? record.unload_ns : last_ns;
		}
	}
	if (last_ns != places->last_unload_ns) {
		places->last_unload_ns = last_ns;
		forget_nodes(places);
	}
	return 0;
}

static const struct gg_stack_map_module *find_module(const struct gg_stack_map *places,
                                                     uint64_t address, uint64_t time_ns)
{
	const struct gg_stack_map_module *found = NULL;

	for (uint32_t i = 0; i < places->modules.count; i++) {
		const struct gg_stack_map_module *module = &places->modules.items[i];
		bool is_inside = false;

		for (uint32_t j = 0; j < module->range_count && !is_inside; j++)
			is_inside = address >= module->ranges[j].start &&
			            address < module->ranges[j].end;
		if (!is_inside || (module->unload_ns != UINT64_MAX && module->unload_ns <= time_ns))
			continue;
		if (found == NULL || module->unload_ns < found->unload_ns)
			found = module;
	}
	return found;
}

int gg_stack_map_write(const struct gg_stack_map *places, struct gg_profile_writer *output)
{
	for (uint32_t i = 0; i < places->modules.count && output->status == 0; i++) {
		const struct gg_stack_map_module *module = &places->modules.items[i];

		for (uint32_t j = 0; j < module->range_count; j++) {
			struct gg_profile_mapping mapping = {
				.process = places->process,
				.module = module->id,
				.start = module->ranges[j].start,
				.end = module->ranges[j].end,
				.file_offset = module->ranges[j].file_offset,
				.bias = module->bias,
				.load_ns = gg_profile_writer_time(output, module->load_ns),
				.unload_ns = module->unload_ns != UINT64_MAX
				                     ? gg_profile_writer_time(output,
				                                              module->unload_ns)
				                     : GG_TIME_NONE,
			};

			gg_profile_writer_keep(
				output,
				gg_profile_add_mapping(output->profile, &mapping, output->error));
		}
	}
	return output->status;
}

/* --- frames and stacks --- */

/* The module of code that is in none; 0: there is none yet. */
static uint32_t perf_map_of(struct gg_stack_map *places, struct gg_profile_writer *output)
{
	if (places->perf_map == 0 && output->now_ns >= places->next_perf_map_ns) {
		places->next_perf_map_ns = output->now_ns + LOOK_EVERY_NS;
		gg_profile_writer_keep(output,
		                       gg_jit_names_module(output->profile, places->pid,
		                                           &places->perf_map, output->error));
	}
	return places->perf_map;
}

/* The frame of a return address; 0: failed. */
static uint32_t frame_of(struct gg_stack_map *places, struct gg_region_reader *source,
                         struct gg_profile_writer *output, uint64_t pc, uint64_t time_ns,
                         bool is_current)
{
	uint64_t known = is_current ? gg_map_get(&places->frames, pc) : GG_MAP_NONE;
	uint64_t address = pc - 1; /* of the call, not of what follows it */
	const struct gg_stack_map_module *module;
	uint32_t frame = 0, id;

	if (known != GG_MAP_NONE)
		return (uint32_t)known;
	if (gg_pc_is_frame(pc)) {
		frame = gg_stack_map_runtime_frame(source, output, pc);
	} else {
		module = find_module(places, address, time_ns);
		id = module != NULL ? module->id : perf_map_of(places, output);
		if (module != NULL && id != 0)
			address -= module->bias;
		gg_profile_writer_keep(output, gg_profile_intern_frame(output->profile, id, address,
		                                                       &frame, output->error));
		if (id == 0 && frame != 0)
			gg_profile_writer_keep(output,
			                       gg_jit_names_add(&output->jit, frame, address,
			                                        places->process, places->pid));
	}
	if (is_current && frame != 0 && gg_map_put(&places->frames, pc, frame) < 0)
		gg_profile_writer_keep(output, -ENOMEM);
	return frame;
}

struct step {
	uint32_t node;
	uint64_t pc;
};

/*
 * Lists the frames of a stack from the innermost one to the first that is translated; *ret_stack is
 * that one's.  0 if there are none.
 */
static uint32_t list_frames(struct gg_stack_map *places, struct gg_region_reader *source,
                            uint32_t node, bool is_current,
                            struct step steps[GG_STACK_MAP_DEPTH_MAX], uint32_t *ret_stack)
{
	struct gg_region_node window[WINDOW_NODES];
	uint32_t first = 0, end = 0, count = 0;

	*ret_stack = 0;
	while (node >= GG_STACK_FIRST && count < GG_STACK_MAP_DEPTH_MAX) {
		const struct gg_region_node *record;
		uint32_t *known = is_current ? place_of(places, node) : NULL;

		if (known != NULL && *known != 0) {
			*ret_stack = *known;
			break;
		}
		if (node < first || node >= end) {
			end = node + 1;
			first = end > WINDOW_NODES ? end - WINDOW_NODES : 0;
			if (!gg_region_reader_read(source, GG_TABLE_STACKS, first, end - first,
			                           window))
				return 0;
		}
		record = &window[node - first];
		steps[count++] = (struct step){ .node = node, .pc = record->pc };
		if (record->parent >= node)
			break; /* no writer makes that */
		node = record->parent;
	}
	return count;
}

uint32_t gg_stack_map_stack(struct gg_stack_map *places, struct gg_region_reader *source,
                            struct gg_profile_writer *output, uint32_t node, uint64_t time_ns)
{
	/* After the last module went, nodes mean one thing; before that, they are looked up again. */
	bool is_current = time_ns >= places->last_unload_ns;
	struct step steps[GG_STACK_MAP_DEPTH_MAX];
	uint32_t count, stack, *place;

	if (node < GG_STACK_FIRST || node >= NODES_MAX ||
	    (node >= gg_region_table_of(&source->header, GG_TABLE_STACKS)->used_count &&
	     node >= gg_region_reader_used(source, GG_TABLE_STACKS)))
		return 0;
	if (is_current) {
		place = place_of(places, node);
		if (place != NULL && *place != 0)
			return *place;
	}
	places->pid = source->header.pid;
	count = list_frames(places, source, node, is_current, steps, &stack);
	while (count > 0 && output->status == 0) {
		const struct step *step = &steps[--count];
		uint32_t frame = frame_of(places, source, output, step->pc, time_ns, is_current);

		gg_profile_writer_keep(output,
		                       gg_profile_intern_stack(output->profile, stack, frame,
		                                               &stack, output->error));
		place = is_current ? place_of(places, step->node) : NULL;
		if (place != NULL)
			*place = stack;
	}
	return output->status == 0 ? stack : 0;
}
