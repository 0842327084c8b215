/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampler - decides which allocations of a thread are recorded.
 *
 *   static _Thread_local struct gg_sampler sampler;
 *
 *   if (gg_sampler_due(&sampler, bytes) && gg_sampler_take(&sampler, bytes, &draw))
 *           record the allocation, with the draw
 *
 * A thread's allocations form one stream, each taking its length of it (scheme.h); marks fall on
 * the stream, and `left_bytes` counts down to the next one.  Every answer is unbiased: what the
 * weights of the samples add up to is on average what was allocated (docs/ESTIMATION.md).
 *
 * Gaps are whole bytes: the number without a mark before the next byte with one.  An allocation
 * holds a mark iff its length is larger than the gap left.  Whole gaps of a Poisson process lose
 * nothing, because lengths are whole: floor(gap) < length iff gap < length.  After a sample the
 * count restarts at the end of the allocation, which the process does not notice (no memory).
 *
 * Checkpoints   `left_bytes` may also end where nothing is known yet: a new sampler, a changed
 *               interval, a gap too long to count, or visit_bytes.  From there on a fresh gap is
 *               drawn, for the rest of the very allocation that got there; so nothing is missed,
 *               and nothing is known of the future that a change of interval could be biased by.
 *               (Stride remembers: its phase is drawn at the first checkpoint, at changes to another
 *               interval, and at forks.)
 * Changes       gg_sampler_change() between allocations drops the pending mark unseen and takes
 *               effect at once.  Between due and take it takes effect with the next allocation:
 *               this one is settled by the mark, and with the interval, that made it due (or at
 *               once, where nothing was pending).  Not between due and put_back.
 * Classes       optimal draws marks with the shortest interval of its rates, and keeps each with the
 *               chance that the size class of the allocation under it has.
 * Counts        per-allocation counts down `left_count`; its left_bytes stays at 0, so that it passes
 *               through the test of the others first.
 * Forks         gg_sampler_reseed() in a forked child draws the gap anew, at once: a gap that parent and
 *               child both count down would be one draw for two processes.  The fork does not look
 *               at the pending gap, so it is a checkpoint, also for stride.  Between due and take the
 *               mark of this allocation is settled first, as with a change; a stride keeps its phase.
 * Pauses        gg_sampler_pause() lets so many bytes pass without marks, as for a profiler that is
 *               switched off; what follows begins at a checkpoint.
 * Failures      sizes over PTRDIFF_MAX, which no allocator serves, are always due, and must be put
 *               back at once: gg_sampler_put_back().  (By count they are due like others.)  Nothing else is lost when an allocation fails: bytes without a sample
 *               on them may be any bytes.
 * Cost          not due: one subtraction, one branch; per-allocation two of each.  Due: some 10 ns (bench_stats).
 * Lifetime      all-zero is valid: scheme and interval by default, seeded by the system, at first use.
 *               Nothing to free.
 * Threads       owned by one thread; no atomics.  In a signal handler that interrupts its use, only
 *               gg_sampler_due() and gg_sampler_put_back().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "stats/sampling/optimal.h"
#include "stats/sampling/rng.h"
#include "stats/sampling/scheme.h"

#define GG_SAMPLER_DEFAULT_INTERVAL 0x1p19 /* bytes: 512 KiB */
#define GG_SAMPLER_LONGEST_INTERVAL 0x1p62

/* All-zero is the default of each. */
struct gg_sampler_options {
	enum gg_scheme scheme;
	/* Mean sampling interval, 1 to 2^62 and held there: bytes, allocations for per-allocation,
	 * 0: the default.  Stride rounds it to whole bytes. */
	double interval;
	/* For optimal, in the place of the interval: must outlive the sampler or its next change.
	 * NULL: all classes have the interval. */
	const struct gg_optimal_rates *rates;
	/* gg_sampler_take() is called at least once in so many bytes, sample or not, so that its
	 * caller can look for new options; 0: no such wish.  Not for stride and
	 * per-allocation. */
	uint64_t visit_bytes;
	uint64_t seed;   /* for repeatable runs; 0: from the system */
	uint64_t stream; /* of that seed: a number of the thread's own */
};

struct gg_sampler {
	int64_t left_bytes;  /* before the next mark or checkpoint; >= 0 outside due()..take() */
	int64_t left_count;  /* the same in allocations, if by_count */
	int64_t longest_gap; /* what is longer ends at a checkpoint */
	const struct gg_optimal_rates *rates; /* of optimal; NULL: one interval for all */
	double interval; /* that the pending mark was drawn with; 0: nothing is pending */
	double scale;    /* of whole gaps (gg_rng_geometric); 0: every allocation */
	struct gg_rng rng;
	struct gg_sampler_options options; /* for what is drawn next */
	enum gg_scheme scheme;             /* of what is pending */
	bool by_count;                     /* per-allocation: left_bytes is not used */
	bool point_is_pending;             /* what is left ends at a mark, not at a checkpoint */
	bool changed;                      /* the options are newer than what is pending */
};

/*
 * Starts a sampler, or starts it anew, between allocations.  Also on an all-zero one between its first
 * due and take, where its owner finds that it is not started: due, init, take.
 */
void gg_sampler_init(struct gg_sampler *s, const struct gg_sampler_options *options);

/*
 * In a forked child, at any time: what comes is drawn from another stream of random numbers (seed 0:
 * one that the system chooses), and nothing depends on the gap that the parent goes on with.
 */
GG_COLD void gg_sampler_reseed(struct gg_sampler *s, uint64_t seed, uint64_t stream);

static inline bool gg_sampler_is_started(const struct gg_sampler *s)
{
	return gg_rng_is_seeded(&s->rng);
}

/*
 * New scheme, interval, rates, visit_bytes; the seed and its stream go on.  At any time, as often
 * as wanted, for any reason that does not look at left_bytes or left_count.
 */
void gg_sampler_change(struct gg_sampler *s, const struct gg_sampler_options *options);

/* The part of gg_sampler_due() that a count of allocations needs. */
static inline bool gg_sampler_count_is_due(struct gg_sampler *s)
{
	if (!s->by_count)
		return true;
	s->left_bytes = 0;
	s->left_count -= 1;
	return s->left_count < 0;
}

/*
 * left -= max(bytes, 1); true if that is less than nothing.  The subtraction is unsigned, so its
 * borrow answers for sizes beyond PTRDIFF_MAX too.
 */
static inline bool gg_sampler_count_down(int64_t *left, uint64_t bytes)
{
#if defined(__x86_64__)
	/* Two instructions where compilers find four: the first one's borrow is bytes == 0. */
	bool borrow;

	__asm__("cmpq $1, %2\n\tsbbq %2, %0" : "+m"(*left), "=@ccb"(borrow) : "r"(bytes));
	return borrow;
#else
	uint64_t rest;
	bool borrow = __builtin_sub_overflow((uint64_t)*left, gg_length_bytes(bytes), &rest);

	*left = (int64_t)rest;
	return borrow;
#endif
}

/*
 * True: the caller must call gg_sampler_take(), gg_sampler_put_back() or gg_sampler_pause(), with the
 * same bytes, now; put_back if bytes > PTRDIFF_MAX.
 */
static inline bool gg_sampler_due(struct gg_sampler *s, uint64_t bytes)
{
	return gg_unlikely(gg_sampler_count_down(&s->left_bytes, bytes)) &&
	       gg_sampler_count_is_due(s);
}

/* Is the allocation that was due a sample?  If so, *ret_draw says how it was drawn. */
GG_APART bool gg_sampler_take(struct gg_sampler *s, uint64_t bytes, struct gg_draw *ret_draw);

/* As if gg_sampler_due() had not been asked: what cannot be, or cannot be recorded, leaves no gap. */
GG_COLD void gg_sampler_put_back(struct gg_sampler *s, uint64_t bytes);

/*
 * Instead of taking, or between allocations: nothing is due in the next pause_bytes, which no sample
 * stands for; 0: the next allocation is due.  What is pending is forgotten.
 */
GG_COLD void gg_sampler_pause(struct gg_sampler *s, uint64_t pause_bytes);
