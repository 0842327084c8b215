/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_names - interns the model's texts, functions, and lines, and gives each frame its
 * locations.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "model/model_internal.h"

enum { CHUNK_BYTES = 256 * 1024 };

/* Allocates memory for a text.  The memory does not move, because texts are compared by address. */
static char *take_text(struct gg_model *model, size_t bytes)
{
	char **chunk, *text;

	if (model->chunks.count == 0 || bytes > model->chunk_size - model->chunk_used) {
		chunk = gg_array_add(&model->chunks);
		if (chunk == NULL)
			return NULL;
		model->chunk_size = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
		model->chunk_used = 0;
		*chunk = malloc(model->chunk_size);
		if (*chunk == NULL) {
			model->chunks.count--;
			model->chunk_size = 0;
			return NULL;
		}
	}
	text = model->chunks.items[model->chunks.count - 1] + model->chunk_used;
	model->chunk_used += bytes;
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

const char *gg_model_text(struct gg_model *model, const char *text, bool *failed)
{
	struct model_text_key key = { model->text_list.items, text };
	uint64_t hash, number;
	const char **kept;
	size_t bytes;
	char *copy;

	if (text == NULL)
		return NULL;
	bytes = strlen(text) + 1;
	hash = gg_hash_bytes(text, bytes, gg_map_seed(&model->texts));
	number = gg_map_find(&model->texts, hash, text_is_equal, &key);
	if (number != GG_MAP_NONE)
		return key.texts[number];
	copy = take_text(model, bytes);
	kept = copy != NULL ? gg_array_add(&model->text_list) : NULL;
	if (kept == NULL) {
		*failed = true;
		return NULL;
	}
	*kept = memcpy(copy, text, bytes);
	if (gg_map_insert(&model->texts, hash, model->text_list.count - 1) < 0)
		*failed = true;
	return copy;
}

struct function_key {
	const struct gg_model_function_record *records;
	const struct gg_model_function *wanted;
};

static bool function_is_equal(uint64_t value, const void *context)
{
	const struct function_key *key = context;
	const struct gg_model_function *function = &key->records[value].function;

	return function->name == key->wanted->name &&
	       function->full_name == key->wanted->full_name &&
	       function->file == key->wanted->file && function->module == key->wanted->module;
}

uint32_t gg_model_put_function(struct gg_model *model, const struct gg_model_function *function)
{
	struct function_key key = { model->functions.items, function };
	uint64_t seed = gg_map_seed(&model->function_map) + function->module;
	uint64_t hash = gg_hash_integer(
		(uintptr_t)(function->full_name != NULL ? function->full_name : function->name),
		seed + (uintptr_t)function->file);
	uint64_t number = gg_map_find(&model->function_map, hash, function_is_equal, &key);
	struct gg_model_function_record *record;

	if (number != GG_MAP_NONE)
		return (uint32_t)number;
	record = gg_array_add(&model->functions);
	number = model->functions.count - 1;
	if (record == NULL || gg_map_insert(&model->function_map, hash, number) < 0)
		return UINT32_MAX;
	record->function = *function;
	record->function.short_name = function->name;
	if (model->options != NULL && model->options->is_entry != NULL)
		record->is_entry = model->options->is_entry(
			function->is_named ? function->name : NULL,
			gg_model_module_path(model, function->module));
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

uint32_t gg_model_put_line(struct gg_model *model, const struct gg_model_line *wanted)
{
	struct line_key key = { model->lines.items, wanted };
	uint64_t seed = gg_map_seed(&model->line_map) + (uintptr_t)wanted->file;
	uint64_t hash = gg_hash_integer((uint64_t)wanted->function << 32 | wanted->line, seed);
	uint64_t number = gg_map_find(&model->line_map, hash, line_is_equal, &key);
	struct gg_model_line *line;

	if (number != GG_MAP_NONE)
		return (uint32_t)number;
	line = gg_array_add(&model->lines);
	number = model->lines.count - 1;
	if (line == NULL || gg_map_insert(&model->line_map, hash, number) < 0)
		return UINT32_MAX;
	*line = *wanted;
	return (uint32_t)number;
}

/* The name of a frame without one: "libx.so+0x12", "0x12" outside modules, or "[unknown]". */
static int name_by_address(struct gg_model *model, struct gg_model_frame *frame)
{
	struct gg_model_function function = { .module = frame->module };
	struct gg_model_line line = { 0 };
	struct gg_code_location *place;
	bool failed = false;
	char text[512];

	if (frame->module == 0 && frame->address == 0) {
		function.name = gg_model_module_name(model, 0);
	} else {
		snprintf(text, sizeof(text), "%.400s%s0x%" PRIx64,
		         frame->module != 0 ? gg_model_module_name(model, frame->module) : "",
		         frame->module != 0 ? "+" : "", frame->address);
		function.name = gg_model_text(model, text, &failed);
	}
	if (failed)
		return -ENOMEM;
	line.function = gg_model_put_function(model, &function);
	frame->first_place = (uint32_t)model->places.count;
	frame->place_count = 1;
	place = gg_array_add(&model->places);
	if (line.function == UINT32_MAX || place == NULL)
		return -ENOMEM;
	place->function = line.function;
	place->line = gg_model_put_line(model, &line);
	return place->line == UINT32_MAX ? -ENOMEM : 0;
}

int gg_model_complete_places(struct gg_model *model)
{
	struct gg_model_frame *frames = model->frames.items;
	struct gg_model_node *nodes = model->nodes.items;
	const struct gg_model_function_record *functions;
	const struct gg_code_location *places;

	for (size_t i = 0; i < model->frames.count; i++)
		if (frames[i].place_count == 0 && name_by_address(model, &frames[i]) < 0)
			return -ENOMEM;
	if (gg_model_unite_functions(model) < 0 ||
	    gg_model_name_functions(&model, 1, &(struct gg_names_query){ 0 }, NULL) < 0)
		return -ENOMEM;
	functions = model->functions.items;
	places = model->places.items;
	for (size_t i = 1; i < model->nodes.count; i++) {
		const struct gg_model_frame *frame = &frames[nodes[i].frame];
		const struct gg_code_location *itself =
			&places[frame->first_place + frame->place_count - 1];

		nodes[i].top = functions[itself->function].is_entry ? nodes[nodes[i].parent].top
		                                                    : (uint32_t)i;
	}
	return 0;
}
