/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query_filter - decides which samples and aggregates a query selects.
 *
 * Opening a filter applies what does not depend on a sample: which processes and which stacks are
 * selected, and the life of each block over all processes that held it.  Then each sample takes a
 * few comparisons.  The answer is yes, no, or maybe, where the time of a free was lost.
 */
#include <errno.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/binary_search.h"
#include "base/map.h"
#include "query/query_internal.h"

static int check_window(const struct gg_query *query, struct gg_error *error)
{
	if (query->from_ns <= query->to_ns)
		return 0;
	return gg_error_set(error, -EINVAL, "--between", "Give the earlier moment first.",
	                    "the window ends before it begins");
}

static int check_pinned(const struct gg_query *query, struct gg_error *error)
{
	if (query->metric != GG_METRIC_PINNED)
		return 0;
	if (query->unit != GG_BYTES)
		return gg_error_set(error, -EINVAL, "--unit", "Leave --unit away.",
		                    "pinned memory has bytes, and no allocations");
	if (query->from_ns != INT64_MIN || query->to_ns != GG_TIME_NONE)
		return gg_error_set(error, -EINVAL, "--metric pinned",
		                    "Leave the time away, or give --at peak.",
		                    "pinned memory is known only at the moments of looks");
	return 0;
}

static int choose_processes(struct gg_query_filter *filter, struct gg_error *error)
{
	size_t found = 0;
	bool is_in_sum = false;
	const struct gg_profile_process *processes = filter->model->processes;

	/*
	 * If no process was profiled (process 0 does not count), the lack of samples bounds
	 * nothing.
	 */
	filter->interval_bytes = filter->model->process_count > 1
	                                 ? gg_model_exposure(filter->model, 0)
	                                 : 0;
	if (filter->query.pid == 0)
		return 0;
	filter->process_in = calloc(filter->model->process_count, 1);
	if (filter->process_in == NULL)
		return gg_error_memory(error, "query");
	for (size_t i = 1; i < filter->model->process_count; i++) {
		if (processes[i].pid != filter->query.pid)
			continue;
		/* Its samples are those of a group, so their lack bounds nothing. */
		if (gg_model_is_collector(filter->model, (uint32_t)i)) {
			is_in_sum = true;
			continue;
		}
		if (found++ == 0)
			filter->interval_bytes = 0;
		filter->process_in[i] = 1;
		filter->interval_bytes = fmax(filter->interval_bytes,
		                              gg_model_exposure(filter->model, (uint32_t)i));
	}
	if (found == 0 && is_in_sum)
		return gg_error_set(error, -EINVAL, "--process",
		                    "'geiger timeline' shows what its garbage collector did.",
		                    "process %u is a part of a sum, because profiles were merged",
		                    filter->query.pid);
	if (found == 0)
		return gg_error_set(error, -EINVAL, "--process",
		                    "'geiger report --by process' lists them.",
		                    "the profile has no process %u", filter->query.pid);
	/* A query for some processes means live at the end of these processes. */
	filter->untils = calloc(filter->model->process_count, sizeof(*filter->untils));
	if (filter->untils == NULL ||
	    gg_model_find_until_ns(filter->model, filter->process_in, filter->untils) < 0)
		return gg_error_memory(error, "query");
	return 0;
}

static int compile(regex_t *compiled, const char *expression, const char *option,
                   struct gg_error *error)
{
	char why[128];
	int status = regcomp(compiled, expression, REG_EXTENDED | REG_NOSUB);

	if (status == 0)
		return 0;
	regerror(status, compiled, why, sizeof(why));
	return gg_error_set(error, -EINVAL, option,
	                    "Give a POSIX extended expression, such as '^parse_|_init$'.",
	                    "'%s': %s", expression, why);
}

int gg_query_match_modules(const struct gg_model *model, const char *expression, const char *option,
                           uint8_t *matches, struct gg_error *error)
{
	regex_t compiled;
	size_t count = model->module_count;
	int status = compile(&compiled, expression, option, error);

	if (status < 0)
		return status;
	for (size_t i = 1; i < count; i++) {
		const struct gg_model_module *module = &model->modules[i];

		matches[i] = regexec(&compiled, module->path, 0, NULL, 0) == 0 ||
		             regexec(&compiled, module->name, 0, NULL, 0) == 0;
	}
	regfree(&compiled);
	return 0;
}

int gg_query_match_functions(const struct gg_model *model, const char *expression,
                             const char *option, uint8_t bit, uint8_t *matches,
                             struct gg_error *error)
{
	size_t count = model->function_count;
	regex_t compiled;
	int status;

	if (expression == NULL)
		return 0;
	status = compile(&compiled, expression, option, error);
	if (status < 0)
		return status;
	for (size_t i = 0; i < count; i++) {
		struct gg_model_function function = model->functions[i];

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

/* Propagates matches from callers to stacks; parents have smaller numbers, so one pass suffices. */
static void match_stacks(struct gg_query_filter *filter, const uint8_t *matches)
{
	size_t stack_count = filter->model->stack_count, count;
	uint8_t wanted = filter->query.focus != NULL ? FOCUSED : 0;

	for (size_t i = 1; i < stack_count;
	     i++) { /* stack 0, the parent of all, has no functions */
		uint32_t stack = (uint32_t)i;
		const struct gg_code_location *places = gg_model_stack_locations(filter->model,
		                                                                 stack, &count);

		filter->stack_in[i] = filter->stack_in[filter->model->stacks[stack].parent];
		for (size_t k = 0; k < count; k++)
			filter->stack_in[i] |= matches[places[k].function];
	}
	filter->stack_in[0] = matches[0];
	for (size_t i = 0; i < stack_count; i++)
		filter->stack_in[i] = filter->stack_in[i] == wanted;
}

/* Every stack begins in the allocator, so its functions match nothing. */
static void clear_entries(const struct gg_model *model, uint8_t *matches)
{
	size_t count = model->function_count;

	for (size_t i = 0; i < count; i++)
		if (model->functions[i].is_entry)
			matches[i] = 0;
}

static int choose_stacks(struct gg_query_filter *filter, struct gg_error *error)
{
	const struct gg_model *model = filter->model;
	uint8_t *matches;
	int status;

	if (filter->query.focus == NULL && filter->query.ignore == NULL)
		return 0;
	matches = calloc(model->function_count, 1);
	filter->stack_in = calloc(model->stack_count, 1);
	if (matches == NULL || filter->stack_in == NULL) {
		free(matches);
		return gg_error_memory(error, "query");
	}
	status = gg_query_match_functions(model, filter->query.focus, "--focus", FOCUSED, matches,
	                                  error);
	if (status == 0)
		status = gg_query_match_functions(model, filter->query.ignore, "--ignore", IGNORED,
		                                  matches, error);
	if (status == 0) {
		clear_entries(model, matches);
		match_stacks(filter, matches);
	}
	free(matches);
	return status;
}

static bool is_in(const struct gg_query_filter *filter, uint32_t process, uint32_t stack)
{
	if (filter->process_in != NULL && !filter->process_in[process])
		return false;
	if (filter->stack_in == NULL)
		return true;
	/* A stack without a top has the unknown function; hidden functions match as well. */
	return filter->stack_in[filter->model->stacks[stack].top == 0 ? 0 : stack];
}

static int64_t later_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* A block that no ancestor's sample stands for may have come to others from the parent. */
static struct gg_heir_times heirs_of(const struct gg_query_filter *filter,
                                     const struct gg_model_sample *sample, int64_t until_ns)
{
	const struct gg_unseen_heirs *heirs = &filter->heirs;
	bool is_orphan = (sample->flags & GG_MODEL_INHERITED) != 0 &&
	                 &filter->model->samples[sample->block] == sample;
	struct gg_heir_times own, others;

	if (heirs->pairs.count == 0)
		return gg_heir_times_none();
	own = gg_unseen_heirs_until(heirs, sample->process, sample->block, sample->alloc_ns,
	                            until_ns);
	if (!is_orphan)
		return own;
	others = gg_unseen_heirs_until(heirs, filter->model->processes[sample->process].parent,
	                               sample->block, INT64_MIN, until_ns);
	return gg_heir_times_of_both(own, others);
}

/*
 * The time in which the sample's own process held the block, or may have held it, with the heirs
 * that nobody saw.
 */
static struct gg_block own_block(const struct gg_query_filter *filter,
                                 const struct gg_model_sample *sample)
{
	int64_t until_ns = gg_model_sample_until(filter->model, sample), least_ns;
	int64_t end_ns = gg_model_process_end(filter->model, sample->process);
	struct gg_heir_times heirs;

	if (filter->untils != NULL && sample->free_ns == GG_TIME_NONE)
		until_ns = filter->untils[sample->process];
	least_ns = sample->free_ns == GG_TIME_NONE
	                   ? gg_model_until_least(filter->model, sample->process, until_ns)
	                   : gg_model_freed_from(filter->model, sample);
	heirs = heirs_of(filter, sample, until_ns);
	return (struct gg_block){
		.from_ns = sample->alloc_ns,
		.until_ns = later_of(until_ns, heirs.until_ns),
		.until_least_ns = least_ns,
		.is_first = true,
		.is_left = sample->free_ns == GG_TIME_NONE,
		.left_least_ns = gg_model_until_least(filter->model, sample->process, end_ns),
		.left_ns = end_ns,
		.heir_until_ns = heirs.until_ns > until_ns ? heirs.until_ns : INT64_MIN,
		.heir_left_least_ns = heirs.left_least_ns,
		.heir_left_most_ns = heirs.left_most_ns,
	};
}

static void join_block(struct gg_block *block, const struct gg_block *own)
{
	block->from_ns = own->from_ns < block->from_ns ? own->from_ns : block->from_ns;
	block->until_ns = own->until_ns > block->until_ns ? own->until_ns : block->until_ns;
	if (own->until_least_ns > block->until_least_ns)
		block->until_least_ns = own->until_least_ns;
	if (own->is_left) {
		block->left_least_ns = block->is_left
		                               ? later_of(block->left_least_ns, own->left_least_ns)
		                               : own->left_least_ns;
		block->left_ns = block->is_left ? later_of(block->left_ns, own->left_ns)
		                                : own->left_ns;
	}
	block->is_left |= own->is_left;
	block->heir_until_ns = later_of(block->heir_until_ns, own->heir_until_ns);
	if (own->heir_left_least_ns < block->heir_left_least_ns)
		block->heir_left_least_ns = own->heir_left_least_ns;
	block->heir_left_most_ns = later_of(block->heir_left_most_ns, own->heir_left_most_ns);
}

/* A child inherits a block from a holder, so the times of the holders overlap without a gap. */
static int unite_blocks(struct gg_query_filter *filter, struct gg_error *error)
{
	const struct gg_model_sample *samples = filter->model->samples;
	uint32_t *first; /* by block: 1 + the first of its selected samples */

	if (!filter->model->has_inherited)
		return 0;
	first = calloc(filter->model->sample_count, sizeof(*first));
	filter->blocks = calloc(filter->model->sample_count, sizeof(*filter->blocks));
	if (first == NULL || filter->blocks == NULL) {
		free(first);
		return gg_error_memory(error, "query");
	}
	for (size_t i = 0; i < filter->model->sample_count; i++) {
		struct gg_block own = own_block(filter, &samples[i]);

		if (!is_in(filter, samples[i].process, samples[i].stack))
			continue;
		if (first[samples[i].block] == 0) {
			first[samples[i].block] = (uint32_t)i + 1;
			filter->blocks[i] = own;
			continue;
		}
		join_block(&filter->blocks[first[samples[i].block] - 1], &own);
	}
	free(first);
	return 0;
}

/* Finds the exact processes whose tables of live blocks were full. */
static int find_stopped(struct gg_query_filter *filter, struct gg_error *error)
{
	const struct gg_model *model = filter->model;

	for (size_t i = 0; i < model->counter_count; i++) {
		const struct gg_model_counter *counter = &model->counters[i];

		if (counter->name == NULL ||
		    strcmp(counter->name, GG_PROFILE_COUNTER_EXACT_STOPPED) != 0)
			continue;
		if (filter->stopped_ns == NULL) {
			filter->stopped_ns = calloc(model->process_count,
			                            sizeof(*filter->stopped_ns));
			if (filter->stopped_ns == NULL)
				return gg_error_memory(error, "query");
			for (size_t j = 0; j < model->process_count; j++)
				filter->stopped_ns[j] = GG_TIME_NONE;
		}
		if (counter->value < (uint64_t)filter->stopped_ns[counter->process])
			filter->stopped_ns[counter->process] = (int64_t)counter->value;
	}
	return 0;
}

static int compare_ticks(const void *a, const void *b)
{
	const struct gg_exact_tick *left = a, *right = b;

	if (left->process != right->process)
		return left->process < right->process ? -1 : 1;
	return (left->time_ns > right->time_ns) - (left->time_ns < right->time_ns);
}

/* Lists the moments at which exact counts changed, if forked processes may have inherited. */
static int find_ticks(struct gg_query_filter *filter, struct gg_error *error)
{
	const struct gg_profile_aggregate *aggregates = filter->model->aggregates;
	size_t count = filter->model->aggregate_count;

	if (filter->heirs.pairs.count == 0 || count == 0)
		return 0;
	filter->ticks = malloc(2 * count * sizeof(*filter->ticks));
	if (filter->ticks == NULL)
		return gg_error_memory(error, "query");
	for (size_t i = 0; i < count; i++) {
		const struct gg_profile_aggregate *one = &aggregates[i];

		if (!one->is_exact)
			continue;
		filter->ticks[filter->tick_count++] = (struct gg_exact_tick){ one->process,
			                                                      one->from_ns };
		if (one->to_ns != GG_TIME_NONE)
			filter->ticks[filter->tick_count++] = (struct gg_exact_tick){ one->process,
				                                                      one->to_ns };
	}
	qsort(filter->ticks, filter->tick_count, sizeof(*filter->ticks), compare_ticks);
	return 0;
}

/* The last change before that of the moment; what has the moment's time came after it. */
static int64_t tick_before(const struct gg_query_filter *filter, uint32_t process, int64_t time_ns)
{
	const struct gg_exact_tick *ticks = filter->ticks;
	size_t at = gg_lower_bound(0, filter->tick_count, i,
	                           ticks[i].process < process || (ticks[i].process == process &&
	                                                          ticks[i].time_ns < time_ns));

	return at > 0 && ticks[at - 1].process == process ? ticks[at - 1].time_ns : INT64_MIN;
}

/* Finds for each process the first process with the same value of the label; 0: no value. */
static int group_labels(struct gg_query_filter *filter, struct gg_error *error)
{
	const struct gg_model_label *labels = filter->model->labels;
	struct gg_map first = { 0 };
	int status = 0;

	if (filter->query.by != GG_BY_LABEL)
		return 0;
	filter->label_of = calloc(filter->model->process_count, sizeof(*filter->label_of));
	if (filter->label_of == NULL)
		return gg_error_memory(error, "query");
	for (size_t i = 0; i < filter->model->label_count && status == 0; i++) {
		uint64_t number, value = (uintptr_t)labels[i].value;

		if (strcmp(labels[i].key, filter->query.label) != 0)
			continue;
		number = gg_map_get(&first, value);
		if (number == GG_MAP_NONE) {
			number = labels[i].process;
			status = gg_map_put(&first, value, number);
		}
		filter->label_of[labels[i].process] = (uint32_t)number;
	}
	gg_map_done(&first);
	return status < 0 ? gg_error_memory(error, "query") : 0;
}

/* Whatever the heap. */
static bool is_incomplete(const struct gg_query_filter *filter, int64_t from_ns, int64_t to_ns)
{
	if (filter->process_in == NULL)
		return gg_model_is_incomplete(filter->model, 0, from_ns, to_ns);
	for (size_t i = 1; i < filter->model->process_count; i++)
		if (filter->process_in[i] &&
		    (gg_model_is_incomplete(filter->model, (uint32_t)i, from_ns, to_ns) ||
		     gg_query_filter_is_heir(filter, (uint32_t)i)))
			return true;
	return false;
}

static bool lacks_java(const struct gg_query_filter *filter)
{
	if (filter->process_in == NULL)
		return gg_model_lacks_java_objects(filter->model, 0);
	for (size_t i = 1; i < filter->model->process_count; i++)
		if (filter->process_in[i] &&
		    gg_model_lacks_java_objects(filter->model, (uint32_t)i))
			return true;
	return false;
}

int gg_query_filter_open(struct gg_query_filter *filter, const struct gg_model *model,
                         const struct gg_query *query, struct gg_error *error)
{
	int status = check_window(query, error);

	*filter = (struct gg_query_filter){ .model = model, .query = *query };
	if (status == 0)
		status = check_pinned(query, error);
	if (status == 0)
		status = choose_processes(filter, error);
	if (status == 0)
		status = choose_stacks(filter, error);
	if (status == 0 && gg_model_heirs_find(&filter->heirs, model, filter->process_in) < 0)
		status = gg_error_memory(error, "query");
	if (status == 0)
		status = find_stopped(filter, error);
	if (status == 0)
		status = find_ticks(filter, error);
	if (status == 0)
		status = unite_blocks(filter, error);
	if (status == 0)
		status = group_labels(filter, error);
	if (status == 0 && query->metric == GG_METRIC_PINNED)
		status = gg_pinned_find(&filter->pinned, model, filter->process_in,
		                        query->look_moment != 0 ? query->look_moment : GG_LOOK_LAST,
		                        error);
	if (status < 0)
		gg_query_filter_close(filter);
	else {
		filter->is_incomplete = is_incomplete(
			filter, query->metric == GG_METRIC_ALLOCATED ? query->from_ns : INT64_MIN,
			query->to_ns);
		filter->lacks_java = query->metric != GG_METRIC_PINNED && lacks_java(filter);
	}
	return status;
}

bool gg_query_filter_is_incomplete(const struct gg_query_filter *filter, int64_t from_ns,
                                   int64_t to_ns)
{
	return filter->lacks_java || is_incomplete(filter, from_ns, to_ns);
}

bool gg_query_filter_is_heir(const struct gg_query_filter *filter, uint32_t process)
{
	enum gg_metric metric = filter->query.metric;

	return filter->heirs.is_heir != NULL && filter->heirs.is_heir[process] != 0 &&
	       metric != GG_METRIC_ALLOCATED && metric != GG_METRIC_TEMPORARY;
}

void gg_query_filter_expose(const struct gg_query_filter *filter, struct gg_tally *tally)
{
	gg_query_filter_expose_other(filter, tally);
	if (filter->lacks_java)
		tally->incomplete = 1;
}

bool gg_query_filter_lacks_like(const struct gg_query_filter *filter,
                                const struct gg_model_sample *sample,
                                const struct gg_profile_aggregate *aggregate)
{
	const struct gg_model *model = filter->model;

	return filter->lacks_java &&
	       gg_model_may_be_java(model, aggregate != NULL
	                                           ? gg_model_aggregate_kind(model, aggregate)
	                                           : sample->kind);
}

void gg_query_filter_expose_other(const struct gg_query_filter *filter, struct gg_tally *tally)
{
	const struct gg_pinned_scope scope = gg_query_filter_pinned_scope(filter);

	if (filter->query.metric == GG_METRIC_PINNED) {
		gg_pinned_scope_expose(&scope, tally);
		return;
	}
	gg_tally_expose(tally, filter->interval_bytes);
	if (filter->is_incomplete)
		tally->incomplete = 1;
}

struct gg_pinned_scope gg_query_filter_pinned_scope(const struct gg_query_filter *filter)
{
	return (struct gg_pinned_scope){
		.hides = filter->pinned.hides,
		.is_incomplete = filter->is_incomplete,
		.limit_bytes = filter->pinned.coverage.limit_bytes,
		.changed_bytes = (double)filter->pinned.coverage.changed_bytes,
		.changed_share = filter->pinned.coverage.changed_share
	};
}

void gg_query_filter_add_pick(const struct gg_query_filter *filter, const struct gg_pick *pick,
                              struct gg_tally *tally)
{
	const struct gg_model_sample *samples = filter->model->samples;
	const struct gg_model_sample *sample = &samples[pick->sample];
	struct gg_tally picked = { 0 };

	if (pick->pinned != NULL) {
		gg_tally_add_value(&picked, &sample->draw, sample->size_bytes,
		                   &pick->pinned->looked);
		if (pick->is_uncertain)
			gg_tally_doubt(&picked);
		gg_tally_merge(tally, &picked);
		return;
	}
	if (pick->aggregate == NULL && !pick->is_uncertain) { /* nearly always, and much faster */
		gg_tally_add(tally, &sample->draw, sample->size_bytes);
		return;
	}
	if (pick->aggregate != NULL)
		gg_model_add_aggregate(filter->model, &picked, pick->aggregate);
	else
		gg_tally_add(&picked, &sample->draw, sample->size_bytes);
	if (pick->is_uncertain)
		gg_tally_doubt(&picked);
	gg_tally_merge(tally, &picked);
}

void gg_query_filter_close(struct gg_query_filter *filter)
{
	free(filter->process_in);
	free(filter->untils);
	free(filter->stack_in);
	free(filter->blocks);
	free(filter->label_of);
	free(filter->stopped_ns);
	free(filter->ticks);
	gg_unseen_heirs_done(&filter->heirs);
	gg_pinned_done(&filter->pinned);
}

bool gg_query_filter_selects(const struct gg_query_filter *filter,
                             const struct gg_model_sample *sample)
{
	return is_in(filter, sample->process, sample->stack);
}

struct gg_block gg_query_filter_own_block(const struct gg_query_filter *filter, size_t i)
{
	return own_block(filter, filter->model->samples + i);
}

bool gg_query_filter_block(const struct gg_query_filter *filter, size_t i,
                           struct gg_block *ret_block)
{
	const struct gg_model_sample *sample = filter->model->samples + i;

	if (filter->blocks != NULL) {
		*ret_block = filter->blocks[i];
		return ret_block->is_first;
	}
	if (!is_in(filter, sample->process, sample->stack))
		return false;
	*ret_block = own_block(filter, sample);
	return true;
}

/* True for a moment at or after the end of the model; blocks live then have no end. */
static bool is_at_the_end(const struct gg_query_filter *filter)
{
	return filter->query.to_ns >= filter->model->end_ns;
}

/* True if the query is about the end.  A merge has no end, so any moment is before it. */
static bool is_about_the_end(const struct gg_query_filter *filter)
{
	return filter->query.to_ns == GG_TIME_NONE ||
	       (filter->model->end_ns > 0 && is_at_the_end(filter));
}

/* True if the metric selects the block. */
enum answer { NO, MAYBE, YES };

static enum answer is_live(const struct gg_query_filter *filter, const struct gg_block *block)
{
	int64_t moment_ns = filter->query.to_ns;

	if (is_at_the_end(filter) && block->until_ns == GG_TIME_NONE)
		return block->until_least_ns == GG_TIME_NONE ? YES : MAYBE;
	if (is_at_the_end(filter))
		return NO;
	if (block->from_ns > moment_ns || block->until_ns <= moment_ns)
		return NO;
	return block->until_least_ns > moment_ns ? YES : MAYBE;
}

static bool is_within(const struct gg_query *query, int64_t time_ns)
{
	return time_ns > query->from_ns && time_ns <= query->to_ns;
}

/* Whether the window has what happened between the two times. */
static enum answer is_between(const struct gg_query *query, int64_t least_ns, int64_t most_ns)
{
	if (is_within(query, least_ns) && is_within(query, most_ns))
		return YES;
	return most_ns > query->from_ns && least_ns <= query->to_ns ? MAYBE : NO;
}

/* True if an heir that nobody saw may have left the block, whatever its known holders did. */
static bool may_be_left_by_heir(const struct gg_query_filter *filter, const struct gg_block *block)
{
	/* An heir that lives on may still have what its ancestor freed. */
	if (block->heir_until_ns == GG_TIME_NONE && is_at_the_end(filter))
		return true;
	return block->heir_left_most_ns > filter->query.from_ns &&
	       block->heir_left_least_ns <= filter->query.to_ns;
}

/* Nobody noted when the blocks of a sum were left: at the end, or at any time before it. */
static enum answer is_sum_left(const struct gg_query_filter *filter, const struct gg_block *block,
                               enum answer otherwise)
{
	bool is_until_the_end = block->left_least_ns == GG_TIME_NONE;
	int64_t from_ns = filter->query.from_ns;

	if (!is_about_the_end(filter))
		return is_until_the_end && filter->model->end_ns > 0 ? otherwise : MAYBE;
	if (from_ns == INT64_MIN || (is_until_the_end && from_ns < filter->model->end_ns))
		return YES;
	return MAYBE;
}

static enum answer is_left(const struct gg_query_filter *filter, const struct gg_block *block)
{
	enum answer otherwise = may_be_left_by_heir(filter, block) ? MAYBE : NO, answer;

	if (!block->is_left)
		return otherwise;
	if (block->left_ns == GG_TIME_NONE)
		return is_sum_left(filter, block, otherwise);
	answer = is_between(&filter->query, block->left_least_ns, block->left_ns);
	return answer != NO ? answer : otherwise;
}

bool gg_query_filter_is_of_blocks(const struct gg_query_filter *filter)
{
	return filter->query.metric == GG_METRIC_LIVE || filter->query.metric == GG_METRIC_LEFT;
}

bool gg_query_filter_is_apart(const struct gg_query_filter *filter)
{
	enum gg_grouping by = filter->query.by;

	return (by == GG_BY_PROCESS || by == GG_BY_LABEL) && filter->blocks != NULL &&
	       (gg_query_filter_is_of_blocks(filter) || filter->query.metric == GG_METRIC_PINNED);
}

/* Metrics of events: each sample counts by itself, not by its block. */
static enum answer is_selected(const struct gg_query_filter *filter,
                               const struct gg_model_sample *sample)
{
	const struct gg_query *query = &filter->query;
	bool is_inherited = (sample->flags & GG_MODEL_INHERITED) != 0;
	bool is_freed = sample->free_ns != GG_TIME_NONE;
	int64_t least_ns = gg_model_freed_from(filter->model, sample);

	if (query->metric == GG_METRIC_FREED) {
		if ((is_inherited && query->pid == 0) || !is_freed)
			return NO;
		return is_between(query, least_ns, sample->free_ns);
	}
	if (is_inherited || !is_within(query, sample->alloc_ns))
		return NO;
	if (query->metric == GG_METRIC_ALLOCATED)
		return YES;
	if (!is_freed || least_ns - sample->alloc_ns > query->temporary_ns)
		return NO;
	return sample->free_ns - sample->alloc_ns <= query->temporary_ns ? YES : MAYBE;
}

static void each_block(const struct gg_query_filter *filter, bool apart,
                       gg_query_filter_visit *visit, void *context)
{
	const struct gg_model_sample *samples = filter->model->samples;
	struct gg_pick pick = { 0 };

	for (pick.sample = 0; pick.sample < filter->model->sample_count; pick.sample++) {
		const struct gg_model_sample *sample = &samples[pick.sample];
		enum answer answer;

		if (apart) {
			if (!is_in(filter, sample->process, sample->stack))
				continue;
			pick.block = own_block(filter, sample);
		} else if (!gg_query_filter_block(filter, pick.sample, &pick.block)) {
			continue;
		}
		answer = filter->query.metric == GG_METRIC_LEFT ? is_left(filter, &pick.block)
		                                                : is_live(filter, &pick.block);
		pick.is_uncertain = answer == MAYBE;
		if (answer != NO)
			visit(&pick, context);
	}
}

/*
 * 1 if the aggregate's samples, all or on average, were freed that soon, else 0; negative: unknown.
 */
static int is_temporary(const struct gg_query *query, const struct gg_profile_aggregate *aggregate)
{
	if (aggregate->to_ns == GG_TIME_NONE)
		return 0;
	if (aggregate->is_exact)
		return aggregate->is_temporary;
	if (aggregate->to_ns > aggregate->from_ns && /* an empty range means unknown times */
	    aggregate->to_ns - aggregate->from_ns <= query->temporary_ns)
		return 1;
	if (!(aggregate->lifetime_ns_sum > 0) || aggregate->sums.sample_count == 0)
		return -1;
	return aggregate->lifetime_ns_sum <=
	       (double)query->temporary_ns * (double)aggregate->sums.sample_count;
}

/*
 * The spans in which the aggregate's samples were allocated and freed: a bucket at either end of
 * its range, or the whole range if the buckets are unknown.
 */
static int64_t aggregate_bucket(const struct gg_profile_aggregate *aggregate)
{
	int64_t range = aggregate->to_ns - aggregate->from_ns;

	if (aggregate->to_ns == GG_TIME_NONE)
		return aggregate->bucket_ns;
	return aggregate->bucket_ns > 0 && aggregate->bucket_ns < range ? aggregate->bucket_ns
	                                                                : range;
}

/* The time until which the aggregate's own process held exact blocks. */
static int64_t exact_until(const struct gg_query_filter *filter,
                           const struct gg_profile_aggregate *aggregate)
{
	if (aggregate->to_ns != GG_TIME_NONE)
		return aggregate->to_ns - aggregate_bucket(aggregate) + 1;
	return filter->untils != NULL ? filter->untils[aggregate->process]
	                              : gg_model_exact_until(filter->model, aggregate);
}

/*
 * Returns the block of exact counts, which have times of ticks.  A process held at its end what
 * came in its last tick.  A table of live blocks that was full does not know of later frees, and
 * what forked processes inherited may live on in them.
 */
static struct gg_block exact_block(const struct gg_query_filter *filter,
                                   const struct gg_profile_aggregate *aggregate)
{
	int64_t stopped_ns = filter->stopped_ns != NULL ? filter->stopped_ns[aggregate->process]
	                                                : GG_TIME_NONE;
	struct gg_heir_times heirs;
	struct gg_block block = { .from_ns = aggregate->from_ns + aggregate_bucket(aggregate),
		                  .until_ns = exact_until(filter, aggregate),
		                  .left_least_ns = GG_TIME_NONE,
		                  .left_ns = GG_TIME_NONE,
		                  .heir_until_ns = INT64_MIN,
		                  .heir_left_least_ns = INT64_MAX,
		                  .heir_left_most_ns = INT64_MIN };

	if (aggregate->to_ns == GG_TIME_NONE) {
		block.is_left = true;
		block.left_ns = gg_model_process_end(filter->model, aggregate->process);
		block.left_least_ns = gg_model_until_least(filter->model, aggregate->process,
		                                           block.left_ns);
	}
	block.from_ns = gg_model_exact_from(aggregate, block.from_ns, block.until_ns);
	block.until_least_ns = block.until_ns;
	if (aggregate->to_ns == GG_TIME_NONE && stopped_ns < block.until_ns)
		block.until_least_ns = stopped_ns > block.from_ns ? stopped_ns : block.from_ns;
	if (filter->tick_count == 0)
		return block;
	heirs = gg_unseen_heirs_until(&filter->heirs, aggregate->process, UINT32_MAX,
	                              tick_before(filter, aggregate->process, aggregate->from_ns),
	                              block.until_ns);
	if (heirs.until_ns > block.until_ns)
		block.until_ns = block.heir_until_ns = heirs.until_ns;
	block.heir_left_least_ns = heirs.left_least_ns;
	block.heir_left_most_ns = heirs.left_most_ns;
	return block;
}

/* The time at which all samples of the aggregate were gone from its own process. */
static int64_t own_gone(const struct gg_query_filter *filter,
                        const struct gg_profile_aggregate *aggregate)
{
	return aggregate->is_left ? filter->model->end_ns : aggregate->to_ns;
}

/* The times of heirs that nobody saw, and that may have held samples of the aggregate. */
static struct gg_heir_times heirs_of_aggregate(const struct gg_query_filter *filter,
                                               const struct gg_profile_aggregate *aggregate)
{
	int64_t gone_ns = own_gone(filter, aggregate);

	/* A merge has found them already: rows without the mark are not theirs. */
	if (gone_ns == GG_TIME_NONE || !(aggregate->lost || aggregate->bucket_ns > 0))
		return gg_heir_times_none();
	return gg_unseen_heirs_until(&filter->heirs, aggregate->process, UINT32_MAX,
	                             aggregate->from_ns, gone_ns);
}

struct gg_block gg_query_block_of_aggregate(const struct gg_query_filter *filter,
                                            const struct gg_profile_aggregate *aggregate)
{
	int64_t bucket = aggregate_bucket(aggregate);
	struct gg_block block = { .from_ns = aggregate->from_ns + bucket,
		                  .heir_until_ns = INT64_MIN };
	struct gg_heir_times heirs;

	if (aggregate->is_exact && !aggregate->is_left)
		return exact_block(filter, aggregate);
	heirs = heirs_of_aggregate(filter, aggregate);
	block.heir_left_least_ns = aggregate->may_be_left ? INT64_MIN : heirs.left_least_ns;
	block.heir_left_most_ns = aggregate->may_be_left ? INT64_MAX : heirs.left_most_ns;
	if (aggregate->to_ns == GG_TIME_NONE) {
		block.until_ns = aggregate->is_left ? block.from_ns : GG_TIME_NONE;
		block.until_least_ns = block.until_ns;
		block.is_left = true;
		block.left_ns = GG_TIME_NONE;
		/* Only merges have sums of what was left before the end, and no times of it. */
		block.left_least_ns = aggregate->is_left ? INT64_MIN : GG_TIME_NONE;
		if (aggregate->is_left && heirs.until_ns == GG_TIME_NONE)
			block.heir_until_ns = GG_TIME_NONE;
		return block;
	}
	block.until_ns = block.until_least_ns = aggregate->to_ns - bucket + 1;
	if (heirs.until_ns > aggregate->to_ns)
		block.heir_until_ns = heirs.until_ns;
	return block;
}

int64_t gg_query_filter_held_until(const struct gg_query_filter *filter,
                                   const struct gg_profile_aggregate *aggregate)
{
	if (aggregate->is_exact && !aggregate->is_left && aggregate->to_ns == GG_TIME_NONE)
		return exact_until(filter, aggregate);
	return gg_query_block_of_aggregate(filter, aggregate).until_least_ns;
}

/* True if some events of [from_ns, to_ns] were before the moment and others after it. */
static bool cuts(int64_t from_ns, int64_t to_ns, int64_t moment_ns)
{
	return from_ns < moment_ns && moment_ns < to_ns;
}

int64_t gg_query_filter_gone(const struct gg_query_filter *filter,
                             const struct gg_profile_aggregate *aggregate)
{
	return later_of(own_gone(filter, aggregate),
	                heirs_of_aggregate(filter, aggregate).until_ns);
}

/* True for sums of an imported or merged profile, which are of any time of their session. */
static bool lacks_times(const struct gg_profile_aggregate *aggregate)
{
	if (aggregate->is_exact || aggregate->bucket_ns != 0)
		return false;
	return aggregate->to_ns == aggregate->from_ns ||
	       (aggregate->to_ns == GG_TIME_NONE && (aggregate->is_left || !aggregate->lost));
}

static bool is_placed(const struct gg_query_filter *filter,
                      const struct gg_profile_aggregate *aggregate)
{
	const struct gg_query *query = &filter->query;
	int64_t bucket = aggregate_bucket(aggregate), from = aggregate->from_ns, to = from + bucket;

	if (query->metric != GG_METRIC_LEFT && lacks_times(aggregate) &&
	    !(is_about_the_end(filter) &&
	      (query->metric == GG_METRIC_LIVE || query->from_ns == INT64_MIN)))
		return query->metric == GG_METRIC_FREED && aggregate->to_ns == GG_TIME_NONE;
	/* An heir that nobody saw may hold at the end what the process had freed or left. */
	if (query->metric == GG_METRIC_LIVE && is_at_the_end(filter))
		return (aggregate->to_ns == GG_TIME_NONE && !aggregate->is_left) ||
		       gg_query_filter_gone(filter, aggregate) != GG_TIME_NONE;
	if (query->metric == GG_METRIC_LIVE)
		return !(cuts(from, to, query->to_ns) ||
		         (aggregate->to_ns != GG_TIME_NONE &&
		          cuts(aggregate->to_ns - bucket, gg_query_filter_gone(filter, aggregate),
		               query->to_ns)));
	if (query->metric == GG_METRIC_LEFT ||
	    (query->metric == GG_METRIC_FREED && aggregate->to_ns == GG_TIME_NONE))
		return true;
	if (query->metric == GG_METRIC_FREED) {
		from = aggregate->to_ns - bucket;
		to = aggregate->to_ns;
	}
	if (cuts(from, to, query->from_ns) || cuts(from, to, query->to_ns))
		return false;
	return query->metric != GG_METRIC_TEMPORARY || !is_within(query, to) ||
	       is_temporary(query, aggregate) >= 0;
}

/* True if the metric is about what other rows count: inherited blocks were allocated elsewhere. */
static bool is_of_other_rows(const struct gg_query_filter *filter,
                             const struct gg_profile_aggregate *aggregate)
{
	return aggregate->is_inherited && (filter->query.metric == GG_METRIC_ALLOCATED ||
	                                   filter->query.metric == GG_METRIC_FREED ||
	                                   filter->query.metric == GG_METRIC_TEMPORARY);
}

/* Whether the metric counts the aggregate.  Its events count at the end of their span. */
static enum answer is_aggregate_selected(const struct gg_query_filter *filter,
                                         const struct gg_profile_aggregate *aggregate)
{
	const struct gg_query *query = &filter->query;
	struct gg_block block = gg_query_block_of_aggregate(filter, aggregate);

	switch (query->metric) {
	case GG_METRIC_LIVE:
		return is_live(filter, &block);
	case GG_METRIC_LEFT:
		return is_left(filter, &block);
	case GG_METRIC_FREED:
		return aggregate->to_ns != GG_TIME_NONE && is_within(query, aggregate->to_ns) ? YES
		                                                                              : NO;
	case GG_METRIC_TEMPORARY:
		return is_within(query, block.from_ns) && is_temporary(query, aggregate) > 0 ? YES
		                                                                             : NO;
	default:
		return is_within(query, block.from_ns) ? YES : NO;
	}
}

bool gg_query_filter_has_aggregate(const struct gg_query_filter *filter,
                                   const struct gg_profile_aggregate *aggregate)
{
	return is_in(filter, aggregate->process, aggregate->stack);
}

static void each_selected(const struct gg_query_filter *filter, gg_query_filter_visit *visit,
                          void *context)
{
	const struct gg_model_sample *samples = filter->model->samples;
	struct gg_pick pick = { 0 };

	for (pick.sample = 0; pick.sample < filter->model->sample_count; pick.sample++) {
		const struct gg_model_sample *sample = &samples[pick.sample];
		enum answer answer;

		if (!is_in(filter, sample->process, sample->stack))
			continue;
		answer = is_selected(filter, sample);
		if (answer == NO)
			continue;
		pick.is_uncertain = answer == MAYBE;
		pick.block = own_block(filter, sample);
		visit(&pick, context);
	}
}

/* A block whose value is unknown may keep as much as the largest one like it. */
static void each_pinned(const struct gg_query_filter *filter, bool apart,
                        gg_query_filter_visit *visit, void *context)
{
	for (size_t i = 0; i < filter->pinned.blocks.count; i++) {
		const struct gg_pinned_block *block = &filter->pinned.blocks.items[i];
		const struct gg_model_sample *sample = &filter->model->samples[block->sample];
		struct gg_pick pick = { .sample = block->sample,
			                .pinned = block,
			                .is_uncertain = !block->is_known };

		if ((!apart && !block->is_first) || !is_in(filter, sample->process, sample->stack))
			continue;
		pick.block = own_block(filter, sample);
		visit(&pick, context);
	}
}

void gg_query_filter_each(const struct gg_query_filter *filter, bool apart,
                          gg_query_filter_visit *visit, void *context)
{
	const struct gg_profile_aggregate *aggregates = filter->model->aggregates;
	struct gg_pick pick = { 0 };
	enum answer answer;

	if (filter->query.metric == GG_METRIC_PINNED) {
		each_pinned(filter, apart, visit, context);
		return; /* looks do not see the samples of aggregates, which were freed */
	}
	if (gg_query_filter_is_of_blocks(filter))
		each_block(filter, apart, visit, context);
	else
		each_selected(filter, visit, context);
	for (size_t i = 0; i < filter->model->aggregate_count; i++) {
		pick.aggregate = &aggregates[i];
		if (!gg_query_filter_has_aggregate(filter, &aggregates[i]) ||
		    is_of_other_rows(filter, &aggregates[i]))
			continue;
		answer = is_placed(filter, &aggregates[i])
		                 ? is_aggregate_selected(filter, &aggregates[i])
		                 : MAYBE;
		if (answer == NO)
			continue;
		pick.is_uncertain = answer == MAYBE || aggregates[i].is_shared;
		visit(&pick, context);
	}
}

void gg_query_filter_each_unplaced(const struct gg_query_filter *filter,
                                   gg_query_filter_visit *visit, void *context)
{
	const struct gg_profile_aggregate *aggregates = filter->model->aggregates;
	struct gg_pick pick = { 0 };

	if (filter->query.metric == GG_METRIC_PINNED)
		return;
	for (size_t i = 0; i < filter->model->aggregate_count; i++) {
		pick.aggregate = &aggregates[i];
		if (gg_query_filter_has_aggregate(filter, &aggregates[i]) &&
		    !is_of_other_rows(filter, &aggregates[i]) && !is_placed(filter, &aggregates[i]))
			visit(&pick, context);
	}
}
