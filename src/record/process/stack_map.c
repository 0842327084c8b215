/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_map - modules by address and time, and a cache from nodes to stacks (process/stack_map.h).
 */
#include "record/process/stack_map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/time_units.h"

#define RECHECK_NS GG_NS_PER_S

enum {
	CHUNK_NODES = 4096,
	WINDOW_NODES = 64,   /* nodes of new frames lie side by side, the innermost last */
	NODES_MAX = 1 << 26, /* the agent's own bound */
	MODULES_MAX = 1 << 16,
	PATH_MAX_BYTES = 4096
};

/*
 * After a module was unloaded, the same return address may mean another frame.  Then all cached
 * translations are dropped; samples name the stacks that are still of interest again.
 */
static void forget_nodes(struct gg_stack_map *stack_map)
{
	for (uint32_t i = 0; i < stack_map->chunks.count; i++) {
		free(stack_map->chunks.items[i]);
		stack_map->chunks.items[i] = NULL;
	}
	gg_map_done(&stack_map->frames);
}

void gg_stack_map_done(struct gg_stack_map *stack_map)
{
	forget_nodes(stack_map);
	gg_array_done(&stack_map->chunks);
	gg_array_done(&stack_map->modules);
	*stack_map = (struct gg_stack_map){ 0 };
}

/* Returns the cache entry with the profile's stack of a node; NULL: no memory. */
static uint32_t *node_stack_of(struct gg_stack_map *stack_map, uint32_t node)
{
	uint32_t chunk = node / CHUNK_NODES;

	gg_assert(node < NODES_MAX);
	if (!gg_array_extend(&stack_map->chunks, (size_t)chunk + 1))
		return NULL;
	if (stack_map->chunks.items[chunk] == NULL)
		stack_map->chunks.items[chunk] = calloc(CHUNK_NODES, sizeof(uint32_t));
	return stack_map->chunks.items[chunk] != NULL
	               ? &stack_map->chunks.items[chunk][node % CHUNK_NODES]
	               : NULL;
}

/* --- modules --- */

static int add_module(struct gg_stack_map *stack_map, struct gg_region_reader *reader,
                      struct gg_profile_writer *writer, const struct gg_region_module *record)
{
	struct gg_stack_map_module *entry = gg_array_add(&stack_map->modules);
	char path[PATH_MAX_BYTES];
	struct gg_profile_module module = { .path = path };

	if (entry == NULL)
		return gg_profile_writer_keep(writer, -ENOMEM);
	entry->bias = record->bias;
	entry->load_ns = record->load_ns;
	entry->unload_ns = UINT64_MAX;
	if (record->ready != 1 || record->range_count > GG_REGION_RANGES_MAX ||
	    record->build_id_bytes > GG_REGION_BUILD_ID_MAX)
		return 0;
	gg_region_reader_text(reader, record->path_offset, record->path_bytes, path, sizeof(path));
	module.build_id = record->build_id;
	module.build_id_bytes = record->build_id_bytes;
	entry->range_count = record->range_count;
	memcpy(entry->ranges, record->ranges, sizeof(entry->ranges));
	return gg_profile_writer_keep(writer, gg_profile_intern_module(writer->profile, &module,
	                                                               &entry->id, writer->error));
}

int gg_stack_map_update(struct gg_stack_map *stack_map, struct gg_region_reader *reader,
                        struct gg_profile_writer *writer)
{
	uint32_t used = gg_region_reader_used(reader, GG_TABLE_MODULES);
	uint64_t last_ns = stack_map->last_unload_ns;

	/*
	 * The agent notices that a module was unloaded when another one is loaded in its place,
	 * which adds a record.  If the table is full it cannot add one, so also check once a
	 * second.
	 */
	if (used == stack_map->modules.count && writer->now_ns < stack_map->next_look_ns)
		return 0;
	stack_map->next_look_ns = writer->now_ns + RECHECK_NS;
	if (used > MODULES_MAX || !gg_array_reserve(&stack_map->modules, used))
		return 0;
	for (uint32_t i = 0; i < used; i++) {
		struct gg_region_module record;

		if (!gg_region_reader_read(reader, GG_TABLE_MODULES, i, 1, &record))
			break;
		/* The agent is still writing this record, so no sample names it yet. */
		if (i >= stack_map->modules.count && record.ready == 0)
			break;
		if (i >= stack_map->modules.count &&
		    add_module(stack_map, reader, writer, &record) < 0)
			return writer->status;
		if (record.unload_ns != 0 && stack_map->modules.items[i].unload_ns == UINT64_MAX) {
			stack_map->modules.items[i].unload_ns = record.unload_ns;
			last_ns = record.unload_ns > last_ns ? record.unload_ns : last_ns;
		}
	}
	if (last_ns != stack_map->last_unload_ns) {
		stack_map->last_unload_ns = last_ns;
		forget_nodes(stack_map);
	}
	return 0;
}

/*
 * Finds the module that held the address at that time.  Modules that overlap were there one after
 * the other, so among the modules that ended after the sample the one that ended first is right.
 */
static const struct gg_stack_map_module *find_module(const struct gg_stack_map *stack_map,
                                                     uint64_t address, uint64_t time_ns)
{
	const struct gg_stack_map_module *found = NULL;

	for (uint32_t i = 0; i < stack_map->modules.count; i++) {
		const struct gg_stack_map_module *module = &stack_map->modules.items[i];
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

int gg_stack_map_write(const struct gg_stack_map *stack_map, struct gg_profile_writer *writer)
{
	for (uint32_t i = 0; i < stack_map->modules.count && writer->status == 0; i++) {
		const struct gg_stack_map_module *module = &stack_map->modules.items[i];

		for (uint32_t j = 0; j < module->range_count; j++) {
			struct gg_profile_mapping mapping = {
				.process = stack_map->process,
				.module = module->id,
				.start = module->ranges[j].start,
				.end = module->ranges[j].end,
				.file_offset = module->ranges[j].file_offset,
				.bias = module->bias,
				.load_ns = gg_profile_writer_time(writer, module->load_ns),
				.unload_ns = module->unload_ns != UINT64_MAX
				                     ? gg_profile_writer_time(writer,
				                                              module->unload_ns)
				                     : GG_TIME_NONE,
			};

			gg_profile_writer_keep(
				writer,
				gg_profile_add_mapping(writer->profile, &mapping, writer->error));
		}
	}
	return writer->status;
}

/* --- frames and stacks --- */

/* Returns the module that stands for JIT-compiled code; 0: there is no perf map yet. */
static uint32_t perf_map_of(struct gg_stack_map *stack_map, struct gg_profile_writer *writer)
{
	if (stack_map->perf_map == 0 && writer->now_ns >= stack_map->next_perf_map_ns) {
		stack_map->next_perf_map_ns = writer->now_ns + RECHECK_NS;
		gg_profile_writer_keep(
			writer, gg_jit_names_module(&writer->jit, writer->profile, stack_map->pid,
		                                    &stack_map->perf_map, writer->error));
	}
	return stack_map->perf_map;
}

/*
 * Interns the frame of a return address; 0: writing failed.  `is_current`: the translation is valid
 * from now on, so the cache may be used.
 */
static uint32_t frame_of(struct gg_stack_map *stack_map, struct gg_region_reader *reader,
                         struct gg_profile_writer *writer, uint64_t pc, uint64_t time_ns,
                         bool is_current)
{
	uint64_t known = is_current ? gg_map_get(&stack_map->frames, pc) : GG_MAP_NONE;
	uint64_t address = pc - 1; /* inside the call instruction, not behind it */
	const struct gg_stack_map_module *module;
	uint32_t frame = 0, id;

	if (known != GG_MAP_NONE)
		return (uint32_t)known;
	if (gg_pc_is_frame(pc)) {
		frame = gg_stack_map_runtime_frame(reader, writer, pc);
	} else {
		module = find_module(stack_map, address, time_ns);
		id = module != NULL ? module->id : perf_map_of(stack_map, writer);
		if (module != NULL && id != 0)
			address -= module->bias;
		gg_profile_writer_keep(writer, gg_profile_intern_frame(writer->profile, id, address,
		                                                       &frame, writer->error));
		if (id == 0 && frame != 0)
			gg_profile_writer_keep(writer, gg_jit_names_add(&writer->jit, frame,
			                                                address, stack_map->process,
			                                                stack_map->pid));
	}
	if (is_current && frame != 0 && gg_map_put(&stack_map->frames, pc, frame) < 0)
		gg_profile_writer_keep(writer, -ENOMEM);
	return frame;
}

/* A node that has no stack in the profile yet. */
struct pending_node {
	uint32_t node;
	uint64_t pc;
};

/*
 * Lists the untranslated nodes of a stack from the innermost outward, up to the first node that the
 * cache knows.  *ret_stack is that node's stack in the profile, 0 if the cache knows no node of the
 * stack.  Nodes of one stack usually lie side by side, so a window of them is read at a time.
 */
static uint32_t list_frames(struct gg_stack_map *stack_map, struct gg_region_reader *reader,
                            uint32_t node, bool is_current,
                            struct pending_node pending[GG_STACK_MAP_DEPTH_MAX],
                            uint32_t *ret_stack)
{
	struct gg_region_node window[WINDOW_NODES];
	uint32_t first = 0, end = 0, count = 0;

	*ret_stack = 0;
	while (node >= GG_STACK_FIRST && count < GG_STACK_MAP_DEPTH_MAX) {
		const struct gg_region_node *record;
		uint32_t *known = is_current ? node_stack_of(stack_map, node) : NULL;

		if (known != NULL && *known != 0) {
			*ret_stack = *known;
			break;
		}
		if (node < first || node >= end) {
			end = node + 1;
			first = end > WINDOW_NODES ? end - WINDOW_NODES : 0;
			if (!gg_region_reader_read(reader, GG_TABLE_STACKS, first, end - first,
			                           window))
				return 0;
		}
		gg_assert(first <= node && node < end);
		record = &window[node - first];
		pending[count++] = (struct pending_node){ .node = node, .pc = record->pc };
		if (record->parent >= node)
			break; /* the region is damaged: parents have smaller numbers */
		node = record->parent;
	}
	return count;
}

uint32_t gg_stack_map_stack(struct gg_stack_map *stack_map, struct gg_region_reader *reader,
                            struct gg_profile_writer *writer, uint32_t node, uint64_t time_ns)
{
	/*
	 * Since the last unload each node has one meaning, which the cache holds.  A sample from
	 * before that may mean other modules, so its stack is translated without the cache.
	 */
	bool is_current = time_ns >= stack_map->last_unload_ns;
	struct pending_node pending[GG_STACK_MAP_DEPTH_MAX];
	uint32_t count, stack, *node_stack;

	if (node < GG_STACK_FIRST || node >= NODES_MAX ||
	    (node >= gg_region_table_of(&reader->header, GG_TABLE_STACKS)->used_count &&
	     node >= gg_region_reader_used(reader, GG_TABLE_STACKS)))
		return 0;
	if (is_current) {
		node_stack = node_stack_of(stack_map, node);
		if (node_stack != NULL && *node_stack != 0)
			return *node_stack;
	}
	gg_assert(stack_map->process != 0);
	stack_map->pid = reader->header.pid;
	count = list_frames(stack_map, reader, node, is_current, pending, &stack);
	/* Outermost first: a stack of the profile is its caller's stack and one frame. */
	while (count > 0 && writer->status == 0) {
		const struct pending_node *pending_node = &pending[--count];
		uint32_t frame = frame_of(stack_map, reader, writer, pending_node->pc, time_ns,
		                          is_current);

		gg_profile_writer_keep(writer,
		                       gg_profile_intern_stack(writer->profile, stack, frame,
		                                               &stack, writer->error));
		node_stack = is_current ? node_stack_of(stack_map, pending_node->node) : NULL;
		if (node_stack != NULL)
			*node_stack = stack;
	}
	return writer->status == 0 ? stack : 0;
}
