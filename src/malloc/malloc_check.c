/* SPDX-License-Identifier: Apache-2.0 */
/* malloc_check - visits every slab and heap. */
#include "malloc/malloc_check.h"

#include <stdint.h>
#include <string.h>

#include "malloc/arena.h"
#include "malloc/guarded_blocks.h"
#include "malloc/list_link.h"
#include "malloc/sampled_slots.h"
#include "malloc/thread_heap.h"

enum { SLAB_BLOCKS_MAX = GG_MALLOC_SLICE_BYTES / 16 };

/* The blocks of one slab that were seen so far. */
struct seen_blocks {
	struct gg_malloc_slab *slab;
	const char *wrong; /* the first finding; NULL: none */
	uint8_t blocks[SLAB_BLOCKS_MAX];
};

static void fail(struct seen_blocks *seen, const char *what)
{
	if (seen->wrong == NULL)
		seen->wrong = what;
}

static void see(struct seen_blocks *seen, const void *p)
{
	size_t offset = (size_t)((const char *)p - gg_malloc_slab_start(seen->slab));
	size_t number = offset / seen->slab->block_bytes;

	if ((const char *)p < gg_malloc_slab_start(seen->slab) ||
	    offset % seen->slab->block_bytes != 0 || number >= seen->slab->extended)
		fail(seen, "a list has an address that is no block of its slab");
	else if (seen->blocks[number]++ != 0)
		fail(seen, "a block is in two places");
}

/* Returns how many blocks a list has, up to `most`. */
static uint32_t see_list(struct seen_blocks *seen, const struct gg_malloc_block *block,
                         uint32_t most)
{
	uint32_t count = 0;

	for (; block != NULL && seen->wrong == NULL; block = gg_malloc_link_next(block)) {
		if (count++ == most)
			fail(seen, "a list is longer than its slab");
		see(seen, block);
	}
	return count;
}

static void see_home(void *user, struct gg_malloc_slab *slots, void *p,
                     const struct gg_malloc_slot *slot)
{
	struct seen_blocks *seen = user;

	(void)p;
	if (gg_malloc_slab_of(slot->home) != seen->slab)
		return;
	see(seen, slot->home);
	if (seen->slab->class != slots->class)
		fail(seen, "a home has another class than its slot");
}

static void see_guarded_home(void *user, void *home, unsigned class)
{
	struct seen_blocks *seen = user;

	if (gg_malloc_slab_of(home) != seen->slab)
		return;
	see(seen, home);
	if (seen->slab->class != class)
		fail(seen, "a home has another class than its guarded block");
}

static void check_current(struct seen_blocks *seen, const struct gg_malloc_heap *heap)
{
	const struct gg_malloc_slab *slab = seen->slab;
	const struct gg_malloc_supply *supply = &heap->supplies[slab->class];
	uint32_t rest = see_list(seen, supply->rest, slab->extended);

	see_list(seen, heap->handed[slab->class], slab->extended);
	if (rest != supply->rest_count)
		fail(seen, "the rest of a cut list has another length than was counted");
	if (supply->is_due && rest == 0)
		fail(seen, "a sample is due and has no home");
	if (slab->bias != 0)
		fail(seen, "a current slab has a bias");
}

static void check_place(struct seen_blocks *seen, const struct gg_malloc_heap *heap)
{
	const struct gg_malloc_supply *supply = &heap->supplies[seen->slab->class];
	const struct gg_malloc_slab *queued = supply->first;

	while (queued != NULL && queued != seen->slab)
		queued = queued->next;
	if ((seen->slab->state == GG_MALLOC_SLAB_QUEUED) != (queued != NULL))
		fail(seen, "a slab is in the queue and should not be, or the other way round");
	if ((seen->slab->state == GG_MALLOC_SLAB_CURRENT) != (supply->current == seen->slab))
		fail(seen, "a slab is current and should not be, or the other way round");
	if (seen->slab->state == GG_MALLOC_SLAB_FULL && seen->slab->countdown == 0)
		fail(seen, "a full slab waits for no frees");
}

static const char *check_slab(struct gg_malloc_slab *slab)
{
	const struct gg_malloc_heap *heap = (const struct gg_malloc_heap *)slab->owner; /* NOLINT */
	struct seen_blocks seen = { .slab = slab };
	uint32_t free_count, others = 0;

	if (slab->extended > slab->capacity || slab->capacity > SLAB_BLOCKS_MAX)
		return "a slab has more blocks than it has room for";
	free_count = see_list(&seen, slab->local_free, slab->extended);
	if (free_count + gg_malloc_slab_used(slab) != slab->extended)
		fail(&seen, "used and free blocks are not all blocks of the slab");
	see_list(&seen, slab->remote, slab->extended);
	check_place(&seen, heap);
	if (slab->state == GG_MALLOC_SLAB_CURRENT)
		check_current(&seen, heap);
	gg_malloc_slots_visit(see_home, &seen);
	gg_malloc_guard_visit(see_guarded_home, &seen);
	for (uint32_t i = 0; i < slab->extended; i++)
		others += seen.blocks[i];
	if (others - free_count > gg_malloc_slab_used(slab))
		fail(&seen, "more blocks are handed than are used");
	return seen.wrong;
}

static const char *check_heap(const struct gg_malloc_heap *heap)
{
	for (unsigned i = 0; i < GG_MALLOC_CLASS_COUNT; i++) {
		const struct gg_malloc_supply *supply = &heap->supplies[i];
		const struct gg_malloc_slab *previous = NULL, *slab;

		for (slab = supply->first; slab != NULL; previous = slab, slab = slab->next) {
			if (slab->previous != previous || slab->class != i || slab->bias != 0)
				return "a queue is broken";
			if ((slab->countdown == 0) != (slab == supply->empty))
				return "an empty slab that was not noted, or the other way round";
		}
		if (supply->last != previous)
			return "a queue has another end than was noted";
		if (supply->empty != NULL && supply->empty->countdown != 0)
			return "a slab was noted as empty and is not";
		if (supply->is_due && (supply->rest == NULL || supply->has_gap))
			return "a due sample without its cut";
		if (supply->current == NULL && (supply->rest != NULL || heap->handed[i] != NULL))
			return "blocks are handed of no slab";
	}
	return NULL;
}

static void check_slot(void *user, struct gg_malloc_slab *slab, void *p,
                       const struct gg_malloc_slot *slot)
{
	struct seen_blocks *seen = user;
	const struct gg_malloc_slab *home = gg_malloc_slab_of(slot->home);

	if (gg_malloc_slab_of(p) != slab || slab->owner != GG_MALLOC_OWNER_SLOTS)
		fail(seen, "a slot is in no slab of slots");
	if (home == NULL || home->owner <= GG_MALLOC_OWNER_SLOTS)
		fail(seen, "a slot's home is in no slab");
}

const char *gg_malloc_validate(void)
{
	const char *wrong = gg_malloc_arena_check();
	const struct gg_malloc_heap *heap;
	struct seen_blocks seen = { .wrong = wrong };

	gg_malloc_slots_visit(check_slot, &seen);
	wrong = seen.wrong;
	/* Acquire: pairs with gg_malloc_heap_abandon() of threads that have ended. */
	for (heap = gg_malloc_first_heap(); heap != NULL; heap = heap->next)
		gg_load_acquire(&heap->state);
	for (heap = gg_malloc_first_heap(); heap != NULL && wrong == NULL; heap = heap->next)
		wrong = check_heap(heap);
	for (size_t slice = 0; slice < gg_malloc_map.limit && wrong == NULL; slice++) {
		struct gg_malloc_slab *slab = gg_malloc_map.entries[slice];

		if (slab != NULL && gg_malloc_slab_slice(slab) == slice &&
		    slab->owner > GG_MALLOC_OWNER_SLOTS)
			wrong = check_slab(slab);
	}
	return wrong;
}
