/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query_keys - finds the key of the row to which a sample or an aggregate belongs.
 *
 * Rows by function, line, or module begin as sums by stack, because a sample belongs to all
 * functions of its stack (query_frames).
 */
#include "query/query_sums.h"

#include <stdlib.h>
#include <string.h>

enum { SIZE_KEY_COUNT = 256 };

uint32_t gg_query_size_class(uint64_t size_bytes)
{
	return size_bytes <= 1 ? 0 : 64 - (uint32_t)__builtin_clzll(size_bytes - 1);
}

uint32_t gg_query_key_of_sample(const struct gg_query_filter *filter,
                                const struct gg_model_sample *sample)
{
	switch (filter->query.by) {
	case GG_BY_THREAD:
		return sample->thread;
	case GG_BY_PROCESS:
		return sample->process;
	case GG_BY_LABEL:
		return filter->label_of[sample->process];
	case GG_BY_SIZE:
		return gg_query_size_class(sample->size_bytes);
	case GG_BY_KIND:
		return sample->kind;
	case GG_BY_HEAP:
		return filter->model->kinds[sample->kind].heap;
	case GG_BY_TYPE:
		return filter->model->kinds[sample->kind].type;
	default:
		return filter->model->stacks[sample->stack].top;
	}
}

uint32_t gg_query_self_key_of_sample(const struct gg_query_filter *filter,
                                     const struct gg_model_sample *sample)
{
	const struct gg_model *model = filter->model;
	enum gg_grouping by = filter->query.by;
	struct gg_code_location place;
	size_t count;

	if (by != GG_BY_FUNCTION && by != GG_BY_LINE && by != GG_BY_MODULE)
		return gg_query_key_of_sample(filter, sample);
	place = gg_model_stack_locations(model, model->stacks[sample->stack].top, &count)[0];
	if (by == GG_BY_LINE)
		return place.line;
	return by == GG_BY_FUNCTION ? place.function : model->functions[place.function].module;
}

uint32_t *gg_query_rows_of_keys(const struct gg_model *model, const struct gg_query_result *result)
{
	size_t key_count = gg_query_key_count(model, result->query.by);
	uint32_t *row_of_key = malloc((key_count + 1) * sizeof(*row_of_key));

	if (row_of_key == NULL)
		return NULL;
	memset(row_of_key, 0xff, (key_count + 1) * sizeof(*row_of_key));
	for (size_t i = 0; i < result->row_count; i++)
		row_of_key[result->rows[i].key] = (uint32_t)i;
	return row_of_key;
}

/* One extra key after all others serves aggregates whose allocation class was not kept. */
uint32_t gg_query_key_of_aggregate(const struct gg_query_filter *filter,
                                   const struct gg_profile_aggregate *aggregate)
{
	const struct gg_model *model = filter->model;
	uint32_t kind = gg_model_aggregate_kind(model, aggregate);

	switch (filter->query.by) {
	case GG_BY_THREAD:
		return aggregate->thread;
	case GG_BY_PROCESS:
		return aggregate->process;
	case GG_BY_LABEL:
		return filter->label_of[aggregate->process];
	case GG_BY_SIZE:
		return aggregate->size_class < SIZE_KEY_COUNT ? aggregate->size_class
		                                              : SIZE_KEY_COUNT - 1;
	case GG_BY_KIND:
		return kind;
	case GG_BY_HEAP:
		return kind < model->kind_count ? model->kinds[kind].heap
		                                : (uint32_t)model->heap_count;
	case GG_BY_TYPE:
		return kind < model->kind_count ? model->kinds[kind].type
		                                : (uint32_t)model->type_count;
	default:
		return model->stacks[aggregate->stack].top;
	}
}

size_t gg_query_key_count(const struct gg_model *model, enum gg_grouping by)
{
	switch (by) {
	case GG_BY_FUNCTION:
		return model->function_count;
	case GG_BY_LINE:
		return model->line_count;
	case GG_BY_STACK:
		return model->stack_count;
	case GG_BY_MODULE:
		return model->module_count;
	case GG_BY_THREAD:
		return model->thread_count;
	case GG_BY_PROCESS:
	case GG_BY_LABEL:
		return model->process_count;
	case GG_BY_SIZE:
		return SIZE_KEY_COUNT;
	case GG_BY_KIND:
		return model->kind_count + 1;
	case GG_BY_HEAP:
		return model->heap_count + 1;
	case GG_BY_TYPE:
		return model->type_count + 1;
	}
	return 0;
}
