/* SPDX-License-Identifier: Apache-2.0 */
/* pprof_frames - makes a frame of each location that samples use, and a module of its mapping. */
#include "format/import/pprof_frames.h"

#include <errno.h>
#include <stdlib.h>

#include "format/codec/line_parser.h"
#include "format/import/elf_file.h"
#include "symbol/names/demangle.h"

enum { PPROF_LINES_MAX = 256 }; /* inlined calls at one location */

/*
 * Parses hexadecimal digits.  Returns 0 if the text has other characters: Go's build ids are texts.
 */
static size_t parse_build_id(const struct gg_text_line *text, uint8_t *bytes, size_t most)
{
	if (text->length % 2 != 0 || text->length / 2 > most)
		return 0;
	for (size_t i = 0; i < text->length; i++) {
		int digit = gg_text_line_digit(text->at[i]);

		if (digit > 15)
			return 0;
		bytes[i / 2] = (uint8_t)(i % 2 == 0 ? digit << 4 : bytes[i / 2] | digit);
	}
	return text->length / 2;
}

/*
 * Makes the mapping's module.  If its file is on this machine, the file tells how it numbers
 * addresses.
 */
static int intern_mapping(struct gg_pprof_tables *pprof, struct gg_pprof_mapping *mapping)
{
	struct gg_text_line id_text = gg_pprof_tables_text(pprof, mapping->build_id);
	struct gg_text_line path_text = gg_pprof_tables_text(pprof, mapping->path);
	char *path = strndup(path_text.at, path_text.length);
	uint8_t id[GG_ELF_FILE_BUILD_ID_MAX];
	struct gg_profile_module module = { .path = path,
		                            .build_id = id,
		                            .build_id_bytes = parse_build_id(&id_text, id,
		                                                             sizeof(id)) };
	struct gg_elf_file file = { 0 };
	int status;

	if (path == NULL)
		return gg_import_no_memory(pprof->import);
	mapping->is_interned = true;
	mapping->bias = mapping->start - mapping->offset;
	if (!pprof->import->options->ignore_files && path[0] == '/' &&
	    gg_elf_file_read(&file, path) &&
	    (module.build_id_bytes == 0 || (module.build_id_bytes == file.build_id_bytes &&
	                                    memcmp(id, file.build_id, file.build_id_bytes) == 0)) &&
	    gg_elf_file_bias(&file, mapping->start, mapping->end, mapping->offset,
	                     &mapping->bias) &&
	    module.build_id_bytes == 0) {
		module.build_id = file.build_id;
		module.build_id_bytes = file.build_id_bytes;
	}
	mapping->has_build_id = module.build_id_bytes > 0;
	if (path[0] == '\0' && !mapping->has_build_id)
		status = 0; /* JIT code: no module */
	else
		status = gg_profile_intern_module(pprof->import->profile, &module, &mapping->module,
		                                  pprof->import->error);
	free(path);
	return status;
}

/* A location of the file: the calls inlined at one address, innermost first. */
struct inlined_calls {
	uint64_t mapping, address;
	struct gg_profile_line lines[PPROF_LINES_MAX];
	uint32_t line_count;
};

static void free_calls(struct inlined_calls *calls)
{
	for (uint32_t i = 0; i < calls->line_count; i++) {
		free((char *)calls->lines[i].linkage_name);
		free((char *)calls->lines[i].function);
		free((char *)calls->lines[i].file);
	}
}

/* Returns the short form of a name if the file identifies it as such, or NULL. */
static char *short_name_of(const char *name, struct gg_text_line system_name)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf brief = { 0 };

	gg_shorten_cxx(name, &brief);
	if (brief.failed || brief.length != system_name.length || brief.length == strlen(name) ||
	    memcmp(gg_buf_text(&brief), system_name.at, brief.length) != 0)
		return NULL;
	return strdup(gg_buf_text(&brief));
}

/* Adds the call of a function, at the line with that number, to the calls of a location. */
static int add_call(const struct gg_pprof_tables *pprof, const struct gg_pprof_function *function,
                    uint64_t number, struct inlined_calls *calls)
{
	struct gg_profile_line *line = &calls->lines[calls->line_count];
	struct gg_text_line name = gg_pprof_tables_text(pprof, function->name);
	struct gg_text_line system_name = gg_pprof_tables_text(pprof, function->system_name);
	struct gg_text_line file = gg_pprof_tables_text(pprof, function->file);

	gg_assert(calls->line_count < PPROF_LINES_MAX);
	*line = (struct gg_profile_line){ .line = number <= INT32_MAX ? (uint32_t)number : 0 };
	calls->line_count++;
	if (system_name.length > 2 && system_name.at[0] == '_' &&
	    (system_name.at[1] == 'Z' || system_name.at[1] == 'R'))
		name = system_name; /* all forms of the name derive from it */
	line->linkage_name = strndup(name.at, name.length);
	if (line->linkage_name != NULL && system_name.length > 0)
		line->function = short_name_of(line->linkage_name, system_name);
	if (file.length > 0)
		line->file = strndup(file.at, file.length);
	return line->linkage_name == NULL || (file.length > 0 && line->file == NULL)
	               ? gg_import_no_memory(pprof->import)
	               : 0;
}

static int read_line(const struct gg_pprof_tables *pprof, struct gg_wire message,
                     struct inlined_calls *calls)
{
	struct pprof_line {
		uint64_t function, number;
	} record = { 0 };
	static const struct gg_wire_member members[] = {
		GG_WIRE_NUMBER(struct pprof_line, 1, function),
		GG_WIRE_NUMBER(struct pprof_line, 2, number),
	};
	const uint8_t *start = message.at;
	size_t index;

	if (gg_wire_read(&message, members, GG_COUNT(members), &record) < 0)
		return gg_pprof_tables_wrong(pprof, message.at, "a line of a location is damaged");
	index = gg_pprof_tables_find(&pprof->function_ids, record.function);
	if (index == SIZE_MAX)
		return gg_pprof_tables_wrong(
			pprof, start,
			"a line refers to function %llu, which the file does not have",
			(unsigned long long)record.function);
	if (calls->line_count == PPROF_LINES_MAX)
		return 0; /* the innermost PPROF_LINES_MAX lines are enough */
	return add_call(pprof, &pprof->functions.items[index], record.number, calls);
}

static int read_location(const struct gg_pprof_tables *pprof,
                         const struct gg_pprof_location *location, struct inlined_calls *calls)
{
	struct gg_wire wire = gg_wire_of(pprof->file, pprof->file_bytes);
	struct gg_wire_field field;
	uint64_t length = 0;
	int status = 0;

	wire.at += location->message;
	(void)gg_wire_varint(&wire, &length); /* valid since the first pass */
	wire.end = wire.at + length;
	while (status == 0 && gg_wire_next(&wire, &field) > 0) {
		if (field.number == 2 && field.type == GG_WIRE_VARINT)
			calls->mapping = field.value;
		else if (field.number == 3 && field.type == GG_WIRE_VARINT)
			calls->address = field.value;
		else if (field.number == 4 && field.type == GG_WIRE_BYTES)
			status = read_line(pprof, field.bytes, calls);
	}
	return status;
}

/*
 * A build-id identifies the file, so module and address identify the frame.  Without one, the names
 * identify the frame if there are any, because the same address in another build is different code.
 */
static int intern_location(struct gg_pprof_tables *pprof, struct gg_pprof_location *location,
                           struct inlined_calls *calls)
{
	struct gg_import *import = pprof->import;
	struct gg_pprof_mapping *mapping = NULL;
	uint32_t module = 0;
	int status = read_location(pprof, location, calls);
	uint64_t address = calls->address;
	size_t index;

	index = gg_pprof_tables_find(&pprof->mapping_ids, calls->mapping);
	if (status == 0 && index != SIZE_MAX) {
		mapping = &pprof->mappings.items[index];
		if (!mapping->is_interned)
			status = intern_mapping(pprof, mapping);
		module = mapping->module;
		if (module != 0)
			address -= mapping->bias;
	}
	if (status == 0 && calls->line_count > 0)
		status = gg_import_frame(import, module,
		                         mapping != NULL && mapping->has_build_id ? address : 0,
		                         calls->lines, calls->line_count, &location->frame);
	else if (status == 0)
		status = gg_profile_intern_frame(import->profile, module, address, &location->frame,
		                                 import->error);
	location->is_interned = true;
	return status;
}

static GG_APART int intern(struct gg_pprof_tables *pprof, struct gg_pprof_location *location)
{
	struct inlined_calls calls = { 0 };
	int status = intern_location(pprof, location, &calls);

	free_calls(&calls);
	return status;
}

int gg_pprof_frames_get(struct gg_pprof_tables *pprof, uint64_t id, const uint8_t *at,
                        uint32_t *ret_frame)
{
	size_t index = gg_pprof_tables_find(&pprof->location_ids, id);
	struct gg_pprof_location *location;
	int status = 0;

	if (index == SIZE_MAX)
		return gg_pprof_tables_wrong(
			pprof, at, "a sample refers to location %llu, which the file does not have",
			(unsigned long long)id);
	location = &pprof->locations.items[index];
	if (!location->is_interned)
		status = intern(pprof, location);
	*ret_frame = location->frame;
	return status;
}
