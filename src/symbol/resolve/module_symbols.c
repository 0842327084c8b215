/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_symbols - collects frames for the addresses of a module, and demangles each name once.
 *
 * DWARF answers units in the order of the file, and each unit has addresses from anywhere.  So the
 * frames of an address are collected in `frames`, where the answer of the address points.
 * gg_module_symbols_build() then gives them to the builder in the order of the addresses.
 */
#include "symbol/resolve/module_symbols.h"

#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"
#include "symbol/names/demangle.h"

int gg_module_symbols_init(struct gg_module_symbols *answers, const uint64_t *addresses,
                           size_t count)
{
	*answers = (struct gg_module_symbols){ .addresses = addresses, .count = count };
	answers->answers = calloc(count > 0 ? count : 1, sizeof(*answers->answers));
	return answers->answers != NULL ? 0 : -ENOMEM;
}

void gg_module_symbols_done(struct gg_module_symbols *answers)
{
	free(answers->answers);
	gg_buf_done(&answers->frames);
	gg_blob_builder_done(&answers->builder);
	gg_map_done(&answers->name_map);
	gg_buf_done(&answers->names);
	gg_buf_done(&answers->full);
	gg_buf_done(&answers->brief);
}

/*
 * Looks up the names that were made from the text at an offset.  Returns false if there are no such
 * names yet.
 */
static bool recall(const struct gg_module_symbols *answers, uint32_t text,
                   struct gg_symbol_answer_name *ret_name)
{
	uint64_t index = gg_map_get(&answers->name_map, text);

	if (index == GG_MAP_NONE)
		return false;
	*ret_name = ((struct gg_symbol_answer_name *)answers->names.data)[index];
	return true;
}

/* Many addresses share a function.  Demangling is slow, so each name is demangled once. */
static void remember(struct gg_module_symbols *answers, uint32_t text,
                     const struct gg_symbol_answer_name *name)
{
	uint64_t index = answers->names.length / sizeof(*name);

	gg_buf_append(&answers->names, name, sizeof(*name));
	if (answers->names.failed || answers->full.failed || answers->brief.failed ||
	    gg_map_put(&answers->name_map, text, index) < 0)
		answers->builder.failed = true;
}

struct gg_symbol_answer_name gg_module_symbols_demangle(struct gg_module_symbols *answers,
                                                        const char *linkage_name)
{
	struct gg_blob_builder *builder = &answers->builder;
	uint32_t linkage = gg_blob_intern(builder, linkage_name);
	struct gg_symbol_answer_name name;

	if (recall(answers, linkage, &name))
		return name;
	gg_demangle(linkage_name, &answers->full, &answers->brief);
	name.function = gg_blob_intern(builder, gg_buf_text(&answers->brief));
	name.full_name = gg_blob_intern(builder, gg_buf_text(&answers->full));
	/* Equal texts have equal offsets.  0 says that the linkage name is the full name. */
	name.linkage_name = linkage != name.full_name ? linkage : 0;
	remember(answers, linkage, &name);
	return name;
}

struct gg_symbol_answer_name gg_module_symbols_qualified(struct gg_module_symbols *answers,
                                                         const char *text)
{
	struct gg_blob_builder *builder = &answers->builder;
	struct gg_symbol_answer_name name = { .full_name = gg_blob_intern(builder, text) };

	if (recall(answers, name.full_name, &name))
		return name;
	gg_buf_clear(&answers->brief);
	gg_shorten_cxx(text, &answers->brief);
	name.function = gg_blob_intern(
		builder, answers->brief.length > 0 ? gg_buf_text(&answers->brief) : text);
	remember(answers, name.full_name, &name);
	return name;
}

void gg_module_symbols_begin(struct gg_module_symbols *answers, size_t index)
{
	size_t at = answers->frames.length / sizeof(struct gg_blob_frame);

	gg_assert(index < answers->count);
	if (at >= UINT32_MAX)
		answers->builder.failed = true;
	/* Frames of an earlier answer stay in the array, but nothing refers to them any more. */
	answers->answers[index] = (struct gg_symbol_answer){ .first_frame = (uint32_t)at };
}

void gg_module_symbols_add(struct gg_module_symbols *answers, size_t index,
                           const struct gg_blob_frame *frame)
{
	/* The frames of an answer follow each other, so it must be the one that began last. */
	gg_assert(index < answers->count);
	gg_assert(answers->builder.failed ||
	          answers->answers[index].first_frame + answers->answers[index].frame_count ==
	                  answers->frames.length / sizeof(*frame));
	gg_buf_append(&answers->frames, frame, sizeof(*frame));
	if (answers->frames.failed)
		answers->builder.failed = true;
	else
		answers->answers[index].frame_count++;
}

struct gg_blob_frame *gg_module_symbols_outermost(struct gg_module_symbols *answers, size_t index)
{
	const struct gg_symbol_answer *answer = &answers->answers[index];
	struct gg_blob_frame *frames = (struct gg_blob_frame *)answers->frames.data;

	return answer->frame_count > 0 ? frames + answer->first_frame + answer->frame_count - 1
	                               : NULL;
}

bool gg_module_symbols_build(struct gg_module_symbols *answers)
{
	const struct gg_blob_frame *frames = (const struct gg_blob_frame *)answers->frames.data;
	bool any = false;

	for (size_t i = 0; i < answers->count; i++) {
		const struct gg_symbol_answer *answer = &answers->answers[i];

		for (uint32_t j = 0; j < answer->frame_count; j++) {
			gg_blob_add_frame(&answers->builder, &frames[answer->first_frame + j]);
			any |= frames[answer->first_frame + j].function != 0 &&
			       frames[answer->first_frame + j].is_unnamed == 0;
		}
		gg_blob_add_address(&answers->builder, answers->addresses[i]);
	}
	return any;
}
