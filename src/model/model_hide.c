/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_hide - leaves functions out of stacks, so that reports name the code that uses them.
 *
 * Four kinds of functions are hidden.  Wrappers of the allocator (xmalloc(), std::vector<T>::
 * push_back()) vanish where they are the innermost functions of a sample's stack; the caller gets
 * the memory.  The same is true of libraries if the user asked for the program's own code.
 * Functions that the user named vanish everywhere.  Functions of an interpreter vanish from stacks
 * that show the interpreted program's own functions.
 *
 * A stack is a node of a tree, and a frame may have several locations, because calls are inlined.
 * So hiding never changes a stack or a frame as it was read.  It makes the tree without the
 * functions beside the other, from as many of the old nodes as possible, and points `top` of each
 * stack that has samples into it.  Reports begin at the top, so they see nothing of this.
 *
 *   step 1   finds for each stack the one without the functions that the user named, and, if it has
 *            a frame of a language runtime, without those of the interpreter (shown_as)
 *   step 2   walks from each stack with samples past wrappers and libraries
 *
 * A stack of which everything is hidden keeps its frames, because its memory must appear somewhere.
 * A stack without a function of the program's own code is replaced by a single frame that says so.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "model/model_builder.h"
#include "region/fixed.h"

/* A set of functions that step 1 leaves out; a frame may lose different parts in each. */
enum hidden_set { NO_FUNCTIONS, NAMED, NAMED_AND_INTERPRETER };

struct hiding {
	struct gg_model_builder *builder;
	const uint8_t *is_named;      /* by function; NULL: none is named */
	const uint8_t *is_hidden;     /* by function, in step 1 at present: is_named, or more */
	enum hidden_set hidden_set;   /* of is_hidden */
	const uint8_t *is_own_module; /* by module; NULL: all are the program's own */
	const char *no_own_frame;     /* the name of no_own_stack */
	uint32_t no_own_stack;        /* replaces stacks without an own function; 0: not made yet */
	size_t stack_count;           /* as they were read */
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

/* Copies the locations of a frame from `first` on, but none that the user named. */
static int copy_locations(struct hiding *hiding, const struct gg_model_frame *frame, size_t first,
                          bool without_named, struct gg_model_frame *ret_copy)
{
	struct gg_model_builder *builder = hiding->builder;

	*ret_copy = *frame;
	ret_copy->first_location = (uint32_t)builder->locations.count;
	ret_copy->location_count = 0;
	for (size_t i = first; i < frame->location_count; i++) {
		struct gg_code_location *location;

		if (without_named && is_named(hiding, frame, i))
			continue;
		location = gg_array_add(&builder->locations);
		if (location == NULL)
			return -ENOMEM;
		*location = builder->locations.items[frame->first_location + i];
		ret_copy->location_count++;
	}
	gg_assert(ret_copy->location_count > 0);
	return 0;
}

/*
 * The frame with some of its locations: those from `first` on that the user did not name.  The same
 * call makes no second frame.
 */
static int put_frame(struct hiding *hiding, uint32_t number, size_t first, bool without_named,
                     uint32_t *ret_frame)
{
	struct gg_model_builder *builder = hiding->builder;
	uint64_t key = (uint64_t)number << 32 | first << 2 |
	               (without_named ? hiding->hidden_set : NO_FUNCTIONS);
	uint64_t made = gg_map_get(&hiding->frames, key);
	struct gg_model_frame copy;

	if (made == GG_MAP_NONE) {
		made = builder->frames.count;
		if (copy_locations(hiding, &builder->frames.items[number], first, without_named,
		                   &copy) < 0 ||
		    !gg_array_push(&builder->frames, copy) ||
		    gg_map_put(&hiding->frames, key, made) < 0)
			return -ENOMEM;
	}
	*ret_frame = (uint32_t)made;
	return 0;
}

/* The stack of a frame and its caller; made if it is new. */
static int put_stack(struct hiding *hiding, uint32_t parent, uint32_t frame, uint32_t *ret_stack)
{
	struct gg_model_builder *builder = hiding->builder;
	uint64_t key = (uint64_t)parent << 32 | frame;
	uint64_t made = gg_map_get(&hiding->stacks, key);

	if (made == GG_MAP_NONE) {
		const struct gg_model_stack stack = { parent, frame,
			                              (uint32_t)builder->stacks.count };

		made = builder->stacks.count;
		if (!gg_array_push(&builder->stacks, stack) ||
		    gg_map_put(&hiding->stacks, key, made) < 0)
			return -ENOMEM;
	}
	*ret_stack = (uint32_t)made;
	return 0;
}

/* Makes the stack of a single frame for the memory of which no function is the program's own. */
static int put_no_own_stack(struct hiding *hiding)
{
	struct gg_model_builder *builder = hiding->builder;
	bool failed = false;
	const char *name = gg_model_text(builder, hiding->no_own_frame, &failed);
	const struct gg_model_module module = { .path = name,
		                                .name = name,
		                                .build_id = builder->modules.items[0].build_id };
	const struct gg_model_function function = { .name = name,
		                                    .short_name = name,
		                                    .module = (uint32_t)builder->modules.count };
	const struct gg_model_line line = { .function = (uint32_t)builder->functions.count };
	const struct gg_code_location location = { line.function, (uint32_t)builder->lines.count };
	const struct gg_model_frame frame = { .module = function.module,
		                              .first_location = (uint32_t)builder->locations.count,
		                              .location_count = 1 };

	if (hiding->no_own_stack != 0)
		return 0;
	if (failed || !gg_array_push(&builder->modules, module) ||
	    !gg_array_push(&builder->functions, function) ||
	    !gg_array_push(&builder->lines, line) ||
	    !gg_array_push(&builder->locations, location) ||
	    !gg_array_push(&builder->frames, frame))
		return -ENOMEM;
	return put_stack(hiding, 0, (uint32_t)builder->frames.count - 1, &hiding->no_own_stack);
}

/* --- step 1: without the functions that the user named -------------------------------------- */

static size_t count_named(const struct hiding *hiding, const struct gg_model_frame *frame)
{
	size_t count = 0;

	for (size_t i = 0; i < frame->location_count; i++)
		count += is_named(hiding, frame, i);
	return count;
}

/* The stack without hidden functions, of a stack whose caller has been done already. */
static int show_without_hidden(struct hiding *hiding, uint32_t *shown_as, uint32_t number)
{
	struct gg_model_builder *builder = hiding->builder;
	struct gg_model_stack stack = builder->stacks.items[number];
	struct gg_model_frame frame = builder->frames.items[stack.frame];
	uint32_t parent = shown_as[stack.parent], kept = stack.frame;
	size_t named = count_named(hiding, &frame);

	if (named == frame.location_count) {
		shown_as[number] = parent;
		return 0;
	}
	if (named == 0 && parent == stack.parent) {
		shown_as[number] = number;
		return gg_map_put(&hiding->stacks, (uint64_t)parent << 32 | stack.frame, number);
	}
	if (named > 0 && put_frame(hiding, stack.frame, 0, true, &kept) < 0)
		return -ENOMEM;
	return put_stack(hiding, parent, kept, &shown_as[number]);
}

/* Callers have smaller numbers, so one pass suffices.  NULL: no memory. */
static uint32_t *leave_out(struct hiding *hiding, const uint8_t *is_hidden, enum hidden_set set)
{
	uint32_t *shown_as = calloc(hiding->stack_count, sizeof(*shown_as));

	hiding->is_hidden = is_hidden;
	hiding->hidden_set = set;
	for (size_t i = 1; i < hiding->stack_count && shown_as != NULL; i++) {
		if (show_without_hidden(hiding, shown_as, (uint32_t)i) == 0)
			continue;
		free(shown_as);
		return NULL;
	}
	return shown_as;
}

static int leave_out_named(struct hiding *hiding)
{
	if (hiding->is_named == NULL)
		return 0;
	hiding->shown_as = leave_out(hiding, hiding->is_named, NAMED);
	return hiding->shown_as != NULL ? 0 : -ENOMEM;
}

/* Replaces the result of leave_out_named() for stacks with a frame of a runtime. */
static int choose_beside_runtime(struct hiding *hiding, const struct gg_model *model,
                                 const uint32_t *without)
{
	uint8_t *has_runtime = calloc(hiding->stack_count, 1);

	if (hiding->shown_as == NULL) {
		hiding->shown_as = calloc(hiding->stack_count, sizeof(*hiding->shown_as));
		for (size_t i = 1; i < hiding->stack_count && hiding->shown_as != NULL; i++)
			hiding->shown_as[i] = (uint32_t)i;
	}
	if (has_runtime == NULL || hiding->shown_as == NULL) {
		free(has_runtime);
		return -ENOMEM;
	}
	for (size_t i = 1; i < hiding->stack_count; i++) {
		const struct gg_model_stack *stack = &hiding->builder->stacks.items[i];

		has_runtime[i] = has_runtime[stack->parent] ||
		                 gg_model_is_runtime_frame(
					 model, &hiding->builder->frames.items[stack->frame]);
		if (has_runtime[i])
			hiding->shown_as[i] = without[i];
	}
	free(has_runtime);
	return 0;
}

static int leave_out_interpreter(struct hiding *hiding, const struct gg_model *model,
                                 const uint8_t *is_interpreter)
{
	uint8_t *is_hidden;
	uint32_t *without = NULL;
	int status = -ENOMEM;

	if (is_interpreter == NULL)
		return 0;
	is_hidden = calloc(model->function_count, 1);
	for (size_t i = 0; i < model->function_count && is_hidden != NULL; i++)
		is_hidden[i] = is_interpreter[i] ||
		               (hiding->is_named != NULL && hiding->is_named[i]);
	if (is_hidden != NULL)
		without = leave_out(hiding, is_hidden, NAMED_AND_INTERPRETER);
	if (without != NULL)
		status = choose_beside_runtime(hiding, model, without);
	free(without);
	free(is_hidden);
	return status;
}

/* --- step 2: without wrappers and libraries at the innermost end ---------------------------- */

/* Functions that vanish at the innermost end, besides those of the allocator itself. */
enum innermost { ALLOCATOR = 0, WRAPPERS = 1, LIBRARIES = 2 };

static bool is_left_out(const struct hiding *hiding, const struct gg_model_function *function,
                        unsigned what)
{
	return function->is_entry || ((what & WRAPPERS) != 0 && function->is_wrapper) ||
	       ((what & LIBRARIES) != 0 && !hiding->is_own_module[function->module]);
}

/* The number of innermost locations that are hidden; all of them in an entry of the allocator. */
static size_t count_left_out(const struct hiding *hiding, const struct gg_model_frame *frame,
                             unsigned what, uint32_t *ret_via)
{
	size_t count = 0;

	if (function_at(hiding, frame, frame->location_count - 1)->is_entry)
		return frame->location_count;
	while (count < frame->location_count) {
		const struct gg_model_function *function = function_at(hiding, frame, count);

		if (!is_left_out(hiding, function, what))
			break;
		if (!function->is_entry)
			*ret_via = (uint32_t)(function - hiding->builder->functions.items);
		count++;
	}
	return count;
}

/* The innermost frame of a stack that is not hidden as a whole. */
struct beginning {
	uint32_t stack; /* 0: everything is hidden */
	size_t hidden;  /* so many innermost locations of its frame are hidden */
	uint32_t via;   /* the outermost hidden function, or 0 */
};

static struct beginning skip(const struct hiding *hiding, uint32_t stack, unsigned what)
{
	const struct gg_model_builder *builder = hiding->builder;
	struct beginning beginning = { 0 };

	for (; stack != 0; stack = builder->stacks.items[stack].parent) {
		const struct gg_model_frame *frame =
			&builder->frames.items[builder->stacks.items[stack].frame];

		beginning.hidden = count_left_out(hiding, frame, what, &beginning.via);
		if (beginning.hidden < frame->location_count)
			break;
	}
	beginning.stack = stack;
	return beginning;
}

/*
 * Leaves out as much as possible: first what the user named as well, and in the end the allocator
 * alone.  The program's own code may consist of wrappers, but it never contains a library.
 */
static struct beginning find_beginning(const struct hiding *hiding, uint32_t number)
{
	unsigned libraries = hiding->is_own_module != NULL ? LIBRARIES : 0;
	struct beginning found = { 0 };

	if (hiding->shown_as != NULL)
		found = skip(hiding, hiding->shown_as[number], WRAPPERS | libraries);
	if (found.stack == 0)
		found = skip(hiding, number, WRAPPERS | libraries);
	if (found.stack == 0)
		found = skip(hiding, number, ALLOCATOR | libraries);
	return found;
}

/* ret_via: the outermost hidden function, or 0. */
static int find_top(struct hiding *hiding, uint32_t number, uint32_t *ret_via)
{
	struct gg_model_builder *builder = hiding->builder;
	struct beginning found = find_beginning(hiding, number);
	uint32_t top = found.stack;
	int status = 0;

	if (found.stack == 0 && hiding->is_own_module != NULL) {
		found.via = 0;
		status = put_no_own_stack(hiding);
		top = hiding->no_own_stack;
	} else if (found.stack != 0 && found.hidden > 0) {
		struct gg_model_stack from = builder->stacks.items[found.stack];
		uint32_t frame;

		status = put_frame(hiding, from.frame, found.hidden, false, &frame);
		if (status == 0)
			status = put_stack(hiding, from.parent, frame, &top);
	}
	*ret_via = top != 0 ? found.via : 0;
	if (status == 0)
		builder->stacks.items[number].top = top;
	return status;
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
	for (size_t i = 0; i < builder->aggregates.count; i++) {
		const struct gg_profile_aggregate *aggregate = &builder->aggregates.items[i];

		uses[aggregate->stack].has_samples = true;
		uses[aggregate->stack].bytes += gg_fixed_value(aggregate->sums.bytes);
	}
	for (size_t i = 1; i < hiding->stack_count && status == 0; i++)
		if (uses[i].has_samples)
			status = find_top_and_via(hiding, uses, (uint32_t)i);
	free(uses);
	return status;
}

bool gg_model_is_runtime_frame(const struct gg_model *model, const struct gg_model_frame *frame)
{
	const struct gg_code_location *location = &model->locations[frame->first_location];
	const char *file = model->lines[location->line].file;

	return frame->module != 0 && file != NULL &&
	       strcmp(file, model->modules[frame->module].path) == 0;
}

int gg_model_hide_functions(struct gg_model *model, const struct gg_model_hiding *what,
                            struct gg_error *error)
{
	struct hiding hiding = { .builder = gg_model_builder_of(model),
		                 .is_named = what->is_hidden,
		                 .is_own_module = what->is_own_module,
		                 .no_own_frame = what->no_own_frame,
		                 .stack_count = model->stack_count };
	int status;

	gg_assert(what->is_own_module == NULL || what->no_own_frame != NULL);
	for (size_t i = 0; i < hiding.builder->stack_vias.count; i++)
		hiding.builder->stack_vias.items[i] = 0;
	status = leave_out_named(&hiding);
	if (status == 0)
		status = leave_out_interpreter(&hiding, model, what->is_hidden_beside_runtime);
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
