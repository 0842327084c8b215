/* SPDX-License-Identifier: Apache-2.0 */
/*
 * got_patch - changes the slots through which a loaded object calls functions of other objects.
 *
 * Slots are words in the object's global offset table and in tables of functions in its data.  The
 * object's own relocations lead to them, as they lead the loader.  If the loader has made a slot
 * read-only, it is made writable for the moment of the write.
 *
 * Threads  Other threads may call through a slot meanwhile: it is written as one word, and both its
 *          old and its new function work.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/modules/proc_maps.h"
#include "runtime/platform/elf_lookup.h"

/* A slot of an object, by the relocation that leads to it. */
struct gg_got_patch_slot {
	uint64_t *at;
	const Elf64_Sym *symbol;
	const char *name; /* of the symbol */
	bool is_call;     /* of the procedure linkage table, which may bind it at the first call */
};

/* Steps through the slots: *at is 0 at first.  False: there are no more. */
bool gg_got_patch_next(const struct gg_elf_lookup_tables *tables, size_t *at,
                       struct gg_got_patch_slot *ret_slot);

struct gg_got_patch_change {
	const char *name; /* name of the function */
	uint64_t from;    /* the value that a slot must have; 0: any */
	uint64_t to;
};

/* Changes all matching slots of one object.  Slots that cannot be written stay as they are. */
void gg_got_patch_change(const struct link_map *map, const struct gg_got_patch_change *changes,
                         size_t count, const struct gg_proc_maps *maps);

/*
 * Writes 2 or 8 bytes, aligned to their size, to memory that may be read-only.  False on failure.
 */
bool gg_got_patch_write(const struct gg_proc_maps *maps, void *at, uint64_t value, size_t bytes);
