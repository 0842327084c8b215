/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "query/query_internal.h"

static int out_of_memory(struct gg_error *error)
{
	return gg_error_set_errno(error, ENOMEM, "query", NULL);
}

static int check_window(const struct gg_query *query, struct gg_error *error)
{
	if (query->from_ns <= query->to_ns)
		return 0;
	return gg_error_set(error, -EINVAL, "query", "Give the earlier moment first.",
	                    "the window ends before it begins");
}

static int choose_processes(struct gg_query_filter *scope, struct gg_error *error)
{
	size_t count, found = 0;
	const struct gg_profile_process *processes = gg_model_processes(scope->model, &count);

	/* Where nobody watched (entry 0 is none), that there is no sample bounds nothing. */
	scope->interval = count > 1 ? gg_model_exposure(scope->model, 0) : 0;
	if (scope->query.pid == 0)
		return 0;
	scope->process_in = calloc(count, 1);
	if (scope->process_in == NULL)
		return out_of_memory(error);
	for (size_t i = 1; i < count; i++) {
		if (processes[i].pid != scope->query.pid)
			continue;
		if (found++ == 0)
			scope->interval = 0;
		scope->process_in[i] = 1;
		scope->interval = fmax(scope->interval,
		                       gg_model_exposure(scope->model, (uint32_t)i));
	}
	if (found == 0)
		return gg_error_set(error, -EINVAL, "--process",
		                    "'geiger report --by process' lists them.",
		                    "the profile has no process %u", scope->query.pid);
	/* Who asks for some processes asks for their end. */
	scope->untils = calloc(count, sizeof(*scope->untils));
	if (scope->untils == NULL ||
	    gg_model_find_untils(scope->model, scope->process_in, scope->untils) < 0)
		return out_of_memory(error);
	return 0;
}

/* Sets bit `bit` of each function that matches. */
static int match_functions(const struct gg_model *model, const char *expression, const char *option,
                           uint8_t bit, uint8_t *matches, struct gg_error *error)
{
	size_t count = gg_model_function_count(model);
	regex_t compiled;
	char why[128];
	int code;

	if (expression == NULL)
		return 0;
	code = regcomp(&compiled, expression, REG_EXTENDED | REG_NOSUB);
	if (code != 0) {
		regerror(code, &compiled, why, sizeof(why));
		return gg_error_set(error, -EINVAL, option,
		                    "Give a POSIX extended expression, such as '^parse_|_init$'.",
		                    "'%s': %s", expression, why);
	}
	for (size_t i = 0; i < count; i++) {
		struct gg_model_function function = gg_model_function(model, (uint32_t)i);

		if (regexec(&compiled, function.name, 0, NULL, 0) == 0 ||
		    (function.short_name != function.name &&
		     regexec(&compiled, function.short_name, 0, NULL, 0) == 0) ||
		    (function.full_name != NULL && function.full_name != function.short_name &&
		     regexec(&compiled, function.full_name, 0, NULL, 0) == 0))
			matches[i] |= bit;
	}
	regfree(&compiled);
	return 0;
}

enum { FOCUSED = 1, IGNORED = 2 };

/* What a stack has matched, its callers included: parents have smaller numbers. */
static void match_stacks(struct gg_query_filter *scope, const uint8_t *matches)
{
	size_t stack_count = gg_model_stack_count(scope->model), count;
	uint8_t wanted = scope->query.focus != NULL ? FOCUSED : 0;

	for (size_t i = 1; i < stack_count; i++) { /* 0, the parent of all, matches nothing yet */
		uint32_t stack = (uint32_t)i;
		const struct gg_code_location *places = gg_model_stack_places(scope->model, stack,
		                                                              &count);

		scope->stack_in[i] = scope->stack_in[gg_model_stack_parent(scope->model, stack)];
		for (size_t k = 0; k < count; k++)
			scope->stack_in[i] |= matches[places[k].function];
	}
	scope->stack_in[0] = matches[0];
	for (size_t i = 0; i < stack_count; i++)
		scope->stack_in[i] = scope->stack_in[i] == wanted;
}

static int choose_stacks(struct gg_query_filter *scope, struct gg_error *error)
{
	const struct gg_model *model = scope->model;
	uint8_t *matches;
	int code;

	if (scope->query.focus == NULL && scope->query.ignore == NULL)
		return 0;
	matches = calloc(gg_model_function_count(model), 1);
	scope->stack_in = calloc(gg_model_stack_count(model), 1);
	if (matches == NULL || scope->stack_in == NULL) {
		free(matches);
		return out_of_memory(error);
	}
	code = match_functions(model, scope->query.focus, "--focus", FOCUSED, matches, error);
	if (code == 0)
		code = match_functions(model, scope->query.ignore, "--ignore", IGNORED, matches,
		                       error);
	if (code == 0)
		match_stacks(scope, matches);
	free(matches);
	return code;
}

static bool is_in(const struct gg_query_filter *scope, uint32_t process, uint32_t stack)
{
	if (scope->process_in != NULL && !scope->process_in[process])
		return false;
	return scope->stack_in == NULL || scope->stack_in[gg_model_stack_top(scope->model, stack)];
}

/* When a sample's own process held it. */
static struct gg_block own_block(const struct gg_query_filter *scope,
                                 const struct gg_model_sample *sample)
{
	int64_t until_ns = gg_model_sample_until(scope->model, sample);

	if (scope->untils != NULL && sample->free_ns == GG_TIME_NONE)
		until_ns = scope->untils[sample->process];
	return (struct gg_block){
		.from_ns = sample->alloc_ns,
		.until_ns = until_ns,
		.until_least_ns = sample->free_ns == GG_TIME_NONE
		                          ? until_ns
		                          : gg_model_freed_from(scope->model, sample),
		.is_first = true,
		.is_left = sample->free_ns == GG_TIME_NONE,
		.left_ns = gg_model_process_end(scope->model, sample->process),
	};
}

static void join_block(struct gg_block *block, const struct gg_block *own)
{
	block->from_ns = own->from_ns < block->from_ns ? own->from_ns : block->from_ns;
	block->until_ns = own->until_ns > block->until_ns ? own->until_ns : block->until_ns;
	if (own->until_least_ns > block->until_least_ns)
		block->until_least_ns = own->until_least_ns;
	if (own->is_left && (!block->is_left || own->left_ns > block->left_ns))
		block->left_ns = own->left_ns;
	block->is_left |= own->is_left;
}

/* The holders of a block follow each other without a gap: who inherits it does so from a holder. */
static int unite_blocks(struct gg_query_filter *scope, struct gg_error *error)
{
	size_t count;
	const struct gg_model_sample *samples = gg_model_samples(scope->model, &count);
	uint32_t *first; /* of each block, 1 + the first of its samples in the scope */

	if (!scope->model->has_inherited)
		return 0;
	first = calloc(count, sizeof(*first));
	scope->blocks = calloc(count, sizeof(*scope->blocks));
	if (first == NULL || scope->blocks == NULL) {
		free(first);
		return out_of_memory(error);
	}
	for (size_t i = 0; i < count; i++) {
		struct gg_block own = own_block(scope, &samples[i]);

		if (!is_in(scope, samples[i].process, samples[i].stack))
			continue;
		if (first[samples[i].block] == 0) {
			first[samples[i].block] = (uint32_t)i + 1;
			scope->blocks[i] = own;
			continue;
		}
		join_block(&scope->blocks[first[samples[i].block] - 1], &own);
	}
	free(first);
	return 0;
}

/* Of each process the first one that has the same value of the label; 0: it has none. */
static int group_labels(struct gg_query_filter *scope, struct gg_error *error)
{
	size_t count, label_count;
	const struct gg_model_label *labels = gg_model_labels(scope->model, &label_count);
	struct gg_map first = { 0 };
	int code = 0;

	if (scope->query.by != GG_BY_LABEL)
		return 0;
	gg_model_processes(scope->model, &count);
	scope->label_of = calloc(count, sizeof(*scope->label_of));
	if (scope->label_of == NULL)
		return out_of_memory(error);
	for (size_t i = 0; i < label_count && code == 0; i++) {
		uint64_t number, value = (uintptr_t)labels[i].value;

		if (strcmp(labels[i].key, scope->query.label) != 0)
			continue;
		number = gg_map_get(&first, value);
		if (number == GG_MAP_NONE) {
			number = labels[i].process;
			code = gg_map_put(&first, value, number);
		}
		scope->label_of[labels[i].process] = (uint32_t)number;
	}
	gg_map_done(&first);
	return code < 0 ? out_of_memory(error) : 0;
}

int gg_query_filter_open(struct gg_query_filter *scope, const struct gg_model *model,
                         const struct gg_query *query, struct gg_error *error)
{
	int code = check_window(query, error);

	*scope = (struct gg_query_filter){ .model = model, .query = *query };
	if (code == 0)
		code = choose_processes(scope, error);
	if (code == 0)
		code = choose_stacks(scope, error);
	if (code == 0)
		code = unite_blocks(scope, error);
	if (code == 0)
		code = group_labels(scope, error);
	if (code < 0)
		gg_query_filter_close(scope);
	else
		scope->is_incomplete = gg_query_filter_is_incomplete(
			scope, query->metric == GG_METRIC_ALLOCATED ? query->from_ns : INT64_MIN,
			query->to_ns);
	return code;
}

bool gg_query_filter_is_incomplete(const struct gg_query_filter *scope, int64_t from_ns,
                                   int64_t to_ns)
{
	size_t count;

	if (scope->process_in == NULL)
		return gg_model_is_incomplete(scope->model, 0, from_ns, to_ns);
	gg_model_processes(scope->model, &count);
	for (size_t i = 1; i < count; i++)
		if (scope->process_in[i] &&
		    gg_model_is_incomplete(scope->model, (uint32_t)i, from_ns, to_ns))
			return true;
	return false;
}

void gg_query_filter_expose(const struct gg_query_filter *scope, struct gg_tally *tally)
{
	gg_tally_expose(tally, scope->interval);
	if (scope->is_incomplete)
		tally->incomplete = 1;
}

void gg_query_filter_add_pick(const struct gg_query_filter *scope, const struct gg_pick *pick,
                              struct gg_tally *tally)
{
	const struct gg_model_sample *samples = scope->model->samples.items;
	const struct gg_model_sample *sample = &samples[pick->sample];
	struct gg_tally picked = { 0 };

	if (pick->coarse != NULL)
		gg_model_add_coarse(scope->model, &picked, pick->coarse);
	else
		gg_tally_add(&picked, &sample->draw, sample->size_bytes);
	if (pick->is_uncertain)
		gg_tally_doubt(&picked);
	gg_tally_merge(tally, &picked);
}

void gg_query_filter_close(struct gg_query_filter *scope)
{
	free(scope->process_in);
	free(scope->untils);
	free(scope->stack_in);
	free(scope->blocks);
	free(scope->label_of);
}

bool gg_query_filter_block(const struct gg_query_filter *scope, size_t i,
                           struct gg_block *ret_block)
{
	const struct gg_model_sample *sample = scope->model->samples.items + i;

	if (scope->blocks != NULL) {
		*ret_block = scope->blocks[i];
		return ret_block->is_first;
	}
	if (!is_in(scope, sample->process, sample->stack))
		return false;
	*ret_block = own_block(scope, sample);
	return true;
}

/* At or after the end of everything: what is live then has no end. */
static bool is_at_the_end(const struct gg_query_filter *scope)
{
	return scope->query.to_ns >= gg_model_end_ns(scope->model);
}

/* Does the metric select it? */
enum answer { NO, MAYBE, YES };

static enum answer is_live(const struct gg_query_filter *scope, const struct gg_block *block)
{
	int64_t moment_ns = scope->query.to_ns;

	if (is_at_the_end(scope))
		return block->until_ns == GG_TIME_NONE ? YES : NO;
	if (block->from_ns > moment_ns || block->until_ns <= moment_ns)
		return NO;
	return block->until_least_ns > moment_ns ? YES : MAYBE;
}

static bool is_within(const struct gg_query *query, int64_t time_ns)
{
	return time_ns > query->from_ns && time_ns <= query->to_ns;
}

static enum answer is_left(const struct gg_query_filter *scope, const struct gg_block *block)
{
	if (!block->is_left)
		return NO;
	if (block->left_ns == GG_TIME_NONE) /* nobody knows when: it counts at the end */
		return is_at_the_end(scope) ? YES : NO;
	return is_within(&scope->query, block->left_ns) ? YES : NO;
}

/* Does the metric count blocks, each once, and not what happened to them? */
bool gg_query_filter_is_of_blocks(const struct gg_query_filter *scope)
{
	return scope->query.metric == GG_METRIC_LIVE || scope->query.metric == GG_METRIC_LEFT;
}

/* It was freed between the two times: was that in the window? */
static enum answer is_freed_within(const struct gg_query *query, int64_t least_ns, int64_t most_ns)
{
	if (is_within(query, least_ns) && is_within(query, most_ns))
		return YES;
	return most_ns > query->from_ns && least_ns <= query->to_ns ? MAYBE : NO;
}

/* Metrics of what happened, not of what was there: a sample for itself. */
static enum answer is_selected(const struct gg_query_filter *scope,
                               const struct gg_model_sample *sample)
{
	const struct gg_query *query = &scope->query;
	bool is_inherited = (sample->flags & GG_MODEL_INHERITED) != 0;
	bool is_freed = sample->free_ns != GG_TIME_NONE;
	int64_t least_ns = gg_model_freed_from(scope->model, sample);

	if (query->metric == GG_METRIC_FREED) {
		if ((is_inherited && query->pid == 0) || !is_freed)
			return NO;
		return is_freed_within(query, least_ns, sample->free_ns);
	}
	if (is_inherited || !is_within(query, sample->alloc_ns))
		return NO;
	if (query->metric == GG_METRIC_ALLOCATED)
		return YES;
	if (!is_freed || least_ns - sample->alloc_ns > query->temporary_ns)
		return NO;
	return sample->free_ns - sample->alloc_ns <= query->temporary_ns ? YES : MAYBE;
}

static void each_block(const struct gg_query_filter *scope, bool apart,
                       gg_query_filter_visit *visit, void *context)
{
	size_t count;
	const struct gg_model_sample *samples = gg_model_samples(scope->model, &count);
	struct gg_pick pick = { 0 };

	for (pick.sample = 0; pick.sample < count; pick.sample++) {
		const struct gg_model_sample *sample = &samples[pick.sample];
		enum answer answer;

		if (apart) {
			if (!is_in(scope, sample->process, sample->stack))
				continue;
			pick.block = own_block(scope, sample);
		} else if (!gg_query_filter_block(scope, pick.sample, &pick.block)) {
			continue;
		}
		answer = scope->query.metric == GG_METRIC_LEFT ? is_left(scope, &pick.block)
		                                               : is_live(scope, &pick.block);
		pick.is_uncertain = answer == MAYBE;
		if (answer != NO)
			visit(&pick, context);
	}
}

/* Were the row's samples all, or on average, freed so soon?  Negative: nobody knows. */
static int is_temporary(const struct gg_query *query, const struct gg_profile_coarse *coarse)
{
	if (coarse->to_ns == GG_TIME_NONE)
		return 0;
	if (coarse->to_ns > coarse->from_ns && /* else nothing is known of its times */
	    coarse->to_ns - coarse->from_ns <= query->temporary_ns)
		return 1;
	if (!(coarse->lifetime_ns_sum > 0) || coarse->sums.sample_count == 0)
		return -1;
	return coarse->lifetime_ns_sum <=
	       (double)query->temporary_ns * (double)coarse->sums.sample_count;
}

/*
 * When the row's samples were allocated, and when they were freed: within a bucket at either end of
 * its range, or, where that is not known, anywhere in it.
 */
static int64_t coarse_bucket(const struct gg_profile_coarse *coarse)
{
	int64_t range = coarse->to_ns - coarse->from_ns;

	if (coarse->to_ns == GG_TIME_NONE)
		return coarse->bucket_ns;
	return coarse->bucket_ns > 0 && coarse->bucket_ns < range ? coarse->bucket_ns : range;
}

struct gg_block gg_coarse_block(const struct gg_profile_coarse *coarse)
{
	int64_t bucket = coarse_bucket(coarse);

	if (coarse->to_ns == GG_TIME_NONE)
		return (struct gg_block){
			.from_ns = coarse->from_ns + bucket,
			.until_ns = coarse->is_left ? coarse->from_ns + bucket : GG_TIME_NONE,
			.until_least_ns = coarse->is_left ? coarse->from_ns + bucket : GG_TIME_NONE,
			.is_left = true,
			.left_ns = GG_TIME_NONE
		};
	return (struct gg_block){ .from_ns = coarse->from_ns + bucket,
		                  .until_ns = coarse->to_ns - bucket + 1,
		                  .until_least_ns = coarse->to_ns - bucket + 1 };
}

/* Is the moment among those when something of [from_ns, to_ns] had happened and something had not? */
static bool cuts(int64_t from_ns, int64_t to_ns, int64_t moment_ns)
{
	return from_ns < moment_ns && moment_ns < to_ns;
}

static bool is_placed(const struct gg_query_filter *scope, const struct gg_profile_coarse *coarse)
{
	const struct gg_query *query = &scope->query;
	int64_t bucket = coarse_bucket(coarse), from = coarse->from_ns, to = from + bucket;

	if (query->metric == GG_METRIC_LIVE)
		return is_at_the_end(scope) ||
		       !(cuts(from, to, query->to_ns) ||
		         (coarse->to_ns != GG_TIME_NONE &&
		          cuts(coarse->to_ns - bucket, coarse->to_ns, query->to_ns)));
	if (query->metric == GG_METRIC_LEFT ||
	    (query->metric == GG_METRIC_FREED && coarse->to_ns == GG_TIME_NONE))
		return true;
	if (query->metric == GG_METRIC_FREED) {
		from = coarse->to_ns - bucket;
		to = coarse->to_ns;
	}
	if (cuts(from, to, query->from_ns) || cuts(from, to, query->to_ns))
		return false;
	return query->metric != GG_METRIC_TEMPORARY || !is_within(query, to) ||
	       is_temporary(query, coarse) >= 0;
}

/* Does the metric count the row's samples?  Each counts at the end of the time it happened in. */
static bool is_coarse_selected(const struct gg_query_filter *scope,
                               const struct gg_profile_coarse *coarse)
{
	const struct gg_query *query = &scope->query;
	struct gg_block block = gg_coarse_block(coarse);

	switch (query->metric) {
	case GG_METRIC_LIVE:
		return is_live(scope, &block) == YES;
	case GG_METRIC_LEFT:
		return is_left(scope, &block) == YES;
	case GG_METRIC_FREED:
		return coarse->to_ns != GG_TIME_NONE && is_within(query, coarse->to_ns);
	case GG_METRIC_TEMPORARY:
		return is_within(query, block.from_ns) && is_temporary(query, coarse) > 0;
	default:
		return is_within(query, block.from_ns);
	}
}

bool gg_query_filter_has_coarse(const struct gg_query_filter *scope,
                                const struct gg_profile_coarse *coarse)
{
	return is_in(scope, coarse->process, coarse->stack);
}

static void each_selected(const struct gg_query_filter *scope, gg_query_filter_visit *visit,
                          void *context)
{
	size_t count;
	const struct gg_model_sample *samples = gg_model_samples(scope->model, &count);
	struct gg_pick pick = { 0 };

	for (pick.sample = 0; pick.sample < count; pick.sample++) {
		const struct gg_model_sample *sample = &samples[pick.sample];
		enum answer answer;

		if (!is_in(scope, sample->process, sample->stack))
			continue;
		answer = is_selected(scope, sample);
		if (answer == NO)
			continue;
		pick.is_uncertain = answer == MAYBE;
		pick.block = own_block(scope, sample);
		visit(&pick, context);
	}
}

void gg_query_filter_each(const struct gg_query_filter *scope, bool apart,
                          gg_query_filter_visit *visit, void *context)
{
	size_t count;
	const struct gg_profile_coarse *coarse = gg_model_coarse(scope->model, &count);
	struct gg_pick pick = { 0 };

	if (gg_query_filter_is_of_blocks(scope))
		each_block(scope, apart, visit, context);
	else
		each_selected(scope, visit, context);
	for (size_t i = 0; i < count; i++) {
		pick.coarse = &coarse[i];
		if (!gg_query_filter_has_coarse(scope, &coarse[i]))
			continue;
		pick.is_uncertain = !is_placed(scope, &coarse[i]);
		if (!pick.is_uncertain && !is_coarse_selected(scope, &coarse[i]))
			continue;
		pick.is_uncertain |= coarse[i].is_shared;
		visit(&pick, context);
	}
}

void gg_query_filter_each_unplaced(const struct gg_query_filter *scope,
                                   gg_query_filter_visit *visit, void *context)
{
	size_t count;
	const struct gg_profile_coarse *coarse = gg_model_coarse(scope->model, &count);
	struct gg_pick pick = { 0 };

	for (size_t i = 0; i < count; i++) {
		pick.coarse = &coarse[i];
		if (gg_query_filter_has_coarse(scope, &coarse[i]) && !is_placed(scope, &coarse[i]))
			visit(&pick, context);
	}
}
