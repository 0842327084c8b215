/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sql_pinned_values.h"

#include <errno.h>
#include <string.h>

#include "model/model.h"

static const struct gg_sql_pinned_moment *moment_of(const struct gg_sql_pinned_values *values,
                                                    uint32_t moment)
{
	return moment == GG_LOOK_PEAK ? &values->peak : &values->last;
}

/* A block that several processes hold counts for the first one, as in reports. */
static bool add_value(const void *context, uint64_t sample_id, uint32_t moment,
                      struct gg_tally *tally)
{
	const struct gg_sql_pinned_values *values = context;
	const struct gg_sql_pinned_moment *at = moment_of(values, moment);
	uint64_t number = gg_map_get(&at->numbers, sample_id);
	const struct gg_pinned_block *block;
	const struct gg_model_sample *sample;
	struct gg_tally one = { 0 };

	if (number == GG_MAP_NONE)
		return false;
	block = &at->pinned.blocks.items[number];
	sample = &values->model->samples[block->sample];
	if (!block->is_first)
		return true;
	gg_tally_add_value(&one, &sample->draw, sample->size_bytes, &block->looked);
	if (!block->is_known)
		gg_tally_doubt(&one);
	gg_tally_merge(tally, &one);
	return true;
}

static void bound_values(const void *context, uint32_t moment, struct gg_tally *tally)
{
	gg_pinned_scope_expose(&moment_of(context, moment)->scope, tally);
}

/* Finds the numbers of blocks by the ids of their samples. */
static int number_blocks(struct gg_sql_pinned_moment *at, const struct gg_map *ids)
{
	int status = 0;

	for (size_t i = 0; i < at->pinned.blocks.count && status == 0; i++)
		status = gg_map_put(&at->numbers,
		                    gg_map_get(ids, at->pinned.blocks.items[i].sample), i);
	return status;
}

/* A profile without looks at that moment has no blocks, which is no error of the question. */
static int find_moment(struct gg_sql_pinned_moment *at, const struct gg_model *model,
                       uint32_t moment, const struct gg_map *ids, struct gg_error *error)
{
	struct gg_error absence = { 0 };
	int status = gg_pinned_find(&at->pinned, model, NULL, moment, &absence);

	if (status == -ENODATA)
		return 0;
	if (status < 0) {
		*error = absence;
		return status;
	}
	at->scope = (struct gg_pinned_scope){
		.hides = at->pinned.hides,
		.is_incomplete = gg_model_is_incomplete(model, 0, INT64_MIN, INT64_MAX),
		.limit_bytes = at->pinned.coverage.limit_bytes,
		.changed_bytes = (double)at->pinned.coverage.changed_bytes,
		.changed_share = at->pinned.coverage.changed_share,
	};
	return number_blocks(at, ids) < 0 ? gg_error_memory(error, "sql") : 0;
}

int gg_sql_pinned_values_find(struct gg_sql_pinned_values *values, struct gg_profile *profile,
                              const char *question, struct gg_error *error)
{
	const struct gg_model *model;
	struct gg_map ids = { 0 }; /* of samples in the file, by the model's number */
	int status;

	values->source = (struct gg_sql_pinned){ add_value, bound_values, values };
	if (strcasestr(question, "gg_pinned_") == NULL)
		return 0;
	status = gg_model_load(&values->model, &profile, 1, NULL, error);
	if (status < 0)
		return status;
	model = values->model;
	for (size_t i = 0; i < model->look_block_count && status == 0; i++)
		if (model->look_blocks[i].sample != GG_MODEL_NO_SAMPLE)
			status = gg_map_put(&ids, model->look_blocks[i].sample,
			                    model->look_block_ids[i]);
	if (status < 0)
		status = gg_error_memory(error, "sql");
	if (status == 0)
		status = find_moment(&values->last, model, GG_LOOK_LAST, &ids, error);
	if (status == 0)
		status = find_moment(&values->peak, model, GG_LOOK_PEAK, &ids, error);
	gg_map_done(&ids);
	return status;
}

void gg_sql_pinned_values_done(struct gg_sql_pinned_values *values)
{
	gg_pinned_done(&values->last.pinned);
	gg_pinned_done(&values->peak.pinned);
	gg_map_done(&values->last.numbers);
	gg_map_done(&values->peak.numbers);
	gg_model_free(values->model);
}
