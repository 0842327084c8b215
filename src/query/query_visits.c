/* SPDX-License-Identifier: Apache-2.0 */
/* query_visits - visits what a query selects, and sums it up without rows. */
#include "query/query_sums.h"

/* Adds slack and mappings, which the head of a report shows. */
void gg_query_add_parts(const struct gg_model_sample *sample, double *slack_bytes,
                        double *mapping_bytes)
{
	if ((sample->flags & GG_PROFILE_SAMPLE_MAPPING) != 0)
		*mapping_bytes += sample->weighted_bytes;
	else if (sample->size_bytes > 0)
		*slack_bytes += sample->slack_bytes *
		                (sample->weighted_bytes / (double)sample->size_bytes);
}

/*
 * Turns a query for the peak into one for live at the peak's moment.  That is the peak of all
 * stacks, so a row has the same number whichever stacks are selected.
 */
int gg_query_filter_find_moment(struct gg_query_filter *filter, struct gg_error *error)
{
	struct gg_query all = filter->query;
	struct gg_peak peak;
	int status;

	if (filter->query.metric != GG_METRIC_PEAK)
		return 0;
	all.focus = all.ignore = NULL;
	status = filter->stack_in != NULL ? gg_query_peak(filter->model, &all, &peak, error)
	                                  : gg_query_filter_peak(filter, &peak, error);
	if (status < 0)
		return status;
	filter->query.metric = GG_METRIC_LIVE;
	filter->query.to_ns = peak.time_ns;
	filter->most_ns = peak.most_ns;
	return 0;
}

void gg_query_filter_widen_peak(const struct gg_query_filter *filter, const struct gg_query *query,
                                struct gg_tally *total)
{
	struct gg_peak peak = { .time_ns = filter->query.to_ns, .most_ns = filter->most_ns };

	if (query->metric == GG_METRIC_PEAK && peak.most_ns != peak.time_ns)
		gg_query_filter_peak_tally(filter, &peak, total);
}

struct visit_run {
	const struct gg_model *model;
	gg_pick_visit *visit;
	void *context;
};

/* The sample that represents a block, with the block's times. */
static struct gg_model_sample whole_block(const struct gg_model *model, size_t number,
                                          const struct gg_block *block)
{
	struct gg_model_sample sample = model->samples[number];

	sample.alloc_ns = block->from_ns;
	sample.free_ns = block->until_least_ns;
	if (block->is_left)
		sample.flags |= GG_MODEL_LEFT;
	return sample;
}

static void visit_pick(const struct gg_pick *pick, void *context)
{
	const struct visit_run *run = context;
	struct gg_model_sample sample;

	if (pick->is_uncertain)
		return;
	if (pick->aggregate != NULL) {
		run->visit(NULL, pick->aggregate, run->context);
		return;
	}
	sample = whole_block(run->model, pick->sample, &pick->block);
	run->visit(&sample, NULL, run->context);
}

int gg_query_each(const struct gg_model *model, const struct gg_query *query, gg_pick_visit *visit,
                  void *context, struct gg_error *error)
{
	struct visit_run run = { model, visit, context };
	struct gg_query_filter filter;
	int status = gg_query_filter_open(&filter, model, query, error);

	if (status < 0)
		return status;
	status = gg_query_filter_find_moment(&filter, error);
	if (status == 0)
		gg_query_filter_each(&filter, false, visit_pick, &run);
	gg_query_filter_close(&filter);
	return status;
}

int gg_query_losses_of(const struct gg_model *model, const struct gg_query *query,
                       struct gg_query_losses *ret_losses, struct gg_error *error)
{
	struct gg_query_filter filter;
	int status = gg_query_filter_open(&filter, model, query, error);

	if (status < 0)
		return status;
	*ret_losses = (struct gg_query_losses){ filter.is_incomplete, filter.lacks_java,
		                                filter.interval_bytes };
	gg_query_filter_close(&filter);
	return 0;
}

struct pinned_visit_run {
	const struct gg_query_filter *filter;
	gg_pinned_visit *visit;
	void *context;
};

static void visit_pinned(const struct gg_pick *pick, void *context)
{
	const struct pinned_visit_run *run = context;
	struct gg_tally tally = { 0 };

	gg_query_filter_add_pick(run->filter, pick, &tally);
	run->visit(&run->filter->model->samples[pick->sample], &tally, run->context);
}

int gg_query_each_pinned(const struct gg_model *model, const struct gg_query *query,
                         gg_pinned_visit *visit, void *context, struct gg_pinned_scope *ret_scope,
                         struct gg_error *error)
{
	struct gg_query_filter filter;
	struct pinned_visit_run run = { &filter, visit, context };
	int status = gg_query_filter_open(&filter, model, query, error);

	if (status < 0)
		return status;
	gg_assert(query->metric == GG_METRIC_PINNED);
	gg_query_filter_each(&filter, false, visit_pinned, &run);
	*ret_scope = gg_query_filter_pinned_scope(&filter);
	gg_query_filter_close(&filter);
	return 0;
}

static struct gg_block_times times_of(const struct gg_block *block)
{
	return (struct gg_block_times){
		.from_ns = block->from_ns,
		.until_least_ns = block->until_least_ns,
		.until_ns = block->until_ns,
		.held_until_ns = block->until_least_ns,
		.heir_until_ns = block->heir_until_ns,
		.left_ns = block->is_left ? block->left_ns : GG_TIME_NONE,
		.heir_left_least_ns = block->heir_left_least_ns,
		.heir_left_most_ns = block->heir_left_most_ns,
	};
}

/* is_own: each sample for itself; otherwise each block once, and aggregates. */
static void visit_blocks(const struct gg_query_filter *filter, bool is_own, gg_block_visit *visit,
                         void *context)
{
	const struct gg_model *model = filter->model;
	struct gg_block block;

	for (size_t i = 0; i < model->sample_count; i++) {
		struct gg_model_sample sample;
		struct gg_block_times times;

		if (is_own ? !gg_query_filter_selects(filter, &model->samples[i])
		           : !gg_query_filter_block(filter, i, &block))
			continue;
		if (is_own)
			block = gg_query_filter_own_block(filter, i);
		sample = whole_block(model, i, &block);
		times = times_of(&block);
		visit(&sample, NULL, &times, context);
	}
	for (size_t i = 0; i < model->aggregate_count && !is_own; i++) {
		const struct gg_profile_aggregate *aggregate = &model->aggregates[i];
		struct gg_block_times times;

		if (!gg_query_filter_has_aggregate(filter, aggregate))
			continue;
		block = gg_query_block_of_aggregate(filter, aggregate);
		times = times_of(&block);
		times.held_until_ns = gg_query_filter_held_until(filter, aggregate);
		visit(NULL, aggregate, &times, context);
	}
}

static int visit_all(const struct gg_model *model, const struct gg_query *query, bool is_own,
                     gg_block_visit *visit, void *context, struct gg_error *error)
{
	struct gg_query_filter filter;
	int status = gg_query_filter_open(&filter, model, query, error);

	if (status < 0)
		return status;
	visit_blocks(&filter, is_own, visit, context);
	gg_query_filter_close(&filter);
	return 0;
}

int gg_query_blocks(const struct gg_model *model, const struct gg_query *query,
                    gg_block_visit *visit, void *context, struct gg_error *error)
{
	return visit_all(model, query, false, visit, context, error);
}

int gg_query_holders(const struct gg_model *model, const struct gg_query *query,
                     gg_block_visit *visit, void *context, struct gg_error *error)
{
	return visit_all(model, query, true, visit, context, error);
}

struct sum_run {
	const struct gg_model *model;
	const struct gg_query_filter *filter;
	struct gg_sum_up *up;
	struct gg_plain_tally samples;
};

static void sum_pick(const struct gg_pick *pick, void *context)
{
	struct sum_run *sum = context;
	const struct gg_model_sample *sample;

	if (pick->is_uncertain) {
		gg_query_filter_add_pick(sum->filter, pick, &sum->up->total);
		return;
	}
	if (pick->aggregate != NULL) {
		gg_model_add_aggregate(sum->model, &sum->up->total, pick->aggregate);
		return;
	}
	sample = sum->model->samples + pick->sample;
	if (pick->pinned != NULL) {
		gg_plain_tally_add_value(&sum->samples, &sample->draw, sample->size_bytes,
		                         &pick->pinned->looked);
		return;
	}
	gg_plain_tally_add_sample(&sum->samples, &sample->draw, sample->size_bytes);
	gg_query_add_parts(sample, &sum->up->slack_bytes, &sum->up->mapping_bytes);
}

int gg_query_sum(const struct gg_model *model, const struct gg_query *query,
                 struct gg_sum_up *ret_sum, struct gg_error *error)
{
	struct gg_sum_up up = { 0 };
	struct gg_query_filter filter;
	struct sum_run sum = { .model = model, .filter = &filter, .up = &up };
	int status = gg_query_filter_open(&filter, model, query, error);

	if (status < 0)
		return status;
	status = gg_query_filter_find_moment(&filter, error);
	if (status == 0) {
		struct gg_tally samples;

		gg_query_filter_each(&filter, false, sum_pick, &sum);
		gg_plain_tally_tally(&sum.samples, &samples);
		gg_tally_merge(&up.total, &samples);
		gg_query_filter_expose(&filter, &up.total);
		gg_query_filter_widen_peak(&filter, query, &up.total);
		*ret_sum = up;
	}
	gg_query_filter_close(&filter);
	return status;
}
