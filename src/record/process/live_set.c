/* SPDX-License-Identifier: Apache-2.0 */
#include "record/process/live_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void gg_live_set_init(struct gg_live_set *live_set, uint32_t limit)
{
	*live_set = (struct gg_live_set){ .limit = limit };
}

void gg_live_set_done(struct gg_live_set *live_set)
{
	gg_map_done(&live_set->by_number);
	gg_array_done(&live_set->samples);
	free(live_set->ended);
	*live_set = (struct gg_live_set){ 0 };
}

struct gg_live_set_sample *gg_live_set_find(const struct gg_live_set *live_set, uint64_t number)
{
	uint64_t index = gg_map_get(&live_set->by_number, number);

	return index != GG_MAP_NONE ? &live_set->samples.items[index] : NULL;
}

/* A place for one more: its index, or UINT32_MAX. */
static uint32_t take(struct gg_live_set *live_set)
{
	uint32_t index = live_set->first_free;

	if (index != 0) {
		live_set->first_free = (uint32_t)live_set->samples.items[index - 1].id;
		return index - 1;
	}
	if (gg_array_add(&live_set->samples) == NULL)
		return UINT32_MAX;
	return (uint32_t)live_set->samples.count - 1;
}

static void forget(struct gg_live_set *live_set, uint32_t index)
{
	struct gg_live_set_sample *sample = &live_set->samples.items[index];

	gg_map_remove(&live_set->by_number, sample->number);
	*sample = (struct gg_live_set_sample){ .id = live_set->first_free };
	live_set->first_free = index + 1;
}

int gg_live_set_add(struct gg_live_set *live_set, uint64_t number, uint64_t id, uint64_t time_ns)
{
	uint32_t index;

	if (live_set->live_count >= live_set->limit)
		return -ENOSPC;
	index = take(live_set);
	if (index == UINT32_MAX)
		return -ENOMEM;
	live_set->samples.items[index] = (struct gg_live_set_sample){
		.number = number, .id = id, .time_ns = time_ns & ~GG_LIVE_SET_ENDED
	};
	if (gg_map_put(&live_set->by_number, number, index) < 0) {
		live_set->samples.items[index] = (struct gg_live_set_sample){
			.id = live_set->first_free
		};
		live_set->first_free = index + 1;
		return -ENOMEM;
	}
	live_set->live_count++;
	return 0;
}

/* Room for one more end. */
static bool grow_ended(struct gg_live_set *live_set)
{
	uint32_t capacity = live_set->ended_capacity;
	struct gg_live_set_ending *more;

	if (live_set->ended_count < capacity)
		return true;
	more = reallocarray(live_set->ended, capacity > 0 ? (size_t)capacity * 2 : 64,
	                    sizeof(*more));
	if (more == NULL)
		return false;
	/* The ring is full: what stands before its first entry goes behind the rest. */
	memcpy(more + capacity, more, live_set->ended_first * sizeof(*more));
	live_set->ended = more;
	live_set->ended_capacity = capacity > 0 ? capacity * 2 : 64;
	return true;
}

static bool may_forget(const struct gg_live_set *live_set, uint64_t round)
{
	return live_set->ended_count > GG_LIVE_SET_ENDED_MAX &&
	       (uint32_t)round - live_set->ended[live_set->ended_first].round >= GG_LIVE_SET_ROUNDS;
}

static void forget_oldest(struct gg_live_set *live_set)
{
	forget(live_set, live_set->ended[live_set->ended_first].index);
	live_set->ended_first = (live_set->ended_first + 1) & (live_set->ended_capacity - 1);
	live_set->ended_count--;
}

void gg_live_set_end(struct gg_live_set *live_set, struct gg_live_set_sample *sample,
                     uint64_t round)
{
	uint32_t index = (uint32_t)(sample - live_set->samples.items), place;

	sample->time_ns |= GG_LIVE_SET_ENDED;
	live_set->live_count--;
	if (!grow_ended(live_set)) {
		forget(live_set, index);
		return;
	}
	place = (live_set->ended_first + live_set->ended_count) & (live_set->ended_capacity - 1);
	live_set->ended[place] = (struct gg_live_set_ending){ index, (uint32_t)round };
	live_set->ended_count++;
	while (may_forget(live_set, round))
		forget_oldest(live_set);
}
