/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc_arenas - recognizes the state of an arena by its bins (look/glibc_arenas.h).
 */
#include "record/look/glibc_arenas.h"

#include <errno.h>
#include <string.h>

#include "record/look/libc_data.h"

enum {
	BINS = 127,
	ARENAS_MAX = 1 << 14,
};

struct bin_links {
	uint64_t forward, backward;
};

/* The state of an arena. */
struct arena_state {
	uint32_t mutex, flags, has_fast_chunks, padding;
	uint64_t fast_heads[GG_GLIBC_FAST_BINS];
	uint64_t top, last_remainder;
	struct bin_links bins[BINS];
	uint32_t bin_map[4];
	uint64_t next;
};

/* Whether the address is that of a chunk of the arena. */
static bool is_chunk(const struct gg_glibc_view *view, uint64_t arena, uint64_t address)
{
	const struct gg_glibc_heap *heap = gg_glibc_heaps_at(view->heaps, address);

	return heap != NULL && heap->arena == arena && address % GG_GLIBC_HEAD_BYTES == 0;
}

/*
 * Whether this is the state of an arena at `address`; `arena` is its name in heaps.  A bin that is
 * empty leads to where a chunk would begin that has the bin as its links.
 */
static bool is_state(const struct gg_glibc_view *view, const struct arena_state *state,
                     uint64_t address, uint64_t arena)
{
	if (!is_chunk(view, arena, state->top))
		return false;
	for (size_t i = 0; i < BINS; i++) {
		const struct bin_links *bin = &state->bins[i];
		uint64_t self = address + offsetof(struct arena_state, bins) + i * sizeof(*bin) -
		                GG_GLIBC_HEAD_BYTES;

		if (bin->forward != self && !is_chunk(view, arena, bin->forward))
			return false;
		if (bin->backward != self && !is_chunk(view, arena, bin->backward))
			return false;
	}
	for (size_t i = 0; i < GG_GLIBC_FAST_BINS; i++)
		if (state->fast_heads[i] != 0 && !is_chunk(view, arena, state->fast_heads[i]))
			return false;
	return true;
}

static bool add_arena(struct gg_glibc_arenas *arenas, const struct arena_state *state,
                      uint64_t arena)
{
	struct gg_glibc_arena *item = gg_array_add(&arenas->items);

	if (item == NULL)
		return false;
	item->state = arena;
	memcpy(item->fast_heads, state->fast_heads, sizeof(item->fast_heads));
	return true;
}

/* Finds the main arena in the data of libc.  Returns its address; 0: there is not exactly one. */
static uint64_t find_main(const struct gg_glibc_view *view, const struct gg_libc_data *data,
                          struct arena_state *state)
{
	struct arena_state found;
	uint64_t address = 0;

	for (size_t at = 0; at + sizeof(found) <= data->count; at += GG_GLIBC_HEAD_BYTES) {
		memcpy(&found, data->bytes + at, sizeof(found));
		if (!is_state(view, &found, data->begin + at, 0))
			continue;
		if (address != 0)
			return 0;
		*state = found;
		address = data->begin + at;
	}
	return address;
}

static size_t count_arenas(const struct gg_glibc_heaps *heaps)
{
	size_t count = 0;

	for (size_t i = 0; i < heaps->items.count; i++) {
		const struct gg_glibc_heap *heap = &heaps->items.items[i];

		count += heap->arena == 0 ||
		         (heap->arena >= heap->begin && heap->arena < heap->end);
	}
	return count;
}

/* Copies the state of an arena in a heap.  Returns 1, 0 if it is absent, or -Exxx. */
static int read_state(const struct gg_glibc_view *view, uint64_t arena, struct arena_state *ret)
{
	const struct gg_memory_source *source = view->residency->source;
	const struct gg_memory_range range = { arena, sizeof(*ret), ret };

	if (!gg_residency_has(view->residency, arena) ||
	    !gg_residency_has(view->residency, arena + sizeof(*ret) - 1))
		return 0;
	return (int)source->read_ranges(source->context, &range, 1);
}

/* Follows the ring from the main arena on.  Returns 1 if it is whole, 0, or -Exxx. */
static int follow_ring(struct gg_glibc_arenas *arenas, const struct gg_glibc_view *view,
                       uint64_t main_address, struct arena_state *state)
{
	const size_t wanted = count_arenas(view->heaps);
	uint64_t arena = 0, address = main_address;

	while (arenas->items.count < wanted && arenas->items.count < ARENAS_MAX) {
		const struct gg_glibc_heap *heap;
		int status;

		if (!add_arena(arenas, state, arena))
			return -ENOMEM;
		address = state->next;
		if (address == main_address)
			break;
		heap = gg_glibc_heaps_at(view->heaps, address);
		if (heap == NULL || heap->arena != address)
			return 0;
		arena = address;
		status = read_state(view, arena, state);
		if (status <= 0)
			return status;
		if (!is_state(view, state, arena, arena))
			return 0;
	}
	return address == main_address && arenas->items.count == wanted;
}

int gg_glibc_arenas_read(struct gg_glibc_arenas *arenas, const struct gg_glibc_view *view)
{
	struct gg_libc_data data;
	struct arena_state state;
	uint64_t main_address;
	int status = gg_libc_data_read(&data, view->map, view->residency);

	arenas->is_known = false;
	arenas->items.count = 0;
	if (status < 0)
		return status;
	main_address = find_main(view, &data, &state);
	if (main_address != 0)
		status = follow_ring(arenas, view, main_address, &state);
	gg_libc_data_done(&data);
	arenas->is_known = status == 1;
	return status < 0 ? status : 0;
}

void gg_glibc_arenas_done(struct gg_glibc_arenas *arenas)
{
	gg_array_done(&arenas->items);
}
