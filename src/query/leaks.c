/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaks - see leaks.h.
 *
 * The sums for one stack take 5 KiB, and there may be 100 000 stacks.  Therefore the samples are
 * sorted by stack first, so that one set of sums serves all stacks in turn.  Each thread tests a
 * range of stacks.
 */
#include "query/leaks.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "query/discovery.h"
#include "query/query_internal.h"

static const double most_false =
	0.05; /* false discovery rate among rows that are reported as growing */

struct leaks_run {
	const struct gg_model *model;
	const struct gg_leaks_query *query;
	struct gg_query_filter filter;
	int64_t end_ns; /* the end of the run; GG_TIME_NONE: each process's own end */
	struct gg_leaks *leaks;
	uint32_t *suppressed_by; /* gg_suppressions_apply() */
	/* Samples and aggregates by stack: order[first[stack] .. first[stack + 1]). */
	uint32_t *sample_order, *sample_first, *aggregate_order, *aggregate_first;
	uint8_t *has_live; /* by stack */
	/* By process: the begin of its last full collection; GG_TIME_NONE: none.  NULL: no Java. */
	int64_t *collected_ns;
	uint8_t *is_java; /* by kind */
	struct gg_tally live, old;
};

static uint32_t stack_of_sample(const struct leaks_run *run, size_t i)
{
	const struct gg_model_sample *samples = run->model->samples;

	return run->model->stacks[samples[i].stack].top;
}

static uint32_t stack_of_aggregate(const struct leaks_run *run, size_t i)
{
	const struct gg_profile_aggregate *aggregates = run->model->aggregates;

	return run->model->stacks[aggregates[i].stack].top;
}

/* Counting sort of `count` items by stack; it skips items whose stack has nothing live. */
static int sort_by_stack(const struct leaks_run *run, size_t count,
                         uint32_t (*stack_of)(const struct leaks_run *run, size_t i),
                         uint32_t **ret_order, uint32_t **ret_first)
{
	size_t stack_count = run->model->stack_count;
	uint32_t *first = calloc(stack_count + 2, sizeof(*first)), *order;
	uint32_t total = 0;

	*ret_first = first;
	*ret_order = order = calloc(count + 1, sizeof(*order));
	if (first == NULL || order == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		uint32_t stack = stack_of(run, i);

		if (run->has_live[stack])
			first[stack + 1]++;
	}
	for (size_t stack = 0; stack <= stack_count; stack++) {
		total += first[stack];
		first[stack] = total;
	}
	/* Filling advances first[stack] to the start of the next stack ... */
	for (size_t i = 0; i < count; i++) {
		uint32_t stack = stack_of(run, i);

		if (run->has_live[stack])
			order[first[stack]++] = (uint32_t)i;
	}
	/* ... so shift the array back by one stack. */
	memmove(first + 1, first, (stack_count + 1) * sizeof(*first));
	first[0] = 0;
	return 0;
}

/* The begin of the full collection that ends the run of the sample; GG_TIME_NONE: none does. */
static int64_t collection_of(const struct leaks_run *run, size_t number)
{
	const struct gg_model_sample *sample = run->model->samples + number;

	if (run->collected_ns == NULL || !run->is_java[sample->kind])
		return GG_TIME_NONE;
	return run->collected_ns[sample->process];
}

/* Leaves out the time in which only an heir that nobody saw may have held the block. */
static void leave_heirs_out(struct gg_block *block, int64_t held_until_ns)
{
	if (block->heir_until_ns != INT64_MIN)
		block->until_ns = held_until_ns;
}

/* The block as of the end of the run.  False: the block is not selected. */
static bool find_selected(const struct leaks_run *run, size_t number, struct gg_block *block)
{
	if (!gg_query_filter_block(&run->filter, number, block) || block->from_ns > run->end_ns)
		return false;
	leave_heirs_out(block, block->until_least_ns);
	if (run->end_ns == GG_TIME_NONE)
		return true;
	block->is_left = block->until_ns >
	                 run->end_ns; /* a process that ended before holds nothing */
	block->left_ns = run->end_ns;
	return true;
}

/* Leaves out objects that are younger than the last full collection as well. */
static bool find_block(const struct leaks_run *run, size_t number, struct gg_block *block)
{
	return find_selected(run, number, block) && block->from_ns <= collection_of(run, number);
}

/* The exact aggregate's blocks as of the end of the run.  False: they are not selected. */
static bool find_exact(const struct leaks_run *run, const struct gg_profile_aggregate *aggregate,
                       struct gg_block *block)
{
	*block = gg_query_block_of_aggregate(&run->filter, aggregate);
	leave_heirs_out(block, gg_query_filter_held_until(&run->filter, aggregate));
	if (!aggregate->is_exact || !gg_query_filter_has_aggregate(&run->filter, aggregate) ||
	    block->from_ns > run->end_ns)
		return false;
	if (run->end_ns != GG_TIME_NONE)
		block->is_left = block->until_ns > run->end_ns;
	return true;
}

static void find_live(struct leaks_run *run)
{
	const struct gg_profile_aggregate *aggregates = run->model->aggregates;
	struct gg_block block;

	for (size_t i = 0; i < run->model->sample_count; i++)
		if (find_block(run, i, &block) && block.is_left)
			run->has_live[stack_of_sample(run, i)] = 1;
	for (size_t i = 0; i < run->model->aggregate_count; i++)
		if (find_exact(run, &aggregates[i], &block) && block.is_left)
			run->has_live[stack_of_aggregate(run, i)] = 1;
}

/*
 * A time as a share of [start, end].  A hostile file has times so large that their doubles are
 * equal.
 */
static double share_of(int64_t time_ns, int64_t start_ns, int64_t end_ns)
{
	return ((double)time_ns - (double)start_ns) / fmax((double)end_ns - (double)start_ns, 1);
}

/*
 * The life of a process, at least 1 ns long.  A start of INT64_MAX would be GG_TIME_NONE, so start
 * + 1 cannot overflow.
 */
static void life_of(const struct leaks_run *run, uint32_t number, int64_t *ret_start,
                    int64_t *ret_end)
{
	const struct gg_profile_process *process = run->model->processes + number;
	int64_t end = number == 0 ? GG_TIME_NONE : process->end_ns;

	*ret_start = number == 0 || process->start_ns == GG_TIME_NONE ? 0 : process->start_ns;
	*ret_end = end == GG_TIME_NONE ? run->model->end_ns : end;
	if (*ret_end > run->end_ns)
		*ret_end = run->end_ns;
	if (*ret_end <= *ret_start)
		*ret_end = *ret_start + 1;
}

/* The age of a block that was left; -1 for a block that was freed. */
static int64_t add_sample(const struct leaks_run *run, struct gg_leak *leak, size_t number)
{
	const struct gg_model_sample *sample = run->model->samples + number;
	struct gg_block block;
	int64_t start, end, gone, collected = collection_of(run, number);

	if (!find_block(run, number, &block))
		return -1;
	life_of(run, sample->process, &start, &end);
	gone = block.is_left ? block.left_ns : block.until_ns;
	if (gone > end) /* a process that inherited the block lived longer */
		end = gone;
	if (collected < end) { /* what this collection or a later one found was dead by then */
		gone = gone < collected ? gone : collected;
		gg_leak_add(leak, share_of(block.from_ns, start, collected),
		            block.is_left ? INFINITY : share_of(gone, start, collected),
		            &sample->draw, sample->size_bytes);
		return block.is_left ? end - block.from_ns : -1;
	}
	gg_leak_add(leak, share_of(block.from_ns, start, end),
	            block.is_left ? INFINITY : share_of(gone, start, end), &sample->draw,
	            sample->size_bytes);
	return block.is_left ? end - block.from_ns : -1;
}

/* The age of blocks that were left; -1 for others. */
static int64_t add_aggregate(const struct leaks_run *run, struct gg_leak *leak, size_t number)
{
	const struct gg_profile_aggregate *aggregate = run->model->aggregates + number;
	struct gg_tally tally = { 0 };
	struct gg_block block;
	int64_t start, end;

	if ((run->filter.process_in != NULL && !run->filter.process_in[aggregate->process]) ||
	    aggregate->from_ns > run->end_ns)
		return -1;
	life_of(run, aggregate->process, &start, &end);
	gg_model_add_aggregate(run->model, &tally, aggregate);
	if (find_exact(run, aggregate, &block)) {
		gg_leak_add_exact(leak, share_of(block.from_ns, start, end),
		                  block.is_left ? INFINITY : share_of(block.until_ns, start, end),
		                  &tally);
		return block.is_left ? end - block.from_ns : -1;
	}
	gg_leak_add_vague(leak, share_of(aggregate->from_ns, start, end),
	                  share_of(aggregate->to_ns, start, end), &tally);
	return -1;
}

static struct gg_range range_of(const struct gg_tally *tally, enum gg_quantity quantity,
                                double confidence, bool discovered)
{
	struct gg_interval interval = gg_interval_of(tally, quantity, confidence, discovered);

	return (struct gg_range){ gg_tally_estimate(tally, quantity).value, interval.low,
		                  interval.high };
}

static struct gg_range growth_of(const struct gg_leak *leak, double confidence)
{
	struct gg_difference growth = gg_leak_growth(leak, confidence);

	return (struct gg_range){ growth.value, growth.low, growth.high };
}

/* Adds up the blocks of a stack; returns the age of its oldest live block. */
static int64_t add_up(const struct leaks_run *run, uint32_t stack, struct gg_leak *leak)
{
	enum { PREFETCH_AHEAD = 8 }; /* samples; their order is not that of memory */
	const struct gg_model_sample *samples = run->model->samples;
	const uint32_t *order = run->sample_order;
	uint32_t order_count = run->sample_first[run->model->stack_count];
	int64_t oldest = 0;

	gg_assert(run->sample_first[stack] <= run->sample_first[stack + 1]);
	gg_leak_init(leak, run->filter.interval_bytes);
	for (uint32_t i = run->sample_first[stack]; i < run->sample_first[stack + 1]; i++) {
		int64_t age;

		if (i + PREFETCH_AHEAD < order_count) {
			__builtin_prefetch(&samples[order[i + PREFETCH_AHEAD]].alloc_ns);
			__builtin_prefetch(&samples[order[i + PREFETCH_AHEAD]].stack);
		}
		age = add_sample(run, leak, order[i]);
		oldest = age > oldest ? age : oldest;
	}
	for (uint32_t i = run->aggregate_first[stack]; i < run->aggregate_first[stack + 1]; i++) {
		int64_t age = add_aggregate(run, leak, run->aggregate_order[i]);

		oldest = age > oldest ? age : oldest;
	}
	gg_leak_finish(leak);
	return oldest;
}

/* A range of stacks that one thread tests, with its own rows. */
struct stack_range {
	const struct leaks_run *run;
	uint32_t from_stack, to_stack;
	struct gg_leak_row *rows; /* has room for all stacks of the range with live blocks */
	size_t row_count;
	struct gg_tally live, old;
	pthread_t thread;
	bool is_beside;
};

static bool is_suppressed(const struct leaks_run *run, uint32_t stack)
{
	return run->suppressed_by != NULL && run->suppressed_by[stack] > 0;
}

/* Computes what sorting needs for all rows; `class` as if the stack did not grow. */
static void judge_stack(struct stack_range *part, uint32_t stack)
{
	const struct leaks_run *run = part->run;
	struct gg_leak_row *row = &part->rows[part->row_count++];
	double confidence = run->query->confidence;
	struct gg_leak leak;

	*row = (struct gg_leak_row){ .stack = stack };
	if (run->model->stack_vias != NULL)
		row->via = run->model->stack_vias[stack];
	row->oldest_ns = add_up(run, stack, &leak);
	row->live_bytes.estimate = gg_tally_estimate(&leak.live, GG_BYTES).value;
	row->sample_count = leak.live.sample_count;
	if (is_suppressed(run, stack))
		return;
	row->class = gg_leak_class_of(&leak, false, confidence);
	row->p_value = gg_leak_p_value(&leak);
	if (row->p_value <=
	    most_false) /* the stack may grow, and growing rows are sorted by growth */
		row->growth_bytes = growth_of(&leak, confidence);
	gg_tally_merge(&part->live, &leak.live);
	gg_tally_merge(&part->old, &leak.old);
}

static void *judge_part(void *context)
{
	struct stack_range *part = context;

	for (uint32_t stack = part->from_stack; stack < part->to_stack; stack++)
		if (part->run->has_live[stack])
			judge_stack(part, stack);
	return NULL;
}

/* Appends the rows of a part to the result; suppressed rows are only counted. */
static void take_part(struct leaks_run *run, const struct stack_range *part)
{
	struct gg_leaks *leaks = run->leaks;

	for (size_t i = 0; i < part->row_count; i++) {
		struct gg_leak_row row =
			part->rows[i]; /* source and destination may be the same element */
		struct gg_leak_suppressed *of;

		if (!is_suppressed(run, row.stack)) {
			leaks->rows[leaks->row_count++] = row;
			continue;
		}
		of = &leaks->suppressed[run->suppressed_by[row.stack] - 1];
		of->row_count++;
		of->sample_count += row.sample_count;
		of->live_bytes += row.live_bytes.estimate;
	}
	gg_tally_merge(&run->live, &part->live);
	gg_tally_merge(&run->old, &part->old);
}

/* Tests all stacks, with a thread for each processor; the parts have about equally many samples. */
static void judge_stacks(struct leaks_run *run)
{
	enum { MOST_PARTS = 8 };
	struct stack_range parts[MOST_PARTS] = { 0 };
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	int count = processors > MOST_PARTS ? MOST_PARTS : processors > 1 ? (int)processors : 1;
	uint32_t stack_count = (uint32_t)run->model->stack_count, stack = 0;
	uint64_t sample_count = run->sample_first[stack_count];
	size_t row = 0;

	for (int i = 0; i < count; i++) {
		struct stack_range *part = &parts[i];
		uint64_t end = sample_count * (uint64_t)(i + 1) / (uint64_t)count;

		part->run = run;
		part->rows = &run->leaks->rows[row];
		part->from_stack = stack;
		while (stack < stack_count && (i == count - 1 || run->sample_first[stack] < end))
			row += run->has_live[stack++];
		part->to_stack = stack;
		part->is_beside = i < count - 1 &&
		                  pthread_create(&part->thread, NULL, judge_part, part) == 0;
		if (!part->is_beside)
			judge_part(part);
	}
	for (int i = 0; i < count; i++) {
		if (parts[i].is_beside)
			pthread_join(parts[i].thread, NULL);
		take_part(run, &parts[i]);
	}
}

/* Aggregates that keep no type count as blocks without one. */
static uint32_t type_of_aggregate(const struct gg_model *model,
                                  const struct gg_profile_aggregate *aggregate)
{
	uint32_t kind = gg_model_aggregate_kind(model, aggregate);

	return kind < model->kind_count ? model->kinds[kind].type : 0;
}

/* Adds up the live blocks of a stack by type. */
static int add_up_types(const struct leaks_run *run, uint32_t stack, struct gg_type_sums *sums)
{
	const struct gg_model *model = run->model;
	struct gg_tally *tally;
	struct gg_block block;

	for (uint32_t i = run->sample_first[stack]; i < run->sample_first[stack + 1]; i++) {
		const struct gg_model_sample *sample = &model->samples[run->sample_order[i]];

		if (!find_block(run, run->sample_order[i], &block) || !block.is_left)
			continue;
		tally = gg_type_sums_find(sums, model->kinds[sample->kind].type);
		if (tally == NULL)
			return -ENOMEM;
		gg_tally_add(tally, &sample->draw, sample->size_bytes);
	}
	for (uint32_t i = run->aggregate_first[stack]; i < run->aggregate_first[stack + 1]; i++) {
		const struct gg_profile_aggregate *aggregate =
			&model->aggregates[run->aggregate_order[i]];

		if (!find_exact(run, aggregate, &block) || !block.is_left)
			continue;
		tally = gg_type_sums_find(sums, type_of_aggregate(model, aggregate));
		if (tally == NULL)
			return -ENOMEM;
		gg_model_add_aggregate(model, tally, aggregate);
	}
	return 0;
}

/* True if blocks of the stack are missing. */
static bool is_stack_incomplete(const struct leaks_run *run, uint32_t stack)
{
	const struct gg_model *model = run->model;
	bool is = run->filter.is_incomplete;

	for (uint32_t i = run->sample_first[stack]; i < run->sample_first[stack + 1] && !is; i++)
		is = gg_query_filter_lacks_like(&run->filter, &model->samples[run->sample_order[i]],
		                                NULL);
	for (uint32_t i = run->aggregate_first[stack]; i < run->aggregate_first[stack + 1] && !is;
	     i++)
		is = gg_query_filter_lacks_like(&run->filter, NULL,
		                                &model->aggregates[run->aggregate_order[i]]);
	return is;
}

/* Computes the types of the rows that are shown, if the profile has types. */
static int complete_types(const struct leaks_run *run, size_t row_count)
{
	struct gg_type_sums sums;
	int status = 0;

	if (run->model->type_count <= 1) /* [no type] alone */
		return 0;
	if (gg_type_sums_init(&sums, run->model->type_count, run->filter.interval_bytes) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < row_count && status == 0; i++) {
		struct gg_leak_row *row = &run->leaks->rows[i];

		status = add_up_types(run, row->stack, &sums);
		if (status == 0)
			status = gg_type_sums_take(&sums, run->query->confidence,
			                           is_stack_incomplete(run, row->stack),
			                           &row->types, &row->type_count);
	}
	gg_type_sums_done(&sums);
	return status;
}

/* Computes the remaining members of a row that is shown. */
static void complete_row(const struct leaks_run *run, struct gg_leak_row *row)
{
	double confidence = run->query->confidence;
	struct gg_leak leak;

	add_up(run, row->stack, &leak);
	if (is_stack_incomplete(run, row->stack))
		leak.live.incomplete = leak.old.incomplete = 1;
	row->live_bytes = range_of(&leak.live, GG_BYTES, confidence, true);
	row->live_count = range_of(&leak.live, GG_ALLOCATIONS, confidence, true);
	row->old_bytes = range_of(&leak.old, GG_BYTES, confidence, true);
	row->growth_bytes = growth_of(&leak, confidence);
	row->kept_share = gg_leak_kept_share(&leak);
	memcpy(row->cohorts, leak.cohorts, sizeof(row->cohorts));
}

/*
 * Sorts by class; growing rows by the lower bound of growth, others by size; then by stack.  Growth
 * whose error is unknown has no bound: such rows come last, the largest estimate first.
 */
static int compare_rows(const void *x, const void *y)
{
	const struct gg_leak_row *a = x, *b = y;
	bool grows = a->class == GG_LEAK_GROWING;
	double of_a = grows ? a->growth_bytes.low : a->live_bytes.estimate;
	double of_b = grows ? b->growth_bytes.low : b->live_bytes.estimate;

	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	if (grows && of_a == of_b) {
		of_a = a->growth_bytes.estimate;
		of_b = b->growth_bytes.estimate;
	}
	if (of_a != of_b)
		return of_a > of_b ? -1 : 1;
	return a->stack < b->stack ? -1 : a->stack > b->stack;
}

/* Decides which rows grow, at the false discovery rate over all rows. */
static int choose_growing(struct gg_leaks *leaks)
{
	if (leaks->row_count == 0)
		return 0;
	for (size_t i = 0; i < leaks->row_count; i++)
		leaks->rows[i].q_value = leaks->rows[i].p_value;
	if (gg_discovery_run(&leaks->rows[0].q_value, sizeof(leaks->rows[0]), leaks->row_count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < leaks->row_count; i++) {
		struct gg_leak_row *row = &leaks->rows[i];

		if (row->class != GG_LEAK_YOUNG_ONLY && row->q_value <= most_false)
			row->class = GG_LEAK_GROWING;
		leaks->class_row_count[row->class]++;
		leaks->class_bytes[row->class] += row->live_bytes.estimate;
	}
	return 0;
}

/* --- Java: what survived the last full collection --- */

static bool is_java_kind(const struct gg_model *model, size_t kind)
{
	return strcmp(model->heaps[model->kinds[kind].heap], "java") == 0;
}

/* Finds the last full collection of each process before the end of the run. */
static int find_collections(struct leaks_run *run)
{
	const struct gg_model *model = run->model;
	bool has_java = false;

	run->is_java = calloc(model->kind_count + 1, 1);
	if (run->is_java == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < model->kind_count; i++)
		has_java |= run->is_java[i] = is_java_kind(model, i);
	if (!has_java)
		return 0;
	run->collected_ns = malloc((model->process_count + 1) * sizeof(*run->collected_ns));
	if (run->collected_ns == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < model->process_count; i++)
		run->collected_ns[i] = GG_TIME_NONE;
	for (size_t i = 0; i < model->full_collection_count; i++) {
		const struct gg_model_full_collection *collection = &model->full_collections[i];
		int64_t *last = &run->collected_ns[collection->process];

		if (collection->time_ns <= run->end_ns &&
		    (*last == GG_TIME_NONE || collection->time_ns > *last))
			*last = collection->time_ns;
	}
	return 0;
}

static void count_collected(struct leaks_run *run, const uint8_t *has_objects)
{
	struct gg_leak_collections *sums = &run->leaks->collections;

	sums->first_ns = sums->last_ns = GG_TIME_NONE;
	for (size_t i = 0; i < run->model->process_count; i++) {
		int64_t time_ns = run->collected_ns[i];

		if (!has_objects[i])
			continue;
		sums->process_count++;
		if (time_ns == GG_TIME_NONE)
			continue;
		sums->collected_count++;
		if (time_ns < sums->first_ns)
			sums->first_ns = time_ns;
		if (sums->last_ns == GG_TIME_NONE || time_ns > sums->last_ns)
			sums->last_ns = time_ns;
	}
}

/* Adds up the live objects that are left out, and those of which no collection tells. */
static int count_uncollected(struct leaks_run *run)
{
	const struct gg_model *model = run->model;
	struct gg_leak_collections *sums = &run->leaks->collections;
	struct gg_tally younger = { 0 }, uncollected = { 0 };
	uint8_t *has_objects;
	struct gg_block block;

	if (run->collected_ns == NULL)
		return 0;
	has_objects = calloc(model->process_count + 1, 1);
	if (has_objects == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < model->sample_count; i++) {
		const struct gg_model_sample *sample = &model->samples[i];
		int64_t collected;

		if (!run->is_java[sample->kind] || !find_selected(run, i, &block) || !block.is_left)
			continue;
		has_objects[sample->process] = 1;
		collected = collection_of(run, i);
		if (block.from_ns > collected)
			gg_tally_add(&younger, &sample->draw, sample->size_bytes);
		else if (collected == GG_TIME_NONE)
			gg_tally_add(&uncollected, &sample->draw, sample->size_bytes);
	}
	count_collected(run, has_objects);
	free(has_objects);
	sums->younger_bytes = gg_tally_estimate(&younger, GG_BYTES).value;
	sums->younger_sample_count = younger.sample_count;
	sums->uncollected_bytes = gg_tally_estimate(&uncollected, GG_BYTES).value;
	return 0;
}

static int prepare(struct leaks_run *run, struct gg_error *error)
{
	struct gg_leaks *leaks = run->leaks;
	const struct gg_suppressions *suppressions = run->query->suppressions;
	size_t stack_count = run->model->stack_count, live_count = 0;

	if (suppressions != NULL && suppressions->patterns.count > 0) {
		leaks->suppressed = calloc(suppressions->patterns.count,
		                           sizeof(*leaks->suppressed));
		if (leaks->suppressed == NULL)
			return gg_error_memory(error, "leaks");
		leaks->suppressed_count = suppressions->patterns.count;
		for (size_t i = 0; i < suppressions->patterns.count; i++)
			leaks->suppressed[i].pattern = suppressions->patterns.items[i];
	}
	run->has_live = calloc(stack_count + 1, 1);
	if (run->has_live == NULL)
		return gg_error_memory(error, "leaks");
	if (!run->query->counts_uncollected &&
	    (find_collections(run) < 0 || count_uncollected(run) < 0))
		return gg_error_memory(error, "leaks");
	find_live(run);
	for (size_t i = 0; i < stack_count; i++)
		live_count += run->has_live[i];
	leaks->rows = calloc(live_count + 1, sizeof(*leaks->rows));
	if (leaks->rows == NULL || sort_by_stack(run, run->model->sample_count, stack_of_sample,
	                                         &run->sample_order, &run->sample_first) < 0)
		return gg_error_memory(error, "leaks");
	if (sort_by_stack(run, run->model->aggregate_count, stack_of_aggregate,
	                  &run->aggregate_order, &run->aggregate_first) < 0)
		return gg_error_memory(error, "leaks");
	return 0;
}

static int judge(struct leaks_run *run, struct gg_error *error)
{
	struct gg_leaks *leaks = run->leaks;
	double confidence = run->query->confidence;
	int status = prepare(run, error);
	size_t shown;

	if (status < 0)
		return status;
	gg_query_filter_expose(&run->filter, &run->live);
	gg_query_filter_expose(&run->filter, &run->old);
	judge_stacks(run);
	if (choose_growing(leaks) < 0)
		return gg_error_memory(error, "leaks");
	qsort(leaks->rows, leaks->row_count, sizeof(*leaks->rows), compare_rows);
	shown = run->query->limit != 0 && run->query->limit < leaks->row_count ? run->query->limit
	                                                                       : leaks->row_count;
	for (size_t i = 0; i < shown; i++)
		complete_row(run, &leaks->rows[i]);
	if (complete_types(run, shown) < 0)
		return gg_error_memory(error, "leaks");
	leaks->live_bytes = range_of(&run->live, GG_BYTES, confidence, false);
	leaks->live_count = range_of(&run->live, GG_ALLOCATIONS, confidence, false);
	leaks->old_bytes = range_of(&run->old, GG_BYTES, confidence, false);
	leaks->sample_count = run->live.sample_count;
	leaks->unseen_bytes = run->filter.is_incomplete || run->filter.lacks_java
	                              ? NAN
	                              : gg_interval_unseen_bytes(run->filter.interval_bytes,
	                                                         confidence);
	leaks->has_history = gg_model_has_history(run->model);
	leaks->at_ns = run->end_ns;
	return 0;
}

int gg_leaks_run(const struct gg_model *model, const struct gg_leaks_query *query,
                 struct gg_leaks **ret_leaks, struct gg_error *error)
{
	bool is_cut = query->at_ns > 0 && query->at_ns < model->end_ns;
	struct leaks_run run = { .model = model,
		                 .query = query,
		                 .end_ns = is_cut ? query->at_ns : GG_TIME_NONE };
	struct gg_query filter_query;
	int status = 0;

	if (!gg_model_has_times(model))
		status = gg_error_set(
			error, -ENOTSUP, "leaks",
			"Compare two moments instead: geiger diff BEFORE AFTER.",
			"an imported or merged profile has no times to tell leaks by");
	if (status == 0 && is_cut && !gg_model_has_history(model))
		status = gg_error_set(error, -ENOTSUP, "leaks --at",
		                      "Without --at it is about the end.",
		                      "recorded without history: what was live then is not known");
	if (status < 0)
		return status;
	gg_query_init(&filter_query);
	filter_query.pid = query->pid;
	status = gg_query_filter_open(&run.filter, model, &filter_query, error);
	if (status < 0)
		return status;
	run.leaks = calloc(1, sizeof(*run.leaks));
	if (run.leaks == NULL)
		status = gg_error_memory(error, "leaks");
	if (status == 0)
		status = gg_suppressions_apply(query->suppressions, model, &run.suppressed_by,
		                               error);
	if (status == 0)
		status = judge(&run, error);
	free(run.suppressed_by);
	free(run.sample_order);
	free(run.sample_first);
	free(run.aggregate_order);
	free(run.aggregate_first);
	free(run.has_live);
	free(run.collected_ns);
	free(run.is_java);
	gg_query_filter_close(&run.filter);
	if (status < 0) {
		gg_leaks_free(run.leaks);
		return status;
	}
	*ret_leaks = run.leaks;
	return 0;
}

void gg_leaks_free(struct gg_leaks *leaks)
{
	if (leaks == NULL)
		return;
	for (size_t i = 0; i < leaks->row_count; i++)
		free(leaks->rows[i].types);
	free(leaks->rows);
	free(leaks->suppressed);
	free(leaks);
}
