/* SPDX-License-Identifier: Apache-2.0 */
/*
 * geiger.h - adds a program's own heaps to geiger's profiles: language runtimes, arenas, pools.
 *
 *   uint32_t heap = geiger_heap_register("arena", NULL);                once
 *
 *   void *arena_alloc(size_t bytes)
 *   {
 *           void *p = take_from_arena(bytes);
 *
 *           if (geiger_due(bytes))
 *                   return geiger_allocated(heap, p, bytes, "row");
 *           return p;
 *   }
 *
 *   void arena_free(void *p)
 *   {
 *           geiger_freed(heap, p);
 *           give_back_to_arena(p);
 *   }
 *
 * Through geiger_due(), each thread counts down the bytes that it allocates to its next sample
 * point.  An allocation that covers a sample point is a sample.  The library records it with its
 * stack, type and size, and with how it was drawn, so that it stands for the allocations that were
 * not sampled (docs/EMBEDDING.md).  Allocators with a bump pointer sample without a single extra
 * instruction: bump.h.
 *
 * Samples have one of these destinations:
 *
 *   agent      the program runs under `geiger record`, or with the agent preloaded: samples go to
 *              the agent's region, beside those of malloc, with the agent's settings.  Reports show
 *              each heap by its name.
 *   own        there is no agent, but the program called geiger_start(), or `geiger record` set the
 *              environment: samples go to a region of this library.  `geiger record` follows it,
 *              and `geiger report` reads it.
 *   listeners  the program registered a function of its own with geiger_add_listener().
 *   nowhere    otherwise.  Then every function does nothing, at next to no cost.
 *
 * Objects      have an address, or any other number that identifies them as long as they live, such
 *              as an object id or an index + 1.  The number is not 0, and below 2^48.  Objects of
 *              different heaps may have the same number, and so may blocks of malloc.
 * Names        of heaps and types are compared as texts and copied, so the caller may free them
 *              after the call.  There is room for 16 383 types and 255 heaps; later ones have no
 *              name.
 * Wrong use    heaps that were never registered, objects that are NULL, and sizes that no allocator
 *              returns are counted (geiger_read_counts()) and otherwise ignored.  It is no error to
 *              free an object that is no sample: most are not.
 * Threads      any, at any time, unless a function says otherwise.  geiger_due() and the call that
 *              follows it belong to one thread.
 * Signals      a handler may use an allocator that calls these functions.  Allocations that
 *              interrupt a call of their own thread are counted and not sampled.
 * Fork         a forked child continues with a region of its own.
 * Never        functions that an allocator calls never allocate, lock or change errno.
 *              geiger_start(), geiger_snapshot() and the registrations may take a lock and make
 *              system calls.
 * Cost         geiger_due(): a subtraction and a branch.  A sample: its stack, the frames of the
 *              runtime, and the region.  geiger_freed() of an object that is no sample: one look
 *              into the region's filter.  bench_embed measures them.
 *
 * With GEIGER_DISABLED defined before it is included, everything here is empty and needs no
 * library.
 */
#ifndef GEIGER_GEIGER_H
#define GEIGER_GEIGER_H

#include "bump.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The version of this header; geiger_version() returns that of the library.  They are compatible if
 * only the last number differs.
 */
#define GEIGER_VERSION "0.1.0"

/* A frame of the program that a runtime runs: a call of a function of its language. */
struct geiger_frame {
	const char *function; /* NULL or "": it has no name */
	const char *file;     /* NULL: not known */
	uint32_t line;        /* of the call in it that leads inwards; 0: not known */
	/*
	 * The position among native frames: an address in the stack frame of the native function
	 * that runs this frame, such as __builtin_frame_address(0) or a local variable of the
	 * interpreter's loop.  Reports show the frame as called by that function.  Several frames
	 * may have the same address.  NULL: that of the next frame further out that has one; if no
	 * frame has one, the runtime's frames are innermost.
	 */
	const void *native;
};

/* A sample that the program drew itself (as bump.h does), or took by geiger_take(). */
struct geiger_sample {
	const void *object;
	size_t bytes;
	const char *type;        /* NULL: not known */
	size_t offset;           /* of the first sample point; < bytes */
	uint64_t interval_bytes; /* at least 1 */
	uint32_t sample_points;  /* in the object: at least 1 */
	enum geiger_scheme scheme;
	uint32_t flags; /* GEIGER_SAMPLE_... */
	/* Frames of the runtime, innermost first; NULL: the library calls the heap's provider. */
	const struct geiger_frame *frames;
	size_t frame_count;
};

enum {
	GEIGER_SAMPLE_OLD = 1,       /* allocated in the old generation */
	GEIGER_SAMPLE_NO_NATIVE = 2, /* the frames are the whole stack */
	/*
	 * Its sampler is known not to keep to the scheme, by an unknown amount.  Sums with such
	 * samples have no confidence interval.
	 */
	GEIGER_SAMPLE_BIASED = 4
};

/* A frame of a stack as listeners see it. */
struct geiger_event_frame {
	uint64_t pc; /* native frame: its return address; 0: a frame of the runtime */
	const char *function, *file;
	uint32_t line;
};

/* A sample as a listener gets it.  Everything is valid during the call only. */
struct geiger_event {
	uint32_t heap;
	const char *heap_name;
	const char *type; /* "": not known */
	const void *object;
	size_t bytes, offset;
	uint64_t interval_bytes;
	uint32_t sample_points;
	enum geiger_scheme scheme;
	double weight_bytes; /* bytes that the sample stands for, itself included */
	double weight_count; /* objects */
	const struct geiger_event_frame *frames; /* innermost first */
	size_t frame_count;
};

/* Options of geiger_start().  Members that are 0 come from the environment, or are the defaults. */
struct geiger_options {
	uint64_t interval_bytes; /* mean sampling interval; 0: GEIGER_INTERVAL, or 512 KiB */
	const char *directory;   /* of the region; NULL: GEIGER_DIR, or the agent's directory */
	uint64_t seed;           /* for repeatable runs; 0: GEIGER_SEED, or random */
};

enum geiger_destination {
	GEIGER_TO_NOWHERE, /* nothing is recorded */
	GEIGER_TO_AGENT,   /* the agent's region */
	GEIGER_TO_OWN      /* a region of this library's own */
};

enum geiger_generation { GEIGER_YOUNG = 1, GEIGER_OLD = 2, GEIGER_ALL = 3 };

/* Counts since the start of the process. */
struct geiger_counts {
	uint64_t samples;       /* recorded, or passed to a listener */
	uint64_t freed;         /* samples that died */
	uint64_t moved;         /* moves of samples */
	uint64_t promoted;      /* promotions of samples */
	uint64_t dropped;       /* samples for which there was no room */
	uint64_t nested;        /* allocations made while their thread was in the library */
	uint64_t unknown_heaps; /* calls with a heap that was never registered */
	uint64_t bad_samples;   /* samples that no sampler can have drawn, or of a bad object */
	uint64_t names_dropped; /* heaps, types and frames for which there was no room */
};

/* Receives a sample: geiger_add_listener(). */
typedef void geiger_listener(void *user, const struct geiger_event *event);

/* Provides the frames of a runtime: geiger_heap_set_frame_provider(). */
typedef size_t geiger_frame_provider(void *user, struct geiger_frame *frames, size_t capacity);

/* Returns an object's address after a collection: geiger_collected(). */
typedef const void *geiger_new_address(void *user, const void *object,
                                       enum geiger_generation *generation);

#ifndef GEIGER_DISABLED

/*
 * ---- The process. ----
 *
 * A setting takes effect at once in the calling thread, at the next refill or slow path in bump
 * contexts, and within 8 MiB of allocations in other threads' geiger_due().
 */

/* The library's version, such as "0.1.0". */
const char *geiger_version(void);

/*
 * Starts recording, unless something records already.  If the agent is there, this switches its
 * recording on, with the interval if one is given.  After geiger_stop(), recording continues in the
 * same region.  Returns 0; -EINVAL: an interval over 2^48; -ENODEV: the agent could not start; or
 * the reason why there is no region: -EACCES, -ENOSPC, -ENOMEM and so on.
 */
int geiger_start(const struct geiger_options *options);

/*
 * Stops sampling until geiger_start(), in this library and in the agent if it is there.  Deaths of
 * samples are still recorded.
 */
void geiger_stop(void);

/* Returns where samples go now. */
enum geiger_destination geiger_recording_to(void);

/*
 * Sets the mean sampling interval, also that of the agent.  0, or -EINVAL: 0, or over 2^48.
 */
int geiger_set_interval(uint64_t interval_bytes);
uint64_t geiger_interval(void);

/*
 * Let the recording choose the interval, also that of the agent, from now on.  Both are millionths:
 *
 *   geiger_hold_overhead(5000);    sampling takes 0.5 % of the program's processor time
 *   geiger_hold_error(50000);      the 95 % confidence interval of all live bytes is 5 % to each
 *   side
 *
 * With both, the coarser of the two intervals counts.  0 ends it, and the interval stays as it is;
 * so does geiger_set_interval().  An overhead is at least 100 (0.01 %), an error at least 1000 (0.1
 * %), and both at most 1000000.  0; -EINVAL: out of range, or a scheme that cannot follow it;
 * -ENOENT: nothing is recorded; -EAGAIN: no agent or region is there yet.
 */
int geiger_hold_overhead(uint32_t millionths);
int geiger_hold_error(uint32_t millionths);

/*
 * Writes everything recorded so far to a new file, from which `geiger salvage` makes a profile.
 * 0; -ENOENT: nothing is recorded; -EBUSY: the threads recorded all the time, so no consistent copy
 * was possible; or the reason why the file cannot be written.  A failed call leaves no file.  Not
 * for signal handlers.
 */
int geiger_snapshot(const char *path);

void geiger_read_counts(struct geiger_counts *ret_counts);

/* ---- Heaps. ---- */

/*
 * Returns the heap of that name, and registers it if it is new.  Bump contexts with this name share
 * the heap.  unit: what its sizes count, such as "slots", which reports show with the name; NULL:
 * bytes.  Returns 0 for a NULL or empty name, and if there are 255 heaps; every function accepts 0
 * as "no heap".
 */
uint32_t geiger_heap_register(const char *name, const char *unit);

/*
 * Sets the function that provides the runtime's frames.  The library calls it on the thread that
 * allocates, from within the slow call, with room for `capacity` frames.  It writes the innermost
 * ones, innermost first, and returns their number.  The texts must stay until the next call on this
 * thread.  The rules of listeners hold.  NULL: native frames only.  A heap has one provider, which
 * is set before its first sample.
 */
void geiger_heap_set_frame_provider(uint32_t heap, geiger_frame_provider *provide, void *user);

/* ---- Allocations. ---- */

/*
 * Bytes to this thread's next sample point, or to its next check of the settings.  Only
 * geiger_due() uses it.
 */
#if defined(__GNUC__)
extern __thread int64_t geiger_left_bytes __attribute__((tls_model("initial-exec")));
#else
int64_t *geiger_left_bytes_of_thread(void);
#define geiger_left_bytes (*geiger_left_bytes_of_thread())
#endif

/*
 * Counts an allocation of that size.  True: the caller must call one of geiger_allocated(),
 * geiger_take() and geiger_put_back() for it, before or after the allocation, on this thread and
 * before the next geiger_due().  A size of 0 counts as 1.
 */
static inline bool geiger_due(size_t bytes)
{
#if defined(__GNUC__) && defined(__x86_64__)
	/* The same as the C code below: the borrow of the first instruction is bytes == 0. */
	bool borrow;

	__asm__("cmpq $1, %2\n\tsbbq %2, %0"
	        : "+m"(geiger_left_bytes), "=@ccb"(borrow)
	        : "r"(bytes));
	return GEIGER_UNLIKELY(borrow);
#else
	uint64_t left = (uint64_t)geiger_left_bytes, length = (uint64_t)bytes + (bytes == 0);

	geiger_left_bytes = (int64_t)(left - length);
	return GEIGER_UNLIKELY(left < length);
#endif
}

/*
 * The slow call: if the allocation covers a sample point, it is a sample and recorded, with the
 * stack of the caller and the frames of the heap's provider.  object NULL: the allocation failed,
 * and the call does what geiger_put_back() does.  Returns the object, so that an allocator can end
 * in a tail call:
 *
 *   if (geiger_due(bytes))
 *           return geiger_allocated(heap, p, bytes, "row");
 *   return p;
 */
void *geiger_allocated(uint32_t heap, const void *object, size_t bytes, const char *type);

/*
 * The slow call in two halves, for an allocator that must know before the object exists.  True: it
 * is a sample; bytes, offset, interval_bytes, sample_points and scheme of *ret_sample are set, and
 * the rest is zero.  Set the object and whatever is known of it, and call geiger_record().
 */
bool geiger_take(size_t bytes, struct geiger_sample *ret_sample);

/* Replaces the slow call if there was no allocation after all. */
void geiger_put_back(size_t bytes);

/*
 * Records a sample, with the stack of the caller.  False: it is not recorded, and
 * geiger_read_counts() says why.
 */
bool geiger_record(uint32_t heap, const struct geiger_sample *sample);

/*
 * Sets this thread's mean sampling interval from now on: smaller for a thread that you want to see
 * in detail, larger for one that must not become slower.  Estimates stay unbiased, because each
 * sample records its interval.  0: the interval of the process again.  If the agent is there, its
 * samples of this thread use the interval as well.
 */
void geiger_thread_interval(uint64_t interval_bytes);

/*
 * ---- Blocks that come from malloc. ----
 *
 * An allocator may take one block from malloc, or from C++'s operator new, for each object that it
 * reports.  It encloses that call, so that the block counts once, as the allocator's object:
 *
 *   int64_t before = geiger_upstream_begin();
 *
 *   p = malloc(bytes);
 *   geiger_upstream_end(before);
 *
 * If the agent is there, it does not count what this thread allocates in between as malloc's; bytes
 * that malloc counts later are not affected.  Calls may nest.  Enclose only the call of the
 * underlying allocator, and do not leave by longjmp() or an exception.  free() needs no such calls.
 * Cost: four loads and two stores.
 */
#if defined(__GNUC__)
extern __thread volatile int64_t *geiger_upstream_left_bytes
	__attribute__((tls_model("initial-exec")));
#else
volatile int64_t **geiger_upstream_left_bytes_of_thread(void);
#define geiger_upstream_left_bytes (*geiger_upstream_left_bytes_of_thread())
#endif

/* Finds the thread's count; geiger_upstream_begin() calls it the first time on a thread. */
volatile int64_t *geiger_upstream_find(void);

static inline int64_t geiger_upstream_begin(void)
{
	volatile int64_t *left = geiger_upstream_left_bytes;
	int64_t before;

	if (GEIGER_UNLIKELY(left == NULL))
		left = geiger_upstream_find();
	before = *left;
	*left = INT64_C(1) << 62; /* no sample point is nearer */
	return before;
}

static inline void geiger_upstream_end(int64_t before)
{
	volatile int64_t *left = geiger_upstream_left_bytes;

	if (left != NULL)
		*left = before;
}

/* ---- Events of objects.  The calls do nothing for objects that are no samples. ---- */

/* Reports that the object died or is about to.  Call it before another object gets the address. */
void geiger_freed(uint32_t heap, const void *object);

/*
 * Reports that a collector copied the object.  Call it before another object gets the address `to`;
 * a sample that is live there counts as dead.  Compacting collectors, which slide objects into the
 * places of others, use geiger_collected().
 */
void geiger_moved(uint32_t heap, const void *from, const void *to);

/* Reports that the object is in the old generation now. */
void geiger_promoted(uint32_t heap, const void *object);

/*
 * Sets the type of an object whose type was not known when it was recorded.  The object must be
 * alive until the call returns.
 */
void geiger_set_type(uint32_t heap, const void *object, const char *type);

/*
 * Reports a whole collection at once.  The library calls new_address() for each live sample of the
 * heap in these generations.  new_address() returns the new address, which is the old one if the
 * object did not move, or NULL if the object is dead.  It sets *generation to GEIGER_OLD for an
 * object that is old from now on.  All changes happen at once, so an object may get the former
 * address of another one.  Meanwhile no other thread may allocate from, or report to, this heap:
 * collectors call it while the world is stopped, before from-space is reused.  Returns how many of
 * these samples live on.
 */
size_t geiger_collected(uint32_t heap, enum geiger_generation generations,
                        geiger_new_address *new_address, void *user);

/* ---- Listeners. ---- */

/*
 * Calls `listener` with each sample of the program's heaps (not of malloc), on the thread that
 * allocates, in the middle of its allocation: the object exists, but is not yet written to.  So a
 * listener
 *
 *   may      read the event and add it up, and allocate from other heaps, where its own
 *            allocations are not sampled
 *   must not allocate from the heap of the event, collect, wait for a thread that may be allocating
 *            from that heap, throw, jump out, or register and remove listeners
 *
 * While there is a listener, objects are sampled at the process's interval even if nothing is
 * recorded.  0; -EINVAL: NULL; -ENOSPC: there are 8 listeners.
 */
int geiger_add_listener(geiger_listener *listener, void *user);

/* Removes a listener.  Other threads may still be in a call of it.  0, or -ENOENT. */
int geiger_remove_listener(geiger_listener *listener, void *user);

#else /* GEIGER_DISABLED */

static inline const char *geiger_version(void)
{
	return "disabled";
}

static inline int geiger_start(const struct geiger_options *options)
{
	(void)options;
	return 0;
}

static inline void geiger_stop(void)
{
}

static inline enum geiger_destination geiger_recording_to(void)
{
	return GEIGER_TO_NOWHERE;
}

static inline int geiger_set_interval(uint64_t interval_bytes)
{
	(void)interval_bytes;
	return 0;
}

static inline uint64_t geiger_interval(void)
{
	return 0;
}

static inline int geiger_hold_overhead(uint32_t millionths)
{
	(void)millionths;
	return 0;
}

static inline int geiger_hold_error(uint32_t millionths)
{
	(void)millionths;
	return 0;
}

static inline int geiger_snapshot(const char *path)
{
	(void)path;
	return -2; /* -ENOENT */
}

static inline void geiger_read_counts(struct geiger_counts *ret_counts)
{
	static const struct geiger_counts none = { 0, 0, 0, 0, 0, 0, 0, 0, 0 };

	*ret_counts = none;
}

static inline uint32_t geiger_heap_register(const char *name, const char *unit)
{
	(void)name;
	(void)unit;
	return 0;
}

static inline void geiger_heap_set_frame_provider(uint32_t heap, geiger_frame_provider *provide,
                                                  void *user)
{
	(void)heap;
	(void)provide;
	(void)user;
}

static inline bool geiger_due(size_t bytes)
{
	(void)bytes;
	return false;
}

static inline int64_t geiger_upstream_begin(void)
{
	return 0;
}

static inline void geiger_upstream_end(int64_t before)
{
	(void)before;
}

static inline void *geiger_allocated(uint32_t heap, const void *object, size_t bytes,
                                     const char *type)
{
	(void)heap;
	(void)bytes;
	(void)type;
	return (void *)(uintptr_t)object;
}

static inline bool geiger_take(size_t bytes, struct geiger_sample *ret_sample)
{
	(void)bytes;
	(void)ret_sample;
	return false;
}

static inline void geiger_put_back(size_t bytes)
{
	(void)bytes;
}

static inline bool geiger_record(uint32_t heap, const struct geiger_sample *sample)
{
	(void)heap;
	(void)sample;
	return false;
}

static inline void geiger_thread_interval(uint64_t interval_bytes)
{
	(void)interval_bytes;
}

static inline void geiger_freed(uint32_t heap, const void *object)
{
	(void)heap;
	(void)object;
}

static inline void geiger_moved(uint32_t heap, const void *from, const void *to)
{
	(void)heap;
	(void)from;
	(void)to;
}

static inline void geiger_promoted(uint32_t heap, const void *object)
{
	(void)heap;
	(void)object;
}

static inline void geiger_set_type(uint32_t heap, const void *object, const char *type)
{
	(void)heap;
	(void)object;
	(void)type;
}

static inline size_t geiger_collected(uint32_t heap, enum geiger_generation generations,
                                      geiger_new_address *new_address, void *user)
{
	(void)heap;
	(void)generations;
	(void)new_address;
	(void)user;
	return 0;
}

static inline int geiger_add_listener(geiger_listener *listener, void *user)
{
	(void)listener;
	(void)user;
	return 0;
}

static inline int geiger_remove_listener(geiger_listener *listener, void *user)
{
	(void)listener;
	(void)user;
	return 0;
}

#endif

#ifdef __cplusplus
}
#endif

#endif
