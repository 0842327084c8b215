/* SPDX-License-Identifier: Apache-2.0 */
#include "record/process/live_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* Room for one more end. */
static bool grow_ended(struct gg_live_set *held)
{
	uint32_t capacity = held->ended_capacity;
	struct gg_live_set_ending *more;

	if (held->ended_count < capacity)
		return true;
	more = reallocarray(held->ended, capacity > 0 ? (size_t)capacity * 2 : 64, sizeof(*more));
	if (more == NULL)
		return false;
	/* The ring is full: what stands before its first entry goes behind the rest. */
	memcpy(more + capacity, more, held->ended_first * sizeof(*more));
	held->ended = more;
	held->ended_capacity = capacity > 0 ? capacity * 2 : 64;
	return true;
}

static bool may_forget(const struct gg_live_set *held, uint64_t round)
{
	return held->ended_count > GG_LIVE_SET_ENDED_MAX &&
	       (uint32_t)round - held->ended[held->ended_first].round >= GG_LIVE_SET_ROUNDS;
}

static void forget_oldest(struct gg_live_set *held)
{
	forget(held, held->ended[held->ended_first].index);
	held->ended_first = (held->ended_first + 1) & (held->ended_capacity - 1);
	held->ended_count--;
}

void gg_live_set_end(struct gg_live_set *held, struct gg_live_set_sample *sample, uint64_t round)
{
	uint32_t index = (uint32_t)(sample - held->samples.items), place;

	sample->time_ns |= GG_LIVE_SET_ENDED;
	held->live_count--;
	if (!grow_ended(held)) {
		forget(held, index);
		return;
	}
	place = (held->ended_first + held->ended_count) & (held->ended_capacity - 1);
	held->ended[place] = (struct gg_live_set_ending){ index, (uint32_t)round };
	held->ended_count++;
	while (may_forget(held, round))
		forget_oldest(held);
}
