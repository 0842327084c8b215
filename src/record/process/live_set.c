/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_set - entries of samples, a list of free entries, and a ring of ends (process/live_set.h).
 *
 * An entry of `samples` is in one of three states: free (number 0, linked from `first_free`), live,
 * or ended (GG_LIVE_SET_ENDED is set and one end in the ring refers to it).  The map holds exactly
 * the numbers of the live and the ended entries.
 */
#include "record/process/live_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

void gg_live_set_init(struct gg_live_set *live_set, uint32_t limit)
{
	*live_set = (struct gg_live_set){ .limit = limit };
}

void gg_live_set_done(struct gg_live_set *live_set)
{
	gg_map_done(&live_set->by_number);
	gg_map_done(&live_set->late);
	gg_array_done(&live_set->samples);
	free(live_set->ended);
	*live_set = (struct gg_live_set){ 0 };
}

struct gg_live_set_sample *gg_live_set_find(const struct gg_live_set *live_set, uint64_t number)
{
	uint64_t index = gg_map_get(&live_set->by_number, number);

	return index != GG_MAP_NONE ? &live_set->samples.items[index] : NULL;
}

bool gg_live_set_is_late(const struct gg_live_set *live_set, uint64_t number)
{
	return live_set->late.used_count > 0 && gg_map_get(&live_set->late, number) != GG_MAP_NONE;
}

/* Takes a free entry or appends one.  Returns its index; UINT32_MAX: no memory. */
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

/* Removes a sample and puts its entry into the list of free entries. */
static void forget(struct gg_live_set *live_set, uint32_t index)
{
	struct gg_live_set_sample *sample = &live_set->samples.items[index];

	gg_assert(sample->number != 0);
	gg_map_remove(&live_set->by_number, sample->number);
	live_set->forgotten_count++;
	*sample = (struct gg_live_set_sample){ .id = live_set->first_free };
	live_set->first_free = index + 1;
}

int gg_live_set_add(struct gg_live_set *live_set, uint64_t number, uint64_t id, uint64_t time_ns)
{
	uint32_t index;

	gg_assert(number != 0);
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

/* Makes room for one more end. */
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
	/*
	 * The ring is full, and its oldest end is at ended_first.  The ends before that index are
	 * the newest ones.  Copying them behind the old capacity makes the ring contiguous again
	 * from ended_first on, so no index needs to change.
	 */
	memcpy(more + capacity, more, live_set->ended_first * sizeof(*more));
	live_set->ended = more;
	live_set->ended_capacity = capacity > 0 ? capacity * 2 : 64;
	return true;
}

/*
 * True if there are more ends than the set promises to remember, and the oldest of them is old
 * enough.  Rounds are compared modulo 2^32, so a long recording does not overflow them.
 */
static bool may_forget(const struct gg_live_set *live_set, uint64_t round)
{
	return live_set->ended_count > GG_LIVE_SET_ENDED_MAX &&
	       (uint32_t)round - live_set->ended[live_set->ended_first].round >= GG_LIVE_SET_ROUNDS;
}

static void forget_oldest(struct gg_live_set *live_set)
{
	const struct gg_live_set_sample *sample;

	gg_assert(live_set->ended_count > 0);
	sample = &live_set->samples.items[live_set->ended[live_set->ended_first].index];
	if (live_set->late.used_count >= GG_LIVE_SET_LATE_MAX)
		gg_map_done(&live_set->late);
	/* Without memory, a late event adds the sample anew. */
	if (!sample->has_alloc_event || !sample->has_end_event)
		(void)!gg_map_put(&live_set->late, sample->number, 1);
	forget(live_set, live_set->ended[live_set->ended_first].index);
	live_set->ended_first = (live_set->ended_first + 1) & (live_set->ended_capacity - 1);
	live_set->ended_count--;
}

void gg_live_set_end(struct gg_live_set *live_set, struct gg_live_set_sample *sample,
                     uint64_t round)
{
	uint32_t index = (uint32_t)(sample - live_set->samples.items), place;

	gg_assert(index < live_set->samples.count && sample->number != 0);
	gg_assert(gg_live_set_is_live(sample) && live_set->live_count > 0);
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

void gg_live_set_validate(const struct gg_live_set *live_set)
{
	uint32_t live_count = 0, ended_count = 0, free_count = 0;

	for (size_t i = 0; i < live_set->samples.count; i++) {
		const struct gg_live_set_sample *sample = &live_set->samples.items[i];

		if (sample->number == 0)
			continue;
		gg_assert(gg_map_get(&live_set->by_number, sample->number) == i);
		live_count += gg_live_set_is_live(sample);
		ended_count += !gg_live_set_is_live(sample);
	}
	gg_assert(live_count == live_set->live_count && live_count <= live_set->limit);
	gg_assert(ended_count == live_set->ended_count);
	gg_assert(live_set->ended_count <= live_set->ended_capacity);
	/* An entry that is linked twice would make the list longer than the array. */
	for (uint32_t next = live_set->first_free; next != 0; free_count++) {
		gg_assert(next <= live_set->samples.count && free_count < live_set->samples.count);
		gg_assert(live_set->samples.items[next - 1].number == 0);
		next = (uint32_t)live_set->samples.items[next - 1].id;
	}
	gg_assert(free_count + live_count + ended_count == live_set->samples.count);
	for (uint32_t i = 0; i < live_set->ended_count; i++) {
		const struct gg_live_set_ending *end =
			&live_set->ended[(live_set->ended_first + i) &
		                         (live_set->ended_capacity - 1)];

		gg_assert(end->index < live_set->samples.count);
		gg_assert(!gg_live_set_is_live(&live_set->samples.items[end->index]));
	}
}
