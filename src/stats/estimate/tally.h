/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally - how many bytes and allocations a group of samples stands for.
 *
 * A group is any set of samples chosen without looking at which allocations were sampled: a stack,
 * a function, "live now", "allocated in [t0, t1]".  A tally holds the sums that its estimates and
 * confidence intervals (interval.h) need:
 *
 *   struct gg_tally tally = { 0 };
 *   gg_tally_expose(&tally, 512 * 1024);           what a group without samples could hide
 *   gg_tally_add(&tally, &draw, size_bytes);       each sample, with the interval of its own mark
 *   gg_tally_merge(&total, &tally);                a tree of stacks, processes, machines
 *   gg_tally_subtract(&window, &before);           a time window out of two running totals
 *   gg_tally_estimate(&tally, GG_BYTES).value
 *
 * Every sum is kept in two doubles (about 106 bits), so that taking back what was added leaves
 * nothing: a window is as exact as if its samples alone had been added, after totals of 2^60 bytes.
 *
 * The maxima (`..._max`) cannot be taken back.  After a subtraction they may be larger than
 * those of the samples that remain, never smaller; they only widen upper ends, so intervals stay
 * valid.  Everything else is as if the subtracted samples had never been there.
 *
 * Units     bytes, allocations, and their squares.
 * Lifetime  all-zero is the empty tally; nothing to free.
 * Threads   any; pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stats/sampling/scheme.h"

/* Not a plain number: it has an error. */
struct gg_estimate {
	double value;
	double variance;
};

/* A sum in two doubles; high is the sum rounded. */
struct gg_sum {
	double high, low;
};

/* The first three cumulants of what a set of samples stands for, and what is certain of it. */
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
	uint64_t sample_point_count; /* sum of the marks on the samples */
	/* Of samples that were likely to be missed, and of those with p >= GG_SURE_PROBABILITY. */
	struct gg_moments usual[GG_QUANTITY_COUNT], sure[GG_QUANTITY_COUNT];
	struct gg_sum mark_bytes;      /* sum of n R: bytes by the marks alone */
	struct gg_sum mark_variance;   /* sum of n R^2 */
	struct gg_sum failed_bytes;    /* sum of (1-q)/q = R - 1 */
	struct gg_sum failed_variance; /* sum of (1-q)/q^2 */
	struct gg_sum rest_bytes;      /* u: sum of Z - offset */
	/* How much larger than in `usual` and `sure` the third cumulant may be: of folded samples. */
	struct gg_sum skew_slack[GG_QUANTITY_COUNT];
	/* Sums in it whose error nobody knows; while there are any, there is no confidence interval. */
	struct gg_sum unknown[GG_QUANTITY_COUNT];
	/*
	 * Samples that may belong to the group or not, because their times were lost.  They are in no
	 * estimate and in no lower end; the upper end is that of the group with all of them.
	 */
	struct gg_moments uncertain[GG_QUANTITY_COUNT];
	/*
	 * What one more mark could stand for, at most: R bytes, of all intervals that the group was
	 * exposed to; R/Z allocations, of its samples.
	 */
	double reserve_max[GG_QUANTITY_COUNT];
	double sampled_interval_max;     /* R of the samples alone, bytes */
	double allocations_per_byte_max; /* 1/Z of the smallest sample */
	/* 1: samples of the group were dropped, or nobody watched for a while: no upper end.  Or 0. */
	double incomplete;
	/*
	 * 1: it has samples drawn by a coin for each allocation, whatever its size (per-allocation).
	 * Such samples tell nothing about a rare block that is larger: bytes have no upper end.  Or 0.
	 */
	double unbounded_bytes;
};

/*
 * From this p on (4 R and more) a miss is so rare that misses are counted one by one, as whole
 * allocations; below it they are many and small enough for a continuous law.
 */
#define GG_SURE_PROBABILITY 0.98

/*
 * What one sample adds to the fields of a tally of the same names; `seen` grows by its size and 1.
 * This is the one rule: tallies of both kinds (plain_tally.h) add these numbers.
 */
struct gg_share {
	bool is_sure; /* p >= GG_SURE_PROBABILITY */
	uint32_t sample_point_count;
	uint64_t rest_bytes;
	double value[GG_QUANTITY_COUNT], variance[GG_QUANTITY_COUNT], skew[GG_QUANTITY_COUNT];
	double mark_bytes, mark_variance, failed_bytes, failed_variance;
	/* What the tally's maxima are at least. */
	double reserve[GG_QUANTITY_COUNT], sampled_interval, allocations_per_byte;
	double unbounded_bytes;
};

struct gg_share gg_share_of(const struct gg_draw *draw, uint64_t size_bytes);

/* The group was exposed to this sampling interval (bytes), whether or not a sample came of it. */
void gg_tally_expose(struct gg_tally *tally, double interval_bytes);

/* One sample; its draw must be valid (gg_draw_is_valid). */
void gg_tally_add(struct gg_tally *tally, const struct gg_draw *draw, uint64_t size_bytes);

/* Takes out a sample that was added: an allocation that was freed leaves "live now". */
void gg_tally_remove(struct gg_tally *tally, const struct gg_draw *draw, uint64_t size_bytes);

/*
 * Samples that were added up before they came here, and are not known one by one: a region's totals,
 * samples that a retention rule folded.
 */
struct gg_folded {
	uint64_t sample_count;
	uint64_t seen_bytes; /* sum of Z */
	double bytes, bytes_variance;
	double count, count_variance;
	double bytes_skew, count_skew; /* 0: not known */
	double interval;               /* the largest that one was drawn with, as in gg_draw */
	enum gg_scheme scheme;
	uint64_t least_bytes, most_bytes; /* sizes are in this range; 0 and UINT64_MAX: not known */
	/*
	 * Bit 1 << enum gg_quantity: that estimate's error is not known, as of a file that does not tell
	 * how it was sampled; its variance and skew are not looked at.
	 */
	uint32_t unknown_errors;
};

/*
 * Adds them.  Where third cumulants are not known they are bounded by the sampling interval and the
 * sizes, and the upper end of the confidence interval is the largest for any skew up to that
 * (docs/ESTIMATION.md, "Sums without third cumulants").  The estimators by failed trials and by marks
 * leave folded samples out: their sums are not there.
 */
void gg_tally_add_folded(struct gg_tally *tally, const struct gg_folded *folded);

/* All that is in the tally becomes uncertain: add it to that of a group that it may belong to. */
void gg_tally_doubt(struct gg_tally *tally);

/* Are there samples that may belong to the group or not? */
bool gg_tally_is_uncertain(const struct gg_tally *tally);

/* The group as it is if none of the uncertain samples belong to it, and if all do. */
struct gg_tally gg_tally_least(const struct gg_tally *tally);
struct gg_tally gg_tally_most(const struct gg_tally *tally);

/* tally += other, tally -= other; of the latter every sample must be in tally. */
void gg_tally_merge(struct gg_tally *tally, const struct gg_tally *other);
void gg_tally_subtract(struct gg_tally *tally, const struct gg_tally *other);

/*
 * Weighted samples (Horvitz & Thompson 1952): sum of Z/p and of 1/p.  Unbiased, and of these
 * estimators the one with the least variance: what reports show.
 */
struct gg_estimate gg_tally_estimate(const struct gg_tally *tally, enum gg_quantity quantity);

/*
 * Failed trials: s (1-q)/q + u.  Unbiased where each sample's offset is that of its first mark
 * (poisson, bernoulli); its variance s (1-q)/q^2 is that of the negative binomial.
 */
struct gg_estimate gg_tally_failed_trials(const struct gg_tally *tally);

/* Marks alone: R sum n (poisson-count below its cutoff, stride).  Variance R^2 sum n. */
struct gg_estimate gg_tally_marks(const struct gg_tally *tally);

/* Is the error of that estimate known?  False where any sum in it came without one. */
bool gg_tally_has_error(const struct gg_tally *tally, enum gg_quantity quantity);

/* What was certainly there: the bytes, or the number, of the samples themselves. */
double gg_tally_seen(const struct gg_tally *tally, enum gg_quantity quantity);

/* The sum as one number. */
static inline double gg_sum_value(const struct gg_sum *sum)
{
	return sum->high + sum->low;
}
