/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask_time - live memory over time.
 *
 * Two lists of blocks, by the time they came and by the time they went, are walked together.  Times
 * are sorted by radix, 11 bits a pass, because a million of them is usual; lists that are in order
 * already, as allocations mostly are, are left alone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/ask_internal.h"
#include "stats/weight.h"

struct moment {
	int64_t time_ns;
	uint32_t number; /* of a sample; from their count on of a coarse row */
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

/* All blocks of the scope by their coming, and by their going where they went. */
static int collect(const struct gg_scope *scope, struct moments *coming, struct moments *going)
{
	size_t count = scope->model->samples.used_count, coarse_count;
	const struct gg_coarse *coarse = gg_model_coarse(scope->model, &coarse_count);
	struct gg_block block;

	coming->items = malloc((count + coarse_count + 1) * sizeof(*coming->items));
	going->items = malloc((count + coarse_count + 1) * sizeof(*going->items));
	if (coming->items == NULL || going->items == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (gg_scope_block(scope, i, &block))
			add_block(&block, i, coming, going);
	for (size_t i = 0; i < coarse_count; i++) {
		block = gg_coarse_block(&coarse[i]);
		if (block.from_ns < block.until_ns && gg_scope_has_coarse(scope, &coarse[i]))
			add_block(&block, count + i, coming, going);
	}
	if (sort_moments(coming) < 0 || sort_moments(going) < 0)
		return -ENOMEM;
	return 0;
}

/* A running sum that forgets nothing of what was added and taken back (Neumaier). */
struct running {
	double sum, lost;
};

static void run_on(struct running *running, double value)
{
	double sum = running->sum + value, part = sum - running->sum;

	running->lost += (running->sum - (sum - part)) + (value - part);
	running->sum = sum;
}

struct level {
	struct running bytes, count;
};

static void change(const struct gg_scope *scope, struct level *level, uint32_t number, double sign)
{
	size_t count;
	const struct gg_model_sample *sample = gg_model_samples(scope->model, &count);
	double allocations;

	if (number >= count) {
		const struct gg_coarse *coarse = gg_model_coarse(scope->model, &count) +
		                                 (number - scope->model->samples.used_count);

		run_on(&level->bytes, sign * gg_fixed_value(coarse->sums.bytes));
		run_on(&level->count, sign * gg_fixed_value(coarse->sums.count));
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

static void visit_level(const struct level *level, int64_t time_ns, gg_sweep_visit *visit,
                        void *context)
{
	double bytes = level->bytes.sum + level->bytes.lost;
	double count = level->count.sum + level->count.lost;

	visit(time_ns, bytes > 0 ? bytes : 0, count > 0 ? count : 0, context);
}

/* Changes before the window are one visit, at its beginning. */
static void walk(const struct gg_scope *scope, const struct moments *coming,
                 const struct moments *going, gg_sweep_visit *visit, void *context)
{
	const struct gg_question *query = &scope->query;
	size_t came = 0, went = 0;
	struct level level = { 0 };
	bool has_begun = false;

	for (;;) {
		int64_t time_ns = next_time(coming, came, going, went);

		if (!has_begun && time_ns > query->from_ns && came > 0)
			visit_level(&level, query->from_ns, visit, context);
		has_begun |= time_ns > query->from_ns;
		if (time_ns == GG_TIME_NONE || time_ns > query->to_ns)
			return;
		for (; came < coming->count && coming->items[came].time_ns == time_ns; came++)
			change(scope, &level, coming->items[came].number, 1);
		for (; went < going->count && going->items[went].time_ns == time_ns; went++)
			change(scope, &level, going->items[went].number, -1);
		if (has_begun)
			visit_level(&level, time_ns, visit, context);
	}
}

static int sweep(const struct gg_scope *scope, gg_sweep_visit *visit, void *context,
                 struct gg_error *error)
{
	struct moments coming = { 0 }, going = { 0 };
	int code = collect(scope, &coming, &going);

	if (code == 0)
		walk(scope, &coming, &going, visit, context);
	else
		gg_error_set_errno(error, -code, "query", NULL);
	free(coming.items);
	free(going.items);
	return code;
}

int gg_ask_sweep(const struct gg_model *model, const struct gg_question *query,
                 gg_sweep_visit *visit, void *context, struct gg_error *error)
{
	struct gg_scope scope;
	int code = gg_scope_open(&scope, model, query, error);

	if (code < 0)
		return code;
	code = sweep(&scope, visit, context, error);
	gg_scope_close(&scope);
	return code;
}

static void keep_peak(int64_t time_ns, double live_bytes, double live_count, void *context)
{
	struct gg_peak *peak = context;

	(void)live_count;
	if (live_bytes > peak->bytes)
		*peak = (struct gg_peak){ time_ns, live_bytes };
}

int gg_scope_peak(const struct gg_scope *scope, struct gg_peak *ret_peak, struct gg_error *error)
{
	struct gg_peak peak = { .time_ns = scope->query.to_ns };
	int code = sweep(scope, keep_peak, &peak, error);

	/* Without times of frees the largest is what is live at the end: a moment would say more than is known. */
	if (!gg_model_has_history(scope->model))
		peak.time_ns = scope->query.to_ns;
	if (code == 0)
		*ret_peak = peak;
	return code;
}

int gg_ask_peak(const struct gg_model *model, const struct gg_question *query,
                struct gg_peak *ret_peak, struct gg_error *error)
{
	struct gg_scope scope;
	int code = gg_scope_open(&scope, model, query, error);

	if (code < 0)
		return code;
	code = gg_scope_peak(&scope, ret_peak, error);
	gg_scope_close(&scope);
	return code;
}

/* The first of times[0..count) that is not before time_ns. */
static size_t first_from(const int64_t *times, size_t count, int64_t time_ns)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (times[middle] < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct times {
	const struct gg_scope *scope;
	const int64_t *times;
	size_t count;
	struct gg_tally *tallies, *gone; /* of each time */
};

/*
 * A block is added at the first time that it is there, and noted at the first that it is not; blocks
 * that come and go between two times are in neither.  Exactly one of sample and coarse is not NULL.
 */
static void tally_block(const struct times *times, const struct gg_block *block,
                        const struct gg_model_sample *sample, const struct gg_coarse *coarse)
{
	size_t from = first_from(times->times, times->count, block->from_ns);
	size_t until = first_from(times->times, times->count, block->until_ns);
	struct gg_tally *into[2] = { &times->tallies[from], &times->gone[until] };

	if (from >= until)
		return;
	for (int i = 0; i < (until < times->count ? 2 : 1); i++) {
		if (sample != NULL)
			gg_tally_add(into[i], &sample->draw, sample->size_bytes);
		else
			gg_model_add_coarse(times->scope->model, into[i], coarse);
	}
}

static void tally_times(const struct times *times)
{
	const struct gg_scope *scope = times->scope;
	size_t sample_count, coarse_count;
	const struct gg_model_sample *samples = gg_model_samples(scope->model, &sample_count);
	const struct gg_coarse *coarse = gg_model_coarse(scope->model, &coarse_count);
	struct gg_block block;

	for (size_t i = 0; i < sample_count; i++)
		if (gg_scope_block(scope, i, &block))
			tally_block(times, &block, &samples[i], NULL);
	for (size_t i = 0; i < coarse_count; i++) {
		block = gg_coarse_block(&coarse[i]);
		if (gg_scope_has_coarse(scope, &coarse[i]))
			tally_block(times, &block, NULL, &coarse[i]);
	}
	for (size_t i = 0; i < times->count; i++) {
		gg_tally_expose(&times->tallies[i], scope->interval);
		if (i == 0)
			continue;
		gg_tally_merge(&times->tallies[i], &times->tallies[i - 1]);
		gg_tally_subtract(&times->tallies[i], &times->gone[i]);
	}
}

int gg_ask_live_at(const struct gg_model *model, const struct gg_question *query,
                   const int64_t *times, size_t count, struct gg_tally *tallies,
                   struct gg_error *error)
{
	struct gg_tally *gone = calloc(count + 1, sizeof(*gone));
	struct gg_scope scope;
	int code;

	if (gone == NULL)
		return gg_error_set_errno(error, ENOMEM, "query", NULL);
	code = gg_scope_open(&scope, model, query, error);
	if (code == 0) {
		memset(tallies, 0, count * sizeof(*tallies));
		tally_times(&(struct times){ &scope, times, count, tallies, gone });
		gg_scope_close(&scope);
	}
	free(gone);
	return code;
}
