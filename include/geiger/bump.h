/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bump.h - samples inside a bump-pointer allocator, at no cost on its fast path.
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
 *   combined_limit = min(address of the next sample point, alloc_limit)
 *
 * The fast path compares with combined_limit only.  So it has the same instructions as without a
 * profiler, whether sampling is on, off (then combined_limit == alloc_limit), or not compiled in.
 * For an object that does not fit below combined_limit, it calls geiger_bump_alloc_slow(), which
 * distinguishes two reasons.  If the object does not fit below alloc_limit either, the call returns
 * NULL and leaves the context unchanged.  Otherwise the object covers a sample point: it is
 * allocated, it is a sample, and the next sample point is drawn.
 *
 * Points       Sample points fall only on the bytes of allocated objects, one in interval_bytes on
 *              average.  The end of a block that was too small for an object, gaps that a collector
 *              leaves, and the time between two blocks do not count.  The distance to the next
 *              sample point survives refills and collections, so intervals larger than a nursery
 *              work.
 * No bias      on average, geiger_estimate_bytes() of the samples adds up to what was allocated:
 *              under every scheme, and for every subset of objects that was not chosen by looking
 *              at the samples.  This also holds while sampling is switched on and off and intervals
 *              change.  Then the pending distance is dropped unseen, and drawn again.  That leaves
 *              the law of the sample points as it is, because the decision to drop the distance
 *              does not depend on it.
 * Never write  the three pointers, except as geiger_bump_alloc() does (a compiler may inline the
 *              same); call geiger_bump_refill() to move them.
 * Recording    a context with a name for its heap also feeds the recording of geiger.h, if there is
 *              one, with stack, type, size, and how the sample was drawn.
 * Fork         a child's contexts continue.  The first sample point of each is that of its parent,
 *              unless the block ends before it; all later ones are drawn again.  If many children
 *              of one process continue in the middle of a block, a pthread_atfork() handler that
 *              calls geiger_bump_enable(bump, true) in the child also draws the first one again.
 * Threads      a context belongs to one thread at a time.  Contexts do not share anything.
 * Memory       no allocation, here or in the slow path.  An all-zero context is valid: it has no
 *              block, and is off.
 * Cost         fast path: no instruction more than the allocator has anyway.  Slow path: some
 *              20 ns, and the time of on_sample (bench_embed).
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

/* How sample points fall; p: probability that an object of Z bytes is a sample, R: the interval. */
enum geiger_scheme {
	GEIGER_BERNOULLI, /* each byte by a coin of 1/R: p = 1 - (1 - 1/R)^Z; one point a sample */
	GEIGER_POISSON,   /* a Poisson process: p = 1 - exp(-Z/R); one point a sample */
	GEIGER_STRIDE     /* a point every R bytes exactly, from a random phase; several a sample */
};

/* One object that is a sample, and how it was drawn. */
struct geiger_bump_sample {
	void *object; /* allocated, not yet written to */
	size_t bytes;
	size_t offset;           /* of the first sample point in it; < bytes */
	uint64_t interval_bytes; /* with which its point was drawn, whatever was set since */
	uint32_t sample_points;  /* in it: 1, or more under GEIGER_STRIDE */
	const char *type;        /* from the caller of geiger_bump_alloc() */
	enum geiger_scheme scheme;
};

struct geiger_bump_config {
	const char *heap; /* name in profiles; NULL: samples go to on_sample only */
	enum geiger_scheme scheme;
	/* Mean, from 1 (every object) to 2^62; 0: that of the recording, or 512 KiB. */
	uint64_t interval_bytes;
	uint64_t seed; /* for repeatable runs; 0: random */
	/*
	 * Called with each sample, before the program has the object.  It may read the object's
	 * address, but not its contents.  It may allocate from other contexts, and from this one,
	 * whose allocations are not sampled meanwhile, and must not lead to geiger_bump_refill().
	 * May be NULL.
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
 * Bytes that the sample stands for, itself included: bytes / p, or sample_points * interval_bytes
 * under GEIGER_STRIDE.  Scale each sample first, then add up.  0 if the sample is not valid.
 */
double geiger_estimate_bytes(const struct geiger_bump_sample *sample);

#ifndef GEIGER_DISABLED

/*
 * Makes a context that samples, without a block.  The config and the heap's name are copied.
 * 0, or -EINVAL: an argument is NULL, the scheme does not exist, or the interval is over 2^62.
 */
int geiger_bump_init(struct geiger_bump *bump, const struct geiger_bump_config *config);

/*
 * Makes the context allocate from [start, end): a new block, or what a collection left of this one.
 * The block is empty if the end is not after the start.  The distance to the next sample point
 * stays.
 */
void geiger_bump_refill(struct geiger_bump *bump, void *start, void *end);

/*
 * Allocates an object that does not fit below combined_limit.  geiger_bump_alloc() calls it, and so
 * does code that inlines the same.
 */
void *geiger_bump_alloc_slow(struct geiger_bump *bump, size_t bytes, const char *type);

/*
 * Counts an object of the same heap that was allocated elsewhere, such as one too large for a
 * block.  Its bytes belong to the same stream, and it is a sample if it covers a sample point.
 * Call it after the object was allocated.
 */
void geiger_bump_count_outside(struct geiger_bump *bump, void *object, size_t bytes,
                               const char *type);

/* Switches sampling on (as after init) or off, at any time.  Off: combined_limit == alloc_limit. */
void geiger_bump_enable(struct geiger_bump *bump, bool enabled);

/*
 * Sets the mean interval, limited to 1 to 2^62; 0: that of the recording.  It takes effect at once.
 */
void geiger_bump_set_interval(struct geiger_bump *bump, uint64_t interval_bytes);

/*
 * Empties the context and switches it off, so that later allocations return NULL.  The recording
 * keeps its samples.  bump may be NULL.
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

static inline void geiger_bump_count_outside(struct geiger_bump *bump, void *object, size_t bytes,
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
 * Returns the next `bytes` of the block, not initialized; NULL only when the block is exhausted.
 * Objects of one context lie one after the other without gaps, so ask for multiples of the
 * alignment that you need.  An object of 0 bytes is never a sample, and has the address of the next
 * one.
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
