/* SPDX-License-Identifier: Apache-2.0 */
/* live_objects - keeps the lists of live samples, and the lock of a heap's lists. */
#include "embed/live_objects.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "embed/counts.h"

enum { FIRST_ENTRIES = 1024, ENTRIES_MAX = 1 << 26, LIST_LOCK_TRIES = 100000 };

bool gg_embed_live_objects_lock(struct gg_embed_live_objects *live_objects, uint32_t generation)
{
	uint32_t own = generation + 1;

	for (int i = 0; i < LIST_LOCK_TRIES; i++) {
		uint32_t expected = 0;

		/* Acquire: pairs with the release of gg_embed_live_objects_unlock(). */
		if (gg_cas_acq_rel(&live_objects->lock, &expected, own))
			return true;
		/*
		 * The owner is a thread of the process from which this one was forked.  It does not
		 * exist here and will never unlock, so this thread takes the lock over.
		 */
		if (expected != own && gg_cas_acq_rel(&live_objects->lock, &expected, own))
			return true;
	}
	return false;
}

void gg_embed_live_objects_unlock(struct gg_embed_live_objects *live_objects)
{
	gg_assert(gg_load_relaxed(&live_objects->lock) != 0);
	gg_store_release(&live_objects->lock, 0);
}

/* Doubles the list by bare system calls, because the agent may count mmap() for the program. */
static bool grow(struct gg_embed_live_list *list)
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
	list->entries = (struct gg_embed_live_object *)address;
	list->capacity = capacity;
	return true;
}

void gg_embed_live_list_append(struct gg_embed_live_list *list, uint64_t key, uint64_t id)
{
	gg_assert(list->count <= list->capacity);
	if (list->count == list->capacity && !grow(list)) {
		gg_embed_count(GG_EMBED_DROPPED);
		return;
	}
	gg_assert(list->count < list->capacity);
	list->entries[list->count++] = (struct gg_embed_live_object){ .key = key, .id = id };
}

/* A heap without a collection needs no lists, so its samples pay for one load only. */
void gg_embed_live_objects_add(struct gg_embed_live_objects *live_objects, uint32_t generation,
                               uint64_t key, uint64_t id, bool is_old)
{
	/*
	 * Acquire: pairs with the release of the first collection, whose lists are then complete.
	 */
	if (gg_likely(gg_load_acquire(&live_objects->is_on) == 0))
		return;
	if (!gg_embed_live_objects_lock(live_objects, generation)) {
		gg_embed_count(GG_EMBED_DROPPED);
		return;
	}
	gg_embed_live_list_append(is_old ? &live_objects->old : &live_objects->young, key, id);
	gg_embed_live_objects_unlock(live_objects);
}
