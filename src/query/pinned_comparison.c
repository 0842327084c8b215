/* SPDX-License-Identifier: Apache-2.0 */
/* pinned_comparison - draws random rows from blocks of the same size classes. */
#include "query/pinned_comparison.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "query/query_sums.h"
#include "stats/sampling/rng.h"

enum { DRAW_COUNT = 999, SEED = 22 };

/* A known block with its row. */
struct compared_block {
	uint32_t row, class;
	double value, weight, age_ns;
};

/* The sums of a row: its own, the expected one, and how draws compare with its own. */
struct compared_row {
	uint64_t block_count, at_least_count, at_most_count;
	double sum, expected, drawn;
	bool has_others; /* some other row has a block of the same sizes */
};

struct comparison_run {
	const struct gg_model *model;
	const struct gg_query_result *result;
	const struct gg_query_filter *filter;
	struct compared_block *blocks;
	size_t block_count;
	double *values; /* of the blocks, in their order; draws shuffle them within a class */
	struct compared_row *rows;
};

static int compare_blocks(const void *a, const void *b)
{
	const struct compared_block *left = a, *right = b;

	if (left->class != right->class)
		return left->class < right->class ? -1 : 1;
	return (left->row > right->row) - (left->row < right->row);
}

static int compare_ages(const void *a, const void *b)
{
	const struct compared_block *left = a, *right = b;

	if (left->row != right->row)
		return left->row < right->row ? -1 : 1;
	return (left->age_ns > right->age_ns) - (left->age_ns < right->age_ns);
}

static void collect(struct comparison_run *run, const uint32_t *row_of_key)
{
	const struct gg_pinned *pinned = &run->filter->pinned;
	bool apart = gg_query_filter_is_apart(run->filter);

	for (size_t i = 0; i < pinned->blocks.count; i++) {
		const struct gg_pinned_block *block = &pinned->blocks.items[i];
		const struct gg_model_sample *sample = &run->model->samples[block->sample];
		struct compared_block *kept = &run->blocks[run->block_count];

		if (!block->is_known || (!apart && !block->is_first))
			continue;
		kept->row = gg_query_filter_selects(run->filter, sample)
		                    ? row_of_key[gg_query_self_key_of_sample(run->filter, sample)]
		                    : GG_NO_ROW;
		kept->class = gg_pinned_class(sample);
		kept->value = block->looked.value;
		kept->weight = gg_pinned_weight(run->model, block);
		kept->age_ns = (double)(block->look_ns - sample->alloc_ns);
		run->block_count++;
	}
}

/* Returns the end of the class that begins at a block; the blocks are sorted by class. */
static size_t class_end(const struct comparison_run *run, size_t first)
{
	size_t end = first;

	while (end < run->block_count && run->blocks[end].class == run->blocks[first].class)
		end++;
	return end;
}

/* Marks the rows of a class unless one row has all of its blocks, which are sorted by row. */
static void find_others(struct comparison_run *run, size_t first, size_t end)
{
	if (run->blocks[first].row == run->blocks[end - 1].row)
		return;
	for (size_t i = first; i < end; i++)
		if (run->blocks[i].row != GG_NO_ROW)
			run->rows[run->blocks[i].row].has_others = true;
}

/* Sums up what the rows have, and what they would have if all blocks of a class were alike. */
static void sum_rows(struct comparison_run *run)
{
	for (size_t first = 0, end; first < run->block_count; first = end) {
		double mean = 0;

		end = class_end(run, first);
		find_others(run, first, end);
		for (size_t i = first; i < end; i++)
			mean += run->blocks[i].value / (double)(end - first);
		for (size_t i = first; i < end; i++) {
			const struct compared_block *block = &run->blocks[i];

			run->values[i] = block->value;
			if (block->row == GG_NO_ROW)
				continue;
			run->rows[block->row].block_count++;
			run->rows[block->row].sum += block->weight * block->value;
			run->rows[block->row].expected += block->weight * mean;
		}
	}
}

/* Gives the values of each class to its blocks in a random order. */
static void shuffle(struct comparison_run *run, struct gg_rng *rng)
{
	for (size_t first = 0, end; first < run->block_count; first = end) {
		end = class_end(run, first);
		for (size_t i = end - 1; i > first; i--) {
			size_t other = first + gg_rng_below(rng, i - first + 1);
			double value = run->values[i];

			run->values[i] = run->values[other];
			run->values[other] = value;
		}
	}
}

/* Sums of equal values may differ by rounding; they count as equal. */
static void draw_once(struct comparison_run *run, struct gg_rng *rng)
{
	for (size_t i = 0; i < run->result->row_count; i++)
		run->rows[i].drawn = 0;
	shuffle(run, rng);
	for (size_t i = 0; i < run->block_count; i++)
		if (run->blocks[i].row != GG_NO_ROW)
			run->rows[run->blocks[i].row].drawn += run->blocks[i].weight *
			                                       run->values[i];
	for (size_t i = 0; i < run->result->row_count; i++) {
		struct compared_row *row = &run->rows[i];
		double slack = 1e-9 * row->sum;

		row->at_least_count += row->drawn >= row->sum - slack;
		row->at_most_count += row->drawn <= row->sum + slack;
	}
}

static void fill_rows(const struct comparison_run *run, struct gg_pinned_comparison *rows)
{
	for (size_t i = 0; i < run->result->row_count; i++) {
		const struct compared_row *row = &run->rows[i];
		uint64_t rarer = row->at_least_count < row->at_most_count ? row->at_least_count
		                                                          : row->at_most_count;

		rows[i] = (struct gg_pinned_comparison){ row->block_count, NAN, NAN, NAN };
		if (!(row->expected > 0) || !row->has_others)
			continue;
		rows[i].ratio = row->sum / row->expected;
		rows[i].p_value = fmin(1, 2 * (double)(1 + rarer) / (DRAW_COUNT + 1));
	}
}

/* Sets the age that half of the weight of a row's blocks does not reach. */
static void find_ages(struct comparison_run *run, struct gg_pinned_comparison *rows)
{
	qsort(run->blocks, run->block_count, sizeof(*run->blocks), compare_ages);
	for (size_t first = 0, end; first < run->block_count; first = end) {
		uint32_t row = run->blocks[first].row;
		double weight = 0, below = 0;

		for (end = first; end < run->block_count && run->blocks[end].row == row; end++)
			weight += run->blocks[end].weight;
		if (row == GG_NO_ROW)
			continue;
		for (size_t i = first; i < end; i++) {
			below += run->blocks[i].weight;
			if (2 * below < weight)
				continue;
			rows[row].age_ns = run->blocks[i].age_ns;
			break;
		}
	}
}

static int compare_rows(struct comparison_run *run, struct gg_pinned_comparison *rows)
{
	size_t room = run->filter->pinned.blocks.count + 1;
	uint32_t *row_of_key = gg_query_rows_of_keys(run->model, run->result);
	struct gg_rng rng;

	run->blocks = calloc(room, sizeof(*run->blocks));
	run->values = calloc(room, sizeof(*run->values));
	run->rows = calloc(run->result->row_count + 1, sizeof(*run->rows));
	if (row_of_key == NULL || run->blocks == NULL || run->values == NULL || run->rows == NULL) {
		free(row_of_key);
		return -ENOMEM;
	}
	collect(run, row_of_key);
	free(row_of_key);
	qsort(run->blocks, run->block_count, sizeof(*run->blocks), compare_blocks);
	sum_rows(run);
	gg_rng_seed(&rng, SEED, 0);
	for (int i = 0; i < DRAW_COUNT; i++)
		draw_once(run, &rng);
	fill_rows(run, rows);
	find_ages(run, rows);
	return 0;
}

int gg_pinned_compare(const struct gg_model *model, const struct gg_query_result *result,
                      struct gg_pinned_comparison **ret_rows, struct gg_error *error)
{
	struct comparison_run run = { .model = model, .result = result };
	struct gg_pinned_comparison *rows = calloc(result->row_count + 1, sizeof(*rows));
	struct gg_query_filter filter;
	int status;

	if (rows == NULL)
		return gg_error_memory(error, "pinned");
	status = gg_query_filter_open(&filter, model, &result->query, error);
	if (status == 0) {
		run.filter = &filter;
		if (compare_rows(&run, rows) < 0)
			status = gg_error_memory(error, "pinned");
		gg_query_filter_close(&filter);
	}
	free(run.blocks);
	free(run.values);
	free(run.rows);
	if (status < 0)
		free(rows);
	else
		*ret_rows = rows;
	return status;
}
