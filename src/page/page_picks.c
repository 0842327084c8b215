/* SPDX-License-Identifier: Apache-2.0 */
/* page_picks - collects picks by queries over all blocks, as reports do. */
#include "page/page_picks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/binary_search.h"
#include "base/time_units.h"
#include "model/model.h"
#include "page/page_owners.h"
#include "page/page_run.h"
#include "query/query.h"

const int64_t gg_page_brief_ns[GG_PAGE_BRIEF_COUNT] = { GG_TEMPORARY_NS, 10000000, 100000000,
	                                                GG_NS_PER_S };

/* Extends the possible end by the heirs that nobody saw. */
static void extend(struct gg_page_pick *pick, const struct gg_block_times *times)
{
	pick->own_most_ns = pick->gone_most_ns;
	pick->left_ns = times->left_ns;
	pick->has_left_heirs = times->heir_left_least_ns <= times->heir_left_most_ns;
	pick->left_least_ns = times->heir_left_least_ns;
	pick->left_most_ns = times->heir_left_most_ns;
	if (pick->gone_ns == GG_TIME_NONE || times->heir_until_ns <= pick->gone_most_ns)
		return;
	pick->gone_most_ns = times->heir_until_ns;
	pick->has_heirs = true;
}

/* Sums count as in query.h: they are allocated at the end of their time, and live from then on. */
static void take_aggregate(struct gg_page_pick *pick, const struct gg_model *model,
                           const struct gg_profile_aggregate *aggregate,
                           const struct gg_block_times *times)
{
	int64_t range = aggregate->to_ns - aggregate->from_ns, bucket = aggregate->bucket_ns;

	pick->aggregate = aggregate;
	pick->process = aggregate->process;
	pick->thread = aggregate->thread;
	pick->top = model->stacks[aggregate->stack].top;
	pick->kind = gg_model_aggregate_kind(model, aggregate);
	pick->born_least_ns = aggregate->from_ns + 1;
	pick->is_left = aggregate->to_ns == GG_TIME_NONE;
	pick->is_inherited = aggregate->is_inherited;
	if (pick->is_left || aggregate->is_exact) {
		pick->born_ns = times->from_ns;
		if (pick->born_ns < pick->born_least_ns)
			pick->born_least_ns = pick->born_ns;
		pick->gone_ns = times->held_until_ns;
		pick->gone_least_ns = times->until_least_ns;
		pick->gone_most_ns = times->until_ns;
		pick->has_heirs = aggregate->is_exact && (pick->gone_most_ns > pick->gone_ns ||
		                                          pick->gone_least_ns < pick->gone_ns);
		extend(pick, times);
		return;
	}
	if (bucket <= 0 || bucket >= range)
		bucket = range;
	pick->born_ns = aggregate->from_ns + bucket;
	pick->gone_ns = pick->gone_least_ns = aggregate->to_ns - bucket + 1;
	pick->gone_most_ns = aggregate->to_ns;
	if (pick->gone_ns < pick->born_ns) /* the block was live at no known time */
		pick->gone_ns = pick->born_ns;
	extend(pick, times);
}

struct collecting {
	struct gg_page_run *run;
	size_t at, capacity;
};

static void collect(const struct gg_model_sample *sample,
                    const struct gg_profile_aggregate *aggregate,
                    const struct gg_block_times *times, void *context)
{
	struct collecting *collecting = context;
	struct gg_page_pick *pick = &collecting->run->picks[collecting->at];
	int64_t until_ns;

	if (collecting->at++ >= collecting->capacity)
		return;
	if (aggregate != NULL) {
		take_aggregate(pick, collecting->run->model, aggregate, times);
		return;
	}
	/* The visitor gets a copy; the pick needs the model's own sample of the block. */
	pick->sample = collecting->run->model->samples + sample->block;
	pick->top = collecting->run->model->stacks[sample->stack].top;
	pick->kind = sample->kind;
	pick->process = sample->process;
	pick->thread = sample->thread;
	pick->born_ns = pick->born_least_ns = sample->alloc_ns;
	pick->gone_ns = pick->gone_least_ns = pick->gone_most_ns = sample->free_ns;
	until_ns = gg_model_sample_until(collecting->run->model, pick->sample);
	if (pick->gone_ns != GG_TIME_NONE && until_ns != GG_TIME_NONE && until_ns > pick->gone_ns)
		pick->gone_most_ns = until_ns;
	extend(pick, times);
	pick->is_inherited = (sample->flags & GG_MODEL_INHERITED) != 0;
	pick->is_left = (sample->flags & GG_MODEL_LEFT) != 0;
}

/* Returns the earliest time at which the process may have released the block. */
static int64_t least_end(const struct gg_model *model, const struct gg_model_sample *sample)
{
	int64_t until_ns = gg_model_sample_until(model, sample), freed_ns;

	if (sample->free_ns == GG_TIME_NONE)
		return gg_model_until_least(model, sample->process, until_ns);
	freed_ns = gg_model_freed_from(model, sample);
	return freed_ns < until_ns ? freed_ns : until_ns;
}

struct holding {
	struct gg_page_run *run;
	const uint8_t *is_shared, *brief_of; /* by number of a block's first sample */
	size_t number, at;                   /* of the sample, and of its pick */
};

static void take_holder(const struct gg_model_sample *sample,
                        const struct gg_profile_aggregate *aggregate,
                        const struct gg_block_times *times, void *context)
{
	struct holding *holding = context;
	const struct gg_model *model = holding->run->model;
	const struct gg_model_sample *own = &model->samples[holding->number];
	struct gg_page_pick *pick = &holding->run->held[holding->at];
	uint32_t brief = holding->brief_of[holding->number++];

	gg_assert(aggregate == NULL);
	if (!holding->is_shared[sample->block])
		return;
	holding->at++;
	*pick = (struct gg_page_pick){
		.top = model->stacks[own->stack].top,
		.kind = own->kind,
		.process = own->process,
		.thread = own->thread,
		.share = GG_PAGE_SHARE_HELD,
		.brief = brief,
		.born_ns = own->alloc_ns,
		.born_least_ns = own->alloc_ns,
		.gone_ns = least_end(model, own),
		.gone_least_ns = least_end(model, own),
		.gone_most_ns = gg_model_sample_until(model, own),
		.brief_most = brief,
		.is_inherited = (own->flags & GG_MODEL_INHERITED) != 0,
		.is_left = own->free_ns == GG_TIME_NONE,
		.sample = own,
	};
	extend(pick, times);
}

/* Adds one pick for each holder of a shared block. */
static int collect_held(struct gg_page_run *run)
{
	const struct gg_model_sample *samples = run->model->samples;
	uint8_t *is_shared = calloc(run->model->sample_count + 1, 1);
	uint8_t *brief_of = calloc(run->model->sample_count + 1, 1);
	struct holding holding = { .run = run, .is_shared = is_shared, .brief_of = brief_of };
	struct gg_query query;
	int status = -ENOMEM;

	if (is_shared == NULL || brief_of == NULL)
		goto out;
	for (size_t i = 0; i < run->model->sample_count; i++)
		is_shared[samples[i].block] |= samples[i].block != i;
	for (size_t i = 0; i < run->model->sample_count; i++)
		run->held_count += is_shared[samples[i].block];
	for (size_t i = 0; i < run->pick_count; i++)
		if (run->picks[i].sample != NULL && is_shared[run->picks[i].sample - samples]) {
			run->picks[i].share = GG_PAGE_SHARE_BLOCK;
			brief_of[run->picks[i].sample - samples] = (uint8_t)run->picks[i].brief;
		}
	run->held = calloc(run->held_count + 1, sizeof(*run->held));
	if (run->held == NULL)
		goto out;
	gg_query_init(&query);
	status = run->held_count > 0
	                 ? gg_query_holders(run->model, &query, take_holder, &holding, run->error)
	                 : 0;
out:
	free(is_shared);
	free(brief_of);
	return status == -ENOMEM ? gg_page_out_of_memory(run) : status;
}

struct marking {
	struct gg_page_run *run;
	size_t at;
};

/* Picks have the order in which queries visit their sources: samples, then aggregates. */
static void mark_brief(const struct gg_model_sample *sample,
                       const struct gg_profile_aggregate *aggregate, void *context)
{
	struct marking *marking = context;
	struct gg_page_run *run = marking->run;
	const struct gg_model_sample *own = sample != NULL ? run->model->samples + sample->block
	                                                   : NULL;

	while (marking->at < run->pick_count && (run->picks[marking->at].sample != own ||
	                                         run->picks[marking->at].aggregate != aggregate))
		marking->at++;
	if (marking->at < run->pick_count)
		run->picks[marking->at].brief++;
}

/* Finds the picks that reports call temporary, for each lifetime limit that the page offers. */
static int find_brief(struct gg_page_run *run)
{
	struct gg_query query;
	int status = 0;

	gg_query_init(&query);
	query.metric = GG_METRIC_TEMPORARY;
	for (int i = 0; i < GG_PAGE_BRIEF_COUNT && status == 0; i++) {
		struct marking marking = { .run = run };

		query.temporary_ns = gg_page_brief_ns[i];
		status = gg_query_each(run->model, &query, mark_brief, &marking, run->error);
	}
	return status;
}

/* Returns `brief` for the shortest possible lifetime of the pick. */
static uint32_t find_brief_most(const struct gg_page_pick *pick)
{
	uint32_t most = 0;

	if (pick->aggregate != NULL)
		return pick->aggregate->to_ns != GG_TIME_NONE && !pick->aggregate->is_exact &&
		                       (!(pick->aggregate->lifetime_ns_sum > 0) ||
		                        pick->aggregate->sums.sample_count == 0)
		               ? GG_PAGE_BRIEF_COUNT
		               : pick->brief;
	/* A lifetime ends with the free, whatever heirs hold and whenever a process ended. */
	if (pick->sample->free_ns == GG_TIME_NONE || pick->own_most_ns <= pick->gone_least_ns)
		return pick->brief;
	for (int i = 0; i < GG_PAGE_BRIEF_COUNT; i++)
		most += pick->gone_least_ns - pick->born_ns <= gg_page_brief_ns[i];
	return most > pick->brief ? most : pick->brief;
}

static int collect_blocks(struct gg_page_run *run)
{
	struct collecting collecting = { .run = run };
	struct gg_query query;
	int status;

	collecting.capacity = run->model->sample_count + run->model->aggregate_count;
	run->picks = calloc(collecting.capacity + 1, sizeof(*run->picks));
	if (run->picks == NULL)
		return gg_page_out_of_memory(run);
	gg_query_init(&query);
	status = gg_query_blocks(run->model, &query, collect, &collecting, run->error);
	run->pick_count = collecting.at;
	return status;
}

int gg_page_collect(struct gg_page_run *run)
{
	int status = collect_blocks(run);

	if (status == 0)
		status = find_brief(run);
	for (size_t i = 0; i < run->pick_count; i++)
		run->picks[i].brief_most = find_brief_most(&run->picks[i]);
	if (status == 0)
		status = collect_held(run);
	return status == 0 ? gg_page_owners_find(run) : status;
}

void gg_page_collect_done(struct gg_page_run *run)
{
	free(run->picks);
	free(run->held);
	gg_page_owners_done(&run->owners);
}
