/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_tables - finds the elements of the dictionary, and reads attributes. */
#include "format/import/otlp_tables.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static const char *const table_names[GG_OTLP_TABLE_STACK + 1] = {
	[GG_OTLP_TABLE_MAPPING] = "mapping",   [GG_OTLP_TABLE_LOCATION] = "location",
	[GG_OTLP_TABLE_FUNCTION] = "function", [GG_OTLP_TABLE_LINK] = "link",
	[GG_OTLP_TABLE_STRING] = "string",     [GG_OTLP_TABLE_ATTRIBUTE] = "attribute",
	[GG_OTLP_TABLE_STACK] = "stack",
};

int gg_otlp_tables_wrong(const struct gg_otlp_tables *tables, const uint8_t *at, const char *format,
                         ...)
{
	char message[256];
	va_list values;

	gg_assert(at >= tables->bytes && at <= tables->bytes + tables->length);
	va_start(values, format);
	vsnprintf(message, sizeof(message), format, values);
	va_end(values);
	return gg_input_wrong(tables->import->input,
	                      tables->is_converted ? 0 : (uint64_t)(at - tables->bytes),
	                      tables->import->error, "%s", message);
}

static int read_dictionary(struct gg_otlp_tables *tables, struct gg_wire dictionary)
{
	struct gg_wire_field field;
	int more;

	while ((more = gg_wire_next(&dictionary, &field)) > 0)
		if (field.number > 0 && field.number <= GG_OTLP_TABLE_STACK &&
		    field.type == GG_WIRE_BYTES &&
		    !gg_array_push(&tables->tables[field.number], field.bytes))
			return gg_import_no_memory(tables->import);
	return more < 0 ? gg_otlp_tables_wrong(tables, dictionary.at, "the dictionary is damaged")
	                : 0;
}

int gg_otlp_tables_read(struct gg_otlp_tables *ret_tables, struct gg_import *import,
                        const uint8_t *bytes, size_t length, bool is_converted)
{
	struct gg_otlp_tables *tables = ret_tables;
	struct gg_wire wire = gg_wire_of(bytes, length);
	struct gg_wire_field field;
	bool has_dictionary = false;
	int more, status = 0;

	*tables = (struct gg_otlp_tables){
		.import = import, .bytes = bytes, .length = length, .is_converted = is_converted
	};
	while (status == 0 && (more = gg_wire_next(&wire, &field)) > 0)
		if (field.number == GG_OTLP_DATA_DICTIONARY && field.type == GG_WIRE_BYTES) {
			has_dictionary = true;
			status = read_dictionary(tables, field.bytes);
		}
	if (status < 0)
		return status;
	if (more < 0)
		return gg_otlp_tables_wrong(
			tables, wire.at,
			"the bytes here are no field of a profile: the file is truncated or damaged");
	if (!has_dictionary)
		return gg_otlp_tables_wrong(
			tables, wire.at,
			"the profiles have no dictionary: the file is truncated, or of a version "
			"of OTLP before 1.7");
	return 0;
}

void gg_otlp_tables_done(struct gg_otlp_tables *tables)
{
	for (size_t i = 0; i < GG_COUNT(tables->tables); i++)
		gg_array_done(&tables->tables[i]);
}

int gg_otlp_tables_get(const struct gg_otlp_tables *tables, uint32_t table, uint64_t index,
                       const uint8_t *at, struct gg_wire *ret_element)
{
	*ret_element = (struct gg_wire){ at, at };
	/* Index 0 means "none", and its element is empty, even if the table lacks it. */
	if (index == 0)
		return 0;
	if (index >= tables->tables[table].count)
		return gg_otlp_tables_wrong(
			tables, at,
			"an index refers to %s %llu, but the table of these ends before",
			table_names[table], (unsigned long long)index);
	*ret_element = tables->tables[table].items[index];
	return 0;
}

/* --- attributes ----------------------------------------------------------------------------- */

static int read_value(const struct gg_otlp_tables *tables, struct gg_wire value,
                      struct gg_otlp_attribute *ret)
{
	struct gg_wire_field field;
	int more, status = 0;

	while (status == 0 && (more = gg_wire_next(&value, &field)) > 0) {
		if (field.number == GG_OTLP_ANY_STRING && field.type == GG_WIRE_BYTES)
			ret->text = field.bytes;
		else if (field.number == GG_OTLP_ANY_INT && field.type == GG_WIRE_VARINT)
			ret->number = (int64_t)field.value;
		else if (field.number == GG_OTLP_ANY_TEXT && field.type == GG_WIRE_VARINT)
			status = gg_otlp_tables_get(tables, GG_OTLP_TABLE_STRING, field.value,
			                            value.at, &ret->text);
	}
	if (status == 0 && more < 0)
		status = gg_otlp_tables_wrong(tables, value.at, "an attribute is damaged");
	return status;
}

int gg_otlp_tables_attribute(const struct gg_otlp_tables *tables, uint64_t index, const uint8_t *at,
                             struct gg_otlp_attribute *ret)
{
	struct otlp_attribute {
		uint64_t key;
		struct gg_wire value;
	} record = { .value = { at, at } };
	static const struct gg_wire_member members[] = {
		GG_WIRE_NUMBER(struct otlp_attribute, GG_OTLP_ATTRIBUTE_KEY, key),
		GG_WIRE_SPAN(struct otlp_attribute, GG_OTLP_ATTRIBUTE_VALUE, value),
	};
	struct gg_wire message;
	int status = gg_otlp_tables_get(tables, GG_OTLP_TABLE_ATTRIBUTE, index, at, &message);

	*ret = (struct gg_otlp_attribute){ .text = { at, at } };
	if (status < 0)
		return status;
	if (gg_wire_read(&message, members, GG_COUNT(members), &record) < 0)
		return gg_otlp_tables_wrong(tables, message.at, "an attribute is damaged");
	status = gg_otlp_tables_get(tables, GG_OTLP_TABLE_STRING, record.key, message.at,
	                            &ret->key);
	return status < 0 ? status : read_value(tables, record.value, ret);
}

int gg_otlp_tables_key_value(const struct gg_otlp_tables *tables, struct gg_wire message,
                             struct gg_otlp_attribute *ret)
{
	struct otlp_key_value {
		uint64_t key_text;
		struct gg_wire key, value;
	} record = { .key = { message.at, message.at }, .value = { message.at, message.at } };
	static const struct gg_wire_member members[] = {
		GG_WIRE_SPAN(struct otlp_key_value, GG_OTLP_KEY_VALUE_KEY, key),
		GG_WIRE_SPAN(struct otlp_key_value, GG_OTLP_KEY_VALUE_VALUE, value),
		GG_WIRE_NUMBER(struct otlp_key_value, GG_OTLP_KEY_VALUE_KEY_TEXT, key_text),
	};
	int status = 0;

	*ret = (struct gg_otlp_attribute){ .text = { message.at, message.at } };
	if (gg_wire_read(&message, members, GG_COUNT(members), &record) < 0)
		return gg_otlp_tables_wrong(tables, message.at, "an attribute is damaged");
	ret->key = record.key;
	if (record.key_text != 0)
		status = gg_otlp_tables_get(tables, GG_OTLP_TABLE_STRING, record.key_text,
		                            message.at, &ret->key);
	return status < 0 ? status : read_value(tables, record.value, ret);
}
