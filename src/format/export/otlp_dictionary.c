/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_dictionary - encodes mappings, locations, functions, attributes and stacks. */
#include "format/export/otlp_dictionary.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "format/codec/otlp_schema.h"
#include "format/codec/wire_writer.h"

/* --- tables --------------------------------------------------------------------------------- */

struct table_key {
	const struct gg_otlp_table *table;
	const struct gg_buf *element;
};

static bool element_is_equal(uint64_t value, const void *context)
{
	const struct table_key *key = context;
	const struct gg_otlp_table_element *element = &key->table->elements.items[value];

	return element->length == key->element->length &&
	       (element->length == 0 || memcmp(key->table->bytes.data + element->offset,
	                                       key->element->data, element->length) == 0);
}

uint32_t gg_otlp_table_put(struct gg_otlp_table *table, const struct gg_buf *element)
{
	struct table_key key = { table, element };
	uint64_t hash = gg_hash_bytes(element->data, element->length, gg_map_seed(&table->map));
	uint64_t number = gg_map_find(&table->map, hash, element_is_equal, &key);

	if (number != GG_MAP_NONE)
		return (uint32_t)number;
	number = table->elements.count;
	if (element->failed || number >= INT32_MAX ||
	    !gg_array_push(&table->elements,
	                   (struct gg_otlp_table_element){ table->bytes.length, element->length }))
		return UINT32_MAX;
	gg_buf_append(&table->bytes, element->data, element->length);
	if (table->bytes.failed || gg_map_insert(&table->map, hash, number) < 0)
		return UINT32_MAX;
	return (uint32_t)number;
}

void gg_otlp_table_done(struct gg_otlp_table *table)
{
	gg_buf_done(&table->bytes);
	gg_array_done(&table->elements);
	gg_map_done(&table->map);
}

/* Adds an element, and frees its bytes. */
static uint32_t put(struct gg_otlp_dictionary *dictionary, struct gg_otlp_table *table,
                    struct gg_buf *element)
{
	uint32_t number = gg_otlp_table_put(table, element);

	gg_buf_done(element);
	dictionary->failed |= number == UINT32_MAX;
	return dictionary->failed ? 0 : number;
}

/* --- attributes ----------------------------------------------------------------------------- */

uint32_t gg_otlp_dictionary_string(struct gg_otlp_dictionary *dictionary, const char *text)
{
	return gg_string_table_put(&dictionary->strings, text);
}

/* Adds an attribute whose value is the message `value`, which it frees. */
static uint32_t put_attribute(struct gg_otlp_dictionary *dictionary, const char *key,
                              struct gg_buf *value, const char *unit)
{
	struct gg_buf element = { 0 };

	gg_wire_put_nonzero(&element, GG_OTLP_ATTRIBUTE_KEY,
	                    gg_otlp_dictionary_string(dictionary, key));
	gg_wire_put_bytes(&element, GG_OTLP_ATTRIBUTE_VALUE, value->data, value->length);
	gg_wire_put_nonzero(&element, GG_OTLP_ATTRIBUTE_UNIT,
	                    gg_otlp_dictionary_string(dictionary, unit));
	element.failed |= value->failed;
	gg_buf_done(value);
	return put(dictionary, &dictionary->attributes, &element);
}

uint32_t gg_otlp_dictionary_text(struct gg_otlp_dictionary *dictionary, const char *key,
                                 const char *value)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf valid = { 0 };
	struct gg_buf message = { 0 };

	gg_string_table_mend(&valid, value);
	/* The text itself: not all readers know attributes that refer to the table of strings. */
	gg_wire_put_text(&message, GG_OTLP_ANY_STRING, gg_buf_text(&valid));
	message.failed |= valid.failed;
	return put_attribute(dictionary, key, &message, NULL);
}

uint32_t gg_otlp_dictionary_integer(struct gg_otlp_dictionary *dictionary, const char *key,
                                    int64_t value, const char *unit)
{
	struct gg_buf message = { 0 };

	gg_wire_put_number(&message, GG_OTLP_ANY_INT, (uint64_t)value);
	return put_attribute(dictionary, key, &message, unit);
}

uint32_t gg_otlp_dictionary_double(struct gg_otlp_dictionary *dictionary, const char *key,
                                   double value, const char *unit)
{
	struct gg_buf message = { 0 };
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	gg_wire_put_fixed(&message, GG_OTLP_ANY_DOUBLE, bits);
	return put_attribute(dictionary, key, &message, unit);
}

/* --- locations ------------------------------------------------------------------------------ */

static uint32_t put_function(struct gg_otlp_dictionary *dictionary, uint32_t number,
                             const char *file)
{
	const struct gg_model_function function = dictionary->extract->model->functions[number];
	const char *name = function.full_name != NULL ? function.full_name : function.name;
	const char *system_name = function.linkage_name != NULL ? function.linkage_name
	                                                        : function.short_name;
	struct gg_buf element = { 0 };
	uint32_t index = dictionary->known_functions[number].index;

	if (index != 0 && dictionary->known_functions[number].file == file)
		return index;
	gg_wire_put_nonzero(&element, GG_OTLP_FUNCTION_NAME,
	                    gg_otlp_dictionary_string(dictionary, name));
	gg_wire_put_nonzero(&element, GG_OTLP_FUNCTION_SYSTEM_NAME,
	                    gg_otlp_dictionary_string(dictionary, system_name));
	gg_wire_put_nonzero(&element, GG_OTLP_FUNCTION_FILE,
	                    gg_otlp_dictionary_string(dictionary, file));
	index = put(dictionary, &dictionary->functions, &element);
	dictionary->known_functions[number].file = file;
	dictionary->known_functions[number].index = index;
	return index;
}

static void put_indices(struct gg_buf *out, uint32_t field, uint32_t index)
{
	size_t packed;

	if (index == 0)
		return;
	packed = gg_wire_begin(out, field);
	gg_varint_append(out, index);
	gg_wire_end(out, packed);
}

static uint32_t put_mapping(struct gg_otlp_dictionary *dictionary, uint32_t number)
{
	const struct gg_model_module *module = &dictionary->extract->model->modules[number];
	const struct gg_address_space_module *range = &dictionary->space.modules[number];
	struct gg_buf element = { 0 };
	uint32_t *known = &dictionary->mapping_of_module[number];

	if (number == 0 || *known != 0)
		return *known;
	gg_wire_put_nonzero(&element, GG_OTLP_MAPPING_START, range->start);
	gg_wire_put_nonzero(&element, GG_OTLP_MAPPING_LIMIT, range->end);
	gg_wire_put_nonzero(&element, GG_OTLP_MAPPING_FILE_OFFSET, range->file_offset);
	gg_wire_put_nonzero(&element, GG_OTLP_MAPPING_FILE,
	                    gg_otlp_dictionary_string(dictionary, module->path));
	if (module->build_id[0] != '\0')
		put_indices(&element, GG_OTLP_MAPPING_ATTRIBUTE,
		            gg_otlp_dictionary_text(dictionary, "process.executable.build_id.gnu",
		                                    module->build_id));
	*known = put(dictionary, &dictionary->mappings, &element);
	return *known;
}

/*
 * Returns a name of OpenTelemetry's list for the kind of a frame, or NULL.  A runtime's frame is in
 * no module, and the file of its function tells the language.
 */
static const char *frame_type(const struct gg_model *model, uint32_t module, const char *file)
{
	static const struct {
		const char *suffix, *type;
	} languages[] = {
		{ ".py", "cpython" }, { ".rb", "ruby" },   { ".php", "php" }, { ".pl", "perl" },
		{ ".java", "jvm" },   { ".cs", "dotnet" }, { ".js", "v8js" },
	};
	size_t length = file != NULL ? strlen(file) : 0;

	if (module != 0) {
		/* perf-PID.map and jit-PID.dump list code of a JIT compiler. */
		const char *name = model->modules[module].name;

		return strncmp(name, "perf-", 5) == 0 || strncmp(name, "jit-", 4) == 0 ? NULL
		                                                                       : "native";
	}
	for (size_t i = 0; i < GG_COUNT(languages); i++) {
		size_t suffix = strlen(languages[i].suffix);

		if (length > suffix && strcmp(file + length - suffix, languages[i].suffix) == 0)
			return languages[i].type;
	}
	return NULL;
}

static uint32_t put_type(struct gg_otlp_dictionary *dictionary, const char *type)
{
	if (type != dictionary->last_type)
		dictionary->last_type_index = gg_otlp_dictionary_text(dictionary,
		                                                      "profile.frame.type", type);
	dictionary->last_type = type;
	return dictionary->last_type_index;
}

static uint32_t put_location(struct gg_otlp_dictionary *dictionary, uint32_t stack)
{
	const struct gg_model *model = dictionary->extract->model;
	const struct gg_model_frame *frame = gg_model_stack_frame(model, stack);
	struct gg_buf element = { 0 };
	size_t count;
	const struct gg_code_location *calls = gg_model_stack_locations(model, stack, &count);
	const char *type = frame_type(model, frame->module,
	                              count > 0 ? model->lines[calls[count - 1].line].file : NULL);

	gg_wire_put_nonzero(&element, GG_OTLP_LOCATION_MAPPING,
	                    put_mapping(dictionary, frame->module));
	gg_wire_put_nonzero(&element, GG_OTLP_LOCATION_ADDRESS,
	                    gg_address_space_address(&dictionary->space, frame));
	for (size_t i = 0; i < count; i++) {
		struct gg_model_line line = model->lines[calls[i].line];
		size_t message = gg_wire_begin(&element, GG_OTLP_LOCATION_LINE);

		gg_wire_put_nonzero(&element, GG_OTLP_LINE_FUNCTION,
		                    put_function(dictionary, calls[i].function, line.file));
		gg_wire_put_nonzero(&element, GG_OTLP_LINE_NUMBER, line.line);
		gg_wire_end(&element, message);
	}
	if (type != NULL)
		put_indices(&element, GG_OTLP_LOCATION_ATTRIBUTE, put_type(dictionary, type));
	return put(dictionary, &dictionary->locations, &element);
}

static uint32_t location_of(struct gg_otlp_dictionary *dictionary, uint32_t stack)
{
	uint32_t *known = &dictionary->location_of_stack[stack];

	if (*known == 0)
		*known = put_location(dictionary, stack);
	return *known;
}

uint32_t gg_otlp_dictionary_stack(struct gg_otlp_dictionary *dictionary, uint32_t stack)
{
	struct gg_buf element = { 0 };
	size_t packed;

	if (stack == 0 || stack == dictionary->last_stack) /* rows of one stack follow each other */
		return stack == 0 ? 0 : dictionary->last_stack_index;
	dictionary->last_stack = stack;
	packed = gg_wire_begin(&element, GG_OTLP_STACK_LOCATION);
	for (; stack != 0; stack = dictionary->extract->model->stacks[stack].parent)
		gg_varint_append(&element, location_of(dictionary, stack));
	gg_wire_end(&element, packed);
	dictionary->last_stack_index = put(dictionary, &dictionary->stacks, &element);
	return dictionary->last_stack_index;
}

/* --- the dictionary ------------------------------------------------------------------------- */

int gg_otlp_dictionary_init(struct gg_otlp_dictionary *ret_dictionary,
                            const struct gg_extract *extract, struct gg_error *error)
{
	struct gg_otlp_dictionary *dictionary = ret_dictionary;
	struct gg_buf zero[5] = { { 0 } };
	int status;

	*dictionary = (struct gg_otlp_dictionary){ .extract = extract };
	status = gg_address_space_make(&dictionary->space, extract, error);
	if (status < 0)
		return status;
	dictionary->location_of_stack = calloc(extract->model->stack_count,
	                                       sizeof(*dictionary->location_of_stack));
	dictionary->mapping_of_module = calloc(extract->model->module_count + 1,
	                                       sizeof(*dictionary->mapping_of_module));
	dictionary->known_functions = calloc(extract->model->function_count + 1,
	                                     sizeof(*dictionary->known_functions));
	gg_otlp_dictionary_string(dictionary, "");
	put(dictionary, &dictionary->mappings, &zero[0]);
	put(dictionary, &dictionary->locations, &zero[1]);
	put(dictionary, &dictionary->functions, &zero[2]);
	put(dictionary, &dictionary->attributes, &zero[3]);
	put(dictionary, &dictionary->stacks, &zero[4]);
	return dictionary->location_of_stack == NULL || dictionary->mapping_of_module == NULL ||
	                       dictionary->known_functions == NULL || dictionary->failed
	               ? gg_error_memory(error, "export")
	               : 0;
}

static void put_table(const struct gg_otlp_table *table, uint32_t field, struct gg_buf *out)
{
	for (size_t i = 0; i < table->elements.count; i++)
		gg_wire_put_bytes(out, field,
		                  gg_buf_text(&table->bytes) + table->elements.items[i].offset,
		                  table->elements.items[i].length);
}

bool gg_otlp_dictionary_put_apart(const struct gg_otlp_dictionary *dictionary,
                                  struct gg_buf *tables, struct gg_buf *attributes)
{
	/* Zeros of full length: some readers refuse ids that are empty. */
	static const char zeros[16];
	struct gg_buf *out = tables;
	size_t message;

	put_table(&dictionary->mappings, GG_OTLP_TABLE_MAPPING, out);
	put_table(&dictionary->locations, GG_OTLP_TABLE_LOCATION, out);
	put_table(&dictionary->functions, GG_OTLP_TABLE_FUNCTION, out);
	message = gg_wire_begin(out, GG_OTLP_TABLE_LINK);
	gg_wire_put_bytes(out, GG_OTLP_LINK_TRACE_ID, zeros, 16);
	gg_wire_put_bytes(out, GG_OTLP_LINK_SPAN_ID, zeros, 8);
	gg_wire_end(out, message);
	for (size_t i = 0; i < dictionary->strings.texts.count; i++)
		gg_wire_put_text(out, GG_OTLP_TABLE_STRING, dictionary->strings.texts.items[i]);
	put_table(&dictionary->attributes, GG_OTLP_TABLE_ATTRIBUTE, attributes);
	put_table(&dictionary->stacks, GG_OTLP_TABLE_STACK, out);
	return !dictionary->failed && !dictionary->strings.failed && !out->failed &&
	       !attributes->failed;
}

bool gg_otlp_dictionary_put(const struct gg_otlp_dictionary *dictionary, struct gg_buf *out)
{
	return gg_otlp_dictionary_put_apart(dictionary, out, out);
}

void gg_otlp_dictionary_done(struct gg_otlp_dictionary *dictionary)
{
	gg_otlp_table_done(&dictionary->mappings);
	gg_otlp_table_done(&dictionary->locations);
	gg_otlp_table_done(&dictionary->functions);
	gg_otlp_table_done(&dictionary->attributes);
	gg_otlp_table_done(&dictionary->stacks);
	gg_string_table_done(&dictionary->strings);
	gg_address_space_done(&dictionary->space);
	free(dictionary->location_of_stack);
	free(dictionary->mapping_of_module);
	free(dictionary->known_functions);
}
