/* SPDX-License-Identifier: Apache-2.0 */
/* page_names - finds or adds texts, modules and frames, and writes them as columns. */
#include "page/page_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/map.h"
#include "model/model.h"
#include "page/page.h"
#include "page/page_columns.h"
#include "report/frame_selection.h"
#include "symbol/symbol.h"

struct text_key {
	const struct gg_page_names *names;
	const char *text;
};

static bool text_is_equal(uint64_t value, const void *context)
{
	const struct text_key *key = context;

	return strcmp(key->names->strings.items[value], key->text) == 0;
}

uint32_t gg_page_string(struct gg_page_names *names, const char *text)
{
	struct text_key key = { names, text };
	uint64_t hash, found;
	char *copy;

	if (text == NULL || text[0] == '\0')
		return 0;
	hash = gg_hash_bytes(text, strlen(text), gg_map_seed(&names->texts));
	found = gg_map_find(&names->texts, hash, text_is_equal, &key);
	if (found != GG_MAP_NONE)
		return (uint32_t)found;
	copy = strdup(text);
	if (copy == NULL || !gg_array_reserve(&names->strings, names->strings.count + 1) ||
	    gg_map_insert(&names->texts, hash, names->strings.count) < 0) {
		free(copy);
		names->failed = true;
		return 0;
	}
	names->strings.items[names->strings.count++] = copy;
	return (uint32_t)names->strings.count - 1;
}

static uint32_t add_frame(struct gg_page_names *names, const struct gg_page_frame *frame)
{
	if (!gg_array_push(&names->frames, *frame)) {
		names->failed = true;
		return 0;
	}
	return (uint32_t)names->frames.count - 1;
}

/*
 * Frames of two profiles are equal if their functions and modules have equal names
 * (gg_query_row_label).
 */
static uint64_t label_hash(struct gg_page_names *names, const char *function, const char *module)
{
	uint64_t seed = gg_map_seed(&names->labels);

	return gg_hash_bytes(function, strlen(function),
	                     gg_hash_bytes(module, strlen(module), seed));
}

struct label_key {
	const struct gg_page_names *names;
	const char *function, *module;
};

static bool label_is_equal(uint64_t value, const void *context)
{
	const struct label_key *key = context;
	const struct gg_page_frame *frame = &key->names->frames.items[value];

	return strcmp(key->names->strings.items[frame->name], key->function) == 0 &&
	       strcmp(key->names->strings.items[key->names->modules.items[frame->module].name],
	              key->module) == 0;
}

static uint32_t enter_frame(struct gg_page_names *names, struct gg_model_function function,
                            const char *module, struct gg_page_frame frame)
{
	struct label_key key = { names, function.name, module };
	uint64_t hash = label_hash(names, function.name, module);
	uint32_t number;

	frame.name = gg_page_string(names, function.name);
	if (function.full_name != NULL && strcmp(function.full_name, function.name) != 0)
		frame.full = gg_page_string(names, function.full_name);
	frame.flags |= function.is_named ? 0 : GG_PAGE_FRAME_ADDRESS;
	if (function.is_named && gg_symbol_is_start_code(function.short_name))
		frame.flags |= GG_PAGE_FRAME_LIBRARY | GG_PAGE_FRAME_START_CODE;
	number = add_frame(names, &frame);
	if (gg_map_find(&names->labels, hash, label_is_equal, &key) == GG_MAP_NONE &&
	    gg_map_insert(&names->labels, hash, number) < 0)
		names->failed = true;
	return number;
}

uint32_t gg_page_frame_of(struct gg_page_names *names, uint32_t function)
{
	gg_assert(function < names->model->function_count);
	uint32_t *frame_of = &names->frame_of[function];
	struct gg_model_function of;
	struct gg_page_frame frame = { 0 };
	struct gg_model_line line;

	if (*frame_of != 0)
		return *frame_of;
	of = names->model->functions[function];
	frame.module = of.module;
	frame.flags = names->is_own[of.module] ? 0 : GG_PAGE_FRAME_LIBRARY;
	if (names->file_of[function] != 0) {
		line = names->model->lines[names->file_of[function]];
		frame.file = gg_page_string(names, line.file);
		frame.line = line.line;
	}
	*frame_of = enter_frame(names, of, names->model->modules[of.module].name, frame);
	return *frame_of;
}

/* Returns the module of that name, which is new if only the other profile has it. */
static uint32_t module_like(struct gg_page_names *names, const struct gg_model *other,
                            uint32_t module)
{
	const char *name = other->modules[module].name;
	struct gg_page_module added;

	for (size_t i = 0; i < names->modules.count; i++)
		if (strcmp(names->strings.items[names->modules.items[i].name], name) == 0)
			return (uint32_t)i;
	added = (struct gg_page_module){
		.name = gg_page_string(names, name),
		.path = gg_page_string(names, other->modules[module].path),
		.build_id = gg_page_string(names, other->modules[module].build_id),
	};
	if (!gg_array_push(&names->modules, added)) {
		names->failed = true;
		return 0;
	}
	return (uint32_t)names->modules.count - 1;
}

uint32_t gg_page_frame_like(struct gg_page_names *names, const struct gg_model *other,
                            uint32_t function)
{
	struct gg_model_function of = other->functions[function];
	const char *module = other->modules[of.module].name;
	struct label_key key = { names, of.name, module };
	uint64_t found = gg_map_find(&names->labels, label_hash(names, of.name, module),
	                             label_is_equal, &key);
	struct gg_page_frame frame = { 0 };

	if (found != GG_MAP_NONE)
		return (uint32_t)found;
	frame.module = module_like(names, other, of.module);
	return enter_frame(names, of, module, frame);
}

int gg_page_name_functions(struct gg_model *model, struct gg_model *before, struct gg_error *error)
{
	struct gg_model *models[] = { before, model };

	return gg_model_name_functions(
		models, 2, &(struct gg_model_name_options){ .across_builds = true }, error);
}

static int enter_modules(struct gg_page_names *names)
{
	const struct gg_model *model = names->model;

	if (!gg_array_extend(&names->modules, model->module_count))
		return -ENOMEM;
	for (uint32_t i = 0; i < names->modules.count; i++)
		names->modules.items[i] = (struct gg_page_module){
			.name = gg_page_string(names, model->modules[i].name),
			.path = gg_page_string(names, model->modules[i].path),
			.build_id = gg_page_string(names, model->modules[i].build_id),
			.status = gg_page_string(names, model->modules[i].status),
		};
	return 0;
}

int gg_page_names_init(struct gg_page_names *names, const struct gg_model *model)
{
	size_t functions = model->function_count;
	struct gg_page_frame root = { 0 };

	*names = (struct gg_page_names){ .model = model };
	names->frame_of = calloc(functions + 1, sizeof(uint32_t));
	names->file_of = calloc(functions + 1, sizeof(uint32_t));
	names->is_own = calloc(model->module_count + 1, sizeof(uint8_t));
	if (names->frame_of == NULL || names->file_of == NULL || names->is_own == NULL ||
	    !gg_array_extend(&names->strings, 1))
		return -ENOMEM;
	gg_frame_selection_own_modules(model, names->is_own);
	names->strings.items[0] = strdup("");
	if (names->strings.items[0] == NULL)
		return -ENOMEM;
	for (size_t i = model->line_count; i-- > 1;) {
		struct gg_model_line line = model->lines[i];

		if (line.file != NULL)
			names->file_of[line.function] = (uint32_t)i;
	}
	if (enter_modules(names) < 0)
		return -ENOMEM;
	root.name = gg_page_string(names, "everything");
	add_frame(names, &root);
	return names->failed ? -ENOMEM : 0;
}

void gg_page_names_done(struct gg_page_names *names)
{
	for (size_t i = 0; i < names->strings.count; i++)
		free(names->strings.items[i]);
	gg_array_done(&names->strings);
	gg_array_done(&names->frames);
	gg_array_done(&names->modules);
	free(names->frame_of);
	free(names->file_of);
	free(names->is_own);

	gg_map_done(&names->texts);
	gg_map_done(&names->labels);
}

void gg_page_names_write(const struct gg_page_names *names, struct gg_json *json)
{
	gg_json_open(json, "strings", '[');
	for (size_t i = 0; i < names->strings.count; i++)
		gg_json_text(json, NULL, names->strings.items[i]);
	gg_json_close(json);
	gg_json_open(json, "modules", '{');
	GG_PAGE_INTEGERS(json, "name", names->modules.items, names->modules.count, name);
	GG_PAGE_INTEGERS(json, "path", names->modules.items, names->modules.count, path);
	GG_PAGE_INTEGERS(json, "build_id", names->modules.items, names->modules.count, build_id);
	GG_PAGE_INTEGERS(json, "status", names->modules.items, names->modules.count, status);
	gg_json_close(json);
	gg_json_open(json, "frames", '{');
	GG_PAGE_INTEGERS(json, "name", names->frames.items, names->frames.count, name);
	GG_PAGE_INTEGERS(json, "full", names->frames.items, names->frames.count, full);
	GG_PAGE_INTEGERS(json, "file", names->frames.items, names->frames.count, file);
	GG_PAGE_INTEGERS(json, "line", names->frames.items, names->frames.count, line);
	GG_PAGE_INTEGERS(json, "module", names->frames.items, names->frames.count, module);
	GG_PAGE_INTEGERS(json, "flags", names->frames.items, names->frames.count, flags);
	gg_json_close(json);
}
