/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_map - the mappings of a process as a sorted list, and the allocator that their names show.
 *
 *   struct gg_memory_map map = { 0 };
 *
 *   status = gg_memory_map_parse(&map, smaps_text);
 *   area = gg_memory_map_find(&map, address);
 *   gg_memory_map_done(&map);
 *
 * Hostile  the program chooses names and places of its mappings.
 * Threads  one owner at a time; readers may share a finished map.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

struct gg_memory_area {
	uint64_t begin, end;
	bool is_writable; /* anonymous memory that the program may read and write */
	bool is_brk;      /* [heap] */
};

struct gg_memory_map {
	/* Ascending, without overlaps; adjacent mappings of one use are one area. */
	GG_ARRAY(struct gg_memory_area) areas;
	struct gg_memory_area libc_data; /* written data of glibc; an empty area: not found */
	bool has_python;                 /* Python's program or library is mapped */
	const char *allocator; /* the allocator whose library is mapped, a constant; or NULL */
};

/*
 * Parses /proc/PID/smaps or /proc/PID/maps; NULL is an empty list.  Lines that are no mappings, or
 * that are not in the order of addresses, do not count.  Returns 0 or -ENOMEM.
 */
int gg_memory_map_parse(struct gg_memory_map *map, const char *text);

/* Returns the area that holds the address, or NULL. */
const struct gg_memory_area *gg_memory_map_find(const struct gg_memory_map *map, uint64_t address);

/*
 * Returns the end of the mappings that follow `address` without a hole.  It is `address` itself if
 * no mapping holds that.
 */
uint64_t gg_memory_map_end(const struct gg_memory_map *map, uint64_t address);

void gg_memory_map_done(struct gg_memory_map *map);
