/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_events - reports deaths, moves and promotions of single objects.
 *
 * Most objects are no samples.  The filter recognizes nearly all of these without a call of the
 * agent.  collection.c handles many objects at once.
 */
#include <errno.h>

#include "embed/counts.h"
#include "embed/heap.h"
#include "embed/name_ids.h"
#include "embed/object_events.h"
#include "embed/public.h"
#include "embed/sampling_settings.h"
#include "region/writer/filter.h"

/* The key of an object that may be a sample; 0: it is no sample. */
static uint64_t key_of(uint32_t heap, const void *object)
{
	const struct gg_agent_functions *agent = gg_embed_agent();
	struct gg_embed_heap *of = gg_embed_heap_of(heap);
	uint32_t number;
	uint64_t key;

	if (of == NULL || agent == NULL)
		return 0;
	number = gg_load_relaxed(&of->number);
	key = gg_agent_key(number, (uint64_t)(uintptr_t)object);
	/* Acquire: pairs with the release of a grown filter, whose cells were written before. */
	if (number == 0 || object == NULL ||
	    (uint64_t)(uintptr_t)object >> GG_AGENT_KEY_BITS != 0 ||
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

struct gg_embed_sample_id gg_embed_find_sample(uint32_t heap, const void *object)
{
	struct gg_embed_sample_id found = { .key = key_of(heap, object) };

	if (gg_unlikely(found.key != 0))
		found.id = gg_embed_agent()->find(found.key);
	return found;
}

void gg_embed_close_sample(struct gg_embed_sample_id sample)
{
	if (sample.id != 0 && gg_embed_agent()->close(sample.key, sample.id))
		gg_embed_count(GG_EMBED_FREED);
}

void geiger_moved(uint32_t heap, const void *from, const void *to)
{
	uint64_t key = key_of(heap, from);

	if (gg_likely(key == 0))
		return;
	if (to == NULL || (uint64_t)(uintptr_t)to >> GG_AGENT_KEY_BITS != 0) {
		gg_embed_count(GG_EMBED_BAD_SAMPLES);
		return;
	}
	/* The key has the heap's number in the region, which the new key shares. */
	if (from != to &&
	    gg_embed_agent()->move(
		    key,
		    gg_agent_key((uint32_t)(key >> GG_AGENT_KEY_BITS), (uint64_t)(uintptr_t)to), 0))
		gg_embed_count(GG_EMBED_MOVED);
}

void geiger_promoted(uint32_t heap, const void *object)
{
	uint64_t key = key_of(heap, object);

	if (gg_unlikely(key != 0) && gg_embed_agent()->promote(key, 0))
		gg_embed_count(GG_EMBED_PROMOTED);
}

void geiger_set_type(uint32_t heap, const void *object, const char *type)
{
	uint64_t key = key_of(heap, object);
	uint16_t number;

	if (gg_likely(key == 0))
		return;
	number = gg_embed_type_number(type);
	if (number != 0)
		gg_embed_agent()->set_type(key, 0, number);
}

int geiger_snapshot(const char *path)
{
	const struct gg_agent_functions *agent = gg_embed_agent();

	if (path == NULL)
		return -EINVAL;
	return agent != NULL ? agent->snapshot(path) : -ENOENT;
}
