/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_validate - checks a model's arrays against each other.
 *
 * The loader must produce a valid model from every profile, even from a damaged one.  A failure is
 * therefore a bug of geiger, which would otherwise show as a wild read in some report.
 */
#include <errno.h>
#include <math.h>

#include "model/model.h"

/* Reports the first record that is wrong. */
static int wrong(struct gg_error *error, const char *array, size_t index, const char *problem)
{
	return gg_error_set(error, -EBADMSG, "model", NULL, "%s %zu: %s", array, index, problem);
}

/* Every array whose number 0 means "unknown" has that number. */
static int check_unknown(const struct gg_model *model, struct gg_error *error)
{
	if (model->process_count == 0 || model->thread_count == 0 || model->stack_count == 0 ||
	    model->frame_count == 0 || model->location_count == 0 || model->function_count == 0 ||
	    model->line_count == 0 || model->module_count == 0)
		return gg_error_set(error, -EBADMSG, "model", NULL, "an array lacks its number 0");
	if (model->processes[0].pid != 0 || model->process_until_ns[0] != GG_TIME_NONE)
		return wrong(error, "process", 0, "it is not the unknown one");
	if (model->stacks[0].parent != 0 || model->stacks[0].top != 0)
		return wrong(error, "stack", 0, "it is not the unknown one");
	return 0;
}

static const char *problem_of_block(const struct gg_model *model, size_t index)
{
	const struct gg_model_sample *sample = &model->samples[index];

	if (sample->block > index || model->samples[sample->block].block != sample->block)
		return "its block is not the first sample of a block";
	if (sample->block != index && (sample->flags & GG_MODEL_INHERITED) == 0)
		return "it belongs to another block, but was not inherited";
	if ((sample->flags & GG_MODEL_INHERITED) != 0 && !model->has_inherited)
		return "it was inherited, but the model has no inherited samples";
	return NULL;
}

static const char *problem_of_sample(const struct gg_model *model, size_t index)
{
	const struct gg_model_sample *sample = &model->samples[index];

	if (sample->process >= model->process_count || sample->thread >= model->thread_count)
		return "its process or thread does not exist";
	if (sample->stack >= model->stack_count || sample->kind >= model->kind_count)
		return "its stack or allocation class does not exist";
	if (!gg_draw_is_valid(&sample->draw) || !(sample->weighted_bytes >= 0))
		return "it cannot be weighted";
	if (sample->free_ns != GG_TIME_NONE && sample->free_ns > model->end_ns)
		return "it was freed after the model's end";
	if ((sample->flags & GG_MODEL_LEFT) != 0)
		return "it has a flag that belongs to queries";
	return problem_of_block(model, index);
}

/* Inherited samples represent blocks that other samples count already. */
/* Reports begin at the top of a stack with samples, so that stack must be its own top. */
static bool has_top(const struct gg_model *model, uint32_t stack)
{
	uint32_t top = model->stacks[stack].top;

	return top < model->stack_count && model->stacks[top].top == top;
}

static int check_samples(const struct gg_model *model, struct gg_error *error)
{
	uint64_t total = 0;

	for (size_t i = 0; i < model->sample_count; i++) {
		const char *problem = problem_of_sample(model, i);

		if (problem != NULL)
			return wrong(error, "sample", i, problem);
		if (!has_top(model, model->samples[i].stack))
			return wrong(error, "sample", i, "the top of its stack is not a top");
		total += (model->samples[i].flags & GG_MODEL_INHERITED) == 0;
	}
	for (size_t i = 0; i < model->aggregate_count; i++) {
		const struct gg_profile_aggregate *aggregate = &model->aggregates[i];

		if (aggregate->process >= model->process_count ||
		    aggregate->thread >= model->thread_count ||
		    aggregate->stack >= model->stack_count)
			return wrong(error, "aggregate", i,
			             "its process, thread, or stack does not exist");
		if (gg_model_aggregate_kind(model, aggregate) > model->kind_count)
			return wrong(error, "aggregate", i, "its kind does not exist");
		total += aggregate->sums.sample_count;
	}
	if (total != model->sample_total)
		return gg_error_set(error, -EBADMSG, "model", NULL,
		                    "the total number of samples is wrong");
	return 0;
}

static const char *problem_of_process(const struct gg_model *model, size_t index)
{
	const struct gg_profile_process *process = &model->processes[index];

	if (process->id != index)
		return "its id is not its number";
	if (process->parent >= model->process_count)
		return "its parent does not exist";
	if (index > 0 && model->process_sessions[index] >= model->session_count)
		return "its session does not exist";
	if (process->end_ns != GG_TIME_NONE && process->end_ns > model->end_ns)
		return "it ended after the model's end";
	if (model->process_until_ns[index] != GG_TIME_NONE &&
	    model->process_until_ns[index] != process->end_ns)
		return "its blocks end at another time than it does";
	return NULL;
}

static int check_processes(const struct gg_model *model, struct gg_error *error)
{
	for (size_t i = 0; i < model->process_count; i++) {
		const char *problem = problem_of_process(model, i);

		if (problem != NULL)
			return wrong(error, "process", i, problem);
	}
	for (size_t i = 0; i < model->thread_count; i++)
		if (model->threads[i].id != i || model->threads[i].process >= model->process_count)
			return wrong(error, "thread", i,
			             "its id is not its number, or its process does not exist");
	return 0;
}

/* A caller has a smaller number, so every walk from a stack to its callers ends. */
static int check_stacks(const struct gg_model *model, struct gg_error *error)
{
	for (size_t i = 1; i < model->stack_count; i++) {
		const struct gg_model_stack *stack = &model->stacks[i];

		if (stack->parent >= i)
			return wrong(error, "stack", i, "its caller is not before it");
		if (stack->frame >= model->frame_count)
			return wrong(error, "stack", i, "its frame does not exist");
		if (stack->top >= model->stack_count)
			return wrong(error, "stack", i, "its top does not exist");
		if (model->stack_vias != NULL && model->stack_vias[i] >= model->function_count)
			return wrong(error, "stack", i, "it allocated through no function");
	}
	return 0;
}

static int check_frames(const struct gg_model *model, struct gg_error *error)
{
	for (size_t i = 0; i < model->frame_count; i++) {
		const struct gg_model_frame *frame = &model->frames[i];

		if (frame->module >= model->module_count)
			return wrong(error, "frame", i, "its module does not exist");
		if (frame->location_count == 0 || frame->first_location >= model->location_count ||
		    frame->location_count > model->location_count - frame->first_location)
			return wrong(error, "frame", i, "its locations do not exist");
	}
	for (size_t i = 0; i < model->location_count; i++) {
		const struct gg_code_location *location = &model->locations[i];

		if (location->function >= model->function_count ||
		    location->line >= model->line_count)
			return wrong(error, "location", i, "its function or line does not exist");
		if (model->lines[location->line].function != location->function)
			return wrong(error, "location", i, "its line is in another function");
	}
	return 0;
}

static int check_names(const struct gg_model *model, struct gg_error *error)
{
	for (size_t i = 0; i < model->function_count; i++) {
		const struct gg_model_function *function = &model->functions[i];

		if (function->module >= model->module_count)
			return wrong(error, "function", i, "its module does not exist");
		if (function->name == NULL || function->short_name == NULL ||
		    (function->is_named && function->full_name == NULL))
			return wrong(error, "function", i, "it has no name");
	}
	for (size_t i = 0; i < model->line_count; i++)
		if (model->lines[i].function >= model->function_count)
			return wrong(error, "line", i, "its function does not exist");
	for (size_t i = 0; i < model->module_count; i++)
		if (model->modules[i].path == NULL || model->modules[i].name == NULL ||
		    model->modules[i].build_id == NULL)
			return wrong(error, "module", i, "it has no name");
	for (size_t i = 0; i < model->kind_count; i++)
		if (model->kinds[i].name == NULL || model->kinds[i].heap >= model->heap_count ||
		    model->kinds[i].type >= model->type_count)
			return wrong(error, "allocation class", i,
			             "its heap or type does not exist");
	return 0;
}

static int check_spans(const struct gg_model *model, const struct gg_model_span *spans,
                       size_t count, const char *array, struct gg_error *error)
{
	for (size_t i = 0; i < count; i++) {
		if (spans[i].process == 0 || spans[i].process >= model->process_count)
			return wrong(error, array, i, "its process does not exist");
		if (i > 0 && (spans[i].process < spans[i - 1].process ||
		              (spans[i].process == spans[i - 1].process &&
		               spans[i].to_ns < spans[i - 1].to_ns)))
			return wrong(error, array, i, "it is not in its order");
	}
	return 0;
}

static int check_records(const struct gg_model *model, struct gg_error *error)
{
	for (size_t i = 0; i < model->mapping_count; i++)
		if (model->mappings[i].process >= model->process_count ||
		    model->mappings[i].module >= model->module_count)
			return wrong(error, "mapping", i, "its process or module does not exist");
	for (size_t i = 0; i < model->memory_count; i++) {
		if (model->memory[i].process >= model->process_count)
			return wrong(error, "reading of memory", i, "its process does not exist");
		if (i > 0 && model->memory[i].time_ns < model->memory[i - 1].time_ns)
			return wrong(error, "reading of memory", i, "it is not in its order");
	}
	for (size_t i = 0; i < model->counter_count; i++)
		if (model->counters[i].process >= model->process_count)
			return wrong(error, "counter", i, "its process does not exist");
	for (size_t i = 0; i < model->label_count; i++) {
		const struct gg_model_label *label = &model->labels[i];

		if (label->process == 0 || label->process >= model->process_count)
			return wrong(error, "label", i, "its process does not exist");
		if (label->key == NULL || label->value == NULL)
			return wrong(error, "label", i, "it lacks its key or value");
		if (i > 0 && label->process < model->labels[i - 1].process)
			return wrong(error, "label", i, "it is not in its order");
	}
	for (size_t i = 0; i < model->fault_count; i++) {
		const struct gg_profile_fault *fault = &model->faults[i];

		if (fault->process >= model->process_count || fault->kind == NULL)
			return wrong(error, "fault", i, "its process or kind does not exist");
		if (fault->accessed.stack >= model->stack_count ||
		    fault->allocated.stack >= model->stack_count ||
		    fault->freed.stack >= model->stack_count)
			return wrong(error, "fault", i, "one of its stacks does not exist");
	}
	for (size_t i = 0; i < model->attach_count; i++) {
		const struct gg_profile_attach *attach = &model->attaches[i];

		if (attach->process == 0 || attach->process >= model->process_count)
			return wrong(error, "attach", i, "its process does not exist");
		if (i > 0 && attach->process <= model->attaches[i - 1].process)
			return wrong(error, "attach", i, "it is not in its order");
	}
	return 0;
}

static int check_looks(const struct gg_model *model, struct gg_error *error)
{
	for (size_t i = 0; i < model->look_count; i++)
		if (model->looks[i].id != i || model->looks[i].process == 0 ||
		    model->looks[i].process >= model->process_count)
			return wrong(error, "look", i,
			             "its id is not its number, or its process does not exist");
	for (size_t i = 0; i < model->look_mapping_count; i++)
		if (model->look_mappings[i].look >= model->look_count ||
		    model->look_mappings[i].kind >= GG_MAPPING_KIND_COUNT)
			return wrong(error, "mapping of a look", i,
			             "its look or kind does not exist");
	for (size_t i = 0; i < model->look_block_count; i++) {
		const struct gg_profile_look_block *block = &model->look_blocks[i];

		if (block->look >= model->look_count ||
		    (block->sample >= model->sample_count && block->sample != GG_MODEL_NO_SAMPLE))
			return wrong(error, "block of a look", i,
			             "its look or sample does not exist");
	}
	for (size_t i = 0; i < model->look_total_count; i++)
		if (model->look_totals[i].look >= model->look_count ||
		    model->look_totals[i].name == NULL)
			return wrong(error, "total of a look", i,
			             "its look does not exist, or it has no name");
	return 0;
}

int gg_model_validate(const struct gg_model *model, struct gg_error *error)
{
	int status = check_unknown(model, error);

	status = status != 0 ? status : check_processes(model, error);
	status = status != 0 ? status : check_stacks(model, error);
	status = status != 0 ? status : check_frames(model, error);
	status = status != 0 ? status : check_names(model, error);
	status = status != 0 ? status : check_samples(model, error);
	status = status != 0 ? status : check_records(model, error);
	status = status != 0 ? status : check_looks(model, error);
	status = status != 0 ? status
	                     : check_spans(model, model->losses, model->loss_count, "loss", error);
	return status != 0 ? status
	                   : check_spans(model, model->pauses, model->pause_count, "pause", error);
}
