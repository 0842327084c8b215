/* SPDX-License-Identifier: Apache-2.0 */
#include "record/process/live_set.h"

#include <errno.h>
#include <stdlib.h>

void gg_live_set_init(struct gg_live_set *held, uint32_t limit)
{
	*held = (struct gg_live_set){ .limit = limit };
}

void gg_live_set_done(struct gg_live_set *held)
{
	gg_map_done(&held->by_number);
	gg_array_done(&held->samples);
	free(held->ended);
	*held = (struct gg_live_set){ 0 };
}

struct gg_live_set_sample *gg_live_set_find(const struct gg_live_set *held, uint64_t number)
{
	uint64_t index = gg_map_get(&held->by_number, number);

	return index != GG_MAP_NONE ? &held->samples.items[index] : NULL;
}

/* A place for one more: its index, or UINT32_MAX. */
static uint32_t take(struct gg_live_set *held)
{
	uint32_t index = held->first_free;

	if (index != 0) {
		held->first_free = (uint32_t)held->samples.items[index - 1].id;
		return index - 1;
	}
	if (gg_array_add(&held->samples) == NULL)
		return UINT32_MAX;
	return (uint32_t)held->samples.count - 1;
}

static void forget(struct gg_live_set *held, uint32_t index)
{
	struct gg_live_set_sample *sample = &held->samples.items[index];

	gg_map_remove(&held->by_number, sample->number);
	*sample = (struct gg_live_set_sample){ .id = held->first_free };
	held->first_free = index + 1;
}

int gg_live_set_add(struct gg_live_set *held, uint64_t number, uint64_t id, uint64_t time_ns)
{
	uint32_t index;

	if (held->live_count >= held->limit)
		return -ENOSPC;
	index = take(held);
	if (index == UINT32_MAX)
		return -ENOMEM;
	held->samples.items[index] = (struct gg_live_set_sample){
		.number = number, .id = id, .time_ns = time_ns & ~GG_LIVE_SET_ENDED
	};
	if (gg_map_put(&held->by_number, number, index) < 0) {
		held->samples.items[index] = (struct gg_live_set_sample){ .id = held->first_free };
		held->first_free = index + 1;
		return -ENOMEM;
	}
	held->live_count++;
	return 0;
}

void gg_live_set_end(struct gg_live_set *held, struct gg_live_set_sample *sample)
{
	uint32_t index = (uint32_t)(sample - held->samples.items);

	sample->time_ns |= GG_LIVE_SET_ENDED;
	held->live_count--;
	if (held->ended == NULL)
		held->ended = malloc(GG_LIVE_SET_ENDED_MAX * sizeof(*held->ended));
	if (held->ended == NULL) {
		forget(held, index);
		return;
	}
	if (held->ended_count == GG_LIVE_SET_ENDED_MAX) {
		forget(held, held->ended[held->ended_first]);
		held->ended_first = (held->ended_first + 1) % GG_LIVE_SET_ENDED_MAX;
		held->ended_count--;
	}
	held->ended[(held->ended_first + held->ended_count) % GG_LIVE_SET_ENDED_MAX] = index;
	held->ended_count++;
}
