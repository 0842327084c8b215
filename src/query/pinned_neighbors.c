/* SPDX-License-Identifier: Apache-2.0 */
/* pinned_neighbors - finds the freed samples that were allocated around the blocks of a row. */
#include "query/pinned_neighbors.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/binary_search.h"
#include "query/query_sums.h"
#include "stats/sampling/weight.h"

/* A row with more blocks is judged by this many of them. */
enum { BLOCKS_MAX = 256, NEIGHBOR_PAGE_BYTES = 4096 };

/* A sample in the order in which its thread allocated. */
struct allocation {
	int64_t alloc_ns;
	uint32_t sample;
};

/* A block of a row that keeps memory. */
struct kept_block {
	uint32_t row, thread, sample;
	int64_t alloc_ns, look_ns;
	double weight; /* what it keeps, over its probability */
};

/* A freed sample around one block of the row. */
struct departed {
	uint32_t function;
	bool is_new; /* no block before has this sample around it */
	double weight, lifetime_ns;
};

struct neighbor_run {
	const struct gg_model *model;
	const struct gg_query_filter *filter;
	GG_ARRAY(struct kept_block) blocks;
	/* By thread, then by time; those of thread t are [starts[t], starts[t + 1]). */
	struct allocation *allocations;
	size_t *starts;
	uint32_t *last_row; /* by sample: 1 + the last row that had it as a neighbor */
	GG_ARRAY(struct departed) departed; /* of one row */
	double row_weight;
};

/* Unknown threads have numbers behind all known ones, one for each process. */
static uint32_t thread_of(const struct gg_model *model, const struct gg_model_sample *sample)
{
	return sample->thread != 0 ? sample->thread
	                           : (uint32_t)model->thread_count + sample->process;
}

static size_t thread_count_of(const struct gg_model *model)
{
	return model->thread_count + model->process_count;
}

static int collect(struct neighbor_run *run, const uint32_t *row_of_key, size_t row_count)
{
	const struct gg_pinned *pinned = &run->filter->pinned;

	for (size_t i = 0; i < pinned->blocks.count; i++) {
		const struct gg_pinned_block *block = &pinned->blocks.items[i];
		const struct gg_model_sample *sample = &run->model->samples[block->sample];
		struct kept_block *kept;
		uint32_t row;

		if (!block->is_known || !block->is_first || !(block->looked.value > 0) ||
		    (sample->flags & GG_MODEL_INHERITED) != 0 ||
		    !gg_query_filter_selects(run->filter, sample))
			continue;
		row = row_of_key[gg_query_self_key_of_sample(run->filter, sample)];
		if (row >= row_count)
			continue;
		kept = gg_array_add(&run->blocks);
		if (kept == NULL)
			return -ENOMEM;
		*kept = (struct kept_block){ .row = row,
			                     .thread = thread_of(run->model, sample),
			                     .sample = block->sample,
			                     .alloc_ns = sample->alloc_ns,
			                     .look_ns = block->look_ns,
			                     .weight = block->looked.value *
			                               gg_pinned_weight(run->model, block) };
	}
	return 0;
}

static int compare_blocks(const void *a, const void *b)
{
	const struct kept_block *left = a, *right = b;

	if (left->row != right->row)
		return left->row < right->row ? -1 : 1;
	if (left->alloc_ns != right->alloc_ns)
		return left->alloc_ns < right->alloc_ns ? -1 : 1;
	return (left->sample > right->sample) - (left->sample < right->sample);
}

static int compare_allocations(const void *a, const void *b)
{
	const struct allocation *left = a, *right = b;

	if (left->alloc_ns != right->alloc_ns)
		return left->alloc_ns < right->alloc_ns ? -1 : 1;
	return (left->sample > right->sample) - (left->sample < right->sample);
}

/* Samples are nearly in the order of time, so most threads need no sort. */
static void sort_allocations(struct allocation *allocations, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (compare_allocations(&allocations[i - 1], &allocations[i]) <= 0)
			continue;
		qsort(allocations, count, sizeof(*allocations), compare_allocations);
		return;
	}
}

/* Makes the threads' allocations from the samples that their processes allocated themselves. */
static int sort_samples(struct neighbor_run *run)
{
	const struct gg_model *model = run->model;
	size_t thread_count = thread_count_of(model), own_count = 0;

	run->starts = calloc(thread_count + 2, sizeof(*run->starts));
	run->allocations = calloc(model->sample_count + 1, sizeof(*run->allocations));
	run->last_row = calloc(model->sample_count + 1, sizeof(*run->last_row));
	if (run->starts == NULL || run->allocations == NULL || run->last_row == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < model->sample_count; i++)
		if ((model->samples[i].flags & GG_MODEL_INHERITED) == 0)
			run->starts[thread_of(model, &model->samples[i]) + 1]++;
	for (size_t t = 0; t <= thread_count; t++) {
		size_t count = run->starts[t + 1];

		run->starts[t + 1] = own_count;
		own_count += count;
	}
	/* Each start moves to the thread's end, which is the start of the next thread. */
	for (size_t i = 0; i < model->sample_count; i++) {
		const struct gg_model_sample *sample = &model->samples[i];

		if ((sample->flags & GG_MODEL_INHERITED) == 0)
			run->allocations[run->starts[thread_of(model, sample) + 1]++] =
				(struct allocation){ sample->alloc_ns, (uint32_t)i };
	}
	for (size_t t = 0; t < thread_count; t++)
		sort_allocations(&run->allocations[run->starts[t]],
		                 run->starts[t + 1] - run->starts[t]);
	return 0;
}

static uint32_t function_of(const struct gg_model *model, const struct gg_model_sample *sample)
{
	size_t count;

	return gg_model_stack_locations(model, model->stacks[sample->stack].top, &count)[0]
	        .function;
}

/* Adds a sample if it was freed before the look at the block; returns its weight, or 0. */
static double add_departed(struct neighbor_run *run, const struct kept_block *block,
                           uint32_t number, bool *failed)
{
	const struct gg_model_sample *sample = &run->model->samples[number];
	double size = fmin((double)sample->size_bytes, NEIGHBOR_PAGE_BYTES);
	struct departed *departed;

	if (sample->free_ns == GG_TIME_NONE || sample->free_ns > block->look_ns ||
	    gg_model_freed_from(run->model, sample) != sample->free_ns)
		return 0;
	departed = gg_array_add(&run->departed);
	*failed |= departed == NULL;
	if (departed == NULL)
		return 0;
	departed->function = function_of(run->model, sample);
	departed->weight = size * gg_weight_of(&sample->draw, sample->size_bytes).count;
	departed->lifetime_ns = (double)(sample->free_ns - sample->alloc_ns);
	departed->is_new = run->last_row[number] != block->row + 1;
	run->last_row[number] = block->row + 1;
	return departed->weight;
}

/* Adds the freed samples around a block; their weights add up to that of the block. */
static int look_around(struct neighbor_run *run, const struct kept_block *block)
{
	const struct allocation *allocations = &run->allocations[run->starts[block->thread]];
	size_t count = run->starts[block->thread + 1] - run->starts[block->thread];
	size_t first = run->departed.count, at, begin, end;
	const struct allocation own = { block->alloc_ns, block->sample };
	double weight = 0;
	bool failed = false;

	at = gg_lower_bound(0, count, i, compare_allocations(&allocations[i], &own) < 0);
	begin = at > GG_PINNED_STRETCH ? at - GG_PINNED_STRETCH : 0;
	end = count - at > GG_PINNED_STRETCH ? at + GG_PINNED_STRETCH + 1 : count;
	for (size_t i = begin; i < end; i++)
		if (i != at && allocations[i].alloc_ns >= block->alloc_ns - GG_NS_PER_S &&
		    allocations[i].alloc_ns <= block->alloc_ns + GG_NS_PER_S)
			weight += add_departed(run, block, allocations[i].sample, &failed);
	for (size_t i = first; i < run->departed.count; i++)
		run->departed.items[i].weight *= weight > 0 ? block->weight / weight : 0;
	run->row_weight += block->weight;
	return failed ? -ENOMEM : 0;
}

static int compare_departed(const void *a, const void *b)
{
	const struct departed *left = a, *right = b;

	if (left->function != right->function)
		return left->function < right->function ? -1 : 1;
	return (left->lifetime_ns > right->lifetime_ns) - (left->lifetime_ns < right->lifetime_ns);
}

/* Inserts a function behind those with a larger share, if there is room. */
static void insert(struct gg_pinned_neighbors *row, struct gg_pinned_neighbor added)
{
	size_t at = row->count;

	while (at > 0 && row->functions[at - 1].share < added.share)
		at--;
	if (at == GG_PINNED_NEIGHBOR_MAX)
		return;
	if (row->count < GG_PINNED_NEIGHBOR_MAX)
		row->count++;
	for (size_t i = row->count - 1; i > at; i--)
		row->functions[i] = row->functions[i - 1];
	row->functions[at] = added;
}

/* Judges the freed samples [first, end) of one function; they are sorted by lifetime. */
static void judge(const struct neighbor_run *run, size_t first, size_t end,
                  struct gg_pinned_neighbors *row)
{
	const struct departed *departed = run->departed.items;
	struct gg_pinned_neighbor added = { .function = departed[first].function };
	double weight = 0, below = 0;
	size_t sample_count = 0;

	for (size_t i = first; i < end; i++) {
		weight += departed[i].weight;
		sample_count += departed[i].is_new;
	}
	added.share = weight / run->row_weight;
	if (added.function == 0 || sample_count < GG_PINNED_NEIGHBOR_LEAST ||
	    !(added.share >= GG_PINNED_NEIGHBOR_SHARE))
		return;
	for (size_t i = first; i < end && 2 * below < weight; i++) {
		below += departed[i].weight;
		added.median_lifetime_ns = departed[i].lifetime_ns;
	}
	insert(row, added);
}

/* Fills a row from its blocks [first, end), which are sorted by time. */
static int fill_row(struct neighbor_run *run, size_t first, size_t end,
                    struct gg_pinned_neighbors *row)
{
	size_t count = end - first, judged = count < BLOCKS_MAX ? count : BLOCKS_MAX;
	int status = 0;

	run->departed.count = 0;
	run->row_weight = 0;
	for (size_t i = 0; i < judged && status == 0; i++)
		status = look_around(run, &run->blocks.items[first + i * count / judged]);
	if (status < 0 || run->departed.count == 0 || !(run->row_weight > 0))
		return status;
	qsort(run->departed.items, run->departed.count, sizeof(*run->departed.items),
	      compare_departed);
	for (size_t i = 0, next; i < run->departed.count; i = next) {
		uint32_t function = run->departed.items[i].function;

		for (next = i;
		     next < run->departed.count && run->departed.items[next].function == function;)
			next++;
		judge(run, i, next, row);
	}
	return 0;
}

static int fill_rows(struct neighbor_run *run, const struct gg_query_result *result,
                     size_t row_count, struct gg_pinned_neighbors *rows)
{
	uint32_t *row_of_key = gg_query_rows_of_keys(run->model, result);
	int status = row_of_key != NULL ? collect(run, row_of_key, row_count) : -ENOMEM;

	free(row_of_key);
	if (status < 0 || run->blocks.count == 0)
		return status;
	status = sort_samples(run);
	qsort(run->blocks.items, run->blocks.count, sizeof(*run->blocks.items), compare_blocks);
	for (size_t i = 0, end; i < run->blocks.count && status == 0; i = end) {
		uint32_t row = run->blocks.items[i].row;

		for (end = i; end < run->blocks.count && run->blocks.items[end].row == row;)
			end++;
		status = fill_row(run, i, end, &rows[row]);
	}
	return status;
}

int gg_pinned_find_neighbors(const struct gg_model *model, const struct gg_query_result *result,
                             size_t row_count, struct gg_pinned_neighbors **ret_rows,
                             struct gg_error *error)
{
	struct neighbor_run run = { .model = model };
	struct gg_pinned_neighbors *rows = calloc(result->row_count + 1, sizeof(*rows));
	struct gg_query_filter filter;
	int status;

	if (rows == NULL)
		return gg_error_memory(error, "pinned");
	status = gg_query_filter_open(&filter, model, &result->query, error);
	if (status == 0) {
		run.filter = &filter;
		if (row_count > result->row_count)
			row_count = result->row_count;
		if (fill_rows(&run, result, row_count, rows) < 0)
			status = gg_error_memory(error, "pinned");
		gg_query_filter_close(&filter);
	}
	gg_array_done(&run.blocks);
	gg_array_done(&run.departed);
	free(run.allocations);
	free(run.starts);
	free(run.last_row);
	if (status < 0)
		free(rows);
	else
		*ret_rows = rows;
	return status;
}
