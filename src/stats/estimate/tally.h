/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally - adds up how many bytes and allocations a group of samples stands for.
 *
 * A group is any set of samples that was chosen without looking at which allocations were sampled:
 * a stack, a function, "live now", "allocated in [t0, t1]".  A tally holds the sums that its
 * estimates and confidence intervals (interval.h) need:
 *
 *   struct gg_tally tally = { 0 };
 *   gg_tally_expose(&tally, 512 * 1024);           bytes that it could hide without samples
 *   gg_tally_add(&tally, &draw, size_bytes);       each sample, with its own interval
 *   gg_tally_merge(&total, &tally);                a tree of stacks, processes, machines
 *   gg_tally_subtract(&window, &before);           a time window out of two running totals
 *   gg_tally_estimate(&tally, GG_BYTES).value
 *
 * Every sum is kept in two doubles (about 106 bits), so that subtracting what was added leaves
 * nothing.  A window is as exact as if only its samples had been added, even after totals of 2^60
 * bytes.
 *
 * The maxima (`..._max`) cannot be subtracted.  After a subtraction they may be larger than those
 * of the remaining samples, never smaller.  They only widen upper ends, so intervals stay valid.
 * Everything else is as if the subtracted samples had never been there.
 *
 * Units     Bytes, allocations, and their squares.
 * Lifetime  All-zero is the empty tally; nothing needs to be freed.
 * Threads   Any thread; the functions are pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stats/sampling/scheme.h"

/* An estimate and the variance of its error. */
struct gg_estimate {
	double value;
	double variance;
};

/* A sum in two doubles; `high` is the rounded sum. */
struct gg_sum {
	double high, low;
};

/*
 * The first three cumulants of the memory that a set of samples stands for, and the certain part of
 * it.
 */
struct gg_moments {
	struct gg_sum seen;     /* the samples themselves: sum of Z, or their number */
	struct gg_sum value;    /* sum of weights, Z/p or 1/p */
	struct gg_sum variance; /* sum of (1-p)/p^2, times Z^2 for bytes */
	struct gg_sum skew; /* sum of (1-p)(2-p)/p^3, times Z^3 for bytes (docs/ESTIMATION.md) */
};

enum gg_quantity {
	GG_BYTES,
	GG_ALLOCATIONS,
};

enum { GG_QUANTITY_COUNT = GG_ALLOCATIONS + 1 };

struct gg_tally {
	uint64_t sample_count;
	uint64_t sample_point_count; /* sum of the sample points on the samples */
	/*
	 * The moments of samples that were likely to be missed, and of samples with p >=
	 * GG_SURE_PROBABILITY.
	 */
	struct gg_moments usual[GG_QUANTITY_COUNT], sure[GG_QUANTITY_COUNT];
	struct gg_sum failed_bytes;    /* sum of (1-q)/q = R - 1 */
	struct gg_sum failed_variance; /* sum of (1-q)/q^2 */
	struct gg_sum rest_bytes;      /* u: sum of Z - offset */
	/*
	 * The third cumulant of folded samples may be larger than in `usual` and `sure` by this
	 * much.
	 */
	struct gg_sum skew_slack[GG_QUANTITY_COUNT];
	/*
	 * The number of sums whose error is unknown.  While there are any, the tally has no
	 * confidence interval.
	 */
	struct gg_sum unknown[GG_QUANTITY_COUNT];
	/*
	 * Samples that may or may not belong to the group, because their times were lost.  No
	 * estimate and no lower end includes them; the upper end is that of the group with all of
	 * them.
	 */
	struct gg_moments uncertain[GG_QUANTITY_COUNT];
	/*
	 * The most that one more sample point could stand for: R bytes, of all intervals that the
	 * group was exposed to; R/Z allocations, of its samples.
	 */
	double reserve_max[GG_QUANTITY_COUNT];
	double sampled_interval_max;     /* the largest R of the samples alone, in bytes */
	double allocations_per_byte_max; /* 1/Z of the smallest sample */
	/*
	 * The group was exposed to an interval of 1, which samples everything: without a reserve
	 * and without samples, its sums are exactly 0.
	 */
	bool is_counted;
	/*
	 * 1: samples of the group were dropped, or sampling was off for a while, so there is no
	 * upper end.  Otherwise 0.
	 */
	double incomplete;
	/*
	 * 1: the group has samples of the scheme per-allocation, which draws by a coin for each
	 * allocation, whatever its size.  Such samples give no information about a rare larger
	 * block, so bytes have no upper end.  Otherwise 0.
	 */
	double unbounded_bytes;
	/*
	 * A bound of the bytes that does not come from samples (gg_tally_limit_bytes).  A sum of
	 * tallies has no limit until it gets its own.
	 */
	bool is_limited;
	double limit_bytes;
	/* Blocks that changed since values were read (gg_tally_change_bytes); likewise. */
	double changed_bytes, changed_share;
};

/*
 * From this p on (4 R and more), a miss is so rare that misses are counted one by one, as whole
 * allocations.  Below it, misses are many and small enough for a continuous law.
 */
#define GG_SURE_PROBABILITY 0.98

/*
 * The contribution of one sample to the fields of a tally with the same names; `seen` grows by its
 * size and by 1.  This is the only rule: tallies of both kinds (plain_tally.h) add these numbers.
 */
struct gg_share {
	bool is_sure; /* p >= GG_SURE_PROBABILITY */
	uint32_t sample_point_count;
	uint64_t rest_bytes;
	double value[GG_QUANTITY_COUNT], variance[GG_QUANTITY_COUNT], skew[GG_QUANTITY_COUNT];
	double failed_bytes, failed_variance;
	/* Lower bounds of the tally's maxima. */
	double reserve[GG_QUANTITY_COUNT], sampled_interval, allocations_per_byte;
	double unbounded_bytes;
	double unknown; /* 1: the error is unknown */
};

struct gg_share gg_share_of(const struct gg_draw *draw, uint64_t size_bytes);

/*
 * Records that the group was exposed to this sampling interval (in bytes), whether or not it has a
 * sample.
 */
void gg_tally_expose(struct gg_tally *tally, double interval_bytes);

/* Records that the group was exposed to what the other one was exposed to. */
void gg_tally_expose_like(struct gg_tally *tally, const struct gg_tally *other);

/* True if the group has nothing beside its samples for certain. */
bool gg_tally_hides_nothing(const struct gg_tally *tally);

/*
 * Records that the group has at most that many bytes, as an exact count of a larger group shows.
 * Intervals then end there at the latest.  Estimates may be above it: cut off, they would no longer
 * be unbiased.
 */
void gg_tally_limit_bytes(struct gg_tally *tally, double bytes);

/*
 * Returns the larger one of that limit and the samples' own bytes, because count and samples may be
 * of slightly different moments.  INFINITY: there is no limit.
 */
double gg_tally_limit(const struct gg_tally *tally, enum gg_quantity quantity);

/*
 * Records that blocks of up to that many bytes were allocated or freed since the values of samples
 * were read, and that they are that share of all blocks.  Any group may have them.  A value is the
 * block's part of what several blocks share, so those that are left may have more, by the share.
 * Intervals include all of it; estimates are of the time of reading.
 */
void gg_tally_change_bytes(struct gg_tally *tally, double bytes, double share);

/* Gives a part of a group the limit of the whole group, and what may have changed in it. */
void gg_tally_bound_like(struct gg_tally *tally, const struct gg_tally *whole);

/* Adds one sample, whose draw must be valid (gg_draw_is_valid). */
void gg_tally_add(struct gg_tally *tally, const struct gg_draw *draw, uint64_t size_bytes);

/*
 * Samples that were added up elsewhere and are not known one by one: a region's totals, or samples
 * that a retention rule folded.
 */
struct gg_folded {
	uint64_t sample_count;
	uint64_t seen_bytes; /* sum of Z */
	double bytes, bytes_variance;
	double count, count_variance;
	double bytes_skew, count_skew; /* 0: unknown */
	double sampling_interval; /* the largest sampling interval of a sample, as in gg_draw */
	enum gg_scheme scheme;
	uint64_t least_bytes, most_bytes; /* range of the sizes; 0 and UINT64_MAX: unknown */
	/*
	 * Bit 1 << enum gg_quantity: the error of that estimate is unknown, for example because a
	 * file does not report how it was sampled.  The variance and skew are then ignored.
	 */
	uint32_t unknown_errors;
};

/*
 * Adds folded samples.  Unknown third cumulants are bounded by the sampling interval and the sizes,
 * and the upper end of the confidence interval is the largest for any skew up to that bound
 * (docs/ESTIMATION.md, "Sums without third cumulants").  The estimators by failed trials and by
 * sample points leave folded samples out, because their sums are missing.
 */
void gg_tally_add_folded(struct gg_tally *tally, const struct gg_folded *folded);

/*
 * The contribution of folded samples to the fields of a tally with the same names, as that of a
 * sample is (struct gg_share); `seen` grows by their bytes and their number, unless the error is
 * unknown.
 */
struct gg_folded_share {
	bool is_sure; /* of all of them */
	double skew[GG_QUANTITY_COUNT], skew_slack[GG_QUANTITY_COUNT];
	/* Lower bounds of the tally's maxima. */
	double reserve[GG_QUANTITY_COUNT], sampled_interval, allocations_per_byte;
	double unbounded_bytes;
};

/*
 * True if the sums are exact bytes without an allocation.  The exact mode balances counts and bytes
 * separately, so a tick with as many frees as allocations leaves the difference of their sizes.
 */
bool gg_folded_is_bytes_alone(const struct gg_folded *folded);

/* The sums have at least one sample, or are exact bytes alone. */
struct gg_folded_share gg_folded_share_of(const struct gg_folded *folded);

/*
 * Makes all samples of the tally uncertain.  Add it to the tally of a group to which they may
 * belong.
 */
void gg_tally_doubt(struct gg_tally *tally);

/* True if it has neither samples nor exact bytes without a count, uncertain samples aside. */
bool gg_tally_is_empty(const struct gg_tally *tally);

/* True if the tally has samples that may or may not belong to the group. */
bool gg_tally_is_uncertain(const struct gg_tally *tally);

/* Return the group without any of the uncertain samples, and with all of them. */
struct gg_tally gg_tally_least(const struct gg_tally *tally);
struct gg_tally gg_tally_most(const struct gg_tally *tally);

/*
 * tally += other, and tally -= other.  For the second, every sample of `other` must be in the
 * tally.
 */
void gg_tally_merge(struct gg_tally *tally, const struct gg_tally *other);
void gg_tally_subtract(struct gg_tally *tally, const struct gg_tally *other);

/*
 * Estimates by weighted samples (Horvitz & Thompson 1952): the sum of Z/p and of 1/p.  It is
 * unbiased, and has the least variance of these estimators.  Reports show it.
 */
struct gg_estimate gg_tally_estimate(const struct gg_tally *tally, enum gg_quantity quantity);

/*
 * Estimates by failed trials: s (1-q)/q + u.  It is unbiased if each sample's offset is that of its
 * first sample point (poisson, bernoulli); its variance s (1-q)/q^2 is that of the negative
 * binomial.
 */
struct gg_estimate gg_tally_failed_trials(const struct gg_tally *tally);

/* True if the error of that estimate is known: no sum in the tally came without one. */
bool gg_tally_has_error(const struct gg_tally *tally, enum gg_quantity quantity);

/* Returns the certain part: the bytes, or the number, of the samples themselves. */
double gg_tally_seen(const struct gg_tally *tally, enum gg_quantity quantity);

/* Returns the sum as one number. */
static inline double gg_sum_value(const struct gg_sum *sum)
{
	return sum->high + sum->low;
}
