/* SPDX-License-Identifier: Apache-2.0 */
#include "heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "space.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(start, bytes)   ((void)(start), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(start, bytes) ((void)(start), (void)(bytes))
#endif

enum { DEFAULT_NURSERY_BYTES = 4 << 20, FIRST_OLD_LIMIT_BYTES = 32 << 20, SCRATCH = 0xdb };

const char *const type_names[TYPE_COUNT] = { "pair",   "closure", "environment",
	                                     "vector", "string",  "flonum" };

_Noreturn void heap_out_of_memory(size_t bytes)
{
	fprintf(stderr, "out of memory: %zu more bytes are not to be had\n", bytes);
	exit(1);
}

static void empty_nursery(struct heap *heap)
{
	size_t used_bytes = (size_t)(heap->bump.alloc_ptr - heap->nursery);

	if (!heap->stress) {
		geiger_bump_refill(&heap->bump, heap->nursery, heap->nursery + heap->nursery_bytes);
		return;
	}
	/*
	 * Stale values must not look alive: a read of one gets nonsense, or a sanitizer's report.
	 */
	memset(heap->nursery, SCRATCH, used_bytes);
	ASAN_POISON_MEMORY_REGION(heap->nursery, used_bytes);
	geiger_bump_refill(&heap->bump, heap->nursery, heap->nursery);
}

void heap_init(struct heap *heap, const struct heap_options *options,
               void (*visit_roots)(void *user, struct heap *heap, heap_visitor *visit), void *user)
{
	*heap = (struct heap){
		.nursery_bytes = options->nursery_bytes == 0 ? DEFAULT_NURSERY_BYTES
		                                             : options->nursery_bytes,
		.old_limit_bytes = FIRST_OLD_LIMIT_BYTES,
		.visit_roots = visit_roots,
		.user = user,
		.stress = options->stress,
	};
	heap->nursery = space_map(heap->nursery_bytes);
	if (heap->stress)
		ASAN_POISON_MEMORY_REGION(heap->nursery, heap->nursery_bytes);
	profile_init(heap, &options->profile);
	geiger_bump_refill(&heap->bump, heap->nursery, heap->nursery);
	empty_nursery(heap);
}

void heap_done(struct heap *heap)
{
	profile_done(heap);
	ASAN_UNPOISON_MEMORY_REGION(heap->nursery, heap->nursery_bytes);
	munmap(heap->nursery, heap->nursery_bytes);
	space_release(&heap->old);
	free(heap->remembered);
}

void heap_collect(struct heap *heap, bool major)
{
	collect_minor(heap);
	empty_nursery(heap);
	if (major || heap->old.bytes > heap->old_limit_bytes) {
		collect_major(heap);
		heap->old_limit_bytes = 2 * heap->old.bytes;
		if (heap->old_limit_bytes < FIRST_OLD_LIMIT_BYTES)
			heap->old_limit_bytes = FIRST_OLD_LIMIT_BYTES;
	}
}

/*
 * Born old, and remembered: what its creator fills it with may be young.  (The flag in its header
 * goes when heap_new() writes it; so it may come to be remembered twice, which costs a second look
 * at it.)
 */
static void *new_large(struct heap *heap, size_t bytes, enum type type)
{
	struct object *object;

	if (heap->stress || heap->old.bytes + bytes > heap->old_limit_bytes)
		heap_collect(heap, false);
	object = space_allocate(&heap->old, bytes);
	object->header = header_make(type, bytes);
	heap_remember(heap, object);
	geiger_bump_count_outside(&heap->bump, object, bytes, type_names[type]);
	return object;
}

void *heap_new_slow(struct heap *heap, size_t bytes, enum type type)
{
	void *object = geiger_bump_alloc(&heap->bump, bytes, type_names[type]);

	if (object != NULL)
		return object; /* it was not for want of room: the object is a sample */
	if (bytes > heap->nursery_bytes / 2)
		return new_large(heap, bytes, type);
	heap_collect(heap, heap->stress && heap->minor_count % 16 == 0);
	if (heap->stress) {
		/* Room for this object alone: the next one comes here again. */
		ASAN_UNPOISON_MEMORY_REGION(heap->nursery, bytes);
		geiger_bump_refill(&heap->bump, heap->nursery, heap->nursery + bytes);
	}
	return geiger_bump_alloc(&heap->bump, bytes, type_names[type]);
}

void heap_remember(struct heap *heap, struct object *object)
{
	if (heap->remembered_count == heap->remembered_capacity) {
		size_t capacity = 2 * heap->remembered_capacity + 64;
		struct object **remembered = realloc(heap->remembered,
		                                     capacity * sizeof(struct object *));

		if (remembered == NULL)
			heap_out_of_memory(capacity * sizeof(struct object *));
		heap->remembered = remembered;
		heap->remembered_capacity = capacity;
	}
	heap->remembered[heap->remembered_count++] = object;
	object->header |= HEADER_REMEMBERED;
}
