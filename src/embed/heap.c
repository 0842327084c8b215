/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap - keeps the table of registered heaps.
 *
 * Heaps are only added, and never renamed.  So readers need no lock: an acquire of the count makes
 * all entries below it valid.
 */
#include "embed/heap.h"

#include <pthread.h>
#include <string.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "embed/counts.h"

static struct gg_embed_heap heaps[GG_EMBED_HEAPS];
static uint32_t heap_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held to add a heap */

void gg_embed_heap_forked(void)
{
	/* Another thread of the parent may have held the lock, and does not exist in the child. */
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

struct gg_embed_heap *gg_embed_heap_of(uint32_t heap)
{
	/* Acquire: pairs with the release of the count that includes it. */
	if (heap >= 1 && heap <= gg_load_acquire(&heap_count))
		return &heaps[heap - 1];
	if (heap != 0)
		gg_embed_count(GG_EMBED_UNKNOWN_HEAPS);
	return NULL;
}

void gg_embed_heap_forget_numbers(void)
{
	/* Acquire: pairs with the release of the count that includes the heap. */
	uint32_t count = gg_load_acquire(&heap_count);

	for (uint32_t i = 0; i < count; i++)
		gg_store_relaxed(&heaps[i].number, 0);
}

static size_t append(char *text, size_t length, const char *more)
{
	while (*more != '\0' && length < GG_EMBED_HEAP_NAME_MAX - 1)
		text[length++] = *more++;
	text[length] = '\0';
	return length;
}

/* Sets the name that reports show: "NAME", or "NAME [UNIT]" for a unit other than bytes. */
static void set_name(struct gg_embed_heap *heap, const char *name, const char *unit)
{
	size_t length = append(heap->name, 0, name);

	if (unit != NULL && *unit != '\0' && strcmp(unit, "bytes") != 0) {
		length = append(heap->name, length, " [");
		length = append(heap->name, length, unit);
		length = append(heap->name, length, "]");
	}
	gg_assert(length < GG_EMBED_HEAP_NAME_MAX && heap->name[length] == '\0');
	heap->name_bytes = (uint32_t)length;
}

uint32_t geiger_heap_register(const char *name, const char *unit)
{
	struct gg_embed_heap wanted;
	uint32_t heap = 0;

	if (name == NULL || *name == '\0')
		return 0;
	memset(&wanted, 0, sizeof(wanted));
	set_name(&wanted, name, unit);
	pthread_mutex_lock(&lock);
	while (heap < heap_count && strcmp(heaps[heap].name, wanted.name) != 0)
		heap++;
	gg_assert(heap <= heap_count && heap_count <= GG_EMBED_HEAPS);
	if (heap == GG_EMBED_HEAPS) {
		heap = 0;
		gg_embed_count(GG_EMBED_NAMES_DROPPED);
	} else {
		if (heap == heap_count) {
			heaps[heap] = wanted;
			/* Release: a thread that reads the count finds the entry's name. */
			gg_store_release(&heap_count, heap + 1);
		}
		heap++;
	}
	pthread_mutex_unlock(&lock);
	return heap;
}

void geiger_heap_set_frame_provider(uint32_t heap, geiger_frame_provider *provide, void *user)
{
	struct gg_embed_heap *of = gg_embed_heap_of(heap);

	if (of == NULL)
		return;
	of->provide_user = user;
	/* Release: a thread that reads the function finds its argument. */
	gg_store_release(&of->provide, provide);
}
