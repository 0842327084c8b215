/* SPDX-License-Identifier: Apache-2.0 */
/* sampler - draws distances to sample points, and takes samples, for each scheme. */
#include "stats/sampling/sampler.h"

#include <stddef.h>

#include "base/assert.h"
#include "stats/sampling/elementary.h"
#include "stats/sampling/weight.h"

/* Longer gaps end at a checkpoint. */
#define LONGEST_GAP ((INT64_C(1) << 62) - 1)

static double clamp_interval(double interval)
{
	if (interval == 0)
		return GG_SAMPLER_DEFAULT_INTERVAL;
	if (!(interval > 1))
		return 1;
	return interval < GG_SAMPLER_LONGEST_INTERVAL ? interval : GG_SAMPLER_LONGEST_INTERVAL;
}

/* Drops the pending sample point unseen: the next allocation begins at a checkpoint. */
static void reset(struct gg_sampler *s)
{
	s->left_bytes = 0;
	s->left_count = 0;
	s->by_count = false;
	s->pending_interval = 0;
	s->point_is_pending = false;
	s->changed = false;
}

/* True between gg_sampler_due() and gg_sampler_take(). */
static bool is_due_now(const struct gg_sampler *s)
{
	return s->left_bytes < 0 || s->left_count < 0;
}

static double whole(double interval)
{
	return (double)(int64_t)(clamp_interval(interval) + 0.5);
}

/*
 * True if a change keeps the scheme stride and its interval.  Then the stride keeps its phase: its
 * sample points have a memory, and a program may change settings because a point was due.  A new
 * phase right after each point would be half a point too many.
 */
static bool is_same_stride(const struct gg_sampler *s)
{
	return s->point_is_pending && s->scheme == GG_SCHEME_STRIDE &&
	       s->options.scheme == GG_SCHEME_STRIDE &&
	       s->pending_interval == whole(s->options.sampling_interval);
}

void gg_sampler_change(struct gg_sampler *s, const struct gg_sampler_options *options)
{
	s->options = *options;
	s->changed = !is_same_stride(s);
	if (s->changed && !is_due_now(s))
		reset(s);
}

static void seed_rng(struct gg_sampler *s, uint64_t seed, uint64_t stream)
{
	if (seed != 0)
		gg_rng_seed(&s->rng, seed, stream);
	else
		gg_rng_seed_from_system(&s->rng);
}

void gg_sampler_init(struct gg_sampler *s, const struct gg_sampler_options *options)
{
	*s = (struct gg_sampler){ .left_bytes = s->left_bytes };
	seed_rng(s, options->seed, options->stream);
	gg_sampler_change(s, options);
}

/* Takes the options over.  No sample point is pending then. */
static void adopt(struct gg_sampler *s)
{
	const struct gg_sampler_options *options = &s->options;
	int64_t visit = options->visit_bytes < (uint64_t)LONGEST_GAP ? (int64_t)options->visit_bytes
	                                                             : 0;

	if (!gg_rng_is_seeded(&s->rng))
		gg_rng_seed_from_system(&s->rng);
	s->changed = false;
	s->scheme = options->scheme;
	s->pending_interval = clamp_interval(options->sampling_interval);
	s->scale = s->pending_interval > 1 ? s->pending_interval : 0;
	s->longest_gap = visit > 0 ? visit : LONGEST_GAP;
	switch (s->scheme) {
	case GG_SCHEME_POISSON:
		break;
	case GG_SCHEME_BERNOULLI:
		s->scale = gg_rng_geometric_scale(s->pending_interval);
		break;
	case GG_SCHEME_POISSON_COUNT:
		/* An allocation from the cutoff on must be due whatever the gap. */
		if ((uint64_t)s->longest_gap >= gg_weight_cutoff_bytes(s->pending_interval))
			s->longest_gap = (int64_t)gg_weight_cutoff_bytes(s->pending_interval) - 1;
		break;
	case GG_SCHEME_STRIDE:
		s->pending_interval = whole(s->pending_interval);
		break;
	case GG_SCHEME_PER_ALLOCATION:
		s->scale = gg_rng_geometric_scale(s->pending_interval);
		s->by_count = true;
		s->longest_gap = LONGEST_GAP;
		break;
	case GG_SCHEME_OPTIMAL:
		s->rates = options->rates;
		if (s->rates == NULL)
			break;
		s->pending_interval = clamp_interval(s->rates->shortest);
		s->scale = s->pending_interval > 1 ? s->pending_interval : 0;
		break;
	}
}

static void set_left(struct gg_sampler *s, int64_t left)
{
	s->left_bytes = s->by_count ? 0 : left;
	s->left_count = s->by_count ? left : 0;
}

/*
 * Sets the distance to the next sample point.  A gap that is longer than the longest becomes a
 * checkpoint instead: the rest of it is drawn there, which leaves the law as it is, because the
 * distances are without memory.
 */
static void arm(struct gg_sampler *s, uint64_t gap)
{
	gg_assert(s->longest_gap > 0);
	s->point_is_pending = gap < (uint64_t)s->longest_gap;
	set_left(s, s->point_is_pending ? (int64_t)gap : s->longest_gap);
}

static uint64_t draw_gap(struct gg_sampler *s)
{
	return s->scale > 0 ? gg_rng_geometric(&s->rng, s->scale) : 0;
}

void gg_sampler_reseed(struct gg_sampler *s, uint64_t seed, uint64_t stream)
{
	seed_rng(s, seed, stream);
	if (is_due_now(s)) {
		s->changed |= !is_same_stride(s);
	} else if (s->pending_interval > 0 && s->scheme == GG_SCHEME_STRIDE) {
		s->point_is_pending = true;
		set_left(s, (int64_t)gg_rng_below(&s->rng, (uint64_t)s->pending_interval));
	} else if (s->pending_interval > 0) {
		arm(s, draw_gap(s));
	}
}

/*
 * True if a sample point falls on an allocation of `units` of the stream, of which `left` lie
 * before the pending sample point or checkpoint.  *ret_offset is the distance from the allocation's
 * start to the point.  Without a point, the next gap is set.
 */
static bool find_sample_point(struct gg_sampler *s, uint64_t left, uint64_t units,
                              uint64_t *ret_offset)
{
	uint64_t gap, rest = units - left;

	gg_assert(left < units);
	if (s->point_is_pending) {
		*ret_offset = left;
		return true;
	}
	gap = draw_gap(s);
	if (gap >= rest) {
		arm(s, gap - rest);
		return false;
	}
	*ret_offset = left + gap;
	return true;
}

static bool take_one(struct gg_sampler *s, uint64_t left, uint64_t units, struct gg_draw *draw)
{
	uint64_t offset;

	if (!find_sample_point(s, left, units, &offset))
		return false;
	draw->offset_bytes = s->by_count ? 0 : offset;
	arm(s, draw_gap(s));
	return true;
}

/*
 * Counts all sample points on the allocation.  Points after the first one count as well, so the
 * place of the first one within its byte matters: it is an exponential that is known to be below 1.
 * The part of the last gap that lies beyond the allocation is the next gap.
 */
static bool take_count(struct gg_sampler *s, uint64_t left, uint64_t length, struct gg_draw *draw)
{
	uint64_t offset;
	double rest, gap;

	if (s->scale == 0 || length >= gg_weight_cutoff_bytes(s->pending_interval)) {
		set_left(s, (int64_t)left); /* such an allocation is not on the stream */
		return true;
	}
	if (!find_sample_point(s, left, length, &offset))
		return false;
	draw->offset_bytes = offset;
	rest = (double)(length - offset) +
	       s->pending_interval *
	               gg_log1p(gg_rng_uniform(&s->rng) * gg_expm1(-1 / s->pending_interval));
	for (;;) {
		gap = s->pending_interval * gg_rng_exponential(&s->rng);
		if (gap > rest)
			break;
		rest -= gap;
		draw->sample_point_count++;
	}
	gap -= rest;
	arm(s, gap < 0x1p63 ? (uint64_t)gap : UINT64_C(1) << 63);
	return true;
}

/* Sample points are exactly one interval apart; the first is anywhere in the first interval. */
static bool take_stride(struct gg_sampler *s, uint64_t left, uint64_t length, struct gg_draw *draw)
{
	uint64_t interval = (uint64_t)s->pending_interval, count;

	if (!s->point_is_pending)
		left += gg_rng_below(&s->rng, interval);
	s->point_is_pending = true;
	if (left >= length) {
		set_left(s, (int64_t)(left - length));
		return false;
	}
	count = gg_stride_sample_point_count(left, length, interval);
	gg_assert(count >= 1 && left + count * interval >= length);
	set_left(s, (int64_t)(left + count * interval - length));
	draw->offset_bytes = left;
	draw->sample_point_count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
	return true;
}

/*
 * True if a sample point of that interval falls on `rest` bytes; *ret_gap is the distance to it.
 * An exponential is at least as large as the uniform number that it is made of, so most are known
 * to be too long without a logarithm.
 */
static bool find_later(struct gg_rng *rng, double interval, uint64_t rest, uint64_t *ret_gap)
{
	double u = gg_rng_uniform(rng), gap;

	if (u * interval >= (double)rest)
		return false;
	gap = -gg_log1p(-u) * interval;
	if (gap >= (double)rest)
		return false;
	*ret_gap = (uint64_t)gap;
	return true;
}

/*
 * Thins the sample points by the allocation's size class.  Points are drawn at the shortest
 * interval of all classes, and each is kept with the probability of its class.  The kept points of
 * a class are a Poisson process, too, with the interval of the class.  If the first point is not
 * kept, the rest of the allocation may hold a later kept one, which is drawn directly at the
 * interval of the class.  The next gap begins at the end of the allocation in any case.
 */
static bool take_by_class(struct gg_sampler *s, uint64_t left, unsigned class, uint64_t length,
                          struct gg_draw *draw)
{
	double interval = s->rates->intervals[class];
	uint64_t offset, gap;

	if (!find_sample_point(s, left, length, &offset))
		return false;
	arm(s, draw_gap(s));
	if (gg_rng_uniform(&s->rng) >= s->rates->keeps[class]) {
		if (!find_later(&s->rng, interval, length - offset - 1, &gap))
			return false;
		offset += 1 + gap;
	}
	draw->offset_bytes = offset;
	draw->sampling_interval = interval > 1 ? interval : 0; /* 0: p is 1 */
	return true;
}

static bool take_pending(struct gg_sampler *s, uint64_t left, uint64_t bytes, struct gg_draw *draw)
{
	uint64_t length = gg_length_bytes(bytes);

	switch (s->scheme) {
	case GG_SCHEME_PER_ALLOCATION:
		return take_one(s, left, 1, draw);
	case GG_SCHEME_OPTIMAL:
		if (s->rates == NULL) {
			draw->sampling_interval = s->scale > 0 ? s->pending_interval : 0;
			break;
		}
		return take_by_class(s, left, gg_size_class(bytes), length, draw);
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
	bool fresh = s->pending_interval == 0, sampled;
	uint64_t units, left;
	struct gg_draw draw;

	if (fresh)
		adopt(s);
	units = s->by_count ? 1 : gg_length_bytes(bytes);
	/*
	 * Adds back what gg_sampler_due() subtracted.  A fresh sampler had nothing left, and
	 * neither had one whose count a signal handler lowered further.
	 */
	left = fresh ? 0 : (uint64_t)(s->by_count ? s->left_count : s->left_bytes) + units;
	if (left >= units)
		left = 0;
	draw = (struct gg_draw){ .sampling_interval = s->pending_interval,
		                 .sample_point_count = 1,
		                 .scheme = s->scheme };
	gg_assert(left < units);
	sampled = take_pending(s, left, bytes, &draw);
	if (s->changed)
		reset(s);
	if (sampled)
		*ret_draw = draw;
	return sampled;
}

void gg_sampler_put_back(struct gg_sampler *s, uint64_t bytes)
{
	if (s->by_count)
		s->left_count += 1;
	else
		s->left_bytes = (int64_t)((uint64_t)s->left_bytes + gg_length_bytes(bytes));
}

void gg_sampler_pause(struct gg_sampler *s, uint64_t pause_bytes)
{
	reset(s);
	s->left_bytes = pause_bytes < (uint64_t)LONGEST_GAP ? (int64_t)pause_bytes : LONGEST_GAP;
}
