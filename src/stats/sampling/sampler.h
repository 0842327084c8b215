/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampler - decides which allocations of a thread are recorded.
 *
 *   static _Thread_local struct gg_sampler sampler;
 *
 *   if (gg_sampler_due(&sampler, bytes) && gg_sampler_take(&sampler, bytes, &draw))
 *           record the allocation, with the draw
 *
 * A thread's allocations form one stream, on which each takes its length (scheme.h).  Sample points
 * fall on the stream, and `left_bytes` counts down to the next one.  Every answer is unbiased: on
 * average, the weights of the samples add up to the allocated memory (docs/ESTIMATION.md).
 *
 * Gaps are whole bytes: the number of bytes before the next byte with a sample point.  An
 * allocation covers a sample point if and only if its length is larger than the gap left.  A
 * Poisson process loses nothing by whole gaps, because lengths are whole: floor(gap) < length iff
 * gap < length.  After a sample the count restarts at the end of the allocation; the process has no
 * memory, so its law stays the same.
 *
 * Checkpoints  `left_bytes` may also end before the next sample point is known: in a new sampler,
 *              after a change of interval, after a gap too long to count, or after visit_bytes.
 *              There the sampler draws a new gap, for the rest of the allocation that reached the
 *              checkpoint.  So nothing is missed, and no knowledge of the future can bias a change
 *              of interval.  (Stride remembers: its phase is drawn at the first checkpoint, at
 *              changes to another interval, and at forks.)
 * Changes      gg_sampler_change() between allocations drops the pending sample point unseen, and
 *              takes effect at once.  Between due and take it takes effect with the next
 *              allocation: the sample point and the interval that made this one due decide about it
 *              (or the new ones, if no point was pending).  Do not call it between due and
 *              put_back.
 * Classes      Optimal draws sample points with the shortest interval of its rates, and keeps each
 *              with the probability of the size class of the allocation under it.
 * Counts       Per-allocation counts down `left_count`.  Its left_bytes stays at 0, so that each
 *              allocation fails the test of the other schemes and gets to its own.
 * Forks        gg_sampler_reseed() in a forked child draws the gap again, at once: a gap that
 *              parent and child both count down would be one draw for two processes.  The fork does
 *              not depend on the pending gap, so it is a checkpoint, also for stride.  Between due
 *              and take, the sample point of this allocation counts first, as with a change; a
 *              stride keeps its phase.
 * Pauses       gg_sampler_pause() lets so many bytes pass without sample points, for a profiler
 *              that is switched off.  A checkpoint follows.
 * Failures     Sizes over PTRDIFF_MAX, which no allocator serves, are always due, and must be put
 *              back at once: gg_sampler_put_back().  (By count they are due like all sizes.)  A
 *              failed allocation loses nothing otherwise: bytes without a sample may be any bytes.
 * Cost         Not due: one subtraction and one branch; per-allocation two of each.  Due: some 10
 *              ns (bench_stats).
 * Lifetime     An all-zero sampler is valid: at its first use it gets the default scheme and
 *              interval, and a seed from the system.  Nothing needs to be freed.
 * Threads      One thread owns a sampler; there are no atomics.  A signal handler that interrupts
 *              its use may call only gg_sampler_due() and gg_sampler_put_back().
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

/* A member that is 0 has its default. */
struct gg_sampler_options {
	enum gg_scheme scheme;
	/*
	 * Mean sampling interval: in bytes, or for per-allocation in allocations; limited to 1 to
	 * 2^62; 0: the default.  Stride rounds it to whole bytes.
	 */
	double sampling_interval;
	/*
	 * Rates of optimal, instead of the interval.  They must outlive the sampler or its next
	 * change.  NULL: all classes have the interval.
	 */
	const struct gg_optimal_rates *rates;
	/*
	 * An allocation is due at least once in so many bytes, sample or not, so that the caller
	 * can check for new options; 0: no limit.  Stride and per-allocation ignore it.
	 */
	uint64_t visit_bytes;
	uint64_t seed;   /* for repeatable runs; 0: from the system */
	uint64_t stream; /* stream of that seed: a number of the thread's own */
};

struct gg_sampler {
	/* Gap to the next sample point or checkpoint; >= 0 outside due()..take(). */
	int64_t left_bytes;
	int64_t left_count;                   /* the same in allocations, if by_count */
	int64_t longest_gap;                  /* a longer gap ends at a checkpoint */
	const struct gg_optimal_rates *rates; /* rates of optimal; NULL: one interval for all */
	double pending_interval; /* of the pending sample point; 0: no point is pending */
	double scale;            /* scale of whole gaps (gg_rng_geometric); 0: every allocation */
	struct gg_rng rng;
	struct gg_sampler_options options; /* options of the next draw */
	enum gg_scheme scheme;             /* scheme of the pending point */
	bool by_count;                     /* per-allocation: left_bytes is not used */
	bool point_is_pending; /* the countdown ends at a sample point, not at a checkpoint */
	bool changed;          /* the options are newer than the pending point */
};

/*
 * Starts a sampler, or starts it again, between allocations.  An all-zero sampler may also be
 * started between its first due and take: due, init, take.
 */
void gg_sampler_init(struct gg_sampler *s, const struct gg_sampler_options *options);

/*
 * Draws the pending gap again in a forked child, at any time, from another stream of random numbers
 * (seed 0: one that the system chooses).  Nothing depends on the gap that the parent counts down.
 */
GG_COLD void gg_sampler_reseed(struct gg_sampler *s, uint64_t seed, uint64_t stream);

static inline bool gg_sampler_is_started(const struct gg_sampler *s)
{
	return gg_rng_is_seeded(&s->rng);
}

/*
 * Changes scheme, interval, rates, and visit_bytes; the random numbers continue.  Call it at any
 * time, for any reason that does not depend on left_bytes or left_count.
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
 * Subtracts max(bytes, 1), and returns true if the result is negative.  The subtraction is
 * unsigned, so its borrow is right even for sizes beyond PTRDIFF_MAX.
 */
static inline bool gg_sampler_count_down(int64_t *left, uint64_t bytes)
{
#if defined(__x86_64__)
	/* Two instructions where compilers need four: the borrow of the first one is bytes == 0. */
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
 * Returns true if the allocation is due.  Then the caller must call gg_sampler_take(),
 * gg_sampler_put_back(), or gg_sampler_pause() now, with the same bytes; put_back if bytes >
 * PTRDIFF_MAX.
 */
static inline bool gg_sampler_due(struct gg_sampler *s, uint64_t bytes)
{
	return gg_unlikely(gg_sampler_count_down(&s->left_bytes, bytes)) &&
	       gg_sampler_count_is_due(s);
}

/*
 * Returns true if the allocation that was due is a sample; *ret_draw then records how it was drawn.
 */
GG_APART bool gg_sampler_take(struct gg_sampler *s, uint64_t bytes, struct gg_draw *ret_draw);

/* Undoes gg_sampler_due(), for an allocation that fails or that nobody can record. */
GG_COLD void gg_sampler_put_back(struct gg_sampler *s, uint64_t bytes);

/*
 * Makes nothing due in the next pause_bytes, for which no sample stands; 0: the next allocation is
 * due.  Call it instead of gg_sampler_take(), or between allocations.  It drops the pending point.
 */
GG_COLD void gg_sampler_pause(struct gg_sampler *s, uint64_t pause_bytes);
