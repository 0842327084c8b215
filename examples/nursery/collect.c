/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect - copies what is reachable (C. J. Cheney, Communications of the ACM 13 (1970) 677).
 *
 *   1. The objects that the roots refer to are copied to the end of the old space.
 *   2.  The copies are scanned in order.  The objects that they refer to are copied behind them,
 *   until
 *      the scan has reached the end.  A copied object leaves its new address in its header.
 *
 * A minor collection copies only out of the nursery, and uses the remembered set as further roots.
 * A major collection follows a minor one directly, when there is no young object, and copies
 * everything.
 *
 * At the end, while the headers have the new addresses, the collector reports the sampled objects
 * to geiger.  The cost of this depends only on their number.
 */
#include "profile.h"
#include "space.h"

static value copy(struct heap *heap, struct object *object)
{
	size_t bytes = object_bytes(object);
	struct object *moved;

	if ((object->header & HEADER_IS_HERE) == 0)
		return object->header;
	moved = space_allocate(&heap->old, bytes);
	memcpy(moved, object, bytes);
	object->header = from_object(moved);
	return from_object(moved);
}

static void visit_minor(struct heap *heap, value *slot)
{
	if (is_object(*slot) && heap_is_young(heap, as_object(*slot)))
		*slot = copy(heap, as_object(*slot));
}

/* Each slot is seen once, before it was updated. */
static void visit_major(struct heap *heap, value *slot)
{
	if (is_object(*slot) && *slot != 0)
		*slot = copy(heap, as_object(*slot));
}

static void visit_fields(struct heap *heap, struct object *object, heap_visitor *visit)
{
	size_t end = (object_bytes(object) - sizeof(*object)) / sizeof(value), first = 0;

	switch (object_type(object)) {
	case TYPE_STRING:
	case TYPE_FLONUM:
		return; /* no values in it */
	case TYPE_CLOSURE:
		first = 1; /* after the lambda */
		break;
	case TYPE_PAIR:
	case TYPE_ENVIRONMENT:
	case TYPE_VECTOR:
		break;
	}
	for (size_t i = first; i < end; i++)
		visit(heap, &object->fields[i]);
}

/* Scans the objects from p in the chunk on, also those that come to it meanwhile. */
static void scan(struct heap *heap, struct chunk *chunk, char *p, heap_visitor *visit)
{
	while (chunk != NULL) {
		while (p < chunk->free) {
			struct object *object = (struct object *)p;

			p += object_bytes(object);
			visit_fields(heap, object, visit);
		}
		chunk = chunk->next;
		p = chunk == NULL ? NULL : chunk->memory;
	}
}

void collect_minor(struct heap *heap)
{
	size_t before_bytes = heap->old.bytes;
	struct chunk *chunk;
	char *p;

	if (heap->old.last == NULL)
		space_allocate(&heap->old, 0); /* a first chunk, for the scan to begin in */
	chunk = heap->old.last;
	p = chunk->free;

	heap->visit_roots(heap->user, heap, visit_minor);
	for (size_t i = 0; i < heap->remembered_count; i++) {
		heap->remembered[i]->header &= ~(uint64_t)HEADER_REMEMBERED;
		visit_fields(heap, heap->remembered[i], visit_minor);
	}
	heap->remembered_count = 0;
	scan(heap, chunk, p, visit_minor);

	heap->minor_count++;
	heap->promoted_bytes += heap->old.bytes - before_bytes;
	profile_collected(heap, false);
}

void collect_major(struct heap *heap)
{
	struct space from = heap->old;

	heap->old = (struct space){ 0 };
	heap->visit_roots(heap->user, heap, visit_major);
	if (heap->old.first != NULL)
		scan(heap, heap->old.first, heap->old.first->memory, visit_major);

	heap->major_count++;
	profile_collected(heap, true);
	space_release(&from);
}
