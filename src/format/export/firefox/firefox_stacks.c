/* SPDX-License-Identifier: Apache-2.0 */
/* firefox_stacks - makes the stacks of all threads, and writes the shared tables. */
#include "format/export/firefox/firefox.h"

#include <errno.h>
#include <stdlib.h>

enum { LIBRARY_RESOURCE = 1 };

struct gg_firefox_func {
	uint32_t function;
	uint32_t name, file; /* texts */
};

struct gg_firefox_frame {
	uint32_t func, depth, line, module;
	uint64_t address; /* in the file */
};

struct gg_firefox_stack {
	uint32_t frame;
	int64_t prefix;
};

static uint32_t func_of(struct gg_firefox *writer, uint32_t function, const char *file)
{
	uint32_t file_text = gg_string_table_put(&writer->files, file);
	uint64_t key = (uint64_t)function << 32 | file_text;
	uint64_t number = gg_map_get(&writer->func_of, key);
	struct gg_firefox_func *func;

	if (number != GG_MAP_NONE)
		return (uint32_t)number;
	number = writer->funcs.count;
	func = gg_array_add(&writer->funcs);
	if (func == NULL || gg_map_put(&writer->func_of, key, number) < 0) {
		writer->failed = true;
		return 0;
	}
	func->function = function;
	func->file = file_text;
	func->name = gg_string_table_put(&writer->strings,
	                                 writer->extract->model->functions[function].name);
	return (uint32_t)number;
}

/* Makes the frames of one address, which are consecutive; returns the outermost one's number. */
static uint64_t frames_of(struct gg_firefox *writer, uint32_t stack, size_t *ret_count)
{
	const struct gg_model *model = writer->extract->model;
	const struct gg_model_frame *frame = gg_model_stack_frame(model, stack);
	const struct gg_code_location *locations = gg_model_stack_locations(model, stack,
	                                                                    ret_count);
	uint64_t address = gg_address_space_address(&writer->space, frame);
	uint64_t number = gg_map_get(&writer->frame_of, address);

	if (number != GG_MAP_NONE)
		return number;
	number = writer->frames.count;
	if (gg_map_put(&writer->frame_of, address, number) < 0)
		writer->failed = true;
	for (size_t i = *ret_count; i-- > 0 && !writer->failed;) {
		struct gg_model_line line = model->lines[locations[i].line];
		uint32_t func = func_of(writer, locations[i].function, line.file);
		struct gg_firefox_frame made = { func, (uint32_t)(*ret_count - 1 - i), line.line,
			                         frame->module, frame->address };

		if (!gg_array_push(&writer->frames, made))
			writer->failed = true;
	}
	return number;
}

/* Callers have smaller numbers, so the function walks up first and makes them on the way back. */
static int64_t stack_of(struct gg_firefox *writer, uint32_t stack)
{
	uint32_t parent;
	int64_t prefix = GG_FIREFOX_NONE;
	uint64_t first;
	size_t count;

	if (writer->stack_of[stack] != -2)
		return writer->stack_of[stack];
	parent = writer->extract->model->stacks[stack].parent;
	if (parent != 0)
		prefix = writer->stack_of[parent];
	first = frames_of(writer, stack, &count);
	for (size_t i = 0; i < count; i++) {
		struct gg_firefox_stack added = { (uint32_t)(first + i), prefix };

		if (!gg_array_push(&writer->stacks, added)) {
			writer->failed = true;
			return GG_FIREFOX_NONE;
		}
		prefix = (int64_t)writer->stacks.count - 1;
	}
	writer->stack_of[stack] = prefix;
	return prefix;
}

int gg_firefox_make_stacks(struct gg_firefox *writer)
{
	const struct gg_model *model = writer->extract->model;
	size_t count = model->stack_count;
	uint8_t *is_used = calloc(count, 1);

	writer->stack_of = malloc(count * sizeof(*writer->stack_of));
	if (is_used == NULL || writer->stack_of == NULL) {
		free(is_used);
		return -ENOMEM;
	}
	for (size_t i = 0; i < writer->block_count; i++)
		is_used[writer->blocks[i].stack] = 1;
	for (size_t i = count; i-- > 1;)
		if (is_used[i] && model->stacks[i].parent != 0)
			is_used[model->stacks[i].parent] = 1;
	for (size_t i = 0; i < count && !writer->failed; i++) {
		writer->stack_of[i] = -2;
		if (is_used[i])
			stack_of(writer, (uint32_t)i);
	}
	free(is_used);
	return writer->failed ? -ENOMEM : 0;
}

/* --- columns --------------------------------------------------------------------------------- */

void gg_firefox_put(struct gg_firefox *writer, int64_t value)
{
	gg_json_decimal(&writer->json, NULL, value, 0);
}

void gg_firefox_put_null(struct gg_firefox *writer)
{
	gg_json_text(&writer->json, NULL, NULL);
}

void gg_firefox_put_column(struct gg_firefox *writer, const char *name, size_t count, int64_t value)
{
	gg_json_open(&writer->json, name, '[');
	for (size_t i = 0; i < count; i++)
		gg_firefox_put(writer, value);
	gg_json_close(&writer->json);
}

void gg_firefox_put_null_column(struct gg_firefox *writer, const char *name, size_t count)
{
	gg_json_open(&writer->json, name, '[');
	for (size_t i = 0; i < count; i++)
		gg_firefox_put_null(writer);
	gg_json_close(&writer->json);
}

void gg_firefox_end_table(struct gg_firefox *writer, size_t count)
{
	gg_json_integer(&writer->json, "length", count);
	gg_json_close(&writer->json);
}

/* --- tables ---------------------------------------------------------------------------------- */

static void write_stack_table(struct gg_firefox *writer)
{
	const struct gg_firefox_stack *stacks = writer->stacks.items;
	size_t count = writer->stacks.count;

	gg_json_open(&writer->json, "stackTable", '{');
	gg_json_open(&writer->json, "frame", '[');
	for (size_t i = 0; i < count; i++)
		gg_firefox_put(writer, stacks[i].frame);
	gg_json_close(&writer->json);
	gg_json_open(&writer->json, "prefix", '[');
	for (size_t i = 0; i < count; i++)
		if (stacks[i].prefix < 0)
			gg_firefox_put_null(writer);
		else
			gg_firefox_put(writer, stacks[i].prefix);
	gg_json_close(&writer->json);
	gg_firefox_end_table(writer, count);
}

static int category_of(const struct gg_firefox *writer, uint32_t module)
{
	if (module == 0)
		return GG_FIREFOX_OTHER;
	return writer->library_of[module] == 0 ? GG_FIREFOX_PROGRAM : GG_FIREFOX_LIBRARY;
}

static void write_frame_table(struct gg_firefox *writer)
{
	const struct gg_firefox_frame *frames = writer->frames.items;
	size_t count = writer->frames.count;

	gg_json_open(&writer->json, "frameTable", '{');
	gg_json_open(&writer->json, "address", '[');
	for (size_t i = 0; i < count; i++)
		gg_firefox_put(writer, frames[i].module != 0 ? (int64_t)frames[i].address
		                                             : GG_FIREFOX_NONE);
	gg_json_close(&writer->json);
	gg_json_open(&writer->json, "inlineDepth", '[');
	for (size_t i = 0; i < count; i++)
		gg_firefox_put(writer, frames[i].depth);
	gg_json_close(&writer->json);
	gg_json_open(&writer->json, "category", '[');
	for (size_t i = 0; i < count; i++)
		gg_firefox_put(writer, category_of(writer, frames[i].module));
	gg_json_close(&writer->json);
	gg_firefox_put_column(writer, "subcategory", count, 0);
	gg_json_open(&writer->json, "func", '[');
	for (size_t i = 0; i < count; i++)
		gg_firefox_put(writer, frames[i].func);
	gg_json_close(&writer->json);
	gg_firefox_put_null_column(writer, "nativeSymbol", count);
	gg_firefox_put_null_column(writer, "innerWindowID", count);
	gg_json_open(&writer->json, "line", '[');
	for (size_t i = 0; i < count; i++)
		if (frames[i].line == 0)
			gg_firefox_put_null(writer);
		else
			gg_firefox_put(writer, frames[i].line);
	gg_json_close(&writer->json);
	gg_firefox_put_null_column(writer, "column", count);
	gg_firefox_end_table(writer, count);
}

static void write_func_table(struct gg_firefox *writer)
{
	const struct gg_model *model = writer->extract->model;
	const struct gg_firefox_func *funcs = writer->funcs.items;
	size_t count = writer->funcs.count;

	gg_json_open(&writer->json, "funcTable", '{');
	gg_json_open(&writer->json, "name", '[');
	for (size_t i = 0; i < count; i++)
		gg_firefox_put(writer, funcs[i].name);
	gg_json_close(&writer->json);
	gg_json_open(&writer->json, "isJS", '[');
	for (size_t i = 0; i < count; i++)
		gg_json_bool(&writer->json, NULL, false);
	gg_json_close(&writer->json);
	gg_json_open(&writer->json, "relevantForJS", '[');
	for (size_t i = 0; i < count; i++)
		gg_json_bool(&writer->json, NULL, false);
	gg_json_close(&writer->json);
	gg_json_open(&writer->json, "resource", '[');
	for (size_t i = 0; i < count; i++)
		gg_firefox_put(writer,
		               writer->library_of[model->functions[funcs[i].function].module]);
	gg_json_close(&writer->json);
	gg_json_open(&writer->json, "source", '[');
	for (size_t i = 0; i < count; i++)
		if (funcs[i].file == 0)
			gg_firefox_put_null(writer);
		else
			gg_firefox_put(writer, funcs[i].file - 1);
	gg_json_close(&writer->json);
	gg_firefox_put_null_column(writer, "lineNumber", count);
	gg_firefox_put_null_column(writer, "columnNumber", count);
	gg_firefox_end_table(writer, count);
}

/*
 * Libraries are the modules of the address space in its order; each resource refers to one of them.
 */
static void write_resources(struct gg_firefox *writer)
{
	const struct gg_address_space *space = &writer->space;

	gg_json_open(&writer->json, "resourceTable", '{');
	gg_json_open(&writer->json, "lib", '[');
	for (size_t i = 0; i < space->used_count; i++)
		gg_firefox_put(writer, (int64_t)i);
	gg_json_close(&writer->json);
	gg_json_open(&writer->json, "name", '[');
	for (size_t i = 0; i < space->used_count; i++)
		gg_firefox_put(
			writer,
			gg_string_table_put(&writer->strings,
		                            writer->extract->model->modules[space->order[i]].name));
	gg_json_close(&writer->json);
	gg_firefox_put_null_column(writer, "host", space->used_count);
	gg_firefox_put_column(writer, "type", space->used_count, LIBRARY_RESOURCE);
	gg_firefox_end_table(writer, space->used_count);
}

static void write_sources(struct gg_firefox *writer)
{
	size_t count = writer->files.texts.count > 0 ? writer->files.texts.count - 1 : 0;

	gg_json_open(&writer->json, "sources", '{');
	gg_firefox_put_null_column(writer, "id", count);
	gg_json_open(&writer->json, "filename", '[');
	for (size_t i = 0; i < count; i++)
		gg_firefox_put(writer, gg_string_table_put(&writer->strings,
		                                           writer->files.texts.items[i + 1]));
	gg_json_close(&writer->json);
	gg_firefox_put_column(writer, "startLine", count, 1);
	gg_firefox_put_column(writer, "startColumn", count, 1);
	gg_firefox_put_null_column(writer, "sourceMapURL", count);
	gg_firefox_end_table(writer, count);
}

void gg_firefox_write_shared(struct gg_firefox *writer)
{
	static const char *const columns[] = { "libIndex", "address", "name", "functionSize" };

	gg_json_open(&writer->json, "shared", '{');
	write_stack_table(writer);
	write_frame_table(writer);
	write_func_table(writer);
	write_resources(writer);
	write_sources(writer);
	gg_json_open(&writer->json, "nativeSymbols", '{');
	for (size_t i = 0; i < GG_COUNT(columns); i++)
		gg_firefox_put_column(writer, columns[i], 0, 0);
	gg_firefox_end_table(writer, 0);
	gg_json_open(&writer->json, "stringArray", '[');
	for (size_t i = 0; i < writer->strings.texts.count; i++)
		gg_json_text(&writer->json, NULL, writer->strings.texts.items[i]);
	gg_json_close(&writer->json);
	gg_json_close(&writer->json);
}
