/* SPDX-License-Identifier: Apache-2.0 */
/* pprof_locations - writes the mappings, locations and functions of a profile.proto. */
#include "format/export/pprof_locations.h"

#include <stdlib.h>

#include "base/hash.h"
#include "format/codec/wire_writer.h"

/* Field numbers of profile.proto's messages.  Readers take a missing field for 0. */
enum {
	PPROF_PROFILE_MAPPING = 3, /* the program itself first */
	PPROF_PROFILE_LOCATION = 4,
	PPROF_PROFILE_FUNCTION = 5,

	PPROF_MAPPING_ID = 1,
	PPROF_MAPPING_START = 2,
	PPROF_MAPPING_LIMIT = 3,
	PPROF_MAPPING_FILE_OFFSET = 4,
	PPROF_MAPPING_FILENAME = 5,
	PPROF_MAPPING_BUILD_ID = 6, /* hexadecimal */
	PPROF_MAPPING_HAS_FUNCTIONS = 7,
	PPROF_MAPPING_HAS_FILENAMES = 8,
	PPROF_MAPPING_HAS_LINES = 9,
	PPROF_MAPPING_HAS_INLINED = 10,

	PPROF_LOCATION_ID = 1,
	PPROF_LOCATION_MAPPING_ID = 2, /* 0: in no mapping */
	PPROF_LOCATION_ADDRESS = 3,    /* of the call: the return address less 1 */
	PPROF_LOCATION_LINE = 4,       /* innermost inlined call first */

	PPROF_LINE_FUNCTION_ID = 1,
	PPROF_LINE_NUMBER = 2,

	PPROF_FUNCTION_ID = 1,
	PPROF_FUNCTION_NAME = 2,
	PPROF_FUNCTION_SYSTEM_NAME = 3, /* the linker's name */
	PPROF_FUNCTION_FILENAME = 4,
};

/* pprof's functions have one file each, so one name in two files makes two functions. */
static uint64_t function_id(struct gg_pprof_locations *table, uint32_t number, const char *file)
{
	const struct gg_model_function function = table->extract->model->functions[number];
	uint32_t file_text = gg_string_table_put(table->strings, file);
	uint64_t key = (uint64_t)number << 32 | file_text;
	uint64_t id = gg_map_get(&table->function_of, key);
	struct gg_buf *out = &table->function_bytes;
	size_t message;

	if (id != GG_MAP_NONE)
		return id;
	id = ++table->function_count;
	if (gg_map_put(&table->function_of, key, id) < 0) {
		table->failed = true;
		return 0;
	}
	message = gg_wire_begin(out, PPROF_PROFILE_FUNCTION);
	gg_wire_put_nonzero(out, PPROF_FUNCTION_ID, id);
	gg_wire_put_nonzero(out, PPROF_FUNCTION_NAME,
	                    gg_string_table_put(table->strings, function.full_name != NULL
	                                                                ? function.full_name
	                                                                : function.name));
	gg_wire_put_nonzero(out, PPROF_FUNCTION_SYSTEM_NAME,
	                    gg_string_table_put(table->strings, function.linkage_name != NULL
	                                                                ? function.linkage_name
	                                                                : function.short_name));
	gg_wire_put_nonzero(out, PPROF_FUNCTION_FILENAME, file_text);
	gg_wire_end(out, message);
	return id;
}

static uint64_t add_location(struct gg_pprof_locations *table, uint32_t stack, uint64_t address)
{
	const struct gg_model *model = table->extract->model;
	uint32_t module = gg_model_stack_frame(model, stack)->module;
	struct gg_buf *out = &table->location_bytes;
	size_t count, message = gg_wire_begin(out, PPROF_PROFILE_LOCATION), line_message;
	const struct gg_code_location *lines_of_frame = gg_model_stack_locations(model, stack,
	                                                                         &count);

	gg_wire_put_nonzero(out, PPROF_LOCATION_ID, ++table->location_count);
	for (size_t i = 0; i < table->space.used_count; i++)
		if (table->space.order[i] == module)
			gg_wire_put_nonzero(out, PPROF_LOCATION_MAPPING_ID, i + 1);
	gg_wire_put_nonzero(out, PPROF_LOCATION_ADDRESS, address);
	for (size_t i = 0; i < count; i++) {
		struct gg_model_line line = model->lines[lines_of_frame[i].line];

		line_message = gg_wire_begin(out, PPROF_LOCATION_LINE);
		gg_wire_put_nonzero(out, PPROF_LINE_FUNCTION_ID,
		                    function_id(table, lines_of_frame[i].function, line.file));
		gg_wire_put_nonzero(out, PPROF_LINE_NUMBER, line.line);
		gg_wire_end(out, line_message);
	}
	gg_wire_end(out, message);
	return table->location_count;
}

uint64_t gg_pprof_locations_id(struct gg_pprof_locations *table, uint32_t stack)
{
	const struct gg_model_frame *frame = gg_model_stack_frame(table->extract->model, stack);
	uint64_t *known = &table->location_of_stack[stack], address, key, id;

	if (*known != 0)
		return *known;
	address = gg_address_space_address(&table->space, frame);
	/* Two rounds: an address and a module must not cancel each other out. */
	key = gg_hash_integer(frame->address,
	                      gg_hash_integer(frame->module, gg_map_seed(&table->location_of)));
	id = gg_map_get(&table->location_of, key);
	gg_assert(stack < table->extract->model->stack_count);
	if (id == GG_MAP_NONE) {
		id = add_location(table, stack, address);
		if (gg_map_put(&table->location_of, key, id) < 0)
			table->failed = true;
	}
	*known = id;
	return id;
}

static void put_mappings(const struct gg_pprof_locations *table, struct gg_buf *out)
{
	const struct gg_address_space *space = &table->space;
	const struct gg_model *model = table->extract->model;

	for (size_t i = 0; i < space->used_count; i++) {
		const struct gg_address_space_module *module = &space->modules[space->order[i]];
		size_t message = gg_wire_begin(out, PPROF_PROFILE_MAPPING);

		gg_wire_put_nonzero(out, PPROF_MAPPING_ID, i + 1);
		gg_wire_put_nonzero(out, PPROF_MAPPING_START, module->start);
		gg_wire_put_nonzero(out, PPROF_MAPPING_LIMIT, module->end);
		gg_wire_put_nonzero(out, PPROF_MAPPING_FILE_OFFSET, module->file_offset);
		gg_wire_put_nonzero(
			out, PPROF_MAPPING_FILENAME,
			gg_string_table_put(table->strings, model->modules[space->order[i]].path));
		gg_wire_put_nonzero(out, PPROF_MAPPING_BUILD_ID,
		                    gg_string_table_put(table->strings,
		                                        model->modules[space->order[i]].build_id));
		gg_wire_put_nonzero(out, PPROF_MAPPING_HAS_FUNCTIONS, module->has_names);
		gg_wire_put_nonzero(out, PPROF_MAPPING_HAS_FILENAMES, module->has_files);
		gg_wire_put_nonzero(out, PPROF_MAPPING_HAS_LINES, module->has_lines);
		gg_wire_put_nonzero(out, PPROF_MAPPING_HAS_INLINED, module->has_inlined);
		gg_wire_end(out, message);
	}
}

int gg_pprof_locations_init(struct gg_pprof_locations *ret_table, const struct gg_extract *extract,
                            struct gg_string_table *strings, struct gg_error *error)
{
	int status;

	*ret_table = (struct gg_pprof_locations){ .extract = extract, .strings = strings };
	status = gg_address_space_make(&ret_table->space, extract, error);
	if (status < 0)
		return status;
	ret_table->location_of_stack = calloc(extract->model->stack_count,
	                                      sizeof(*ret_table->location_of_stack));
	return ret_table->location_of_stack == NULL ? gg_error_memory(error, "export") : 0;
}

bool gg_pprof_locations_put(struct gg_pprof_locations *table, struct gg_buf *out)
{
	put_mappings(table, out);
	gg_buf_append(out, table->location_bytes.data, table->location_bytes.length);
	gg_buf_append(out, table->function_bytes.data, table->function_bytes.length);
	return !table->failed && !table->location_bytes.failed && !table->function_bytes.failed;
}

void gg_pprof_locations_done(struct gg_pprof_locations *table)
{
	gg_buf_done(&table->location_bytes);
	gg_buf_done(&table->function_bytes);
	free(table->location_of_stack);
	gg_map_done(&table->function_of);
	gg_map_done(&table->location_of);
	gg_address_space_done(&table->space);
}
