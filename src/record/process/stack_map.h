/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_map - from a stack of a region to a stack of the profile.
 *
 * A region has return addresses; a profile has frames: a module and the address of the call in that
 * module's file.  Which module that is depends on when: programs unload modules and load others in
 * their place.  So a stack is translated when a sample first names it, and again after a module went.
 *
 * Which one  modules that overlap were there one after the other, so the right one is the first whose
 *            end is after the sample.  An end is noticed by the first sample through the successor and
 *            has that sample's time (runtime/modules/module_table.h).
 * JIT code   is in no module: record/process/jit_names.h.
 * Cost       a node of a stack is read and translated once, 64 nodes a system call.
 * Memory     4 bytes a node that was named, in chunks; 32 a distinct address.
 * Hostile    a chain of parents ends because they get smaller; its outer end is cut at DEPTH_MAX.
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
	uint32_t id;                       /* in the profile; 0: there was no place for it */
	uint64_t bias, load_ns, unload_ns; /* unload_ns UINT64_MAX: loaded */
	uint32_t range_count;
	struct gg_region_range ranges[GG_REGION_RANGES_MAX];
};

struct gg_stack_map {
	GG_ARRAY(struct gg_stack_map_module) modules;
	int64_t next_look_ns;        /* at modules that may have gone although none has come */
	uint64_t last_unload_ns;     /* of any module; 0: none */
	struct gg_map frames;        /* return address to frame, since then */
	GG_ARRAY(uint32_t *) chunks; /* of translated nodes */
	uint32_t process;            /* in the profile */
	uint32_t pid;
	uint32_t
		perf_map; /* module of code that is in none, if a JIT compiler tells of it; 0: no */
	int64_t next_perf_map_ns; /* when to look for that again */
};

void gg_stack_map_done(struct gg_stack_map *stack_map);

/* Reads the modules anew if there are more, or one is gone.  Before the events of a round. */
int gg_stack_map_update(struct gg_stack_map *stack_map, struct gg_region_reader *reader,
                        struct gg_profile_writer *writer);

/* The stack of the profile; 0: it has none, or it is not there. */
uint32_t gg_stack_map_stack(struct gg_stack_map *stack_map, struct gg_region_reader *reader,
                            struct gg_profile_writer *writer, uint32_t node, uint64_t time_ns);

/*
 * For gg_stack_map_stack(): the frame of a runtime that stands for a pc, with its function and line, which
 * need no symbols.  Its module is its file.  0: it is not there, or failed.
 */
uint32_t gg_stack_map_runtime_frame(struct gg_region_reader *reader,
                                    struct gg_profile_writer *writer, uint64_t pc);

/* Writes where modules lay into the profile. */
int gg_stack_map_write(const struct gg_stack_map *stack_map, struct gg_profile_writer *writer);
