/* SPDX-License-Identifier: Apache-2.0 */
/*
 * class_sampling - decides which blocks are samples, and informs the client.
 *
 * Each allocation of a block class is one trial, which succeeds with the probability of the class,
 * p = 1 - exp(-S/R): S is the size of the class's blocks and R its sampling interval.  A thread
 * heap draws the number of trials that fail before the next success (a geometric number), and ends
 * the list that it hands to malloc() there (refill.c).  So the test for an empty list, which
 * malloc() makes anyway, is the sampler.
 *
 * Weight    1/p, which depends on the class and not on the requested size Z.  A draw stores the
 *           interval R Z/S, for which 1 - exp(-Z/interval) is this p.
 * Changes   Trials have no memory.  A thread heap drops its pending draw when it sees a new plan,
 *           at its next refill.  A list that was handed before keeps the draw that cut it.
 * Runs      Large and huge blocks take their requested bytes from the stream of a gg_sampler.
 * Threads   The plan is published as a whole, and never changes or goes away.
 * Memory    4 KiB for each plan.  Settings that come again get the plan that they had, so a control
 *           that changes the interval for days needs some hundred at most.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "malloc/block_class.h"
#include "stats/sampling/optimal.h"
#include "stats/sampling/sampler.h"
#include "stats/sampling/scheme.h"

/* Stands beside a sampled slot, for the client; all-zero before the slot's first sample. */
struct gg_malloc_note {
	uint64_t words[2];
};

struct gg_malloc_fault;

/*
 * The functions that the allocator calls.  It holds no lock meanwhile, and its state is
 * consistent, so that the client may allocate and free.
 */
struct gg_malloc_client {
	/* A sample; p is not yet known to the program. */
	void (*sampled)(void *p, size_t bytes, const struct gg_draw *draw);
	/* The sample at p is about to be freed. */
	void (*freed)(void *p);
	/* Called for samples that have slots, instead of the two above.  May be NULL. */
	void (*sampled_in_slot)(void *p, size_t bytes, const struct gg_draw *draw,
	                        struct gg_malloc_note *note);
	void (*freed_in_slot)(void *p, struct gg_malloc_note *note);
	/*
	 * A sample got the guarded slot of that number (guarded_blocks.h); is_free: its block is
	 * about to be freed.
	 */
	void (*guarded)(uint32_t number, bool is_free);
	/* A wrong free of a guarded block, or a write beside it that is found at its free. */
	void (*fault)(const struct gg_malloc_fault *fault);
	/* No slot was left for a sample that was due, so it is dropped. */
	void (*dropped)(void);
	/*
	 * Called by each thread for every visit_bytes that it was handed, and at its first
	 * allocation.  May call gg_malloc_set_plan().
	 */
	void (*visit)(void);
	uint64_t visit_bytes;
	/* Frees a pointer that is not the allocator's. */
	void (*free_foreign)(void *p);
	/* Returns the usable size of such a pointer; 0: not known. */
	size_t (*foreign_size)(void *p);
	/*
	 * True if the next allocator must serve the program, as a sanitizer's runtime must.  Then
	 * allocate_next() serves all requests, and free_foreign() frees all blocks.
	 */
	bool (*is_passing)(void);
	void *(*allocate_next)(size_t bytes, size_t alignment_bytes);
};

/* Sampling intervals, in bytes. */
struct gg_malloc_plan {
	double interval_bytes; /* of runs, if there are no rates */
	double class_intervals[GG_MALLOC_CLASS_COUNT];
	const struct gg_optimal_rates *rates; /* of runs; NULL: all sizes have one interval */
	uint64_t seed;                        /* 0: the system chooses */
	const struct gg_malloc_plan *older;   /* an earlier plan; NULL: this is the first one */
};

/* Before the first allocation, or once for all; NULL members are not called. */
void gg_malloc_set_client(const struct gg_malloc_client *client);

/* Samples with one interval for all sizes; 0: samples nothing.  False: no memory for the plan. */
bool gg_malloc_set_interval(double interval_bytes, uint64_t seed);

/* Samples by rates for sizes (optimal.h), which must never change or go away. */
bool gg_malloc_set_rates(double interval_bytes, const struct gg_optimal_rates *rates,
                         uint64_t seed);

/*
 * In a forked child that no handlers of pthread_atfork() ran in: draws the calling thread's trials
 * anew.
 */
void gg_malloc_forked(void);

extern const struct gg_malloc_plan *gg_malloc_newest_plan __attribute__((visibility("hidden")));

/* The plan in use; NULL: sampling is off. */
static inline const struct gg_malloc_plan *gg_malloc_plan(void)
{
	/* Acquire: pairs with the release of gg_malloc_set_interval() and gg_malloc_set_rates(). */
	return gg_load_acquire(&gg_malloc_newest_plan);
}

extern const struct gg_malloc_client *gg_malloc_client __attribute__((visibility("hidden")));

/* The client of the library that replaces libc's allocator, from the start. */
extern const struct gg_malloc_client gg_malloc_first_client __attribute__((visibility("hidden")));

/* The draw of a sample of a class. */
static inline struct gg_draw gg_malloc_draw_of(double class_interval, unsigned class, size_t bytes)
{
	if (!(class_interval > 0)) /* every block */
		return (struct gg_draw){ .sampling_interval = 1, .sample_point_count = 1 };
	return (struct gg_draw){
		.scheme = GG_SCHEME_OPTIMAL,
		.sampling_interval = class_interval * (double)gg_length_bytes(bytes) /
		                     (double)gg_malloc_class_bytes(class),
		.sample_point_count = 1,
	};
}
