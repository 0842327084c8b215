/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_map - translates stacks of a region to stacks of the profile.
 *
 * A region has return addresses.  A profile has frames: a module, and the address of the call in
 * that module's file.  The module depends on the time, because programs unload modules and load
 * others at the same addresses.  So the map translates a stack when a sample first names it, and
 * again after a module was unloaded.
 *
 * Overlaps   modules that overlap were loaded one after the other, so the right module is the first
 *            one whose end is after the sample.  The agent notices an end at the first sample
 *            through the successor, and records that sample's time
 *            (runtime/modules/module_table.h).
 * JIT code   lies in no module; see process/jit_names.h.
 * Cost       the map reads and translates each node of a stack once, 64 nodes a system call.
 * Memory     4 bytes for each node that was named, in chunks; 32 bytes for each distinct address.
 * Hostile    numbers of parents decrease along a stack, so each walk ends; the map cuts the outer
 *            end at GG_STACK_MAP_DEPTH_MAX frames.
 * Threads    one owner at a time.
 */
#pragma once

#include <stdint.h>

#include "base/array.h"
#include "base/map.h"
#include "record/process/region_reader.h"
#include "record/session/profile_writer.h"

enum { GG_STACK_MAP_DEPTH_MAX = 2048 };

struct gg_stack_map_module {
	uint32_t id; /* in the profile; 0: its record in the region was incomplete */
	uint64_t bias, load_ns, unload_ns; /* unload_ns UINT64_MAX: loaded */
	uint32_t range_count;
	struct gg_region_range ranges[GG_REGION_RANGES_MAX];
};

struct gg_stack_map {
	GG_ARRAY(struct gg_stack_map_module) modules;
	int64_t next_look_ns; /* when to check for unloaded modules even if no module was added */
	uint64_t last_unload_ns; /* the latest of all modules; 0: no module was unloaded */
	struct gg_map frames;    /* from return addresses to frames, valid since last_unload_ns */
	GG_ARRAY(uint32_t *) chunks; /* the profile's stacks of translated nodes */
	uint32_t process;            /* in the profile */
	uint32_t pid;
	uint32_t perf_map;        /* the module of JIT-compiled code; 0: there is no perf map */
	int64_t next_perf_map_ns; /* when to look for a perf map again */
};

void gg_stack_map_done(struct gg_stack_map *stack_map);

/* Reads new and unloaded modules.  Call it before translating the events of a round. */
int gg_stack_map_update(struct gg_stack_map *stack_map, struct gg_region_reader *reader,
                        struct gg_profile_writer *writer);

/* Returns the stack of the profile; 0: the node is empty, missing or damaged. */
uint32_t gg_stack_map_stack(struct gg_stack_map *stack_map, struct gg_region_reader *reader,
                            struct gg_profile_writer *writer, uint32_t node, uint64_t time_ns);

/*
 * For gg_stack_map_stack(): returns the frame for a number that a language runtime put in place of
 * a return address.  The region has its function and line, so it needs no symbols; its module is
 * its source file.  0: the record is missing, or writing failed.
 */
uint32_t gg_stack_map_runtime_frame(struct gg_region_reader *reader,
                                    struct gg_profile_writer *writer, uint64_t pc);

/* Writes the address ranges of all modules into the profile. */
int gg_stack_map_write(const struct gg_stack_map *stack_map, struct gg_profile_writer *writer);
