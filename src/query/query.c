/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query - adds up the selection of a filter, row by row.
 *
 * A tally takes several cache lines.  Adding samples in their order to a hundred thousand tallies
 * would miss the cache each time.  Therefore the query first collects pairs of sample and key,
 * sorts them by key (a counting sort in two passes), and adds up one key after the other.
 */
#include "query/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/query_sums.h"

struct keyed_sample {
	uint32_t key;
	uint32_t number; /* of a sample, or of an aggregate */
};

struct keyed_samples {
	struct keyed_sample *items;
	size_t count;
};

struct query_run {
	const struct gg_model *model;
	struct gg_query_filter filter;
	struct gg_query_result *result;
	struct keyed_samples samples, aggregates;
	struct keyed_samples uncertain; /* numbers of aggregates follow those of samples */
	struct gg_groups groups;        /* by key of the rows; by stack if the rows are locations */
};

static bool is_of_locations(enum gg_grouping by)
{
	return by == GG_BY_FUNCTION || by == GG_BY_LINE || by == GG_BY_MODULE;
}

/* The number under which a group finds a sample again: of the sample, or of a block of looks. */
static uint32_t number_of(const struct query_run *run, const struct gg_pick *pick)
{
	if (pick->pinned != NULL)
		return (uint32_t)(pick->pinned - run->filter.pinned.blocks.items);
	return (uint32_t)pick->sample;
}

static void collect_pick(const struct gg_pick *pick, void *context)
{
	struct query_run *run = context;
	const struct gg_model_sample *sample;

	if (pick->aggregate != NULL) {
		size_t number = (size_t)(pick->aggregate - run->model->aggregates);
		uint32_t key = gg_query_key_of_aggregate(&run->filter, pick->aggregate);

		if (pick->is_uncertain)
			run->uncertain.items[run->uncertain.count++] = (struct keyed_sample){
				key, (uint32_t)(run->model->sample_count + number)
			};
		else
			run->aggregates.items[run->aggregates.count++] = (struct keyed_sample){
				key, (uint32_t)number
			};
		return;
	}
	sample = run->model->samples + pick->sample;
	if (pick->is_uncertain) {
		run->uncertain.items[run->uncertain.count++] = (struct keyed_sample){
			gg_query_key_of_sample(&run->filter, sample), number_of(run, pick)
		};
		return;
	}
	run->samples.items[run->samples.count++] = (struct keyed_sample){
		gg_query_key_of_sample(&run->filter, sample), number_of(run, pick)
	};
	if (pick->pinned != NULL)
		return;
	gg_query_add_parts(sample, &run->result->slack_bytes, &run->result->mapping_bytes);
}

static void add_to_total(const struct gg_pick *pick, void *context)
{
	struct query_run *run = context;

	gg_query_filter_add_pick(&run->filter, pick, &run->result->total);
}

static void add_unplaced(const struct gg_pick *pick, void *context)
{
	struct query_run *run = context;

	gg_model_add_aggregate(run->model, &run->result->unplaced, pick->aggregate);
}

/* Sorts numbers of samples by key: those of key k are sorted[ends[k-1]..ends[k]). */
static int sort_by_key(const struct keyed_samples *keyed, size_t key_count, uint32_t **ret_sorted,
                       uint32_t **ret_ends)
{
	uint32_t *sorted = malloc((keyed->count + 1) * sizeof(*sorted));
	uint32_t *ends = calloc(key_count + 1, sizeof(*ends));

	if (sorted == NULL || ends == NULL) {
		free(sorted);
		free(ends);
		return -ENOMEM;
	}
	for (size_t i = 0; i < keyed->count; i++) {
		gg_assert(keyed->items[i].key < key_count);
		ends[keyed->items[i].key + 1]++;
	}
	for (size_t key = 0; key < key_count; key++)
		ends[key + 1] += ends[key];
	for (size_t i = 0; i < keyed->count; i++)
		sorted[ends[keyed->items[i].key]++] = keyed->items[i].number;
	*ret_sorted = sorted;
	*ret_ends = ends;
	return 0;
}

/* Makes a slot for each key that occurs. */
static int give_slots(struct query_run *run)
{
	struct gg_groups *groups = &run->groups;

	groups->slot_of = malloc((groups->key_count + 1) * sizeof(*groups->slot_of));
	if (groups->slot_of == NULL)
		return -ENOMEM;
	memset(groups->slot_of, 0xff, (groups->key_count + 1) * sizeof(*groups->slot_of));
	for (size_t i = 0; i < run->samples.count; i++)
		groups->slot_of[run->samples.items[i].key] = 0;
	for (size_t i = 0; i < run->aggregates.count; i++)
		groups->slot_of[run->aggregates.items[i].key] = 0;
	for (size_t i = 0; i < run->uncertain.count; i++)
		groups->slot_of[run->uncertain.items[i].key] = 0;
	for (size_t key = 0; key < groups->key_count; key++)
		if (groups->slot_of[key] != GG_NO_SLOT)
			groups->slot_of[key] = (uint32_t)groups->count++;
	groups->keys = malloc((groups->count + 1) * sizeof(*groups->keys));
	groups->tallies = calloc(groups->count + 1, sizeof(*groups->tallies));
	if (groups->keys == NULL || groups->tallies == NULL)
		return -ENOMEM;
	for (size_t key = 0; key < groups->key_count; key++)
		if (groups->slot_of[key] != GG_NO_SLOT)
			groups->keys[groups->slot_of[key]] = (uint32_t)key;
	return 0;
}

/* Adds the uncertain samples and aggregates to their groups. */
static void add_uncertain(struct query_run *run)
{
	const struct gg_groups *groups = &run->groups;
	size_t sample_count = run->model->sample_count;

	for (size_t i = 0; i < run->uncertain.count; i++) {
		const struct keyed_sample *noted = &run->uncertain.items[i];
		struct gg_pick pick = { .sample = noted->number, .is_uncertain = true };

		if (run->filter.query.metric == GG_METRIC_PINNED) {
			pick.pinned = &run->filter.pinned.blocks.items[noted->number];
			pick.sample = pick.pinned->sample;
		} else if (noted->number >= sample_count) {
			pick.aggregate = run->model->aggregates + (noted->number - sample_count);
			pick.sample = 0;
		}
		gg_query_filter_add_pick(&run->filter, &pick,
		                         &groups->tallies[groups->slot_of[noted->key]]);
	}
}

/* Adds samples, or blocks of looks, by their numbers. */
static void add_samples(const struct query_run *run, const uint32_t *numbers, size_t count,
                        struct gg_plain_tally *sum)
{
	enum { AHEAD = 8 }; /* prefetch samples this many steps ahead */
	const struct gg_pinned_block *blocks = run->filter.pinned.blocks.items;
	const struct gg_model_sample *samples = run->model->samples, *sample;

	if (run->filter.query.metric == GG_METRIC_PINNED) {
		for (size_t i = 0; i < count; i++) {
			sample = &samples[blocks[numbers[i]].sample];
			gg_plain_tally_add_value(sum, &sample->draw, sample->size_bytes,
			                         &blocks[numbers[i]].looked);
		}
		return;
	}
	for (size_t i = 0; i < count; i++) {
		sample = &samples[numbers[i]];
		if (i + AHEAD < count)
			__builtin_prefetch(&samples[numbers[i + AHEAD]].size_bytes);
		gg_plain_tally_add_sample(sum, &sample->draw, sample->size_bytes);
	}
}

/* Groups with Java objects lack some if the selection does. */
static void doubt_java(struct query_run *run)
{
	const struct keyed_samples *const parts[] = { &run->samples, &run->uncertain };
	const struct gg_groups *groups = &run->groups;
	const struct gg_model *model = run->model;

	if (!run->filter.lacks_java)
		return;
	for (size_t part = 0; part < GG_COUNT(parts); part++)
		for (size_t i = 0; i < parts[part]->count; i++) {
			const struct keyed_sample *noted = &parts[part]->items[i];
			bool is_sample = noted->number < model->sample_count;

			if (gg_query_filter_lacks_like(
				    &run->filter, &model->samples[is_sample ? noted->number : 0],
				    is_sample ? NULL
					      : model->aggregates +
							(noted->number - model->sample_count)))
				groups->tallies[groups->slot_of[noted->key]].incomplete = 1;
		}
	for (size_t i = 0; i < run->aggregates.count; i++)
		if (gg_query_filter_lacks_like(&run->filter, NULL,
		                               model->aggregates + run->aggregates.items[i].number))
			groups->tallies[groups->slot_of[run->aggregates.items[i].key]].incomplete =
				1;
}

static int add_up(struct query_run *run)
{
	const struct gg_profile_aggregate *aggregates = run->model->aggregates;
	struct gg_groups *groups = &run->groups;
	uint32_t *sorted, *ends;
	size_t i = 0;

	if (give_slots(run) < 0 ||
	    sort_by_key(&run->samples, groups->key_count, &sorted, &ends) < 0)
		return -ENOMEM;
	for (size_t slot = 0; slot < groups->count; slot++) {
		size_t end = ends[groups->keys[slot]];

		gg_assert(end >= i && end <= run->samples.count);
		struct gg_plain_tally sum = { 0 };

		add_samples(run, sorted + i, end - i, &sum);
		i = end;
		gg_plain_tally_tally(&sum, &groups->tallies[slot]);
	}
	for (i = 0; i < run->aggregates.count; i++)
		gg_model_add_aggregate(
			run->model, &groups->tallies[groups->slot_of[run->aggregates.items[i].key]],
			&aggregates[run->aggregates.items[i].number]);
	add_uncertain(run);
	doubt_java(run);
	free(sorted);
	free(ends);
	return 0;
}

/* --- rows ----------------------------------------------------------------------------------- */

struct ordered {
	double value, other; /* of the tally that sorts the rows, and of the other tally */
	double uncertain;    /* the uncertain part of `value`; the higher bound comes first */
	uint32_t slot, key;
};

static int compare_ordered(const void *a, const void *b)
{
	const struct ordered *left = a, *right = b;

	if (left->value != right->value)
		return left->value < right->value ? 1 : -1;
	if (left->uncertain != right->uncertain)
		return left->uncertain < right->uncertain ? 1 : -1;
	if (left->other != right->other)
		return left->other < right->other ? 1 : -1;
	return (left->key > right->key) - (left->key < right->key);
}

/* True if the expression is just the row's name, possibly between ^ and $. */
static bool is_named_by_query(const struct query_run *run, uint32_t key)
{
	const char *focus = run->filter.query.focus;
	struct gg_model_function function;
	size_t length;

	if (focus == NULL || run->filter.query.by != GG_BY_FUNCTION)
		return false;
	function = run->model->functions[key];
	focus += focus[0] == '^';
	length = strcspn(focus, "\\^$.[]|()*+?{}");
	if (focus[length] != '\0' && strcmp(focus + length, "$") != 0)
		return false;
	return (strlen(function.name) == length && strncmp(function.name, focus, length) == 0) ||
	       (strlen(function.short_name) == length &&
	        strncmp(function.short_name, focus, length) == 0);
}

static double value_of(const struct query_run *run, const struct gg_tally *tally)
{
	return gg_tally_estimate(tally, run->filter.query.unit).value;
}

/* A process's row is complete unless this process dropped samples, whatever others did. */
static bool is_process_incomplete(const struct query_run *run, uint32_t process)
{
	const struct gg_query *query = &run->filter.query;

	return gg_query_filter_is_heir(&run->filter, process) ||
	       gg_model_lacks_java_objects(run->model, process) ||
	       gg_model_is_incomplete(run->model, process,
	                              query->metric == GG_METRIC_ALLOCATED ? query->from_ns
	                                                                   : INT64_MIN,
	                              query->to_ns);
}

/* True if a row of that grouping may have blocks of any heap, also those without a sample. */
static bool is_of_any_heap(enum gg_grouping by)
{
	return by == GG_BY_SIZE || by == GG_BY_THREAD || by == GG_BY_PROCESS || by == GG_BY_LABEL;
}

/* The tallies of one row, of which the last is the total. */
static void expose_row(const struct query_run *run, struct gg_tally *tallies, size_t each)
{
	const struct gg_query_filter *filter = &run->filter;
	const struct gg_tally *total = &tallies[each - 1];
	bool may_lack = is_of_any_heap(filter->query.by) || gg_tally_is_empty(total) ||
	                total->incomplete > 0;

	for (size_t i = 0; i < each; i++)
		if (may_lack)
			gg_query_filter_expose(filter, &tallies[i]);
		else
			gg_query_filter_expose_other(filter, &tallies[i]);
}

/* Makes rows from `each` tallies for each key; with two, the first is self. */
static int make_rows(struct query_run *run, struct gg_tally *tallies, const uint32_t *keys,
                     size_t count, size_t each)
{
	struct gg_query_result *result = run->result;
	size_t by = run->filter.query.sort_by_total ? each - 1 : 0;
	struct ordered *order = malloc((count + 1) * sizeof(*order));

	result->tallies = tallies;
	result->rows = malloc((count + 1) * sizeof(*result->rows));
	if (order == NULL || result->rows == NULL) {
		free(order);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		expose_row(run, &tallies[i * each], each);
	for (size_t i = 0; i < count * each; i++) {
		if (run->filter.query.by == GG_BY_PROCESS &&
		    (run->filter.is_incomplete || run->filter.lacks_java ||
		     run->filter.heirs.is_heir != NULL))
			tallies[i].incomplete = is_process_incomplete(run, keys[i]) ? 1 : 0;
	}
	for (size_t i = 0; i < count; i++)
		order[i] = (struct ordered){
			.value = value_of(run, &tallies[i * each + by]),
			.other = value_of(run, &tallies[i * each + each - 1 - by]),
			.uncertain =
				tallies[i * each + by].uncertain[run->filter.query.unit].value.high,
			.slot = (uint32_t)i,
			.key = keys[i],
		};
	qsort(order, count, sizeof(*order), compare_ordered);
	for (size_t i = 0; i < count; i++) {
		const struct gg_tally *of = &tallies[order[i].slot * each];

		result->rows[i] = (struct gg_query_row){
			.key = order[i].key,
			.is_named = is_named_by_query(run, order[i].key),
			.self = &of[0],
			.total = &of[each - 1],
		};
	}
	gg_assert(count == 0 || result->tallies != NULL);
	result->row_count = count;
	free(order);
	return 0;
}

static int make_location_rows(struct query_run *run)
{
	enum gg_grouping by = run->filter.query.by;
	struct gg_frame_sums sums;
	struct gg_tally *tallies = NULL;
	int status = gg_frame_sums_of(&sums, run->model, by, gg_query_key_count(run->model, by),
	                              &run->groups);

	if (status == 0) {
		tallies = malloc((2 * sums.keys.count + 1) * sizeof(*tallies));
		status = tallies == NULL ? -ENOMEM : 0;
	}
	if (status == 0) {
		for (size_t i = 0; i < 2 * sums.keys.count; i++)
			gg_plain_tally_tally(&sums.sums.items[i], &tallies[i]);
		status = make_rows(run, tallies, sums.keys.items, sums.keys.count, 2);
	}
	gg_frame_sums_done(&sums);
	return status;
}

static int collect_all(struct query_run *run, bool apart)
{
	run->samples.items = malloc((run->model->sample_count + 1) * sizeof(*run->samples.items));
	run->aggregates.items = malloc((run->model->aggregate_count + 1) *
	                               sizeof(*run->aggregates.items));
	run->uncertain.items = malloc((run->model->sample_count + run->model->aggregate_count + 1) *
	                              sizeof(*run->uncertain.items));
	if (run->samples.items == NULL || run->aggregates.items == NULL ||
	    run->uncertain.items == NULL)
		return -ENOMEM;
	gg_query_filter_each(&run->filter, apart, collect_pick, run);
	gg_query_filter_each_unplaced(&run->filter, add_unplaced, run);
	return 0;
}

/* The total is the sum of the groups, unless processes share blocks. */
static void add_total(struct query_run *run, bool apart)
{
	if (apart)
		gg_query_filter_each(&run->filter, false, add_to_total, run);
	else
		for (size_t i = 0; i < run->groups.count; i++)
			gg_tally_merge(&run->result->total, &run->groups.tallies[i]);
	gg_query_filter_expose(&run->filter, &run->result->total);
}

static int sum_selection(struct query_run *run)
{
	const struct gg_query *query = &run->filter.query;
	bool of_locations = is_of_locations(query->by);
	bool apart = gg_query_filter_is_apart(&run->filter);
	struct gg_groups *groups = &run->groups;
	int status = collect_all(run, apart);

	groups->key_count = gg_query_key_count(run->model, of_locations ? GG_BY_STACK : query->by);
	if (status == 0)
		status = add_up(run);
	if (status == 0)
		add_total(run, apart);
	if (status == 0 && of_locations) {
		status = make_location_rows(run);
		if (status == 0)
			status = gg_query_find_vias(run->result, run->model, query->by, groups);
	} else if (status == 0) {
		status = make_rows(run, groups->tallies, groups->keys, groups->count, 1);
		if (status == 0 && query->by == GG_BY_STACK)
			status = gg_query_find_vias(run->result, run->model, query->by, groups);
		groups->tallies = NULL;
	}
	free(run->samples.items);
	free(run->aggregates.items);
	free(run->uncertain.items);
	free(groups->slot_of);
	free(groups->keys);
	free(groups->tallies);
	return status;
}

void gg_query_init(struct gg_query *query)
{
	*query = (struct gg_query){ .metric = GG_METRIC_LIVE,
		                    .by = GG_BY_FUNCTION,
		                    .unit = GG_BYTES,
		                    .from_ns = INT64_MIN,
		                    .to_ns = GG_TIME_NONE,
		                    .temporary_ns = GG_TEMPORARY_NS };
}

int gg_query_rows(const struct gg_model *model, const struct gg_query *query,
                  struct gg_query_result **ret_result, struct gg_error *error)
{
	struct query_run run = { .model = model };
	int status = gg_query_filter_open(&run.filter, model, query, error);

	if (status < 0)
		return status;
	status = gg_query_filter_find_moment(&run.filter, error);
	if (status < 0)
		goto out;
	run.result = calloc(1, sizeof(*run.result));
	status = run.result != NULL ? sum_selection(&run) : -ENOMEM;
	if (status == 0)
		gg_query_filter_widen_peak(&run.filter, query, &run.result->total);
	if (status < 0) {
		gg_query_result_free(run.result);
		gg_error_set_errno(error, -status, "query", NULL);
		goto out;
	}
	run.result->query = *query;
	run.result->pinned = run.filter.pinned.coverage;
	run.result->moment_ns = query->metric == GG_METRIC_PINNED
	                                ? run.filter.pinned.coverage.time_ns
	                                : run.filter.query.to_ns;
	*ret_result = run.result;
out:
	gg_query_filter_close(&run.filter);
	return status;
}

void gg_query_result_free(struct gg_query_result *result)
{
	if (result == NULL)
		return;
	free(result->rows);
	free(result->tallies);
	free(result);
}
