/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_hide - leaves functions out of stacks, so that reports name the code that uses them.
 *
 * Two kinds of functions are hidden.  Wrappers of the allocator (xmalloc(), std::vector<T>::
 * push_back()) vanish where they are the innermost functions of a sample's stack; the caller gets
 * the memory.  Functions that the user named vanish everywhere.
 *
 * A stack is a node of a tree, and a frame may have several locations, because calls are inlined.
 * So hiding never changes a stack or a frame as it was read.  It makes the tree without the
 * functions beside the other, from as many of the old nodes as possible, and points `top` of each
 * stack that has samples into it.  Reports begin at the top, so they see nothing of this.
 *
 *   step 1   finds for each stack the one without the functions that the user named (shown_as)
 *   step 2   walks from each stack with samples past the wrappers
 *
 * A stack of which everything is hidden keeps its frames, because its memory must appear somewhere.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "model/model_builder.h"

struct hiding {
	struct gg_model_builder *builder;
	const uint8_t *is_hidden;   /* by function; NULL: wrappers alone */
	size_t stack_count;         /* as they were read */
	uint32_t *shown_as;         /* by stack, 0: everything is hidden; NULL: nothing is named */
	struct gg_map frames;       /* made frames, by old frame and kind of what is left out */
	struct gg_map stacks;       /* made and kept stacks, by parent and frame */
	GG_ARRAY(double) via_bytes; /* by top: what the wrapper in stack_vias allocated for it */
};

static const struct gg_model_function *function_at(const struct hiding *hiding,
                                                   const struct gg_model_frame *frame, size_t i)
{
	const struct gg_code_location *locations = hiding->builder->locations.items;

	gg_assert(i < frame->location_count);
	return &hiding->builder->functions.items[locations[frame->first_location + i].function];
}

static bool is_named(const struct hiding *hiding, const struct gg_model_frame *frame, size_t i)
{
	const struct gg_model_function *function = function_at(hiding, frame, i);

	return hiding->is_hidden[function - hiding->builder->functions.items] != 0;
}

/* --- nodes of the new tree ------------------------------------------------------------------ */

/*
 * The frame with some of its locations: those from `first` on that the user did not name.  The same
 * call makes no second frame.  0: out of memory.
 */
static uint32_t put_frame(struct hiding *hiding, uint32_t number, size_t first, bool without_named)
{
	struct gg_model_builder *builder = hiding->builder;
	uint64_t key = (uint64_t)number << 32 | first << 1 | without_named;
	uint64_t made = gg_map_get(&hiding->frames, key);
	struct gg_model_frame *kept;
	struct gg_model_frame frame = builder->frames.items[number];

	if (made != GG_MAP_NONE)
		return (uint32_t)made;
	kept = gg_array_add(&builder->frames);
	made = builder->frames.count - 1;
	if (kept == NULL || gg_map_put(&hiding->frames, key, made) < 0)
		return 0;
	*kept = frame;
	kept->first_location = (uint32_t)builder->locations.count;
	kept->location_count = 0;
	for (size_t i = first; i < frame.location_count; i++) {
		struct gg_code_location *location;

		if (without_named && is_named(hiding, &frame, i))
			continue;
		location = gg_array_add(&builder->locations);
		if (location == NULL)
			return 0;
		*location = builder->locations.items[frame.first_location + i];
		kept->location_count++;
	}
	gg_assert(kept->location_count > 0);
	return (uint32_t)made;
}

/* The stack of a frame and its caller; made if it is new.  0: out of memory. */
static uint32_t put_stack(struct hiding *hiding, uint32_t parent, uint32_t frame)
{
	struct gg_model_builder *builder = hiding->builder;
	uint64_t key = (uint64_t)parent << 32 | frame;
	uint64_t made = gg_map_get(&hiding->stacks, key);
	struct gg_model_stack *kept;

	if (frame == 0)
		return 0;
	if (made != GG_MAP_NONE)
		return (uint32_t)made;
	kept = gg_array_add(&builder->stacks);
	made = builder->stacks.count - 1;
	if (kept == NULL || gg_map_put(&hiding->stacks, key, made) < 0)
		return 0;
	*kept = (struct gg_model_stack){ parent, frame, (uint32_t)made };
	return (uint32_t)made;
}

/* --- step 1: without the functions that the user named -------------------------------------- */

static size_t count_named(const struct hiding *hiding, const struct gg_model_frame *frame)
{
	size_t count = 0;

	for (size_t i = 0; i < frame->location_count; i++)
		count += is_named(hiding, frame, i);
	return count;
}

/* Callers have smaller numbers, so one pass suffices. */
static int leave_out_named(struct hiding *hiding)
{
	struct gg_model_builder *builder = hiding->builder;

	if (hiding->is_hidden == NULL)
		return 0;
	hiding->shown_as = calloc(hiding->stack_count, sizeof(*hiding->shown_as));
	if (hiding->shown_as == NULL)
		return -ENOMEM;
	for (size_t i = 1; i < hiding->stack_count; i++) {
		struct gg_model_stack stack = builder->stacks.items[i];
		struct gg_model_frame frame = builder->frames.items[stack.frame];
		uint32_t parent = hiding->shown_as[stack.parent];
		size_t named = count_named(hiding, &frame);

		if (named == frame.location_count) {
			hiding->shown_as[i] = parent;
			continue;
		}
		if (named == 0 && parent == stack.parent) {
			uint64_t key = (uint64_t)parent << 32 | stack.frame;

			hiding->shown_as[i] = (uint32_t)i;
			if (gg_map_put(&hiding->stacks, key, i) < 0)
				return -ENOMEM;
			continue;
		}
		hiding->shown_as[i] = put_stack(
			hiding, parent,
			named == 0 ? stack.frame : put_frame(hiding, stack.frame, 0, true));
		if (hiding->shown_as[i] == 0)
			return -ENOMEM;
	}
	return 0;
}

/* --- step 2: without wrappers at the innermost end ------------------------------------------ */

/* The number of innermost locations that are hidden; all of them in an entry of the allocator. */
static size_t count_wrappers(const struct hiding *hiding, const struct gg_model_frame *frame,
                             uint32_t *ret_via)
{
	size_t count = 0;

	if (function_at(hiding, frame, frame->location_count - 1)->is_entry)
		return frame->location_count;
	while (count < frame->location_count) {
		const struct gg_model_function *function = function_at(hiding, frame, count);

		if (!function->is_entry && !function->is_wrapper)
			break;
		if (!function->is_entry)
			*ret_via = (uint32_t)(function - hiding->builder->functions.items);
		count++;
	}
	return count;
}

/*
 * The innermost stack from `stack` on that is not hidden as a whole, and how many locations of its
 * frame are hidden.  0: everything is hidden.
 */
static uint32_t skip_wrappers(const struct hiding *hiding, uint32_t stack, size_t *ret_hidden,
                              uint32_t *ret_via)
{
	const struct gg_model_builder *builder = hiding->builder;

	*ret_via = 0;
	for (; stack != 0; stack = builder->stacks.items[stack].parent) {
		const struct gg_model_frame *frame =
			&builder->frames.items[builder->stacks.items[stack].frame];

		*ret_hidden = count_wrappers(hiding, frame, ret_via);
		if (*ret_hidden < frame->location_count)
			return stack;
	}
	return 0;
}

/* ret_via: the outermost hidden wrapper, or 0. */
static int find_top(struct hiding *hiding, uint32_t number, uint32_t *ret_via)
{
	struct gg_model_builder *builder = hiding->builder;
	uint32_t stack = 0;
	size_t hidden;

	if (hiding->shown_as != NULL)
		stack = skip_wrappers(hiding, hiding->shown_as[number], &hidden, ret_via);
	if (stack == 0)
		stack = skip_wrappers(hiding, number, &hidden, ret_via);
	if (stack == 0) {
		*ret_via = 0;
		return 0;
	}
	if (hidden > 0) {
		struct gg_model_stack from = builder->stacks.items[stack];

		stack = put_stack(hiding, from.parent,
		                  put_frame(hiding, from.frame, hidden, false));
		if (stack == 0)
			return -ENOMEM;
	}
	builder->stacks.items[number].top = stack;
	return 0;
}

/* The memory that was allocated from a stack as it was read. */
struct stack_use {
	double bytes;
	bool has_samples;
};

static int find_top_and_via(struct hiding *hiding, const struct stack_use *uses, uint32_t number)
{
	struct gg_model_builder *builder = hiding->builder;
	uint32_t via, top;
	int status = find_top(hiding, number, &via);

	top = builder->stacks.items[number].top;
	if (status < 0 || !gg_array_extend(&builder->stack_vias, builder->stacks.count) ||
	    !gg_array_extend(&hiding->via_bytes, builder->stacks.count))
		return -ENOMEM;
	if (via == 0)
		return 0;
	if (uses[number].bytes >= hiding->via_bytes.items[top]) {
		hiding->via_bytes.items[top] = uses[number].bytes;
		builder->stack_vias.items[top] = via;
	}
	return 0;
}

static int find_tops(struct hiding *hiding)
{
	struct gg_model_builder *builder = hiding->builder;
	struct stack_use *uses = calloc(hiding->stack_count, sizeof(*uses));
	int status = 0;

	if (uses == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < builder->samples.count; i++) {
		const struct gg_model_sample *sample = &builder->samples.items[i];

		uses[sample->stack].has_samples = true;
		uses[sample->stack].bytes += sample->weighted_bytes;
	}
	for (size_t i = 0; i < builder->aggregates.count; i++)
		uses[builder->aggregates.items[i].stack].has_samples = true;
	for (size_t i = 1; i < hiding->stack_count && status == 0; i++)
		if (uses[i].has_samples)
			status = find_top_and_via(hiding, uses, (uint32_t)i);
	free(uses);
	return status;
}

int gg_model_hide_functions(struct gg_model *model, const uint8_t *is_hidden,
                            struct gg_error *error)
{
	struct hiding hiding = { .builder = gg_model_builder_of(model),
		                 .is_hidden = is_hidden,
		                 .stack_count = model->stack_count };
	int status;

	for (size_t i = 0; i < hiding.builder->stack_vias.count; i++)
		hiding.builder->stack_vias.items[i] = 0;
	status = leave_out_named(&hiding);
	if (status == 0)
		status = find_tops(&hiding);
	if (status == 0 &&
	    !gg_array_extend(&hiding.builder->stack_vias, hiding.builder->stacks.count))
		status = -ENOMEM;
	gg_model_builder_publish(hiding.builder);
	free(hiding.shown_as);
	gg_map_done(&hiding.frames);
	gg_map_done(&hiding.stacks);
	gg_array_done(&hiding.via_bytes);
	return status < 0 ? gg_error_memory(error, "reading the profile") : 0;
}
