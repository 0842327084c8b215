/* SPDX-License-Identifier: Apache-2.0 */
#include "model/model.h"

#include "stats/sampling/optimal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_internal.h"
#include "profile/last_end.h"

static void free_chunks(struct gg_model *model)
{
	char **chunks = model->chunks.data;

	for (size_t i = 0; i < model->chunks.used_count; i++)
		free(chunks[i]);
}

void gg_model_free(struct gg_model *model)
{
	if (model == NULL)
		return;
	struct gg_items *all[] = {
		&model->samples,   &model->coarse,     &model->processes, &model->threads,
		&model->memory,    &model->sessions,   &model->notes,     &model->nodes,
		&model->counters,  &model->frames,     &model->places,    &model->lines,
		&model->functions, &model->modules,    &model->kinds,     &model->heaps,
		&model->types,     &model->kind_parts, &model->chunks,    &model->text_list,
		&model->mappings,  &model->labels,     &model->untils,    &model->sessions_of,
		&model->losses,    &model->pauses,
	};

	free_chunks(model);
	for (size_t i = 0; i < GG_COUNT(all); i++)
		free(all[i]->data);
	gg_map_done(&model->texts);
	gg_map_done(&model->function_map);
	gg_map_done(&model->line_map);
	free(model);
}

const struct gg_model_sample *gg_model_samples(const struct gg_model *model, size_t *ret_count)
{
	*ret_count = model->samples.used_count;
	return GG_ITEMS(model, samples, const struct gg_model_sample);
}

const struct gg_coarse *gg_model_coarse(const struct gg_model *model, size_t *ret_count)
{
	*ret_count = model->coarse.used_count;
	return GG_ITEMS(model, coarse, const struct gg_coarse);
}

void gg_model_add_coarse(const struct gg_model *model, struct gg_tally *tally,
                         const struct gg_coarse *coarse)
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
		.scheme = GG_ITEMS(model, processes, struct gg_process)[coarse->process].scheme,
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
	return model->functions.used_count;
}

struct gg_model_function gg_model_function(const struct gg_model *model, uint32_t function)
{
	return GG_ITEMS(model, functions, struct gg_model_function_record)[function].function;
}

size_t gg_model_line_count(const struct gg_model *model)
{
	return model->lines.used_count;
}

struct gg_model_line gg_model_line(const struct gg_model *model, uint32_t line)
{
	return GG_ITEMS(model, lines, struct gg_model_line)[line];
}

size_t gg_model_module_count(const struct gg_model *model)
{
	return model->modules.used_count;
}

const char *gg_model_module_path(const struct gg_model *model, uint32_t module)
{
	return GG_ITEMS(model, modules, struct gg_model_module)[module].path;
}

const char *gg_model_module_name(const struct gg_model *model, uint32_t module)
{
	return GG_ITEMS(model, modules, struct gg_model_module)[module].name;
}

const char *gg_model_module_status(const struct gg_model *model, uint32_t module)
{
	return GG_ITEMS(model, modules, struct gg_model_module)[module].status;
}

const char *gg_model_module_build_id(const struct gg_model *model, uint32_t module)
{
	return GG_ITEMS(model, modules, struct gg_model_module)[module].build_id;
}

const struct gg_mapping *gg_model_mappings(const struct gg_model *model, size_t *ret_count)
{
	*ret_count = model->mappings.used_count;
	return GG_ITEMS(model, mappings, const struct gg_mapping);
}

size_t gg_model_stack_count(const struct gg_model *model)
{
	return model->nodes.used_count;
}

uint32_t gg_model_stack_parent(const struct gg_model *model, uint32_t stack)
{
	return GG_ITEMS(model, nodes, struct gg_model_node)[stack].parent;
}

uint32_t gg_model_stack_top(const struct gg_model *model, uint32_t stack)
{
	return GG_ITEMS(model, nodes, struct gg_model_node)[stack].top;
}

const struct gg_model_place *gg_model_stack_places(const struct gg_model *model, uint32_t stack,
                                                   size_t *ret_count)
{
	const struct gg_model_node *node = GG_ITEMS(model, nodes, struct gg_model_node) + stack;
	const struct gg_model_frame *frame = GG_ITEMS(model, frames, struct gg_model_frame) +
	                                     node->frame;

	*ret_count = frame->place_count;
	return GG_ITEMS(model, places, struct gg_model_place) + frame->first_place;
}

struct gg_model_spot gg_model_stack_spot(const struct gg_model *model, uint32_t stack)
{
	const struct gg_model_node *node = GG_ITEMS(model, nodes, struct gg_model_node) + stack;
	const struct gg_model_frame *frame = GG_ITEMS(model, frames, struct gg_model_frame) +
	                                     node->frame;

	return (struct gg_model_spot){ frame->module, frame->address };
}

size_t gg_model_path(const struct gg_model *model, uint32_t stack, struct gg_model_place *places,
                     size_t max)
{
	size_t count = 0, here;

	stack = gg_model_stack_top(model, stack);
	do { /* an empty stack has the unknown place */
		const struct gg_model_place *of = gg_model_stack_places(model, stack, &here);

		for (size_t i = 0; i < here; i++, count++)
			if (count < max)
				places[count] = of[i];
		stack = gg_model_stack_parent(model, stack);
	} while (stack != 0);
	return count;
}

size_t gg_model_kind_count(const struct gg_model *model)
{
	return model->kinds.used_count;
}

const char *gg_model_kind_name(const struct gg_model *model, uint32_t kind)
{
	return GG_ITEMS(model, kinds, const char *)[kind];
}

struct gg_model_kind gg_model_kind(const struct gg_model *model, uint32_t kind)
{
	return GG_ITEMS(model, kind_parts, struct gg_model_kind)[kind];
}

size_t gg_model_heap_count(const struct gg_model *model)
{
	return model->heaps.used_count;
}

const char *gg_model_heap_name(const struct gg_model *model, uint32_t heap)
{
	return GG_ITEMS(model, heaps, const char *)[heap];
}

size_t gg_model_type_count(const struct gg_model *model)
{
	return model->types.used_count;
}

const char *gg_model_type_name(const struct gg_model *model, uint32_t type)
{
	return GG_ITEMS(model, types, const char *)[type];
}

struct gg_model_unresolved gg_model_unresolved(const struct gg_model *model)
{
	const struct gg_model_frame *frames = GG_ITEMS(model, frames, struct gg_model_frame);
	const struct gg_model_place *places = GG_ITEMS(model, places, struct gg_model_place);
	struct gg_model_unresolved unresolved = {
		.all_frame_count = model->frames.used_count - 1,
	};
	uint64_t *counts = calloc(model->modules.used_count, sizeof(*counts));

	if (counts == NULL)
		return unresolved;
	for (size_t i = 1; i < model->frames.used_count; i++) {
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

const struct gg_process *gg_model_processes(const struct gg_model *model, size_t *ret_count)
{
	*ret_count = model->processes.used_count;
	return GG_ITEMS(model, processes, const struct gg_process);
}

const struct gg_thread *gg_model_threads(const struct gg_model *model, size_t *ret_count)
{
	*ret_count = model->threads.used_count;
	return GG_ITEMS(model, threads, const struct gg_thread);
}

/* Each session has a last end of its own: moments of different ones cannot be compared. */
int gg_model_find_untils(const struct gg_model *model, const uint8_t *is_in, int64_t *ret_untils)
{
	const struct gg_process *processes = GG_ITEMS(model, processes, const struct gg_process);
	const uint32_t *sessions = GG_ITEMS(model, sessions_of, const uint32_t);
	struct gg_last_end *lasts = calloc(model->sessions.used_count + 1, sizeof(*lasts));

	if (lasts == NULL)
		return -ENOMEM;
	for (size_t i = 1; i < model->processes.used_count; i++)
		if (is_in == NULL || is_in[i])
			gg_last_end_note(&lasts[sessions[i]], processes[i].end_ns);
	ret_untils[0] = GG_TIME_NONE; /* who is not known did not end */
	for (size_t i = 1; i < model->processes.used_count; i++)
		ret_untils[i] = gg_last_end_until(&lasts[sessions[i]], processes[i].end_ns);
	free(lasts);
	return 0;
}

int64_t gg_model_process_until(const struct gg_model *model, uint32_t process)
{
	return GG_ITEMS(model, untils, const int64_t)[process];
}

int64_t gg_model_sample_until(const struct gg_model *model, const struct gg_model_sample *sample)
{
	return sample->free_ns != GG_TIME_NONE ? sample->free_ns
	                                       : gg_model_process_until(model, sample->process);
}

bool gg_model_ends_last_of_pid(const struct gg_model *model, uint32_t process)
{
	const struct gg_process *processes = GG_ITEMS(model, processes, const struct gg_process);
	const uint32_t *sessions = GG_ITEMS(model, sessions_of, const uint32_t);

	for (size_t i = 1; i < model->processes.used_count; i++)
		if (processes[i].pid == processes[process].pid &&
		    sessions[i] == sessions[process] &&
		    processes[i].end_ns > processes[process].end_ns)
			return false;
	return true;
}

int64_t gg_model_process_end(const struct gg_model *model, uint32_t process)
{
	int64_t end_ns = GG_ITEMS(model, processes, const struct gg_process)[process].end_ns;

	return process == 0 || end_ns == GG_TIME_NONE ? model->end_ns : end_ns;
}

size_t gg_model_session_count(const struct gg_model *model)
{
	return model->sessions.used_count;
}

const struct gg_session *gg_model_session(const struct gg_model *model, size_t index)
{
	return GG_ITEMS(model, sessions, struct gg_session) + index;
}

const struct gg_memory *gg_model_memory(const struct gg_model *model, size_t *ret_count)
{
	*ret_count = model->memory.used_count;
	return GG_ITEMS(model, memory, const struct gg_memory);
}

size_t gg_model_note_count(const struct gg_model *model)
{
	return model->notes.used_count;
}

const char *gg_model_note(const struct gg_model *model, size_t index)
{
	return GG_ITEMS(model, notes, const char *)[index];
}

const struct gg_model_counter *gg_model_counters(const struct gg_model *model, size_t *ret_count)
{
	*ret_count = model->counters.used_count;
	return GG_ITEMS(model, counters, const struct gg_model_counter);
}

const struct gg_model_label *gg_model_labels(const struct gg_model *model, size_t *ret_count)
{
	*ret_count = model->labels.used_count;
	return GG_ITEMS(model, labels, const struct gg_model_label);
}

const char *gg_model_label(const struct gg_model *model, uint32_t process, const char *key)
{
	const struct gg_model_label *labels = GG_ITEMS(model, labels, const struct gg_model_label);
	size_t low = 0, high = model->labels.used_count;

	while (low < high) { /* the first of the process */
		size_t middle = low + (high - low) / 2;

		if (labels[middle].process < process)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < model->labels.used_count && labels[low].process == process; low++)
		if (strcmp(labels[low].key, key) == 0)
			return labels[low].value;
	return NULL;
}

int64_t gg_model_end_ns(const struct gg_model *model)
{
	return model->end_ns;
}

bool gg_model_has_history(const struct gg_model *model)
{
	for (size_t i = 0; i < model->sessions.used_count; i++)
		if (!gg_model_session(model, i)->has_history)
			return false;
	return true;
}

bool gg_model_has_times(const struct gg_model *model)
{
	size_t count;
	const struct gg_coarse *coarse = gg_model_coarse(model, &count);

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
	return model->processes.used_count <= 1 && model->samples.used_count == 0 &&
	       model->coarse.used_count == 0;
}

/* A process without an interval of its own has that of the session. */
double gg_model_interval(const struct gg_model *model, uint32_t process)
{
	const struct gg_process *processes = GG_ITEMS(model, processes, struct gg_process);
	double interval = 0;

	for (size_t i = 1; i < model->processes.used_count; i++)
		if ((process == 0 || process == i) &&
		    processes[i].scheme != GG_SCHEME_PER_ALLOCATION)
			interval = fmax(interval, processes[i].interval_bytes);
	if (model->processes.used_count > 1 && interval > 0)
		return interval;
	for (size_t i = 0; i < model->sessions.used_count; i++)
		if (gg_model_session(model, i)->scheme != GG_SCHEME_PER_ALLOCATION)
			interval = fmax(interval, gg_model_session(model, i)->interval_bytes);
	return interval;
}

double gg_model_least_interval(const struct gg_model *model)
{
	const struct gg_process *processes = GG_ITEMS(model, processes, struct gg_process);
	const struct gg_coarse *coarse = GG_ITEMS(model, coarse, struct gg_coarse);
	double least = gg_model_interval(model, 0);

	if (model->least_interval > 0)
		least = fmin(least, model->least_interval);
	for (size_t i = 1; i < model->processes.used_count; i++)
		if (processes[i].interval_bytes > 0 &&
		    processes[i].scheme != GG_SCHEME_PER_ALLOCATION)
			least = fmin(least, processes[i].interval_bytes);
	for (size_t i = 0; i < model->coarse.used_count; i++)
		if (coarse[i].interval_bytes > 0)
			least = fmin(least, coarse[i].interval_bytes);
	return least;
}

double gg_model_exposure(const struct gg_model *model, uint32_t process)
{
	const struct gg_process *processes = GG_ITEMS(model, processes, struct gg_process);
	double interval = gg_model_interval(model, process);

	if (interval <= 1) /* everything was sampled, whatever the scheme */
		return interval;
	/* Some sizes are sampled more coarsely, and what was never sampled may be of those. */
	for (size_t i = 1; i < model->processes.used_count; i++)
		if ((process == 0 || process == i) && processes[i].scheme == GG_SCHEME_OPTIMAL)
			return interval * GG_OPTIMAL_COARSER;
	return interval;
}
