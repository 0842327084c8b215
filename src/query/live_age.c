/* SPDX-License-Identifier: Apache-2.0 */
/* live_age - sorts the live samples by row and age, and halves the weight of each row. */
#include "query/live_age.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "query/query_sums.h"

struct aged_block {
	uint32_t row;
	double age_ns, weighted_bytes;
};

struct age_run {
	const struct gg_query_filter *filter;
	const uint32_t *row_of_key;
	int64_t now_ns;
	GG_ARRAY(struct aged_block) blocks;
	bool failed; /* out of memory */
};

static void add_block(const struct gg_pick *pick, void *context)
{
	struct age_run *run = context;
	const struct gg_model_sample *sample;
	struct aged_block block;

	if (pick->aggregate != NULL || pick->is_uncertain)
		return;
	sample = &run->filter->model->samples[pick->sample];
	block.row = run->row_of_key[gg_query_self_key_of_sample(run->filter, sample)];
	block.age_ns = fmax((double)run->now_ns - (double)pick->block.from_ns, 0);
	block.weighted_bytes = sample->weighted_bytes;
	if (block.row != GG_NO_ROW && !gg_array_push(&run->blocks, block))
		run->failed = true;
}

static int compare_blocks(const void *a, const void *b)
{
	const struct aged_block *left = a, *right = b;

	if (left->row != right->row)
		return left->row < right->row ? -1 : 1;
	return (left->age_ns > right->age_ns) - (left->age_ns < right->age_ns);
}

/* The age that half of the weight of blocks[0..count) does not reach. */
static double find_median(const struct aged_block *blocks, size_t count)
{
	double whole = 0, younger = 0;
	size_t i = 0;

	for (size_t k = 0; k < count; k++)
		whole += blocks[k].weighted_bytes;
	while (i + 1 < count && 2 * (younger + blocks[i].weighted_bytes) < whole)
		younger += blocks[i++].weighted_bytes;
	return blocks[i].age_ns;
}

static void find_medians(struct age_run *run, double *ages_ns)
{
	const struct aged_block *blocks = run->blocks.items;
	size_t count = run->blocks.count;

	if (count > 0)
		qsort(run->blocks.items, count, sizeof(*blocks), compare_blocks);
	for (size_t first = 0, end; first < count; first = end) {
		for (end = first; end < count && blocks[end].row == blocks[first].row;)
			end++;
		ages_ns[blocks[first].row] = find_median(blocks + first, end - first);
	}
}

int gg_live_ages_find(const struct gg_model *model, const struct gg_query_result *result,
                      int64_t now_ns, double **ret_ages_ns, struct gg_error *error)
{
	double *ages_ns = malloc((result->row_count + 1) * sizeof(*ages_ns));
	uint32_t *row_of_key = gg_query_rows_of_keys(model, result);
	struct age_run run = { .row_of_key = row_of_key, .now_ns = now_ns };
	struct gg_query_filter filter;
	int status = ages_ns != NULL && row_of_key != NULL ? 0 : gg_error_memory(error, "ages");

	gg_assert(result->query.metric == GG_METRIC_LIVE);
	if (status == 0)
		status = gg_query_filter_open(&filter, model, &result->query, error);
	if (status == 0) {
		for (size_t i = 0; i < result->row_count; i++)
			ages_ns[i] = NAN;
		run.filter = &filter;
		if (gg_model_has_times(model))
			gg_query_filter_each(&filter, gg_query_filter_is_apart(&filter), add_block,
			                     &run);
		gg_query_filter_close(&filter);
		status = run.failed ? gg_error_memory(error, "ages") : 0;
	}
	if (status == 0)
		find_medians(&run, ages_ns);
	gg_array_done(&run.blocks);
	free(row_of_key);
	if (status < 0)
		free(ages_ns);
	else
		*ret_ages_ns = ages_ns;
	return status;
}
