/* SPDX-License-Identifier: Apache-2.0 */
/* merge_stacks - copies modules, frames and stacks from one profile to another. */
#include "format/merge/merge_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/address_name.h"
#include "base/array.h"
#include "base/hash.h"
#include "format/codec/stable_hash.h"

/* A line of the frame that is being read.  Texts are offsets; SIZE_MAX means NULL. */
struct merge_line {
	size_t function, full_name, linkage_name, file;
	uint32_t number;
	bool inlined;
};

static int take_module(const struct gg_profile_module *module, void *context)
{
	struct gg_merge_stacks *stacks = context;
	struct gg_profile_module clean = *module;
	struct gg_merge_module *kept;

	if (!gg_array_extend(&stacks->modules, (size_t)module->id + 1))
		return gg_error_memory(stacks->error, "merge");
	kept = &stacks->modules.items[module->id];
	kept->has_build_id = module->build_id_bytes > 0;
	return gg_profile_intern_module(stacks->out, &clean, &kept->out, stacks->error);
}

static int take_frame(const struct gg_profile_frame *frame, void *context)
{
	struct gg_merge_stacks *stacks = context;

	if (!gg_array_extend(&stacks->frames, (size_t)frame->id + 1))
		return gg_error_memory(stacks->error, "merge");
	stacks->frames.items[frame->id] = (struct gg_merge_frame){ frame->module, 0,
		                                                   frame->address };
	return 0;
}

static struct gg_merge_module module_of(const struct gg_merge_stacks *stacks,
                                        const struct gg_merge_frame *frame)
{
	struct gg_merge_module none = { 0 };

	return frame->module < stacks->modules.count ? stacks->modules.items[frame->module] : none;
}

/* --- frames with names ------------------------------------------------------------------------ */

static size_t keep_text(struct gg_merge_stacks *stacks, const char *text)
{
	size_t at = stacks->texts.length;

	if (text == NULL)
		return SIZE_MAX;
	gg_buf_append(&stacks->texts, text, strlen(text) + 1);
	return at;
}

static const char *text_at(const struct gg_merge_stacks *stacks, size_t at)
{
	return at != SIZE_MAX ? stacks->texts.data + at : NULL;
}

/*
 * Returns a hash of the frame's names, to use in place of an address that other files number
 * differently.
 */
static uint64_t hash_lines(const struct gg_merge_stacks *stacks, const struct merge_line *lines,
                           size_t count)
{
	uint64_t hash = GG_STABLE_HASH_START;

	for (size_t i = 0; i < count; i++) {
		size_t name = lines[i].full_name != SIZE_MAX ? lines[i].full_name
		                                             : lines[i].function;

		hash = gg_stable_hash_text(hash, text_at(stacks, name));
		hash = gg_stable_hash_text(hash, text_at(stacks, lines[i].file));
		hash = gg_hash_integer(hash ^ lines[i].number, 0);
	}
	return gg_stable_hash_address(hash);
}

/*
 * False for an address name, as a machine without symbols gives it.  Another profile may have the
 * function's own name.
 */
static bool has_name(const struct gg_merge_stacks *stacks, const struct merge_line *lines,
                     size_t count)
{
	const char *function = text_at(stacks, lines[0].function);

	return count > 1 || (function != NULL && !gg_address_name_is(function, NULL));
}

static int put_lines(struct gg_merge_stacks *stacks, uint32_t frame, const struct merge_line *lines,
                     size_t count)
{
	struct gg_profile_line *given = calloc(count, sizeof(*given));
	int status;

	if (given == NULL)
		return gg_error_memory(stacks->error, "merge");
	for (size_t i = 0; i < count; i++)
		given[i] = (struct gg_profile_line){
			.function = text_at(stacks, lines[i].function),
			.full_name = text_at(stacks, lines[i].full_name),
			.linkage_name = text_at(stacks, lines[i].linkage_name),
			.file = text_at(stacks, lines[i].file),
			.line = lines[i].number,
			.inlined = lines[i].inlined
		};
	status = gg_profile_put_lines(stacks->out, frame, given, (uint32_t)count, stacks->error);
	free(given);
	if (status == 0)
		stacks->is_named.items[frame] = has_name(stacks, lines, count);
	return status;
}

/* Finishes a frame when all its lines have been read. */
static int intern_lines(struct gg_merge_stacks *stacks)
{
	const struct merge_line *lines = (const struct merge_line *)(const void *)
	                                         stacks->lines.data;
	size_t count = stacks->lines.length / sizeof(*lines);
	struct gg_merge_frame *frame = &stacks->frames.items[stacks->frame];
	struct gg_merge_module module;
	uint64_t address;
	int status;

	if (count == 0)
		return 0;
	if (stacks->texts.failed || stacks->lines.failed)
		return gg_error_memory(stacks->error, "merge");
	module = module_of(stacks, frame);
	address = module.has_build_id ? frame->address : hash_lines(stacks, lines, count);
	status = gg_profile_intern_frame(stacks->out, module.out, address, &frame->out,
	                                 stacks->error);
	if (status == 0 && !gg_array_extend(&stacks->is_named, (size_t)frame->out + 1))
		status = gg_error_memory(stacks->error, "merge");
	if (status == 0 && !stacks->is_named.items[frame->out])
		status = put_lines(stacks, frame->out, lines, count);
	gg_buf_clear(&stacks->texts);
	gg_buf_clear(&stacks->lines);
	return status;
}

static int take_line(const struct gg_profile_line *line, void *context)
{
	struct gg_merge_stacks *stacks = context;
	struct merge_line kept;
	int status = 0;

	if (line->frame == 0 || line->frame >= stacks->frames.count)
		return 0;
	if (line->frame != stacks->frame) {
		status = intern_lines(stacks);
		stacks->frame = line->frame;
	}
	kept = (struct merge_line){ .function = keep_text(stacks, line->function),
		                    .full_name = keep_text(stacks, line->full_name),
		                    .linkage_name = keep_text(stacks, line->linkage_name),
		                    .file = keep_text(stacks, line->file),
		                    .number = line->line,
		                    .inlined = line->inlined };
	gg_buf_append(&stacks->lines, &kept, sizeof(kept));
	return status;
}

/* --- stacks ----------------------------------------------------------------------------------- */

static int frame_of(struct gg_merge_stacks *stacks, uint32_t id, uint32_t *ret_frame)
{
	struct gg_merge_frame *frame;
	int status = 0;

	*ret_frame = 0;
	if (id == 0 || id >= stacks->frames.count)
		return 0;
	frame = &stacks->frames.items[id];
	if (frame->out == 0)
		status = gg_profile_intern_frame(stacks->out, module_of(stacks, frame).out,
		                                 frame->address, &frame->out, stacks->error);
	*ret_frame = frame->out;
	return status;
}

static int take_stack(const struct gg_profile_stack *stack, void *context)
{
	struct gg_merge_stacks *stacks = context;
	uint32_t frame, *ids;
	int status = frame_of(stacks, stack->frame, &frame);

	if (status < 0)
		return status;
	if (!gg_array_extend(&stacks->stacks, (size_t)stack->id + 1))
		return gg_error_memory(stacks->error, "merge");
	ids = stacks->stacks.items;
	return gg_profile_intern_stack(stacks->out,
	                               stack->parent < stack->id ? ids[stack->parent] : 0, frame,
	                               &ids[stack->id], stacks->error);
}

int gg_merge_stacks_read(struct gg_merge_stacks *stacks, struct gg_profile *profile,
                         struct gg_error *error)
{
	int status;

	stacks->error = error;
	stacks->modules.count = stacks->frames.count = stacks->stacks.count = 0;
	stacks->frame = 0;
	gg_buf_clear(&stacks->texts);
	gg_buf_clear(&stacks->lines);
	status = gg_profile_each_module(profile, take_module, stacks, error);
	if (status == 0)
		status = gg_profile_each_frame(profile, take_frame, stacks, error);
	if (status == 0)
		status = gg_profile_each_line(profile, take_line, stacks, error);
	if (status == 0)
		status = intern_lines(stacks);
	return status == 0 ? gg_profile_each_stack(profile, take_stack, stacks, error) : status;
}

void gg_merge_stacks_done(struct gg_merge_stacks *stacks)
{
	gg_array_done(&stacks->modules);
	gg_array_done(&stacks->frames);
	gg_array_done(&stacks->stacks);
	gg_array_done(&stacks->is_named);
	gg_buf_done(&stacks->texts);
	gg_buf_done(&stacks->lines);
}
