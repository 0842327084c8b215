/* SPDX-License-Identifier: Apache-2.0 */
#include "model/model.h"

#include "stats/sampling/optimal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/binary_search.h"
#include "model/model_internal.h"
#include "profile/last_end.h"

void gg_model_free(struct gg_model *model)
{
	if (model == NULL)
		return;
	for (size_t i = 0; i < model->chunks.count; i++)
		free(model->chunks.items[i]);
	gg_array_done(&model->samples);
	gg_array_done(&model->coarse);
	gg_array_done(&model->processes);
	gg_array_done(&model->threads);
	gg_array_done(&model->sessions);
	gg_array_done(&model->memory);
	gg_array_done(&model->counters);
	gg_array_done(&model->labels);
	gg_array_done(&model->nodes);
	gg_array_done(&model->frames);
	gg_array_done(&model->places);
	gg_array_done(&model->functions);
	gg_array_done(&model->lines);
	gg_array_done(&model->modules);
	gg_array_done(&model->mappings);
	gg_array_done(&model->notes);
	gg_array_done(&model->kinds);
	gg_array_done(&model->heaps);
	gg_array_done(&model->types);
	gg_array_done(&model->kind_parts);
	gg_array_done(&model->untils);
	gg_array_done(&model->sessions_of);
	gg_array_done(&model->chunks);
	gg_array_done(&model->text_list);
	gg_array_done(&model->losses);
	gg_array_done(&model->pauses);
	gg_map_done(&model->texts);
	gg_map_done(&model->function_map);
	gg_map_done(&model->line_map);
	free(model);
}

const struct gg_model_sample *gg_model_samples(const struct gg_model *model, size_t *ret_count)
{
	*ret_count = model->samples.count;
	return model->samples.items;
}

const struct gg_profile_coarse *gg_model_coarse(const struct gg_model *model, size_t *ret_count)
{
	*ret_count = model->coarse.count;
	return model->coarse.items;
}

void gg_model_add_coarse(const struct gg_model *model, struct gg_tally *tally,
                         const struct gg_profile_coarse *coarse)
{
	const struct gg_sums *sums = &coarse->sums;
	struct gg_folded folded = {
		.sample_count = sums->sample_count,
		.seen_bytes = sums->size_bytes,
		.bytes = gg_fixed_value(sums->bytes),
		.bytes_variance = gg_fixed_value(sums->bytes_variance),
		.count = gg_fixed_value(sums->count),
		.count_variance = gg_fixed_value(sums->count_variance),
		.bytes_skew = coarse->bytes_skew,
		.count_skew = coarse->count_skew,
		.interval = coarse->interval_bytes,
		.scheme = model->processes.items[coarse->process].scheme,
		.most_bytes = UINT64_MAX,
		.unknown_errors = coarse->unknown_errors,
	};

	if (coarse->size_class < 64) {
		folded.most_bytes = UINT64_C(1) << coarse->size_class;
		folded.least_bytes = coarse->size_class == 0 ? 0 : folded.most_bytes / 2 + 1;
	}
	gg_tally_add_folded(tally, &folded);
}

size_t gg_model_function_count(const struct gg_model *model)
{
	return model->functions.count;
}

struct gg_model_function gg_model_function(const struct gg_model *model, uint32_t function)
{
	return model->functions.items[function].function;
}

size_t gg_model_line_count(const struct gg_model *model)
{
	return model->lines.count;
}

struct gg_model_line gg_model_line(const struct gg_model *model, uint32_t line)
{
	return model->lines.items[line];
}

size_t gg_model_module_count(const struct gg_model *model)
{
	return model->modules.count;
}

const char *gg_model_module_path(const struct gg_model *model, uint32_t module)
{
	return model->modules.items[module].path;
}

const char *gg_model_module_name(const struct gg_model *model, uint32_t module)
{
	return model->modules.items[module].name;
}

const char *gg_model_module_status(const struct gg_model *model, uint32_t module)
{
	return model->modules.items[module].status;
}

const char *gg_model_module_build_id(const struct gg_model *model, uint32_t module)
{
	return model->modules.items[module].build_id;
}

const struct gg_profile_mapping *gg_model_mappings(const struct gg_model *model, size_t *ret_count)
{
	*ret_count = model->mappings.count;
	return model->mappings.items;
}

size_t gg_model_stack_count(const struct gg_model *model)
{
	return model->nodes.count;
}

uint32_t gg_model_stack_parent(const struct gg_model *model, uint32_t stack)
{
	return model->nodes.items[stack].parent;
}

uint32_t gg_model_stack_top(const struct gg_model *model, uint32_t stack)
{
	return model->nodes.items[stack].top;
}

const struct gg_code_location *gg_model_stack_places(const struct gg_model *model, uint32_t stack,
                                                     size_t *ret_count)
{
	const struct gg_model_node *node = model->nodes.items + stack;
	const struct gg_model_frame *frame = model->frames.items + node->frame;

	*ret_count = frame->place_count;
	return model->places.items + frame->first_place;
}

struct gg_model_spot gg_model_stack_spot(const struct gg_model *model, uint32_t stack)
{
	const struct gg_model_node *node = model->nodes.items + stack;
	const struct gg_model_frame *frame = model->frames.items + node->frame;

	return (struct gg_model_spot){ frame->module, frame->address };
}

size_t gg_model_path(const struct gg_model *model, uint32_t stack, struct gg_code_location *places,
                     size_t max)
{
	size_t count = 0, here;

	stack = gg_model_stack_top(model, stack);
	do { /* an empty stack has the unknown location */
		const struct gg_code_location *of = gg_model_stack_places(model, stack, &here);

		for (size_t i = 0; i < here; i++, count++)
			if (count < max)
				places[count] = of[i];
		stack = gg_model_stack_parent(model, stack);
	} while (stack != 0);
	return count;
}

size_t gg_model_kind_count(const struct gg_model *model)
{
	return model->kinds.count;
}

const char *gg_model_kind_name(const struct gg_model *model, uint32_t kind)
{
	return model->kinds.items[kind];
}

struct gg_model_kind gg_model_kind(const struct gg_model *model, uint32_t kind)
{
	return model->kind_parts.items[kind];
}

size_t gg_model_heap_count(const struct gg_model *model)
{
	return model->heaps.count;
}

const char *gg_model_heap_name(const struct gg_model *model, uint32_t heap)
{
	return model->heaps.items[heap];
}

size_t gg_model_type_count(const struct gg_model *model)
{
	return model->types.count;
}

const char *gg_model_type_name(const struct gg_model *model, uint32_t type)
{
	return model->types.items[type];
}

struct gg_model_unresolved gg_model_unresolved(const struct gg_model *model)
{
	const struct gg_model_frame *frames = model->frames.items;
	const struct gg_code_location *places = model->places.items;
	struct gg_model_unresolved unresolved = {
		.all_frame_count = model->frames.count - 1,
	};
	uint64_t *counts = calloc(model->modules.count, sizeof(*counts));

	if (counts == NULL)
		return unresolved;
	for (size_t i = 1; i < model->frames.count; i++) {
		uint32_t function = places[frames[i].first_place].function;
		uint32_t module = frames[i].module;

		if (gg_model_function(model, function).is_named)
			continue;
		unresolved.frame_count++;
		if (++counts[module] > unresolved.worst_frame_count) {
			unresolved.worst_frame_count = counts[module];
			unresolved.worst_module = module;
		}
	}
	free(counts);
	return unresolved;
}

const struct gg_profile_process *gg_model_processes(const struct gg_model *model, size_t *ret_count)
{
	*ret_count = model->processes.count;
	return model->processes.items;
}

const struct gg_profile_thread *gg_model_threads(const struct gg_model *model, size_t *ret_count)
{
	*ret_count = model->threads.count;
	return model->threads.items;
}

/* Each session has its own last end, because moments of different sessions cannot be compared. */
int gg_model_find_untils(const struct gg_model *model, const uint8_t *is_in, int64_t *ret_untils)
{
	const struct gg_profile_process *processes = model->processes.items;
	const uint32_t *sessions = model->sessions_of.items;
	struct gg_last_end *lasts = calloc(model->sessions.count + 1, sizeof(*lasts));

	if (lasts == NULL)
		return -ENOMEM;
	for (size_t i = 1; i < model->processes.count; i++)
		if (is_in == NULL || is_in[i])
			gg_last_end_note(&lasts[sessions[i]], processes[i].end_ns);
	ret_untils[0] = GG_TIME_NONE; /* the unknown process has no end */
	for (size_t i = 1; i < model->processes.count; i++)
		ret_untils[i] = gg_last_end_until(&lasts[sessions[i]], processes[i].end_ns);
	free(lasts);
	return 0;
}

int64_t gg_model_process_until(const struct gg_model *model, uint32_t process)
{
	return model->untils.items[process];
}

int64_t gg_model_sample_until(const struct gg_model *model, const struct gg_model_sample *sample)
{
	return sample->free_ns != GG_TIME_NONE ? sample->free_ns
	                                       : gg_model_process_until(model, sample->process);
}

bool gg_model_ends_last_of_pid(const struct gg_model *model, uint32_t process)
{
	const struct gg_profile_process *processes = model->processes.items;
	const uint32_t *sessions = model->sessions_of.items;

	for (size_t i = 1; i < model->processes.count; i++)
		if (processes[i].pid == processes[process].pid &&
		    sessions[i] == sessions[process] &&
		    processes[i].end_ns > processes[process].end_ns)
			return false;
	return true;
}

int64_t gg_model_process_end(const struct gg_model *model, uint32_t process)
{
	int64_t end_ns = model->processes.items[process].end_ns;

	return process == 0 || end_ns == GG_TIME_NONE ? model->end_ns : end_ns;
}

size_t gg_model_session_count(const struct gg_model *model)
{
	return model->sessions.count;
}

const struct gg_profile_session *gg_model_session(const struct gg_model *model, size_t index)
{
	return model->sessions.items + index;
}

const struct gg_profile_memory *gg_model_memory(const struct gg_model *model, size_t *ret_count)
{
	*ret_count = model->memory.count;
	return model->memory.items;
}

size_t gg_model_note_count(const struct gg_model *model)
{
	return model->notes.count;
}

const char *gg_model_note(const struct gg_model *model, size_t index)
{
	return model->notes.items[index];
}

const struct gg_model_counter *gg_model_counters(const struct gg_model *model, size_t *ret_count)
{
	*ret_count = model->counters.count;
	return model->counters.items;
}

const struct gg_model_label *gg_model_labels(const struct gg_model *model, size_t *ret_count)
{
	*ret_count = model->labels.count;
	return model->labels.items;
}

const char *gg_model_label(const struct gg_model *model, uint32_t process, const char *key)
{
	const struct gg_model_label *labels = model->labels.items;
	size_t at = gg_lower_bound(0, model->labels.count, i, labels[i].process < process);

	for (; at < model->labels.count && labels[at].process == process; at++)
		if (strcmp(labels[at].key, key) == 0)
			return labels[at].value;
	return NULL;
}

int64_t gg_model_end_ns(const struct gg_model *model)
{
	return model->end_ns;
}

bool gg_model_has_history(const struct gg_model *model)
{
	for (size_t i = 0; i < model->sessions.count; i++)
		if (!gg_model_session(model, i)->has_history)
			return false;
	return true;
}

bool gg_model_has_times(const struct gg_model *model)
{
	size_t count;
	const struct gg_profile_coarse *coarse = gg_model_coarse(model, &count);

	for (size_t i = 0; i < count; i++)
		if (coarse[i].to_ns == GG_TIME_NONE)
			return false;
	return true;
}

uint64_t gg_model_sample_total(const struct gg_model *model)
{
	return model->sample_total;
}

bool gg_model_is_unprofiled(const struct gg_model *model)
{
	return model->processes.count <= 1 && model->samples.count == 0 && model->coarse.count == 0;
}

/* A process without a sampling interval has that of its session. */
double gg_model_interval(const struct gg_model *model, uint32_t process)
{
	const struct gg_profile_process *processes = model->processes.items;
	double interval = 0;

	for (size_t i = 1; i < model->processes.count; i++)
		if ((process == 0 || process == i) &&
		    processes[i].scheme != GG_SCHEME_PER_ALLOCATION)
			interval = fmax(interval, processes[i].interval_bytes);
	if (model->processes.count > 1 && interval > 0)
		return interval;
	for (size_t i = 0; i < model->sessions.count; i++)
		if (gg_model_session(model, i)->scheme != GG_SCHEME_PER_ALLOCATION)
			interval = fmax(interval, gg_model_session(model, i)->interval_bytes);
	return interval;
}

double gg_model_least_interval(const struct gg_model *model)
{
	const struct gg_profile_process *processes = model->processes.items;
	const struct gg_profile_coarse *coarse = model->coarse.items;
	double least = gg_model_interval(model, 0);

	if (model->least_interval > 0)
		least = fmin(least, model->least_interval);
	for (size_t i = 1; i < model->processes.count; i++)
		if (processes[i].interval_bytes > 0 &&
		    processes[i].scheme != GG_SCHEME_PER_ALLOCATION)
			least = fmin(least, processes[i].interval_bytes);
	for (size_t i = 0; i < model->coarse.count; i++)
		if (coarse[i].interval_bytes > 0)
			least = fmin(least, coarse[i].interval_bytes);
	return least;
}

double gg_model_exposure(const struct gg_model *model, uint32_t process)
{
	const struct gg_profile_process *processes = model->processes.items;
	double interval = gg_model_interval(model, process);

	if (interval <= 1) /* everything was sampled, whatever the scheme */
		return interval;
	/* The plan samples some sizes more coarsely; a group without samples may have such sizes. */
	for (size_t i = 1; i < model->processes.count; i++)
		if ((process == 0 || process == i) && processes[i].scheme == GG_SCHEME_OPTIMAL)
			return interval * GG_OPTIMAL_COARSER;
	return interval;
}
