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

#include "query/query_rows.h"

struct keyed_sample {
	uint32_t key;
	uint32_t number; /* of a sample, or of an aggregate */
};

struct notes {
	struct keyed_sample *items;
	size_t count;
};

struct query_run {
	const struct gg_model *model;
	struct gg_query_filter filter;
	struct gg_query_result *result;
	struct notes samples, coarse;
	struct notes uncertain;  /* numbers of aggregates follow those of samples */
	struct gg_groups groups; /* by key of the rows; by stack if the rows are locations */
};

enum { SIZE_KEY_COUNT = 256 };

static bool is_of_places(enum gg_grouping by)
{
	return by == GG_BY_FUNCTION || by == GG_BY_LINE || by == GG_BY_MODULE;
}

uint32_t gg_query_size_class(uint64_t size_bytes)
{
	return size_bytes <= 1 ? 0 : 64 - (uint32_t)__builtin_clzll(size_bytes - 1);
}

static uint32_t key_of_sample(const struct query_run *run, const struct gg_model_sample *sample)
{
	switch (run->filter.query.by) {
	case GG_BY_THREAD:
		return sample->thread;
	case GG_BY_PROCESS:
		return sample->process;
	case GG_BY_LABEL:
		return run->filter.label_of[sample->process];
	case GG_BY_SIZE:
		return gg_query_size_class(sample->size_bytes);
	case GG_BY_KIND:
		return sample->kind;
	case GG_BY_HEAP:
		return run->model->kinds[sample->kind].heap;
	case GG_BY_TYPE:
		return run->model->kinds[sample->kind].type;
	default:
		return run->model->stacks[sample->stack].top;
	}
}

/* Aggregates do not know their allocation class; one extra key after all others serves them. */
static uint32_t key_of_coarse(const struct query_run *run, const struct gg_profile_coarse *coarse)
{
	switch (run->filter.query.by) {
	case GG_BY_THREAD:
		return coarse->thread;
	case GG_BY_PROCESS:
		return coarse->process;
	case GG_BY_LABEL:
		return run->filter.label_of[coarse->process];
	case GG_BY_SIZE:
		return coarse->size_class < SIZE_KEY_COUNT ? coarse->size_class
		                                           : SIZE_KEY_COUNT - 1;
	case GG_BY_KIND:
		return (uint32_t)run->model->kind_count;
	case GG_BY_HEAP:
		return (uint32_t)run->model->heap_count;
	case GG_BY_TYPE:
		return (uint32_t)run->model->type_count;
	default:
		return run->model->stacks[coarse->stack].top;
	}
}

static size_t count_keys(const struct gg_model *model, enum gg_grouping by)
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

/* Adds slack and mappings, which the head of a report shows. */
static void add_kind(const struct gg_model_sample *sample, double *slack_bytes,
                     double *mapping_bytes)
{
	if ((sample->flags & GG_PROFILE_SAMPLE_MAPPING) != 0)
		*mapping_bytes += sample->weighted_bytes;
	else if (sample->size_bytes > 0)
		*slack_bytes += sample->slack_bytes *
		                (sample->weighted_bytes / (double)sample->size_bytes);
}

static void note(const struct gg_pick *pick, void *context)
{
	struct query_run *run = context;
	const struct gg_model_sample *sample;

	if (pick->coarse != NULL) {
		size_t number = (size_t)(pick->coarse - run->model->coarse);
		uint32_t key = key_of_coarse(run, pick->coarse);

		if (pick->is_uncertain)
			run->uncertain.items[run->uncertain.count++] = (struct keyed_sample){
				key, (uint32_t)(run->model->sample_count + number)
			};
		else
			run->coarse.items[run->coarse.count++] = (struct keyed_sample){
				key, (uint32_t)number
			};
		return;
	}
	sample = run->model->samples + pick->sample;
	if (pick->is_uncertain) {
		run->uncertain.items[run->uncertain.count++] = (struct keyed_sample){
			key_of_sample(run, sample), (uint32_t)pick->sample
		};
		return;
	}
	run->samples.items[run->samples.count++] = (struct keyed_sample){
		key_of_sample(run, sample), (uint32_t)pick->sample
	};
	add_kind(sample, &run->result->slack_bytes, &run->result->mapping_bytes);
}

static void add_to_total(const struct gg_pick *pick, void *context)
{
	struct query_run *run = context;

	gg_query_filter_add_pick(&run->filter, pick, &run->result->total);
}

static void add_unplaced(const struct gg_pick *pick, void *context)
{
	struct query_run *run = context;

	gg_model_add_coarse(run->model, &run->result->unplaced, pick->coarse);
}

/* Sorts numbers of samples by key: those of key k are sorted[ends[k-1]..ends[k]). */
static int sort_notes(const struct notes *notes, size_t key_count, uint32_t **ret_sorted,
                      uint32_t **ret_ends)
{
	uint32_t *sorted = malloc((notes->count + 1) * sizeof(*sorted));
	uint32_t *ends = calloc(key_count + 1, sizeof(*ends));

	if (sorted == NULL || ends == NULL) {
		free(sorted);
		free(ends);
		return -ENOMEM;
	}
	for (size_t i = 0; i < notes->count; i++)
		ends[notes->items[i].key + 1]++;
	for (size_t key = 0; key < key_count; key++)
		ends[key + 1] += ends[key];
	for (size_t i = 0; i < notes->count; i++)
		sorted[ends[notes->items[i].key]++] = notes->items[i].number;
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
	for (size_t i = 0; i < run->coarse.count; i++)
		groups->slot_of[run->coarse.items[i].key] = 0;
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

		if (noted->number >= sample_count) {
			pick.coarse = run->model->coarse + (noted->number - sample_count);
			pick.sample = 0;
		}
		gg_query_filter_add_pick(&run->filter, &pick,
		                         &groups->tallies[groups->slot_of[noted->key]]);
	}
}

static int add_up(struct query_run *run)
{
	enum { AHEAD = 8 }; /* prefetch samples this many steps ahead */
	const struct gg_model_sample *samples = run->model->samples;
	const struct gg_profile_coarse *coarse = run->model->coarse;
	struct gg_groups *groups = &run->groups;
	uint32_t *sorted, *ends;
	size_t i = 0;

	if (give_slots(run) < 0 || sort_notes(&run->samples, groups->key_count, &sorted, &ends) < 0)
		return -ENOMEM;
	for (size_t slot = 0; slot < groups->count; slot++) {
		size_t end = ends[groups->keys[slot]];
		struct gg_plain_tally sum = { 0 };

		for (; i < end; i++) {
			const struct gg_model_sample *sample = &samples[sorted[i]];

			if (i + AHEAD < run->samples.count)
				__builtin_prefetch(&samples[sorted[i + AHEAD]].size_bytes);
			gg_plain_tally_add_sample(&sum, &sample->draw, sample->size_bytes);
		}
		gg_plain_tally_tally(&sum, &groups->tallies[slot]);
	}
	for (i = 0; i < run->coarse.count; i++)
		gg_model_add_coarse(run->model,
		                    &groups->tallies[groups->slot_of[run->coarse.items[i].key]],
		                    &coarse[run->coarse.items[i].number]);
	add_uncertain(run);
	free(sorted);
	free(ends);
	return 0;
}

/* --- rows ----------------------------------------------------------------------------------- */

struct ordered {
	double value, other; /* of the tally that sorts the rows, and of the other tally */
	double uncertain; /* the uncertain part of `value`; among bounds, the higher one comes first */
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
static bool is_asked_for(const struct query_run *run, uint32_t key)
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

	return gg_model_is_incomplete(
		run->model, process,
		query->metric == GG_METRIC_ALLOCATED ? query->from_ns : INT64_MIN, query->to_ns);
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
	for (size_t i = 0; i < count * each; i++) {
		gg_query_filter_expose(&run->filter, &tallies[i]);
		if (run->filter.query.by == GG_BY_PROCESS && run->filter.is_incomplete)
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

		result->rows[i] = (struct gg_query_row){ order[i].key,
			                                 is_asked_for(run, order[i].key), &of[0],
			                                 &of[each - 1] };
	}
	result->row_count = count;
	free(order);
	return 0;
}

static int make_place_rows(struct query_run *run)
{
	enum gg_grouping by = run->filter.query.by;
	struct gg_frame_sums places;
	struct gg_tally *tallies = NULL;
	int status = gg_frame_sums_of(&places, run->model, by, count_keys(run->model, by),
	                              &run->groups);

	if (status == 0) {
		tallies = malloc((2 * places.keys.count + 1) * sizeof(*tallies));
		status = tallies == NULL ? -ENOMEM : 0;
	}
	if (status == 0) {
		for (size_t i = 0; i < 2 * places.keys.count; i++)
			gg_plain_tally_tally(&places.sums.items[i], &tallies[i]);
		status = make_rows(run, tallies, places.keys.items, places.keys.count, 2);
	}
	gg_frame_sums_done(&places);
	return status;
}

static int note_all(struct query_run *run, bool apart)
{
	run->samples.items = malloc((run->model->sample_count + 1) * sizeof(*run->samples.items));
	run->coarse.items = malloc((run->model->coarse_count + 1) * sizeof(*run->coarse.items));
	run->uncertain.items = malloc((run->model->sample_count + run->model->coarse_count + 1) *
	                              sizeof(*run->uncertain.items));
	if (run->samples.items == NULL || run->coarse.items == NULL || run->uncertain.items == NULL)
		return -ENOMEM;
	gg_query_filter_each(&run->filter, apart, note, run);
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

/* A process's row has every block that the process holds, even if others hold it, too. */
static int sum_selection(struct query_run *run)
{
	const struct gg_query *query = &run->filter.query;
	bool of_places = is_of_places(query->by);
	bool apart = (query->by == GG_BY_PROCESS || query->by == GG_BY_LABEL) &&
	             run->filter.blocks != NULL && gg_query_filter_is_of_blocks(&run->filter);
	struct gg_groups *groups = &run->groups;
	int status = note_all(run, apart);

	groups->key_count = count_keys(run->model, of_places ? GG_BY_STACK : query->by);
	if (status == 0)
		status = add_up(run);
	if (status == 0)
		add_total(run, apart);
	if (status == 0 && of_places) {
		status = make_place_rows(run);
	} else if (status == 0) {
		status = make_rows(run, groups->tallies, groups->keys, groups->count, 1);
		groups->tallies = NULL;
	}
	free(run->samples.items);
	free(run->coarse.items);
	free(run->uncertain.items);
	free(groups->slot_of);
	free(groups->keys);
	free(groups->tallies);
	return status;
}

/* Turns a query for the peak into one for live at the peak's moment. */
static int find_moment(struct gg_query_filter *filter, struct gg_error *error)
{
	struct gg_peak peak;
	int status;

	if (filter->query.metric != GG_METRIC_PEAK)
		return 0;
	status = gg_query_filter_peak(filter, &peak, error);
	if (status < 0)
		return status;
	filter->query.metric = GG_METRIC_LIVE;
	filter->query.to_ns = peak.time_ns;
	filter->most_ns = peak.most_ns;
	return 0;
}

/* Where times were lost, the upper bound of a peak may belong to another moment. */
static void widen_peak(const struct gg_query_filter *filter, const struct gg_query *query,
                       struct gg_tally *total)
{
	struct gg_peak peak = { .time_ns = filter->query.to_ns, .most_ns = filter->most_ns };

	if (query->metric == GG_METRIC_PEAK && peak.most_ns != peak.time_ns)
		gg_query_filter_peak_tally(filter, &peak, total);
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
	status = find_moment(&run.filter, error);
	if (status < 0)
		goto out;
	run.result = calloc(1, sizeof(*run.result));
	status = run.result != NULL ? sum_selection(&run) : -ENOMEM;
	if (status == 0)
		widen_peak(&run.filter, query, &run.result->total);
	if (status < 0) {
		gg_query_result_free(run.result);
		gg_error_set_errno(error, -status, "query", NULL);
		goto out;
	}
	run.result->query = *query;
	run.result->moment_ns = run.filter.query.to_ns;
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

struct each {
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
	const struct each *each = context;
	struct gg_model_sample sample;

	if (pick->is_uncertain)
		return;
	if (pick->coarse != NULL) {
		each->visit(NULL, pick->coarse, each->context);
		return;
	}
	sample = whole_block(each->model, pick->sample, &pick->block);
	each->visit(&sample, NULL, each->context);
}

int gg_query_each(const struct gg_model *model, const struct gg_query *query, gg_pick_visit *visit,
                  void *context, struct gg_error *error)
{
	struct each each = { model, visit, context };
	struct gg_query_filter filter;
	int status = gg_query_filter_open(&filter, model, query, error);

	if (status < 0)
		return status;
	status = find_moment(&filter, error);
	if (status == 0)
		gg_query_filter_each(&filter, false, visit_pick, &each);
	gg_query_filter_close(&filter);
	return status;
}

int gg_query_blocks(const struct gg_model *model, const struct gg_query *query,
                    gg_pick_visit *visit, void *context, struct gg_error *error)
{
	const struct gg_profile_coarse *coarse = model->coarse;
	struct gg_query_filter filter;
	struct gg_block block;
	int status = gg_query_filter_open(&filter, model, query, error);

	if (status < 0)
		return status;
	for (size_t i = 0; i < model->sample_count; i++) {
		struct gg_model_sample sample;

		if (!gg_query_filter_block(&filter, i, &block))
			continue;
		sample = whole_block(model, i, &block);
		visit(&sample, NULL, context);
	}
	for (size_t i = 0; i < model->coarse_count; i++)
		if (gg_query_filter_has_coarse(&filter, &coarse[i]))
			visit(NULL, &coarse[i], context);
	gg_query_filter_close(&filter);
	return 0;
}

struct sort_value {
	const struct gg_model *model;
	const struct gg_query_filter *filter;
	struct gg_sum_up *up;
	struct gg_plain_tally samples;
};

static void sum_pick(const struct gg_pick *pick, void *context)
{
	struct sort_value *sum = context;
	const struct gg_model_sample *sample;

	if (pick->is_uncertain) {
		gg_query_filter_add_pick(sum->filter, pick, &sum->up->total);
		return;
	}
	if (pick->coarse != NULL) {
		gg_model_add_coarse(sum->model, &sum->up->total, pick->coarse);
		return;
	}
	sample = sum->model->samples + pick->sample;
	gg_plain_tally_add_sample(&sum->samples, &sample->draw, sample->size_bytes);
	add_kind(sample, &sum->up->slack_bytes, &sum->up->mapping_bytes);
}

int gg_query_sum(const struct gg_model *model, const struct gg_query *query,
                 struct gg_sum_up *ret_sum, struct gg_error *error)
{
	struct gg_sum_up up = { 0 };
	struct gg_query_filter filter;
	struct sort_value sum = { .model = model, .filter = &filter, .up = &up };
	int status = gg_query_filter_open(&filter, model, query, error);

	if (status < 0)
		return status;
	status = find_moment(&filter, error);
	if (status == 0) {
		struct gg_tally samples;

		gg_query_filter_each(&filter, false, sum_pick, &sum);
		gg_plain_tally_tally(&sum.samples, &samples);
		gg_tally_merge(&up.total, &samples);
		gg_query_filter_expose(&filter, &up.total);
		widen_peak(&filter, query, &up.total);
		*ret_sum = up;
	}
	gg_query_filter_close(&filter);
	return status;
}
