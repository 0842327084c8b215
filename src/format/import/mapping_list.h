/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maps - the mappings that a profile ends with, as lines of /proc/PID/maps: which file an address is in.
 *
 *   struct gg_maps maps = { 0 };
 *
 *   gg_maps_add(&maps, &line);                           false: that is no such line
 *   gg_maps_settle(&maps, import);                       sorted, and compared with the files
 *   gg_maps_find(&maps, import, address, &place);
 *   gg_maps_done(&maps);
 *
 * The lines have no build-ids, and the symbolizer uses no file without knowing that it is the one that ran.
 * So each file is looked at where it is now: if its program headers make exactly the mappings of code that
 * the lines show, its build-id is taken, and the profile notes that it was; otherwise the module has none and
 * its frames keep their addresses.  The headers also tell how addresses in the file are
 * numbered; without the file they are taken for offsets, which they are in what most linkers make.
 *
 * Threads  one owner.
 */
#pragma once

#include "base/array.h"
#include "format/import/import.h"

struct gg_maps_entry {
	uint64_t start, end, offset, inode;
	char *path; /* NULL: anonymous */
	bool is_code;
	bool is_settled;
	uint32_t module; /* id; 0: none */
	uint64_t bias;
};

struct gg_maps {
	GG_ARRAY(struct gg_maps_entry) entries;
	uint32_t unknown_file_count; /* of modules in use: not there, or another one */
	bool failed;                 /* memory ran out */
};

struct gg_maps_place {
	uint32_t module;  /* 0: in none */
	uint64_t address; /* in the module's file; absolute in none */
};

void gg_maps_done(struct gg_maps *maps);
bool gg_maps_add(struct gg_maps *maps, const struct gg_text *line);
/* Sorts them and names the program after the first. */
GG_MUST_CHECK int gg_maps_settle(struct gg_maps *maps, struct gg_import *import);
GG_MUST_CHECK int gg_maps_find(struct gg_maps *maps, struct gg_import *import, uint64_t address,
                               struct gg_maps_place *ret_place);
