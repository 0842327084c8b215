/* SPDX-License-Identifier: Apache-2.0 */
/*
 * geiger.h - a program's own heaps in geiger's profiles: language runtimes, arenas, pools.
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
 * Each thread counts down the bytes that it allocates, through geiger_due(), to its next mark; the
 * allocation that a mark falls on is a sample.  It is recorded with its stack, type and size and
 * how it was drawn, and stands for what was not sampled (docs/EMBEDDING.md).  Allocators with a
 * bump pointer do the same without a single instruction more: bump.h.
 *
 * Where it goes
 *   agent      the program runs under `geiger record`, or with the agent preloaded: samples go to
 *              its region, beside those of malloc, with its settings.  Heaps are told apart in
 *              reports.
 *   own        without the agent, after geiger_start(), or where the environment that `geiger
 *              record` makes is there: to a region of this library's own, which `geiger record`
 *              follows too, and `geiger report` reads.
 *   listeners  of the program's own: geiger_listen().
 *   nowhere    else.  Then everything here does nothing, at next to no cost.
 *
 * Objects      are known by an address, or by any other number that says which one it is, as long
 *              as it lives: object ids, indexes + 1.  Not NULL, and below 2^48.  Objects of
 *              different heaps may have the same; they may have the addresses of blocks of malloc,
 *              too.
 * Names        of heaps and types are compared as texts and copied; they may go away after the
 *              call.  16 383 types, 255 heaps; what comes later has no name.
 * Wrong use    heaps that were never registered, objects that are NULL, sizes that no allocator
 *              gives, are counted (geiger_read_counts()) and otherwise ignored.  A free of what is
 *              no sample is no error: most frees are such.
 * Threads      any, at any time, unless a function says otherwise.  geiger_due() and what follows
 *              it belong to one thread.
 * Signals      a handler may use an allocator that calls these functions: what comes while its
 *              thread is in one of them is not sampled, and counted.
 * Fork         a forked child goes on with a region of its own.
 * Never        allocates from the heap (no malloc, no listener of its own), locks, or changes
 *              errno, in what an allocator calls.  geiger_start(), geiger_snapshot() and the
 *              registrations may take a lock and make system calls.
 * Cost         geiger_due(): a subtraction and a branch.  A sample: its stack, the frames of the runtime,
 *              the region.  geiger_freed() of what is no sample: a look into the region's filter.
 *              bench_embed has them all.
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
 * Of this header; geiger_version() has that of the library.  Only the last number differs: they
 * fit.
 */
#define GEIGER_VERSION "0.1.0"

/* A frame of the program that a runtime runs: a function of its language. */
struct geiger_frame {
	const char *function; /* NULL or "": it has no name */
	const char *file;     /* NULL: not known */
	uint32_t line;        /* of the call that goes on inwards; 0: not known */
	/*
	 * Where it belongs among native frames: an address on the native stack, in the part of the
	 * native function that runs this frame, such as __builtin_frame_address(0) or a local
	 * variable of the interpreter's loop.  The frame is shown as called by that function.
	 * Several frames may have the same.  NULL: the same as the next frame further out that has
	 * one; if none has, the runtime's frames are innermost.
	 */
	const void *native;
};

/* A sample that the program drew itself (bump.h does), or took by geiger_take(). */
struct geiger_sample {
	const void *object;
	size_t bytes;
	const char *type;        /* NULL: not known */
	size_t offset;           /* of the first mark; < bytes */
	uint64_t interval_bytes; /* from 1 on */
	uint32_t marks;          /* from 1 on */
	enum geiger_scheme scheme;
	uint32_t flags; /* GEIGER_SAMPLE_... */
	/* Frames of the runtime, innermost first; NULL: the heap's provider is asked. */
	const struct geiger_frame *frames;
	size_t frame_count;
};

enum {
	GEIGER_SAMPLE_OLD = 1,      /* allocated in the old generation */
	GEIGER_SAMPLE_NO_NATIVE = 2 /* the frames are the whole stack */
};

/* A frame of a stack as listeners see it. */
struct geiger_event_frame {
	uint64_t pc; /* of a native frame: a return address; 0: a frame of the runtime, below */
	const char *function, *file;
	uint32_t line;
};

/* What a listener hears of a sample.  Everything is valid during the call only. */
struct geiger_event {
	uint32_t heap;
	const char *heap_name;
	const char *type; /* "": not known */
	const void *object;
	size_t bytes, offset;
	uint64_t interval_bytes;
	uint32_t marks;
	enum geiger_scheme scheme;
	double weight_bytes; /* bytes that the sample stands for, itself included */
	double weight_count; /* objects */
	const struct geiger_event_frame *frames; /* innermost first */
	size_t frame_count;
};

/* For geiger_start(); all-zero is the environment's, or else the default of each. */
struct geiger_options {
	uint64_t interval_bytes; /* mean sampling interval; 0: GEIGER_INTERVAL, or 512 KiB */
	const char *directory; /* of the region; NULL: GEIGER_DIR, or where the agent's would be */
	uint64_t seed;         /* for repeatable runs; 0: GEIGER_SEED, or random */
};

enum geiger_place {
	GEIGER_TO_NOWHERE, /* nothing is recorded */
	GEIGER_TO_AGENT,   /* the agent's region */
	GEIGER_TO_OWN      /* a region of this library's own */
};

enum geiger_generation { GEIGER_YOUNG = 1, GEIGER_OLD = 2, GEIGER_ALL = 3 };

/* What was counted since the start of the process. */
struct geiger_counts {
	uint64_t samples;       /* recorded or told to a listener */
	uint64_t freed;         /* of these */
	uint64_t moved;         /* of these, and how often */
	uint64_t promoted;      /* likewise */
	uint64_t dropped;       /* samples for which there was no place */
	uint64_t nested;        /* allocations that came while their thread was in the library */
	uint64_t unknown_heaps; /* calls with a heap that was never registered */
	uint64_t bad_samples;   /* samples that no sampler can have drawn, or of a bad object */
	uint64_t names_dropped; /* heaps, types and frames for which there was no place */
};

#ifndef GEIGER_DISABLED

/*
 * ---- The process. ----
 *
 * What is set here holds for the calling thread at once, for bump contexts from their next refill or slow
 * path on, and for other threads' geiger_due() within 8 MiB.
 */

/* The library's version, such as "0.1.0". */
const char *geiger_version(void);

/*
 * Starts recording, where nothing records yet.  With the agent there: switches its recording on,
 * with the interval if one is given.  Again after geiger_stop(): goes on in the same region.
 * 0; -EINVAL: an interval over 2^48; -ENODEV: the agent could not start; or why there is no region:
 * -EACCES, -ENOSPC, -ENOMEM...
 */
int geiger_start(const struct geiger_options *options);

/*
 * Nothing is sampled until geiger_start(): neither here nor, where the agent is there, by it.  What
 * dies is still recorded.
 */
void geiger_stop(void);

/* Where samples go now. */
enum geiger_place geiger_recording_to(void);

/*
 * A new mean sampling interval, the agent's too.  0 or -EINVAL: 0, over 2^48.
 */
int geiger_set_interval(uint64_t interval_bytes);
uint64_t geiger_interval(void);

/*
 * Writes what is recorded by now to a file of its own, which `geiger salvage` makes a profile of.
 * 0; -ENOENT: nothing is recorded; -EBUSY: the threads did not stand still for a moment; or
 * why it cannot be written.  No file is left of one that failed.  Not in a signal handler.
 */
int geiger_snapshot(const char *path);

void geiger_read_counts(struct geiger_counts *ret_counts);

/* ---- Heaps. ---- */

/*
 * A heap of that name; the one that has the name already, if there is one (that of bump contexts
 * too).  unit: what its sizes count where that is not bytes, such as "slots"; it is shown with the
 * name.  NULL: bytes.  0, which every function takes for "none": a NULL or empty name, or there are
 * 255 heaps.
 */
uint32_t geiger_heap_register(const char *name, const char *unit);

/*
 * Who knows the runtime's frames.  It is called on the thread that allocates, from within the slow
 * call, with room for `capacity` of them; it writes the innermost ones, innermost first, and
 * returns their number.  The texts must stay until it is called again on this thread.  The rules of
 * listeners hold.  NULL: native frames alone.  One provider a heap; before its first sample.
 */
void geiger_heap_frames(uint32_t heap,
                        size_t (*provide)(void *user, struct geiger_frame *frames, size_t capacity),
                        void *user);

/* ---- Allocations. ---- */

/* Bytes before this thread's next mark or look at the settings; only for geiger_due(). */
#if defined(__GNUC__)
extern __thread int64_t geiger_left_bytes __attribute__((tls_model("initial-exec")));
#else
int64_t *geiger_left_bytes_of_thread(void);
#define geiger_left_bytes (*geiger_left_bytes_of_thread())
#endif

/*
 * Counts an allocation of that size.  True: one of geiger_allocated(), geiger_take() and
 * geiger_put_back() must be called for it, now or after it was made, on this thread and before the
 * next geiger_due().  A size of 0 counts as 1.
 */
static inline bool geiger_due(size_t bytes)
{
#if defined(__GNUC__) && defined(__x86_64__)
	/* The same as below: the first instruction's borrow is bytes == 0. */
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
 * The slow call: if a mark falls on it, the allocation is a sample and recorded, with the stack of
 * the caller and the frames of the heap's provider.  object NULL: the allocation failed
 * (geiger_put_back()).  Returns the object, so that an allocator may end in the call, with nothing to
 * save for afterwards:
 *
 *   if (geiger_due(bytes))
 *           return geiger_allocated(heap, p, bytes, "row");
 *   return p;
 */
void *geiger_allocated(uint32_t heap, const void *object, size_t bytes, const char *type);

/*
 * The slow call in two halves, for who wants to know before the object is there.  True: it is a
 * sample; bytes, offset, interval_bytes, marks and scheme of *ret_sample are set and the rest is
 * zero.  Set object and what else is known, and call geiger_record().
 */
bool geiger_take(size_t bytes, struct geiger_sample *ret_sample);

/* Instead of the slow call: there was no allocation after all. */
void geiger_put_back(size_t bytes);

/*
 * Records a sample, with the stack of the caller.  False: it is not recorded (geiger_read_counts()
 * says why).
 */
bool geiger_record(uint32_t heap, const struct geiger_sample *sample);

/*
 * This thread's mean sampling interval, from now on: smaller for one that is to be seen better,
 * larger for one that must not be slowed down.  Estimates stay unbiased: each sample knows its
 * interval.  0: that of the process again.  Where the agent is there, for its samples of the thread
 * too.
 */
void geiger_thread_interval(uint64_t interval_bytes);

/*
 * ---- Blocks that come from malloc. ----
 *
 * An allocator that takes a single block from malloc, or from C++'s operator new, for each object that it
 * reports says so, and the block counts once, as its own:
 *
 *   int64_t before = geiger_upstream_begin();
 *
 *   p = malloc(bytes);
 *   geiger_upstream_end(before);
 *
 * What this thread allocates in between is not counted as malloc's where the agent is there; bytes that
 * malloc counts later are not affected.  Calls may nest.  Nothing but the call of the allocator underneath
 * should stand in between, and nothing may leave it by longjmp() or an exception.  free() needs nothing.
 * Cost: four loads and two stores.
 */
#if defined(__GNUC__)
extern __thread volatile int64_t *geiger_upstream_left_bytes
	__attribute__((tls_model("initial-exec")));
#else
volatile int64_t **geiger_upstream_left_bytes_of_thread(void);
#define geiger_upstream_left_bytes (*geiger_upstream_left_bytes_of_thread())
#endif

/* The first time on a thread. */
volatile int64_t *geiger_upstream_find(void);

static inline int64_t geiger_upstream_begin(void)
{
	volatile int64_t *left = geiger_upstream_left_bytes;
	int64_t before;

	if (GEIGER_UNLIKELY(left == NULL))
		left = geiger_upstream_find();
	before = *left;
	*left = INT64_C(1) << 62; /* no mark is nearer */
	return before;
}

static inline void geiger_upstream_end(int64_t before)
{
	volatile int64_t *left = geiger_upstream_left_bytes;

	if (left != NULL)
		*left = before;
}

/* ---- What happens to objects.  Nothing happens where the object is no sample. ---- */

/* It died, or is freed.  Before its address may be given to another one. */
void geiger_freed(uint32_t heap, const void *object);

/*
 * A collector copied it.  Before another object comes to lie at `to`: one that is live there is
 * taken for dead.  Where objects slide into places of others, use geiger_collected().
 */
void geiger_moved(uint32_t heap, const void *from, const void *to);

/* It is in the old generation now. */
void geiger_promoted(uint32_t heap, const void *object);

/*
 * The same for a whole collection at once: asks of each live sample of the heap in these
 * generations what became of it.  where() returns its new address, the same if it did not move, or
 * NULL: it is dead; it sets *generation to GEIGER_OLD for one that is old from now on.  All of it
 * happens at once: an object may come to lie where another one was before.  While it runs no other
 * thread may allocate from, or report to, this heap: collectors call it while the world stands
 * still, before from-space is given away.
 * The number of these samples that live on.
 */
size_t geiger_collected(uint32_t heap, enum geiger_generation generations,
                        const void *(*where)(void *user, const void *object,
                                             enum geiger_generation *generation),
                        void *user);

/* ---- Listeners. ---- */

/*
 * Calls `heard` with each sample of the program's heaps (not of malloc), on the thread that
 * allocates, in the middle of its allocation: the object is there, and not yet written to.  So a
 * listener
 *
 *   may      read the event and add it up; allocate from other heaps, where its own allocations are
 *            not sampled
 *   must not allocate from the heap that the event is of, collect, wait for a thread that may be
 *            allocating from it, throw, jump out, or start and end listeners
 *
 * Listening samples, with the process's interval, also where nothing is recorded.
 * 0; -EINVAL: NULL; -ENOSPC: there are 8.
 */
int geiger_listen(void (*heard)(void *user, const struct geiger_event *event), void *user);

/* It is called no more, after those calls that other threads are in right now.  0, or -ENOENT. */
int geiger_unlisten(void (*heard)(void *user, const struct geiger_event *event), void *user);

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

static inline enum geiger_place geiger_recording_to(void)
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

static inline void geiger_heap_frames(uint32_t heap,
                                      size_t (*provide)(void *user, struct geiger_frame *frames,
                                                        size_t capacity),
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

static inline size_t geiger_collected(uint32_t heap, enum geiger_generation generations,
                                      const void *(*where)(void *user, const void *object,
                                                           enum geiger_generation *generation),
                                      void *user)
{
	(void)heap;
	(void)generations;
	(void)where;
	(void)user;
	return 0;
}

static inline int geiger_listen(void (*heard)(void *user, const struct geiger_event *event),
                                void *user)
{
	(void)heard;
	(void)user;
	return 0;
}

static inline int geiger_unlisten(void (*heard)(void *user, const struct geiger_event *event),
                                  void *user)
{
	(void)heard;
	(void)user;
	return 0;
}

#endif

#ifdef __cplusplus
}
#endif

#endif
