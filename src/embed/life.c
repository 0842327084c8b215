/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to objects that were sampled: they die, move, and grow old. */
#include "embed/counts.h"
#include "embed/heap.h"
#include "embed/name.h"
#include "embed/public.h"
#include "embed/settings.h"
#include "region/filter.h"

/* The key of an object that may be a sample; 0: it is none. */
static uint64_t key_of(uint32_t heap, const void *object)
{
	const struct gg_agent_interface *agent = gg_embed_agent();
	struct gg_embed_heap *of = gg_embed_heap_of(heap);
	uint32_t number;
	uint64_t key;

	if (of == NULL || agent == NULL)
		return 0;
	number = gg_load_relaxed(&of->number);
	key = gg_agent_key(number, (uint64_t)(uintptr_t)object);
	/* Acquire: the cells of a new size were written before the view that shows them. */
	if (number == 0 || (uint64_t)(uintptr_t)object >> GG_AGENT_KEY_BITS != 0 ||
	    !gg_filter_view_maybe(gg_load_acquire(agent->filter_view), key))
		return 0;
	return key;
}

void geiger_freed(uint32_t heap, const void *object)
{
	uint64_t key = key_of(heap, object);

	if (gg_unlikely(key != 0) && gg_embed_agent()->close(key, 0))
		gg_embed_count(GG_EMBED_FREED);
}

void geiger_moved(uint32_t heap, const void *from, const void *to)
{
	(void)heap;
	(void)from;
	(void)to;
}

void geiger_promoted(uint32_t heap, const void *object)
{
	(void)heap;
	(void)object;
}

size_t geiger_collected(uint32_t heap, enum geiger_generation generations,
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

int geiger_snapshot(const char *path)
{
	(void)path;
	return -2;
}

int geiger_listen(void (*heard)(void *user, const struct geiger_event *event), void *user)
{
	(void)user;
	return heard == NULL ? -22 : -38;
}

int geiger_unlisten(void (*heard)(void *user, const struct geiger_event *event), void *user)
{
	(void)heard;
	(void)user;
	return -2;
}
