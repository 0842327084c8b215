/* SPDX-License-Identifier: Apache-2.0 */
/* object_lives - applies the reports of collections to sampled objects. */
#include "dotnet/object_lives.h"

#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"

enum {
	NESTED_MAX = 8, /* collections at once: a background one, and one in the foreground */
	GENERATION_LARGE = 3,
	GENERATION_PINNED = 4,
	TYPE_BACKGROUND = 1,
	MECHANISM_BACKGROUND = 1, /* a bit of the history's */
};

/* Memory that survived; `to` is its new place, or its old one. */
struct survivor {
	uint64_t from, length, to;
};

struct generation_range {
	uint64_t from, length;
	uint32_t generation;
	size_t order; /* of those that begin alike, the earliest counts */
};

struct generation_ranges {
	GG_ARRAY(struct generation_range) items;
};

struct collection {
	uint32_t number, generation;
	bool is_background, has_reports, is_applied;
	int64_t start_ns, report_ns; /* report_ns: of the last report */
	GG_ARRAY(struct survivor) survivors;
	struct generation_ranges before, after;
};

struct following {
	struct gg_object_lives *lives;
	uint32_t pointer_bytes;
	uint64_t *steps; /* that are left */
	struct collection open[NESTED_MAX];
	size_t open_count;
	size_t next_object; /* of those sorted by birth, the first one that is not born yet */
	GG_ARRAY(size_t) live;
};

void gg_object_lives_done(struct gg_object_lives *lives)
{
	gg_array_done(&lives->objects);
	gg_array_done(&lives->events);
}

int gg_object_lives_add(struct gg_object_lives *lives, const struct gg_sampled_object *object)
{
	return gg_array_push(&lives->objects, *object) ? 0 : -ENOMEM;
}

int gg_object_lives_event(struct gg_object_lives *lives, int64_t time_ns, uint32_t id,
                          struct gg_byte_cursor payload)
{
	struct gg_gc_event event = { .time_ns = time_ns,
		                     .order = lives->events.count,
		                     .id = id,
		                     .payload_bytes = (uint32_t)gg_byte_cursor_left(&payload),
		                     .payload = payload.at };

	return gg_array_push(&lives->events, event) ? 0 : -ENOMEM;
}

static void close_collection(struct collection *collection)
{
	gg_array_done(&collection->survivors);
	gg_array_done(&collection->before.items);
	gg_array_done(&collection->after.items);
}

static int compare_survivors(const void *first, const void *second)
{
	const struct survivor *a = first, *b = second;

	return a->from < b->from ? -1 : a->from > b->from;
}

static int compare_ranges(const void *first, const void *second)
{
	const struct generation_range *a = first, *b = second;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->order > b->order ? -1 : a->order < b->order; /* the earliest is last */
}

static const struct survivor *find_survivor(const struct collection *collection, uint64_t address)
{
	size_t low = 0, high = collection->survivors.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (collection->survivors.items[middle].from <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || address - collection->survivors.items[low - 1].from >=
	                        collection->survivors.items[low - 1].length)
		return NULL;
	return &collection->survivors.items[low - 1];
}

/* Returns the generation of an address when the objects were judged; UINT32_MAX: unknown. */
static uint32_t generation_of(const struct generation_ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->items.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->items.items[middle].from <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 ||
	    address - ranges->items.items[low - 1].from >= ranges->items.items[low - 1].length)
		return UINT32_MAX;
	return ranges->items.items[low - 1].generation;
}

static bool is_collected(const struct collection *collection, uint32_t generation)
{
	if (generation > GENERATION_PINNED)
		return false;
	if (collection->is_background)
		return generation >= 2;
	return generation <= collection->generation ||
	       (generation >= GENERATION_LARGE && collection->generation >= 2);
}

/* Applies a collection to an object.  Returns false if the object died in it. */
static bool survives(const struct collection *collection, struct gg_sampled_object *object)
{
	const struct survivor *survivor;

	if (object->born_ns >=
	    (collection->is_background ? collection->report_ns : collection->start_ns))
		return true;
	survivor = find_survivor(collection, object->address);
	if (survivor != NULL) {
		object->address += survivor->to - survivor->from;
		return true;
	}
	return !is_collected(collection, generation_of(&collection->before, object->address));
}

static int take_newborn(struct following *following, int64_t time_ns)
{
	const struct gg_object_lives *lives = following->lives;

	while (following->next_object < lives->objects.count &&
	       lives->objects.items[following->next_object].born_ns <= time_ns)
		if (!gg_array_push(&following->live, following->next_object++))
			return -ENOMEM;
	return 0;
}

/* Ends the objects that died in a collection, at most once. */
static int apply(struct following *following, struct collection *collection, int64_t end_ns)
{
	struct gg_object_lives *lives = following->lives;
	int64_t time_ns = collection->is_background ? collection->report_ns : end_ns;
	size_t kept = 0;
	int status;

	if (collection->is_applied)
		return 0;
	collection->is_applied = true;
	if (!collection->has_reports) {
		lives->unknown_count++;
		return 0;
	}
	status = take_newborn(following, time_ns);
	if (status < 0)
		return status;
	lives->collection_count++;
	if (following->live.count > *following->steps) {
		*following->steps = 0;
		lives->is_over_budget = true;
		return 0;
	}
	*following->steps -= following->live.count;
	if (collection->survivors.count > 0)
		qsort(collection->survivors.items, collection->survivors.count,
		      sizeof(*collection->survivors.items), compare_survivors);
	if (collection->before.items.count > 0)
		qsort(collection->before.items.items, collection->before.items.count,
		      sizeof(*collection->before.items.items), compare_ranges);
	for (size_t i = 0; i < following->live.count; i++) {
		size_t index = following->live.items[i];
		struct gg_sampled_object *object = &lives->objects.items[index];

		if (survives(collection, object))
			following->live.items[kept++] = index;
		else
			object->end_ns = time_ns;
	}
	following->live.count = kept;
	return 0;
}

/*
 * A collection begins.  One that is in the background and has reported is judged now: the next one
 * may move objects.
 */
static int apply_reported(struct following *following)
{
	int status = 0;

	for (size_t i = 0; i < following->open_count && status == 0; i++)
		if (following->open[i].is_background && following->open[i].has_reports)
			status = apply(following, &following->open[i], 0);
	return status;
}

/* Gives the memory after a collection to those that have not reported: it is theirs before. */
static void pass_ranges_on(struct following *following, struct collection *collection)
{
	for (size_t i = 0; i < following->open_count && collection->after.items.count > 0; i++) {
		struct collection *other = &following->open[i];
		struct generation_ranges before = other->before;

		if (other == collection || other->has_reports)
			continue;
		other->before = collection->after;
		collection->after = before;
		return; /* at most one is in the background */
	}
}

static void begin_collection(struct following *following, struct gg_byte_cursor payload,
                             int64_t time_ns)
{
	struct collection collection = { .start_ns = time_ns };

	collection.number = (uint32_t)gg_byte_cursor_number(&payload, 4);
	collection.generation = (uint32_t)gg_byte_cursor_number(&payload, 4);
	gg_byte_cursor_number(&payload, 4); /* why it was started */
	collection.is_background = gg_byte_cursor_number(&payload, 4) == TYPE_BACKGROUND;
	if (payload.failed)
		return;                            /* an early runtime, which says less */
	if (following->open_count == NESTED_MAX) { /* their ends are missing */
		for (size_t i = 0; i < NESTED_MAX; i++)
			close_collection(&following->open[i]);
		following->lives->unknown_count += NESTED_MAX;
		following->open_count = 0;
	}
	following->open[following->open_count++] = collection;
}

static int finish_collection(struct following *following, struct gg_byte_cursor payload,
                             int64_t time_ns)
{
	uint32_t number = (uint32_t)gg_byte_cursor_number(&payload, 4);
	size_t at = following->open_count;
	int status;

	while (at > 0 && following->open[at - 1].number != number)
		at--;
	if (at == 0 || payload.failed)
		return 0; /* it began before the stream */
	status = apply(following, &following->open[at - 1], time_ns);
	pass_ranges_on(following, &following->open[at - 1]);
	close_collection(&following->open[at - 1]);
	for (size_t i = at; i < following->open_count; i++)
		following->open[i - 1] = following->open[i];
	following->open_count--;
	return status;
}

static int take_survivors(const struct following *following, struct collection *collection,
                          int64_t time_ns, struct gg_byte_cursor payload, bool has_moved)
{
	uint32_t bytes = following->pointer_bytes, count;

	gg_byte_cursor_number(&payload, 4);
	count = (uint32_t)gg_byte_cursor_number(&payload, 4);
	gg_byte_cursor_number(&payload, 2);
	collection->has_reports = true;
	collection->report_ns = time_ns;
	collection->is_background = collection->is_background && !has_moved;
	for (uint32_t i = 0; i < count; i++) {
		struct survivor survivor;

		survivor.from = gg_byte_cursor_number(&payload, bytes);
		survivor.to = has_moved ? gg_byte_cursor_number(&payload, bytes) : survivor.from;
		survivor.length = gg_byte_cursor_number(&payload, 8);
		if (payload.failed)
			return 0;
		if (!gg_array_push(&collection->survivors, survivor))
			return -ENOMEM;
	}
	return 0;
}

static int take_range(struct following *following, struct collection *collection,
                      struct gg_byte_cursor payload)
{
	struct generation_ranges *ranges = collection->has_reports ? &collection->after
	                                                           : &collection->before;
	struct generation_range range = { .order = ranges->items.count };

	range.generation = (uint32_t)gg_byte_cursor_number(&payload, 1);
	range.from = gg_byte_cursor_number(&payload, following->pointer_bytes);
	gg_byte_cursor_number(&payload, 8); /* the used part: a new region's is empty */
	range.length = gg_byte_cursor_number(&payload, 8);
	if (payload.failed)
		return 0;
	return gg_array_push(&ranges->items, range) ? 0 : -ENOMEM;
}

/* Learns whether a collection that began as one in the background was one. */
static void take_history(struct collection *collection, struct gg_byte_cursor payload)
{
	uint32_t mechanisms;

	gg_byte_cursor_take(&payload, 8 + 4 + 4 + 4 + 4);
	mechanisms = (uint32_t)gg_byte_cursor_number(&payload, 4);
	if (!payload.failed && !(mechanisms & MECHANISM_BACKGROUND))
		collection->is_background = false;
}

static int take_event(struct following *following, const struct gg_gc_event *event)
{
	struct gg_byte_cursor payload = gg_byte_cursor_of(event->payload, event->payload_bytes);
	struct collection *newest = following->open_count > 0
	                                    ? &following->open[following->open_count - 1]
	                                    : NULL;
	int status;

	switch (event->id) {
	case GG_DOTNET_GC_START:
		status = apply_reported(following);
		if (status < 0)
			return status;
		begin_collection(following, payload, event->time_ns);
		return 0;
	case GG_DOTNET_GC_END:
		return finish_collection(following, payload, event->time_ns);
	case GG_DOTNET_GC_SURVIVED:
	case GG_DOTNET_GC_MOVED:
		return newest == NULL ? 0
		                      : take_survivors(following, newest, event->time_ns, payload,
		                                       event->id == GG_DOTNET_GC_MOVED);
	case GG_DOTNET_GC_RANGE:
		return newest == NULL ? 0 : take_range(following, newest, payload);
	case GG_DOTNET_GC_HISTORY:
		if (newest != NULL)
			take_history(newest, payload);
		return 0;
	default:
		return 0;
	}
}

static int compare_events(const void *first, const void *second)
{
	const struct gg_gc_event *a = first, *b = second;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static int compare_objects(const void *first, const void *second)
{
	const struct gg_sampled_object *a = first, *b = second;

	if (a->born_ns != b->born_ns)
		return a->born_ns < b->born_ns ? -1 : 1;
	return a->sample < b->sample ? -1 : a->sample > b->sample;
}

int gg_object_lives_follow(struct gg_object_lives *lives, uint32_t pointer_bytes, uint64_t *steps)
{
	struct following following = { .lives = lives,
		                       .pointer_bytes = pointer_bytes,
		                       .steps = steps };
	int status = 0;

	gg_assert(pointer_bytes == 4 || pointer_bytes == 8);
	lives->collection_count = lives->unknown_count = 0;
	lives->is_over_budget = false;
	if (lives->objects.count > 0)
		qsort(lives->objects.items, lives->objects.count, sizeof(*lives->objects.items),
		      compare_objects);
	if (lives->events.count > 0)
		qsort(lives->events.items, lives->events.count, sizeof(*lives->events.items),
		      compare_events);
	for (size_t i = 0; i < lives->events.count && status == 0 && !lives->is_over_budget; i++) {
		if (lives->settled_ns > 0 && lives->events.items[i].time_ns > lives->settled_ns)
			break;
		status = take_event(&following, &lives->events.items[i]);
	}
	for (size_t i = 0; i < following.open_count; i++)
		close_collection(&following.open[i]);
	gg_array_done(&following.live);
	return status;
}
