/* SPDX-License-Identifier: Apache-2.0 */
#include "profile.h"

#include "heap.h"

void profile_init(struct heap *heap, const struct profile_options *options)
{
	const struct geiger_bump_config config = {
		.heap = "scheme",
		.scheme = options->scheme,
		.interval_bytes = options->interval_bytes,
		.seed = options->seed,
		.on_sample = options->on_sample,
		.user = options->on_sample_user,
	};

	heap->profile.heap = geiger_heap_register(config.heap, NULL);
	if (options->frames != NULL)
		geiger_heap_set_frame_provider(heap->profile.heap, options->frames,
		                               options->frames_user);
	geiger_bump_init(&heap->bump, &config);
	geiger_bump_enable(&heap->bump, !options->off);
}

static const void *nowhere(void *user, const void *object, enum geiger_generation *generation)
{
	(void)user, (void)object, (void)generation;
	return NULL;
}

/* Everything dies with its heap. */
void profile_done(struct heap *heap)
{
	geiger_collected(heap->profile.heap, GEIGER_ALL, nowhere, NULL);
	geiger_heap_set_frame_provider(heap->profile.heap, NULL, NULL);
	geiger_bump_done(&heap->bump);
}

/* A copied object's header is its new address; one that was not copied is dead. */
static const void *new_address(const struct object *object)
{
	return (object->header & HEADER_IS_HERE) != 0 ? NULL : (const void *)object->header;
}

static const void *where_after_minor(void *user, const void *object,
                                     enum geiger_generation *generation)
{
	const struct heap *heap = user;

	*generation =
		GEIGER_OLD; /* there is one way out of the nursery; large objects are born old */
	return heap_is_young(heap, object) ? new_address(object) : object;
}

static const void *where_after_major(void *user, const void *object,
                                     enum geiger_generation *generation)
{
	(void)user;
	*generation = GEIGER_OLD;
	return new_address(object);
}

void profile_collected(struct heap *heap, bool major)
{
	if (major)
		geiger_collected(heap->profile.heap, GEIGER_ALL, where_after_major, heap);
	else
		geiger_collected(heap->profile.heap, GEIGER_YOUNG, where_after_minor, heap);
}
