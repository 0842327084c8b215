/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/sampler.h"

#include <stddef.h>

#include "stats/elementary.h"
#include "stats/weight.h"

/* Longer gaps end at a checkpoint.  Below the cost of certainty, so that it is always due. */
#define LONGEST_GAP (GG_OPTIMAL_CERTAIN - 1)

/* Per-allocation is optimal with equal costs: one allocation, one unit. */
static const struct gg_optimal_costs one_each = { .of_class = {
							  [0 ... GG_SIZE_CLASS_COUNT - 1] = 1 } };

/* Optimal without a plan. */
static const struct gg_optimal_costs all_certain = { .of_class = { [0 ... GG_SIZE_CLASS_COUNT -
	                                                            1] = GG_OPTIMAL_CERTAIN } };

static double held(double interval)
{
	if (interval == 0)
		return GG_SAMPLER_DEFAULT_INTERVAL;
	if (!(interval > 1))
		return 1;
	return interval < GG_SAMPLER_LONGEST_INTERVAL ? interval : GG_SAMPLER_LONGEST_INTERVAL;
}

/* What is pending is forgotten, unseen: the next allocation begins at a checkpoint. */
static void forget(struct gg_sampler *s)
{
	s->left_bytes = 0;
	s->left_cost = 0;
	s->costs = NULL;
	s->interval = 0;
	s->mark_pending = false;
	s->changed = false;
}

void gg_sampler_change(struct gg_sampler *s, const struct gg_sampler_options *options)
{
	s->options = *options;
	s->changed = true;
	if (s->left_bytes >= 0 && s->left_cost >= 0)
		forget(s);
}

void gg_sampler_init(struct gg_sampler *s, const struct gg_sampler_options *options)
{
	*s = (struct gg_sampler){ .left_bytes = s->left_bytes };
	if (options->seed != 0)
		gg_rng_seed(&s->rng, options->seed, options->stream);
	else
		gg_rng_seed_from_system(&s->rng);
	gg_sampler_change(s, options);
}

/* The options come into force, with nothing pending. */
static void adopt(struct gg_sampler *s)
{
	const struct gg_sampler_options *options = &s->options;
	int64_t visit = options->visit_bytes < (uint64_t)LONGEST_GAP ? (int64_t)options->visit_bytes
	                                                             : 0;

	if (!gg_rng_is_seeded(&s->rng))
		gg_rng_seed_from_system(&s->rng);
	s->changed = false;
	s->scheme = options->scheme;
	s->interval = held(options->interval);
	s->scale = s->interval > 1 ? s->interval : 0;
	s->longest_gap = visit > 0 ? visit : LONGEST_GAP;
	switch (s->scheme) {
	case GG_SCHEME_POISSON:
		break;
	case GG_SCHEME_BERNOULLI:
		s->scale = gg_rng_geometric_scale(s->interval);
		break;
	case GG_SCHEME_POISSON_COUNT:
		/* An allocation from the cutoff on must be due whatever the gap. */
		if ((uint64_t)s->longest_gap >= gg_weight_cutoff_bytes(s->interval))
			s->longest_gap = (int64_t)gg_weight_cutoff_bytes(s->interval) - 1;
		break;
	case GG_SCHEME_STRIDE:
		s->interval = (double)(int64_t)(s->interval + 0.5);
		break;
	case GG_SCHEME_PER_ALLOCATION:
		s->scale = gg_rng_geometric_scale(s->interval);
		s->costs = &one_each;
		s->longest_gap = LONGEST_GAP;
		break;
	case GG_SCHEME_OPTIMAL:
		s->scale = s->interval = GG_OPTIMAL_UNIT;
		s->costs = options->costs != NULL ? options->costs : &all_certain;
		s->longest_gap = LONGEST_GAP;
		break;
	}
}

static void set_left(struct gg_sampler *s, int64_t left)
{
	s->left_bytes = s->costs == NULL ? left : 0;
	s->left_cost = s->costs == NULL ? 0 : left;
}

/* The next mark comes after so much. */
static void settle(struct gg_sampler *s, uint64_t gap)
{
	s->mark_pending = gap < (uint64_t)s->longest_gap;
	set_left(s, s->mark_pending ? (int64_t)gap : s->longest_gap);
}

static uint64_t draw_gap(struct gg_sampler *s)
{
	return s->scale > 0 ? gg_rng_geometric(&s->rng, s->scale) : 0;
}

/*
 * Is there a mark on an allocation that takes `units` of the stream, of which `left` lay before the
 * pending mark or checkpoint?  *ret_offset is what lies before the mark; without one, the next gap
 * is settled.
 */
static bool find_mark(struct gg_sampler *s, uint64_t left, uint64_t units, uint64_t *ret_offset)
{
	uint64_t gap, rest = units - left;

	if (s->mark_pending) {
		*ret_offset = left;
		return true;
	}
	gap = draw_gap(s);
	if (gap >= rest) {
		settle(s, gap - rest);
		return false;
	}
	*ret_offset = left + gap;
	return true;
}

static bool take_one(struct gg_sampler *s, uint64_t left, uint64_t units, struct gg_draw *draw)
{
	uint64_t offset;

	if (!find_mark(s, left, units, &offset))
		return false;
	draw->offset_bytes = s->costs == NULL ? offset : 0;
	settle(s, draw_gap(s));
	return true;
}

/*
 * Marks after the first one count too, so its place within its byte matters: an exponential that is
 * known to be below 1.  What the last gap reaches beyond the allocation is the next gap.
 */
static bool take_count(struct gg_sampler *s, uint64_t left, uint64_t length, struct gg_draw *draw)
{
	uint64_t offset;
	double rest, gap;

	if (s->scale == 0 || length >= gg_weight_cutoff_bytes(s->interval)) {
		set_left(s, (int64_t)left); /* it is not on the stream */
		return true;
	}
	if (!find_mark(s, left, length, &offset))
		return false;
	draw->offset_bytes = offset;
	rest = (double)(length - offset) +
	       s->interval * gg_log1p(gg_rng_uniform(&s->rng) * gg_expm1(-1 / s->interval));
	for (;;) {
		gap = s->interval * gg_rng_exponential(&s->rng);
		if (gap > rest)
			break;
		rest -= gap;
		draw->mark_count++;
	}
	gap -= rest;
	settle(s, gap < 0x1p63 ? (uint64_t)gap : UINT64_C(1) << 63);
	return true;
}

/* Marks exactly one interval apart, the first anywhere in the first interval. */
static bool take_stride(struct gg_sampler *s, uint64_t left, uint64_t length, struct gg_draw *draw)
{
	uint64_t interval = (uint64_t)s->interval, count;

	if (!s->mark_pending)
		left += gg_rng_below(&s->rng, interval);
	s->mark_pending = true;
	if (left >= length) {
		set_left(s, (int64_t)(left - length));
		return false;
	}
	count = gg_stride_mark_count(left, length, interval);
	set_left(s, (int64_t)(left + count * interval - length));
	draw->offset_bytes = left;
	draw->mark_count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
	return true;
}

/* A mark per unit of cost; those whose p is 1 take nothing of the stream. */
static bool take_by_cost(struct gg_sampler *s, uint64_t left, int64_t cost, uint64_t length,
                         struct gg_draw *draw)
{
	if (cost < GG_OPTIMAL_CERTAIN) {
		if (s->scheme == GG_SCHEME_OPTIMAL)
			draw->interval = (double)length * (GG_OPTIMAL_UNIT / (double)cost);
		return take_one(s, left, (uint64_t)cost, draw);
	}
	set_left(s, (int64_t)left);
	draw->interval = 0;
	return true;
}

static bool take_pending(struct gg_sampler *s, uint64_t left, int64_t units, uint64_t length,
                         struct gg_draw *draw)
{
	switch (s->scheme) {
	case GG_SCHEME_PER_ALLOCATION:
	case GG_SCHEME_OPTIMAL:
		return take_by_cost(s, left, units, length, draw);
	case GG_SCHEME_POISSON_COUNT:
		return take_count(s, left, length, draw);
	case GG_SCHEME_STRIDE:
		return take_stride(s, left, length, draw);
	case GG_SCHEME_POISSON:
	case GG_SCHEME_BERNOULLI:
		break;
	}
	return take_one(s, left, length, draw);
}

bool gg_sampler_take(struct gg_sampler *s, uint64_t bytes, struct gg_draw *ret_draw)
{
	bool fresh = s->interval == 0, sampled;
	uint64_t length = gg_length_bytes(bytes), left;
	struct gg_draw draw;
	int64_t units;

	if (fresh)
		adopt(s);
	units = s->costs == NULL ? (int64_t)length : s->costs->of_class[gg_size_class(bytes)];
	/*
	 * What gg_sampler_due() subtracted comes back; a fresh sampler had nothing left.  Nor has one
	 * whose count a signal handler took down further.
	 */
	left = fresh ? 0 : (uint64_t)((s->costs == NULL ? s->left_bytes : s->left_cost) + units);
	if (left >= (uint64_t)units)
		left = 0;
	draw = (struct gg_draw){ .interval = s->interval, .mark_count = 1, .scheme = s->scheme };
	sampled = take_pending(s, left, units, length, &draw);
	if (s->changed)
		forget(s);
	if (sampled)
		*ret_draw = draw;
	return sampled;
}

void gg_sampler_put_back(struct gg_sampler *s, uint64_t bytes)
{
	if (s->costs == NULL)
		s->left_bytes = (int64_t)((uint64_t)s->left_bytes + gg_length_bytes(bytes));
	else
		s->left_cost += s->costs->of_class[gg_size_class(bytes)];
}

void gg_sampler_pause(struct gg_sampler *s, uint64_t pause_bytes)
{
	forget(s);
	s->left_bytes = pause_bytes < (uint64_t)LONGEST_GAP ? (int64_t)pause_bytes : LONGEST_GAP;
}
