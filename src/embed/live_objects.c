/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/live_objects.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "embed/counts.h"
#include "embed/embed_thread.h"
#include "embed/heap.h"
#include "embed/sampling_settings.h"

enum {
	FIRST_ENTRIES = 1024,
	ENTRIES_MAX = 1 << 26,
	LOCK_TRIES = 100000,
	EXPECTED = 16,       /* that are fetched at once */
	PARKED_HEAP = 0xffff /* of keys that no heap has */
};

static bool lock(struct gg_embed_tracked *tracked)
{
	uint32_t own = gg_load_relaxed(&gg_embed_settings.generation) + 1;

	for (int i = 0; i < LOCK_TRIES; i++) {
		uint32_t expected = 0;

		/* Acquire: pairs with the release of unlock(). */
		if (gg_cas_acq_rel(&tracked->lock, &expected, own))
			return true;
		/* Of a process that this one was forked from. */
		if (expected != own && gg_cas_acq_rel(&tracked->lock, &expected, own))
			return true;
	}
	return false;
}

static void unlock(struct gg_embed_tracked *tracked)
{
	gg_store_release(&tracked->lock, 0);
}

static bool grow(struct gg_embed_list *list)
{
	uint32_t capacity = list->capacity > 0 ? list->capacity * 2 : FIRST_ENTRIES;
	size_t bytes = (size_t)capacity * sizeof(*list->entries);
	int saved_errno = errno;
	long address;

	if (list->capacity >= ENTRIES_MAX)
		return false;
	if (list->entries == NULL)
		address = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
		                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
	else
		address = syscall(SYS_mremap, list->entries,
		                  (size_t)list->capacity * sizeof(*list->entries), bytes,
		                  MREMAP_MAYMOVE, NULL);
	errno = saved_errno;
	if (address == -1)
		return false;
	list->entries = (struct gg_embed_entry *)address;
	list->capacity = capacity;
	return true;
}

static void append(struct gg_embed_list *list, uint64_t key, uint64_t id)
{
	if (list->count == list->capacity && !grow(list)) {
		gg_embed_count(GG_EMBED_DROPPED);
		return;
	}
	list->entries[list->count++] = (struct gg_embed_entry){ .key = key, .id = id };
}

void gg_embed_track(struct gg_embed_heap *heap, uint64_t key, uint64_t id, bool is_old)
{
	struct gg_embed_tracked *tracked = &heap->tracked;

	if (gg_likely(gg_load_acquire(&tracked->is_on) == 0))
		return;
	if (!lock(tracked)) {
		gg_embed_count(GG_EMBED_DROPPED);
		return;
	}
	append(is_old ? &tracked->old : &tracked->young, key, id);
	unlock(tracked);
}

static void take_live(uint64_t key, uint64_t id, bool is_old, void *context)
{
	struct gg_embed_tracked *tracked = context;

	append(is_old ? &tracked->old : &tracked->young, key, id);
}

struct collection {
	struct gg_embed_heap *heap;
	const struct gg_agent_functions *agent;
	const void *(*where)(void *user, const void *object, enum geiger_generation *generation);
	void *user;
};

/* What the next ones need, of the region and of the runtime: it will look at each object. */
static void expect(const struct collection *c, const struct gg_embed_list *list, uint32_t first)
{
	uint64_t keys[EXPECTED], objects = (UINT64_C(1) << GG_AGENT_KEY_BITS) - 1;
	uint32_t count = 0;

	for (uint32_t i = first; i < list->count && count < EXPECTED; i++) {
		keys[count++] = list->entries[i].key;
		__builtin_prefetch((const void *)(uintptr_t)(list->entries[i].key & objects));
	}
	c->agent->expect_found(keys, count);
}

/*
 * Asks of each sample of a list; what is dead is closed, and of the others the list keeps those that stay
 * in this generation.
 */
static void ask(const struct collection *c, struct gg_embed_list *list,
                enum geiger_generation generation, struct gg_embed_list *old)
{
	uint64_t objects = (UINT64_C(1) << GG_AGENT_KEY_BITS) - 1;
	uint32_t kept = 0, count = list->count;

	for (uint32_t i = 0; i < count; i++) {
		struct gg_embed_entry entry = list->entries[i];
		enum geiger_generation now = generation;
		uint64_t object;

		if (i % EXPECTED == 0)
			expect(c, list, i);
		if (c->agent->find(entry.key) != entry.id)
			continue;
		object = (uint64_t)(uintptr_t)c->where(
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
			append(old, entry.key, entry.id);
			if (old->count > 0 && old->entries[old->count - 1].id == entry.id)
				old->entries[old->count - 1].to = entry.to;
			continue;
		}
		list->entries[kept++] = entry;
	}
	list->count = kept;
}

/* To where it goes, or, if that is still another one's, out of the way first. */
static void leave_places(const struct collection *c, struct gg_embed_list *list, uint32_t first,
                         uint32_t parked)
{
	for (uint32_t i = first; i < list->count; i++) {
		struct gg_embed_entry *entry = &list->entries[i];
		uint64_t to = entry->to;

		if (to == 0 || to == entry->key)
			continue;
		if (c->agent->find(to) != 0)
			to = gg_agent_key(PARKED_HEAP, (uint64_t)parked << 32 | (i + 1));
		if (c->agent->move(entry->key, to, entry->id))
			entry->key = to;
	}
}

static void take_places(const struct collection *c, struct gg_embed_list *list, uint32_t first)
{
	for (uint32_t i = first; i < list->count; i++) {
		struct gg_embed_entry *entry = &list->entries[i];

		if (entry->to == 0)
			continue;
		if (entry->key != entry->to && c->agent->move(entry->key, entry->to, entry->id))
			entry->key = entry->to;
		entry->to = 0;
	}
}

/* Those whose address has changed count as moved. */
static void count_moves(const struct gg_embed_list *list, uint32_t first)
{
	for (uint32_t i = first; i < list->count; i++)
		if (list->entries[i].to != 0 && list->entries[i].to != list->entries[i].key)
			gg_embed_count(GG_EMBED_MOVED);
}

static size_t collect(const struct collection *c, enum geiger_generation generations)
{
	struct gg_embed_tracked *tracked = &c->heap->tracked;
	struct gg_embed_list *young = &tracked->young, *old = &tracked->old;
	uint32_t first_young = young->count, first_old; /* that were asked of, or are new there */

	/* The old ones first: those that grow old now are not asked of twice. */
	if ((generations & GEIGER_OLD) != 0)
		ask(c, old, GEIGER_OLD, old);
	first_old = (generations & GEIGER_OLD) != 0 ? 0 : old->count;
	if ((generations & GEIGER_YOUNG) != 0) {
		ask(c, young, GEIGER_YOUNG, old);
		first_young = 0;
	}
	count_moves(young, first_young);
	count_moves(old, first_old);
	leave_places(c, young, first_young, 0);
	leave_places(c, old, first_old, 1);
	take_places(c, young, first_young);
	take_places(c, old, first_old);
	return (young->count - first_young) + (old->count - first_old);
}

size_t geiger_collected(uint32_t heap, enum geiger_generation generations,
                        const void *(*where)(void *user, const void *object,
                                             enum geiger_generation *generation),
                        void *user)
{
	struct gg_embed_thread *t = gg_embed_thread();
	struct collection c = { .heap = gg_embed_heap_of(heap),
		                .agent = gg_embed_agent(),
		                .where = where,
		                .user = user };
	size_t count = 0;

	if (c.heap == NULL || c.agent == NULL || where == NULL || t == NULL || !gg_embed_enter(t))
		return 0;
	gg_embed_look();
	if (gg_load_relaxed(&c.heap->number) != 0 && lock(&c.heap->tracked)) {
		if (gg_load_relaxed(&c.heap->tracked.is_on) == 0) {
			c.agent->each(gg_load_relaxed(&c.heap->number), take_live,
			              &c.heap->tracked);
			gg_store_release(&c.heap->tracked.is_on, 1);
		}
		count = collect(&c, generations);
		unlock(&c.heap->tracked);
	}
	gg_embed_leave(t);
	return count;
}
