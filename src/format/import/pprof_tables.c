/* SPDX-License-Identifier: Apache-2.0 */
/* pprof_tables - reads the strings, mappings, functions and locations of a profile.proto. */
#include "format/import/pprof_tables.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "format/codec/line_parser.h"

int gg_pprof_tables_wrong(const struct gg_pprof_tables *pprof, const uint8_t *at,
                          const char *format, ...)
{
	char message[256];
	va_list values;

	gg_assert(at >= pprof->file && at <= pprof->file + pprof->file_bytes);
	va_start(values, format);
	vsnprintf(message, sizeof(message), format, values);
	va_end(values);
	return gg_input_wrong(pprof->import->input, (uint64_t)(at - pprof->file),
	                      pprof->import->error, "%s", message);
}

static int no_memory(const struct gg_pprof_tables *pprof)
{
	return gg_import_no_memory(pprof->import);
}

struct gg_text_line gg_pprof_tables_text(const struct gg_pprof_tables *pprof, uint32_t text)
{
	struct gg_wire wire = gg_wire_of(pprof->file, pprof->file_bytes);
	uint64_t length = 0;

	gg_assert(text < pprof->texts.count);
	wire.at += pprof->texts.items[text];
	(void)gg_wire_varint(&wire, &length); /* valid since the first pass */
	return (struct gg_text_line){ (const char *)wire.at, (size_t)length };
}

bool gg_pprof_tables_is(const struct gg_pprof_tables *pprof, uint32_t text, const char *wanted)
{
	struct gg_text_line found = gg_pprof_tables_text(pprof, text);

	if (found.length != strlen(wanted))
		return false;
	for (size_t i = 0; i < found.length; i++) /* ddprof writes inuse-space */
		if ((found.at[i] == '-' ? '_' : found.at[i]) != wanted[i])
			return false;
	return true;
}

/* --- tables ----------------------------------------------------------------------------------- */

size_t gg_pprof_tables_find(const struct gg_pprof_ids *ids, uint64_t id)
{
	uint64_t index;

	if (id - 1 < ids->dense_count)
		return (size_t)(id - 1);
	index = gg_map_get(&ids->by_id, id);
	return index != GG_MAP_NONE ? (size_t)index : SIZE_MAX;
}

/* Gives the last of `count` records its id. */
static int give_id(const struct gg_pprof_tables *pprof, struct gg_pprof_ids *ids, size_t count,
                   uint64_t id, const uint8_t *at)
{
	if (id == 0)
		return gg_pprof_tables_wrong(pprof, at, "a record has the id 0");
	if (gg_pprof_tables_find(ids, id) != SIZE_MAX)
		return gg_pprof_tables_wrong(pprof, at, "two records of one table have the id %llu",
		                             (unsigned long long)id);
	if (id == count && ids->dense_count == id - 1) {
		ids->dense_count++;
		return 0;
	}
	return gg_map_put(&ids->by_id, id, count - 1) < 0 ? no_memory(pprof) : 0;
}

int gg_pprof_tables_check_text(const struct gg_pprof_tables *pprof, uint64_t text,
                               const uint8_t *at, const char *record)
{
	if (text >= pprof->texts.count)
		return gg_pprof_tables_wrong(
			pprof, at, "%s refers to string %llu, but the string table ends before",
			record, (unsigned long long)text);
	return 0;
}

/*
 * Reads the fields of one record.  The texts that it names must exist: texts are read before all
 * other records.  References to other records wait until all tables are complete.
 */
struct record_reader {
	const char *name; /* for errors: "a mapping" */
	const struct gg_wire_member *members;
	size_t member_count;
	size_t text_count; /* the record begins with so many numbers of texts */
};

static int read_record(const struct gg_pprof_tables *pprof, struct gg_wire message,
                       const struct record_reader *reader, void *record)
{
	const uint8_t *start = message.at;
	const uint64_t *texts = record;

	if (gg_wire_read(&message, reader->members, reader->member_count, record) < 0)
		return gg_pprof_tables_wrong(pprof, message.at, "%s is damaged", reader->name);
	for (size_t i = 0; i < reader->text_count; i++)
		if (gg_pprof_tables_check_text(pprof, texts[i], start, reader->name) < 0)
			return -EBADMSG;
	return 0;
}

static int read_value_type(struct gg_pprof_tables *pprof, struct gg_wire message,
                           struct gg_pprof_value *value)
{
	struct pprof_value {
		uint64_t type, unit;
	} record = { 0 };
	static const struct gg_wire_member members[] = {
		GG_WIRE_NUMBER(struct pprof_value, 1, type),
		GG_WIRE_NUMBER(struct pprof_value, 2, unit),
	};
	static const struct record_reader reader = { "a type of values", members, GG_COUNT(members),
		                                     2 };

	if (read_record(pprof, message, &reader, &record) < 0)
		return -EBADMSG;
	*value = (struct gg_pprof_value){ (uint32_t)record.type, (uint32_t)record.unit };
	return 0;
}

static int read_mapping(struct gg_pprof_tables *pprof, struct gg_wire message)
{
	struct pprof_mapping {
		uint64_t path, build_id, id, start, end, offset;
	} record = { 0 };
	static const struct gg_wire_member members[] = {
		GG_WIRE_NUMBER(struct pprof_mapping, 1, id),
		GG_WIRE_NUMBER(struct pprof_mapping, 2, start),
		GG_WIRE_NUMBER(struct pprof_mapping, 3, end),
		GG_WIRE_NUMBER(struct pprof_mapping, 4, offset),
		GG_WIRE_NUMBER(struct pprof_mapping, 5, path),
		GG_WIRE_NUMBER(struct pprof_mapping, 6, build_id),
	};
	static const struct record_reader reader = { "a mapping", members, GG_COUNT(members), 2 };

	if (read_record(pprof, message, &reader, &record) < 0)
		return -EBADMSG;
	if (!gg_array_push(&pprof->mappings,
	                   (struct gg_pprof_mapping){ .start = record.start,
	                                              .end = record.end,
	                                              .offset = record.offset,
	                                              .path = (uint32_t)record.path,
	                                              .build_id = (uint32_t)record.build_id }))
		return no_memory(pprof);
	return give_id(pprof, &pprof->mapping_ids, pprof->mappings.count, record.id, message.at);
}

static int read_function(struct gg_pprof_tables *pprof, struct gg_wire message)
{
	struct pprof_function {
		uint64_t name, system_name, file, id;
	} record = { 0 };
	static const struct gg_wire_member members[] = {
		GG_WIRE_NUMBER(struct pprof_function, 1, id),
		GG_WIRE_NUMBER(struct pprof_function, 2, name),
		GG_WIRE_NUMBER(struct pprof_function, 3, system_name),
		GG_WIRE_NUMBER(struct pprof_function, 4, file),
	};
	static const struct record_reader reader = { "a function", members, GG_COUNT(members), 3 };
	struct gg_pprof_function function;

	if (read_record(pprof, message, &reader, &record) < 0)
		return -EBADMSG;
	function = (struct gg_pprof_function){
		.name = (uint32_t)(record.name != 0 ? record.name : record.system_name),
		.system_name = (uint32_t)record.system_name,
		.file = (uint32_t)record.file,
	};
	if (!gg_array_push(&pprof->functions, function))
		return no_memory(pprof);
	return give_id(pprof, &pprof->function_ids, pprof->functions.count, record.id, message.at);
}

/* Reads only the id; pprof_frames.c reads the other fields when a sample needs them. */
static int read_location(struct gg_pprof_tables *pprof, struct gg_wire message,
                         const uint8_t *with_length)
{
	struct pprof_location {
		uint64_t id;
	} record = { 0 };
	static const struct gg_wire_member members[] = {
		GG_WIRE_NUMBER(struct pprof_location, 1, id),
	};
	static const struct record_reader reader = { "a location", members, GG_COUNT(members), 0 };
	uint32_t offset = (uint32_t)(with_length - pprof->file);

	if (read_record(pprof, message, &reader, &record) < 0)
		return -EBADMSG;
	if (!gg_array_push(&pprof->locations, (struct gg_pprof_location){ .message = offset }))
		return no_memory(pprof);
	return give_id(pprof, &pprof->location_ids, pprof->locations.count, record.id, message.at);
}

static int add_text(struct gg_pprof_tables *pprof, const uint8_t *with_length)
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
static int read_texts(struct gg_pprof_tables *pprof)
{
	struct gg_wire wire = gg_wire_of(pprof->file, pprof->file_bytes);
	struct gg_wire_field field;
	const uint8_t *start = wire.at;
	int status;

	for (; (status = gg_wire_next(&wire, &field)) > 0; start = wire.at)
		if (field.number == 6 && field.type == GG_WIRE_BYTES &&
		    add_text(pprof, length_of(start)) < 0)
			return -ENOMEM;
	if (status < 0)
		return gg_pprof_tables_wrong(
			pprof, wire.at,
			"the bytes here are no field of a profile: the file is truncated or damaged");
	if (pprof->texts.count == 0)
		return gg_pprof_tables_wrong(
			pprof, wire.at, "the profile has no string table: the file is truncated");
	if (gg_pprof_tables_text(pprof, 0).length != 0)
		return gg_pprof_tables_wrong(pprof, pprof->file + pprof->texts.items[0],
		                             "the first string of the string table is not empty");
	return 0;
}

static int read_comment(struct gg_pprof_tables *pprof, struct gg_wire_field *field,
                        const uint8_t *at)
{
	bool is_wrong = false;
	uint64_t value;

	while (gg_wire_numbers(field, &value, &is_wrong)) {
		struct gg_text_line text;

		if (gg_pprof_tables_check_text(pprof, value, at, "a comment") < 0)
			return -EBADMSG;
		text = gg_pprof_tables_text(pprof, (uint32_t)value);
		pprof->written_by_geiger |= gg_text_line_begins(&text, "geiger");
	}
	return 0;
}

static int read_bytes_field(struct gg_pprof_tables *pprof, struct gg_wire_field *field,
                            const uint8_t *start)
{
	switch (field->number) {
	case 1:
		if (pprof->value_count == GG_PPROF_VALUES_MAX)
			return gg_pprof_tables_wrong(pprof, start,
			                             "the file has more than %d types of values",
			                             GG_PPROF_VALUES_MAX);
		return read_value_type(pprof, field->bytes, &pprof->values[pprof->value_count++]);
	case 3:
		return read_mapping(pprof, field->bytes);
	case 4:
		return read_location(pprof, field->bytes, length_of(start));
	case 5:
		return read_function(pprof, field->bytes);
	case 11:
		return read_value_type(pprof, field->bytes, &pprof->period_type);
	default:
		return 0;
	}
}

static int read_tables(struct gg_pprof_tables *pprof)
{
	struct gg_wire wire = gg_wire_of(pprof->file, pprof->file_bytes);
	const uint8_t *start = wire.at;
	struct gg_wire_field field;
	uint64_t default_type = 0;
	int status = 0;

	for (; status == 0 && gg_wire_next(&wire, &field) > 0; start = wire.at) {
		if (field.number == 13)
			status = read_comment(pprof, &field, start);
		else if (field.type == GG_WIRE_BYTES)
			status = read_bytes_field(pprof, &field, start);
		else if (field.number == 9)
			pprof->time_ns = field.value;
		else if (field.number == 10)
			pprof->duration_ns = field.value;
		else if (field.number == 12)
			pprof->period = field.value;
		else if (field.number == 14)
			default_type = field.value;
	}
	if (status == 0)
		status = gg_pprof_tables_check_text(pprof, default_type, pprof->file,
		                                    "the default type of values");
	pprof->default_type = (uint32_t)default_type;
	return status;
}

int gg_pprof_tables_read(struct gg_pprof_tables *pprof, struct gg_import *import,
                         const uint8_t *file, size_t length)
{
	int status;

	*pprof = (struct gg_pprof_tables){ .import = import, .file = file, .file_bytes = length };
	status = read_texts(pprof);
	return status < 0 ? status : read_tables(pprof);
}

void gg_pprof_tables_done(struct gg_pprof_tables *pprof)
{
	gg_array_done(&pprof->texts);
	gg_array_done(&pprof->functions);
	gg_array_done(&pprof->mappings);
	gg_array_done(&pprof->locations);
	gg_map_done(&pprof->function_ids.by_id);
	gg_map_done(&pprof->mapping_ids.by_id);
	gg_map_done(&pprof->location_ids.by_id);
}
