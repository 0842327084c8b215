/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query_vias - finds the hidden function through which most of a row's own memory was allocated.
 */
#include <errno.h>
#include <stdlib.h>

#include "query/query_sums.h"

/* The most memory that one stack of a row allocated through a hidden function. */
struct row_via {
	uint32_t function;
	double bytes;
};

static uint32_t row_key_of(const struct gg_model *model, enum gg_grouping by, uint32_t stack)
{
	size_t count;
	const struct gg_code_location *locations = gg_model_stack_locations(model, stack, &count);

	return by == GG_BY_STACK  ? stack
	       : by == GG_BY_LINE ? locations[0].line
	                          : locations[0].function;
}

int gg_query_find_vias(struct gg_query_result *result, const struct gg_model *model,
                       enum gg_grouping by, const struct gg_groups *stacks)
{
	struct row_via *vias;

	if (model->stack_vias == NULL || by == GG_BY_MODULE)
		return 0;
	vias = calloc(gg_query_key_count(model, by), sizeof(*vias));
	if (vias == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < stacks->count; i++) {
		uint32_t stack = stacks->keys[i];
		double bytes = gg_tally_estimate(&stacks->tallies[i], GG_BYTES).value;
		struct row_via *via = &vias[row_key_of(model, by, stack)];

		if (model->stack_vias[stack] != 0 && bytes >= via->bytes)
			*via = (struct row_via){ model->stack_vias[stack], bytes };
	}
	for (size_t i = 0; i < result->row_count; i++)
		result->rows[i].via = vias[result->rows[i].key].function;
	free(vias);
	return 0;
}
