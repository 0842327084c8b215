/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query_time - computes live memory over time.
 *
 * The sweep merges two lists of blocks: one sorted by the beginning of each block's life, one by
 * its end.  A radix sort with 11 bits a pass sorts the times, because a million of them is usual.
 * It skips lists that are in order already, as times of allocations mostly are.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/binary_search.h"
#include "query/parallel.h"
#include "query/query_internal.h"
#include "stats/sampling/weight.h"

struct moment {
	int64_t time_ns;
	uint32_t number; /* of a sample; numbers from the sample count on are aggregates */
};

struct moments {
	struct moment *items;
	size_t count;
};

enum { DIGIT_BITS = 11, DIGIT_COUNT = 1 << DIGIT_BITS };

static bool is_sorted(const struct moments *moments)
{
	for (size_t i = 1; i < moments->count; i++)
		if (moments->items[i].time_ns < moments->items[i - 1].time_ns)
			return false;
	return true;
}

static void sort_by_digit(const struct moment *from, struct moment *to, size_t count, int64_t least,
                          unsigned shift)
{
	size_t places[DIGIT_COUNT + 1] = { 0 };

	for (size_t i = 0; i < count; i++) {
		uint64_t key = (uint64_t)from[i].time_ns - (uint64_t)least;

		places[(key >> shift) % DIGIT_COUNT + 1]++;
	}
	for (size_t i = 1; i < DIGIT_COUNT; i++)
		places[i] += places[i - 1];
	for (size_t i = 0; i < count; i++) {
		uint64_t key = (uint64_t)from[i].time_ns - (uint64_t)least;

		to[places[(key >> shift) % DIGIT_COUNT]++] = from[i];
	}
}

static int sort_moments(struct moments *moments)
{
	int64_t least = INT64_MAX, most = INT64_MIN;
	struct moment *other;

	if (is_sorted(moments))
		return 0;
	other = malloc(moments->count * sizeof(*other));
	if (other == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < moments->count; i++) {
		int64_t time_ns = moments->items[i].time_ns;

		least = time_ns < least ? time_ns : least;
		most = time_ns > most ? time_ns : most;
	}
	for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
		struct moment *sorted = other;

		if (((uint64_t)most - (uint64_t)least) >> shift == 0)
			break;
		sort_by_digit(moments->items, other, moments->count, least, shift);
		other = moments->items;
		moments->items = sorted;
	}
	free(other);
	return 0;
}

static void add_block(const struct gg_block *block, size_t number, struct moments *coming,
                      struct moments *going)
{
	coming->items[coming->count++] = (struct moment){ block->from_ns, (uint32_t)number };
	if (block->until_ns != GG_TIME_NONE)
		going->items[going->count++] = (struct moment){ block->until_ns, (uint32_t)number };
}

/* The time in which the block certainly lived, or with `most` may have lived. */
static void choose(struct gg_block *block, bool most)
{
	if (!most)
		block->until_ns = block->until_least_ns;
}

static struct gg_block aggregate_block(const struct gg_query_filter *filter,
                                       const struct gg_profile_aggregate *aggregate, bool most)
{
	struct gg_block block = gg_query_block_of_aggregate(filter, aggregate);

	/* The changes of exact counts at a tick are all at the tick. */
	if (aggregate->is_exact) {
		choose(&block, most);
	} else if (most) {
		block.from_ns = aggregate->from_ns;
		block.until_ns = gg_query_filter_gone(filter, aggregate);
	}
	return block;
}

/*
 * Lists the selected blocks by beginning and by end: the time in which they certainly lived, or
 * with `most` the time in which they may have lived.
 */
static int collect(const struct gg_query_filter *filter, bool most, struct moments *coming,
                   struct moments *going)
{
	size_t count = filter->model->sample_count;
	const struct gg_profile_aggregate *aggregates = filter->model->aggregates;
	struct gg_block block;

	coming->items = malloc((count + filter->model->aggregate_count + 1) *
	                       sizeof(*coming->items));
	going->items = malloc((count + filter->model->aggregate_count + 1) * sizeof(*going->items));
	if (coming->items == NULL || going->items == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (gg_query_filter_block(filter, i, &block)) {
			choose(&block, most);
			add_block(&block, i, coming, going);
		}
	for (size_t i = 0; i < filter->model->aggregate_count; i++) {
		block = aggregate_block(filter, &aggregates[i], most);
		if (block.from_ns < block.until_ns &&
		    gg_query_filter_has_aggregate(filter, &aggregates[i]))
			add_block(&block, count + i, coming, going);
	}
	if (sort_moments(coming) < 0 || sort_moments(going) < 0)
		return -ENOMEM;
	return 0;
}

/* A running sum whose rounding errors do not accumulate (Neumaier summation). */
struct running {
	double sum, lost;
};

static void run_on(struct running *running, double value)
{
	double sum = running->sum + value, part = sum - running->sum;

	running->lost += (running->sum - (sum - part)) + (value - part);
	running->sum = sum;
}

struct running_level {
	struct running bytes, count;
};

static void change(const struct gg_query_filter *filter, struct running_level *level,
                   uint32_t number, double sign)
{
	const struct gg_model_sample *sample = filter->model->samples;
	double allocations;

	if (number >= filter->model->sample_count) {
		const struct gg_profile_aggregate *aggregate = filter->model->aggregates +
		                                               (number -
		                                                filter->model->sample_count);

		run_on(&level->bytes, sign * gg_fixed_value(aggregate->sums.bytes));
		run_on(&level->count, sign * gg_fixed_value(aggregate->sums.count));
		return;
	}
	sample += number;
	allocations = sample->size_bytes > 0 ? sample->weighted_bytes / (double)sample->size_bytes
	                                     : gg_weight_of(&sample->draw, 0).count;
	run_on(&level->bytes, sign * sample->weighted_bytes);
	run_on(&level->count, sign * allocations);
}

static int64_t next_time(const struct moments *coming, size_t came, const struct moments *going,
                         size_t went)
{
	int64_t time_ns = GG_TIME_NONE;

	if (came < coming->count)
		time_ns = coming->items[came].time_ns;
	if (went < going->count && going->items[went].time_ns < time_ns)
		time_ns = going->items[went].time_ns;
	return time_ns;
}

static void visit_level(const struct running_level *level, int64_t time_ns, gg_sweep_visit *visit,
                        void *context)
{
	double bytes = level->bytes.sum + level->bytes.lost;
	double count = level->count.sum + level->count.lost;

	visit(time_ns, bytes > 0 ? bytes : 0, count > 0 ? count : 0, context);
}

/* All changes before the window make one visit, at its beginning. */
static void walk(const struct gg_query_filter *filter, const struct moments *coming,
                 const struct moments *going, gg_sweep_visit *visit, void *context)
{
	const struct gg_query *query = &filter->query;
	size_t came = 0, went = 0;
	struct running_level level = { 0 };
	bool has_begun = false;

	for (;;) {
		int64_t time_ns = next_time(coming, came, going, went);

		if (!has_begun && time_ns > query->from_ns && came > 0)
			visit_level(&level, query->from_ns, visit, context);
		has_begun |= time_ns > query->from_ns;
		if (time_ns == GG_TIME_NONE || time_ns > query->to_ns)
			return;
		for (; came < coming->count && coming->items[came].time_ns == time_ns; came++)
			change(filter, &level, coming->items[came].number, 1);
		for (; went < going->count && going->items[went].time_ns == time_ns; went++)
			change(filter, &level, going->items[went].number, -1);
		if (has_begun)
			visit_level(&level, time_ns, visit, context);
	}
}

static int sweep(const struct gg_query_filter *filter, bool most, gg_sweep_visit *visit,
                 void *context, struct gg_error *error)
{
	struct moments coming = { 0 }, going = { 0 };
	int status = collect(filter, most, &coming, &going);

	if (status == 0)
		walk(filter, &coming, &going, visit, context);
	else
		gg_error_set_errno(error, -status, "query", NULL);
	free(coming.items);
	free(going.items);
	return status;
}

int gg_query_sweep(const struct gg_model *model, const struct gg_query *query,
                   gg_sweep_visit *visit, void *context, struct gg_error *error)
{
	struct gg_query_filter filter;
	int status = gg_query_filter_open(&filter, model, query, error);

	if (status < 0)
		return status;
	status = sweep(&filter, false, visit, context, error);
	gg_query_filter_close(&filter);
	return status;
}

static void keep_peak(int64_t time_ns, double live_bytes, double live_count, void *context)
{
	struct gg_peak *peak = context;

	(void)live_count;
	if (live_bytes > peak->bytes) {
		peak->time_ns = time_ns;
		peak->bytes = live_bytes;
	}
}

static void keep_most(int64_t time_ns, double live_bytes, double live_count, void *context)
{
	struct gg_peak *peak = context;

	(void)live_count;
	if (live_bytes > peak->most_bytes) {
		peak->most_ns = time_ns;
		peak->most_bytes = live_bytes;
	}
}

/* True if times were lost, so that more may have been live than is certain. */
static bool is_uncertain(const struct gg_query_filter *filter)
{
	const struct gg_model *model = filter->model;
	const struct gg_model_sample *samples = model->samples;

	if (model->aggregate_count > 0 || filter->heirs.pairs.count > 0)
		return true;
	for (size_t i = 1; i < model->process_count; i++)
		if (model->processes[i].end_range_ns > 0)
			return true;
	for (size_t i = 0; i < model->sample_count; i++)
		if ((samples[i].flags & GG_PROFILE_SAMPLE_LATE_FREE) != 0)
			return true;
	return false;
}

/* One sweep of gg_query_filter_peak(). */
struct peak_sweep {
	const struct gg_query_filter *filter;
	bool most;
	struct gg_peak peak;
	struct gg_error error;
	int status;
};

static void find_largest(void *thing)
{
	struct peak_sweep *run = thing;

	run->status = sweep(run->filter, run->most, run->most ? keep_most : keep_peak, &run->peak,
	                    &run->error);
}

/* Sweeps for what is certain, and in a second thread for what may have lived. */
static int find_both(const struct gg_query_filter *filter, struct gg_peak *ret_peak,
                     struct gg_error *error)
{
	struct peak_sweep certain = { .filter = filter, .peak.time_ns = filter->query.to_ns };
	struct peak_sweep most = { .filter = filter, .most = true };

	gg_parallel_pair(find_largest, &certain, &most);
	if (certain.status < 0 || most.status < 0) {
		if (error != NULL)
			*error = certain.status < 0 ? certain.error : most.error;
		return certain.status < 0 ? certain.status : most.status;
	}
	*ret_peak = certain.peak;
	ret_peak->most_ns = certain.peak.time_ns;
	ret_peak->most_bytes = certain.peak.bytes;
	if (most.peak.most_bytes > ret_peak->most_bytes) {
		ret_peak->most_ns = most.peak.most_ns;
		ret_peak->most_bytes = most.peak.most_bytes;
	}
	return 0;
}

static int find_peak(const struct gg_query_filter *filter, struct gg_peak *ret_peak,
                     struct gg_error *error)
{
	struct peak_sweep certain = { .filter = filter, .peak.time_ns = filter->query.to_ns };
	bool has_history = gg_model_has_history(filter->model);

	if (has_history && is_uncertain(filter))
		return find_both(filter, ret_peak, error);
	find_largest(&certain);
	if (certain.status < 0 && error != NULL)
		*error = certain.error;
	if (certain.status < 0)
		return certain.status;
	*ret_peak = certain.peak;
	/*
	 * Without times of frees the moment of the peak is unknown: the largest known value is live
	 * at the end.
	 */
	if (!has_history)
		ret_peak->time_ns = filter->query.to_ns;
	ret_peak->most_ns = ret_peak->time_ns;
	ret_peak->most_bytes = ret_peak->bytes;
	return 0;
}

/* True if the filter selects the whole model. */
static bool is_whole(const struct gg_query_filter *filter)
{
	return filter->process_in == NULL && filter->stack_in == NULL &&
	       filter->query.from_ns == INT64_MIN && filter->query.to_ns == GG_TIME_NONE;
}

int gg_query_filter_peak(const struct gg_query_filter *filter, struct gg_peak *ret_peak,
                         struct gg_error *error)
{
	struct gg_model_memo *memo = filter->model->memo;
	struct gg_peak peak;
	int status = 0;

	if (memo == NULL || !is_whole(filter))
		return find_peak(filter, ret_peak, error);
	pthread_mutex_lock(&memo->mutex);
	if (memo->has_peak) {
		*ret_peak = (struct gg_peak){ memo->peak_ns, memo->peak_bytes, memo->most_ns,
			                      memo->most_bytes };
	} else {
		status = find_peak(filter, &peak, error);
		if (status == 0) {
			memo->has_peak = true;
			memo->peak_ns = peak.time_ns;
			memo->peak_bytes = peak.bytes;
			memo->most_ns = peak.most_ns;
			memo->most_bytes = peak.most_bytes;
			*ret_peak = peak;
		}
	}
	pthread_mutex_unlock(&memo->mutex);
	return status;
}

int gg_query_peak(const struct gg_model *model, const struct gg_query *query,
                  struct gg_peak *ret_peak, struct gg_error *error)
{
	struct gg_query_filter filter;
	int status = gg_query_filter_open(&filter, model, query, error);

	if (status < 0)
		return status;
	status = gg_query_filter_peak(&filter, ret_peak, error);
	gg_query_filter_close(&filter);
	return status;
}

/* The index of the first of times[0..count) that is not before time_ns. */
static size_t first_from(const int64_t *times, size_t count, int64_t time_ns)
{
	return gg_lower_bound(0, count, i, times[i] < time_ns);
}

struct times {
	const struct gg_query_filter *filter;
	const int64_t *times;
	size_t count;
	struct gg_tally *tallies, *gone; /* by time */
};

/*
 * Adds a block that lives in [from_ns, until_ns) to the first time inside, and to `gone` at the
 * first time after it.  A block that lives between two times counts in neither.
 */
static void tally_span(const struct times *times, const struct gg_pick *pick, int64_t from_ns,
                       int64_t until_ns)
{
	size_t from = first_from(times->times, times->count, from_ns);
	size_t until = first_from(times->times, times->count, until_ns);

	gg_assert(from <= times->count && until <= times->count);
	if (from >= until)
		return;
	gg_query_filter_add_pick(times->filter, pick, &times->tallies[from]);
	if (until < times->count)
		gg_query_filter_add_pick(times->filter, pick, &times->gone[until]);
}

static void tally_sample(const struct times *times, size_t number, const struct gg_block *block)
{
	struct gg_pick pick = { .sample = number };

	tally_span(times, &pick, block->from_ns, block->until_least_ns);
	pick.is_uncertain = true;
	tally_span(times, &pick, block->until_least_ns, block->until_ns);
}

/* An aggregate certainly lives while all its samples do, and may live while any of them may. */
static void tally_aggregate(const struct times *times, const struct gg_profile_aggregate *aggregate)
{
	struct gg_block block = gg_query_block_of_aggregate(times->filter, aggregate);
	struct gg_pick pick = { .aggregate = aggregate };
	int64_t gone_ns = gg_query_filter_gone(times->filter, aggregate);

	if (block.until_ns < block.from_ns)
		block.from_ns = block.until_ns = block.until_least_ns = gone_ns;
	tally_span(times, &pick, block.from_ns, block.until_least_ns);
	pick.is_uncertain = true;
	if (aggregate->is_exact) {
		tally_span(times, &pick, block.until_least_ns, block.until_ns);
		return;
	}
	tally_span(times, &pick, aggregate->from_ns, block.from_ns);
	tally_span(times, &pick, block.until_ns, gone_ns);
}

static void tally_times(const struct times *times)
{
	const struct gg_query_filter *filter = times->filter;
	size_t sample_count = filter->model->sample_count;
	const struct gg_profile_aggregate *aggregates = filter->model->aggregates;
	/* For times before everything, only dropped samples count. */
	bool is_dropping = gg_query_filter_is_incomplete(filter, INT64_MIN, INT64_MIN);
	struct gg_block block;

	for (size_t i = 0; i < sample_count; i++)
		if (gg_query_filter_block(filter, i, &block))
			tally_sample(times, i, &block);
	for (size_t i = 0; i < filter->model->aggregate_count; i++)
		if (gg_query_filter_has_aggregate(filter, &aggregates[i]))
			tally_aggregate(times, &aggregates[i]);
	for (size_t i = 0; i < times->count; i++) {
		gg_tally_expose(&times->tallies[i], filter->interval_bytes);
		if (i > 0) {
			gg_tally_merge(&times->tallies[i], &times->tallies[i - 1]);
			gg_tally_subtract(&times->tallies[i], &times->gone[i]);
		}
		if (is_dropping ||
		    (filter->model->pause_count > 0 &&
		     gg_query_filter_is_incomplete(filter, INT64_MIN, times->times[i])))
			times->tallies[i].incomplete = 1;
	}
}

int gg_query_live_at(const struct gg_model *model, const struct gg_query *query,
                     const int64_t *times, size_t count, struct gg_tally *tallies,
                     struct gg_error *error)
{
	struct gg_tally *gone = calloc(count + 1, sizeof(*gone));
	struct gg_query_filter filter;
	int status;

	if (gone == NULL)
		return gg_error_memory(error, "query");
	status = gg_query_filter_open(&filter, model, query, error);
	if (status == 0) {
		memset(tallies, 0, count * sizeof(*tallies));
		tally_times(&(struct times){ &filter, times, count, tallies, gone });
		gg_query_filter_close(&filter);
	}
	free(gone);
	return status;
}

void gg_query_filter_peak_tally(const struct gg_query_filter *filter, const struct gg_peak *peak,
                                struct gg_tally *ret_tally)
{
	bool is_later = peak->most_ns > peak->time_ns;
	int64_t times[2] = { is_later ? peak->time_ns : peak->most_ns,
		             is_later ? peak->most_ns : peak->time_ns };
	struct gg_tally tallies[2] = { 0 }, gone[3] = { 0 }, extra, certain;

	if (peak->most_ns == peak->time_ns) {
		tally_times(&(struct times){ filter, times, 1, tallies, gone });
		*ret_tally = tallies[0];
	} else {
		tally_times(&(struct times){ filter, times, 2, tallies, gone });
		extra = gg_tally_most(&tallies[is_later]);
		*ret_tally = certain = gg_tally_least(&tallies[!is_later]);
		gg_tally_doubt(&extra);
		gg_tally_doubt(&certain);
		gg_tally_subtract(&extra, &certain);
		gg_tally_merge(ret_tally, &extra);
	}
	if (filter->is_incomplete ||
	    filter->lacks_java) /* dropped samples may have been live later */
		ret_tally->incomplete = 1;
}

int gg_query_peak_tally(const struct gg_model *model, const struct gg_query *query,
                        const struct gg_peak *peak, struct gg_tally *ret_tally,
                        struct gg_error *error)
{
	struct gg_query_filter filter;
	int status = gg_query_filter_open(&filter, model, query, error);

	if (status < 0)
		return status;
	gg_query_filter_peak_tally(&filter, peak, ret_tally);
	gg_query_filter_close(&filter);
	return 0;
}
