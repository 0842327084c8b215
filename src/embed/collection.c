/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collection - geiger_collected(): applies a whole collection to the sampled objects of a heap.
 * The collector reports for each one whether it is dead, and its new address otherwise.
 *
 *   1. visit     call new_address() for each sample; close the dead ones, promote those that grew
 *                old
 *   2. vacate    move samples to their new keys, or to a parking key while that one is taken
 *   3. occupy    move the parked samples to their new keys
 */
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"
#include "embed/counts.h"
#include "embed/embed_thread.h"
#include "embed/heap.h"
#include "embed/live_objects.h"
#include "embed/sampling_settings.h"

enum {
	PREFETCHED = 16,     /* entries that are prefetched together */
	PARKED_HEAP = 0xffff /* of keys that no heap has */
};

static void append_live(uint64_t key, uint64_t id, bool is_old, void *context)
{
	struct gg_embed_live_objects *live_objects = context;

	gg_embed_live_list_append(is_old ? &live_objects->old : &live_objects->young, key, id);
}

struct gg_embed_collection {
	struct gg_embed_heap *heap;
	const struct gg_agent_functions *agent;
	geiger_new_address *new_address;
	void *user;
};

/*
 * Prefetches what the next entries need: their records in the region, and the objects themselves,
 * whose headers the runtime is about to read.
 */
static void prefetch(const struct gg_embed_collection *c, const struct gg_embed_live_list *list,
                     uint32_t first)
{
	uint64_t keys[PREFETCHED], objects = (UINT64_C(1) << GG_AGENT_KEY_BITS) - 1;
	uint32_t count = 0;

	for (uint32_t i = first; i < list->count && count < PREFETCHED; i++) {
		keys[count++] = list->entries[i].key;
		__builtin_prefetch((const void *)(uintptr_t)(list->entries[i].key & objects));
	}
	c->agent->prefetch_objects(keys, count);
}

/*
 * Calls the program's new_address() for each sample of a list.  Samples of dead objects are closed;
 * objects that grew old go to the old list; the list keeps the rest.
 */
static void visit_objects(const struct gg_embed_collection *c, struct gg_embed_live_list *list,
                          enum geiger_generation generation, struct gg_embed_live_list *old)
{
	uint64_t objects = (UINT64_C(1) << GG_AGENT_KEY_BITS) - 1;
	uint32_t kept = 0, count = list->count;

	for (uint32_t i = 0; i < count; i++) {
		struct gg_embed_live_object entry = list->entries[i];
		enum geiger_generation now = generation;
		uint64_t object;

		if (i % PREFETCHED == 0)
			prefetch(c, list, i);
		if (c->agent->find(entry.key) != entry.id)
			continue;
		object = (uint64_t)(uintptr_t)c->new_address(
			c->user, (const void *)(uintptr_t)(entry.key & objects), &now);
		entry.to = gg_agent_key((uint32_t)(entry.key >> GG_AGENT_KEY_BITS), object);
		if (object == 0 || object > objects) {
			if (c->agent->close(entry.key, entry.id))
				gg_embed_count(GG_EMBED_FREED);
			continue;
		}
		if (generation == GEIGER_YOUNG && now == GEIGER_OLD &&
		    c->agent->promote(entry.key, entry.id)) {
			gg_embed_count(GG_EMBED_PROMOTED);
			gg_embed_live_list_append(old, entry.key, entry.id);
			if (old->count > 0 && old->entries[old->count - 1].id == entry.id)
				old->entries[old->count - 1].to = entry.to;
			continue;
		}
		gg_assert(kept <= i);
		list->entries[kept++] = entry;
	}
	list->count = kept;
}

/*
 * Moves each sample to its new key.  Objects may swap places, so a new key may still belong to a
 * sample that moves later; then the sample waits under a key that no heap has, until occupy_keys().
 */
static void vacate_keys(const struct gg_embed_collection *c, struct gg_embed_live_list *list,
                        uint32_t first, uint32_t parked)
{
	for (uint32_t i = first; i < list->count; i++) {
		struct gg_embed_live_object *entry = &list->entries[i];
		uint64_t to = entry->to;

		if (to == 0 || to == entry->key)
			continue;
		if (c->agent->find(to) != 0)
			to = gg_agent_key(PARKED_HEAP, (uint64_t)parked << 32 | (i + 1));
		if (c->agent->move(entry->key, to, entry->id))
			entry->key = to;
	}
}

static void occupy_keys(const struct gg_embed_collection *c, struct gg_embed_live_list *list,
                        uint32_t first)
{
	for (uint32_t i = first; i < list->count; i++) {
		struct gg_embed_live_object *entry = &list->entries[i];

		if (entry->to == 0)
			continue;
		if (entry->key != entry->to && c->agent->move(entry->key, entry->to, entry->id))
			entry->key = entry->to;
		entry->to = 0;
	}
}

/* Counts the objects whose address has changed. */
static void count_moves(const struct gg_embed_live_list *list, uint32_t first)
{
	for (uint32_t i = first; i < list->count; i++)
		if (list->entries[i].to != 0 && list->entries[i].to != list->entries[i].key)
			gg_embed_count(GG_EMBED_MOVED);
}

static size_t collect(const struct gg_embed_collection *c, enum geiger_generation generations)
{
	struct gg_embed_live_objects *live_objects = &c->heap->live_objects;
	struct gg_embed_live_list *young = &live_objects->young, *old = &live_objects->old;
	uint32_t first_young = young->count,
		 first_old; /* entries from here on were visited, or are new */

	gg_assert(gg_load_relaxed(&live_objects->lock) != 0);
	/* The old list first, so that objects that grow old now are not visited twice. */
	if ((generations & GEIGER_OLD) != 0)
		visit_objects(c, old, GEIGER_OLD, old);
	first_old = (generations & GEIGER_OLD) != 0 ? 0 : old->count;
	if ((generations & GEIGER_YOUNG) != 0) {
		visit_objects(c, young, GEIGER_YOUNG, old);
		first_young = 0;
	}
	count_moves(young, first_young);
	count_moves(old, first_old);
	vacate_keys(c, young, first_young, 0);
	vacate_keys(c, old, first_old, 1);
	occupy_keys(c, young, first_young);
	occupy_keys(c, old, first_old);
	gg_assert(first_young <= young->count && first_old <= old->count);
	return (young->count - first_young) + (old->count - first_old);
}

size_t geiger_collected(uint32_t heap, enum geiger_generation generations,
                        geiger_new_address *new_address, void *user)
{
	struct gg_embed_thread *t = gg_embed_thread();
	struct gg_embed_collection c = { .heap = gg_embed_heap_of(heap),
		                         .agent = gg_embed_agent(),
		                         .new_address = new_address,
		                         .user = user };
	uint32_t generation;
	size_t count = 0;

	if (c.heap == NULL || c.agent == NULL || new_address == NULL || t == NULL ||
	    !gg_embed_enter(t))
		return 0;
	gg_embed_settings_refresh();
	generation = gg_load_relaxed(&gg_embed_settings.generation);
	if (gg_load_relaxed(&c.heap->number) != 0 &&
	    gg_embed_live_objects_lock(&c.heap->live_objects, generation)) {
		if (gg_load_relaxed(&c.heap->live_objects.is_on) == 0) {
			c.agent->each(gg_load_relaxed(&c.heap->number), append_live,
			              &c.heap->live_objects);
			gg_store_release(&c.heap->live_objects.is_on, 1);
		}
		count = collect(&c, generations);
		gg_embed_live_objects_unlock(&c.heap->live_objects);
	}
	gg_embed_leave(t);
	return count;
}
