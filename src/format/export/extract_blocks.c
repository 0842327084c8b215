/* SPDX-License-Identifier: Apache-2.0 */
/* extract_blocks - collects the blocks and aggregates of an extract in the order of time. */
#include "format/export/extract_blocks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "stats/sampling/weight.h"

struct blocks {
	const struct gg_extract *extract;
	GG_ARRAY(struct gg_extract_block) blocks;
	bool failed;
};

static struct gg_extract_block block_of_sample(const struct gg_model_sample *sample)
{
	double count = sample->size_bytes > 0 ? sample->weighted_bytes / (double)sample->size_bytes
	                                      : gg_weight_of(&sample->draw, 0).count;

	return (struct gg_extract_block){
		.alloc_ns = sample->alloc_ns,
		.free_ns = sample->free_ns,
		.bytes = sample->weighted_bytes,
		.count = count,
		.process = sample->process,
		.stack = sample->stack,
		.thread = sample->thread,
		.kind = sample->kind,
	};
}

/*
 * An aggregate counts from when all of it was live until a part of it was freed (query.h,
 * "Exactness").
 */
static struct gg_extract_block block_of_aggregate(const struct gg_model *model,
                                                  const struct gg_profile_aggregate *aggregate,
                                                  const struct gg_block_times *times)
{
	return (struct gg_extract_block){
		.alloc_ns = times->from_ns,
		/* These formats have no bounds. */
		.free_ns = times->held_until_ns > times->from_ns ? times->held_until_ns
		                                                 : times->from_ns,
		.bytes = gg_fixed_value(aggregate->sums.bytes),
		.count = gg_fixed_value(aggregate->sums.count),
		.process = aggregate->process,
		.stack = aggregate->stack,
		.thread = aggregate->thread,
		.kind = gg_model_aggregate_kind(model, aggregate),
	};
}

static void visit_block(const struct gg_model_sample *sample,
                        const struct gg_profile_aggregate *aggregate,
                        const struct gg_block_times *times, void *context)
{
	struct blocks *blocks = context;
	const struct gg_extract *extract = blocks->extract;
	const struct gg_query *query = &extract->query;
	struct gg_extract_block block;

	if (blocks->failed)
		return;
	block = sample != NULL ? block_of_sample(sample)
	                       : block_of_aggregate(extract->model, aggregate, times);
	if (block.alloc_ns > query->to_ns ||
	    (block.alloc_ns <= query->from_ns && block.free_ns <= query->from_ns))
		return;
	if (block.alloc_ns < extract->start_ns)
		block.alloc_ns = extract->start_ns;
	if (block.free_ns > query->to_ns)
		block.free_ns = GG_TIME_NONE;
	block.stack = extract->model->stacks[block.stack].top;
	blocks->failed |= !gg_array_push(&blocks->blocks, block);
}

static int compare_blocks(const void *a, const void *b)
{
	const struct gg_extract_block *left = a, *right = b;

	return (left->alloc_ns > right->alloc_ns) - (left->alloc_ns < right->alloc_ns);
}

int gg_extract_blocks(const struct gg_extract *extract, struct gg_extract_block **ret_blocks,
                      size_t *ret_count, struct gg_error *error)
{
	struct blocks blocks = { .extract = extract };
	int status = gg_query_blocks(extract->model, &extract->query, visit_block, &blocks, error);

	if (status == 0 && blocks.failed)
		status = gg_error_memory(error, "export");
	if (status < 0) {
		gg_array_done(&blocks.blocks);
		return status;
	}
	if (blocks.blocks.count > 0)
		qsort(blocks.blocks.items, blocks.blocks.count, sizeof(*blocks.blocks.items),
		      compare_blocks);
	*ret_blocks = blocks.blocks.items;
	*ret_count = blocks.blocks.count;
	return 0;
}

static int compare_ends(const void *a, const void *b, void *context)
{
	const struct gg_extract_block *blocks = context;
	int64_t left = blocks[*(const uint32_t *)a].free_ns;
	int64_t right = blocks[*(const uint32_t *)b].free_ns;

	return (left > right) - (left < right);
}

int gg_extract_ends(const struct gg_extract_block *blocks, size_t count, uint32_t **ret_ends,
                    size_t *ret_end_count)
{
	uint32_t *ends = malloc((count + 1) * sizeof(*ends));
	size_t end_count = 0;

	if (ends == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (blocks[i].free_ns != GG_TIME_NONE)
			ends[end_count++] = (uint32_t)i;
	qsort_r(ends, end_count, sizeof(*ends), compare_ends, (void *)blocks);
	*ret_ends = ends;
	*ret_end_count = end_count;
	return 0;
}
