/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_names - interns the model's texts, functions, and lines, and gives each frame its
 * locations.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/address_name.h"
#include "base/assert.h"
#include "base/hash.h"
#include "model/model_builder.h"

enum { CHUNK_BYTES = 256 * 1024 };

/* Allocates memory for a text.  The memory does not move, because texts are compared by address. */
static char *take_text(struct gg_model_builder *builder, size_t bytes)
{
	char **chunk, *text;

	if (builder->chunks.count == 0 || bytes > builder->chunk_size - builder->chunk_used) {
		chunk = gg_array_add(&builder->chunks);
		if (chunk == NULL)
			return NULL;
		builder->chunk_size = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
		builder->chunk_used = 0;
		*chunk = malloc(builder->chunk_size);
		if (*chunk == NULL) {
			builder->chunks.count--;
			builder->chunk_size = 0;
			return NULL;
		}
	}
	text = builder->chunks.items[builder->chunks.count - 1] + builder->chunk_used;
	builder->chunk_used += bytes;
	return text;
}

struct model_text_key {
	const char *const *texts;
	const char *text;
};

static bool text_is_equal(uint64_t value, const void *context)
{
	const struct model_text_key *key = context;

	return strcmp(key->texts[value], key->text) == 0;
}

const char *gg_model_text(struct gg_model_builder *builder, const char *text, bool *failed)
{
	struct model_text_key key = { builder->text_list.items, text };
	uint64_t hash, number;
	const char **kept;
	size_t bytes;
	char *copy;

	if (text == NULL)
		return NULL;
	bytes = strlen(text) + 1;
	hash = gg_hash_bytes(text, bytes, gg_map_seed(&builder->texts));
	number = gg_map_find(&builder->texts, hash, text_is_equal, &key);
	if (number != GG_MAP_NONE)
		return key.texts[number];
	copy = take_text(builder, bytes);
	kept = copy != NULL ? gg_array_add(&builder->text_list) : NULL;
	if (kept == NULL) {
		*failed = true;
		return NULL;
	}
	*kept = memcpy(copy, text, bytes);
	if (gg_map_insert(&builder->texts, hash, builder->text_list.count - 1) < 0)
		*failed = true;
	return copy;
}

struct function_key {
	const struct gg_model_function *records;
	const struct gg_model_function *wanted;
};

static bool function_is_equal(uint64_t value, const void *context)
{
	const struct function_key *key = context;
	const struct gg_model_function *function = &key->records[value];

	return function->name == key->wanted->name &&
	       function->full_name == key->wanted->full_name &&
	       function->file == key->wanted->file && function->module == key->wanted->module;
}

uint32_t gg_model_put_function(struct gg_model_builder *builder,
                               const struct gg_model_function *function)
{
	struct function_key key = { builder->functions.items, function };
	uint64_t seed = gg_map_seed(&builder->function_map) + function->module;
	uint64_t hash = gg_hash_integer(
		(uintptr_t)(function->full_name != NULL ? function->full_name : function->name),
		seed + (uintptr_t)function->file);
	uint64_t number = gg_map_find(&builder->function_map, hash, function_is_equal, &key);
	struct gg_model_function *record;

	gg_assert(function->name != NULL && function->module < builder->modules.count);
	if (number != GG_MAP_NONE)
		return (uint32_t)number;
	record = gg_array_add(&builder->functions);
	number = builder->functions.count - 1;
	if (record == NULL || gg_map_insert(&builder->function_map, hash, number) < 0)
		return UINT32_MAX;
	*record = *function;
	record->short_name = function->name;
	if (builder->options != NULL && builder->options->is_entry != NULL)
		record->is_entry = builder->options->is_entry(
			function->is_named ? function->name : NULL,
			builder->modules.items[function->module].path);
	if (builder->options != NULL && builder->options->is_wrapper != NULL)
		record->is_wrapper = function->is_named &&
		                     builder->options->is_wrapper(function->name);
	return (uint32_t)number;
}

struct line_key {
	const struct gg_model_line *lines, *wanted;
};

static bool line_is_equal(uint64_t value, const void *context)
{
	const struct line_key *key = context;
	const struct gg_model_line *line = &key->lines[value];

	return line->function == key->wanted->function && line->line == key->wanted->line &&
	       line->file == key->wanted->file;
}

uint32_t gg_model_put_line(struct gg_model_builder *builder, const struct gg_model_line *wanted)
{
	struct line_key key = { builder->lines.items, wanted };
	uint64_t seed = gg_map_seed(&builder->line_map) + (uintptr_t)wanted->file;
	uint64_t hash = gg_hash_integer((uint64_t)wanted->function << 32 | wanted->line, seed);
	uint64_t number = gg_map_find(&builder->line_map, hash, line_is_equal, &key);
	struct gg_model_line *line;

	gg_assert(wanted->function < builder->functions.count);
	if (number != GG_MAP_NONE)
		return (uint32_t)number;
	line = gg_array_add(&builder->lines);
	number = builder->lines.count - 1;
	if (line == NULL || gg_map_insert(&builder->line_map, hash, number) < 0)
		return UINT32_MAX;
	*line = *wanted;
	return (uint32_t)number;
}

/* The name of a frame without one: "libx.so+0x12", "0x12" outside modules, or "[unknown]". */
static int name_by_address(struct gg_model_builder *builder, struct gg_model_frame *frame)
{
	struct gg_model_function function = { .module = frame->module };
	struct gg_model_line line = { 0 };
	const struct gg_model_module *module = &builder->modules.items[frame->module];
	struct gg_code_location *location;
	bool failed = false;
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (frame->module == 0 && frame->address == 0) {
		function.name = builder->modules.items[0].name;
	} else {
		gg_address_name_append(frame->module != 0 ? module->path : NULL, frame->address,
		                       &text);
		if (text.failed)
			return -ENOMEM;
		function.name = gg_model_text(builder, gg_buf_text(&text), &failed);
	}
	if (failed)
		return -ENOMEM;
	line.function = gg_model_put_function(builder, &function);
	frame->first_location = (uint32_t)builder->locations.count;
	frame->location_count = 1;
	location = gg_array_add(&builder->locations);
	if (line.function == UINT32_MAX || location == NULL)
		return -ENOMEM;
	location->function = line.function;
	location->line = gg_model_put_line(builder, &line);
	return location->line == UINT32_MAX ? -ENOMEM : 0;
}

int gg_model_complete_locations(struct gg_model_builder *builder)
{
	struct gg_model_frame *frames = builder->frames.items;
	struct gg_model_stack *stacks = builder->stacks.items;
	const struct gg_model_function *functions;
	const struct gg_code_location *locations;
	struct gg_model *model;

	for (size_t i = 0; i < builder->frames.count; i++)
		if (frames[i].location_count == 0 && name_by_address(builder, &frames[i]) < 0)
			return -ENOMEM;
	if (gg_model_unite_functions(builder) < 0)
		return -ENOMEM;
	model = gg_model_builder_publish(builder);
	if (gg_model_name_functions(&model, 1, &(struct gg_model_name_options){ 0 }, NULL) < 0)
		return -ENOMEM;
	functions = builder->functions.items;
	locations = builder->locations.items;
	for (size_t i = 1; i < builder->stacks.count; i++) {
		const struct gg_model_frame *frame = &frames[stacks[i].frame];
		const struct gg_code_location *itself =
			&locations[frame->first_location + frame->location_count - 1];

		gg_assert(stacks[i].parent < i && stacks[i].frame < builder->frames.count);
		stacks[i].top = functions[itself->function].is_entry ? stacks[stacks[i].parent].top
		                                                     : (uint32_t)i;
	}
	return 0;
}
