/* SPDX-License-Identifier: Apache-2.0 */
#include "query/leak_types.h"

#include <errno.h>
#include <stdlib.h>

#include "stats/estimate/interval.h"

int gg_type_sums_init(struct gg_type_sums *ret_sums, size_t type_count, double interval_bytes)
{
	*ret_sums = (struct gg_type_sums){ .interval_bytes = interval_bytes };
	ret_sums->places = calloc(type_count + 1, sizeof(*ret_sums->places));
	return ret_sums->places == NULL ? -ENOMEM : 0;
}

void gg_type_sums_done(struct gg_type_sums *sums)
{
	gg_array_done(&sums->sums);
	free(sums->places);
	sums->places = NULL;
}

struct gg_tally *gg_type_sums_find(struct gg_type_sums *sums, uint32_t type)
{
	struct gg_type_sum *sum;

	if (sums->places[type] != 0)
		return &sums->sums.items[sums->places[type] - 1].tally;
	sum = gg_array_add(&sums->sums);
	if (sum == NULL)
		return NULL;
	sum->type = type;
	gg_tally_expose(&sum->tally, sums->interval_bytes);
	sums->places[type] = (uint32_t)sums->sums.count;
	return &sum->tally;
}

/* Sorts by size, the largest first; then by type. */
static int compare_types(const void *x, const void *y)
{
	const struct gg_leak_type *a = x, *b = y;

	if (a->live_bytes != b->live_bytes)
		return a->live_bytes > b->live_bytes ? -1 : 1;
	return a->type < b->type ? -1 : a->type > b->type;
}

static struct gg_leak_type type_of(struct gg_type_sum *sum, double confidence, bool is_incomplete)
{
	struct gg_interval interval;

	if (is_incomplete)
		sum->tally.incomplete = 1;
	interval = gg_interval_of(&sum->tally, GG_BYTES, confidence, true);
	return (struct gg_leak_type){
		.type = sum->type,
		.sample_count = sum->tally.sample_count,
		.live_bytes = gg_tally_estimate(&sum->tally, GG_BYTES).value,
		.low_bytes = interval.low,
		.high_bytes = interval.high,
	};
}

int gg_type_sums_take(struct gg_type_sums *sums, double confidence, bool is_incomplete,
                      struct gg_leak_type **ret_types, size_t *ret_count)
{
	size_t count = sums->sums.count;
	struct gg_leak_type *types = NULL;

	if (count > 0) {
		types = calloc(count, sizeof(*types));
		if (types == NULL)
			return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		sums->places[sums->sums.items[i].type] = 0;
		types[i] = type_of(&sums->sums.items[i], confidence, is_incomplete);
	}
	if (count > 0)
		qsort(types, count, sizeof(*types), compare_types);
	sums->sums.count = 0;
	*ret_types = types;
	*ret_count = count;
	return 0;
}
