/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary - stores sums per stack and per function in a finished profile, so that the views v_stack
 * and v_function are fast.  Without a summary they compute the same from the samples.
 *
 * A function's total counts a stack once, even if the function recurs on it.  The stacks are a
 * tree: the sum of a node's subtree is added to each function of its frame, unless the same
 * function is further out on the stack.
 *
 * Cost    One pass over samples and one over stacks; 120 bytes a stack, 260 a function.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/path.h"
#include "profile/row_reader.h"
#include "profile/sample_sums.h"
#include "profile/schema.h"
#include "stats/estimate/tally.h"

struct function_sums {
	struct gg_metric_sums self, total;
	uint32_t active; /* how often it is on the current stack of the walk */
};

struct summary_build {
	struct gg_profile *profile;
	struct gg_metric_sums *stacks; /* by id; 0: samples without a stack */
	uint32_t *parents, *frames, *children, *siblings;
	struct gg_intern functions; /* key: module, function, 0, full name, 0, file, 0 */
	struct gg_buf function_ids; /* uint32_t: of the frames, one after the other */
	uint32_t *frame_starts; /* frame f has [starts[f-1], starts[f]) of them, innermost first */
	uint32_t *frame_modules;
	struct function_sums *sums; /* by id - 1 */
	struct gg_sample_sums samples;
};

/* Exact sums may have bytes without a count. */
static bool has_nothing(const struct gg_metric_sum *sum)
{
	return sum->sample_count == 0 && !(sum->bytes > 0);
}

static bool is_empty(const struct gg_metric_sums *pair)
{
	return has_nothing(&pair->live) && has_nothing(&pair->allocated) &&
	       has_nothing(&pair->left);
}

static int add_aggregate(const struct gg_profile_aggregate *aggregate, void *context)
{
	struct summary_build *summary = context;
	struct gg_metric_sum sum = {
		.sample_count = aggregate->sums.sample_count,
		.bytes = gg_fixed_value(aggregate->sums.bytes),
		.bytes_variance = gg_fixed_value(aggregate->sums.bytes_variance),
		.count = gg_fixed_value(aggregate->sums.count),
		.count_variance = gg_fixed_value(aggregate->sums.count_variance)
	};

	if ((aggregate->unknown_errors & 1u << GG_BYTES) != 0)
		sum.bytes_variance = NAN;
	if ((aggregate->unknown_errors & 1u << GG_ALLOCATIONS) != 0)
		sum.count_variance = NAN;
	if (!aggregate->is_inherited)
		gg_metric_sum_add(&summary->stacks[aggregate->stack].allocated, &sum);
	if (aggregate->to_ns == GG_TIME_NONE)
		gg_metric_sum_add(&summary->stacks[aggregate->stack].left, &sum);
	/* Exact blocks end with their process, as samples do. */
	if (aggregate->to_ns == GG_TIME_NONE && !aggregate->is_left &&
	    (!aggregate->is_exact ||
	     gg_sample_sums_ends_last(&summary->samples, aggregate->process)))
		gg_metric_sum_add(&summary->stacks[aggregate->stack].live, &sum);
	return 0;
}

static int add_stack(const struct gg_profile_stack *stack, void *context)
{
	struct summary_build *summary = context;

	summary->parents[stack->id] = stack->parent;
	summary->frames[stack->id] = stack->frame;
	summary->siblings[stack->id] = summary->children[stack->parent];
	summary->children[stack->parent] = stack->id;
	return 0;
}

static int add_process(const struct gg_profile_process *process, void *context)
{
	struct summary_build *summary = context;

	if (process->id > summary->profile->counts[GG_DENSE_PROCESS])
		return 0;
	summary->samples.ends[process->id] = process->end_ns;
	gg_live_at_end_note(&summary->samples.last, process->end_ns);
	return 0;
}

/* Adds blocks that a process inherited and did not free; each block counts once. */
static int find_shared_blocks(struct summary_build *summary, struct gg_error *error)
{
	struct gg_row_reader reading;
	int status = 0;

	gg_row_reader_begin(
		&reading, summary->profile,
		"select origin, process from sample where origin is not null and t_free is null");
	while (status == 0 && gg_row_reader_next(&reading)) {
		uint64_t origin = gg_row_reader_bits(&reading);
		uint32_t process = gg_row_reader_id(&reading, GG_DENSE_PROCESS);

		status = gg_map_put(&summary->samples.left_blocks, origin, 1);
		if (status == 0 && gg_sample_sums_ends_last(&summary->samples, process))
			status = gg_map_put(&summary->samples.live_blocks, origin, 1);
	}
	gg_row_reader_visited(&reading, status);
	return gg_row_reader_end(&reading, error);
}

/* Interns a function; *ret_id is its id. */
static int intern_function(struct summary_build *summary, uint32_t module, const char *name,
                           const char *full_name, const char *file, uint32_t *ret_id)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf key = { 0 };

	gg_buf_append(&key, &module, sizeof(module));
	gg_buf_append(&key, name, strlen(name) + 1);
	gg_buf_append(&key, full_name, strlen(full_name) + 1);
	file = file != NULL ? file : "";
	gg_buf_append(&key, file, strlen(file) + 1);
	if (key.failed)
		return -ENOMEM;
	*ret_id = gg_intern_find(&summary->functions, key.data, key.length);
	if (*ret_id != 0)
		return 0;
	if (gg_intern_add(&summary->functions, key.data, key.length) < 0)
		return -ENOMEM;
	*ret_id = summary->functions.count;
	return 0;
}

static int add_function(struct summary_build *summary, uint32_t frame, const char *name,
                        const char *full_name, const char *file)
{
	uint32_t id;
	int status = intern_function(summary, summary->frame_modules[frame], name,
	                             full_name != NULL ? full_name : "", file, &id);

	if (status < 0)
		return status;
	gg_buf_append(&summary->function_ids, &id, sizeof(id));
	summary->frame_starts[frame] = (uint32_t)(summary->function_ids.length / sizeof(id));
	return summary->function_ids.failed ? -ENOMEM : 0;
}

/* Interns the functions of all frames.  As in v_frame, frames without lines have their address. */
static int add_frames(struct summary_build *summary, struct gg_error *error)
{
	struct gg_row_reader reading;
	int status = 0;

	gg_row_reader_begin(
		&reading, summary->profile,
		"select frame.id, frame.module, frame.address, path, function, file, " GG_SCHEMA_FULL_NAME
		" from frame left join module on module.id = frame.module"
		" left join line on line.frame = frame.id"
		" left join symbol on symbol.id = line.symbol"
		" order by frame.id, line.depth");
	while (status == 0 && gg_row_reader_next(&reading)) {
		uint32_t frame = gg_row_reader_id(&reading, GG_DENSE_FRAME);
		uint32_t module = gg_row_reader_id(&reading, GG_DENSE_MODULE);
		uint64_t address = gg_row_reader_bits(&reading);
		const char *path = gg_row_reader_text(&reading);
		const char *function = gg_row_reader_text(&reading);
		const char *file = gg_row_reader_text(&reading);
		const char *full_name = gg_row_reader_text(&reading);
		char unknown[300];

		if (frame == 0)
			continue;
		path = gg_path_base(path);
		snprintf(unknown, sizeof(unknown), "%.256s%s0x%llx", path != NULL ? path : "",
		         path != NULL ? "+" : "", (unsigned long long)address);
		summary->frame_modules[frame] = module;
		status = add_function(summary, frame, function != NULL ? function : unknown,
		                      full_name, file);
	}
	gg_row_reader_visited(&reading, status);
	return gg_row_reader_end(&reading, error);
}

/* The functions of a frame, innermost first. */
static const uint32_t *functions_of(const struct summary_build *summary, uint32_t frame,
                                    uint32_t *ret_count)
{
	uint32_t start = frame > 0 ? summary->frame_starts[frame - 1] : 0;

	*ret_count = frame > 0 ? summary->frame_starts[frame] - start : 0;
	return (const uint32_t *)(const void *)summary->function_ids.data + start;
}

static void enter(struct summary_build *summary, uint32_t stack)
{
	uint32_t count;
	const uint32_t *ids = functions_of(summary, summary->frames[stack], &count);

	for (uint32_t i = 0; i < count; i++) {
		struct function_sums *function = &summary->sums[ids[i] - 1];

		if (function->active++ == 0)
			gg_metric_sums_add(&function->total, &summary->stacks[stack]);
	}
}

static void leave(struct summary_build *summary, uint32_t stack)
{
	uint32_t count;
	const uint32_t *ids = functions_of(summary, summary->frames[stack], &count);

	for (uint32_t i = 0; i < count; i++) {
		gg_assert(summary->sums[ids[i] - 1].active > 0);
		summary->sums[ids[i] - 1].active--;
	}
}

/* Walks all stacks from the outermost frames inwards, iteratively, because stacks may be deep. */
static void walk(struct summary_build *summary)
{
	uint32_t at = summary->children[0];

	while (at != 0) {
		enter(summary, at);
		if (summary->children[at] != 0) {
			at = summary->children[at];
			continue;
		}
		while (at != 0 && summary->siblings[at] == 0) {
			leave(summary, at);
			at = summary->parents[at];
		}
		if (at != 0) {
			leave(summary, at);
			at = summary->siblings[at];
		}
	}
}

static void add_up(struct summary_build *summary)
{
	uint32_t count, stack_count = summary->profile->counts[GG_DENSE_STACK];

	for (uint32_t i = 1; i <= stack_count; i++) {
		const uint32_t *ids = functions_of(summary, summary->frames[i], &count);

		if (count > 0)
			gg_metric_sums_add(&summary->sums[ids[0] - 1].self, &summary->stacks[i]);
	}
	for (uint32_t i = stack_count; i > 0; i--) /* turns sums of stacks into sums of subtrees */
		gg_metric_sums_add(&summary->stacks[summary->parents[i]], &summary->stacks[i]);
	walk(summary);
}

static int put_stacks(struct summary_build *summary, struct gg_error *error)
{
	int status = 0;

	for (uint32_t i = 0; i <= summary->profile->counts[GG_DENSE_STACK] && status == 0; i++) {
		struct gg_stack_sum_row row = { i, summary->stacks[i] };

		if (!is_empty(&row.sums))
			status = gg_record_table_insert(summary->profile,
			                                &gg_record_table_stack_sum, &row, error);
	}
	return status;
}

static const char *text_or_null(const char *text)
{
	return text[0] != '\0' ? text : NULL;
}

static int put_functions(struct summary_build *summary, struct gg_error *error)
{
	const uint64_t *ends = (const uint64_t *)(const void *)summary->functions.ends.data;
	int status = 0;

	for (uint32_t i = 0; i < summary->functions.count && status == 0; i++) {
		const char *key = summary->functions.bytes.data + (i > 0 ? ends[i - 1] : 0);
		const char *name = key + sizeof(uint32_t);
		const char *full_name = name + strlen(name) + 1;
		struct gg_function_sum_row row = {
			.function = name,
			.full_name = text_or_null(full_name),
			.file = text_or_null(full_name + strlen(full_name) + 1),
			.self = summary->sums[i].self,
			.total = summary->sums[i].total,
		};

		if (is_empty(&row.total))
			continue;
		memcpy(&row.module, key, sizeof(row.module));
		status = gg_record_table_insert(summary->profile, &gg_record_table_function_sum,
		                                &row, error);
	}
	return status;
}

static bool allocate(struct summary_build *summary)
{
	size_t stacks = (size_t)summary->profile->counts[GG_DENSE_STACK] + 1;
	size_t frames = (size_t)summary->profile->counts[GG_DENSE_FRAME] + 1;

	summary->samples.ends = calloc((size_t)summary->profile->counts[GG_DENSE_PROCESS] + 1,
	                               sizeof(*summary->samples.ends));
	summary->stacks = calloc(stacks, sizeof(*summary->stacks));
	summary->parents = calloc(4 * stacks, sizeof(*summary->parents));
	summary->frame_starts = calloc(2 * frames, sizeof(*summary->frame_starts));
	if (summary->samples.ends == NULL || summary->stacks == NULL || summary->parents == NULL ||
	    summary->frame_starts == NULL)
		return false;
	summary->frames = summary->parents + stacks;
	summary->children = summary->frames + stacks;
	summary->siblings = summary->children + stacks;
	summary->frame_modules = summary->frame_starts + frames;
	return true;
}

static void release(struct summary_build *summary)
{
	free(summary->samples.ends);
	free(summary->stacks);
	free(summary->parents);
	free(summary->frame_starts);
	free(summary->sums);
	gg_intern_done(&summary->functions);
	gg_buf_done(&summary->function_ids);
	gg_map_done(&summary->samples.live_blocks);
	gg_map_done(&summary->samples.left_blocks);
}

static int make(struct summary_build *summary, struct gg_error *error)
{
	struct gg_profile *profile = summary->profile;
	int status;

	if (!allocate(summary))
		return -ENOMEM;
	status = gg_profile_each_process(profile, add_process, summary, error);
	if (status == 0)
		status = find_shared_blocks(summary, error);
	if (status == 0)
		status = gg_sample_sums_add(profile, &summary->samples, summary->stacks, error);
	if (status == 0)
		status = gg_profile_each_aggregate(profile, add_aggregate, summary, error);
	if (status == 0)
		status = gg_profile_each_stack(profile, add_stack, summary, error);
	if (status == 0)
		status = add_frames(summary, error);
	if (status == 0)
		status = put_stacks(summary, error);
	if (status < 0)
		return status;
	summary->sums = calloc((size_t)summary->functions.count + 1, sizeof(*summary->sums));
	if (summary->sums == NULL)
		return -ENOMEM;
	add_up(summary);
	return put_functions(summary, error);
}

int gg_profile_summary_make(struct gg_profile *profile, struct gg_error *error)
{
	struct summary_build summary = { .profile = profile };
	int status;

	/* Tables of older files lack columns for memory left at exit, so views add up samples. */
	if (profile->version < 3)
		return 0;
	status = make(&summary, error);
	release(&summary);
	if (status == -ENOMEM)
		return gg_error_memory(error, profile->path);
	if (status == 0)
		profile->has_summary = true;
	return status;
}

int gg_profile_summary_remove(struct gg_profile *profile, struct gg_error *error)
{
	int status = gg_database_execute(profile, "delete from stack_sum; delete from function_sum",
	                                 error);

	if (status == 0)
		profile->has_summary = false;
	return status;
}
