/* SPDX-License-Identifier: Apache-2.0 */
/* change_since - finds the blocks that came and those that went, and tests them row by row. */
#include "query/change_since.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/discovery.h"
#include "query/query_sums.h"

/* Whether a sample was live at the earlier moment. */
enum { WAS_LIVE = 1, MAYBE_WAS_LIVE = 2, SEEN_NOW = 4 };

/* The blocks of a row that came since the earlier moment, and those that went. */
struct change_sums {
	struct gg_tally went, came;
};

struct change_run {
	const struct gg_model *model;
	const struct gg_change_options *options;
	struct gg_query_filter before, now;
	struct gg_changes *changes;
	GG_ARRAY(struct change_sums) sums; /* by row */
	uint8_t *states;                   /* by sample */
	bool failed;                       /* out of memory */
};

static struct change_sums *sums_of(struct change_run *run, uint32_t key)
{
	struct gg_changes *changes = run->changes;
	uint32_t *slot = &changes->slot_of[key];

	gg_assert(key < changes->key_count);
	if (*slot == GG_NO_SLOT) {
		struct change_sums *added = gg_array_add(&run->sums);

		if (added == NULL) {
			run->failed = true;
			return NULL;
		}
		*slot = (uint32_t)(run->sums.count - 1);
	}
	return &run->sums.items[*slot];
}

static uint32_t key_of(const struct change_run *run, const struct gg_pick *pick)
{
	const struct gg_model_sample sample = { .stack = pick->aggregate != NULL
		                                                 ? pick->aggregate->stack
		                                                 : 0 };
	enum gg_grouping by = run->now.query.by;

	if (pick->aggregate == NULL)
		return gg_query_self_key_of_sample(&run->now, &run->model->samples[pick->sample]);
	if (by == GG_BY_FUNCTION || by == GG_BY_LINE || by == GG_BY_MODULE)
		return gg_query_self_key_of_sample(&run->now, &sample);
	return gg_query_key_of_aggregate(&run->now, pick->aggregate);
}

/* Adds to both sides what may have been live at the earlier moment, and may not. */
static void add_doubt(const struct change_run *run, const struct gg_pick *pick,
                      struct change_sums *sums)
{
	struct gg_pick doubted = *pick;

	doubted.is_uncertain = true;
	gg_query_filter_add_pick(&run->now, &doubted, &sums->went);
	gg_query_filter_add_pick(&run->now, &doubted, &sums->came);
}

/* The earlier moment: notes the samples, and adds aggregates, which are live at no later moment. */
static void visit_before(const struct gg_pick *pick, void *context)
{
	struct change_run *run = context;
	struct change_sums *sums;

	if (pick->aggregate == NULL) {
		run->states[pick->sample] = pick->is_uncertain ? MAYBE_WAS_LIVE : WAS_LIVE;
		return;
	}
	if (run->options->skips_aggregates)
		return;
	sums = sums_of(run, key_of(run, pick));
	if (sums != NULL && (pick->is_uncertain || pick->aggregate->to_ns == GG_TIME_NONE))
		add_doubt(run, pick, sums);
	else if (sums != NULL)
		gg_query_filter_add_pick(&run->now, pick, &sums->went);
}

/* The later moment: what was certainly live at both cancels. */
static void visit_now(const struct gg_pick *pick, void *context)
{
	struct change_run *run = context;
	struct change_sums *sums;
	uint8_t state;

	if (pick->aggregate != NULL && run->options->skips_aggregates)
		return;
	sums = sums_of(run, key_of(run, pick));
	if (sums == NULL)
		return;
	state = pick->aggregate == NULL ? run->states[pick->sample] : 0;
	if (pick->aggregate == NULL)
		run->states[pick->sample] |= SEEN_NOW;
	if (pick->aggregate != NULL || pick->is_uncertain || state == MAYBE_WAS_LIVE)
		add_doubt(run, pick, sums);
	else if (state != WAS_LIVE)
		gg_query_filter_add_pick(&run->now, pick, &sums->came);
}

/* Adds the samples that were live at the earlier moment alone. */
static void add_gone(struct change_run *run)
{
	for (size_t i = 0; i < run->model->sample_count; i++) {
		const struct gg_pick pick = { .sample = i };
		struct change_sums *sums;

		if ((run->states[i] & SEEN_NOW) != 0 || run->states[i] == 0)
			continue;
		sums = sums_of(run, key_of(run, &pick));
		if (sums == NULL)
			return;
		if (run->states[i] == MAYBE_WAS_LIVE)
			add_doubt(run, &pick, sums);
		else
			gg_query_filter_add_pick(&run->now, &pick, &sums->went);
	}
}

static struct gg_change test_sums(const struct change_run *run, struct change_sums *sums)
{
	struct gg_change change;

	gg_query_filter_expose(&run->now, &sums->went);
	gg_query_filter_expose(&run->now, &sums->came);
	change.difference = gg_difference_of(&sums->went, &sums->came, run->now.query.unit, 1,
	                                     run->options->confidence);
	change.q_value = change.difference.p_value;
	change.is_significant = change.q_value <= run->options->false_discovery_rate;
	return change;
}

/* Holds the false discovery rate over all rows. */
static int discover(const struct change_run *run)
{
	struct gg_changes *changes = run->changes;
	if (changes->row_count == 0)
		return 0;
	if (gg_discovery_run(&changes->rows[0].q_value, sizeof(changes->rows[0]),
	                     changes->row_count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < changes->row_count; i++)
		changes->rows[i].is_significant = changes->rows[i].q_value <=
		                                  run->options->false_discovery_rate;
	return 0;
}

static int test_rows(struct change_run *run)
{
	struct gg_changes *changes = run->changes;
	struct change_sums total = { 0 };

	changes->row_count = run->sums.count;
	changes->rows = calloc(changes->row_count + 1, sizeof(*changes->rows));
	if (changes->rows == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < changes->row_count; i++) {
		gg_tally_merge(&total.went, &run->sums.items[i].went);
		gg_tally_merge(&total.came, &run->sums.items[i].came);
		changes->rows[i] = test_sums(run, &run->sums.items[i]);
	}
	changes->total = test_sums(run, &total);
	return discover(run);
}

static int find(struct change_run *run)
{
	struct gg_changes *changes = run->changes;

	changes->key_count = gg_query_key_count(run->model, run->now.query.by);
	changes->slot_of = malloc((changes->key_count + 1) * sizeof(*changes->slot_of));
	run->states = calloc(run->model->sample_count + 1, 1);
	if (changes->slot_of == NULL || run->states == NULL)
		return -ENOMEM;
	memset(changes->slot_of, 0xff, (changes->key_count + 1) * sizeof(*changes->slot_of));
	gg_query_filter_each(&run->before, false, visit_before, run);
	gg_query_filter_each(&run->now, false, visit_now, run);
	add_gone(run);
	return run->failed ? -ENOMEM : test_rows(run);
}

static int open_filters(struct change_run *run, const struct gg_query *query,
                        struct gg_error *error)
{
	struct gg_query before = *query;
	int status;

	before.to_ns = run->options->since_ns;
	status = gg_query_filter_open(&run->before, run->model, &before, error);
	if (status < 0)
		return status;
	status = gg_query_filter_open(&run->now, run->model, query, error);
	if (status < 0)
		gg_query_filter_close(&run->before);
	return status;
}

int gg_changes_since_find(const struct gg_model *model, const struct gg_query *query,
                          const struct gg_change_options *options, struct gg_changes **ret_changes,
                          struct gg_error *error)
{
	struct change_run run = { .model = model, .options = options };
	int status;

	gg_assert(query->metric == GG_METRIC_LIVE);
	status = open_filters(&run, query, error);
	if (status < 0)
		return status;
	run.changes = calloc(1, sizeof(*run.changes));
	status = run.changes != NULL ? find(&run) : -ENOMEM;
	gg_query_filter_close(&run.before);
	gg_query_filter_close(&run.now);
	gg_array_done(&run.sums);
	free(run.states);
	if (status < 0) {
		gg_changes_since_free(run.changes);
		return gg_error_memory(error, "change of live memory");
	}
	*ret_changes = run.changes;
	return 0;
}

void gg_changes_since_free(struct gg_changes *changes)
{
	if (changes == NULL)
		return;
	free(changes->slot_of);
	free(changes->rows);
	free(changes);
}

const struct gg_change *gg_changes_since_of(const struct gg_changes *changes, uint32_t key)
{
	uint32_t slot = key < changes->key_count ? changes->slot_of[key] : GG_NO_SLOT;

	return slot != GG_NO_SLOT ? &changes->rows[slot] : NULL;
}
