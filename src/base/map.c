/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map - an open-addressing hash table with linear probing.
 *
 * A record stands in its home slot (the low bits of its hash) or in the next free slot behind it,
 * cyclically.  A search walks from the home slot to the first empty slot.  Two rules keep this
 * right and fast: at least a quarter of the slots is empty, and a removal leaves no gap between a
 * record and its home.
 */
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/hash.h"

enum { FIRST_SLOT_COUNT = 16 };

void gg_map_done(struct gg_map *map)
{
	free(map->slots);
	*map = (struct gg_map){ 0 };
}

uint64_t gg_map_seed(struct gg_map *map)
{
	while (map->seed == 0)
		map->seed = gg_hash_random_seed();
	return map->seed;
}

static size_t next_slot(const struct gg_map *map, size_t slot)
{
	return (slot + 1) & (map->slot_count - 1);
}

static size_t home_slot(const struct gg_map *map, uint64_t hash)
{
	return hash & (map->slot_count - 1);
}

/* Returns the slot of the record, or slot_count if the key is absent. */
static size_t find_slot(const struct gg_map *map, uint64_t hash, gg_map_equal *equal,
                        const void *context)
{
	if (map->slot_count == 0)
		return 0;
	/* The loop ends, because at least a quarter of the slots is empty. */
	for (size_t i = home_slot(map, hash); map->slots[i].value_plus_1 != 0;
	     i = next_slot(map, i)) {
		if (map->slots[i].hash != hash)
			continue;
		if (equal == NULL || equal(map->slots[i].value_plus_1 - 1, context))
			return i;
	}
	return map->slot_count;
}

uint64_t gg_map_find(const struct gg_map *map, uint64_t hash, gg_map_equal *equal,
                     const void *context)
{
	size_t i = find_slot(map, hash, equal, context);

	return i < map->slot_count ? map->slots[i].value_plus_1 - 1 : GG_MAP_NONE;
}

/*
 * Puts a record into the first empty slot from its home on.  The caller has made sure that there is
 * one.
 */
static void place(struct gg_map *map, struct gg_map_slot record)
{
	size_t i = home_slot(map, record.hash);

	gg_assert(record.value_plus_1 != 0 && map->used_count < map->slot_count);
	while (map->slots[i].value_plus_1 != 0)
		i = next_slot(map, i);
	map->slots[i] = record;
}

bool gg_map_is_valid(const struct gg_map *map)
{
	size_t used_count = 0;

	for (size_t i = 0; i < map->slot_count; i++) {
		if (map->slots[i].value_plus_1 == 0)
			continue;
		used_count++;
		/*
		 * Every slot from the record's home up to the record must be used, or a search
		 * would stop before it.
		 */
		for (size_t j = home_slot(map, map->slots[i].hash); j != i; j = next_slot(map, j))
			if (map->slots[j].value_plus_1 == 0)
				return false;
	}
	return used_count == map->used_count && 4 * used_count <= 3 * map->slot_count;
}

static int grow(struct gg_map *map)
{
	struct gg_map larger = *map;

	larger.slot_count = map->slot_count > 0 ? 2 * map->slot_count : FIRST_SLOT_COUNT;
	larger.slots = calloc(larger.slot_count, sizeof(*larger.slots));
	if (larger.slots == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < map->slot_count; i++)
		if (map->slots[i].value_plus_1 != 0)
			place(&larger, map->slots[i]);
	free(map->slots);
	*map = larger;
	gg_assert(gg_map_is_valid(map));
	return 0;
}

int gg_map_insert(struct gg_map *map, uint64_t hash, uint64_t value)
{
	gg_assert(value != GG_MAP_NONE);
	if (4 * (map->used_count + 1) > 3 * map->slot_count) {
		int error = grow(map);

		if (error < 0)
			return error;
	}
	place(map, (struct gg_map_slot){ .hash = hash, .value_plus_1 = value + 1 });
	map->used_count++;
	return 0;
}

/*
 * Empties a slot and closes the gap, because a search stops at an empty slot and would miss the
 * records behind it.  Each later record of the cluster whose home is not between the gap and itself
 * (cyclically) moves into the gap.  Its old slot is the next gap.
 */
static void erase(struct gg_map *map, size_t gap)
{
	size_t mask = map->slot_count - 1;

	gg_assert(map->used_count > 0 && map->slots[gap].value_plus_1 != 0);
	for (size_t i = next_slot(map, gap); map->slots[i].value_plus_1 != 0;
	     i = next_slot(map, i)) {
		size_t distance_from_home = (i - home_slot(map, map->slots[i].hash)) & mask;

		if (distance_from_home >= ((i - gap) & mask)) {
			map->slots[gap] = map->slots[i];
			gap = i;
		}
	}
	map->slots[gap] = (struct gg_map_slot){ 0 };
	map->used_count--;
}

uint64_t gg_map_take(struct gg_map *map, uint64_t hash, gg_map_equal *equal, const void *context)
{
	size_t i = find_slot(map, hash, equal, context);
	uint64_t value;

	if (i >= map->slot_count)
		return GG_MAP_NONE;
	value = map->slots[i].value_plus_1 - 1;
	erase(map, i);
	return value;
}

uint64_t gg_map_get(const struct gg_map *map, uint64_t key)
{
	return gg_map_find(map, gg_hash_integer(key, map->seed), NULL, NULL);
}

int gg_map_put(struct gg_map *map, uint64_t key, uint64_t value)
{
	uint64_t hash = gg_hash_integer(key, gg_map_seed(map));
	size_t i = find_slot(map, hash, NULL, NULL);

	gg_assert(value != GG_MAP_NONE);
	if (i >= map->slot_count)
		return gg_map_insert(map, hash, value);
	/* The key is present, so only its value changes and the map cannot run out of memory. */
	map->slots[i].value_plus_1 = value + 1;
	return 0;
}

uint64_t gg_map_remove(struct gg_map *map, uint64_t key)
{
	return gg_map_take(map, gg_hash_integer(key, map->seed), NULL, NULL);
}
