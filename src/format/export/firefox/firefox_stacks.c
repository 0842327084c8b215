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

static uint32_t func_of(struct gg_firefox *writing, uint32_t function, const char *file)
{
	uint32_t file_text = gg_string_table_put(&writing->files, file);
	uint64_t key = (uint64_t)function << 32 | file_text;
	uint64_t number = gg_map_get(&writing->func_of, key);
	struct gg_firefox_func *func;

	if (number != GG_MAP_NONE)
		return (uint32_t)number;
	number = writing->funcs.count;
	func = gg_array_add(&writing->funcs);
	if (func == NULL || gg_map_put(&writing->func_of, key, number) < 0) {
		writing->failed = true;
		return 0;
	}
	func->function = function;
	func->file = file_text;
	func->name = gg_string_table_put(&writing->strings,
	                                 writing->extract->model->functions[function].name);
	return (uint32_t)number;
}

/* Makes the frames of one address, which are consecutive; returns the outermost one's number. */
static uint64_t frames_of(struct gg_firefox *writing, uint32_t stack, size_t *ret_count)
{
	const struct gg_model *model = writing->extract->model;
	const struct gg_model_frame *frame = gg_model_stack_frame(model, stack);
	const struct gg_code_location *places = gg_model_stack_locations(model, stack, ret_count);
	uint64_t address = gg_address_space_address(&writing->space, frame);
	uint64_t number = gg_map_get(&writing->frame_of, address);

	if (number != GG_MAP_NONE)
		return number;
	number = writing->frames.count;
	if (gg_map_put(&writing->frame_of, address, number) < 0)
		writing->failed = true;
	for (size_t i = *ret_count; i-- > 0 && !writing->failed;) {
		struct gg_model_line line = model->lines[places[i].line];
		uint32_t func = func_of(writing, places[i].function, line.file);
		struct gg_firefox_frame made = { func, (uint32_t)(*ret_count - 1 - i), line.line,
			                         frame->module, frame->address };

		if (!gg_array_push(&writing->frames, made))
			writing->failed = true;
	}
	return number;
}

/* Callers have smaller numbers, so the function walks up first and makes them on the way back. */
static int64_t stack_of(struct gg_firefox *writing, uint32_t stack)
{
	uint32_t parent;
	int64_t prefix = GG_FIREFOX_NONE;
	uint64_t first;
	size_t count;

	if (writing->stack_of[stack] != -2)
		return writing->stack_of[stack];
	parent = writing->extract->model->stacks[stack].parent;
	if (parent != 0)
		prefix = writing->stack_of[parent];
	first = frames_of(writing, stack, &count);
	for (size_t i = 0; i < count; i++) {
		struct gg_firefox_stack added = { (uint32_t)(first + i), prefix };

		if (!gg_array_push(&writing->stacks, added)) {
			writing->failed = true;
			return GG_FIREFOX_NONE;
		}
		prefix = (int64_t)writing->stacks.count - 1;
	}
	writing->stack_of[stack] = prefix;
	return prefix;
}

int gg_firefox_make_stacks(struct gg_firefox *writing)
{
	const struct gg_model *model = writing->extract->model;
	size_t count = model->stack_count;
	uint8_t *is_used = calloc(count, 1);

	writing->stack_of = malloc(count * sizeof(*writing->stack_of));
	if (is_used == NULL || writing->stack_of == NULL) {
		free(is_used);
		return -ENOMEM;
	}
	for (size_t i = 0; i < writing->block_count; i++)
		is_used[writing->blocks[i].stack] = 1;
	for (size_t i = count; i-- > 1;)
		if (is_used[i] && model->stacks[i].parent != 0)
			is_used[model->stacks[i].parent] = 1;
	for (size_t i = 0; i < count && !writing->failed; i++) {
		writing->stack_of[i] = -2;
		if (is_used[i])
			stack_of(writing, (uint32_t)i);
	}
	free(is_used);
	return writing->failed ? -ENOMEM : 0;
}

/* --- columns --------------------------------------------------------------------------------- */

void gg_firefox_put(struct gg_firefox *writing, int64_t value)
{
	gg_json_decimal(&writing->json, NULL, value, 0);
}

void gg_firefox_put_null(struct gg_firefox *writing)
{
	gg_json_text(&writing->json, NULL, NULL);
}

void gg_firefox_put_column(struct gg_firefox *writing, const char *name, size_t count,
                           int64_t value)
{
	gg_json_open(&writing->json, name, '[');
	for (size_t i = 0; i < count; i++)
		gg_firefox_put(writing, value);
	gg_json_close(&writing->json);
}

void gg_firefox_put_null_column(struct gg_firefox *writing, const char *name, size_t count)
{
	gg_json_open(&writing->json, name, '[');
	for (size_t i = 0; i < count; i++)
		gg_firefox_put_null(writing);
	gg_json_close(&writing->json);
}

void gg_firefox_end_table(struct gg_firefox *writing, size_t count)
{
	gg_json_integer(&writing->json, "length", count);
	gg_json_close(&writing->json);
}

/* --- tables ---------------------------------------------------------------------------------- */

static void write_stack_table(struct gg_firefox *writing)
{
	const struct gg_firefox_stack *stacks = writing->stacks.items;
	size_t count = writing->stacks.count;

	gg_json_open(&writing->json, "stackTable", '{');
	gg_json_open(&writing->json, "frame", '[');
	for (size_t i = 0; i < count; i++)
		gg_firefox_put(writing, stacks[i].frame);
	gg_json_close(&writing->json);
	gg_json_open(&writing->json, "prefix", '[');
	for (size_t i = 0; i < count; i++)
		if (stacks[i].prefix < 0)
			gg_firefox_put_null(writing);
		else
			gg_firefox_put(writing, stacks[i].prefix);
	gg_json_close(&writing->json);
	gg_firefox_end_table(writing, count);
}

static int category_of(const struct gg_firefox *writing, uint32_t module)
{
	if (module == 0)
		return GG_FIREFOX_OTHER;
	return writing->library_of[module] == 0 ? GG_FIREFOX_PROGRAM : GG_FIREFOX_LIBRARY;
}

static void write_frame_table(struct gg_firefox *writing)
{
	const struct gg_firefox_frame *frames = writing->frames.items;
	size_t count = writing->frames.count;

	gg_json_open(&writing->json, "frameTable", '{');
	gg_json_open(&writing->json, "address", '[');
	for (size_t i = 0; i < count; i++)
		gg_firefox_put(writing, frames[i].module != 0 ? (int64_t)frames[i].address
		                                              : GG_FIREFOX_NONE);
	gg_json_close(&writing->json);
	gg_json_open(&writing->json, "inlineDepth", '[');
	for (size_t i = 0; i < count; i++)
		gg_firefox_put(writing, frames[i].depth);
	gg_json_close(&writing->json);
	gg_json_open(&writing->json, "category", '[');
	for (size_t i = 0; i < count; i++)
		gg_firefox_put(writing, category_of(writing, frames[i].module));
	gg_json_close(&writing->json);
	gg_firefox_put_column(writing, "subcategory", count, 0);
	gg_json_open(&writing->json, "func", '[');
	for (size_t i = 0; i < count; i++)
		gg_firefox_put(writing, frames[i].func);
	gg_json_close(&writing->json);
	gg_firefox_put_null_column(writing, "nativeSymbol", count);
	gg_firefox_put_null_column(writing, "innerWindowID", count);
	gg_json_open(&writing->json, "line", '[');
	for (size_t i = 0; i < count; i++)
		if (frames[i].line == 0)
			gg_firefox_put_null(writing);
		else
			gg_firefox_put(writing, frames[i].line);
	gg_json_close(&writing->json);
	gg_firefox_put_null_column(writing, "column", count);
	gg_firefox_end_table(writing, count);
}

static void write_func_table(struct gg_firefox *writing)
{
	const struct gg_model *model = writing->extract->model;
	const struct gg_firefox_func *funcs = writing->funcs.items;
	size_t count = writing->funcs.count;

	gg_json_open(&writing->json, "funcTable", '{');
	gg_json_open(&writing->json, "name", '[');
	for (size_t i = 0; i < count; i++)
		gg_firefox_put(writing, funcs[i].name);
	gg_json_close(&writing->json);
	gg_json_open(&writing->json, "isJS", '[');
	for (size_t i = 0; i < count; i++)
		gg_json_bool(&writing->json, NULL, false);
	gg_json_close(&writing->json);
	gg_json_open(&writing->json, "relevantForJS", '[');
	for (size_t i = 0; i < count; i++)
		gg_json_bool(&writing->json, NULL, false);
	gg_json_close(&writing->json);
	gg_json_open(&writing->json, "resource", '[');
	for (size_t i = 0; i < count; i++)
		gg_firefox_put(writing,
		               writing->library_of[model->functions[funcs[i].function].module]);
	gg_json_close(&writing->json);
	gg_json_open(&writing->json, "source", '[');
	for (size_t i = 0; i < count; i++)
		if (funcs[i].file == 0)
			gg_firefox_put_null(writing);
		else
			gg_firefox_put(writing, funcs[i].file - 1);
	gg_json_close(&writing->json);
	gg_firefox_put_null_column(writing, "lineNumber", count);
	gg_firefox_put_null_column(writing, "columnNumber", count);
	gg_firefox_end_table(writing, count);
}

/*
 * Libraries are the modules of the address space in its order; each resource refers to one of them.
 */
static void write_resources(struct gg_firefox *writing)
{
	const struct gg_address_space *space = &writing->space;

	gg_json_open(&writing->json, "resourceTable", '{');
	gg_json_open(&writing->json, "lib", '[');
	for (size_t i = 0; i < space->used_count; i++)
		gg_firefox_put(writing, (int64_t)i);
	gg_json_close(&writing->json);
	gg_json_open(&writing->json, "name", '[');
	for (size_t i = 0; i < space->used_count; i++)
		gg_firefox_put(writing,
		               gg_string_table_put(
				       &writing->strings,
				       writing->extract->model->modules[space->order[i]].name));
	gg_json_close(&writing->json);
	gg_firefox_put_null_column(writing, "host", space->used_count);
	gg_firefox_put_column(writing, "type", space->used_count, LIBRARY_RESOURCE);
	gg_firefox_end_table(writing, space->used_count);
}

static void write_sources(struct gg_firefox *writing)
{
	size_t count = writing->files.texts.count > 0 ? writing->files.texts.count - 1 : 0;

	gg_json_open(&writing->json, "sources", '{');
	gg_firefox_put_null_column(writing, "id", count);
	gg_json_open(&writing->json, "filename", '[');
	for (size_t i = 0; i < count; i++)
		gg_firefox_put(writing, gg_string_table_put(&writing->strings,
		                                            writing->files.texts.items[i + 1]));
	gg_json_close(&writing->json);
	gg_firefox_put_column(writing, "startLine", count, 1);
	gg_firefox_put_column(writing, "startColumn", count, 1);
	gg_firefox_put_null_column(writing, "sourceMapURL", count);
	gg_firefox_end_table(writing, count);
}

void gg_firefox_write_shared(struct gg_firefox *writing)
{
	static const char *const columns[] = { "libIndex", "address", "name", "functionSize" };

	gg_json_open(&writing->json, "shared", '{');
	write_stack_table(writing);
	write_frame_table(writing);
	write_func_table(writing);
	write_resources(writing);
	write_sources(writing);
	gg_json_open(&writing->json, "nativeSymbols", '{');
	for (size_t i = 0; i < GG_COUNT(columns); i++)
		gg_firefox_put_column(writing, columns[i], 0, 0);
	gg_firefox_end_table(writing, 0);
	gg_json_open(&writing->json, "stringArray", '[');
	for (size_t i = 0; i < writing->strings.texts.count; i++)
		gg_json_text(&writing->json, NULL, writing->strings.texts.items[i]);
	gg_json_close(&writing->json);
	gg_json_close(&writing->json);
}
