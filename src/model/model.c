/* SPDX-License-Identifier: Apache-2.0 */
#include "model/model.h"

#include "stats/sampling/optimal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/binary_search.h"
#include "profile/live_at_end.h"

uint32_t gg_model_aggregate_kind(const struct gg_model *model,
                                 const struct gg_profile_aggregate *aggregate)
{
	uint32_t kind = model->aggregate_kinds[aggregate - model->aggregates];

	return kind != UINT32_MAX ? kind : (uint32_t)model->kind_count;
}

void gg_model_add_aggregate(const struct gg_model *model, struct gg_tally *tally,
                            const struct gg_profile_aggregate *aggregate)
{
	const struct gg_sums *sums = &aggregate->sums;
	struct gg_folded folded = {
		.sample_count = sums->sample_count,
		.seen_bytes = sums->size_bytes,
		.bytes = gg_fixed_value(sums->bytes),
		.bytes_variance = gg_fixed_value(sums->bytes_variance),
		.count = gg_fixed_value(sums->count),
		.count_variance = gg_fixed_value(sums->count_variance),
		.bytes_skew = aggregate->bytes_skew,
		.count_skew = aggregate->count_skew,
		.sampling_interval = aggregate->interval_bytes,
		.scheme = model->processes[aggregate->process].scheme,
		.most_bytes = UINT64_MAX,
		.unknown_errors = aggregate->unknown_errors,
	};

	if (model->aggregate_tallies != NULL) {
		gg_tally_merge(tally, &model->aggregate_tallies[aggregate - model->aggregates]);
		return;
	}
	if (aggregate->size_class < 64) {
		folded.most_bytes = UINT64_C(1) << aggregate->size_class;
		folded.least_bytes = aggregate->size_class == 0 ? 0 : folded.most_bytes / 2 + 1;
	}
	gg_tally_add_folded(tally, &folded);
}

size_t gg_model_path(const struct gg_model *model, uint32_t stack,
                     struct gg_code_location *locations, size_t max)
{
	size_t count = 0, here;

	gg_assert(stack < model->stack_count);
	stack = model->stacks[stack].top;
	do { /* an empty stack has the unknown location */
		const struct gg_code_location *of = gg_model_stack_locations(model, stack, &here);

		for (size_t i = 0; i < here; i++, count++)
			if (count < max)
				locations[count] = of[i];
		stack = model->stacks[stack].parent;
	} while (stack != 0);
	return count;
}

struct gg_model_unresolved gg_model_unresolved(const struct gg_model *model)
{
	const struct gg_model_frame *frames = model->frames;
	const struct gg_code_location *locations = model->locations;
	struct gg_model_unresolved unresolved = {
		.all_frame_count = model->read_frame_count - 1,
	};
	uint64_t *counts = calloc(model->module_count, sizeof(*counts));

	if (counts == NULL)
		return unresolved;
	for (size_t i = 1; i < model->read_frame_count; i++) {
		uint32_t function = locations[frames[i].first_location].function;
		uint32_t module = frames[i].module;

		if (model->functions[function].is_named)
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

/* Each session has its own last end, because moments of different sessions cannot be compared. */
int gg_model_find_until_ns(const struct gg_model *model, const uint8_t *is_in,
                           int64_t *ret_until_ns)
{
	const struct gg_profile_process *processes = model->processes;
	const uint32_t *sessions = model->process_sessions;
	struct gg_live_at_end *lasts = calloc(model->session_count + 1, sizeof(*lasts));

	if (lasts == NULL)
		return -ENOMEM;
	for (size_t i = 1; i < model->process_count; i++)
		if (is_in == NULL || is_in[i])
			gg_live_at_end_note(&lasts[sessions[i]], processes[i].end_ns);
	ret_until_ns[0] = GG_TIME_NONE; /* the unknown process has no end */
	for (size_t i = 1; i < model->process_count; i++)
		ret_until_ns[i] = gg_live_at_end_until(&lasts[sessions[i]], processes[i].end_ns);
	free(lasts);
	return 0;
}

int64_t gg_model_until_least(const struct gg_model *model, uint32_t process, int64_t until_ns)
{
	return until_ns == GG_TIME_NONE ? until_ns
	                                : until_ns - model->processes[process].end_range_ns;
}

int64_t gg_model_sample_until(const struct gg_model *model, const struct gg_model_sample *sample)
{
	return sample->free_ns != GG_TIME_NONE ? sample->free_ns
	                                       : model->process_until_ns[sample->process];
}

bool gg_model_ends_last_of_pid(const struct gg_model *model, uint32_t process)
{
	const struct gg_profile_process *processes = model->processes;
	const uint32_t *sessions = model->process_sessions;

	for (size_t i = 1; i < model->process_count; i++)
		if (processes[i].pid == processes[process].pid &&
		    sessions[i] == sessions[process] &&
		    processes[i].end_ns > processes[process].end_ns)
			return false;
	return true;
}

int64_t gg_model_exact_until(const struct gg_model *model,
                             const struct gg_profile_aggregate *aggregate)
{
	if (aggregate->to_ns != GG_TIME_NONE || !aggregate->is_exact)
		return aggregate->to_ns;
	return model->process_until_ns[aggregate->process];
}

int64_t gg_model_exact_from(const struct gg_profile_aggregate *aggregate, int64_t from_ns,
                            int64_t until_ns)
{
	bool is_last = aggregate->is_exact && !aggregate->is_left &&
	               aggregate->to_ns == GG_TIME_NONE && from_ns >= until_ns;

	return is_last ? until_ns - 1 : from_ns;
}

int64_t gg_model_process_end(const struct gg_model *model, uint32_t process)
{
	int64_t end_ns = model->processes[process].end_ns;

	gg_assert(process < model->process_count);
	return process == 0 || end_ns == GG_TIME_NONE ? model->end_ns : end_ns;
}

const struct gg_profile_attach *gg_model_attach(const struct gg_model *model, uint32_t process)
{
	const struct gg_profile_attach *attaches = model->attaches;
	size_t at = gg_lower_bound(0, model->attach_count, i, attaches[i].process < process);

	return at < model->attach_count && attaches[at].process == process ? &attaches[at] : NULL;
}

const char *gg_model_label(const struct gg_model *model, uint32_t process, const char *key)
{
	const struct gg_model_label *labels = model->labels;
	size_t at = gg_lower_bound(0, model->label_count, i, labels[i].process < process);

	for (; at < model->label_count && labels[at].process == process; at++)
		if (strcmp(labels[at].key, key) == 0)
			return labels[at].value;
	return NULL;
}

bool gg_model_has_history(const struct gg_model *model)
{
	for (size_t i = 0; i < model->session_count; i++)
		if (!model->sessions[i].has_history)
			return false;
	return true;
}

int64_t gg_model_spacing_ns(const struct gg_model *model)
{
	int64_t spacing_ns = model->aggregate_count > 0 ? model->aggregates[0].bucket_ns : 0;

	for (size_t i = 0; i < model->aggregate_count; i++)
		if (model->aggregates[i].is_exact || model->aggregates[i].bucket_ns != spacing_ns)
			return 0;
	return model->sample_count == 0 ? spacing_ns : 0;
}

bool gg_model_has_times(const struct gg_model *model)
{
	for (size_t i = 0; i < model->aggregate_count; i++)
		if (model->aggregates[i].to_ns == GG_TIME_NONE && !model->aggregates[i].is_exact)
			return false;
	return true;
}

/* Only a group has no pid and is a parent (format/merge/merge_groups.h). */
bool gg_model_is_collector(const struct gg_model *model, uint32_t process)
{
	uint32_t parent = model->processes[process].parent;

	return parent != 0 && model->processes[parent].pid == 0;
}

bool gg_model_is_exact(const struct gg_model *model)
{
	for (size_t i = 1; i < model->process_count; i++)
		if (model->processes[i].scheme != GG_SCHEME_EXACT)
			return false;
	for (size_t i = 0; i < model->session_count; i++)
		if (model->sessions[i].scheme != GG_SCHEME_EXACT)
			return false;
	return model->process_count > 1;
}

bool gg_model_is_unprofiled(const struct gg_model *model)
{
	return model->process_count <= 1 && model->sample_count == 0 && model->aggregate_count == 0;
}

/* A process without a sampling interval has that of its session. */
double gg_model_interval(const struct gg_model *model, uint32_t process)
{
	const struct gg_profile_process *processes = model->processes;
	double interval = 0;

	for (size_t i = 1; i < model->process_count; i++)
		if ((process == 0 || process == i) &&
		    processes[i].scheme != GG_SCHEME_PER_ALLOCATION)
			interval = fmax(interval, processes[i].interval_bytes);
	if (model->process_count > 1 && interval > 0)
		return interval;
	for (size_t i = 0; i < model->session_count; i++)
		if (model->sessions[i].scheme != GG_SCHEME_PER_ALLOCATION)
			interval = fmax(interval, model->sessions[i].interval_bytes);
	return interval;
}

double gg_model_least_interval(const struct gg_model *model)
{
	const struct gg_profile_process *processes = model->processes;
	const struct gg_profile_aggregate *aggregates = model->aggregates;
	double least = gg_model_interval(model, 0);

	if (model->least_interval_bytes > 0)
		least = fmin(least, model->least_interval_bytes);
	for (size_t i = 1; i < model->process_count; i++)
		if (processes[i].interval_bytes > 0 &&
		    processes[i].scheme != GG_SCHEME_PER_ALLOCATION)
			least = fmin(least, processes[i].interval_bytes);
	for (size_t i = 0; i < model->aggregate_count; i++)
		if (aggregates[i].interval_bytes > 0)
			least = fmin(least, aggregates[i].interval_bytes);
	return least;
}

/* True if a process of the selection may hide blocks at which no interval hints. */
static bool hides_without_interval(const struct gg_model *model, uint32_t process)
{
	for (size_t i = 1; i < model->process_count; i++) {
		const struct gg_profile_process *one = &model->processes[i];
		const struct gg_profile_session *session =
			&model->sessions[model->process_sessions[i]];
		double interval = one->interval_bytes > 0 ? one->interval_bytes
		                                          : session->interval_bytes;

		if ((process == 0 || process == i) &&
		    (!(interval > 0) || (interval > 1 && one->scheme == GG_SCHEME_PER_ALLOCATION)))
			return true;
	}
	return false;
}

double gg_model_exposure(const struct gg_model *model, uint32_t process)
{
	const struct gg_profile_process *processes = model->processes;
	double interval = gg_model_interval(model, process);

	if (interval <= 1) /* everything was sampled, whatever the scheme */
		return hides_without_interval(model, process) ? 0 : interval;
	/*
	 * The plan samples some sizes more coarsely; a group without samples may have such sizes.
	 */
	for (size_t i = 1; i < model->process_count; i++)
		if ((process == 0 || process == i) && processes[i].scheme == GG_SCHEME_OPTIMAL)
			return interval * GG_OPTIMAL_COARSER;
	return interval;
}
