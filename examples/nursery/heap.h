/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap - the memory of the Scheme program, and its collector.
 *
 *   nursery     one block, where objects are born: allocation moves a pointer.  When it is full, a
 *               minor collection copies what is still reachable to the old space: the nursery is
 *               empty.
 *   old space   chunks, filled one after the other.  When it has grown to twice what the last major
 *               collection left, the next one copies what is reachable to new chunks.
 *   large       an object that does not fit half a nursery is born in an old chunk of its own.
 *
 * So an object moves when it is promoted, and again at each major collection.  A minor collection
 * looks at no old object but those in the remembered set: heap_set() puts an old object there when
 * it is made to point to a young one.
 *
 * Rule for users: whatever may allocate may move every object.  No C variable may hold one across
 * that; what must survive is where `visit_roots` finds it (the interpreter's stack and frames).
 *
 * Sampling    the nursery is a `struct geiger_bump` (geiger/bump.h).  Its fast path is the
 *             comparison with the end of free memory that a nursery needs anyway; profile.h has the
 *             rest.
 * Full        there is no limit but the system's memory; where that ends the program does, with a
 *             message.
 * Threads     one; a runtime with more has a nursery for each.
 */
#pragma once

#include "profile.h"
#include "value.h"

#ifndef NURSERY_TRUTH
#define NURSERY_TRUTH 0 /* 1: count what is allocated, for tests */
#endif

#define heap_unlikely(condition) __builtin_expect((condition), 0)

struct heap;

typedef void heap_visitor(struct heap *heap, value *slot);

/* Exact counts, with which tests compare estimates. */
struct heap_count {
	uint64_t objects, bytes;
};

struct chunk {
	struct chunk *next; /* that was filled after this one */
	char *free, *end;   /* of its memory: objects are in [memory, free) */
	_Alignas(16) char memory[];
};

/* Chunks, first to last: objects in the order in which they came. */
struct space {
	struct chunk *first, *last;
	size_t bytes; /* of objects */
};

struct heap {
	struct geiger_bump bump; /* what is free of the nursery */
	char *nursery;
	size_t nursery_bytes;

	struct space old;
	size_t old_limit_bytes; /* beyond it a major collection is due */

	/* Old objects that may point to young ones; each has HEADER_REMEMBERED. */
	struct object **remembered;
	size_t remembered_count, remembered_capacity;

	/* Shows every value that is reachable at once, each slot once. */
	void (*visit_roots)(void *user, struct heap *heap, heap_visitor *visit);
	void *user;

	struct profile profile; /* the sampled objects */

	bool stress; /* collect at each allocation, to find values that the roots lack */
	uint64_t minor_count, major_count, promoted_bytes;
#if NURSERY_TRUTH
	struct heap_count allocated[TYPE_COUNT];
#endif
};

struct heap_options {
	size_t nursery_bytes; /* 0: 4 MiB */
	bool stress;
	struct profile_options profile;
};

/* Ends the program where there is no memory.  `heap` must not move from then on. */
void heap_init(struct heap *heap, const struct heap_options *options,
               void (*visit_roots)(void *user, struct heap *heap, heap_visitor *visit), void *user);
void heap_done(struct heap *heap);

/* A minor collection, and a major one if it is due or asked for. */
void heap_collect(struct heap *heap, bool major);

/* Counts the objects in the old space, by type: all there are, directly after a collection. */
void heap_count_old(const struct heap *heap, struct heap_count counts[TYPE_COUNT]);

/* The cold half of heap_new(): a sample is due, the nursery is full, or the object is large. */
__attribute__((cold, noinline)) void *heap_new_slow(struct heap *heap, size_t bytes,
                                                    enum type type);
__attribute__((cold, noinline)) void heap_remember(struct heap *heap, struct object *object);

/* Ends the program. */
_Noreturn void heap_out_of_memory(size_t bytes);

/*
 * The fast path is that of geiger_bump_alloc(), written out so that a due sample and a full nursery
 * leave it by the same cold call.
 *
 * A new object; bytes: as of object_size().  May collect.  Its fields are the caller's to fill,
 * before anything else is allocated, and without heap_set().
 */
static inline struct object *heap_new(struct heap *heap, enum type type, size_t bytes)
{
	struct geiger_bump *bump = &heap->bump;
	char *p = bump->alloc_ptr;
	struct object *object;

	if (heap_unlikely(bytes > (size_t)(bump->combined_limit - p)))
		p = heap_new_slow(heap, bytes, type);
	else
		bump->alloc_ptr = p + bytes;
#if NURSERY_TRUTH
	heap->allocated[type].objects++;
	heap->allocated[type].bytes += bytes;
#endif
	object = (struct object *)p;
	object->header = header_make(type, bytes);
	return object;
}

static inline bool heap_is_young(const struct heap *heap, const void *p)
{
	return (uintptr_t)p - (uintptr_t)heap->nursery < heap->nursery_bytes;
}

/* Stores into an object that is not new: the write barrier. */
static inline void heap_set(struct heap *heap, struct object *object, size_t field, value v)
{
	object->fields[field] = v;
	if (is_object(v) && heap_is_young(heap, as_object(v)) && !heap_is_young(heap, object) &&
	    (object->header & HEADER_REMEMBERED) == 0)
		heap_remember(heap, object);
}
