/* SPDX-License-Identifier: Apache-2.0 */
/* mapping_list - parses mappings and compares them with ELF files. */
#include "format/import/mapping_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/binary_search.h"
#include "base/maps_line.h"
#include "format/import/elf_file.h"

void gg_mapping_list_done(struct gg_mapping_list *maps)
{
	for (size_t i = 0; i < maps->entries.count; i++)
		free(maps->entries.items[i].path);
	gg_array_done(&maps->entries);
	*maps = (struct gg_mapping_list){ 0 };
}

/* Adds an entry with a copy of its path. */
static int put(struct gg_mapping_list *maps, const struct gg_mapping_list_entry *entry,
               const char *path, size_t path_length)
{
	struct gg_mapping_list_entry kept = *entry;

	kept.path = path_length > 0 ? strndup(path, path_length) : NULL;
	if ((path_length > 0 && kept.path == NULL) || !gg_array_push(&maps->entries, kept)) {
		free(kept.path);
		return -ENOMEM;
	}
	return 0;
}

bool gg_mapping_list_add(struct gg_mapping_list *maps, const struct gg_text_line *text)
{
	struct gg_mapping_list_entry entry = { 0 };
	struct gg_maps_line line;

	if (!gg_maps_line_parse(text->at, text->length, &line))
		return false;
	entry.start = line.begin;
	entry.end = line.end;
	entry.offset = line.offset;
	entry.inode = line.inode;
	entry.is_code = (line.protection & PROT_EXEC) != 0;
	if (put(maps, &entry, line.path, line.path_bytes) < 0)
		maps->failed = true;
	return true;
}

static int compare_entries(const void *a, const void *b)
{
	const struct gg_mapping_list_entry *left = a, *right = b;

	return (left->start > right->start) - (left->start < right->start);
}

int gg_mapping_list_sort(struct gg_mapping_list *maps, struct gg_import *import)
{
	if (maps->failed)
		return gg_import_no_memory(import);
	for (size_t i = 0; i < maps->entries.count && import->result->command[0] == '\0'; i++)
		if (maps->entries.items[i].is_code && maps->entries.items[i].path != NULL &&
		    maps->entries.items[i].path[0] == '/')
			snprintf(import->result->command, sizeof(import->result->command), "%.255s",
			         maps->entries.items[i].path);
	if (maps->entries.count > 0)
		qsort(maps->entries.items, maps->entries.count, sizeof(*maps->entries.items),
		      compare_entries);
	return 0;
}

/* True if the file's segments would produce all code mappings that the lines show for it. */
static bool is_the_file(const struct gg_mapping_list *maps, const struct gg_mapping_list_entry *of,
                        const struct gg_elf_file *file)
{
	bool fits = false;

	for (size_t i = 0; i < maps->entries.count; i++) {
		const struct gg_mapping_list_entry *entry = &maps->entries.items[i];
		uint64_t bias;

		if (!entry->is_code || entry->path == NULL || strcmp(entry->path, of->path) != 0)
			continue;
		fits = gg_elf_file_bias(file, entry->start, entry->end, entry->offset, &bias);
		if (!fits)
			return false;
	}
	return fits;
}

/* Makes the module of an entry from its file; all entries with the same path get this module. */
static int intern_entry(struct gg_mapping_list *maps, struct gg_import *import,
                        struct gg_mapping_list_entry *of)
{
	struct gg_elf_file file = { 0 };
	struct gg_profile_module module = { .path = of->path };
	bool is_same_file = !import->options->ignore_files && of->path[0] == '/' &&
	                    gg_elf_file_read(&file, of->path) && is_the_file(maps, of, &file);
	uint32_t id;
	int status;

	if (is_same_file) {
		module.build_id = file.build_id;
		module.build_id_bytes = file.build_id_bytes;
	} else if (of->path[0] == '/') {
		maps->unknown_file_count++;
	}
	status = gg_profile_intern_module(import->profile, &module, &id, import->error);
	if (status < 0)
		return status;
	for (size_t i = 0; i < maps->entries.count; i++) {
		struct gg_mapping_list_entry *entry = &maps->entries.items[i];

		if (entry->path == NULL || (entry != of && strcmp(entry->path, of->path) != 0))
			continue;
		entry->module = id;
		entry->is_interned = true;
		if (!is_same_file ||
		    !gg_elf_file_bias(&file, entry->start, entry->end, entry->offset, &entry->bias))
			entry->bias = entry->start - entry->offset;
	}
	return 0;
}

int gg_mapping_list_find(struct gg_mapping_list *maps, struct gg_import *import, uint64_t address,
                         struct gg_mapping_list_address *ret_found)
{
	size_t next;
	struct gg_mapping_list_entry *entry;
	int status = 0;

	*ret_found = (struct gg_mapping_list_address){ 0, address };
	next = gg_lower_bound(0, maps->entries.count, i, maps->entries.items[i].start <= address);
	if (next == 0)
		return 0;
	entry = &maps->entries.items[next - 1];
	if (address >= entry->end || entry->path == NULL ||
	    (entry->path[0] != '/' && strcmp(entry->path, "[vdso]") != 0))
		return 0;
	if (!entry->is_interned)
		status = intern_entry(maps, import, entry);
	*ret_found = (struct gg_mapping_list_address){ entry->module, address - entry->bias };
	return status;
}
