/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mapping_list - the mappings that a profile ends with, as lines of /proc/PID/maps: which file an address is in.
 *
 *   struct gg_mapping_list maps = { 0 };
 *
 *   gg_mapping_list_add(&maps, &line);                           false: that is no such line
 *   gg_mapping_list_settle(&maps, import);                       sorted, and compared with the files
 *   gg_mapping_list_find(&maps, import, address, &place);
 *   gg_mapping_list_done(&maps);
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

struct gg_mapping_list_entry {
	uint64_t start, end, offset, inode;
	char *path; /* NULL: anonymous */
	bool is_code;
	bool is_settled;
	uint32_t module; /* id; 0: none */
	uint64_t bias;
};

struct gg_mapping_list {
	GG_ARRAY(struct gg_mapping_list_entry) entries;
	uint32_t unknown_file_count; /* of modules in use: not there, or another one */
	bool failed;                 /* memory ran out */
};

struct gg_mapping_list_place {
	uint32_t module;  /* 0: in none */
	uint64_t address; /* in the module's file; absolute in none */
};

void gg_mapping_list_done(struct gg_mapping_list *maps);
bool gg_mapping_list_add(struct gg_mapping_list *maps, const struct gg_text_line *line);
/* Sorts them and names the program after the first. */
GG_MUST_CHECK int gg_mapping_list_settle(struct gg_mapping_list *maps, struct gg_import *import);
GG_MUST_CHECK int gg_mapping_list_find(struct gg_mapping_list *maps, struct gg_import *import,
                                       uint64_t address, struct gg_mapping_list_place *ret_place);
