/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query - adds up what a scope selects, row by row.
 *
 * First it only notes which samples go to which key, then it sorts them by key (by counting, two
 * passes) and adds up one key after the other: a tally is several cache lines, and a hundred thousand
 * of them in the order of the samples would miss the cache each time.
 */
#include "query/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/query_rows.h"

struct noted {
	uint32_t key;
	uint32_t number; /* of a sample, or a coarse row */
};

struct notes {
	struct noted *items;
	size_t count;
};

struct run {
	const struct gg_model *model;
	struct gg_query_filter scope;
	struct gg_query_result *result;
	struct notes samples, coarse;
	struct notes uncertain;  /* numbers of coarse rows follow those of samples */
	struct gg_groups groups; /* by the key that rows have, or by stack where rows are places */
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

static uint32_t key_of_sample(const struct run *run, const struct gg_model_sample *sample)
{
	switch (run->scope.query.by) {
	case GG_BY_THREAD:
		return sample->thread;
	case GG_BY_PROCESS:
		return sample->process;
	case GG_BY_LABEL:
		return run->scope.label_of[sample->process];
	case GG_BY_SIZE:
		return gg_query_size_class(sample->size_bytes);
	case GG_BY_KIND:
		return sample->kind;
	case GG_BY_HEAP:
		return gg_model_kind(run->model, sample->kind).heap;
	case GG_BY_TYPE:
		return gg_model_kind(run->model, sample->kind).type;
	default:
		return gg_model_stack_top(run->model, sample->stack);
	}
}

/* Coarse rows do not tell kinds: the first one after all others stands for them. */
static uint32_t key_of_coarse(const struct run *run, const struct gg_profile_coarse *coarse)
{
	switch (run->scope.query.by) {
	case GG_BY_THREAD:
		return coarse->thread;
	case GG_BY_PROCESS:
		return coarse->process;
	case GG_BY_LABEL:
		return run->scope.label_of[coarse->process];
	case GG_BY_SIZE:
		return coarse->size_class < SIZE_KEY_COUNT ? coarse->size_class
		                                           : SIZE_KEY_COUNT - 1;
	case GG_BY_KIND:
		return (uint32_t)gg_model_kind_count(run->model);
	case GG_BY_HEAP:
		return (uint32_t)gg_model_heap_count(run->model);
	case GG_BY_TYPE:
		return (uint32_t)gg_model_type_count(run->model);
	default:
		return gg_model_stack_top(run->model, coarse->stack);
	}
}

static size_t count_keys(const struct gg_model *model, enum gg_grouping by)
{
	size_t count = 0;

	switch (by) {
	case GG_BY_FUNCTION:
		return gg_model_function_count(model);
	case GG_BY_LINE:
		return gg_model_line_count(model);
	case GG_BY_STACK:
		return gg_model_stack_count(model);
	case GG_BY_MODULE:
		return gg_model_module_count(model);
	case GG_BY_THREAD:
		gg_model_threads(model, &count);
		return count;
	case GG_BY_PROCESS:
	case GG_BY_LABEL:
		gg_model_processes(model, &count);
		return count;
	case GG_BY_SIZE:
		return SIZE_KEY_COUNT;
	case GG_BY_KIND:
		return gg_model_kind_count(model) + 1;
	case GG_BY_HEAP:
		return gg_model_heap_count(model) + 1;
	case GG_BY_TYPE:
		return gg_model_type_count(model) + 1;
	}
	return count;
}

/* What usable size and mappings add to the head of a report. */
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
	struct run *run = context;
	const struct gg_model_sample *sample;

	if (pick->coarse != NULL) {
		size_t number = (size_t)(pick->coarse - run->model->coarse.items);
		uint32_t key = key_of_coarse(run, pick->coarse);

		if (pick->is_uncertain)
			run->uncertain.items[run->uncertain.count++] = (struct noted){
				key, (uint32_t)(run->model->samples.count + number)
			};
		else
			run->coarse.items[run->coarse.count++] = (struct noted){ key,
				                                                 (uint32_t)number };
		return;
	}
	sample = run->model->samples.items + pick->sample;
	if (pick->is_uncertain) {
		run->uncertain.items[run->uncertain.count++] = (struct noted){
			key_of_sample(run, sample), (uint32_t)pick->sample
		};
		return;
	}
	run->samples.items[run->samples.count++] = (struct noted){ key_of_sample(run, sample),
		                                                   (uint32_t)pick->sample };
	add_kind(sample, &run->result->slack_bytes, &run->result->mapping_bytes);
}

static void add_to_total(const struct gg_pick *pick, void *context)
{
	struct run *run = context;

	gg_query_filter_add_pick(&run->scope, pick, &run->result->total);
}

static void add_unplaced(const struct gg_pick *pick, void *context)
{
	struct run *run = context;

	gg_model_add_coarse(run->model, &run->result->unplaced, pick->coarse);
}

/* Numbers of samples by key: those of key k are sorted[ends[k-1]..ends[k]). */
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

/* A slot for each key that was noted. */
static int give_slots(struct run *run)
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

/* What may belong to a group or not. */
static void add_uncertain(struct run *run)
{
	const struct gg_groups *groups = &run->groups;
	size_t sample_count = run->model->samples.count;

	for (size_t i = 0; i < run->uncertain.count; i++) {
		const struct noted *noted = &run->uncertain.items[i];
		struct gg_pick pick = { .sample = noted->number, .is_uncertain = true };

		if (noted->number >= sample_count) {
			pick.coarse = run->model->coarse.items + (noted->number - sample_count);
			pick.sample = 0;
		}
		gg_query_filter_add_pick(&run->scope, &pick,
		                         &groups->tallies[groups->slot_of[noted->key]]);
	}
}

static int add_up(struct run *run)
{
	enum { AHEAD = 8 }; /* samples are fetched so many before they are needed */
	const struct gg_model_sample *samples = run->model->samples.items;
	const struct gg_profile_coarse *coarse = run->model->coarse.items;
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
	double value, other; /* of the tally that rows are sorted by, and of the other one */
	double uncertain; /* what the former may have besides: of two bounds the higher one is first */
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

/* Is the expression a plain name, perhaps between ^ and $, and the row's own? */
static bool is_asked_for(const struct run *run, uint32_t key)
{
	const char *focus = run->scope.query.focus;
	struct gg_model_function function;
	size_t length;

	if (focus == NULL || run->scope.query.by != GG_BY_FUNCTION)
		return false;
	function = gg_model_function(run->model, key);
	focus += focus[0] == '^';
	length = strcspn(focus, "\\^$.[]|()*+?{}");
	if (focus[length] != '\0' && strcmp(focus + length, "$") != 0)
		return false;
	return (strlen(function.name) == length && strncmp(function.name, focus, length) == 0) ||
	       (strlen(function.short_name) == length &&
	        strncmp(function.short_name, focus, length) == 0);
}

static double value_of(const struct run *run, const struct gg_tally *tally)
{
	return gg_tally_estimate(tally, run->scope.query.unit).value;
}

/* A process is as complete as it is, whatever others dropped. */
static bool is_process_incomplete(const struct run *run, uint32_t process)
{
	const struct gg_query *query = &run->scope.query;

	return gg_model_is_incomplete(
		run->model, process,
		query->metric == GG_METRIC_ALLOCATED ? query->from_ns : INT64_MIN, query->to_ns);
}

/* Takes `each` tallies of each key; of two the first is self. */
static int make_rows(struct run *run, struct gg_tally *tallies, const uint32_t *keys, size_t count,
                     size_t each)
{
	struct gg_query_result *result = run->result;
	size_t by = run->scope.query.sort_by_total ? each - 1 : 0;
	struct ordered *order = malloc((count + 1) * sizeof(*order));

	result->tallies = tallies;
	result->rows = malloc((count + 1) * sizeof(*result->rows));
	if (order == NULL || result->rows == NULL) {
		free(order);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count * each; i++) {
		gg_query_filter_expose(&run->scope, &tallies[i]);
		if (run->scope.query.by == GG_BY_PROCESS && run->scope.is_incomplete)
			tallies[i].incomplete = is_process_incomplete(run, keys[i]) ? 1 : 0;
	}
	for (size_t i = 0; i < count; i++)
		order[i] = (struct ordered){
			.value = value_of(run, &tallies[i * each + by]),
			.other = value_of(run, &tallies[i * each + each - 1 - by]),
			.uncertain =
				tallies[i * each + by].uncertain[run->scope.query.unit].value.high,
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

static int make_place_rows(struct run *run)
{
	enum gg_grouping by = run->scope.query.by;
	struct gg_frame_sums places;
	struct gg_tally *tallies = NULL;
	int code = gg_frame_sums_of(&places, run->model, by, count_keys(run->model, by),
	                            &run->groups);

	if (code == 0) {
		tallies = malloc((2 * places.keys.count + 1) * sizeof(*tallies));
		code = tallies == NULL ? -ENOMEM : 0;
	}
	if (code == 0) {
		for (size_t i = 0; i < 2 * places.keys.count; i++)
			gg_plain_tally_tally(&places.sums.items[i], &tallies[i]);
		code = make_rows(run, tallies, places.keys.items, places.keys.count, 2);
	}
	gg_frame_sums_done(&places);
	return code;
}

static int note_all(struct run *run, bool apart)
{
	run->samples.items = malloc((run->model->samples.count + 1) * sizeof(*run->samples.items));
	run->coarse.items = malloc((run->model->coarse.count + 1) * sizeof(*run->coarse.items));
	run->uncertain.items = malloc((run->model->samples.count + run->model->coarse.count + 1) *
	                              sizeof(*run->uncertain.items));
	if (run->samples.items == NULL || run->coarse.items == NULL || run->uncertain.items == NULL)
		return -ENOMEM;
	gg_query_filter_each(&run->scope, apart, note, run);
	gg_query_filter_each_unplaced(&run->scope, add_unplaced, run);
	return 0;
}

/* The total is the sum of the groups, unless processes share blocks. */
static void add_total(struct run *run, bool apart)
{
	if (apart)
		gg_query_filter_each(&run->scope, false, add_to_total, run);
	else
		for (size_t i = 0; i < run->groups.count; i++)
			gg_tally_merge(&run->result->total, &run->groups.tallies[i]);
	gg_query_filter_expose(&run->scope, &run->result->total);
}

/* A process's row has all that the process holds, whoever else does. */
static int run_scope(struct run *run)
{
	const struct gg_query *query = &run->scope.query;
	bool of_places = is_of_places(query->by);
	bool apart = (query->by == GG_BY_PROCESS || query->by == GG_BY_LABEL) &&
	             run->scope.blocks != NULL && gg_query_filter_is_of_blocks(&run->scope);
	struct gg_groups *groups = &run->groups;
	int code = note_all(run, apart);

	groups->key_count = count_keys(run->model, of_places ? GG_BY_STACK : query->by);
	if (code == 0)
		code = add_up(run);
	if (code == 0)
		add_total(run, apart);
	if (code == 0 && of_places) {
		code = make_place_rows(run);
	} else if (code == 0) {
		code = make_rows(run, groups->tallies, groups->keys, groups->count, 1);
		groups->tallies = NULL;
	}
	free(run->samples.items);
	free(run->coarse.items);
	free(run->uncertain.items);
	free(groups->slot_of);
	free(groups->keys);
	free(groups->tallies);
	return code;
}

/* A peak is what was live at one moment. */
static int find_moment(struct gg_query_filter *scope, struct gg_error *error)
{
	struct gg_peak peak;
	int code;

	if (scope->query.metric != GG_METRIC_PEAK)
		return 0;
	code = gg_query_filter_peak(scope, &peak, error);
	if (code < 0)
		return code;
	scope->query.metric = GG_METRIC_LIVE;
	scope->query.to_ns = peak.time_ns;
	scope->most_ns = peak.most_ns;
	return 0;
}

/* The upper end of a peak may be that of another moment. */
static void widen_peak(const struct gg_query_filter *scope, const struct gg_query *query,
                       struct gg_tally *total)
{
	struct gg_peak peak = { .time_ns = scope->query.to_ns, .most_ns = scope->most_ns };

	if (query->metric == GG_METRIC_PEAK && peak.most_ns != peak.time_ns)
		gg_query_filter_peak_tally(scope, &peak, total);
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
	struct run run = { .model = model };
	int code = gg_query_filter_open(&run.scope, model, query, error);

	if (code < 0)
		return code;
	code = find_moment(&run.scope, error);
	if (code < 0)
		goto out;
	run.result = calloc(1, sizeof(*run.result));
	code = run.result != NULL ? run_scope(&run) : -ENOMEM;
	if (code == 0)
		widen_peak(&run.scope, query, &run.result->total);
	if (code < 0) {
		gg_query_result_free(run.result);
		gg_error_set_errno(error, -code, "query", NULL);
		goto out;
	}
	run.result->query = *query;
	run.result->moment_ns = run.scope.query.to_ns;
	*ret_result = run.result;
out:
	gg_query_filter_close(&run.scope);
	return code;
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

/* The sample that stands for a block, with the block's times. */
static struct gg_model_sample whole_block(const struct gg_model *model, size_t number,
                                          const struct gg_block *block)
{
	struct gg_model_sample sample = model->samples.items[number];

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
	struct gg_query_filter scope;
	int code = gg_query_filter_open(&scope, model, query, error);

	if (code < 0)
		return code;
	code = find_moment(&scope, error);
	if (code == 0)
		gg_query_filter_each(&scope, false, visit_pick, &each);
	gg_query_filter_close(&scope);
	return code;
}

int gg_query_blocks(const struct gg_model *model, const struct gg_query *query,
                    gg_pick_visit *visit, void *context, struct gg_error *error)
{
	size_t sample_count, coarse_count;
	const struct gg_profile_coarse *coarse = gg_model_coarse(model, &coarse_count);
	struct gg_query_filter scope;
	struct gg_block block;
	int code = gg_query_filter_open(&scope, model, query, error);

	if (code < 0)
		return code;
	gg_model_samples(model, &sample_count);
	for (size_t i = 0; i < sample_count; i++) {
		struct gg_model_sample sample;

		if (!gg_query_filter_block(&scope, i, &block))
			continue;
		sample = whole_block(model, i, &block);
		visit(&sample, NULL, context);
	}
	for (size_t i = 0; i < coarse_count; i++)
		if (gg_query_filter_has_coarse(&scope, &coarse[i]))
			visit(NULL, &coarse[i], context);
	gg_query_filter_close(&scope);
	return 0;
}

struct sum {
	const struct gg_model *model;
	const struct gg_query_filter *scope;
	struct gg_sum_up *up;
	struct gg_plain_tally samples;
};

static void sum_pick(const struct gg_pick *pick, void *context)
{
	struct sum *sum = context;
	const struct gg_model_sample *sample;

	if (pick->is_uncertain) {
		gg_query_filter_add_pick(sum->scope, pick, &sum->up->total);
		return;
	}
	if (pick->coarse != NULL) {
		gg_model_add_coarse(sum->model, &sum->up->total, pick->coarse);
		return;
	}
	sample = sum->model->samples.items + pick->sample;
	gg_plain_tally_add_sample(&sum->samples, &sample->draw, sample->size_bytes);
	add_kind(sample, &sum->up->slack_bytes, &sum->up->mapping_bytes);
}

int gg_query_sum(const struct gg_model *model, const struct gg_query *query,
                 struct gg_sum_up *ret_sum, struct gg_error *error)
{
	struct gg_sum_up up = { 0 };
	struct gg_query_filter scope;
	struct sum sum = { .model = model, .scope = &scope, .up = &up };
	int code = gg_query_filter_open(&scope, model, query, error);

	if (code < 0)
		return code;
	code = find_moment(&scope, error);
	if (code == 0) {
		struct gg_tally samples;

		gg_query_filter_each(&scope, false, sum_pick, &sum);
		gg_plain_tally_tally(&sum.samples, &samples);
		gg_tally_merge(&up.total, &samples);
		gg_query_filter_expose(&scope, &up.total);
		widen_peak(&scope, query, &up.total);
		*ret_sum = up;
	}
	gg_query_filter_close(&scope);
	return code;
}
