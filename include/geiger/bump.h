/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bump.h - sampling inside a bump-pointer allocator, at no cost on its fast path.
 *
 *   static void sampled(void *user, const struct geiger_bump_sample *sample)
 *   {
 *           total += geiger_estimate_bytes(sample);
 *   }
 *
 *   struct geiger_bump bump;
 *   struct geiger_bump_config config = { 0 };
 *
 *   config.heap = "nursery";
 *   config.interval_bytes = 512 * 1024;
 *   config.on_sample = sampled;
 *   geiger_bump_init(&bump, &config);
 *   geiger_bump_refill(&bump, nursery, nursery + sizeof(nursery));
 *
 *   object = geiger_bump_alloc(&bump, 24, "pair");
 *   if (object == NULL) {                                   the block is exhausted
 *           collect();
 *           geiger_bump_refill(&bump, nursery, nursery + sizeof(nursery));
 *           object = geiger_bump_alloc(&bump, 24, "pair");
 *   }
 *
 * An allocation context has the usual two pointers, alloc_ptr and alloc_limit, and a third one:
 *
 *   combined_limit = min(where the next mark is, alloc_limit)
 *
 * which is all that the fast path compares with.  So it is the same as without a profiler, to the
 * instruction, whether sampling is on, off (then combined_limit == alloc_limit), or not compiled
 * in.  What does not fit below combined_limit goes to geiger_bump_alloc_slow(), which tells the two
 * reasons apart: an object that does not fit below alloc_limit either gets NULL, and the context is
 * as it was; else it holds a mark: it is allocated, it is a sample, and the next mark is drawn.
 *
 * Marks        fall on the bytes of the objects that are allocated, one in interval_bytes on
 *              average, and on nothing else.  The rest of a block that was too small for an object,
 *              what a collector leaves free, and the time between two blocks are not counted.  The
 *              distance to the next mark goes on over refills and collections, so intervals larger
 *              than a nursery work.
 * No bias      geiger_estimate_bytes() of the samples adds up to what was allocated, on average,
 *              under every scheme, for every subset of objects that was not chosen by looking at
 *              the samples; also while sampling is switched on and off and intervals change.  Then
 *              the pending distance is dropped unseen, and drawn anew: that leaves the law of the
 *              marks as it is, because the decision to drop it does not depend on it.
 * Never write  the three pointers, except as geiger_bump_alloc() does (a compiler may inline the
 *              same); who wants to move them calls geiger_bump_refill().
 * Recording    a context with a name for its heap also feeds the recording of geiger.h, if there is
 *              one: stack, type, size and how the sample was drawn, in the profile of the process.
 * Fork         a child's contexts go on.  The first mark of each is where its parent's is, unless the
 *              block ends before it; all later ones are drawn anew.  Where many children of one
 *              process go on in the middle of a block, a handler of pthread_atfork() that calls
 *              geiger_bump_enable(bump, true) in the child draws the first one anew, too.
 * Threads      a context belongs to one thread at a time.  Different contexts know nothing of each
 *              other.
 * Memory       no allocation, here or in the slow path.  All-zero is a valid context: without a
 *              block, off.
 * Cost         fast path: what the allocator has anyway, to the instruction.  Slow path: some 20 ns and
 *              what on_sample does (bench_embed).
 *
 * With GEIGER_DISABLED defined before it is included, everything here is empty and needs no
 * library.
 */
#ifndef GEIGER_BUMP_H
#define GEIGER_BUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define GEIGER_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#else
#define GEIGER_UNLIKELY(condition) (condition)
#endif

/* How marks fall; p is the probability that an object of Z bytes is a sample, R the interval. */
enum geiger_scheme {
	GEIGER_BERNOULLI, /* each byte by a coin of 1/R: p = 1 - (1 - 1/R)^Z; one mark a sample */
	GEIGER_POISSON,   /* a Poisson process: p = 1 - exp(-Z/R); one mark a sample */
	GEIGER_STRIDE /* one mark every R bytes exactly, from a random phase; several a sample */
};

/* One object that is a sample, and how it was drawn. */
struct geiger_bump_sample {
	void *object; /* allocated, not yet written to */
	size_t bytes;
	size_t offset;           /* of the first mark in it; < bytes */
	uint64_t interval_bytes; /* that its mark was drawn with, whatever was set since */
	uint32_t marks;          /* in it: 1, or more under GEIGER_STRIDE */
	const char *type;        /* as given */
	enum geiger_scheme scheme;
};

struct geiger_bump_config {
	const char *heap; /* name in profiles; NULL: not recorded, on_sample alone */
	enum geiger_scheme scheme;
	/* Mean, from 1 (every object) to 2^62; 0: that of the recording, 512 KiB without one. */
	uint64_t interval_bytes;
	uint64_t seed; /* for repeatable runs; 0: random */
	/*
	 * Called with each sample, before the program has the object.  It may read the object's
	 * address, not its contents; it may allocate from other contexts, and from this one too,
	 * where what it allocates meanwhile is not sampled (and must not make it call
	 * geiger_bump_refill()).  NULL: nobody listens.
	 */
	void (*on_sample)(void *user, const struct geiger_bump_sample *sample);
	void *user;
};

/* An allocation context. */
struct geiger_bump {
	char *alloc_ptr;      /* the next object begins here */
	char *alloc_limit;    /* the end of the block */
	char *combined_limit; /* alloc_ptr <= combined_limit <= alloc_limit */
	uint64_t geiger_private[48];
};

/*
 * Bytes that the sample stands for, itself included: bytes / p, and marks * interval_bytes under
 * GEIGER_STRIDE.  Scale each first, then add up.  0 for what is no sample.
 */
double geiger_estimate_bytes(const struct geiger_bump_sample *sample);

#ifndef GEIGER_DISABLED

/*
 * A context without a block, sampling.  The config is copied, the heap's name with it.
 * 0, or -EINVAL: a NULL, no such scheme, an interval over 2^62.
 */
int geiger_bump_init(struct geiger_bump *bump, const struct geiger_bump_config *config);

/*
 * The context allocates from [start, end) from now on: a new block, or what a collection left of
 * this one.  An end that is not after the start is an empty block.  The distance to the next mark
 * goes on.
 */
void geiger_bump_refill(struct geiger_bump *bump, void *start, void *end);

/*
 * For what does not fit below combined_limit; called by geiger_bump_alloc(), or by code that does
 * the same.
 */
void *geiger_bump_alloc_slow(struct geiger_bump *bump, size_t bytes, const char *type);

/*
 * An object of the same heap that was allocated elsewhere, such as one too large for a block: it
 * takes its bytes of the same stream, and is a sample if a mark falls on it.  After it was
 * allocated.
 */
void geiger_bump_outside(struct geiger_bump *bump, void *object, size_t bytes, const char *type);

/* Sampling on (as after init) or off, at any time; off: combined_limit == alloc_limit. */
void geiger_bump_enable(struct geiger_bump *bump, bool enabled);

/*
 * A new mean interval, from 1 to 2^62, held there; 0: that of the recording.  At any time, at once.
 */
void geiger_bump_set_interval(struct geiger_bump *bump, uint64_t interval_bytes);

/*
 * The context is empty and off: without a block, so that a later allocation gets NULL.  What was
 * recorded stays.  May be NULL.
 */
void geiger_bump_done(struct geiger_bump *bump);

#else /* GEIGER_DISABLED */

static inline int geiger_bump_init(struct geiger_bump *bump,
                                   const struct geiger_bump_config *config)
{
	(void)config;
	bump->alloc_ptr = bump->alloc_limit = bump->combined_limit = NULL;
	return 0;
}

static inline void geiger_bump_refill(struct geiger_bump *bump, void *start, void *end)
{
	bump->alloc_ptr = (char *)start;
	bump->alloc_limit = bump->combined_limit = (char *)end;
}

static inline void *geiger_bump_alloc_slow(struct geiger_bump *bump, size_t bytes, const char *type)
{
	(void)bump;
	(void)bytes;
	(void)type;
	return NULL;
}

static inline void geiger_bump_outside(struct geiger_bump *bump, void *object, size_t bytes,
                                       const char *type)
{
	(void)bump;
	(void)object;
	(void)bytes;
	(void)type;
}

static inline void geiger_bump_enable(struct geiger_bump *bump, bool enabled)
{
	(void)bump;
	(void)enabled;
}

static inline void geiger_bump_set_interval(struct geiger_bump *bump, uint64_t interval_bytes)
{
	(void)bump;
	(void)interval_bytes;
}

static inline void geiger_bump_done(struct geiger_bump *bump)
{
	(void)bump;
}

#endif

/*
 * The next `bytes` of the block, not initialized; NULL only when the block is exhausted.  Objects
 * of one context lie one after the other, without gaps: who wants alignment asks for multiples of
 * it.  An object of 0 bytes is nothing: never a sample, at the address of the next one.
 */
static inline void *geiger_bump_alloc(struct geiger_bump *bump, size_t bytes, const char *type)
{
	char *object = bump->alloc_ptr;

	if (GEIGER_UNLIKELY(bytes > (size_t)(bump->combined_limit - object)))
		return geiger_bump_alloc_slow(bump, bytes, type);
	bump->alloc_ptr = object + bytes;
	return object;
}

#ifdef __cplusplus
}
#endif

#endif
