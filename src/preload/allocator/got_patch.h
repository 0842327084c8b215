/* SPDX-License-Identifier: Apache-2.0 */
/*
 * got_patch - the words through which an object calls functions of other objects (its global offset
 * table, and tables of functions in its data), changed after the loader has filled them.
 *
 * They are found by the object's own relocations, as the loader finds them.  Where the loader has
 * made them read-only since, they are writable for the moment of the write.
 *
 * Threads  others may call through a slot meanwhile: it is written as one word, and both values do.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/modules/proc_maps.h"
#include "runtime/platform/elf_lookup.h"

struct gg_got_patch_change {
	const char *name; /* of the function */
	uint64_t from;    /* what a slot must hold; 0: anything */
	uint64_t to;
};

/* In one object.  Slots that may not be written stay as they are. */
void gg_got_patch_change(const struct link_map *map, const struct gg_got_patch_change *changes,
                         size_t count, const struct gg_proc_maps *maps);

/* Writes 2 or 8 bytes, aligned to their size, to memory that may be read-only.  False: it cannot. */
bool gg_got_patch_write(const struct gg_proc_maps *maps, void *at, uint64_t value, size_t bytes);
