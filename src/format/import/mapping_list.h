/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mapping_list - finds the file of an address from a profile's lines of /proc/PID/maps.
 *
 *   struct gg_mapping_list maps = { 0 };
 *
 *   gg_mapping_list_add(&maps, &line);                 returns false for other lines
 *   gg_mapping_list_sort(&maps, import);             sorts them, and compares them with the files
 *   gg_mapping_list_find(&maps, import, address, &found);
 *   gg_mapping_list_done(&maps);
 *
 * The lines have no build-ids, and the symbolizer uses a file only if it is known to be the one
 * that ran.  So this module reads each file at its present path.  If the file's program headers
 * would produce exactly the code mappings of the lines, the module gets its build-id, and the
 * profile notes that.  Otherwise the module gets no build-id, and its frames keep their addresses.
 * The headers also tell how the file numbers addresses.  Without the file, addresses are taken as
 * file offsets, which is what most linkers produce.
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
	bool is_interned;
	uint32_t module; /* id; 0: no module */
	uint64_t bias;
};

struct gg_mapping_list {
	GG_ARRAY(struct gg_mapping_list_entry) entries;
	uint32_t unknown_file_count; /* files of used modules that are missing or different */
	bool failed;                 /* out of memory */
};

struct gg_mapping_list_address {
	uint32_t module;  /* 0: in no module */
	uint64_t address; /* in the module's file; absolute without a module */
};

void gg_mapping_list_done(struct gg_mapping_list *maps);
bool gg_mapping_list_add(struct gg_mapping_list *maps, const struct gg_text_line *text);
/* Sorts the mappings, and names the program after the first one. */
GG_MUST_CHECK int gg_mapping_list_sort(struct gg_mapping_list *maps, struct gg_import *import);
GG_MUST_CHECK int gg_mapping_list_find(struct gg_mapping_list *maps, struct gg_import *import,
                                       uint64_t address, struct gg_mapping_list_address *ret_found);
