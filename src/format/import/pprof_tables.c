/* SPDX-License-Identifier: Apache-2.0 */
/* pprof_tables - reads strings, mappings, functions and locations, and makes frames of them. */
#include "format/import/pprof_tables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/codec/line_parser.h"
#include "format/import/elf_file.h"
#include "symbol/names/demangle.h"

enum { LINES_MAX = 256 }; /* inlined calls at one location */

int gg_pprof_wrong(const struct gg_pprof *pprof, const uint8_t *at, const char *what)
{
	return gg_input_wrong(pprof->import->input, (uint64_t)(at - pprof->file),
	                      pprof->import->error, "%s", what);
}

static int no_memory(const struct gg_pprof *pprof)
{
	return gg_import_no_memory(pprof->import);
}

struct gg_text_line gg_pprof_text(const struct gg_pprof *pprof, uint32_t text)
{
	struct gg_wire wire = { pprof->file + pprof->texts.items[text],
		                pprof->file + pprof->file_bytes };
	uint64_t length = 0;

	(void)gg_wire_varint(&wire, &length); /* valid since the first pass */
	return (struct gg_text_line){ (const char *)wire.at, (size_t)length };
}

bool gg_pprof_is(const struct gg_pprof *pprof, uint32_t text, const char *wanted)
{
	struct gg_text_line is = gg_pprof_text(pprof, text);

	if (is.length != strlen(wanted))
		return false;
	for (size_t i = 0; i < is.length; i++) /* ddprof writes inuse-space */
		if ((is.at[i] == '-' ? '_' : is.at[i]) != wanted[i])
			return false;
	return true;
}

/* --- tables ----------------------------------------------------------------------------------- */

/* Returns the index of the record with that id; SIZE_MAX: no such record. */
static size_t find_record(const struct gg_pprof_ids *ids, uint64_t id)
{
	uint64_t index;

	if (id - 1 < ids->dense_count)
		return (size_t)(id - 1);
	index = gg_map_get(&ids->by_id, id);
	return index != GG_MAP_NONE ? (size_t)index : SIZE_MAX;
}

/* Gives the last of `count` records its id. */
static int give_id(const struct gg_pprof *pprof, struct gg_pprof_ids *ids, size_t count,
                   uint64_t id, const uint8_t *at)
{
	if (id == 0)
		return gg_pprof_wrong(pprof, at, "an id of 0");
	if (find_record(ids, id) != SIZE_MAX)
		return gg_pprof_wrong(pprof, at, "an id that another one has");
	if (id == count && ids->dense_count == id - 1) {
		ids->dense_count++;
		return 0;
	}
	return gg_map_put(&ids->by_id, id, count - 1) < 0 ? no_memory(pprof) : 0;
}

static int check_text(const struct gg_pprof *pprof, uint32_t *ret_text, uint64_t value,
                      const uint8_t *at)
{
	if (value >= pprof->texts.count)
		return gg_pprof_wrong(pprof, at, "a text that the string table does not have");
	*ret_text = (uint32_t)value;
	return 0;
}

/*
 * These read the fields of one message.  They check texts at once; other references wait until all
 * tables are complete.
 */
static int read_value(struct gg_pprof *pprof, struct gg_wire message, struct gg_pprof_value *value)
{
	struct gg_wire_field field;
	int code;

	*value = (struct gg_pprof_value){ 0 };
	while ((code = gg_wire_next(&message, &field)) > 0) {
		if (field.type == GG_WIRE_VARINT && field.number == 1)
			code = check_text(pprof, &value->type, field.value, message.at);
		else if (field.type == GG_WIRE_VARINT && field.number == 2)
			code = check_text(pprof, &value->unit, field.value, message.at);
		if (code < 0)
			return code;
	}
	return code < 0 ? gg_pprof_wrong(pprof, message.at, "a damaged type of values") : 0;
}

static int read_mapping(struct gg_pprof *pprof, struct gg_wire message)
{
	const uint8_t *start = message.at;
	struct gg_pprof_mapping *mapping = gg_array_add(&pprof->mappings);
	struct gg_wire_field field;
	uint64_t id = 0;
	int code;

	if (mapping == NULL)
		return no_memory(pprof);
	while ((code = gg_wire_next(&message, &field)) > 0) {
		if (field.type != GG_WIRE_VARINT)
			continue;
		if (field.number == 1)
			id = field.value;
		else if (field.number == 2)
			mapping->start = field.value;
		else if (field.number == 3)
			mapping->end = field.value;
		else if (field.number == 4)
			mapping->offset = field.value;
		else if (field.number == 5)
			code = check_text(pprof, &mapping->path, field.value, message.at);
		else if (field.number == 6)
			code = check_text(pprof, &mapping->build_id, field.value, message.at);
		if (code < 0)
			return code;
	}
	if (code < 0)
		return gg_pprof_wrong(pprof, message.at, "a damaged mapping");
	return give_id(pprof, &pprof->mapping_ids, pprof->mappings.count, id, start);
}

static int read_function(struct gg_pprof *pprof, struct gg_wire message)
{
	const uint8_t *start = message.at;
	struct gg_pprof_function *function = gg_array_add(&pprof->functions);
	struct gg_wire_field field;
	uint64_t id = 0;
	int code;

	if (function == NULL)
		return no_memory(pprof);
	while ((code = gg_wire_next(&message, &field)) > 0) {
		if (field.type != GG_WIRE_VARINT)
			continue;
		if (field.number == 1)
			id = field.value;
		else if (field.number == 2)
			code = check_text(pprof, &function->name, field.value, message.at);
		else if (field.number == 3)
			code = check_text(pprof, &function->system_name, field.value, message.at);
		else if (field.number == 4)
			code = check_text(pprof, &function->file, field.value, message.at);
		if (code < 0)
			return code;
	}
	if (code < 0)
		return gg_pprof_wrong(pprof, message.at, "a damaged function");
	if (function->name == 0)
		function->name = function->system_name;
	return give_id(pprof, &pprof->function_ids, pprof->functions.count, id, start);
}

static int read_location(struct gg_pprof *pprof, struct gg_wire message, const uint8_t *with_length)
{
	const uint8_t *start = message.at;
	struct gg_pprof_location *location = gg_array_add(&pprof->locations);
	struct gg_wire_field field;
	uint64_t id = 0;
	int code;

	if (location == NULL)
		return no_memory(pprof);
	location->message = (uint32_t)(with_length - pprof->file);
	while ((code = gg_wire_next(&message, &field)) > 0)
		if (field.number == 1 && field.type == GG_WIRE_VARINT)
			id = field.value;
	if (code < 0)
		return gg_pprof_wrong(pprof, message.at, "a damaged location");
	return give_id(pprof, &pprof->location_ids, pprof->locations.count, id, start);
}

static int add_text(struct gg_pprof *pprof, const uint8_t *with_length)
{
	uint32_t offset = (uint32_t)(with_length - pprof->file);

	return gg_array_push(&pprof->texts, offset) ? 0 : no_memory(pprof);
}

/* Returns where the length of a field begins, which is after its key. */
static const uint8_t *length_of(const uint8_t *field_start)
{
	while (*field_start++ >= 0x80)
		;
	return field_start;
}

/* Reads texts first, because all other records refer to them, and most files have them last. */
static int read_texts(struct gg_pprof *pprof)
{
	struct gg_wire wire = gg_wire_of(pprof->file, pprof->file_bytes);
	struct gg_wire_field field;
	const uint8_t *start = wire.at;
	int code;

	for (; (code = gg_wire_next(&wire, &field)) > 0; start = wire.at)
		if (field.number == 6 && field.type == GG_WIRE_BYTES &&
		    add_text(pprof, length_of(start)) < 0)
			return -ENOMEM;
	if (code < 0)
		return gg_pprof_wrong(pprof, wire.at,
		                      "no field of a profile is here: it is truncated or damaged");
	if (pprof->texts.count == 0)
		return gg_pprof_wrong(pprof, wire.at, "the profile has no texts: it is truncated");
	if (gg_pprof_text(pprof, 0).length != 0)
		return gg_pprof_wrong(pprof, pprof->file + pprof->texts.items[0],
		                      "the first text is not empty");
	return 0;
}

static int read_comment(struct gg_pprof *pprof, struct gg_wire_field *field, const uint8_t *at)
{
	bool is_wrong = false;
	uint64_t value;

	while (gg_wire_numbers(field, &value, &is_wrong)) {
		struct gg_text_line text;

		if (value >= pprof->texts.count)
			return gg_pprof_wrong(pprof, at,
			                      "a text that the string table does not have");
		text = gg_pprof_text(pprof, (uint32_t)value);
		pprof->is_ours |= gg_text_line_begins(&text, "geiger");
	}
	return 0;
}

static int read_bytes_field(struct gg_pprof *pprof, struct gg_wire_field *field,
                            const uint8_t *start)
{
	switch (field->number) {
	case 1:
		if (pprof->value_count == GG_PPROF_VALUES_MAX)
			return gg_pprof_wrong(pprof, start, "more than 16 types of values");
		return read_value(pprof, field->bytes, &pprof->values[pprof->value_count++]);
	case 3:
		return read_mapping(pprof, field->bytes);
	case 4:
		return read_location(pprof, field->bytes, length_of(start));
	case 5:
		return read_function(pprof, field->bytes);
	case 11:
		return read_value(pprof, field->bytes, &pprof->period_type);
	default:
		return 0;
	}
}

static int read_tables(struct gg_pprof *pprof)
{
	struct gg_wire wire = gg_wire_of(pprof->file, pprof->file_bytes);
	const uint8_t *start = wire.at;
	struct gg_wire_field field;
	int code = 0;

	for (; code == 0 && gg_wire_next(&wire, &field) > 0; start = wire.at) {
		if (field.number == 13)
			code = read_comment(pprof, &field, start);
		else if (field.type == GG_WIRE_BYTES)
			code = read_bytes_field(pprof, &field, start);
		else if (field.number == 9)
			pprof->time_ns = field.value;
		else if (field.number == 10)
			pprof->duration_ns = field.value;
		else if (field.number == 12)
			pprof->period = field.value;
		else if (field.number == 14)
			code = check_text(pprof, &pprof->default_type, field.value, start);
	}
	return code;
}

int gg_pprof_read(struct gg_pprof *pprof, struct gg_import *import, const uint8_t *file,
                  size_t length)
{
	int code;

	*pprof = (struct gg_pprof){ .import = import, .file = file, .file_bytes = length };
	code = read_texts(pprof);
	return code < 0 ? code : read_tables(pprof);
}

void gg_pprof_done(struct gg_pprof *pprof)
{
	gg_array_done(&pprof->texts);
	gg_array_done(&pprof->functions);
	gg_array_done(&pprof->mappings);
	gg_array_done(&pprof->locations);
	gg_map_done(&pprof->function_ids.by_id);
	gg_map_done(&pprof->mapping_ids.by_id);
	gg_map_done(&pprof->location_ids.by_id);
}

/* --- frames ----------------------------------------------------------------------------------- */

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
static int settle_mapping(struct gg_pprof *pprof, struct gg_pprof_mapping *mapping)
{
	struct gg_text_line id_text = gg_pprof_text(pprof, mapping->build_id);
	struct gg_text_line path_text = gg_pprof_text(pprof, mapping->path);
	char *path = strndup(path_text.at, path_text.length);
	uint8_t id[GG_ELF_FILE_BUILD_ID_MAX];
	struct gg_profile_module module = { .path = path,
		                            .build_id = id,
		                            .build_id_bytes = parse_build_id(&id_text, id,
		                                                             sizeof(id)) };
	struct gg_elf_file file = { 0 };
	int code;

	if (path == NULL)
		return no_memory(pprof);
	mapping->is_settled = true;
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
		code = 0; /* JIT code: no module */
	else
		code = gg_profile_intern_module(pprof->import->profile, &module, &mapping->module,
		                                pprof->import->error);
	free(path);
	return code;
}

struct place {
	uint64_t mapping, address;
	struct gg_profile_line lines[LINES_MAX];
	uint32_t line_count;
};

static void done_place(struct place *place)
{
	for (uint32_t i = 0; i < place->line_count; i++) {
		free((char *)place->lines[i].linkage_name);
		free((char *)place->lines[i].function);
		free((char *)place->lines[i].file);
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

static int read_line(struct gg_pprof *pprof, struct gg_wire message, struct place *place)
{
	const struct gg_pprof_function *called;
	struct gg_profile_line *line = &place->lines[place->line_count];
	const uint8_t *start = message.at;
	struct gg_wire_field field;
	uint64_t function = 0, number = 0;
	struct gg_text_line name, system_name, file;
	size_t index;
	int code;

	while ((code = gg_wire_next(&message, &field)) > 0) {
		if (field.number == 1 && field.type == GG_WIRE_VARINT)
			function = field.value;
		else if (field.number == 2 && field.type == GG_WIRE_VARINT)
			number = field.value;
	}
	if (code < 0)
		return gg_pprof_wrong(pprof, message.at, "a damaged line");
	index = find_record(&pprof->function_ids, function);
	if (index == SIZE_MAX)
		return gg_pprof_wrong(pprof, start, "a line of a function that is not there");
	if (place->line_count == LINES_MAX)
		return 0; /* the innermost LINES_MAX lines are enough */
	called = &pprof->functions.items[index];
	name = gg_pprof_text(pprof, called->name);
	file = gg_pprof_text(pprof, called->file);
	*line = (struct gg_profile_line){ .line = number <= INT32_MAX ? (uint32_t)number : 0 };
	place->line_count++;
	system_name = gg_pprof_text(pprof, called->system_name);
	if (system_name.length > 2 && system_name.at[0] == '_' &&
	    (system_name.at[1] == 'Z' || system_name.at[1] == 'R'))
		name = system_name; /* all forms of the name derive from it */
	line->linkage_name = strndup(name.at, name.length);
	if (line->linkage_name != NULL && system_name.length > 0)
		line->function = short_name_of(line->linkage_name, system_name);
	if (file.length > 0)
		line->file = strndup(file.at, file.length);
	return line->linkage_name == NULL || (file.length > 0 && line->file == NULL)
	               ? no_memory(pprof)
	               : 0;
}

static int read_place(struct gg_pprof *pprof, const struct gg_pprof_location *location,
                      struct place *place)
{
	struct gg_wire wire = { pprof->file + location->message, pprof->file + pprof->file_bytes };
	struct gg_wire_field field;
	uint64_t length = 0;
	int code = 0;

	(void)gg_wire_varint(&wire, &length); /* valid since the first pass */
	wire.end = wire.at + length;
	while (code == 0 && gg_wire_next(&wire, &field) > 0) {
		if (field.number == 2 && field.type == GG_WIRE_VARINT)
			place->mapping = field.value;
		else if (field.number == 3 && field.type == GG_WIRE_VARINT)
			place->address = field.value;
		else if (field.number == 4 && field.type == GG_WIRE_BYTES)
			code = read_line(pprof, field.bytes, place);
	}
	return code;
}

/*
 * A build-id identifies the file, so module and address identify the frame.  Without one, the names
 * identify the frame if there are any, because the same address in another build is different code.
 */
static int settle_location(struct gg_pprof *pprof, struct gg_pprof_location *location,
                           struct place *place)
{
	struct gg_import *import = pprof->import;
	struct gg_pprof_mapping *mapping = NULL;
	uint32_t module = 0;
	int code = read_place(pprof, location, place);
	uint64_t address = place->address;
	size_t index;

	index = find_record(&pprof->mapping_ids, place->mapping);
	if (code == 0 && index != SIZE_MAX) {
		mapping = &pprof->mappings.items[index];
		if (!mapping->is_settled)
			code = settle_mapping(pprof, mapping);
		module = mapping->module;
		if (module != 0)
			address -= mapping->bias;
	}
	if (code == 0 && place->line_count > 0)
		code = gg_import_frame(import, module,
		                       mapping != NULL && mapping->has_build_id ? address : 0,
		                       place->lines, place->line_count, &location->frame);
	else if (code == 0)
		code = gg_profile_intern_frame(import->profile, module, address, &location->frame,
		                               import->error);
	location->is_settled = true;
	return code;
}

static GG_APART int settle(struct gg_pprof *pprof, struct gg_pprof_location *location)
{
	struct place place = { 0 };
	int code = settle_location(pprof, location, &place);

	done_place(&place);
	return code;
}

int gg_pprof_frame(struct gg_pprof *pprof, uint64_t id, const uint8_t *at, uint32_t *ret_frame)
{
	size_t index = find_record(&pprof->location_ids, id);
	struct gg_pprof_location *location;
	int code = 0;

	if (index == SIZE_MAX)
		return gg_pprof_wrong(pprof, at, "a sample at a location that is not there");
	location = &pprof->locations.items[index];
	if (!location->is_settled)
		code = settle(pprof, location);
	*ret_frame = location->frame;
	return code;
}
